/*
 * Loops over many 64-bit words at once.
 *
 * A function marked VECTOR_CLONES is compiled for processors with wider vectors too (AVX2, AVX-512), and the
 * dynamic linker chooses at the start of the program: one binary for all of them, with the same results.
 * Where that is not known to work, and with sanitizers, it is compiled once.
 */
#ifndef BASE_VECTOR_H
#define BASE_VECTOR_H

#include <features.h>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12 &&                    \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTOR_CLONES                                                                                        \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3"), flatten))
#else
#define VECTOR_CLONES
#endif

#endif
