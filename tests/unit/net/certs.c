#include "certs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

struct authority {
	EVP_PKEY *key;
	X509 *cert;
	long serial;
};

static void add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	ext = X509V3_EXT_nconf_nid(NULL, &ctx, nid, value);
	assert_non_null(ext);
	assert_int_equal(X509_add_ext(cert, ext, -1), 1);
	X509_EXTENSION_free(ext);
}

static X509 *new_cert(EVP_PKEY *key, X509 *issuer, const char *cn, long serial, long from,
	long until)
{
	X509 *cert = X509_new();
	X509_NAME *name;

	assert_non_null(cert);
	name = X509_get_subject_name(cert);
	assert_int_equal(X509_set_version(cert, 2), 1);
	assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(cert), serial), 1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert), from));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert), until));
	assert_int_equal(X509_set_pubkey(cert, key), 1);
	assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
				 (const unsigned char *)cn, -1, -1, 0),
		1);
	assert_int_equal(X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : name),
		1);
	return cert;
}

void authority_new(struct authority **out, const char *ca_file)
{
	struct authority *a = calloc(1, sizeof *a);
	FILE *f = fopen(ca_file, "w");

	assert_non_null(a);
	assert_non_null(f);
	a->key = EVP_RSA_gen(2048);
	assert_non_null(a->key);
	a->cert = new_cert(a->key, NULL, ca_file, ++a->serial, -3600, 86400);
	add_ext(a->cert, a->cert, NID_basic_constraints, "critical,CA:TRUE");
	add_ext(a->cert, a->cert, NID_key_usage, "critical,keyCertSign,cRLSign");
	assert_true(X509_sign(a->cert, a->key, EVP_sha256()) > 0);
	assert_int_equal(PEM_write_X509(f, a->cert), 1);
	assert_int_equal(fclose(f), 0);
	*out = a;
}

void authority_free(struct authority **ap)
{
	EVP_PKEY_free((*ap)->key);
	X509_free((*ap)->cert);
	free(*ap);
	*ap = NULL;
}

SSL_CTX *authority_server(struct authority *a, const char *names, long from, long until)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	X509 *cert;
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	assert_non_null(key);
	assert_non_null(ctx);
	cert = new_cert(key, a->cert, "server", ++a->serial, from, until);
	add_ext(cert, a->cert, NID_subject_alt_name, names);
	assert_true(X509_sign(cert, a->key, EVP_sha256()) > 0);
	assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	X509_free(cert);
	EVP_PKEY_free(key);
	return ctx;
}
