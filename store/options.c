#include "base/config.h"
#include "store/store.h"

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

struct store_options store_configured(const struct config *config)
{
    struct store_options options = store_default_options;
    options.url = config->store.url;
    options.password_file = or_null(config->store.password_file);
    options.tls_ca = or_null(config->store.tls_ca);
    options.tls_cert = or_null(config->store.tls_cert);
    options.tls_key = or_null(config->store.tls_key);
    options.tls_name = or_null(config->store.tls_name);
    options.read_url = or_null(config->store.read_url);
    options.timeout = config->store.timeout;
    options.ttl = config->store.ttl;
    options.quorum = config->report.quorum;
    options.trusted = (const char *const *)config->report.trusted;
    options.clean_share = config->report.clean_share;
    options.clean_days = config->report.clean_days;
    options.wait_replicas = config->store.wait_replicas;
    options.simhash_tables = config->store.simhash_tables;
    return options;
}
