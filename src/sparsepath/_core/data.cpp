// Passes over a matrix of any real type whose columns, or whose rows, lie in memory one by one.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "simd.hpp"

namespace sparsepath {
namespace {

constexpr int64_t STRIP_ROWS = 1 << 14;  // rows of a strip: the vectors stay in cache while the columns stream by
constexpr int64_t STREAMS = 6;           // columns read at once: six streams from memory come in faster than one

using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

// A matrix as the loops see it: `lines` are its columns or its rows, whichever are contiguous.
template <class T>
struct Lines {
    const T* line(int64_t i) const { return data + i * apart; }
    const T* data;
    int64_t apart;  // numbers from one line to the next
    int64_t m, n;   // rows and columns of the matrix
};

// Products of some columns with one or two vectors of `m` numbers, added to `out` (columns x Vectors). Where fewer than
// six columns are left the last is read again, so that every sum is formed in the same way.
template <class T, int Vectors>
SPARSEPATH_WIDE void column_products(const Lines<T>& X, const int64_t* which, int64_t count, const double* a,
                                     const double* b, double* out) {
    for (int64_t low = 0; low < X.m; low += STRIP_ROWS) {
        const int64_t rows = std::min(X.m - low, STRIP_ROWS);
        const double *u = a + low, *v = b + low;
        for (int64_t i = 0; i < count; i += STREAMS) {
            const T* x[STREAMS];
            for (int64_t c = 0; c < STREAMS; ++c) x[c] = X.line(which[std::min(i + c, count - 1)]) + low;
            const T *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3], *x4 = x[4], *x5 = x[5];
            double u0 = 0, u1 = 0, u2 = 0, u3 = 0, u4 = 0, u5 = 0;
            double v0 = 0, v1 = 0, v2 = 0, v3 = 0, v4 = 0, v5 = 0;
#pragma omp simd reduction(+ : u0, u1, u2, u3, u4, u5, v0, v1, v2, v3, v4, v5)
            for (int64_t j = 0; j < rows; ++j) {
                const double p = u[j];
                u0 += double(x0[j]) * p;
                u1 += double(x1[j]) * p;
                u2 += double(x2[j]) * p;
                u3 += double(x3[j]) * p;
                u4 += double(x4[j]) * p;
                u5 += double(x5[j]) * p;
                if constexpr (Vectors == 2) {
                    const double q = v[j];
                    v0 += double(x0[j]) * q;
                    v1 += double(x1[j]) * q;
                    v2 += double(x2[j]) * q;
                    v3 += double(x3[j]) * q;
                    v4 += double(x4[j]) * q;
                    v5 += double(x5[j]) * q;
                }
            }
            const double sums[2][STREAMS] = {{u0, u1, u2, u3, u4, u5}, {v0, v1, v2, v3, v4, v5}};
            for (int64_t c = 0; c < std::min(STREAMS, count - i); ++c)
                for (int s = 0; s < Vectors; ++s) out[(i + c) * Vectors + s] += sums[s][c];
        }
    }
}

template <class T>
SPARSEPATH_WIDE void column_spread(const Lines<T>& X, const double* means, const double* weights, double* out) {
    for (int64_t i = 0; i < X.n; ++i) {
        const T* x = X.line(i);
        const double mean = means[i];
        double total = 0.0;
#pragma omp simd reduction(+ : total)
        for (int64_t j = 0; j < X.m; ++j) {
            const double off = double(x[j]) - mean;
            total += weights[j] * off * off;
        }
        out[i] += total;
    }
}

template <class T>
SPARSEPATH_WIDE void row_spread(const Lines<T>& X, const double* means, const double* weights, double* out) {
    for (int64_t j = 0; j < X.m; ++j) {
        const T* x = X.line(j);
        const double w = weights[j];
#pragma omp simd
        for (int64_t i = 0; i < X.n; ++i) {
            const double off = double(x[i]) - means[i];
            out[i] += w * off * off;
        }
    }
}

// The bits of a number, mixed; minus zero is zero.
template <class T>
inline uint64_t mixed_bits(T x) {
    const double value = double(x) + 0.0;
    uint64_t h;
    std::memcpy(&h, &value, sizeof h);
    return h ^ (h >> 32);
}

template <class T>
SPARSEPATH_WIDE void column_marks(const Lines<T>& X, const uint64_t* a, uint64_t* out) {
    for (int64_t i = 0; i < X.n; ++i) {
        const T* x = X.line(i);
        uint64_t total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t j = 0; j < X.m; ++j) total += a[j] * mixed_bits(x[j]);
        out[i] += total;
    }
}

template <class T>
SPARSEPATH_WIDE void row_marks(const Lines<T>& X, const uint64_t* a, uint64_t* out) {
    for (int64_t j = 0; j < X.m; ++j) {
        const T* x = X.line(j);
        const uint64_t weight = a[j];
#pragma omp simd
        for (int64_t i = 0; i < X.n; ++i) out[i] += weight * mixed_bits(x[i]);
    }
}

// Calls body(lines, by_column) with the matrix in its own type.
template <class Body>
void with_lines(const AnyMatrix& X, Body&& body) {
    const int64_t m = static_cast<int64_t>(X.shape(0)), n = static_cast<int64_t>(X.shape(1));
    const bool by_column = (X.stride(0) == 1 || m == 1) && (X.stride(1) != 1 || n == 1);
    if (!by_column && X.stride(1) != 1) throw std::invalid_argument("neither rows nor columns are contiguous");
    const int64_t apart = by_column ? X.stride(1) : X.stride(0);
    auto call = [&](auto zero) {
        using T = decltype(zero);
        body(Lines<T>{static_cast<const T*>(X.data()), apart, m, n}, by_column);
    };
    const auto type = X.dtype();
    if (type == nb::dtype<double>()) return call(double());
    if (type == nb::dtype<float>()) return call(float());
    if (type == nb::dtype<int8_t>()) return call(int8_t());
    if (type == nb::dtype<int16_t>()) return call(int16_t());
    if (type == nb::dtype<int32_t>()) return call(int32_t());
    if (type == nb::dtype<int64_t>()) return call(int64_t());
    if (type == nb::dtype<uint8_t>() || type == nb::dtype<bool>()) return call(uint8_t());
    if (type == nb::dtype<uint16_t>()) return call(uint16_t());
    if (type == nb::dtype<uint32_t>()) return call(uint32_t());
    if (type == nb::dtype<uint64_t>()) return call(uint64_t());
    throw std::invalid_argument("a type that is not float64, float32, bool or an integer of 8 to 64 bits");
}

void require(bool fits) {
    if (!fits) throw std::invalid_argument("arrays that do not fit together");
}

void check_columns(const AnyMatrix& X, const Indices& which) {
    for (size_t i = 0; i < which.shape(0); ++i)
        require(which.data()[i] >= 0 && which.data()[i] < static_cast<int64_t>(X.shape(1)));
}

void products(AnyMatrix X, Indices which, ConstMatrix VT, Matrix out) {
    const size_t vectors = VT.shape(0);
    require((vectors == 1 || vectors == 2) && VT.shape(1) == X.shape(0) && out.shape(0) == which.shape(0) &&
            out.shape(1) == vectors);
    check_columns(X, which);
    const double *a = VT.data(), *b = a + (vectors == 2 ? X.shape(0) : 0);
    nb::gil_scoped_release release;
    with_lines(X, [&](const auto& lines, bool by_column) {
        using T = std::remove_const_t<std::remove_reference_t<decltype(*lines.data)>>;
        require(by_column || lines.m == 1);
        Lines<T> columns = lines;
        if (!by_column) columns.apart = 1;  // a single row: its numbers are columns, one apart
        const int64_t count = static_cast<int64_t>(which.shape(0));
        if (vectors == 1)
            column_products<T, 1>(columns, which.data(), count, a, b, out.data());
        else
            column_products<T, 2>(columns, which.data(), count, a, b, out.data());
    });
}

void spread(AnyMatrix X, ConstVector means, ConstVector weights, Vector out) {
    require(weights.shape(0) == X.shape(0) && means.shape(0) == X.shape(1) && out.shape(0) == X.shape(1));
    nb::gil_scoped_release release;
    with_lines(X, [&](const auto& lines, bool by_column) {
        if (by_column)
            column_spread(lines, means.data(), weights.data(), out.data());
        else
            row_spread(lines, means.data(), weights.data(), out.data());
    });
}

void marks(AnyMatrix X, Array1<const uint64_t> a, Array1<uint64_t> out) {
    require(a.shape(0) == X.shape(0) && out.shape(0) == X.shape(1));
    nb::gil_scoped_release release;
    with_lines(X, [&](const auto& lines, bool by_column) {
        if (by_column)
            column_marks(lines, a.data(), out.data());
        else
            row_marks(lines, a.data(), out.data());
    });
}

}  // namespace

void bind_data(nb::module_& m) {
    m.def("products", &products, nb::arg("X"), nb::arg("which"), nb::arg("VT"), nb::arg("out").noconvert(),
          "Add X'V to out for some columns of X, which lie in memory one by one; V has one or two columns.");
    m.def("spread", &spread, nb::arg("X"), nb::arg("means"), nb::arg("weights"), nb::arg("out").noconvert(),
          "Add sums of weights (x - mean)^2 for every column to out.");
    m.def("marks", &marks, nb::arg("X"), nb::arg("a"), nb::arg("out").noconvert(),
          "Add sums of a h for every column to out, h the mixed bits of x.");
}

}  // namespace sparsepath
