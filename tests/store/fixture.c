#include "tests/store/fixture.h"

#include <ftw.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

char *fixture_folder(void)
{
    GError *error = NULL;
    char *folder = g_dir_make_tmp("test-store-XXXXXX", &error);
    if (!folder)
        g_error("%s", error->message);
    return folder;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void fixture_remove(char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    g_free(folder);
}

struct lexicon *fixture_lexicon(const char *folder, unsigned seed, unsigned bucket_bits)
{
    GError *error = NULL;
    g_autofree char *path = g_strdup_printf("%s/%u-%u.lex", folder, seed, bucket_bits);
    struct df *df = df_read(TESTDIR "/lexicon/tiny.df", &error);
    struct lexicon_plan plan = lexicon_default_plan;
    uint8_t secret[LEXICON_SEED] = { 0 };
    memcpy(secret, &seed, sizeof seed);
    plan.bucket_bits = bucket_bits;
    if (!df || !lexicon_make(df, &plan, secret, path, &error))
        g_error("%s", error->message);
    df_free(&df);
    struct lexicon *lexicon = lexicon_open(path, &error);
    if (!lexicon)
        g_error("%s", error->message);
    return lexicon;
}

struct signature fixture_signature(const struct lexicon *lexicon, enum message_view view, uint64_t seed)
{
    struct signature signature = { .lexicon = lexicon_id(lexicon), .view = view, .terms = 100 };
    uint64_t x = hash_mix(seed + 1);
    signature.n_lex = view == MESSAGE_PART ? 1 : 20;
    for (unsigned i = 0; i < signature.n_lex; i++)
        signature.lex[i] = (x = hash_mix(x + 1)) & (view == MESSAGE_PART ? UINT64_MAX : ~UINT64_C(0xffff));
    for (unsigned i = 0; i < SIGNATURE_WORDS && view != MESSAGE_PART; i++)
        signature.sketch[i] = x = hash_mix(x + 1);
    for (unsigned i = 0; i < 3 && view == MESSAGE_BODY; i++)
        signature.odd[i] = ((x = hash_mix(x + 1)) & 0xffffff) | 1;
    return signature;
}

struct signature fixture_changed(const struct signature *signature, unsigned bits, unsigned hashes,
                                 uint64_t seed)
{
    struct signature changed = *signature;
    uint64_t x = hash_mix(seed ^ 0x5eed);
    for (unsigned flipped = 0; flipped < bits;) {
        x = hash_mix(x + 1);
        uint64_t bit = UINT64_C(1) << (x & 63), *word = &changed.sketch[x >> 6 & 7];
        if ((*word & bit) == (signature->sketch[x >> 6 & 7] & bit)) {
            *word ^= bit;
            flipped++;
        }
    }
    for (unsigned i = 0; i < hashes && i < changed.n_lex; i++)
        changed.lex[i] = (x = hash_mix(x + 1)) & ~UINT64_C(0xffff);
    if (hashes >= changed.n_lex) /* nothing in common, then */
        memset(changed.odd, 0, sizeof changed.odd);
    return changed;
}

struct signature_set fixture_set(struct signature signature)
{
    struct signature_set set = { .n = 1 };
    set.v[0] = signature;
    return set;
}
