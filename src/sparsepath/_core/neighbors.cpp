// Loops of the Kraskov estimator of mutual information; the formulas stand in information/kraskov.py.
//
// Features and targets are rows: XT is d x n, YT is q x n. Distances are absolute differences, joined by the largest.
// They are compared with each other and never with sums; those that are equal to nine digits count as equal, so no
// neighbour is counted or lost by rounding. psi[m] is the digamma function of m, up to n + 1.
//
// Where samples are sorted by their first target, only those within a window of it can be near.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#include "arrays.hpp"
#include "bindings.hpp"
#include "simd.hpp"
#include "threads.hpp"

namespace sparsepath {
namespace {

constexpr int64_t SKIPPED_TOGETHER = 16;             // samples that are skipped together if none is near
constexpr int64_t ROWS_OF_A_TASK = 128;              // samples whose shares one task computes
constexpr double BELOW = 1 - 1e-9, ABOVE = 1 + 1e-9; // times a distance: those below or above it beyond rounding
constexpr double FAR = 0x1p500;                      // and its multiples, between classes: no neighbours
constexpr double INFINITE = std::numeric_limits<double>::infinity();

// Distances of one sample, and so many infinite ones that SKIPPED_TOGETHER can be read from everywhere.
struct Distances {
    explicit Distances(int64_t n) : values(n + SKIPPED_TOGETHER, INFINITE) {}
    double* data() { return values.data(); }
    const double* data() const { return values.data(); }
    int64_t size() const { return static_cast<int64_t>(values.size()); }
    std::vector<double> values;
};

// Rows of a matrix, as the loops see them.
struct Rows {
    explicit Rows(const ConstMatrix& matrix)
        : data(matrix.data()), count(static_cast<int64_t>(matrix.shape(0))), n(static_cast<int64_t>(matrix.shape(1))) {}
    const double* row(int64_t i) const { return data + i * n; }
    const double* data;
    int64_t count, n;
};

SPARSEPATH_WIDE void distances_of_row(const double* row, int64_t i, int64_t n, double* out) {
    const double here = row[i];
    for (int64_t j = 0; j < n; ++j) out[j] = std::fabs(row[j] - here);
}

// The larger of `kept` and the distance in one row, to `out`, which may be `kept`.
SPARSEPATH_WIDE void larger_distances(const double* row, int64_t i, int64_t n, const double* kept, double* out) {
    const double here = row[i];
#pragma omp simd
    for (int64_t j = 0; j < n; ++j) {
        const double d = std::fabs(row[j] - here);
        out[j] = d > kept[j] ? d : kept[j];
    }
}

SPARSEPATH_WIDE void larger(const double* a, const double* b, int64_t n, double* out) {
    for (int64_t j = 0; j < n; ++j) out[j] = a[j] > b[j] ? a[j] : b[j];
}

// Distances of sample i to all samples over all rows, to itself infinite.
void distances(const Rows& rows, int64_t i, Distances& out) {
    for (int64_t a = 0; a < rows.count; ++a) {
        if (a == 0)
            distances_of_row(rows.row(a), i, rows.n, out.data());
        else
            larger_distances(rows.row(a), i, rows.n, out.data(), out.data());
    }
    out.values[i] = INFINITE;
}

inline int64_t lowest_bit(uint64_t bits) {
#if defined(_MSC_VER) && !defined(__clang__)
    unsigned long place;
    _BitScanForward64(&place, bits);
    return place;
#else
    return __builtin_ctzll(bits);
#endif
}

// The k least of max(dx, dy) below `limit`, ascending, equals by their places; `limit` where there are fewer.
SPARSEPATH_WIDE void find_nearest(const double* dx, const double* dy, int64_t size, int64_t k, double limit,
                                  double* near, int64_t* who) {
    for (int64_t i = 0; i < k; ++i) {
        near[i] = limit;
        who[i] = 0;
    }
    for (int64_t start = 0; start < size; start += SKIPPED_TOGETHER) {
        const double *x = dx + start, *y = dy + start;
        const double bound = near[k - 1];
        uint64_t nearer = 0;  // a bit for each
#pragma omp simd reduction(| : nearer)
        for (int64_t j = 0; j < SKIPPED_TOGETHER; ++j) nearer |= static_cast<uint64_t>((x[j] < bound) & (y[j] < bound)) << j;
        for (; nearer; nearer &= nearer - 1) {
            const int64_t j = lowest_bit(nearer);
            const double d = x[j] > y[j] ? x[j] : y[j];
            if (!(d < near[k - 1])) continue;
            int64_t place = k - 1;
            for (; place > 0 && near[place - 1] > d; --place) {
                near[place] = near[place - 1];
                who[place] = who[place - 1];
            }
            near[place] = d;
            who[place] = start + j;
        }
    }
}

struct Range {
    int64_t low, high;
};

// The nearest neighbours of one sample, ascending.
struct Nearest {
    explicit Nearest(int64_t k) : distance(k, INFINITE), sample(k) {}

    // The farthest of the last search is a good guess at that of the next: few samples are nearer than a little more.
    // `window` gives the range of samples that can be nearer than a limit.
    template <class Window>
    void find(const Distances& dx, const Distances& dy, Window window) {
        const double guess = distance.back() < FAR ? 1.2 * distance.back() : INFINITE;
        for (const double limit : {guess, INFINITE}) {
            const Range near = window(limit);
            find_nearest(dx.data() + near.low, dy.data() + near.low, near.high - near.low, distance.size(), limit,
                         distance.data(), sample.data());
            for (int64_t& each : sample) each += near.low;
            if (distance.back() < limit) return;
        }
    }

    std::vector<double> distance;
    std::vector<int64_t> sample;
};

struct Counts {
    int64_t x, y, both, sides;
};

SPARSEPATH_WIDE Counts count_zeros(const double* dx, const double* dy, int64_t size) {
    int64_t x = 0, y = 0, both = 0;
#pragma omp simd reduction(+ : x, y, both)
    for (int64_t j = 0; j < size; ++j) {
        const bool same_x = dx[j] == 0.0, same_y = dy[j] == 0.0;
        x += same_x;
        y += same_y;
        both += same_x & same_y;
    }
    return {x, y, both, 0};
}

SPARSEPATH_WIDE int64_t count_below(const double* distances, int64_t size, double bound) {
    int64_t below = 0;
#pragma omp simd reduction(+ : below)
    for (int64_t j = 0; j < size; ++j) below += distances[j] < bound;
    return below;
}

// Samples within the rectangle with sides ex and ey, at these sides, and within eps in both.
SPARSEPATH_WIDE Counts count_rectangle(const double* dx, const double* dy, int64_t size, double ex, double ey,
                                       double eps) {
    int64_t x = 0, y = 0, both = 0, sides = 0;
#pragma omp simd reduction(+ : x, y, both, sides)
    for (int64_t j = 0; j < size; ++j) {
        const bool upto_x = dx[j] <= ex * ABOVE, upto_y = dy[j] <= ey * ABOVE;
        x += upto_x;
        y += upto_y;
        sides += upto_x & (dx[j] >= ex * BELOW);
        sides += upto_y & (dy[j] >= ey * BELOW);
        both += (dx[j] <= eps * ABOVE) & (dy[j] <= eps * ABOVE);
    }
    return {x, y, both, sides};
}

// What one pass needs besides the features: targets, digamma function, neighbours and variant.
class Neighbors {
  public:
    Neighbors(ConstMatrix YT, ConstVector psi, int64_t k, int variant)
        : YT_(YT), psi_(psi), Y_(YT_), psi(psi_.data()), n(Y_.n), k(k), variant(variant),
          sorted_(Y_.count && std::is_sorted(Y_.row(0), Y_.row(0) + n)) {
        if (static_cast<int64_t>(psi_.shape(0)) != n + 2 || k < 1)
            throw std::invalid_argument("psi has n + 2 values and k is at least 1");
    }

    void subset(ConstMatrix XT, Vector out, int n_threads) const {
        const Rows X(XT);
        check(X, out.shape(0));
        double* terms = out.data();
        nb::gil_scoped_release release;
        parallel_ranges(n, ROWS_OF_A_TASK, n_threads, [&](int64_t low, int64_t high) {
            Distances dx(n), dy(n);
            Nearest near(k);
            for (int64_t i = low; i < high; ++i) {
                distances(X, i, dx);
                distances(Y_, i, dy);
                terms[i] = term(i, dx, dy, near);
            }
        });
    }

    void additions(ConstMatrix D, ConstMatrix XT, Indices features, Matrix out, int n_threads) const {
        const Rows X(XT), kept(D);
        const int64_t* which = features.data();
        const int64_t count = static_cast<int64_t>(features.shape(0));
        check(X, out.shape(1));
        for (int64_t f = 0; f < count; ++f)
            if (which[f] < 0 || which[f] >= X.count) throw std::invalid_argument("no such feature");
        if (static_cast<int64_t>(out.shape(0)) != count || (kept.count && (kept.count != n || kept.n != n)))
            throw std::invalid_argument("out has one row per feature, D is empty or n x n");
        double* terms = out.data();
        nb::gil_scoped_release release;
        parallel_ranges(n, ROWS_OF_A_TASK, n_threads, [&](int64_t low, int64_t high) {
            Distances dx(n), dy(n);
            Nearest near(k);
            for (int64_t i = low; i < high; ++i) {
                distances(Y_, i, dy);
                for (int64_t f = 0; f < count; ++f) {
                    const double* row = X.row(which[f]);
                    if (kept.count)
                        larger_distances(row, i, n, kept.row(i), dx.data());
                    else
                        distances_of_row(row, i, n, dx.data());
                    dx.values[i] = INFINITE;
                    terms[f * n + i] = term(i, dx, dy, near);
                }
            }
        });
    }

    // Largest distances over the rows before and after the one left out make the cost linear in the size.
    void removals(ConstMatrix XT, Matrix out, int n_threads) const {
        const Rows X(XT);
        check(X, out.shape(1));
        if (static_cast<int64_t>(out.shape(0)) != X.count)
            throw std::invalid_argument("out has one row per feature");
        double* terms = out.data();
        nb::gil_scoped_release release;
        parallel_ranges(n, ROWS_OF_A_TASK, n_threads, [&](int64_t low, int64_t high) {
            Distances dx(n), dy(n);
            Nearest near(k);
            std::vector<double> before(n), after((X.count + 1) * n, 0.0);
            for (int64_t i = low; i < high; ++i) {
                distances(Y_, i, dy);
                for (int64_t a = X.count - 1; a >= 0; --a)
                    larger_distances(X.row(a), i, n, &after[(a + 1) * n], &after[a * n]);
                before.assign(n, 0.0);
                for (int64_t a = 0; a < X.count; ++a) {
                    larger(before.data(), &after[(a + 1) * n], n, dx.data());
                    dx.values[i] = INFINITE;
                    terms[a * n + i] = term(i, dx, dy, near);
                    larger_distances(X.row(a), i, n, before.data(), before.data());
                }
            }
        });
    }

    // Shares by the first variant for 1 .. k neighbours, one row of `out` each.
    void every_k(ConstMatrix XT, Matrix out) const {
        const Rows X(XT);
        check(X, out.shape(1));
        if (static_cast<int64_t>(out.shape(0)) != k) throw std::invalid_argument("out has k rows");
        double* terms = out.data();
        nb::gil_scoped_release release;
        Distances dx(n), dy(n);
        Nearest near(k);
        std::vector<double> bounds(k);
        std::vector<int64_t> inside_x(k), inside_y(k);
        for (int64_t i = 0; i < n; ++i) {
            distances(X, i, dx);
            distances(Y_, i, dy);
            near.find(dx, dy, [&](double limit) { return window(i, limit); });
            for (int64_t m = 0; m < k; ++m) bounds[m] = near.distance[m] * BELOW;
            balls(dx, bounds, inside_x);
            balls(dy, bounds, inside_y);
            int64_t nx = 1, ny = 1;
            int64_t nearer = 0;  // neighbours strictly nearer than the one in question
            double share = near.distance[0] == 0.0 ? by_ties(dx, dy) : -psi[n];
            for (int64_t m = 0; m < k; ++m) {
                nx += inside_x[m];
                ny += inside_y[m];
                while (nearer < m && near.distance[nearer] < bounds[m]) ++nearer;
                if (0.0 < near.distance[m] && near.distance[m] < FAR) share = psi[nearer + 1] - psi[nx] - psi[ny];
                terms[m * n + i] = share;
            }
        }
    }

  private:
    void check(const Rows& X, size_t length) const {
        if (X.n != n || static_cast<int64_t>(length) != n) throw std::invalid_argument("one share per sample");
    }

    // The samples whose first target can be nearer than `limit` to that of sample i.
    Range window(int64_t i, double limit) const {
        if (!sorted_) return {0, n};
        const double *y = Y_.row(0), here = y[i];
        const double* low = std::partition_point(y, y + i, [=](double each) { return here - each >= limit; });
        const double* high = std::partition_point(y + i, y + n, [=](double each) { return each - here < limit; });
        return {low - y, high - y};
    }

    // How many samples are in the ball of each radius and in none before it; the radii ascend.
    void balls(const Distances& d, const std::vector<double>& radii, std::vector<int64_t>& inside) const {
        inside.assign(radii.size(), 0);
        for (int64_t j = 0; j < n; ++j) {
            const double here = d.values[j];
            if (!(here < radii.back())) continue;
            size_t low = 0, high = radii.size() - 1;
            while (low < high) {
                const size_t middle = (low + high) / 2;
                if (here < radii[middle])
                    high = middle;
                else
                    low = middle + 1;
            }
            ++inside[low];
        }
    }

    // The share of a sample by the counts at distance zero, the sample included.
    double by_ties(const Distances& dx, const Distances& dy) const {
        const Counts zero = count_zeros(dx.data(), dy.data(), dx.size());
        return std::log(double(zero.both + 1)) + std::log(double(n)) - std::log(double(zero.x + 1)) -
               std::log(double(zero.y + 1)) - psi[n];
    }

    // The share of one sample in the mutual information.
    double term(int64_t i, const Distances& dx, const Distances& dy, Nearest& near) const {
        near.find(dx, dy, [&](double limit) { return window(i, limit); });
        int64_t reached = k;
        while (reached > 0 && near.distance[reached - 1] >= FAR) --reached;
        if (reached == 0) return -psi[n];
        const double eps = near.distance[reached - 1];
        if (eps == 0.0) return by_ties(dx, dy);
        if (variant == 2) {
            double ex = 0.0, ey = 0.0;
            for (int64_t m = 0; m < reached; ++m) {
                ex = std::fmax(ex, dx.values[near.sample[m]]);
                ey = std::fmax(ey, dy.values[near.sample[m]]);
            }
            if (ex > 0.0 && ey > 0.0) {
                const Counts in = count_rectangle(dx.data(), dy.data(), dx.size(), ex, ey, eps);
                // One sample at each side and one k-th neighbour: no ties.
                if (in.both == reached && in.sides == 2)
                    return psi[reached] - 1.0 / double(reached) - psi[in.x] - psi[in.y];
            }
        }
        const double bound = eps * BELOW;
        while (reached > 1 && near.distance[reached - 2] >= bound) --reached;
        const Range near_y = window(i, bound);
        const int64_t x = count_below(dx.data(), n, bound);
        const int64_t y = count_below(dy.data() + near_y.low, near_y.high - near_y.low, bound);
        return psi[reached] - psi[x + 1] - psi[y + 1];
    }

    ConstMatrix YT_;
    ConstVector psi_;
    Rows Y_;
    const double* psi;
    int64_t n, k;
    int variant;
    bool sorted_;  // by the first target
};

void widen(Matrix D, ConstVector row, bool first, int n_threads) {
    const int64_t n = static_cast<int64_t>(row.shape(0));
    if (static_cast<int64_t>(D.shape(0)) != n || static_cast<int64_t>(D.shape(1)) != n)
        throw std::invalid_argument("D is n x n");
    double* kept = D.data();
    const double* values = row.data();
    nb::gil_scoped_release release;
    parallel_ranges(n, ROWS_OF_A_TASK, n_threads, [&](int64_t low, int64_t high) {
        for (int64_t i = low; i < high; ++i) {
            if (first)
                distances_of_row(values, i, n, kept + i * n);
            else
                larger_distances(values, i, n, kept + i * n, kept + i * n);
        }
    });
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    m.attr("BELOW") = BELOW;
    m.attr("ABOVE") = ABOVE;
    m.attr("FAR") = FAR;
    nb::class_<Neighbors>(m, "Neighbors", "Shares of samples in mutual information with given targets.")
        .def(nb::init<ConstMatrix, ConstVector, int64_t, int>(), nb::arg("YT"), nb::arg("psi"), nb::arg("k"),
             nb::arg("variant"))
        .def("subset", &Neighbors::subset, nb::arg("XT"), nb::arg("out"), nb::arg("n_threads"),
             "Shares for all rows of XT together.")
        .def("additions", &Neighbors::additions, nb::arg("D"), nb::arg("XT"), nb::arg("features"), nb::arg("out"),
             nb::arg("n_threads"),
             "Shares for the subset with distances D (empty: no feature) plus each feature; one row of out each.")
        .def("removals", &Neighbors::removals, nb::arg("XT"), nb::arg("out"), nb::arg("n_threads"),
             "Shares for XT without each of its rows; one row of out each.")
        .def("every_k", &Neighbors::every_k, nb::arg("XT"), nb::arg("out"),
             "Shares by the first variant for 1 .. k neighbours, one row of out each.");
    m.def("widen", &widen, nb::arg("D"), nb::arg("row"), nb::arg("first"), nb::arg("n_threads"),
          "In place: D becomes the distances with one more feature; first means that D is unset.");
}

}  // namespace sparsepath
