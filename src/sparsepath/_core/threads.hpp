// A small pool of threads. Work is cut into pieces that do not depend on the number of threads, so neither do results.
#pragma once

#include <cstdint>
#include <functional>

namespace sparsepath {

// Call body(piece) for piece = 0 .. pieces - 1 on up to n_threads threads, the caller included.
// The first exception is rethrown here once all threads are idle. The body must not touch Python.
void parallel_for(int64_t pieces, int n_threads, const std::function<void(int64_t)>& body);

// Call body(first, last) for consecutive ranges of at most `size` items that cover 0 .. items - 1.
template <class Body>
void parallel_ranges(int64_t items, int64_t size, int n_threads, Body&& body) {
    const int64_t pieces = (items + size - 1) / size;
    parallel_for(pieces, n_threads, [&](int64_t piece) {
        const int64_t first = piece * size;
        body(first, first + size < items ? first + size : items);
    });
}

}  // namespace sparsepath
