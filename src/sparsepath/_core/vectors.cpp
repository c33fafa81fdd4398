#include "vectors.hpp"

#include <algorithm>
#include <limits>

namespace sparsepath {

// Four quarters side by side: a sum waits for the one before it, four do so at the same time.
SPARSEPATH_WIDE double dot(const double* SPARSEPATH_RESTRICT a, const double* SPARSEPATH_RESTRICT b, int64_t n) {
    double total = 0;
    int64_t q = 0;
    if (n >= 256) {
        q = n / 32 * 8;
        const double *a1 = a + q, *a2 = a1 + q, *a3 = a2 + q, *b1 = b + q, *b2 = b1 + q, *b3 = b2 + q;
        double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (int64_t j = 0; j < q; ++j) {
            s0 += a[j] * b[j];
            s1 += a1[j] * b1[j];
            s2 += a2[j] * b2[j];
            s3 += a3[j] * b3[j];
        }
        total = (s0 + s1) + (s2 + s3);
    }
    double rest = 0;
#pragma omp simd reduction(+ : rest)
    for (int64_t j = 4 * q; j < n; ++j) rest += a[j] * b[j];
    return total + rest;
}

SPARSEPATH_WIDE void subtract(double* SPARSEPATH_RESTRICT row, double f, const double* SPARSEPATH_RESTRICT v, int64_t n) {
    for (int64_t j = 0; j < n; ++j) row[j] -= f * v[j];
}

SPARSEPATH_WIDE void add_scaled(double a, const double* SPARSEPATH_RESTRICT x, double* SPARSEPATH_RESTRICT y, int64_t n) {
    for (int64_t j = 0; j < n; ++j) y[j] += a * x[j];
}

SPARSEPATH_WIDE void inner_products(const double* const* Z, int64_t k, const double* SPARSEPATH_RESTRICT v, int64_t n,
                                    double* SPARSEPATH_RESTRICT out) {
    for (int64_t i = 0; i < k; ++i) out[i] = 0.0;
    for (int64_t low = 0; low < n; low += STRIP) {
        const int64_t high = std::min(n, low + STRIP);
        int64_t i = 0;
        for (; i + 4 <= k; i += 4) {
            const double *a = Z[i], *b = Z[i + 1], *c = Z[i + 2], *d = Z[i + 3];
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
            for (int64_t j = low; j < high; ++j) {
                s0 += a[j] * v[j];
                s1 += b[j] * v[j];
                s2 += c[j] * v[j];
                s3 += d[j] * v[j];
            }
            out[i] += s0;
            out[i + 1] += s1;
            out[i + 2] += s2;
            out[i + 3] += s3;
        }
        for (; i < k; ++i) {
            const double* a = Z[i];
            double s = 0;
#pragma omp simd reduction(+ : s)
            for (int64_t j = low; j < high; ++j) s += a[j] * v[j];
            out[i] += s;
        }
    }
}

SPARSEPATH_WIDE void subtract_strip(double* SPARSEPATH_RESTRICT row, const double* const* Z, int64_t low, const double* t,
                                    int64_t stride, int64_t k, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= k; i += 4) {
        const double *a = Z[i] + low, *b = Z[i + 1] + low, *c = Z[i + 2] + low, *d = Z[i + 3] + low;
        const double ta = t[i * stride], tb = t[(i + 1) * stride], tc = t[(i + 2) * stride], td = t[(i + 3) * stride];
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) row[j] -= (ta * a[j] + tb * b[j]) + (tc * c[j] + td * d[j]);
    }
    for (; i < k; ++i) {
        const double *a = Z[i] + low, ta = t[i * stride];
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) row[j] -= ta * a[j];
    }
}

void subtract_all(double* row, const double* const* Z, const double* t, int64_t stride, int64_t k, int64_t n) {
    for (int64_t low = 0; low < n; low += STRIP)
        subtract_strip(row + low, Z, low, t, stride, k, std::min(STRIP, n - low));
}

SPARSEPATH_WIDE double squared_errors(const double* SPARSEPATH_RESTRICT z, const double* SPARSEPATH_RESTRICT r,
                                      const double* SPARSEPATH_RESTRICT p, const double* SPARSEPATH_RESTRICT share,
                                      double tau, double inverse, double room, int64_t n) {
    double total = 0, full = 0;
#pragma omp simd reduction(+ : total, full)
    for (int64_t j = 0; j < n; ++j) {
        const double left = p[j] - z[j] * z[j] * inverse;
        const double e = (r[j] - z[j] * tau) / left;
        total += share[j] * (e * e);
        full += left <= room ? 1.0 : 0.0;
    }
    return full == 0.0 ? total : std::numeric_limits<double>::infinity();
}

}  // namespace sparsepath
