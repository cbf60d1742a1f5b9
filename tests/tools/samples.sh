#!/bin/bash
# The samples of etc/samples, run by the real Dovecot and the real Postfix, with private configuration, queue
# and mailbox. Only the paths of the installation are replaced.
. "$SRCDIR/tests/tools/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
imap=/usr/lib/dovecot/imap
need sievec dovecot-sieve
need $imap dovecot-imapd
need postfix postfix
[ "$(id -u)" -eq 0 ] || { echo "1..0 # SKIP a private Postfix needs root"; exit 0; }
chmod 755 "$work"
copy_mail
make_lexicon "$work/refrain.lex" a
configure "lmdb:$work/store/lmdb"
mkdir bin samples store
cp "$BUILDDIR/tools/refrain" bin/program # others may not look into the build folder
cat >bin/refrain <<END
#!/bin/sh
exec '$work/bin/program' --config '$work/refrain.conf' "\$@" 2>>'$work/store/refrain.err'
END
for file in "$SRCDIR"/etc/samples/*; do
    sed "s#/usr/local/bin#$work/bin#g; s#/usr/local/share/doc/refrain/examples#$work/samples#g; s/user=refrain/user=nobody/" \
        "$file" >"samples/${file##*/}"
done
chmod 755 bin/refrain samples/refrain-*
chmod a+r refrain.lex refrain.conf samples/*
chown nobody store

count() { refrain list --json "$@" 2>/dev/null | wc -l; }
is() { [ "$1" = "$2" ] || { echo "$1, not $2"; cat store/refrain.err 2>/dev/null; return 1; }; }
reporters() { refrain list --json | jq -r .campaign | xargs -r -n 1 "$BUILDDIR/tools/refrain" show -c refrain.conf --json | jq -r '[.source, .reported_by[].name] | join(" ")'; }
need jq jq

# --- Dovecot: imapsieve
mkdir -p home/Maildir
case $(dovecot --version) in
2.3*)
    sample=dovecot-refrain.conf
    echo "mail_location = maildir:$work/home/Maildir" ;;
*)
    sample=dovecot-2.4-refrain.conf
    printf '%s\n' "dovecot_config_version = 2.4.0" "dovecot_storage_version = 2.4.0" "mail_driver = maildir" "mail_path = $work/home/Maildir" ;;
esac >dovecot.conf
cat >>dovecot.conf <<END
base_dir = $work/run
protocols = imap
ssl = no
mail_home = $work/home
mail_uid = $(id -u nobody)
mail_gid = $(id -g nobody)
first_valid_uid = 1
stats_writer_socket_path =
namespace inbox {
  inbox = yes
}
END
cat samples/$sample >>dovecot.conf
chmod a+r dovecot.conf
sievec -c "$work/dovecot.conf" samples/report-spam.sieve && sievec -c "$work/dovecot.conf" samples/report-ham.sieve || exit 99
chmod a+r samples/*.svbin
chown -R nobody home

session() { # IMAP commands on stdin, before the log-in of a real client
    (cat; printf 'z LOGOUT\r\n') | USER=ines HOME=$work/home DOVECOT_PRESERVE_ENVS="USER HOME" timeout 30 setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups \
        $imap -c "$work/dovecot.conf" >imap.out 2>>imap.err || cat imap.out imap.err
}
append() { # append MAILBOX FILE
    sed 's/$/\r/' "$2" >crlf
    printf 'a APPEND %s {%d+}\r\n' "$1" "$(stat -c %s crlf)"; cat crlf; printf '\r\n'
}
into_junk() {
    (printf 'a CREATE Junk\r\na CREATE Trash\r\n'; append INBOX spam.eml; printf 'a SELECT INBOX\r\na MOVE 1 Junk\r\n') | session
    is "$(count --source junk)" 1 && is "$(reporters)" "junk ines" && refrain check spam-copy.eml | grep -q ^match
}
saved_into_junk() { append Junk spam-other.eml | session; is "$(count --source junk)" 2; }
into_trash() { (printf 'a SELECT Junk\r\na MOVE 2 Trash\r\n') | session; is "$(count --source junk)" 2; }
out_of_junk() { (printf 'a SELECT Junk\r\na MOVE 1 INBOX\r\n') | session; is "$(count --source junk)" 1 && ! refrain check spam-copy.eml >/dev/null; }
elsewhere() { (append INBOX newsletter.eml; printf 'a CREATE Other\r\na SELECT INBOX\r\na COPY 1:* Other\r\n') | session; is "$(count)" 1; }
ok "Dovecot: moving a message into Junk reports it as its user" into_junk
ok "Dovecot: saving one into Junk reports it" saved_into_junk
ok "Dovecot: moving one from Junk to Trash changes nothing" into_trash
ok "Dovecot: moving one out of Junk takes the report back" out_of_junk
ok "Dovecot: moving mail between other folders changes nothing" elsewhere
refrain forget --quiet --source junk >/dev/null

# --- Postfix: an alias and a transport
mkdir -p postfix queue data
chown postfix data
postconf_default() { postconf -dh "$1"; }
cat >postfix/main.cf <<END
compatibility_level = 3.6
queue_directory = $work/queue
data_directory = $work/data
daemon_directory = $(postconf_default daemon_directory)
command_directory = $(postconf_default command_directory)
maillog_file = $work/postfix.log
maillog_file_prefixes = $work
mail_owner = postfix
inet_interfaces = 127.0.0.1
myhostname = mx.example.org
mydestination = example.org
alias_maps = hash:$work/aliases
local_recipient_maps =
transport_maps = inline:{ report@example.org=refrain-report: }
refrain-report_destination_recipient_limit = 1
queue_minfree = 0
END
cat >postfix/master.cf <<END
pickup    unix n - n 1 1 pickup
cleanup   unix n - n -  0 cleanup
qmgr      unix n - n 1 1 qmgr
rewrite   unix - - n -  - trivial-rewrite
bounce    unix - - n -  0 bounce
defer     unix - - n -  0 bounce
trace     unix - - n -  0 bounce
proxymap  unix - - n -  - proxymap
error     unix - - n -  - error
retry     unix - - n -  - error
local     unix - n n -  - local
postlog   unix-dgram n - n - 1 postlogd
END
cat samples/postfix-master.cf >>postfix/master.cf
cp samples/postfix-aliases aliases
postalias -c "$work/postfix" "hash:$work/aliases" || exit 99
postfix -c "$work/postfix" start >postfix.out 2>&1 || { cat postfix.out postfix.log >&2; exit 99; }
stop_postfix() { postfix -c "$work/postfix" stop >/dev/null 2>&1; finish; }
trap stop_postfix EXIT

deliver() { sendmail -C "$work/postfix" -f "$1" "$2@example.org" <"$3"; }
has_campaigns() { [ "$(count "${@:2}")" -eq "$1" ]; }
delivered() { grep -q "to=<$1@example.org>.*status=$2" postfix.log; }
forwarded() {
    deliver ines@example.org spam wrap-attached.eml && await has_campaigns 1 || { cat postfix.log store/refrain.err; return 1; }
    is "$(reporters)" "users ines@example.org"
}
own_words() { # what is not forwarded is thrown away, not reported and not bounced
    deliver piet@example.org spam ham.eml && await eval '[ $(grep -c "to=<spam@example.org>.*status=sent" postfix.log) -ge 2 ]' && is "$(count)" 1
}
trapped() { deliver stranger@example.net trap spam-other.eml && await has_campaigns 1 --source trap; }
by_transport() {
    deliver piet@example.org report wrap-helpdesk.eml && await delivered report sent || { cat postfix.log; return 1; }
    is "$(reporters | grep users)" "users ines@example.org piet@example.org"
}
kept_when_down() { # a store that fails must not lose the report
    mv refrain.lex away.lex
    deliver ines@example.org report wrap-attached-two.eml && await delivered report deferred; code=$?
    mv away.lex refrain.lex
    return $code
}
ok "Postfix: what a user forwards to the alias is reported as his" forwarded
ok "Postfix: what a user only writes to the alias is not" own_words
ok "Postfix: mail to a trap alias is reported itself" trapped
ok "Postfix: the transport does the same" by_transport
ok "Postfix: a report that cannot be stored is kept and tried again" kept_when_down

# --- cron
junk_folder() {
    refrain forget --quiet --source users >/dev/null; refrain forget --quiet --source trap >/dev/null
    mkdir -p junk/cur junk/new junk/tmp && cp spam.eml junk/new/1 && touch -d '3 days ago' junk/new/1
    samples/refrain-junk junk ines && is "$(count --source junk)" 1
}
only_once() {
    samples/refrain-junk junk ines && is "$(refrain list --json | jq .reports)" 1
}
then_new_ones() {
    cp spam-other.eml junk/cur/2:2,S && touch -d '3 days ago' junk/cur/2:2,S
    samples/refrain-junk junk ines && is "$(count --source junk)" 2
}
ok "cron: a Junk folder is reported" junk_folder
ok "cron: what was there before is not reported again" only_once
ok "cron: what came since is" then_new_ones
plan
