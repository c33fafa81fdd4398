// Criteria that rounding cannot tell apart are equal, and the lowest index wins; the rule of rls/update.py.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace sparsepath::ties {

constexpr double TIE = 1e-10;        // criteria closer than this (relative) are equal
constexpr double TIE_FLOOR = 1e-14;  // the same relative to the criterion of the empty model

inline double limit(double least, double empty) { return least + TIE * std::fabs(least) + TIE_FLOOR * empty; }

// The lowest of n indices with the least value, or one that ties with it; -1 if none is finite. value(i) is infinite
// for an index that does not count.
template <class Value>
int64_t first_of_least(int64_t n, double empty, Value&& value) {
    double least = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < n; ++i) {
        const double of = value(i);
        least = of < least ? of : least;
    }
    if (!std::isfinite(least)) return -1;
    const double most = limit(least, empty);
    int64_t i = 0;
    while (!(value(i) <= most)) ++i;
    return i;
}

}  // namespace sparsepath::ties
