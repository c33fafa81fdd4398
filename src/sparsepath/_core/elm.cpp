// Loops of the extreme learning machine: fits, leave-one-out errors, Algorithm 1, polishing of scalings.
//
// Letters are those of elm/network.py and elm/polish.py: H are the centred outputs of the neurons, A = HH' + ridge n I
// = U'U, Q = U'^-1 H, E the residuals, p = 1 - leverage. What has one number for each neuron and sample is in the
// precision of the features, single or double; what has one for each pair of neurons is in double precision, so that a
// ridge of a millionth is kept in single precision too: products of n numbers err by about the square root of n
// roundings, at random, which is a tenth of such a ridge at most.
#include <algorithm>
#include <limits>
#include <utility>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "elm_kernels.hpp"

namespace sparsepath {
namespace elm {

constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Criterion and squared error of a machine, as means over the samples.
using Losses = std::pair<double, double>;

// The class of each sample: 0 and 1 for one target, else the place of its target; empty if mistakes do not count.
struct Classes {
    const int64_t* own;
    int64_t n;
};

// Samples whose class, left out, does not win: with y = +-1, y r >= p, or r_own - r >= 2 p. A score that beats its
// rivals by no more than 1e-10 is no decision and counts as wrong.
template <class T>
double mistakes(Rows<T> R, const T* p, Classes classes) {
    int64_t count = 0;
    for (int64_t i = 0; i < classes.n; ++i) {
        const int64_t own = classes.own[i];
        if (R.count == 1) {
            count += (2.0 * own - 1.0) * R[0][i] >= (1.0 - 1e-10) * p[i];
            continue;
        }
        T rival = std::numeric_limits<T>::infinity();
        for (int64_t t = 0; t < R.count; ++t)
            if (t != own) rival = std::min(rival, R[t][i]);
        count += R[own][i] - rival >= (2.0 - 1e-10) * p[i];
    }
    return static_cast<double>(count);
}

template <class T>
SPARSEPATH_WIDE void moments(Rows<T> H, const T* y, double* out) {
    for (int64_t j = 0; j < H.count; ++j) out[j] = dot<T>(H[j], y, H.length);
}

// e <- y - H'w; returns |e|^2
template <class T>
SPARSEPATH_WIDE double residuals(Rows<T> H, const T* y, const double* w, T* e) {
    const int64_t n = H.length;
    for (int64_t i = 0; i < n; ++i) e[i] = y[i];
    for (int64_t j = 0; j < H.count; ++j) add_row<T>(-static_cast<T>(w[j]), H[j], e, n);
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < n; ++i) squares += e[i] * e[i];
    return squares;
}

// To p: 1 - 1/n less the sum over the neurons of Q^2. Returns how many samples are not above the least.
template <class T>
SPARSEPATH_WIDE double leverage_left(Rows<T> Q, T least, T* SPARSEPATH_RESTRICT p) {
    const int64_t n = Q.length;
    for (int64_t i = 0; i < n; ++i) p[i] = static_cast<T>(1.0 - 1.0 / n);
    for (int64_t j = 0; j < Q.count; ++j) {
        const T* SPARSEPATH_RESTRICT q = Q[j];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) p[i] -= q[i] * q[i];
    }
    T tight = 0;
#pragma omp simd reduction(+ : tight)
    for (int64_t i = 0; i < n; ++i) tight += p[i] > least ? T(0) : T(1);
    return tight;
}

template <class T>
SPARSEPATH_WIDE double squares_left_out(Rows<T> E, const T* p) {
    double total = 0;
    for (int64_t t = 0; t < E.count; ++t) {
        const T* e = E[t];
#pragma omp simd reduction(+ : total)
        for (int64_t i = 0; i < E.length; ++i) {
            const T c = e[i] / p[i];
            total += c * c;
        }
    }
    return total;
}

// The next neuron of a growing machine: residuals R and p without it become those with it. Returns the sum of the
// squared leave-one-out residuals, infinite if a sample decides its own prediction.
template <class T>
SPARSEPATH_WIDE double with_neuron(const T* SPARSEPATH_RESTRICT q, const T* z, T least, Rows<T> R,
                                   T* SPARSEPATH_RESTRICT p) {
    const int64_t n = R.length;
    T tight = 0, total = 0;
#pragma omp simd reduction(+ : tight)
    for (int64_t i = 0; i < n; ++i) {
        const T x = p[i] - q[i] * q[i];
        p[i] = x;
        tight += x > least ? T(0) : T(1);
    }
    for (int64_t t = 0; t < R.count; ++t) {
        T* SPARSEPATH_RESTRICT r = R[t];
        const T factor = z[t];
#pragma omp simd reduction(+ : total)
        for (int64_t i = 0; i < n; ++i) {
            const T x = r[i] - q[i] * factor;
            r[i] = x;
            const T c = x / p[i];
            total += c * c;
        }
    }
    return tight > 0 ? INFINITE : static_cast<double>(total);
}

// Leave-one-out losses, sums over the samples, of the first 1, 2, ... rows of Q. R are the centred targets and are
// changed; z = Q Y, row by row.
template <class T>
void prefix_losses(Rows<T> Q, const T* z, Rows<T> R, Classes classes, T least, double* criteria, double* squares) {
    std::vector<T> p(Q.length, static_cast<T>(1.0 - 1.0 / Q.length));
    for (int64_t j = 0; j < Q.count; ++j) {
        squares[j] = with_neuron<T>(Q[j], z + j * R.count, least, R, p.data());
        const bool counted = classes.n > 0 && squares[j] < INFINITE;
        criteria[j] = counted ? mistakes<T>(R, p.data(), classes) : squares[j];
    }
}

// R <- the derivative by what goes into the neurons of the error with the output weights held fixed, times -n/2.
template <class T>
SPARSEPATH_WIDE void slope_of_objective(Rows<T> H, const T* means, const double* w, Rows<T> E, Rows<T> R) {
    const int64_t n = H.length;
    for (int64_t j = 0; j < H.count; ++j) {
        T* SPARSEPATH_RESTRICT r = R[j];
        const T* SPARSEPATH_RESTRICT h = H[j];
        for (int64_t i = 0; i < n; ++i) r[i] = 0;
        for (int64_t t = 0; t < E.count; ++t) add_row<T>(static_cast<T>(w[t * H.count + j]), E[t], r, n);
        const T mean = means[j];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) r[i] *= T(1) - (h[i] + mean) * (h[i] + mean);
    }
}

// To u and v: c / p and c^2 / p summed over targets, with c = e / p; to root the square root of v.
template <class T>
SPARSEPATH_WIDE void by_leverage(Rows<T> E, const T* p, Rows<T> u, T* SPARSEPATH_RESTRICT v, T* root) {
    const int64_t n = E.length;
    for (int64_t i = 0; i < n; ++i) v[i] = 0;
    for (int64_t t = 0; t < E.count; ++t) {
        const T* SPARSEPATH_RESTRICT e = E[t];
        T* SPARSEPATH_RESTRICT o = u[t];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            const T c = e[i] / p[i];
            o[i] = c / p[i];
            v[i] += c * o[i];
        }
    }
    for (int64_t i = 0; i < n; ++i) root[i] = std::sqrt(v[i]);
}

// out <- K with the samples weighted by v
template <class T>
SPARSEPATH_WIDE void weigh(Rows<T> K, const T* v, Rows<T> out) {
    for (int64_t j = 0; j < K.count; ++j) {
        const T* k = K[j];
        T* SPARSEPATH_RESTRICT o = out[j];
#pragma omp simd
        for (int64_t i = 0; i < K.length; ++i) o[i] = k[i] * v[i];
    }
}

template <class T>
struct PressTerms {
    Rows<T> H, K, E, u;
    const T *means, *v;
    const double *w, *a;  // T x m
};

// In place: R <- n times the derivatives of PRESS by what goes into the neurons. R comes in as 2 (KVK' - w a' / 2) H.
// The mean over the samples is subtracted because H is centred, and the slope of tanh is 1 - h^2, h being the output
// before its mean was subtracted.
template <class T>
SPARSEPATH_WIDE void slope_of_press(const PressTerms<T>& terms, Rows<T> R) {
    const int64_t n = R.length, m = R.count;
    const T* v = terms.v;
    for (int64_t j = 0; j < m; ++j) {
        T* SPARSEPATH_RESTRICT r = R[j];
        const T *SPARSEPATH_RESTRICT k = terms.K[j], *SPARSEPATH_RESTRICT h = terms.H[j];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) r[i] = T(2) * v[i] * k[i] - r[i];
        for (int64_t t = 0; t < terms.E.count; ++t) {
            const T x = static_cast<T>(terms.w[t * m + j]), y = static_cast<T>(terms.a[t * m + j]);
            const T *SPARSEPATH_RESTRICT u = terms.u[t], *SPARSEPATH_RESTRICT e = terms.E[t];
#pragma omp simd
            for (int64_t i = 0; i < n; ++i) r[i] -= x * u[i] + y * e[i];
        }
        T total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t i = 0; i < n; ++i) total += r[i];
        const T off = total / static_cast<T>(n), mean = terms.means[j];
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            const T x = h[i] + mean;
            r[i] = T(2) * (r[i] - off) * (T(1) - x * x);
        }
    }
}

// Explicit, because GCC makes versions for several processors of no other templates.
#define INSTANTIATE(T)                                                                                 \
    template void combine<T>(const T*, const std::vector<const T*>&, Rows<T>);                         \
    template void squash<T>(Rows<T>, const T*, T*);                                                    \
    template void project<T>(Rows<T>, const std::vector<const T*>&, const T*, double*);                \
    template bool cholesky<T>(Square<T>);                                                              \
    template void substitute<T, false>(Square<T>, Rows<T>, Rows<T>);                                   \
    template void substitute<T, true>(Square<T>, Rows<T>, Rows<T>);                                    \
    template void moments<T>(Rows<T>, const T*, double*);                                              \
    template double residuals<T>(Rows<T>, const T*, const double*, T*);                                \
    template double leverage_left<T>(Rows<T>, T, T*);                                                  \
    template double squares_left_out<T>(Rows<T>, const T*);                                            \
    template double with_neuron<T>(const T*, const T*, T, Rows<T>, T*);                                \
    template void slope_of_objective<T>(Rows<T>, const T*, const double*, Rows<T>, Rows<T>);           \
    template void by_leverage<T>(Rows<T>, const T*, Rows<T>, T*, T*);                                  \
    template void weigh<T>(Rows<T>, const T*, Rows<T>);                                                \
    template void slope_of_press<T>(const PressTerms<T>&, Rows<T>);
INSTANTIATE(float)
INSTANTIATE(double)
template void gram<float, float>(Rows<float>, Square<float>);
template void gram<float, double>(Rows<float>, Square<double>);
template void gram<double, double>(Rows<double>, Square<double>);
#undef INSTANTIATE

// Neurons on a problem: features as rows, weights and biases of all neurons, centred targets as rows.
template <class T>
class Pool {
public:
    Pool(Array2<const T> features, Array2<const T> weights, Array1<const T> biases, Array2<const T> targets,
         Indices own, double least)
        : features_(features), weights_(weights), biases_(biases), targets_(targets), own_(own),
          least(static_cast<T>(least)), n(features.shape(1)), d(features.shape(0)), neurons(biases.shape(0)),
          n_targets(targets.shape(0)) {}

    const T* feature(int64_t k) const { return features_.data() + k * n; }
    const T* target(int64_t t) const { return targets_.data() + t * n; }
    T weight(int64_t j, int64_t k) const { return weights_.data()[j * d + k]; }
    T bias(int64_t j) const { return biases_.data()[j]; }
    Classes classes() const { return {own_.data(), static_cast<int64_t>(own_.shape(0))}; }

private:
    Array2<const T> features_, weights_;
    Array1<const T> biases_;
    Array2<const T> targets_;
    Indices own_;

public:
    const T least;  // 1 - leverage at which a sample decides its own prediction
    const int64_t n, d, neurons, n_targets;
};

using List = std::vector<int64_t>;

List list_of(const Indices& array) { return List(array.data(), array.data() + array.shape(0)); }

List first_of(int64_t count) {
    List all(count);
    for (int64_t i = 0; i < count; ++i) all[i] = i;
    return all;
}

// A machine of some neurons of a pool: hidden layer, output layer, leave-one-out error.
template <class T>
class Machine {
public:
    Machine(const Pool<T>& pool, List which)
        : pool(pool), which(std::move(which)), m(this->which.size()), H(m, pool.n), Q(m, pool.n), means(m), A_(m * m),
          w(pool.n_targets * m), E(pool.n_targets, pool.n), biases_(m), U_(m * m), p_(pool.n) {
        for (int64_t j = 0; j < m; ++j) biases_[j] = pool.bias(this->which[j]);
    }

    // Outputs of the neurons on some features, each with its scaling.
    void see(const List& features, const std::vector<double>& scalings) {
        const int64_t d = features.size();
        X.resize(d);
        W.resize(m * d);
        for (int64_t k = 0; k < d; ++k) {
            X[k] = pool.feature(features[k]);
            const T scaling = static_cast<T>(scalings[k]);
            for (int64_t j = 0; j < m; ++j) W[j * d + k] = pool.weight(which[j], features[k]) * scaling;
        }
        combine<T>(W.data(), X, H);
        squash<T>(H, biases_.data(), means.data());
    }

    // Fit the output layer; false if it is not positive definite.
    bool fit(double ridge) {
        gram<T, double>(H, A());
        for (int64_t j = 0; j < m; ++j) A_[j * m + j] += ridge * pool.n;
        if (!cholesky<double>(A())) return false;
        double squares = 0, size = 0;
        for (int64_t t = 0; t < pool.n_targets; ++t) {
            double* v = &w[t * m];
            moments<T>(H, pool.target(t), v);
            solve_lower(A(), v);
            solve_upper(A(), v);
            squares += residuals<T>(H, pool.target(t), v, E[t]);
            for (int64_t j = 0; j < m; ++j) size += v[j] * v[j];
        }
        mse = squares / pool.n;
        objective = mse + ridge * size;
        return true;
    }

    // Leave-one-out of the fit; Q and p are filled.
    Losses left_out() {
        for (int64_t j = 0; j < m * m; ++j) U_[j] = static_cast<T>(A_[j]);
        substitute<T, false>(U(), H, Q);
        if (leverage_left<T>(Q, pool.least, p_.data()) > 0) return {INFINITE, INFINITE};
        const double squares = squares_left_out<T>(E, p_.data());
        const Classes classes = pool.classes();
        return {(classes.n ? mistakes<T>(E, p_.data(), classes) : squares) / pool.n, squares / pool.n};
    }

    // Gradient of the objective by the scalings of all features (equation 13); Q is overwritten. `all` are the weights
    // of the neurons, row by row, and `features` the rows that belong to them.
    std::vector<double> gradient(const std::vector<T>& all, const std::vector<const T*>& features) {
        std::vector<double> g(features.size());
        slope_of_objective<T>(H, means.data(), w.data(), E, Q);
        project<T>(Q, features, all.data(), g.data());
        for (double& x : g) x *= -2.0 / pool.n;
        return g;
    }

    // Gradient of the squared leave-one-out error by the logarithms of the scalings in use and of the ridge, which
    // comes last; after left_out, whose Q is overwritten.
    void press_gradient(double ridge, Rows<T> R, double* g) {
        const int64_t n = pool.n, targets = pool.n_targets;
        substitute<T, true>(U(), Q, Q);
        OwnedRows<T> u(targets, n);
        std::vector<T> v(n), root(n);
        by_leverage<T>(E, p_.data(), u, v.data(), root.data());
        std::vector<double> a(targets * m);
        for (int64_t t = 0; t < targets; ++t) moments<T>(Q, u[t], &a[t * m]);
        weigh<T>(Q, root.data(), R);
        gram<T, double>(R, A());
        std::vector<T> inner(m * m);
        double by_ridge = 0;
        for (int64_t j = 0; j < m; ++j) {
            by_ridge -= A_[j * m + j];
            for (int64_t t = 0; t < targets; ++t) by_ridge += w[t * m + j] * a[t * m + j];
            for (int64_t k = 0; k < m; ++k) {
                double x = 2.0 * (j <= k ? A_[j * m + k] : A_[k * m + j]);
                for (int64_t t = 0; t < targets; ++t) x -= w[t * m + j] * a[t * m + k];
                inner[j * m + k] = static_cast<T>(x);
            }
        }
        std::vector<const T*> outputs(m);
        for (int64_t j = 0; j < m; ++j) outputs[j] = H[j];
        combine<T>(inner.data(), outputs, R);
        slope_of_press<T>({H, Q, E, u, means.data(), v.data(), w.data(), a.data()}, R);
        project<T>(R, X, W.data(), g);
        for (size_t k = 0; k < X.size(); ++k) g[k] /= n;
        g[X.size()] = 2.0 * ridge * by_ridge;
    }

    // The best of the first 1, 2, ... neurons, after see(); all in the precision of the features.
    void best_prefix(double ridge, Losses& best, int64_t& count, bool& better) {
        const int64_t n = pool.n, targets = pool.n_targets;
        better = false;
        gram<T, T>(H, U());
        for (int64_t j = 0; j < m; ++j) U_[j * m + j] += static_cast<T>(ridge * n);
        if (!cholesky<T>(U())) return;
        substitute<T, false>(U(), H, Q);
        std::vector<T> z(m * targets);
        std::vector<double> product(m), criteria(m), squares(m);
        for (int64_t t = 0; t < targets; ++t) {
            std::copy(pool.target(t), pool.target(t) + n, E[t]);
            moments<T>(Q, E[t], product.data());
            for (int64_t j = 0; j < m; ++j) z[j * targets + t] = static_cast<T>(product[j]);
        }
        prefix_losses<T>(Q, z.data(), E, pool.classes(), pool.least, criteria.data(), squares.data());
        for (int64_t j = 0; j < m; ++j) {
            const Losses here{criteria[j] / n, squares[j] / n};
            if (here < best) best = here, count = j + 1, better = true;
        }
    }

    const Pool<T>& pool;
    const List which;
    const int64_t m;
    OwnedRows<T> H, Q;
    std::vector<T> means;

private:
    std::vector<double> A_;

public:
    std::vector<double> w;  // targets x m
    OwnedRows<T> E;
    double mse = 0, objective = 0;
    std::vector<const T*> X;  // the features in use
    std::vector<T> W;         // the neurons on them, scaled

private:
    Square<double> A() { return {A_.data(), m}; }
    Square<T> U() { return {U_.data(), m}; }
    std::vector<T> biases_, U_, p_;
};

// Algorithm 1 ------------------------------------------------------------------------------------------------------

enum Rule { HALF, SIGN, LARGEST };  // the order of elm/scaling.py

// Steps of -1, 0, +1 on the grid 0 .. k against the gradient g + C1, as the rule says.
List neighbour(const std::vector<double>& g, double C1, const List& grid, int64_t k, int rule) {
    const int64_t d = g.size();
    List steps(d, 0);
    double most = 0;
    int64_t first = -1;
    for (int64_t i = 0; i < d; ++i) {
        const double G = g[i] + C1;
        if ((G < 0 && grid[i] < k) || (G > 0 && grid[i] > 0)) {
            steps[i] = G > 0 ? -1 : 1;
            if (std::abs(G) > most) most = std::abs(G), first = i;
        }
    }
    for (int64_t i = 0; i < d; ++i)
        if ((rule == LARGEST && i != first) || (rule == HALF && std::abs(g[i] + C1) < 0.5 * most)) steps[i] = 0;
    return steps;
}

int64_t sum(const List& values) {
    int64_t total = 0;
    for (int64_t x : values) total += x;
    return total;
}

// Values of C1 at which the neighbour can change from more moves up to more moves down.
//
// With D the largest g + C1 of those that can go down, U the largest -(g + C1) of those that can go up: `sign` changes
// where some g + C1 = 0; `largest` where D = U, or D = 0. `half` drops all below max(D, U) / 2, which a coordinate
// crosses, while U is the larger, at -(2 g - U) / 3 going down and at -U - 2 g going up (U here being the largest -g),
// while D is the larger, at D - 2 g and at -(2 g + D) / 3 (D being the largest g).
std::vector<double> breakpoints(const std::vector<double>& g, const List& grid, int64_t k, int rule) {
    std::vector<double> points;
    if (rule == SIGN) {
        for (double x : g) points.push_back(-x);
        return points;
    }
    double top = -INFINITE, bottom = INFINITE;
    for (size_t i = 0; i < g.size(); ++i) {
        if (grid[i] > 0) top = std::max(top, g[i]);
        if (grid[i] < k) bottom = std::min(bottom, g[i]);
    }
    points.push_back(-top);
    if (bottom < INFINITE) points.push_back(-(top + bottom) / 2);
    for (size_t i = 0; rule == HALF && i < g.size(); ++i) {
        if (grid[i] > 0) {
            points.push_back(top - 2 * g[i]);
            if (bottom < INFINITE) points.push_back(-(2 * g[i] + bottom) / 3);
        }
        if (grid[i] < k) {
            points.push_back(bottom - 2 * g[i]);
            points.push_back(-(2 * g[i] + top) / 3);
        }
    }
    return points;
}

// The least C1 not below the given one from which the neighbour is sparser; and its steps.
std::pair<double, List> increase(const std::vector<double>& g, double C1, const List& grid, int64_t k, int rule) {
    std::vector<double> found = breakpoints(g, grid, k, rule), points{C1};
    std::sort(found.begin(), found.end());
    for (double point : found)
        if (point > points.back()) points.push_back(point);
    size_t low = 0, high = points.size() - 1;  // beyond the last point everything goes down
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (sum(neighbour(g, (points[middle] + points[middle + 1]) / 2, grid, k, rule)) < 0) high = middle;
        else low = middle + 1;
    }
    const double at = points[low];
    const double inside = low + 1 < points.size() ? (at + points[low + 1]) / 2 : at + 1.0 + std::abs(at);
    return {at, neighbour(g, inside, grid, k, rule)};
}

// What a restart of Algorithm 1 needs besides its neurons.
struct Walk {
    List start;  // scalings in steps of 1/k
    int64_t k;
    int rule;
    double ridge;
};

// One restart: the best machine of each size among those that become the current one. `known` has the criterion by
// size that need not be improved on by more than equality; larger sizes are not wanted. To keys and grids: criterion
// and squared error, and scalings in steps, by size; keys come in as infinity. False if a fit was not positive definite.
template <class T>
bool descend(const Pool<T>& pool, List which, const Walk& walk, ConstVector known, Matrix keys, Array2<int64_t> grids) {
    Machine<T> machine(pool, std::move(which));
    const int64_t d = pool.d, k = walk.k, sizes = known.shape(0);
    std::vector<T> all(machine.m * d);
    std::vector<const T*> features(d);
    for (int64_t i = 0; i < d; ++i) features[i] = pool.feature(i);
    for (int64_t j = 0; j < machine.m; ++j)
        for (int64_t i = 0; i < d; ++i) all[j * d + i] = pool.weight(machine.which[j], i);
    double empty = 0;
    for (int64_t t = 0; t < pool.n_targets; ++t) empty += dot<T>(pool.target(t), pool.target(t), pool.n);
    empty /= pool.n;

    const auto objective = [&](const List& grid, double& J) {
        List active;
        std::vector<double> scalings;
        for (int64_t i = 0; i < d; ++i)
            if (grid[i]) active.push_back(i), scalings.push_back(static_cast<double>(grid[i]) / k);
        J = empty;
        if (active.empty()) return true;
        machine.see(active, scalings);
        if (!machine.fit(walk.ridge)) return false;
        J = machine.objective;
        return true;
    };
    const auto moved = [&](const List& grid, const List& steps) {
        List other(d);
        for (int64_t i = 0; i < d; ++i) other[i] = grid[i] + steps[i];
        return other;
    };

    List grid = walk.start;
    double C1 = 0, J = 0, J_new = 0;
    if (!objective(grid, J)) return false;
    while (sum(grid) > 0) {
        const int64_t size = d - std::count(grid.begin(), grid.end(), int64_t(0));
        double* key = size < sizes ? keys.data() + 2 * size : nullptr;
        // The leave-one-out error is not below the training error.
        if (key && (pool.classes().n || machine.mse <= std::min(known.data()[size], key[0]))) {
            const Losses found = machine.left_out();
            if (found < Losses{key[0], key[1]}) {
                key[0] = found.first, key[1] = found.second;
                std::copy(grid.begin(), grid.end(), grids.data() + size * d);
            }
        }
        const std::vector<double> g = machine.gradient(all, features);
        List next = moved(grid, neighbour(g, C1, grid, k, walk.rule));
        const double old = J + C1 * sum(grid) / k;
        const bool moves = next != grid;
        if (moves && !objective(next, J_new)) return false;
        // Without a tolerance the walk could go round for ever: after the second increase both are equal to rounding.
        if (!moves || !(J_new + C1 * sum(next) / k < old - 1e-12 * std::abs(old))) {
            auto [larger, steps] = increase(g, C1, grid, k, walk.rule);
            const List sparser = moved(grid, steps);
            if (!moves || sparser != next) {
                next = sparser;
                if (!objective(next, J_new)) return false;
            }
            C1 = std::max(larger, (J_new - J) / (static_cast<double>(sum(grid) - sum(next)) / k));
        }
        grid = next;
        J = J_new;
    }
    return true;
}

// Polishing ----------------------------------------------------------------------------------------------------------

// Between which bounds the logarithms of scalings and ridge are free, and when the descent ends.
struct Bounds {
    std::vector<double> low, high;
    int rounds;    // at most
    double worth;  // a round that gains less, in the logarithm of the error, is the last
    bool free(size_t i, double at, double slope) const {
        return (at > low[i] || slope < 0) && (at < high[i] || slope > 0);
    }
};

// The inverse of the second derivatives as BFGS learns it.
class Curvature {
public:
    explicit Curvature(size_t size) : size_(size), B_(size * size, 0.0) {
        for (size_t i = 0; i < size; ++i) B_[i * size + i] = 1.0;
    }

    // Where to go, with coordinates that a bound holds back left alone; returns the slope that way.
    double direction(const std::vector<double>& g, const std::vector<double>& at, const Bounds& bounds,
                     std::vector<double>& out) const {
        double slope = 0;
        for (size_t i = 0; i < size_; ++i) {
            out[i] = 0;
            for (size_t j = 0; j < size_ && bounds.free(i, at[i], g[i]); ++j)
                if (bounds.free(j, at[j], g[j])) out[i] -= B_[i * size_ + j] * g[j];
            slope += out[i] * g[i];
        }
        return slope;
    }

    // What a step s that changed the gradient by y says.
    void learn(const std::vector<double>& s, const std::vector<double>& y, bool is_first) {
        const double sy = dot(s.data(), y.data(), size_), yy = dot(y.data(), y.data(), size_);
        if (!(sy > 1e-10 * yy)) return;
        for (size_t i = 0; i < size_ && is_first; ++i) B_[i * size_ + i] = sy / yy;
        std::vector<double> By(size_);
        for (size_t i = 0; i < size_; ++i) By[i] = dot(&B_[i * size_], y.data(), size_);
        const double factor = (sy + dot(y.data(), By.data(), size_)) / (sy * sy);
        for (size_t i = 0; i < size_; ++i)
            for (size_t j = 0; j < size_; ++j)
                B_[i * size_ + j] += factor * s[i] * s[j] - (By[i] * s[j] + s[i] * By[j]) / sy;
    }

private:
    size_t size_;
    std::vector<double> B_;
};

// A machine as a function of the logarithms of its scalings and ridge.
template <class T>
class Press {
public:
    Press(const Pool<T>& pool, List which, List features)
        : machine_(pool, std::move(which)), features_(std::move(features)), R_(machine_.m, pool.n) {}

    // The squared leave-one-out error, infinite if there is none.
    double value(const std::vector<double>& logs) {
        std::vector<double> scalings(features_.size());
        for (size_t k = 0; k < scalings.size(); ++k) scalings[k] = std::exp(logs[k]);
        ridge_ = std::exp(logs.back());
        machine_.see(features_, scalings);
        return machine_.fit(ridge_) ? machine_.left_out().second : INFINITE;
    }

    // Its gradient, right after it.
    void gradient(double* g) { machine_.press_gradient(ridge_, R_, g); }

private:
    Machine<T> machine_;
    List features_;
    OwnedRows<T> R_;
    double ridge_ = 0;
};

// In place: logarithms of scalings and ridge with a smaller error; returns its logarithm, infinite if there is none.
//
// A direction by BFGS over the coordinates that no bound holds back, a step along it that ends at the bounds, halved or
// more until the error falls (Armijo), six lengths at most. The first step is of length one at most.
template <class T>
double go_down(Press<T>& press, std::vector<double>& at, const Bounds& bounds) {
    const size_t size = at.size();
    double value = press.value(at);
    if (!(value > 0 && value < INFINITE)) return INFINITE;
    double here = std::log(value);
    std::vector<double> g(size), changed(size), step(size), next(size);
    Curvature curvature(size);
    for (int round = 0; round < bounds.rounds; ++round) {
        changed = g;
        press.gradient(g.data());
        for (size_t i = 0; i < size; ++i) g[i] /= value, changed[i] = g[i] - changed[i];
        if (round > 0) curvature.learn(step, changed, round == 1);
        const double along = curvature.direction(g, at, bounds, step);
        if (!(along < 0)) return here;
        double length = 1.0;
        if (round == 0) length = 1.0 / std::max(1.0, std::sqrt(dot(step.data(), step.data(), size)));
        double there = INFINITE;
        for (int tried = 0;; ++tried) {
            if (tried == 6) return here;
            double promised = 0;
            for (size_t i = 0; i < size; ++i) {
                next[i] = std::min(std::max(at[i] + length * step[i], bounds.low[i]), bounds.high[i]);
                promised += g[i] * (next[i] - at[i]);
            }
            value = press.value(next);
            there = value > 0 && value < INFINITE ? std::log(value) : 1e3;  // finite, for the parabola
            if (there < 1e3 && there <= here + 1e-4 * std::min(promised, 0.0)) break;
            // Where the parabola through both errors and the slope has its least.
            const double fall = there - here - length * along;
            const double best = fall > 0 ? 0.5 * length * length * -along / fall : 0.5 * length;
            length = std::min(std::max(best, 0.1 * length), 0.5 * length);
        }
        for (size_t i = 0; i < size; ++i) step[i] = next[i] - at[i];
        at = next;
        const double gain = here - there;
        here = there;
        if (gain < bounds.worth) return here;
    }
    return here;
}

// Bindings -----------------------------------------------------------------------------------------------------------

template <class T>
Rows<T> rows_of(const Array2<T>& array) {
    const int64_t n = array.shape(1);
    return {array.data(), static_cast<int64_t>(array.shape(0)), n, n};
}

Square<double> square_of(const Matrix& array) { return {array.data(), static_cast<int64_t>(array.shape(0))}; }

std::vector<double> numbers_of(const ConstVector& array) {
    return std::vector<double>(array.data(), array.data() + array.shape(0));
}

template <class T>
void bind_pool(nb::module_& m, const char* name) {
    using namespace nb::literals;
    nb::class_<Pool<T>>(m, name, "Neurons on a problem, in one precision.")
        .def(nb::init<Array2<const T>, Array2<const T>, Array1<const T>, Array2<const T>, Indices, double>(),
             "features"_a, "weights"_a, "biases"_a, "targets"_a, "own"_a, "least"_a)
        .def(
            "screen",
            [](const Pool<T>& pool, Indices subset, ConstVector scalings, double ridge, int64_t neurons) {
                const List features = list_of(subset);
                const std::vector<double> values = numbers_of(scalings);
                nb::gil_scoped_release release;
                Machine<T> machine(pool, first_of(neurons));
                Losses best{INFINITE, INFINITE};
                int64_t place = 0, count = neurons;
                for (size_t s = 0; s < values.size(); ++s) {
                    bool better;
                    machine.see(features, std::vector<double>(features.size(), values[s]));
                    machine.best_prefix(ridge, best, count, better);
                    if (better) place = s;
                }
                return std::make_tuple(best.first, best.second, place, count);
            },
            "subset"_a, "scalings"_a, "ridge"_a, "neurons"_a,
            "The best of the first 1, 2, ... neurons at common scalings of a subset: criterion, squared error, place "
            "of the scaling, number of neurons; the first of equals. A factorisation that fails is infinitely bad.")
        .def(
            "error",
            [](const Pool<T>& pool, Indices which, ConstVector scaling, double ridge, double enough) -> Losses {
                List features;
                std::vector<double> values;
                for (int64_t i = 0; i < pool.d; ++i)
                    if (scaling.data()[i] != 0) features.push_back(i), values.push_back(scaling.data()[i]);
                nb::gil_scoped_release release;
                Machine<T> machine(pool, list_of(which));
                machine.see(features, values);
                // The leave-one-out error is not below the training error, which comes first.
                const bool fine = machine.fit(ridge) && (pool.classes().n || machine.mse < enough);
                return fine ? machine.left_out() : Losses{INFINITE, INFINITE};
            },
            "which"_a, "scaling"_a, "ridge"_a, "enough"_a,
            "Criterion and squared error, left out, of some neurons; infinite if the criterion is not below enough.")
        .def(
            "objective",
            [](const Pool<T>& pool, ConstVector scaling, double ridge) {
                Machine<T> machine(pool, first_of(pool.neurons));
                std::vector<T> all;
                std::vector<const T*> features;
                for (int64_t i = 0; i < pool.d; ++i) features.push_back(pool.feature(i));
                for (int64_t j = 0; j < pool.neurons; ++j)
                    for (int64_t i = 0; i < pool.d; ++i) all.push_back(pool.weight(j, i));
                machine.see(first_of(pool.d), numbers_of(scaling));
                const bool fine = machine.fit(ridge);
                return std::make_tuple(fine, machine.mse, machine.objective,
                                       fine ? machine.gradient(all, features) : std::vector<double>());
            },
            "scaling"_a, "ridge"_a,
            "Whether the factorisation succeeds; training error, the same plus the penalty, and its gradient by the "
            "scalings, of all neurons.")
        .def(
            "press",
            [](const Pool<T>& pool, ConstVector logs) {
                Press<T> press(pool, first_of(pool.neurons), first_of(pool.d));
                std::vector<double> g(logs.shape(0));
                const double value = press.value(numbers_of(logs));
                press.gradient(g.data());
                return std::make_pair(value, g);
            },
            "logs"_a,
            "Squared leave-one-out error of all neurons and its gradient by the logarithms of scalings and ridge.")
        .def(
            "descend",
            [](const Pool<T>& pool, Indices which, Indices start, int64_t k, int rule, double ridge, ConstVector known,
               Matrix keys, Array2<int64_t> grids) {
                const Walk walk{list_of(start), k, rule, ridge};
                nb::gil_scoped_release release;
                return descend<T>(pool, list_of(which), walk, known, keys, grids);
            },
            "which"_a, "start"_a, "k"_a, "rule"_a, "ridge"_a, "known"_a, "keys"_a.noconvert(),
            "grids"_a.noconvert(),
            "One restart of Algorithm 1; fills keys and grids by size. False if a fit was not positive definite.")
        .def(
            "polish",
            [](const Pool<T>& pool, Indices which, Indices subset, Vector at, ConstVector low, ConstVector high,
               int rounds, double worth) {
                const Bounds bounds{numbers_of(low), numbers_of(high), rounds, worth};
                nb::gil_scoped_release release;
                Press<T> press(pool, list_of(which), list_of(subset));
                std::vector<double> logs(at.data(), at.data() + at.shape(0));
                const double found = go_down<T>(press, logs, bounds);
                std::copy(logs.begin(), logs.end(), at.data());
                return found;
            },
            "which"_a, "subset"_a, "at"_a.noconvert(), "low"_a, "high"_a, "rounds"_a, "worth"_a,
            "In place: logarithms of scalings and ridge with a smaller squared error; returns its logarithm.");
}

template <class T>
void bind_squash(nb::module_& m) {
    using namespace nb::literals;
    m.def(
        "squash",
        [](Array2<T> H, Array1<const T> biases, Array1<T> means) {
            nb::gil_scoped_release release;
            squash<T>(rows_of(H), biases.data(), means.data());
        },
        "H"_a.noconvert(), "biases"_a.noconvert(), "means"_a.noconvert(), "In place: H <- tanh(H + bias), less its mean over the samples.");
}

}  // namespace elm

void bind_elm(nb::module_& m) {
    using namespace elm;
    using namespace nb::literals;
    bind_pool<float>(m, "SinglePool");
    bind_pool<double>(m, "DoublePool");
    bind_squash<float>(m);
    bind_squash<double>(m);
    m.def(
        "gram",
        [](Matrix H, Matrix A) {
            nb::gil_scoped_release release;
            gram<double, double>(rows_of(H), square_of(A));
        },
        "H"_a.noconvert(), "A"_a.noconvert(), "A <- H H', upper triangle.");
    m.def(
        "cholesky", [](Matrix A) { return cholesky<double>(square_of(A)); }, "A"_a.noconvert(),
        "In place, upper triangle: A = U'U; False if A is not positive definite.");
    m.def(
        "orthogonalise",
        [](Matrix U, Matrix H, Matrix Q) {
            nb::gil_scoped_release release;
            substitute<double, false>(square_of(U), rows_of(H), rows_of(Q));
        },
        "U"_a, "H"_a, "Q"_a.noconvert(), "Q <- U'^-1 H.");
    m.def(
        "prefix_losses",
        [](Matrix Q, Array2<const double> z, Matrix R, Indices own, double least, Vector criteria, Vector squares) {
            nb::gil_scoped_release release;
            prefix_losses<double>(rows_of(Q), z.data(), rows_of(R), {own.data(), static_cast<int64_t>(own.shape(0))},
                                  least, criteria.data(), squares.data());
        },
        "Q"_a, "z"_a, "R"_a, "own"_a, "least"_a, "criteria"_a.noconvert(),
        "squares"_a.noconvert(),
        "Leave-one-out losses, sums over the samples, of the first 1, 2, ... neurons; R, the centred targets, change.");
    m.def(
        "neighbour",
        [](ConstVector g, Indices grid, int64_t k, int rule) {
            return neighbour(numbers_of(g), 0.0, list_of(grid), k, rule);
        },
        "g"_a, "grid"_a, "k"_a, "rule"_a, "Steps on the grid against a gradient.");
    m.def(
        "increase",
        [](ConstVector g, double C1, Indices grid, int64_t k, int rule) {
            return increase(numbers_of(g), C1, list_of(grid), k, rule);
        },
        "g"_a, "C1"_a, "grid"_a, "k"_a, "rule"_a, "The least C1 from which the neighbour is sparser, and its steps.");
}

}  // namespace sparsepath
