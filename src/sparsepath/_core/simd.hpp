// Inner loops for the widest vectors of the processor at hand, chosen when the library is loaded.
//
// Put SPARSEPATH_WIDE before a free function with a hot loop. GCC on Linux compiles it once per level of x86-64;
// other compilers make one version. Reductions may be reordered only in loops marked SPARSEPATH_SUM.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && \
    !defined(__SANITIZE_ADDRESS__)
#define SPARSEPATH_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SPARSEPATH_WIDE
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define SPARSEPATH_RESTRICT __restrict
#else
#define SPARSEPATH_RESTRICT __restrict__
#endif

// Bring memory that will be read and written soon into the cache.
#if defined(__GNUC__) || defined(__clang__)
#define SPARSEPATH_FETCH(address) __builtin_prefetch(address, 1)
#else
#define SPARSEPATH_FETCH(address) (void)(address)
#endif
