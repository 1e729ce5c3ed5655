/* Certificates made on the spot. */
#ifndef TESTS_UNIT_NET_CERTS_H
#define TESTS_UNIT_NET_CERTS_H

#include <openssl/ssl.h>

struct authority;

/* ca_file gets the authority's certificate, PEM, and is its name. */
void authority_new(struct authority **out, const char *ca_file);
void authority_free(struct authority **a);
/* For a server at `names` (as in an OpenSSL configuration: "DNS:x,IP:y"), valid from and until so
 * many seconds from now. */
SSL_CTX *authority_server(struct authority *a, const char *names, long from, long until);

#endif
