#include "lexicon/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/units.h"
#include "lexicon/cli.h"

struct report_numbers report_count(const struct lexicon *lexicon)
{
    struct report_numbers n = { 0 };
    struct lexicon_entry e;
    double known = 0, common = 0, primary = 0;
    for (uint64_t i = 0; lexicon_slot(lexicon, i, &e); i++) {
        known += e.df;
        if (e.df && e.classes & LEXICON_COMMON) {
            n.common++;
            common += e.df;
        }
        if (e.df && e.classes & LEXICON_PRIMARY) {
            n.primary++;
            primary += e.df;
        }
        n.secondary += e.df && e.classes & LEXICON_SECONDARY;
    }
    double documents = (double)MAX(lexicon_documents(lexicon), 1u);
    n.mean_known = known / documents;
    n.mean_common = common / documents;
    n.mean_primary = primary / documents;
    return n;
}

static void print_scheme(const struct lexicon_plan *p, const struct report_numbers *n)
{
    char primary[CLI_NUMBER], secondary[CLI_NUMBER];
    if (p->scheme == LEXICON_ADAPTIVE) {
        printf("  scheme     adaptive: %u keyed orders, the first %u terms of a document in each\n", p->k,
               p->keep);
        return;
    }
    printf("  scheme     dropout: the primary lexicon and %u copies, each missing %g %% of it\n", p->k,
           p->drop * 100);
    printf("  primary    %s terms with nidf %g to %g\n", cli_number(n->primary, primary), p->nidf_low,
           p->nidf_high);
    printf("  secondary  %s terms above, %s\n", cli_number(n->secondary, secondary),
           p->secondary ? "taken where the primary has too few" : "not used");
}

static void print_facts(const struct lexicon *lexicon, const char *path, const struct report_numbers *n)
{
    const struct lexicon_plan *p = lexicon_plan_of(lexicon);
    char documents[CLI_NUMBER], terms[CLI_NUMBER], common[CLI_NUMBER], size[UNITS_MAX];
    struct stat st = { 0 };
    stat(path, &st);
    printf("%s\n", path);
    printf("  id         %016" PRIx64 "\n", lexicon_id(lexicon));
    printf("  documents  %s in %" PRIu64 " collection%s\n", cli_number(lexicon_documents(lexicon), documents),
           lexicon_collections(lexicon), lexicon_collections(lexicon) == 1 ? "" : "s");
    printf("  terms      %s, each in %" PRIu32 " documents or more\n",
           cli_number(lexicon_terms(lexicon), terms), p->min_count);
    printf("  common     %s of them, in more than %g %% of a collection\n", cli_number(n->common, common),
           p->common * 100);
    print_scheme(p, n);
    printf("  store      2^%u sets\n", p->bucket_bits);
    printf("  file       %s, mode %04o\n", units_format_size((uint64_t)st.st_size, size),
           (unsigned)st.st_mode & 07777u);
}

void report_facts(const struct lexicon *lexicon, const char *path)
{
    struct report_numbers n = report_count(lexicon);
    print_facts(lexicon, path, &n);
}

/* Candidates that an innocent message meets, for each thousand campaigns: measured on mail, by r. */
static double proposals(unsigned keep, uint64_t campaigns)
{
    static const double per_thousand[] = { 0, 5, 0.44, 0.145, 0.005 };
    return per_thousand[MIN(keep, 4u)] * (double)campaigns / 1000;
}

void report_choice(const struct lexicon *lexicon, const char *path, uint64_t campaigns)
{
    const struct lexicon_plan *p = lexicon_plan_of(lexicon);
    struct report_numbers n = report_count(lexicon);
    char number[CLI_NUMBER];
    print_facts(lexicon, path, &n);
    printf("\nA typical document has %.0f known terms, %.0f of them common", n.mean_known, n.mean_common);
    if (p->scheme == LEXICON_DROPOUT)
        printf(";\n%.1f are in the primary lexicon, about %.1f in each copy (a signature needs %u)",
               n.mean_primary, n.mean_primary * (1 - p->drop), p->min_signature);
    printf(".\nIt suits about %s campaigns", cli_number(campaigns, number));
    if (p->scheme == LEXICON_ADAPTIVE)
        printf(": with %u terms in a signature an innocent\nmessage meets about %.1f candidates (the best 32 "
               "are verified)",
               p->keep, proposals(p->keep, campaigns));
    printf("; the store's sets\nwill hold about %.0f members.\n",
           (double)campaigns * MAX(p->k, 1u) / ldexp(1, (int)p->bucket_bits));
    printf("Keep the file from strangers: who has it can write around it. The user of refrain-milter must\n"
           "be able to read it: chgrp refrain %s\n",
           path);
}
