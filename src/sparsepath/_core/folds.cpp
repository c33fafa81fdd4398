#include "folds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "simd.hpp"
#include "threads.hpp"
#include "ties.hpp"
#include "vectors.hpp"

namespace sparsepath {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr int64_t TILE = 512;             // columns that follow together: their sums stay in the fastest cache
constexpr int64_t PIECE = 8 * TILE;       // columns that a thread takes at a time
constexpr int64_t BLOCK_TILE = 256;       // columns whose rows follow together

// What one chosen feature takes off: a u from `u`, x h from `y`, d u from `g`.
struct TakenOff {
    double a, x, d;
    const double *u, *h;
};

SPARSEPATH_WIDE void take_off(const TakenOff* of, int64_t count, int64_t n, double* SPARSEPATH_RESTRICT u,
                              double* SPARSEPATH_RESTRICT y, double* SPARSEPATH_RESTRICT g) {
    int64_t l = 0;
    for (; l + 4 <= count; l += 4) {
        const TakenOff p = of[l], q = of[l + 1], r = of[l + 2], s = of[l + 3];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            const double up = p.u[i], uq = q.u[i], ur = r.u[i], us = s.u[i];
            u[i] -= (p.a * up + q.a * uq) + (r.a * ur + s.a * us);
            y[i] -= (p.x * p.h[i] + q.x * q.h[i]) + (r.x * r.h[i] + s.x * s.h[i]);
            g[i] -= (p.d * up + q.d * uq) + (r.d * ur + s.d * us);
        }
    }
    for (; l < count; ++l) {
        const TakenOff p = of[l];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            u[i] -= p.a * p.u[i];
            y[i] -= p.x * p.h[i];
            g[i] -= p.d * p.u[i];
        }
    }
}

// Columns K_b and D_b of one split, from products over its parts.
struct Centre {
    double train_mean, test_sum, test_mean;   // w_train mu_b, x_b, w_test mu_b
    double mean;                              // mu_b
};

SPARSEPATH_WIDE void centred(const double* train, const double* everywhere, const double* test, const double* mu,
                             const double* x, Centre b, int64_t n, double* SPARSEPATH_RESTRICT K,
                             double* SPARSEPATH_RESTRICT D) {
    if (train) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) K[i] = train[i] - b.train_mean * mu[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) K[i] = (everywhere[i] - test[i]) - b.train_mean * mu[i];
    }
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) D[i] = test[i] - mu[i] * b.test_sum - x[i] * b.mean + b.test_mean * mu[i];
}

// u, and what it makes of s and d'd.
SPARSEPATH_WIDE void change_columns(double pivot, double d_bb, int64_t n, double* SPARSEPATH_RESTRICT u,
                                    const double* w, double* SPARSEPATH_RESTRICT s, double* SPARSEPATH_RESTRICT dd) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
        const double v = u[i] / pivot;
        u[i] = v;
        s[i] -= v * v * pivot;
        dd[i] += v * (v * d_bb - 2.0 * w[i]);
    }
}

// The numbers of some rows times three vectors over the rows: added to p and q, r.
SPARSEPATH_WIDE void three_products(const double* d, int64_t stride, int64_t rows, const double* a, const double* b,
                                    const double* c, int64_t n, double* SPARSEPATH_RESTRICT p,
                                    double* SPARSEPATH_RESTRICT q, double* SPARSEPATH_RESTRICT r) {
    int64_t j = 0;
    for (; j + 4 <= rows; j += 4) {
        const double *d0 = d + j * stride, *d1 = d0 + stride, *d2 = d1 + stride, *d3 = d2 + stride;
        const double a0 = a[j], a1 = a[j + 1], a2 = a[j + 2], a3 = a[j + 3];
        const double b0 = b[j], b1 = b[j + 1], b2 = b[j + 2], b3 = b[j + 3];
        const double c0 = c[j], c1 = c[j + 1], c2 = c[j + 2], c3 = c[j + 3];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            const double x0 = d0[i], x1 = d1[i], x2 = d2[i], x3 = d3[i];
            p[i] += (a0 * x0 + a1 * x1) + (a2 * x2 + a3 * x3);
            q[i] += (b0 * x0 + b1 * x1) + (b2 * x2 + b3 * x3);
            r[i] += (c0 * x0 + c1 * x1) + (c2 * x2 + c3 * x3);
        }
    }
    for (; j < rows; ++j) {
        const double *x = d + j * stride, aj = a[j], bj = b[j], cj = c[j];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            p[i] += aj * x[i];
            q[i] += bj * x[i];
            r[i] += cj * x[i];
        }
    }
}

SPARSEPATH_WIDE void take_off_rows(const double* u, const double* f, int64_t rows, int64_t stride, int64_t n,
                                   double* SPARSEPATH_RESTRICT d) {
    for (int64_t j = 0; j < rows; ++j, d += stride) {
        const double fj = f[j];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) d[i] -= fj * u[i];
    }
}

SPARSEPATH_WIDE void difference(const double* a, const double* b, int64_t n, double* SPARSEPATH_RESTRICT out) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = a[i] - b[i];
}

SPARSEPATH_WIDE void change_target(double omega, double e_b, double c_b, double d_bb, const double* u, const double* w,
                                   int64_t n, double* SPARSEPATH_RESTRICT c, double* SPARSEPATH_RESTRICT ed) {
    const double step = e_b - omega * d_bb;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
        ed[i] = ed[i] - u[i] * step - w[i] * omega;
        c[i] -= u[i] * c_b;
    }
}

SPARSEPATH_WIDE void judge_target(const double* s, const double* dd, const double* c, const double* ed, double alpha,
                                  double share, int64_t n, double* SPARSEPATH_RESTRICT errors) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
        const double omega = c[i] / (s[i] + alpha);
        errors[i] += omega * (omega * dd[i] - 2.0 * ed[i]) / share;
    }
}

SPARSEPATH_WIDE void measure_room(const double* s, const double* sizes, double alpha, int64_t n,
                                  double* SPARSEPATH_RESTRICT low, double* SPARSEPATH_RESTRICT closed) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
        const double pivot = s[i] + alpha, a = pivot - FINE * sizes[i], b = pivot - COLLINEAR_IN_PART * sizes[i];
        low[i] = a < low[i] ? a : low[i];
        closed[i] = b < closed[i] ? b : closed[i];
    }
}

SPARSEPATH_WIDE void add_to(const double* a, int64_t n, double* SPARSEPATH_RESTRICT out) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] += a[i];
}

// A^-1 loses share a', B loses share half' + half share'; then the last feature comes to the place that is free.
SPARSEPATH_WIDE void take_out(double* A, double* B, int64_t stride, const double* a, const double* share,
                              const double* half, int64_t place, int64_t size) {
    const int64_t last = size - 1;
    for (int64_t i = 0; i < size; ++i) {
        double *row = A + i * stride, *other = B + i * stride;
        const double s = share[i], h = half[i];
#pragma omp simd
        for (int64_t j = 0; j <= i; ++j) {
            row[j] -= s * a[j];
            other[j] -= s * half[j] + h * share[j];
        }
    }
    for (double* M : {A, B}) {
        for (int64_t j = 0; j < place; ++j) M[place * stride + j] = M[last * stride + j];
        M[place * stride + place] = M[last * stride + last];
        for (int64_t i = place + 1; i < last; ++i) M[i * stride + place] = M[last * stride + i];
    }
}

// The lower triangle of a symmetric matrix, row by row.
double symmetric(const std::vector<double>& A, int64_t i, int64_t j) {
    return i >= j ? A[i * (i + 1) / 2 + j] : A[j * (j + 1) / 2 + i];
}

}  // namespace

void Triangle::append(const double* u, double new_pivot, const double* new_omega, int64_t T) {
    const int64_t k = size();
    std::vector<double> row(k + 1, 0.0);
    for (int64_t l = 0; l < k; ++l)
        for (int64_t j = 0; j <= l; ++j) row[j] -= u[l] * G[l][j];
    row[k] = 1.0;
    inverse.push_back(0.0);
    for (int64_t j = 0; j <= k; ++j) inverse[j] += row[j] * row[j] / new_pivot;
    G.push_back(std::move(row));
    pivot.push_back(new_pivot);
    omega.insert(omega.end(), new_omega, new_omega + T);
}

void Triangle::append_products(const double* K, const double* c, double alpha, int64_t T) {
    const int64_t k = size();
    std::vector<double> u(k), left(c, c + T);
    double left_of_b = K[k] + alpha;
    for (int64_t l = 0; l < k; ++l) {
        double product = 0.0;
        for (int64_t j = 0; j <= l; ++j) product += G[l][j] * K[j];
        u[l] = product / pivot[l];
        left_of_b -= u[l] * product;
        for (int64_t t = 0; t < T; ++t) left[t] -= product * omega[l * T + t];
    }
    for (double& of : left) of /= left_of_b;
    append(u.data(), left_of_b, left.data(), T);
}

std::vector<double> Triangle::coefficients(int64_t T) const {
    std::vector<double> out(size() * T, 0.0);
    for (int64_t l = 0; l < size(); ++l) removed_coefficient(l, T, &out[l * T]);
    return out;
}

void Triangle::removed_coefficient(int64_t l, int64_t T, double* w) const {
    std::fill(w, w + T, 0.0);
    for (int64_t m = l; m < size(); ++m)
        for (int64_t t = 0; t < T; ++t) w[t] += G[m][l] * omega[m * T + t];
}

void Triangle::removal(int64_t l, double* q) const {
    std::fill(q, q + size(), 0.0);
    for (int64_t m = l; m < size(); ++m) q[m] = G[m][l] / (pivot[m] * inverse[l]);
}

Folds::Folds(const FoldSums& sums, const bool* constant, double alpha_, bool fit_intercept, bool pooled)
    : F(static_cast<int64_t>(sums.sources.shape(0)) - 1),
      n(sums.x.shape(1)),
      T(sums.y.shape(1)),
      alpha(alpha_),
      fit_intercept_(fit_intercept) {
    const double *w = sums.weight.data(), *x = sums.x.data(), *squares = sums.squares.data(), *xy = sums.xy.data(),
                 *y = sums.y.data(), *yy = sums.yy.data();
    test_weight_.assign(w, w + F);
    train_weight_.assign(w + F, w + 2 * F);
    all_weight_ = w[2 * F];
    sources_.assign(sums.sources.data(), sums.sources.data() + F + 1);
    double tested = 0.0;
    for (int64_t f = 0; f < F; ++f) tested += w[f];
    share.resize(F);
    for (int64_t f = 0; f < F; ++f) share[f] = pooled ? tested : w[f] * static_cast<double>(F);
    x_.assign(x, x + F * n);
    all_x_.assign(x + 2 * F * n, x + (2 * F + 1) * n);
    live_.resize(n);
    inside_.assign(n, 0);
    for (int64_t i = 0; i < n; ++i) live_[i] = !constant[i];
    mu.assign(F * n, 0.0);
    sizes.resize(F * n);
    s.resize(F * n);
    dd.resize(F * n);
    c.resize(F * T * n);
    ed.resize(F * T * n);
    sse.assign(F, 0.0);
    all_c_.resize(n * T);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t t = 0; t < T; ++t) {
            const double centre = fit_intercept ? all_x_[i] * y[2 * F * T + t] / all_weight_ : 0.0;
            all_c_[i * T + t] = xy[(2 * F * n + i) * T + t] - centre;
        }
    std::vector<double> nu(T, 0.0);
    for (int64_t f = 0; f < F; ++f) {
        const double test = w[f], train = w[F + f];
        const double *x_test = x + f * n, *x_train = x + (F + f) * n;
        const double *y_test = y + f * T, *y_train = y + (F + f) * T;
        if (fit_intercept)
            for (int64_t t = 0; t < T; ++t) nu[t] = y_train[t] / train;
        for (int64_t t = 0; t < T; ++t) sse[f] += yy[f * T + t] - 2.0 * nu[t] * y_test[t] + test * nu[t] * nu[t];
        for (int64_t i = 0; i < n; ++i) {
            const int64_t at = f * n + i;
            const double mean = fit_intercept ? x_train[i] / train : 0.0;
            mu[at] = mean;
            sizes[at] = std::max(squares[(F + f) * n + i], 0.0);
            s[at] = squares[(F + f) * n + i] - train * mean * mean;
            dd[at] = squares[at] - 2.0 * mean * x_test[i] + test * mean * mean;
            for (int64_t t = 0; t < T; ++t) {
                const double both = mean * nu[t];
                c[(f * T + t) * n + i] = xy[((F + f) * n + i) * T + t] - train * both;
                ed[(f * T + t) * n + i] = xy[at * T + t] - mean * y_test[t] - x_test[i] * nu[t] + test * both;
            }
        }
    }
    triangles.resize(F);
    DD_.resize(F);
    ED_.resize(F);
    errors_.resize(n);
    low_.resize(n);
    closed_.resize(n);
    judge(0, n);
    first_error_ = error();
}

double Folds::error() const {
    double total = 0.0;
    for (int64_t f = 0; f < F; ++f) total += sse[f] / share[f];
    return total;
}

double Folds::blur() const {
    double most = 0.0;
    for (int64_t f = 0; f < F; ++f)
        for (size_t l = 0; l < chosen.size(); ++l)
            most = std::max(most, sizes[f * n + chosen[l]] * triangles[f].inverse[l]);
    return most;
}

bool Folds::is_open(int64_t b) const {
    for (int64_t f = 0; f < F; ++f)
        if (!(s[f * n + b] + alpha > COLLINEAR_IN_PART * sizes[f * n + b])) return false;
    return true;
}

Folds::Entering Folds::enter(int64_t b, const std::vector<double>& d, const std::vector<double>& K) {
    const int64_t k = static_cast<int64_t>(chosen.size());
    Entering out;
    std::vector<double> u_b(k);
    for (int64_t f = 0; f < F; ++f) {
        const int64_t at = f * n + b;
        const double pivot = s[at] + alpha, d_bb = dd[at], *d_l = d.data() + f * k;
        double change = 0.0;
        for (int64_t t = 0; t < T; ++t) {
            const int64_t place = (f * T + t) * n + b;
            const double omega = c[place] / pivot, e_b = ed[place];
            out.omega.push_back(omega);
            out.e_b.push_back(e_b);
            out.c_b.push_back(c[place]);
            change += omega * (omega * d_bb - 2.0 * e_b);
            for (int64_t l = 0; l < k; ++l) ED_[f][l * T + t] -= omega * d_l[l];
        }
        for (int64_t t = 0; t < T; ++t) ED_[f].push_back(out.e_b[f * T + t] - out.omega[f * T + t] * d_bb);
        sse[f] = std::max(sse[f] + change, 0.0);
        DD_[f].insert(DD_[f].end(), d_l, d_l + k);
        DD_[f].push_back(d_bb);
        for (int64_t l = 0; l < k; ++l) u_b[l] = followed[l]->u[at];
        triangles[f].append(u_b.data(), pivot, &out.omega[f * T], T);
        out.pivot.push_back(pivot);
        out.d_bb.push_back(d_bb);
    }
    all_rows.append_products(K.data(), &all_c_[b * T], alpha, T);
    chosen.push_back(b);
    inside_[b] = 1;
    return out;
}

void Folds::change(const Entering& b, int64_t f, int64_t begin, int64_t count, double* u, double* w) {
    const int64_t at = f * n + begin;
    change_columns(b.pivot[f], b.d_bb[f], count, u, w, &s[at], &dd[at]);
    for (int64_t t = 0; t < T; ++t) {
        const int64_t of = f * T + t, place = of * n + begin;
        change_target(b.omega[of], b.e_b[of], b.c_b[of], b.d_bb[f], u, w, count, &c[place], &ed[place]);
    }
}

// The products of a feature with all columns over the parts, how they are centred, and what is taken off them.
struct Folds::Products {
    const double* over_parts;
    int64_t stride;
    std::vector<Centre> centre;                          // F
    std::vector<TakenOff> chosen;                        // F x k
};

bool Folds::add(int64_t b, const double* products, int64_t stride, int n_threads) {
    if (!is_open(b)) return false;
    const int64_t k = static_cast<int64_t>(chosen.size());
    Products of{products, stride, {}, std::vector<TakenOff>(F * k)};
    std::vector<double> d(F * k);
    for (int64_t f = 0; f < F; ++f) {
        const int64_t at = f * n + b;
        of.centre.push_back({train_weight_[f] * mu[at], x_[at], test_weight_[f] * mu[at], mu[at]});
        for (int64_t l = 0; l < k; ++l) {
            double product = followed[l]->h[at];
            for (int64_t j = 0; j < k; ++j) product -= followed[j]->u[at] * symmetric(DD_[f], j, l);
            d[f * k + l] = product;
            const double u = followed[l]->u[at];
            of.chosen[f * k + l] = {u * triangles[f].pivot[l], u, product, followed[l]->u.data() + f * n,
                                    followed[l]->h.data() + f * n};
        }
    }
    const Entering entering = enter(b, d, on_all_rows(b, products, stride));
    auto out = std::make_shared<Followed>();
    out->u.resize(F * n);
    out->h.resize(F * n);
    parallel_ranges(n, PIECE, n_threads, [&](int64_t begin, int64_t end) {
        for (int64_t first = begin; first < end; first += TILE)
            follow(entering, of, *out, first, std::min(end, first + TILE));
        judge(begin, end);
    });
    followed.push_back(std::move(out));
    return true;
}

// Products of a column with the chosen ones and with itself on all rows, centred.
std::vector<double> Folds::on_all_rows(int64_t b, const double* products, int64_t stride) const {
    std::vector<double> out;
    const auto product = [&](int64_t j) {
        double sum = sources_[F] >= 0 ? products[sources_[F] * stride + j] : 0.0;
        for (int64_t f = 0; f < F && sources_[F] < 0; ++f) sum += products[f * stride + j];
        return sum - (fit_intercept_ ? all_x_[j] * (all_x_[b] / all_weight_) : 0.0);
    };
    for (int64_t j : chosen) out.push_back(product(j));
    out.push_back(product(b));
    return out;
}

bool Folds::is_collinear(int64_t b, const double* products, int64_t stride) const {
    const std::vector<double> K = on_all_rows(b, products, stride);
    Triangle with = all_rows;
    with.append_products(K.data(), &all_c_[b * T], alpha, T);
    return !(with.pivot.back() > COLLINEAR_IN_PART * K.back());
}

// Let some columns follow an addition.
void Folds::follow(const Entering& b, const Products& of, Followed& out, int64_t begin, int64_t end) {
    const int64_t count = end - begin, k = static_cast<int64_t>(followed.size());
    const double* products = of.over_parts + begin;
    double everywhere[TILE], g[TILE];
    const bool subtracts = std::any_of(sources_.begin(), sources_.end() - 1, [](int64_t at) { return at < 0; });
    if (subtracts && sources_[F] >= 0) {
        std::copy_n(products + sources_[F] * of.stride, count, everywhere);
    } else if (subtracts) {
        std::copy_n(products, count, everywhere);
        for (int64_t f = 1; f < F; ++f) add_to(products + f * of.stride, count, everywhere);
    }
    std::vector<TakenOff> chosen_here(k);
    for (int64_t f = 0; f < F; ++f) {
        const int64_t at = f * n + begin;
        double *u = &out.u[at], *h = &out.h[at];
        const double* train = sources_[f] < 0 ? nullptr : products + sources_[f] * of.stride;
        centred(train, everywhere, products + f * of.stride, &mu[at], &x_[at], of.centre[f], count, u, h);
        std::fill_n(g, count, 0.0);
        for (int64_t l = 0; l < k; ++l) {
            chosen_here[l] = of.chosen[f * k + l];
            chosen_here[l].u += begin;
            chosen_here[l].h += begin;
        }
        take_off(chosen_here.data(), k, count, u, h, g);
        add_to(h, count, g);
        change(b, f, begin, count, u, g);
    }
}

FoldBlocks::FoldBlocks(const FoldSums& sums, const FoldRows& rows, const bool* constant, double alpha_,
                       bool fit_intercept, bool pooled)
    : Folds(sums, constant, alpha_, fit_intercept, pooled),
      starts_(rows.starts.data(), rows.starts.data() + rows.starts.shape(0)),
      g_(rows.weights.shape(0)) {
    const int64_t m = static_cast<int64_t>(g_.size());
    d_.resize(m * n);
    for (int64_t f = 0; f < F; ++f)
        for (int64_t r = starts_[f]; r < starts_[f + 1]; ++r) {
            const double *x = rows.x.data() + r * n, *mean = &mu[f * n], g = std::sqrt(rows.weights.data()[r]);
            g_[r] = g;
            difference(x, mean, n, &d_[r * n]);
            if (g != 1.0)
                for (int64_t i = 0; i < n; ++i) d_[r * n + i] *= g;
        }
}

// What the rows are multiplied by: z_b, d_b and v.
struct FoldBlocks::Directions {
    std::vector<double> z, d, v;
};

bool FoldBlocks::add_column(int64_t b, const double* column, int n_threads) {
    if (!is_open(b)) return false;
    const int64_t k = static_cast<int64_t>(chosen.size()), m = rows();
    const double weight = fit_intercept_ ? all_weight_ : std::numeric_limits<double>::infinity();
    std::vector<double> x(m), d(F * k), K(k + 1);
    Directions of{std::vector<double>(m), std::vector<double>(m), std::vector<double>(m)};
    for (int64_t r = 0; r < m; ++r) x[r] = g_[r] * column[r];
    for (int64_t r = 0; r < m; ++r) of.d[r] = d_[r * n + b];
    // P x, and P x on each fold alone.
    const auto project = [&](int64_t first, int64_t count, double* out) {
        const double* from = x.data() + first;
        std::copy_n(from, count, out);
        const double mean = dot(&g_[first], from, count) / weight;
        for (int64_t r = 0; r < count; ++r) out[r] -= mean * g_[first + r];
        for (int64_t l = 0; l < k; ++l) {
            const double *z = &z_of_[l][first], step = dot(z, from, count) / all_rows.pivot[l];
            for (int64_t r = 0; r < count; ++r) out[r] -= step * z[r];
        }
    };
    project(0, m, of.z.data());
    for (int64_t f = 0; f < F; ++f) {
        const int64_t first = starts_[f], count = starts_[f + 1] - first;
        project(first, count, of.v.data() + first);
        for (int64_t l = 0; l < k; ++l) d[f * k + l] = dot(&d_of_[l][first], &of.d[first], count);
    }
    x_of_.push_back(x);
    for (int64_t l = 0; l <= k; ++l) {
        const int64_t j = l < k ? chosen[l] : b;
        K[l] = dot(x_of_[l].data(), x.data(), m) - (fit_intercept_ ? all_x_[j] * (all_x_[b] / all_weight_) : 0.0);
    }
    const Entering entering = enter(b, d, K);
    z_of_.push_back(of.z);
    d_of_.push_back(of.d);
    auto out = std::make_shared<Followed>();
    out->u.resize(F * n);
    parallel_ranges(n, BLOCK_TILE, n_threads, [&](int64_t begin, int64_t end) {
        follow(entering, of, out->u, begin, end);
        judge(begin, end);
    });
    followed.push_back(std::move(out));
    return true;
}

// Let some columns follow an addition.
void FoldBlocks::follow(const Entering& b, const Directions& of, Numbers& u, int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    std::vector<double> everywhere(count, 0.0), own(F * count, 0.0), w(F * count, 0.0);
    for (int64_t f = 0; f < F; ++f) {
        const int64_t r = starts_[f];
        three_products(&d_[r * n + begin], n, starts_[f + 1] - r, &of.v[r], &of.z[r], &of.d[r], count,
                       everywhere.data(), &own[f * count], &w[f * count]);
    }
    for (int64_t f = 0; f < F; ++f) {
        const int64_t r = starts_[f];
        double* step = &u[f * n + begin];
        difference(everywhere.data(), &own[f * count], count, step);
        change(b, f, begin, count, step, &w[f * count]);
        take_off_rows(step, &of.d[r], starts_[f + 1] - r, n, count, &d_[r * n + begin]);
    }
}

// The criterion with each of some columns added.
void Folds::judge(int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    std::fill_n(&errors_[begin], count, error());
    std::fill_n(&low_[begin], count, INF);
    std::fill_n(&closed_[begin], count, INF);
    for (int64_t f = 0; f < F; ++f) {
        const int64_t at = f * n + begin;
        measure_room(&s[at], &sizes[at], alpha, count, &low_[begin], &closed_[begin]);
        for (int64_t t = 0; t < T; ++t) {
            const int64_t place = (f * T + t) * n + begin;
            judge_target(&s[at], &dd[at], &c[place], &ed[place], alpha, share[f], count, &errors_[begin]);
        }
    }
}

std::vector<double> Folds::additions() const {
    std::vector<double> out(n);
    for (int64_t i = 0; i < n; ++i) out[i] = addition(i);
    return out;
}

int64_t Folds::best(const bool* allowed) const {
    return ties::first_of_least(n, first_error_, [&](int64_t i) { return allowed && !allowed[i] ? INF : addition(i); });
}

bool Folds::any_doubtful(const bool* allowed) const {
    for (int64_t i = 0; i < n; ++i)
        if (low_[i] <= 0.0 && live_[i] && (!allowed || allowed[i]) && !inside_[i]) return true;
    return false;
}

std::vector<double> Folds::removals() const {
    const int64_t k = static_cast<int64_t>(chosen.size());
    std::vector<double> out(k, 0.0), q(k), w(T);
    for (int64_t f = 0; f < F; ++f) {
        for (int64_t l = 0; l < k; ++l) {
            triangles[f].removal(l, q.data());
            triangles[f].removed_coefficient(l, T, w.data());
            double square = 0.0, change = 0.0;
            for (int64_t i = l; i < k; ++i) {
                double row = 0.5 * q[i] * DD_[f][i * (i + 1) / 2 + i];
                for (int64_t j = l; j < i; ++j) row += q[j] * DD_[f][i * (i + 1) / 2 + j];
                square += 2.0 * q[i] * row;
            }
            for (int64_t t = 0; t < T; ++t) {
                double product = 0.0;
                for (int64_t i = l; i < k; ++i) product += q[i] * ED_[f][i * T + t];
                change += w[t] * (w[t] * square + 2.0 * product);
            }
            out[l] += (sse[f] + change) / share[f];
        }
    }
    return out;
}

namespace {

using Strided = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Cube = nb::ndarray<nb::numpy, double, nb::ndim<3>>;
using Allowed = std::optional<Mask>;

Cube new_cube(size_t a, size_t b, size_t c) {
    double* data = new double[a * b * c]();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Cube(data, {a, b, c}, owner);
}

// Coefficients of the chosen features, |S| x T.
auto coefficients(const Triangle& triangle, int64_t T) {
    const std::vector<double> found = triangle.coefficients(T);
    auto out = new_matrix<double>(triangle.size(), T);
    std::copy(found.begin(), found.end(), out.data());
    return out;
}

// Training coefficients of the chosen features: splits x |S| x T.
Cube training_coefficients(const Folds& folds) {
    Cube out = new_cube(folds.F, folds.chosen.size(), folds.T);
    for (int64_t f = 0; f < folds.F; ++f) {
        const std::vector<double> found = folds.triangles[f].coefficients(folds.T);
        std::copy(found.begin(), found.end(), out.data() + f * found.size());
    }
    return out;
}

// Row l of A^-1 over its diagonal: what dropping l takes off the coefficients per unit of its own. Splits x |S| x |S|.
Cube removal_directions(const Folds& folds) {
    const int64_t k = static_cast<int64_t>(folds.chosen.size());
    Cube out = new_cube(folds.F, k, k);
    std::vector<double> q(k);
    for (int64_t f = 0; f < folds.F; ++f)
        for (int64_t l = 0; l < k; ++l) {
            const Triangle& triangle = folds.triangles[f];
            triangle.removal(l, q.data());
            double* row = out.data() + (f * k + l) * k;
            for (int64_t m = l; m < k; ++m)
                for (int64_t j = 0; j <= m; ++j) row[j] += q[m] * triangle.G[m][j];
        }
    return out;
}

// Coefficients of some columns on the chosen features in the training parts: splits x |S| x columns.
Cube regressions(const Folds& folds, Indices columns) {
    const int64_t k = static_cast<int64_t>(folds.chosen.size()), count = columns.shape(0);
    Cube out = new_cube(folds.F, k, count);
    for (int64_t f = 0; f < folds.F; ++f)
        for (int64_t m = 0; m < k; ++m)
            for (int64_t j = 0; j <= m; ++j) {
                const double g = folds.triangles[f].G[m][j], *u = &folds.followed[m]->u[f * folds.n];
                double* row = out.data() + (f * k + j) * count;
                for (int64_t i = 0; i < count; ++i) row[i] += g * u[columns.data()[i]];
            }
    return out;
}

// omega of some columns that can be added: splits x columns x T.
Cube omegas(const Folds& folds, Indices columns) {
    const int64_t count = columns.shape(0);
    Cube out = new_cube(folds.F, count, folds.T);
    double* at = out.data();
    for (int64_t f = 0; f < folds.F; ++f)
        for (int64_t i = 0; i < count; ++i)
            for (int64_t t = 0; t < folds.T; ++t) *at++ = folds.omega(f, t, columns.data()[i]);
    return out;
}

auto mask_of(int64_t n, bool (Folds::*is)(int64_t) const, const Folds& folds) {
    auto out = new_vector<bool>(n);
    for (int64_t i = 0; i < n; ++i) out.data()[i] = (folds.*is)(i);
    return out;
}

}  // namespace

void bind_folds(nb::module_& m) {
    m.attr("FINE") = FINE;
    m.attr("COLLINEAR_IN_PART") = COLLINEAR_IN_PART;
    m.def(
        "take_out",
        [](Array3<double> A, Array3<double> B, ConstMatrix a, ConstMatrix share, ConstMatrix half, int64_t place,
           int64_t size) {
            const int64_t stride = A.shape(1), width = a.shape(1);
            for (size_t f = 0; f < A.shape(0); ++f)
                take_out(A.data() + f * stride * stride, B.data() + f * stride * stride, stride, a.data() + f * width,
                         share.data() + f * width, half.data() + f * width, place, size);
        },
        nb::arg("A"), nb::arg("B"), nb::arg("a"), nb::arg("share"), nb::arg("half"), nb::arg("place"), nb::arg("size"),
        "Take a feature out of the lower triangles of A^-1 and B in every split; see rls/folds/elimination.py.");
    nb::class_<FoldSums>(m, "FoldSums", "Sums of products over the test parts, the training parts and all rows.")
        .def(
            "__init__",
            [](FoldSums* at, Array1<const double> weight, Array2<const double> x, Array2<const double> squares,
               Array3<const double> xy, Array2<const double> y, Array2<const double> yy,
               Array1<const int64_t> sources) {
                const size_t parts = 2 * sources.shape(0) - 1;
                if (weight.shape(0) != parts || x.shape(0) != parts || squares.shape(0) != parts ||
                    xy.shape(0) != parts || y.shape(0) != parts || yy.shape(0) != parts)
                    throw std::invalid_argument("sums must be given for all parts");
                new (at) FoldSums{weight, x, squares, xy, y, yy, sources};
            },
            nb::arg("weight"), nb::arg("x"), nb::arg("squares"), nb::arg("xy"), nb::arg("y"), nb::arg("yy"),
            nb::arg("sources"));
    nb::class_<Folds>(m, "Folds", "A ridge model on chosen features, judged by squared errors on test parts.")
        .def(
            "__init__",
            [](Folds* at, const FoldSums& sums, Mask constant, double alpha, bool fit_intercept, bool pooled) {
                new (at) Folds(sums, constant.data(), alpha, fit_intercept, pooled);
            },
            nb::arg("sums"), nb::arg("constant"), nb::arg("alpha"), nb::arg("fit_intercept"), nb::arg("pooled"))
        .def("copy", [](const Folds& self) { return std::make_unique<Folds>(self); })
        .def(
            "add",
            [](Folds& self, int64_t feature, Strided products, int n_threads) {
                if (products.stride(1) != 1 || products.shape(1) != static_cast<size_t>(self.n))
                    throw std::invalid_argument("products must have one contiguous row per part");
                nb::gil_scoped_release release;
                return self.add(feature, products.data(), products.stride(0), n_threads);
            },
            nb::arg("feature"), nb::arg("products"), nb::arg("n_threads") = 1,
            "Add a feature, given its products with all columns over every part; False if it is collinear.")
        .def(
            "best_addition",
            [](const Folds& self, Allowed allowed) {
                const int64_t best = self.best(allowed ? allowed->data() : nullptr);
                return std::pair<int64_t, double>(best, best < 0 ? INF : self.addition(best));
            },
            nb::arg("allowed").none(), "The best feature to add, -1 if there is none, and its criterion.")
        .def("additions", [](const Folds& self) { return numpy_of(self.additions()); },
             "The criterion with each feature added, infinite where that is impossible.")
        .def("removals", [](const Folds& self) { return numpy_of(self.removals()); },
             "The criterion with each chosen feature dropped.")
        .def(
            "any_doubtful",
            [](const Folds& self, Allowed allowed) { return self.any_doubtful(allowed ? allowed->data() : nullptr); },
            nb::arg("allowed").none(), "Whether sums tell too little of a candidate.")
        .def(
            "is_collinear",
            [](const Folds& self, int64_t feature, Strided products) {
                return self.is_collinear(feature, products.data(), products.stride(0));
            },
            nb::arg("feature"), nb::arg("products"), "Whether a feature is collinear with the chosen ones on all rows.")
        .def("is_usable", &Folds::is_usable, nb::arg("feature"))
        .def("is_doubtful", &Folds::is_doubtful, nb::arg("feature"))
        .def("doubtful", [](const Folds& self) { return mask_of(self.n, &Folds::is_doubtful, self); })
        .def("usable", [](const Folds& self) { return mask_of(self.n, &Folds::is_usable, self); })
        .def("coef", [](const Folds& self) { return coefficients(self.all_rows, self.T); },
             "Coefficients of the chosen features on all rows, |S| x T.")
        .def("training_coefficients", &training_coefficients)
        .def("removal_directions", &removal_directions)
        .def("regressions", &regressions, nb::arg("columns"))
        .def("omegas", &omegas, nb::arg("columns"))
        .def("blur", &Folds::blur, "How far rounding in sums blurs the model: largest square times diag A^-1.")
        .def("sse", [](const Folds& self) { return numpy_of(self.sse); }, "Squared errors on each test part.")
        .def("share", [](const Folds& self) { return numpy_of(self.share); })
        .def_prop_ro("error", &Folds::error)
        .def_prop_ro("total_sse", &Folds::total_sse)
        .def_ro("chosen", &Folds::chosen);
    nb::class_<FoldRows>(m, "FoldRows", "Rows of folds that make up all rows, one fold after the other.")
        .def(
            "__init__",
            [](FoldRows* at, Array2<const double> x, Array1<const double> weights, Array1<const int64_t> starts) {
                if (x.shape(0) != weights.shape(0) ||
                    static_cast<size_t>(starts.data()[starts.shape(0) - 1]) != x.shape(0))
                    throw std::invalid_argument("folds must make up all rows");
                new (at) FoldRows{x, weights, starts};
            },
            nb::arg("x"), nb::arg("weights"), nb::arg("starts"));
    nb::class_<FoldBlocks, Folds>(m, "FoldBlocks", "The same for folds of few rows.")
        .def(
            "__init__",
            [](FoldBlocks* at, const FoldSums& sums, const FoldRows& rows, Mask constant, double alpha,
               bool fit_intercept, bool pooled) {
                new (at) FoldBlocks(sums, rows, constant.data(), alpha, fit_intercept, pooled);
            },
            nb::arg("sums"), nb::arg("rows"), nb::arg("constant"), nb::arg("alpha"), nb::arg("fit_intercept"),
            nb::arg("pooled"))
        .def("copy", [](const FoldBlocks& self) { return std::make_unique<FoldBlocks>(self); })
        .def(
            "add_column",
            [](FoldBlocks& self, int64_t feature, ConstVector column, int n_threads) {
                if (column.shape(0) != static_cast<size_t>(self.rows()))
                    throw std::invalid_argument("the column must have all rows");
                nb::gil_scoped_release release;
                return self.add_column(feature, column.data(), n_threads);
            },
            nb::arg("feature"), nb::arg("column"), nb::arg("n_threads") = 1,
            "Add a feature, given as it stands on all rows; False if it is collinear.");
}

}  // namespace sparsepath
