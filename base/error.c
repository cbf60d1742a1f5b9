#include "base/error.h"

G_DEFINE_QUARK(refrain - error, refrain_error)
