/* Functions that do not compile here; every file gets this header from the command line. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#if defined(__GNUC__) && !defined(__cplusplus)
/* Pull in the declarations first: a poisoned name may not even be declared afterwards. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
/* No bound (str_addf), no error (parse_u64), hidden state (_r forms), a shell (proc_spawn). */
#pragma GCC poison sprintf vsprintf strcpy strcat strncpy strncat strtok atoi atol atoll gets
#pragma GCC poison gmtime localtime ctime asctime system popen tmpnam mktemp
#endif

#endif
