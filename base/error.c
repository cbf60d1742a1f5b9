#include "base/error.h"

GQuark refrain_error_quark(void)
{
    return g_quark_from_static_string("refrain-error");
}
