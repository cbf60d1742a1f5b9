# Sourced: a private Sendmail. Its Debian packages conflict with Postfix's, so they are unpacked into the
# build folder and never installed. Own configuration, queue and port; its own view of /etc/hosts and of the
# host's name, because it sleeps for a minute when its name has no dot. Mail goes to $dir/mail/USER.

sendmail_root=$BUILDDIR/sendmail

need_sendmail() {
    local deb
    [ "$(id -u)" = 0 ] || skip_all "a private Sendmail needs root"
    command -v m4 >/dev/null || skip_all "m4 is not installed"
    unshare -mu true 2>/dev/null || skip_all "unshare is not allowed here"
    if [ ! -x "$sendmail_root/usr/libexec/sendmail/sendmail" ]; then
        mkdir -p "$sendmail_root.deb"
        (cd "$sendmail_root.deb" && apt-get download sendmail-bin sendmail-base sendmail-cf libwrap0) \
            >"$dir/download.log" 2>&1 || skip_all "Sendmail's packages cannot be downloaded"
        for deb in "$sendmail_root.deb"/*.deb; do dpkg -x "$deb" "$sendmail_root" || skip_all "$deb cannot be unpacked"; done
        chmod g-s "$sendmail_root/usr/libexec/sendmail/sendmail" # libwrap is found by LD_LIBRARY_PATH
    fi
}

# F= (nothing): mail flows when the filter does not answer.
write_sendmail() {
    local cf=$sendmail_root/usr/share/sendmail/cf
    smtp_port=$(free_port)
    mkdir -p "$dir/queue" "$dir/mail"
    chmod 700 "$dir/queue"
    chmod 777 "$dir/mail"
    printf '127.0.0.1 localhost mx.example.org example.org example.net spam.example client.example.net\n' >"$dir/hosts"
    printf 'hosts files\n' >"$dir/service.switch"
    cat >"$dir/drop" <<END
#!/bin/sh
mkdir -p "$dir/mail/\$1/new" && cat >"$dir/mail/\$1/\$\$" && mv "$dir/mail/\$1/\$\$" "$dir/mail/\$1/new/"
END
    chmod 755 "$dir/drop"
    cat >"$dir/sendmail.mc" <<END
divert(0)
VERSIONID(\`test')
OSTYPE(\`linux')
define(\`confDOMAIN_NAME', \`mx.example.org')
define(\`confPID_FILE', \`$dir/sendmail.pid')
define(\`QUEUE_DIR', \`$dir/queue')
define(\`STATUS_FILE', \`$dir/statistics')
define(\`confHOSTS_FILE', \`$dir/hosts')
define(\`confSERVICE_SWITCH_FILE', \`$dir/service.switch')
define(\`confDEF_USER_ID', \`nobody:nogroup')
define(\`confDELIVERY_MODE', \`i')
define(\`confTO_IDENT', \`0')
define(\`confLOG_LEVEL', \`9')
define(\`ALIAS_FILE', \`')
define(\`LOCAL_MAILER_PATH', \`$dir/drop')
define(\`LOCAL_MAILER_ARGS', \`drop \$u')
FEATURE(\`accept_unresolvable_domains')
FEATURE(\`no_default_msa')
FEATURE(\`nocanonify')
LOCAL_DOMAIN(\`example.org')
DAEMON_OPTIONS(\`Name=MTA, Addr=127.0.0.1, Port=$smtp_port')
INPUT_MAIL_FILTER(\`refrain', \`S=$socket, F=, T=C:10s;S:10s;R:60s;E:2m')
MAILER(\`local')
END
    m4 -D_CF_DIR_="$cf/" "$cf/m4/cf.m4" "$dir/sendmail.mc" 2>"$dir/m4.log" |
        sed '/^Mlocal/s/F=[^,]*/F=lsDFMn9/' >"$dir/sendmail.cf" # no aliases, no passwd entry, no From line
    [ -s "$dir/sendmail.cf" ] || die "m4 fails"
}

start_sendmail() {
    HOSTS=$dir/hosts LD_LIBRARY_PATH=$(dirname "$(find "$sendmail_root" -name 'libwrap.so.0' | head -1)") \
        unshare -mu sh -c 'hostname mx.example.org && mount --bind "$HOSTS" /etc/hosts && exec "$@"' sh \
        "$sendmail_root/usr/libexec/sendmail/sendmail" -bD -C"$dir/sendmail.cf" -X"$dir/sendmail.log" \
        >"$dir/sendmail-start.log" 2>&1 &
    pids="$pids $!"
    await listens "$smtp_port" || die "Sendmail does not answer"
}

count_mail() { find "$dir/mail/$1/new" -type f 2>/dev/null | wc -l; }
delivered() { # USER NUMBER
    await eval '[ "$(count_mail '"$1"')" -ge '"$2"' ]'
    ls -t "$dir/mail/$1/new/"* 2>/dev/null | head -1
}
clear_mail() { rm -rf "$dir/mail/"*; }
