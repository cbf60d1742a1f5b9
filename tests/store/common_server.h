/*
 * One redis-server for all tests of a program that leave it as it was.
 */
#ifndef TESTS_STORE_COMMON_SERVER_H
#define TESTS_STORE_COMMON_SERVER_H

#include "tests/store/servers.h"

static struct servers_redis *common;

static int start_common(void **state)
{
    (void)state;
    common = servers_start("enable-debug-command yes\ndatabases 4");
    return 0;
}

static int stop_common(void **state)
{
    (void)state;
    servers_stop(&common);
    return 0;
}

#endif
