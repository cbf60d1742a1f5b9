#include "store/backend.h"

#include "base/error.h"

struct backend *redis_backend_open(const struct url *url, const struct backend_plan *plan, GError **error)
{
    (void)plan;
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, "%s: Redis is not built in yet", url->name);
    return NULL;
}
