/*
 * milter_noop SOCKET: the fastest filter that libmilter allows and that still reads what refrain-milter
 * reads: envelope, headers and body go by, nothing is kept, everything is accepted. The yardstick of the
 * milter benchmark; it negotiates exactly what refrain-milter does.
 */
#include <libmilter/mfapi.h>
#include <stdio.h>

#define STEPS                                                                                                \
    (SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOUNKNOWN | SMFIP_NOEOH | SMFIP_NR_MAIL | SMFIP_NR_RCPT |           \
     SMFIP_NR_HDR | SMFIP_SKIP | SMFIP_HDR_LEADSPC)

static sfsistat on_negotiate(SMFICTX *ctx, unsigned long actions, unsigned long steps, unsigned long unused2,
                             unsigned long unused3, unsigned long *actions_out, unsigned long *steps_out,
                             unsigned long *unused2_out, unsigned long *unused3_out)
{
    (void)ctx;
    (void)unused2;
    (void)unused3;
    *actions_out = actions & (SMFIF_ADDHDRS | SMFIF_CHGHDRS);
    *steps_out = steps & STEPS;
    *unused2_out = *unused3_out = 0;
    return SMFIS_CONTINUE;
}

static sfsistat on_connect(SMFICTX *ctx, char *host, struct sockaddr *client)
{
    (void)ctx;
    (void)host;
    (void)client;
    return SMFIS_CONTINUE;
}

static sfsistat on_address(SMFICTX *ctx, char **args)
{
    (void)ctx;
    (void)args;
    return SMFIS_NOREPLY;
}

static sfsistat on_header(SMFICTX *ctx, char *name, char *value)
{
    (void)ctx;
    (void)name;
    (void)value;
    return SMFIS_NOREPLY;
}

static sfsistat on_body(SMFICTX *ctx, unsigned char *bytes, size_t n)
{
    (void)ctx;
    (void)bytes;
    (void)n;
    return SMFIS_CONTINUE;
}

static sfsistat on_end(SMFICTX *ctx)
{
    (void)ctx;
    return SMFIS_CONTINUE;
}

int main(int argc, char **argv)
{
    static char name[] = "noop";
    if (argc != 2) {
        fprintf(stderr, "milter_noop: a socket is needed\n");
        return 2;
    }
    struct smfiDesc filter = {
        .xxfi_name = name,
        .xxfi_version = SMFI_VERSION,
        .xxfi_flags = SMFIF_ADDHDRS | SMFIF_CHGHDRS,
        .xxfi_connect = on_connect,
        .xxfi_envfrom = on_address,
        .xxfi_envrcpt = on_address,
        .xxfi_header = on_header,
        .xxfi_body = on_body,
        .xxfi_eom = on_end,
        .xxfi_negotiate = on_negotiate,
    };
    if (smfi_setconn(argv[1]) != MI_SUCCESS || smfi_register(filter) != MI_SUCCESS ||
        smfi_setbacklog(512) != MI_SUCCESS)
        return 2;
    return smfi_main() == MI_SUCCESS ? 0 : 1;
}
