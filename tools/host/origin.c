#include "tools/host/origin.h"

const char *origin_name(enum origin o)
{
	switch (o) {
	case ORIGIN_PHONE: return "phone";
	case ORIGIN_TERMINAL: return "terminal";
	case ORIGIN_API: return "api";
	case ORIGIN_SCHEDULE: return "schedule";
	case ORIGIN_COUNT: break;
	}
	return "unknown";
}
