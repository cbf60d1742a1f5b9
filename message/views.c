#include "message/message.h"

const char *message_view_name(enum message_view view)
{
    static const char *const names[MESSAGE_VIEWS] = { "body", "full", "short", "part" };
    return names[view];
}
