#include "store/members.h"

#include "base/hash.h"

bool members_key_of(uint64_t hash, unsigned view, unsigned bucket_bits, struct members_key *out)
{
    /* The view goes into the hash, so that views of different families never meet. */
    uint64_t x = hash_mix(hash ^ hash_mix(signature_family(view) + 1));
    out->bucket = bucket_bits ? (uint32_t)(x >> (64 - bucket_bits)) : 0;
    out->tag = (uint32_t)x & 0x7fffffff;
    return hash != 0;
}

unsigned members_keys(const struct signature *signature, unsigned bucket_bits,
                      struct members_key out[SIGNATURE_MAX_LEX])
{
    unsigned n = 0;
    for (unsigned i = 0; i < signature->n_lex; i++)
        n += members_key_of(signature->lex[i], signature->view, bucket_bits, &out[n]);
    return n;
}

/* The lowest bit of a lexicon hash is never set: no odd word is ever taken for one. */
unsigned members_odd_keys(const struct signature *signature, unsigned bucket_bits,
                          struct members_key out[SIGNATURE_ODD_KEYS])
{
    unsigned n = MIN(signature_n_odd(signature), SIGNATURE_ODD_KEYS);
    for (unsigned i = 0; i < n; i++)
        members_key_of((uint64_t)signature->odd[i] << 1 | 1, signature->view, bucket_bits, &out[i]);
    return n;
}

unsigned members_table_keys(const struct signature *signature, unsigned bucket_bits,
                            struct members_key out[MANKU_MAX_TABLES])
{
    uint64_t hashes[MANKU_MAX_TABLES];
    if (signature->view == MESSAGE_PART)
        return 0;
    /* There are about as many buckets as campaigns that the lexicon was made for. */
    unsigned n = manku_tables(bucket_bits);
    manku_hashes(signature->sketch[0], n, hashes);
    for (unsigned i = 0; i < n; i++) {
        members_key_of(hashes[i], signature->view, bucket_bits, &out[i]);
        out[i].bucket |= BACKEND_TABLES;
    }
    return n;
}
