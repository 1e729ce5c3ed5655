#include "pki.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "base/file.h"

#define VALID_SECONDS (30L * 24 * 3600)

static int add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;
	int ok;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	if (!ext)
		return -1;
	ok = X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
	return ok ? 0 : -1;
}

static int name_cert(X509 *cert, X509 *issuer, const char *cn)
{
	X509_NAME *name = X509_get_subject_name(cert);

	if (!X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1,
		    0))
		return -1;
	return X509_set_issuer_name(cert, X509_get_subject_name(issuer ? issuer : cert)) ? 0 : -1;
}

/* Signed by issuer's key, or by its own when issuer is NULL. RSA, so that the CDN can be asked for
 * the one cipher that real ones still speak. */
static X509 *make_cert(EVP_PKEY *key, X509 *issuer, EVP_PKEY *issuer_key, const char *cn)
{
	X509 *c = X509_new();
	uint64_t serial;

	rand_bytes(&serial, sizeof(serial));
	if (!c || !X509_set_version(c, 2) ||
		!ASN1_INTEGER_set_uint64(X509_get_serialNumber(c), serial >> 1) ||
		!X509_gmtime_adj(X509_getm_notBefore(c), -3600) ||
		!X509_gmtime_adj(X509_getm_notAfter(c), VALID_SECONDS) ||
		!X509_set_pubkey(c, key) || name_cert(c, issuer, cn) < 0 ||
		add_ext(c, issuer ? issuer : c, NID_basic_constraints,
			issuer ? "critical,CA:FALSE" : "critical,CA:TRUE") < 0 ||
		add_ext(c, issuer ? issuer : c, NID_key_usage,
			issuer ? "critical,digitalSignature,keyEncipherment"
			       : "critical,keyCertSign,cRLSign") < 0 ||
		(issuer && add_ext(c, issuer, NID_ext_key_usage, "serverAuth") < 0) ||
		(issuer && add_ext(c, issuer, NID_subject_alt_name,
				   "IP:127.0.0.1,IP:::1,DNS:localhost") < 0) ||
		!X509_sign(c, issuer_key, EVP_sha256())) {
		X509_free(c);
		return NULL;
	}
	return c;
}

static int save_cert(X509 *cert, const char *path, struct err *e)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	long n;
	int rc = -1;

	if (bio && PEM_write_bio_X509(bio, cert) && (n = BIO_get_mem_data(bio, &text)) > 0)
		rc = file_replace(path, 0600, (struct view){ text, (size_t)n }, e);
	else
		err_set(e, E_NOMEM, "cannot write a certificate");
	BIO_free(bio);
	return rc;
}

static SSL_CTX *make_ctx(X509 *cert, EVP_PKEY *key)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	if (ctx && (!SSL_CTX_use_certificate(ctx, cert) || !SSL_CTX_use_PrivateKey(ctx, key))) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	return ctx;
}

static SSL_CTX *make_cdn_ctx(X509 *cert, EVP_PKEY *key)
{
	SSL_CTX *ctx = make_ctx(cert, key);

	if (ctx && (!SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION) ||
			   !SSL_CTX_set_cipher_list(ctx, "AES256-GCM-SHA384"))) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	return ctx;
}

int pki_open(struct ssl_ctx_st **api, struct ssl_ctx_st **cdn, const char *dir, char *ca_file,
	size_t size, struct err *e)
{
	EVP_PKEY *ca_key = EVP_RSA_gen(2048), *key = EVP_RSA_gen(2048);
	X509 *ca = NULL, *cert = NULL;
	char path[PATH_SIZE];
	int rc = -1;

	*api = *cdn = NULL;
	if (path_join(path, dir, "ca.pem", e) < 0 || copy_z(ca_file, size, view_of(path)) < 0)
		goto out;
	ca = ca_key ? make_cert(ca_key, NULL, ca_key, "kairo-sim test authority") : NULL;
	cert = ca && key ? make_cert(key, ca, ca_key, "kairo-sim") : NULL;
	if (!cert || !(*api = make_ctx(cert, key)) || !(*cdn = make_cdn_ctx(cert, key))) {
		err_set(e, E_IO, "OpenSSL cannot make certificates");
		goto out;
	}
	rc = save_cert(ca, path, e);
out:
	X509_free(cert);
	X509_free(ca);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
	return rc;
}
