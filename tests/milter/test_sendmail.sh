#!/bin/bash
# The core cases in front of a real Sendmail, which refuses sockets below world-writable folders.
TMPDIR=/run
. "${SRCDIR:-$(dirname "$0")/../..}/tests/milter/lib.sh"
. "$SRCDIR/tests/milter/sendmail.sh"
need_sendmail

make_lexicon
configure() { write_config; cat >>"$dir/refrain.conf"; }
configure <<END
[action]
subject-prefix = [SPAM]
END
write_sendmail
start_milter
start_sendmail
report "$mails/spam.eml"

send "$mails/spam-close.eml" offers@spam.example user@example.org
check "a close variant is rejected with our text" \
    matches "$reply" '^550 5\.7\.1 Message resembles a reported spam campaign \([0-9a-f]{16}\)$'
check "the log has Sendmail's queue id" grep -qE 'refrain-milter: [0-9A-Za-z]{14}: match .*action=reject' "$dir/milter.log"
check "a looser variant is accepted" send "$mails/spam-loose.eml" offers@spam.example user@example.org
file=$(delivered user 1)
check "and delivered with X-Refrain" \
    grep -qE '^X-Refrain: match; campaign=[0-9a-f]{16}; similarity=0\.[5-7][0-9]; action=tag$' "$file"
check "X-Spam-Flag" grep -qx 'X-Spam-Flag: YES' "$file"
check "and the prefix" grep -qx 'Subject: \[SPAM\] Your mortgage approval' "$file"

# Sendmail writes Return-Path and Received; the rest is the message.
stable() { [ -f "$1" ] || die "no mail was delivered"; sed -e '/^Received: /,/^[^ \t]/{/^Received: /d;/^[ \t]/d}' -e '/^Return-Path/d' "$1"; }
clear_mail
sed -e '1i X-Refrain: clean' -e '3i x-refrain-campaign: none' -e '5i X-REFRAIN: clean' "$mails/ham.eml" >"$dir/forged.eml"
send "$dir/forged.eml" ingrid@example.net user@example.org
file=$(delivered user 1)
stable "$file" >"$dir/forged"
check "forged X-Refrain headers are removed" eval '! grep -qi "^x-refrain" "$dir/forged"'
clear_mail
send "$mails/ham.eml" ingrid@example.net user@example.org
stable "$(delivered user 1)" >"$dir/with"
check "and nothing else" cmp "$dir/with" "$dir/forged"

configure <<END
[action]
on-reject = quarantine
reject-text = 100% like {campaign}
add-clean-header = yes
[exempt]
networks = 192.0.2.0/24
senders = @example.net
END
reload_milter
clear_mail
check "mail of an exempt sender passes" send "$mails/spam-close.eml" x@example.net user@example.org
check "untouched" lacks "$(delivered user 1)" X-Refrain
check "quarantined mail is accepted" send "$mails/spam-close.eml" offers@spam.example user@example.org
check "and kept" await eval '[ "$(ls "$dir/queue" | grep -c ^hf)" = 1 ]'

configure <<END
[action]
reject-text = 100% like {campaign}
[exempt]
networks = 127.0.0.0/8
END
sed -i '/^networks/d' "$dir/refrain.conf"
reload_milter
send "$mails/spam-close.eml" offers@spam.example user@example.org
check "a percent sign in the reply comes through as it is" matches "$reply" '^550 5\.7\.1 100% like [0-9a-f]{16}$'
echo "networks = 127.0.0.0/8" >>"$dir/refrain.conf"
reload_milter
check "mail of an exempt network passes" send "$mails/spam-close.eml" offers@spam.example user@example.org

stop_milter
clear_mail
send "$mails/ham.eml" ingrid@example.net user@example.org
stable "$(delivered user 1)" >"$dir/without"
check "mail flows without the daemon, and is byte for byte what it was with it" cmp "$dir/with" "$dir/without"
done_testing
