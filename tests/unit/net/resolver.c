#include "resolver.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stuck, calls, release;

static void hang(void)
{
	pthread_mutex_lock(&lock);
	stuck++;
	pthread_cond_broadcast(&changed);
	while (!release)
		pthread_cond_wait(&changed, &lock);
	stuck--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void resolver_release(void)
{
	pthread_mutex_lock(&lock);
	release = 1;
	pthread_cond_broadcast(&changed);
	while (stuck > 0)
		pthread_cond_wait(&changed, &lock);
	release = 0;
	pthread_mutex_unlock(&lock);
}

int resolver_stuck(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = stuck;
	pthread_mutex_unlock(&lock);
	return n;
}

int resolver_calls(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = calls;
	pthread_mutex_unlock(&lock);
	return n;
}

struct entry {
	struct addrinfo ai;
	struct sockaddr_storage sa;
};

static struct addrinfo *add(struct addrinfo *next, int family, const char *ip, const char *port)
{
	struct entry *en = calloc(1, sizeof *en);
	struct sockaddr_in *in = (struct sockaddr_in *)&en->sa;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&en->sa;
	in_port_t p = htons((in_port_t)strtol(port ? port : "0", NULL, 10));

	if (!en)
		abort();
	en->sa.ss_family = (sa_family_t)family;
	if (family == AF_INET ? inet_pton(family, ip, &in->sin_addr) != 1
			      : inet_pton(family, ip, &in6->sin6_addr) != 1)
		abort();
	if (family == AF_INET)
		in->sin_port = p;
	else
		in6->sin6_port = p;
	en->ai = (struct addrinfo){ .ai_family = family,
		.ai_socktype = SOCK_STREAM,
		.ai_protocol = IPPROTO_TCP,
		.ai_addrlen = family == AF_INET ? sizeof *in : sizeof *in6,
		.ai_addr = (struct sockaddr *)&en->sa,
		.ai_next = next };
	return &en->ai;
}

/* "a-b-c-d.ip4.test" to "a.b.c.d". */
static int read_ip4(const char *name, char *ip, size_t size)
{
	const char *end = strstr(name, ".ip4.test");

	if (!end || (size_t)(end - name) >= size)
		return 0;
	(void)snprintf(ip, size, "%.*s", (int)(end - name), name);
	for (char *p = ip; *p; p++)
		if (*p == '-')
			*p = '.';
	return 1;
}

int getaddrinfo(const char *restrict name, const char *restrict service,
	const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
	char ip[32];

	(void)hints;
	pthread_mutex_lock(&lock);
	calls++;
	pthread_mutex_unlock(&lock);
	if (!name)
		return EAI_NONAME;
	if (strcmp(name, "stuck.test") == 0) {
		hang();
		return EAI_AGAIN;
	}
	if (read_ip4(name, ip, sizeof ip)) {
		*out = add(NULL, AF_INET, ip, service);
	} else if (strcmp(name, "mapped.ip6.test") == 0) {
		*out = add(NULL, AF_INET6, "::ffff:127.0.0.1", service);
	} else if (strcmp(name, "one.ip6.test") == 0) {
		*out = add(NULL, AF_INET6, "::1", service);
	} else if (strcmp(name, "both.test") == 0) {
		*out = add(add(NULL, AF_INET, "127.0.0.1", service), AF_INET6, "::1", service);
	} else {
		return EAI_NONAME;
	}
	return 0;
}

void freeaddrinfo(struct addrinfo *ai)
{
	struct addrinfo *next;

	for (; ai; ai = next) {
		next = ai->ai_next;
		free(ai); /* ai is an entry's first member */
	}
}
