#!/bin/bash
# Every command and option that --help knows is in the manual and in the completions of bash and zsh, and the
# other way round.
. "$SRCDIR/tests/tools/lib.sh"
program=$BUILDDIR/tools/refrain
manual=$SRCDIR/doc/refrain.1

commands_of_help() { "$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort; }
options_of_help() { # options_of_help COMMAND: with the common ones
    "$program" "$1" --help | sed -n 's/^  \(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort -u
}
common() { echo --config --store --lexicon --json --quiet --jobs --version --help | tr ' ' '\n' | sort; }
own_options() { comm -23 <(options_of_help "$1") <(common); }

# The manual: a section a command, a .TP an option.
commands_of_manual() { sed -n 's/^\.SS refrain \([a-z]*\).*/\1/p' "$manual" | sort; }
options_of_section() { # between two patterns
    awk -v from="$1" '
        /^\.S[SH]/ { inside = ($0 ~ from) }
        inside && item { gsub(/\\-/, "-"); if (match($0, /--[a-z-]*/)) print substr($0, RSTART, RLENGTH) }
        { item = /^\.TP/ }' "$manual" | sort -u
}
manual_has_commands() { diff <(commands_of_help) <(commands_of_manual); }
manual_has_options() {
    diff <(common) <(options_of_section '^\\.SH COMMON OPTIONS') || return 1
    for command in $(commands_of_help); do
        diff <(own_options "$command") <(options_of_section "^\\\\.SS refrain $command( |\$)") || { echo "in refrain $command"; return 1; }
    done
}
manual_is_clean() { # groff has nothing to complain about
    command -v groff >/dev/null || return 0
    groff -man -Tutf8 -ww -z "$manual" >groff.out 2>&1; [ ! -s groff.out ] || { cat groff.out; return 1; }
}

# Bash: asked as the shell would.
bash_words() { # bash_words WORD...: what completes the last one
    (
        . "$SRCDIR/etc/completion/refrain.bash"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _refrain
        printf '%s\n' "${COMPREPLY[@]}"
    ) | sort -u
}
bash_has_commands() { diff <( (commands_of_help; echo help) | sort) <(bash_words refrain '' | grep -v ^-); }
bash_has_options() {
    for command in $(commands_of_help); do
        diff <(options_of_help "$command") <(bash_words refrain -c x "$command" --) || { echo "in refrain $command"; return 1; }
    done
}
bash_completes_campaigns() {
    make_lexicon "$work/refrain.lex" a; copy_mail; configure "lmdb:$work/store"
    id=$(refrain report --quiet spam.eml | cut -f 2)
    [ -n "$id" ] && [ "$(bash_words refrain show "${id:0:3}")" = "$id" ]
}

# Zsh: a branch a command.
zsh_options() {
    awk -v command="        $1)" '$0 == command { inside = 1 } inside && /;;/ { exit } inside { print }' "$SRCDIR/etc/completion/_refrain" |
        grep -o -- "'--[a-z-]*" | tr -d "'" | sort -u
}
zsh_has_commands() { diff <(commands_of_help) <(sed -n "s/^        '\([a-z]*\):.*/\1/p" "$SRCDIR/etc/completion/_refrain" | sort); }
zsh_has_options() {
    for command in $(commands_of_help); do
        diff <(own_options "$command") <(zsh_options "$command") || { echo "in refrain $command"; return 1; }
    done
    for option in $(common); do grep -q -- "$option" "$SRCDIR/etc/completion/_refrain" || { echo "$option"; return 1; }; done
}
zsh_reads_it() { command -v zsh >/dev/null || return 0; zsh -n "$SRCDIR/etc/completion/_refrain"; }

ok "every command is in the manual, and no other" manual_has_commands
ok "every option is in the manual, and no other" manual_has_options
ok "the manual is well-formed" manual_is_clean
ok "bash completes every command" bash_has_commands
ok "bash completes every option, and no other" bash_has_options
ok "bash completes campaigns" bash_completes_campaigns
ok "zsh completes every command" zsh_has_commands
ok "zsh completes every option, and no other" zsh_has_options
ok "zsh can read its file" zsh_reads_it
plan
