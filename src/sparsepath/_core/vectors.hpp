// Loops over vectors as long as the samples. Sums run in several accumulators, in an order that depends on the length alone.
#pragma once

#include <cstdint>

#include "simd.hpp"

namespace sparsepath {

// Samples of a strip: a few vectors of that length stay in the first cache while others stream by.
constexpr int64_t STRIP = 2048;

// a'b.
double dot(const double* a, const double* b, int64_t n);

// row <- row - f v.
void subtract(double* row, double f, const double* v, int64_t n);

// y <- y + a x.
void add_scaled(double a, const double* x, double* y, int64_t n);

// out_i = Z_i'v for i < k.
void inner_products(const double* const* Z, int64_t k, const double* v, int64_t n, double* out);

// row <- row - sum of t_i Z_i for i < k; t_i lies `stride` apart.
void subtract_all(double* row, const double* const* Z, const double* t, int64_t stride, int64_t k, int64_t n);

// The same for `n` numbers from `low` on of every Z_i; row is that part already.
void subtract_strip(double* row, const double* const* Z, int64_t low, const double* t, int64_t stride, int64_t k, int64_t n);

// Sum of share ((r - z tau) / (p - z^2 inverse))^2, the leave-one-out errors with z added. Infinite where a sample has
// no room in p.
double squared_errors(const double* z, const double* r, const double* p, const double* share, double tau, double inverse,
                      double room, int64_t n);

}  // namespace sparsepath
