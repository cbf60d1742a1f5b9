# Sourced: a private Postfix. Own configuration, queue, data and ports; the system's is not touched.
# $smtp_port has the milter, $plain_port has none. Mail for example.org is delivered to $dir/mail/USER/new.

stop_mta() { [ ! -f "$dir/postfix/main.cf" ] || postfix -c "$dir/postfix" stop >/dev/null 2>&1; }

need_postfix() {
    PATH=$PATH:/usr/sbin:/sbin
    command -v postfix >/dev/null || skip_all "postfix is not installed"
    [ "$(id -u)" = 0 ] || skip_all "a private Postfix needs root"
}

write_postfix() {
    local daemons
    daemons=$(postconf -dh daemon_directory)
    smtp_port=$(free_port)
    plain_port=$(free_port)
    mkdir -p "$dir/postfix" "$dir/queue/refrain" "$dir/data" "$dir/mail"
    chown postfix "$dir/data"
    chown nobody "$dir/mail"
    chown "$user" "$dir/queue/refrain"
    # As in a system's own installation: below the queue, reached from the chroot.
    socket=unix:$dir/queue/refrain/milter.sock
    cat >"$dir/postfix/main.cf" <<END
compatibility_level = 3.6
queue_directory = $dir/queue
data_directory = $dir/data
daemon_directory = $daemons
command_directory = $(postconf -dh command_directory)
maillog_file = $dir/postfix.log
maillog_file_prefixes = $dir
mail_owner = postfix
inet_interfaces = 127.0.0.1
inet_protocols = all
myhostname = mx.example.org
mydestination =
mynetworks = 127.0.0.0/8
smtpd_peername_lookup = no
local_header_rewrite_clients =
smtpd_authorized_xclient_hosts = 127.0.0.1
virtual_mailbox_domains = example.org
virtual_mailbox_base = $dir/mail
virtual_mailbox_maps = inline:{user@example.org=user/, second@example.org=second/, trap@example.org=trap/, postmaster@example.org=postmaster/}
virtual_uid_maps = static:$(id -u nobody)
virtual_gid_maps = static:$(id -g nobody)
virtual_minimum_uid = 1
alias_maps =
local_recipient_maps =
smtpd_milters = { unix:refrain/milter.sock, connect_timeout=10s, default_action=accept }
milter_default_action = accept
queue_minfree = 0
END
    cat >"$dir/postfix/master.cf" <<END
127.0.0.1:$smtp_port  inet n - y - - smtpd
127.0.0.1:$plain_port inet n - y - - smtpd -o smtpd_milters=
pickup    unix n - n 60 1 pickup
cleanup   unix n - n -  0 cleanup
qmgr      unix n - n 300 1 qmgr
rewrite   unix - - n -  - trivial-rewrite
bounce    unix - - n -  0 bounce
defer     unix - - n -  0 bounce
trace     unix - - n -  0 bounce
verify    unix - - n -  1 verify
flush     unix n - n 1000? 0 flush
proxymap  unix - - n -  - proxymap
error     unix - - n -  - error
retry     unix - - n -  - error
discard   unix - - n -  - discard
virtual   unix - n n -  - virtual
anvil     unix - - n -  1 anvil
postlog   unix-dgram n - n - 1 postlogd
END
}

# start_sasl USER PASSWORD: a private Dovecot with nothing but its authentication, which Postfix is told to ask.
# The two versions of Dovecot that Debian has want their configuration in different words.
start_sasl() {
    command -v dovecot >/dev/null || skip_all "dovecot is not installed"
    mkdir -p "$dir/queue/private" "$dir/dovecot"
    chown postfix "$dir/queue/private"
    echo "$1:{PLAIN}$2" >"$dir/dovecot/users"
    case $(dovecot --version) in
    2.3*)
        cat <<END
disable_plaintext_auth = no
passdb {
  driver = passwd-file
  args = $dir/dovecot/users
}
END
        ;;
    *)
        cat <<END
dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
auth_allow_cleartext = yes
passdb passwd-file {
  passwd_file_path = $dir/dovecot/users
}
END
        ;;
    esac >"$dir/dovecot/dovecot.conf"
    cat >>"$dir/dovecot/dovecot.conf" <<END
base_dir = $dir/dovecot/run
state_dir = $dir/dovecot
log_path = $dir/dovecot.log
protocols =
ssl = no
auth_mechanisms = plain
auth_failure_delay = 0
service auth {
  unix_listener $dir/queue/private/auth {
    user = postfix
    mode = 0600
  }
}
END
    cat >>"$dir/postfix/main.cf" <<END
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = private/auth
END
    dovecot -F -c "$dir/dovecot/dovecot.conf" >"$dir/dovecot-start.log" 2>&1 &
    pids="$pids $!"
    await [ -S "$dir/queue/private/auth" ] || die "Dovecot does not start"
}

start_postfix() {
    postfix -c "$dir/postfix" start >"$dir/postfix-start.log" 2>&1 || die "Postfix does not start"
    await listens "$smtp_port" || die "Postfix does not answer"
}

# delivered USER: the newest message of a mailbox, once there are $1 of them.
count_mail() { find "$dir/mail/$1/new" -type f 2>/dev/null | wc -l; }
delivered() { # USER NUMBER
    await eval '[ "$(count_mail '"$1"')" -ge '"$2"' ]'
    ls -t "$dir/mail/$1/new/"* 2>/dev/null | head -1
}
clear_mail() { rm -rf "$dir/mail/"*; }
held() { mailq -C "$dir/postfix" 2>/dev/null | grep -c '^[0-9A-Za-z]*!'; }
