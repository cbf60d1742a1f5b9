/* hiredis, whose sds.h does not stand the warnings that we build with. */
#ifndef STORE_RESP_H
#define STORE_RESP_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <hiredis.h>
#pragma GCC diagnostic pop

#endif
