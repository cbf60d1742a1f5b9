# Bash completion for refrain(1).

_refrain_campaigns() {
    refrain list --quiet --json --limit 200 2>/dev/null |
        sed -n 's/.*"campaign":"\([0-9a-f]\{16\}\)".*/\1/p'
}

_refrain() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
    local common='--config --store --lexicon --json --quiet --jobs --version --help' options='' kind=none
    local IFS=$' \t\n'
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -c|--config|--store|--lexicon|-j|--jobs) ((i++)) ;;
        -*) ;;
        *) command=${COMP_WORDS[i]}; break ;;
        esac
    done

    case $before in
    -c|--config|--lexicon|--message|--from|--spam|--ham|--plot) COMPREPLY=($(compgen -f -- "$word")); return ;;
    --archive) COMPREPLY=($(compgen -d -- "$word")); return ;;
    --store) COMPREPLY=($(compgen -W 'lmdb: redis:// redis+unix: redis-sentinel:// redis-cluster:// rediss:// rediss-sentinel:// rediss-cluster://' -- "$word")); return ;;
    --sort) COMPREPLY=($(compgen -W 'hits last first' -- "$word")); return ;;
    --state) COMPREPLY=($(compgen -W 'active candidate allowed revoked' -- "$word")); return ;;
    -j|--jobs|--label|--source|--reporter|--limit|--since|--share|--stream|--mutate|--seed) return ;;
    esac

    case $command in
    report) options='--label --source --reporter --as-is --forwarded --force --archive' kind=files ;;
    check) options='' kind=files ;;
    explain) options='' kind=files ;;
    sign) options='' kind=files ;;
    allow) options='--label --source --reporter --as-is --forwarded' kind=files ;;
    forget) options='--message --source --dry-run --as-is --forwarded' kind=campaigns ;;
    list) options='--sort --label --state --source --limit' kind=none ;;
    show) options='' kind=campaigns ;;
    stats) options='' kind=none ;;
    expire) options='' kind=none ;;
    export) options='--since' kind=none ;;
    import) options='--source --trust --strict' kind=files ;;
    resign) options='--from --partial --no-switch' kind=folders ;;
    eval) options='--spam --ham --share --stream --mutate --seed --show-ham-hits --compare --paper --plot' kind=none ;;
    ping) options='--milter' kind=none ;;
    '') COMPREPLY=($(compgen -W "report check explain sign allow forget list show stats expire export import resign eval ping help $common" -- "$word")); return ;;
    esac

    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options $common" -- "$word"))
        return
    fi
    case $kind in
    files) COMPREPLY=($(compgen -f -- "$word")) ;;
    folders) COMPREPLY=($(compgen -d -- "$word")) ;;
    campaigns) COMPREPLY=($(compgen -W "$(_refrain_campaigns)" -- "$word")) ;;
    esac
}

complete -o filenames -F _refrain refrain
