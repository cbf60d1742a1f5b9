# Sourced by quickstart and check: installs missing packages and builds. Expects to stand at the top.

say() { printf '%s\n' "$*" >&2; }
die() { say "$0: $*"; exit 2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "packages are missing and neither root nor sudo is there to install them: $*"
    fi
}

# missing_packages KIND...: those of build-aux/packages that are not installed.
missing_packages() {
    for kind in "$@"; do sed -n "s/^$kind //p" build-aux/packages; done | while read -r name; do
        dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || printf '%s ' "$name"
    done
}

# A package that brings a server must not start it: the tests run their own. Debian asks policy-rc.d.
install_quietly() {
    policy=/usr/sbin/policy-rc.d mine=
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null && as_root chmod 755 $policy && mine=1
    fi
    status=0
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-remove --no-install-recommends "$@" \
        >setup.log 2>&1 </dev/null || status=$?
    [ -z "$mine" ] || as_root rm -f $policy
    return $status
}

# need_packages KIND...: installs what is missing, all at once; the log is kept when it fails.
need_packages() {
    command -v dpkg-query >/dev/null || { say "not a Debian system: assuming that everything is installed"; return 0; }
    names=$(missing_packages "$@")
    [ -n "$names" ] || return 0
    say "installing: $names"
    as_root apt-get update -qq >setup.log 2>&1 || { tail -5 setup.log >&2; die "apt-get update failed (setup.log)"; }
    # shellcheck disable=SC2086
    install_quietly $names || { tail -5 setup.log >&2; die "apt-get install failed (setup.log)"; }
    rm -f setup.log
}

# build DIR CONFIGURE-OPTIONS...: configures once, then makes.
build() {
    dir=$1; shift
    if [ -f configure.ac ] && { [ ! -x configure ] || [ configure.ac -nt configure ]; }; then
        autoreconf -fi >autoreconf.log 2>&1 || { tail -20 autoreconf.log >&2; die "autoreconf failed (autoreconf.log)"; }
        rm -f autoreconf.log
    fi
    mkdir -p "$dir"
    if [ ! -f "$dir/Makefile" ]; then
        # Where a Debian administrator looks: /etc/refrain, /var/lib/refrain.
        (cd "$dir" && ../configure -q --sysconfdir=/etc --localstatedir=/var "$@" >configure.out 2>&1) ||
            { tail -20 "$dir/configure.out" >&2; die "configure failed ($dir/config.log)"; }
    fi
    make -C "$dir" -s -j"$(nproc)" $MAKE_TARGETS >"$dir/make.log" 2>&1 ||
        { grep -E 'error|warning|\*\*\*' "$dir/make.log" | head -20 >&2; die "the build failed ($dir/make.log)"; }
}
