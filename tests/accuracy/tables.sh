#!/bin/sh
# tables.sh [-j JOBS] [-p FOLDER] NAME SPAM HAM [NAME SPAM HAM]...
#
# The tables of doc/accuracy.md, as Markdown: averages over three lexicon seeds times nine samples for each
# collection of mail, every ham that was hit, the classical methods, the paper's recall. Run it in the build
# folder. -p writes the curves of each collection to FOLDER/accuracy-NAME.svg.
set -eu
usage() { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
jobs=1 plots=
while getopts j:p: option; do
    case $option in j) jobs=$OPTARG ;; p) plots=$OPTARG ;; *) usage ;; esac
done
shift $((OPTIND - 1))
[ $# -ge 3 ] && [ $(($# % 3)) = 0 ] && [ -x tools/refrain ] || usage
command -v jq >/dev/null || { echo "tables.sh: jq is missing: apt-get install jq" >&2; exit 2; }
frequencies=$(cd "$(dirname "$0")/../../lexicon" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

lexicons='1 2 3' samples='1 2 3 4 5 6 7 8 9'
for lexicon in $lexicons; do
    head -c 32 /dev/zero | tr '\0' "$lexicon" >"$work/seed"
    ./refrain-lexicon make "$frequencies/english.df.xz" "$frequencies/languages.df.xz" --seed-file "$work/seed" \
        --quiet -o "$work/$lexicon.lex" >/dev/null
done

evaluate() { # evaluate LEXICON SAMPLE SPAM HAM [option...]
    lexicon=$1 sample=$2 spam=$3 ham=$4; shift 4
    ./tools/refrain --quiet --lexicon "$work/$lexicon.lex" eval -j "$jobs" --seed "$sample" --spam "$spam" --ham "$ham" "$@"
}

# Of the runs of one collection, an array of objects: mean, least and most of a share, in per cent.
figures='
def share(part; of): 100 * part / of;
def shown: . * 100 | round / 100 | tostring;
def spread: "\(add / length | shown) (\(min | shown) … \(max | shown))";
def row(name; pick): "| \(name) | \([.[] | pick | share(.tag; .of)] | spread) | \([.[] | pick | share(.reject; .of)] | spread) | \(.[0] | pick.of) |";
def runs(pick): [.[] | pick] | "\(add) in \(length) runs";
def counts(name; pick): "| \(name) | \(runs(pick.tag)) | \(runs(pick.reject)) | \(.[0] | pick.of) |";
'
while [ $# -gt 0 ]; do
    name=$1 spam=$2 ham=$3; shift 3
    for lexicon in $lexicons; do
        for sample in $samples; do
            evaluate "$lexicon" "$sample" "$spam" "$ham" --json --show-ham-hits
        done
    done >"$work/runs"
    printf '### %s\n\nMean of 27 runs (least … most), in per cent; ham hits added up over all runs.\n\n' "$name"
    printf '| | tag | reject | of |\n|---|---|---|---|\n'
    jq -rs "$figures"' row("caught"; .caught), row("caught, no trivial copies"; .nontrivial),
        row("caught on arrival"; .stream),
        counts("ham hit, a tenth of the spam reported"; .ham), counts("ham hit, all spam reported"; .ham_all),
        (. as $runs | .[0].mutations | keys[] | . as $m | $runs | row(.[0].mutations[$m].name; .mutations[$m].score))' \
        "$work/runs"
    printf '\nHam that resembles reported spam, all of it reported, in any of the runs:\n\n'
    jq -rs '[.[].ham_hits[]] | if length == 0 then "none" else
        (group_by([.ham, .spam, .view])[] | .[0] as $h |
         "- \($h.ham | split("/")[-1]) and \($h.spam | split("/")[-1]): \($h.view) view, similarity up to \([.[].similarity] | max)")
        end' "$work/runs"
    printf '\nLexicon 1, sample 1:\n\n```\n'
    evaluate 1 1 "$spam" "$ham" --mutate 2000 --compare --paper ${plots:+--plot "$plots/accuracy-$name.svg"} |
        sed -n '/^The classical/,/^Suggestion/{/^Suggestion/!p}'
    printf '```\n\n'
done
