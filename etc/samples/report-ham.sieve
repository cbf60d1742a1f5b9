require ["vnd.dovecot.pipe", "copy", "imapsieve", "environment", "variables"];

# Emptying Junk is no verdict.
if environment :matches "imap.mailbox" "*" {
    set "mailbox" "${1}";
}
if string "${mailbox}" "Trash" {
    stop;
}
if environment :matches "imap.user" "*" {
    set "user" "${1}";
}
pipe :copy "refrain-ham" [ "${user}" ];
