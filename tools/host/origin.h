/* tools/host/origin.h: where a request came from; the policy table has a column for each. */
#ifndef TOOLS_HOST_ORIGIN_H
#define TOOLS_HOST_ORIGIN_H

enum origin { ORIGIN_PHONE, ORIGIN_TERMINAL, ORIGIN_API, ORIGIN_SCHEDULE, ORIGIN_COUNT };

const char *origin_name(enum origin o); /* "phone", "terminal", "api", "schedule" */

#endif
