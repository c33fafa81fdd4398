// Dense kernels of the extreme learning machine, over rows of samples in single or double precision.
//
// Neurons are rows: H is m x n, neurons by samples. With at most a hundred rows these loops take half the time of
// OpenBLAS on the same shapes (one thread, 30 to 100 rows, 500 to 2000 samples), and they start no threads.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "simd.hpp"

#if defined(_MSC_VER) && !defined(__clang__)
#define SPARSEPATH_INLINE __forceinline
#else
#define SPARSEPATH_INLINE inline __attribute__((always_inline))
#endif

namespace sparsepath::elm {

constexpr int64_t STRIP = 512;  // samples at a time, so that the rows in use stay in the cache

// Rows of equal length, a fixed number of elements apart.
template <class T>
struct Rows {
    T* data;
    int64_t count, length, stride;
    T* operator[](int64_t j) const { return data + j * stride; }
};

// Rows that own their memory, not initialised. They begin at lines of the cache and never a multiple of 4096 bytes
// apart, because such rows would compete for the same places in it.
template <class T>
class OwnedRows {
public:
    OwnedRows(int64_t count, int64_t length) {
        const int64_t line = 64 / sizeof(T), page = 4096 / sizeof(T);
        int64_t stride = (length + line - 1) / line * line;
        if (stride % page == 0) stride += line;
        memory_.reset(new T[count * stride + line]);
        const auto at = reinterpret_cast<uintptr_t>(memory_.get());
        T* first = memory_.get() + (64 - at % 64) % 64 / sizeof(T);
        rows_ = {first, count, length, stride};
    }
    operator Rows<T>() const { return rows_; }
    T* operator[](int64_t j) const { return rows_[j]; }

private:
    std::unique_ptr<T[]> memory_;
    Rows<T> rows_;
};

// An upper triangular matrix, or the upper triangle of a symmetric one.
template <class T>
struct Square {
    T* data;
    int64_t size;
    T& operator()(int64_t j, int64_t k) const { return data[j * size + k]; }
};

// tanh(x) = x P(x^2) / Q(x^2) up to |x| = 8.5, to 1.2e-8 of itself, a fit of least largest error; beyond, it is 1 in
// single precision.
SPARSEPATH_INLINE float hyperbolic_tangent(float x) {
    x = x > -8.5f ? x : -8.5f;
    x = x < 8.5f ? x : 8.5f;
    const float s = x * x;
    const float above = 0.9999999881767f +
        s * (0.1341324475853f + s * (3.534024333242e-3f + s * (2.125100496692e-5f + s * 1.426917775869e-8f)));
    const float below = 1.0f +
        s * (0.4674656749164f + s * (2.602274161055e-2f + s * (3.348860767791e-4f + s * 8.145101955102e-7f)));
    return x * (above / below);
}

// tanh(x) = e / (e + 2) with e = exp(2x) - 1. For v = x / 32 the Taylor series of exp(v) - 1 to the 13th power is exact
// to rounding, and six times e <- e (e + 2) doubles the exponent up to 2x. Beyond |x| = 20, tanh is 1.
SPARSEPATH_INLINE double hyperbolic_tangent(double x) {
    x = x > -20.0 ? x : -20.0;
    x = x < 20.0 ? x : 20.0;
    const double v = x * 0.03125, v2 = v * v, v4 = v2 * v2;
    const double low = (0.5 + v * (1 / 6.0)) + v2 * (1 / 24.0 + v * (1 / 120.0));
    const double mid = (1 / 720.0 + v * (1 / 5040.0)) + v2 * (1 / 40320.0 + v * (1 / 362880.0));
    const double top = (1 / 3628800.0 + v * (1 / 39916800.0)) + v2 * (1 / 479001600.0 + v * (1 / 6227020800.0));
    double e = v + v2 * (low + v4 * (mid + v4 * top));
    for (int doubling = 0; doubling < 6; ++doubling) e = e * e + 2.0 * e;
    return e / (e + 2.0);
}

template <class T>
SPARSEPATH_INLINE T dot(const T* x, const T* y, int64_t n) {
    T total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < n; ++i) total += x[i] * y[i];
    return total;
}

// y <- y + factor x
template <class T>
SPARSEPATH_INLINE void add_row(T factor, const T* SPARSEPATH_RESTRICT x, T* SPARSEPATH_RESTRICT y, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// The sixteen products of four rows with four others.
template <class T>
SPARSEPATH_INLINE void products_4x4(const T* const (&left)[4], const T* const (&right)[4], int64_t n, T (&out)[4][4]) {
    const T *x = left[0], *y = left[1], *z = left[2], *t = left[3];
    const T *a = right[0], *b = right[1], *c = right[2], *d = right[3];
    T xa = 0, xb = 0, xc = 0, xd = 0, ya = 0, yb = 0, yc = 0, yd = 0;
    T za = 0, zb = 0, zc = 0, zd = 0, ta = 0, tb = 0, tc = 0, td = 0;
#pragma omp simd reduction(+ : xa, xb, xc, xd, ya, yb, yc, yd, za, zb, zc, zd, ta, tb, tc, td)
    for (int64_t i = 0; i < n; ++i) {
        xa += x[i] * a[i], xb += x[i] * b[i], xc += x[i] * c[i], xd += x[i] * d[i];
        ya += y[i] * a[i], yb += y[i] * b[i], yc += y[i] * c[i], yd += y[i] * d[i];
        za += z[i] * a[i], zb += z[i] * b[i], zc += z[i] * c[i], zd += z[i] * d[i];
        ta += t[i] * a[i], tb += t[i] * b[i], tc += t[i] * c[i], td += t[i] * d[i];
    }
    const T found[4][4] = {{xa, xb, xc, xd}, {ya, yb, yc, yd}, {za, zb, zc, zd}, {ta, tb, tc, td}};
    for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 4; ++k) out[j][k] = found[j][k];
}

// Four rows apart from all others, for a strip of samples.
template <class T>
struct FourRows {
    alignas(64) T rows[4][STRIP + 48];
};

// Each of the four rows plus a combination of four others: row r gets the sum over s of factors[s][r] of[s].
template <class T>
SPARSEPATH_INLINE void add_4x4(FourRows<T>& to, const T* const (&of)[4], const T (&factors)[4][4], int64_t n) {
    T *SPARSEPATH_RESTRICT q = to.rows[0], *SPARSEPATH_RESTRICT r = to.rows[1];
    T *SPARSEPATH_RESTRICT s = to.rows[2], *SPARSEPATH_RESTRICT t = to.rows[3];
    const T *SPARSEPATH_RESTRICT a = of[0], *SPARSEPATH_RESTRICT b = of[1];
    const T *SPARSEPATH_RESTRICT c = of[2], *SPARSEPATH_RESTRICT d = of[3];
    const T qa = factors[0][0], ra = factors[0][1], sa = factors[0][2], ta = factors[0][3];
    const T qb = factors[1][0], rb = factors[1][1], sb = factors[1][2], tb = factors[1][3];
    const T qc = factors[2][0], rc = factors[2][1], sc = factors[2][2], tc = factors[2][3];
    const T qd = factors[3][0], rd = factors[3][1], sd = factors[3][2], td = factors[3][3];
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
        const T x = a[i], y = b[i], z = c[i], w = d[i];
        q[i] = q[i] + qa * x + qb * y + qc * z + qd * w;
        r[i] = r[i] + ra * x + rb * y + rc * z + rd * w;
        s[i] = s[i] + sa * x + sb * y + sc * z + sd * w;
        t[i] = t[i] + ta * x + tb * y + tc * z + td * w;
    }
}

// out <- W X for the given rows of X; W is out.count x features.size(), row by row.
template <class T>
SPARSEPATH_WIDE void combine(const T* W, const std::vector<const T*>& X, Rows<T> out) {
    const int64_t m = out.count, d = static_cast<int64_t>(X.size());
    FourRows<T> apart;
    for (int64_t low = 0; low < out.length; low += STRIP) {
        const int64_t n = out.length - low < STRIP ? out.length - low : STRIP;
        for (int64_t j = 0; j < m; j += 4) {
            const int64_t rows = m - j < 4 ? m - j : 4;
            for (int64_t r = 0; r < 4; ++r)
                for (int64_t i = 0; i < n; ++i) apart.rows[r][i] = 0;
            for (int64_t k = 0; k < d; k += 4) {
                const T* of[4];
                T factors[4][4];
                for (int64_t s = 0; s < 4; ++s) {
                    of[s] = X[k + s < d ? k + s : d - 1] + low;
                    for (int64_t r = 0; r < 4; ++r)
                        factors[s][r] = k + s < d && r < rows ? W[(j + r) * d + k + s] : T(0);
                }
                add_4x4(apart, of, factors, n);
            }
            for (int64_t r = 0; r < rows; ++r) {
                T* o = out[j + r] + low;
                for (int64_t i = 0; i < n; ++i) o[i] = apart.rows[r][i];
            }
        }
    }
}

// In place: H <- tanh(H + bias), less its mean over the samples, which goes to means.
template <class T>
SPARSEPATH_WIDE void squash(Rows<T> H, const T* biases, T* means) {
    const int64_t n = H.length;
    for (int64_t j = 0; j < H.count; ++j) {
        T* SPARSEPATH_RESTRICT h = H[j];
        const T bias = biases[j];
        T total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t i = 0; i < n; ++i) {
            const T x = hyperbolic_tangent(h[i] + bias);
            h[i] = x;
            total += x;
        }
        const T mean = total / static_cast<T>(n);
        means[j] = mean;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) h[i] -= mean;
    }
}

// A <- H H', upper triangle.
template <class T, class S>
SPARSEPATH_WIDE void gram(Rows<T> H, Square<S> A) {
    const int64_t m = H.count, strip = 4096 / sizeof(T);
    for (int64_t j = 0; j < m * m; ++j) A.data[j] = 0;
    for (int64_t low = 0; low < H.length; low += strip) {
        const int64_t n = H.length - low < strip ? H.length - low : strip;
        for (int64_t j = 0; j < m; j += 4) {
            const T *left[4], *right[4];
            for (int64_t r = 0; r < 4; ++r) left[r] = H[j + r < m ? j + r : m - 1] + low;
            for (int64_t k = j; k < m; k += 4) {
                for (int64_t s = 0; s < 4; ++s) right[s] = H[k + s < m ? k + s : m - 1] + low;
                T found[4][4];
                products_4x4(left, right, n, found);
                for (int64_t r = 0; r < 4 && j + r < m; ++r)
                    for (int64_t s = 0; s < 4 && k + s < m; ++s) A(j + r, k + s) += static_cast<S>(found[r][s]);
            }
        }
    }
}

// To g: for each row k of X the sum over rows j of R and samples i of W_jk R_ji X_ki.
template <class T>
SPARSEPATH_WIDE void project(Rows<T> R, const std::vector<const T*>& X, const T* W, double* g) {
    const int64_t m = R.count, d = static_cast<int64_t>(X.size());
    for (int64_t k = 0; k < d; ++k) g[k] = 0;
    for (int64_t low = 0; low < R.length; low += STRIP) {
        const int64_t n = R.length - low < STRIP ? R.length - low : STRIP;
        for (int64_t k = 0; k < d; k += 4) {
            const T *left[4], *right[4];
            for (int64_t s = 0; s < 4; ++s) right[s] = X[k + s < d ? k + s : d - 1] + low;
            for (int64_t j = 0; j < m; j += 4) {
                for (int64_t r = 0; r < 4; ++r) left[r] = R[j + r < m ? j + r : m - 1] + low;
                T found[4][4];
                products_4x4(left, right, n, found);
                for (int64_t r = 0; r < 4 && j + r < m; ++r)
                    for (int64_t s = 0; s < 4 && k + s < d; ++s) g[k + s] += W[(j + r) * d + k + s] * found[r][s];
            }
        }
    }
}

// In place, upper triangle: A = U'U, row by row; false if A is not positive definite.
template <class S>
SPARSEPATH_WIDE bool cholesky(Square<S> A) {
    const int64_t m = A.size;
    for (int64_t k = 0; k < m; ++k) {
        S* SPARSEPATH_RESTRICT u = &A(k, k);
        const int64_t n = m - k;
        int64_t p = 0;
        for (; p + 4 <= k; p += 4) {
            const S *SPARSEPATH_RESTRICT a = &A(p, k), *SPARSEPATH_RESTRICT b = &A(p + 1, k);
            const S *SPARSEPATH_RESTRICT c = &A(p + 2, k), *SPARSEPATH_RESTRICT d = &A(p + 3, k);
            const S a0 = a[0], b0 = b[0], c0 = c[0], d0 = d[0];
#pragma omp simd
            for (int64_t i = 0; i < n; ++i) u[i] -= a0 * a[i] + b0 * b[i] + c0 * c[i] + d0 * d[i];
        }
        for (; p < k; ++p) add_row(-A(p, k), &A(p, k), u, n);
        if (!(u[0] > 0)) return false;
        const S factor = S(1) / std::sqrt(u[0]);
        for (int64_t i = 0; i < n; ++i) u[i] *= factor;
    }
    return true;
}

// In place: v <- U'^-1 v
template <class S>
SPARSEPATH_INLINE void solve_lower(Square<S> U, S* v) {
    for (int64_t j = 0; j < U.size; ++j) {
        v[j] /= U(j, j);
        for (int64_t k = j + 1; k < U.size; ++k) v[k] -= v[j] * U(j, k);
    }
}

// In place: v <- U^-1 v
template <class S>
SPARSEPATH_INLINE void solve_upper(Square<S> U, S* v) {
    for (int64_t j = U.size - 1; j >= 0; --j) v[j] = (v[j] - dot(&U(j, j) + 1, v + j + 1, U.size - j - 1)) / U(j, j);
}

// Q <- U'^-1 H, or BACK: Q <- U^-1 H, whose rows go from the last to the first; four rows at a time, each less four rows before
// at a time. H may be Q.
template <class T, bool BACK>
SPARSEPATH_WIDE void substitute(Square<T> U, Rows<T> H, Rows<T> Q) {
    const int64_t m = H.count, fours = m - m % 4;
    const auto at = [m](int64_t k) { return BACK ? m - 1 - k : k; };
    const auto L = [&](int64_t k, int64_t p) { return BACK ? U(at(k), at(p)) : U(p, k); };
    FourRows<T> apart;
    T *q = apart.rows[0], *r = apart.rows[1], *s = apart.rows[2], *t = apart.rows[3];
    for (int64_t low = 0; low < H.length; low += STRIP) {
        const int64_t n = H.length - low < STRIP ? H.length - low : STRIP;
        for (int64_t k = 0; k < fours; k += 4) {
            for (int64_t row = 0; row < 4; ++row)
                for (int64_t i = 0; i < n; ++i) apart.rows[row][i] = H[at(k + row)][low + i];
            for (int64_t p = 0; p < k; p += 4) {
                const T* of[4];
                T factors[4][4];
                for (int64_t from = 0; from < 4; ++from) {
                    of[from] = Q[at(p + from)] + low;
                    for (int64_t row = 0; row < 4; ++row) factors[from][row] = -L(k + row, p + from);
                }
                add_4x4(apart, of, factors, n);
            }
            const T qr = L(k + 1, k), qs = L(k + 2, k), qt = L(k + 3, k);
            const T rs = L(k + 2, k + 1), rt = L(k + 3, k + 1), st = L(k + 3, k + 2);
            const T qq = T(1) / L(k, k), rr = T(1) / L(k + 1, k + 1);
            const T ss = T(1) / L(k + 2, k + 2), tt = T(1) / L(k + 3, k + 3);
            T *SPARSEPATH_RESTRICT a = Q[at(k)] + low, *SPARSEPATH_RESTRICT b = Q[at(k + 1)] + low;
            T *SPARSEPATH_RESTRICT c = Q[at(k + 2)] + low, *SPARSEPATH_RESTRICT d = Q[at(k + 3)] + low;
#pragma omp simd
            for (int64_t i = 0; i < n; ++i) {
                const T x = q[i] * qq;
                const T y = (r[i] - qr * x) * rr;
                const T z = (s[i] - qs * x - rs * y) * ss;
                a[i] = x, b[i] = y, c[i] = z;
                d[i] = (t[i] - qt * x - rt * y - st * z) * tt;
            }
        }
        for (int64_t k = fours; k < m; ++k) {
            for (int64_t i = 0; i < n; ++i) q[i] = H[at(k)][low + i];
            for (int64_t p = 0; p < k; ++p) add_row<T>(-L(k, p), Q[at(p)] + low, q, n);
            const T factor = T(1) / L(k, k);
            for (int64_t i = 0; i < n; ++i) Q[at(k)][low + i] = q[i] * factor;
        }
    }
}

}  // namespace sparsepath::elm
