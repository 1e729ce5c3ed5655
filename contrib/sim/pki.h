/* contrib/sim/pki.h: a certificate authority of our own and a certificate for 127.0.0.1. */
#ifndef SIM_PKI_H
#define SIM_PKI_H

#include <stddef.h>

#include "base/err.h"

struct ssl_ctx_st;

/* Makes both anew in memory; the authority's certificate goes to dir/ca.pem, whose path is put into
 * ca_file. The keys never touch the disk. *cdn speaks TLS 1.2 with RSA key exchange and nothing
 * else, as the real CDN does (wire reference, 9.3). Free both with SSL_CTX_free. */
int pki_open(struct ssl_ctx_st **api, struct ssl_ctx_st **cdn, const char *dir, char *ca_file,
	size_t size, struct err *e);

#endif
