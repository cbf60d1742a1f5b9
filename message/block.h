/*
 * 64 bytes of text at once: which of them are letters or digits, and what they are in lower case. The
 * compiler's vector instructions where they are known, byte by byte elsewhere, with the same result.
 */
#ifndef MESSAGE_BLOCK_H
#define MESSAGE_BLOCK_H

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define BLOCK_SIZE 64

/* Bit i tells about byte i. */
struct block {
    uint64_t letters, digits, symbols, wide; /* ASCII letters; digits; @ $ !; bytes above 0x7f */
    char lower[BLOCK_SIZE];
};

#ifdef __SSE2__

static inline uint64_t block_bits(__m128i mask, unsigned at)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(mask) << at;
}

static inline __m128i block_between(__m128i bytes, char low, char high)
{
    return _mm_and_si128(_mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)(low - 1))),
                         _mm_cmplt_epi8(bytes, _mm_set1_epi8((char)(high + 1))));
}

static inline __m128i block_equal(__m128i bytes, char c)
{
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c));
}

/* Bytes above 0x7f are negative here, so that they are between nothing. */
static inline void block_read(struct block *block, const unsigned char *text)
{
    block->letters = block->digits = block->symbols = block->wide = 0;
    for (unsigned at = 0; at < BLOCK_SIZE; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
        __m128i bit = _mm_set1_epi8(0x20);
        __m128i letters = block_between(_mm_or_si128(bytes, bit), 'a', 'z');
        __m128i symbols = _mm_or_si128(_mm_or_si128(block_equal(bytes, '@'), block_equal(bytes, '$')),
                                       block_equal(bytes, '!'));
        _mm_storeu_si128((__m128i *)(void *)(block->lower + at),
                         _mm_or_si128(bytes, _mm_and_si128(letters, bit)));
        block->letters |= block_bits(letters, at);
        block->digits |= block_bits(block_between(bytes, '0', '9'), at);
        block->symbols |= block_bits(symbols, at);
        block->wide |= block_bits(bytes, at);
    }
}

#else

static inline void block_read(struct block *block, const unsigned char *text)
{
    block->letters = block->digits = block->symbols = block->wide = 0;
    for (unsigned i = 0; i < BLOCK_SIZE; i++) {
        unsigned char c = text[i], low = c | 0x20;
        uint64_t letter = low >= 'a' && low <= 'z';
        block->lower[i] = (char)(letter ? low : c);
        block->letters |= letter << i;
        block->digits |= (uint64_t)(c >= '0' && c <= '9') << i;
        block->symbols |= (uint64_t)(c == '@' || c == '$' || c == '!') << i;
        block->wide |= (uint64_t)(c >> 7) << i;
    }
}

#endif
#endif
