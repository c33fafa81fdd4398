// Loops of grafting: sub-problems of a working set, paths from products of columns, sparse columns, the logistic loss.
#include "arrays.hpp"
#include "bindings.hpp"
#include "convex_path.hpp"
#include "exponential.hpp"
#include "quadratic.hpp"
#include "simd.hpp"
#include "vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>

namespace sparsepath {
namespace {

using NewVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

// A new array of these numbers.
// How far a weight is from optimality, given the gradient g of the loss; see `violations` in criterion.py.
inline double violation(double g, double w, double l1, double l2) {
    if (w == 0.0) return std::max(std::abs(g) - l1, 0.0);
    return std::abs(g + 2.0 * l2 * w + (w > 0.0 ? l1 : -l1));
}

// ---------------------------------------------------------------------------------------------- paths by products

// The optima for descending l1, from G = Z'sZ, c = Z's y and yy = y's y; each starts from the one before.
class ProductsPath {
public:
    // `least_total` is the criterion below which the duality gap is no longer relative to it.
    ProductsPath(ConstMatrix G, ConstVector c, double yy, ConstVector l1_factors, ConstVector l2, Mask usable,
                 double scale, double least_total)
        : G_(G), n_(static_cast<int64_t>(c.shape(0))), yy_(yy), scale_(scale), least_total_(least_total),
          c_(c.data(), c.data() + n_), factors_(l1_factors.data(), l1_factors.data() + n_),
          l2_(l2.data(), l2.data() + n_), usable_(usable.data(), usable.data() + n_), w_(n_, 0.0), r_(n_),
          l1_(n_) {}

    double loss = 0.0, criterion = 0.0, violation = 0.0, gap = 0.0;

    // Go to the optimum at l1; violation / scale and gap / criterion are then within tol, or as near as rounding lets
    // them come.
    void go_to(double l1, double tol) {
        const double before = l1_now_ < 0.0 ? l1 : l1_now_;
        l1_now_ = l1;
        for (int64_t j = 0; j < n_; ++j) l1_[j] = l1 * factors_[j];
        double goal = tol * scale_;
        for (int turn = 0; turn < MOST_SETS; ++turn) {
            gradient();
            certify();
            if (violation <= tol && gap <= tol) break;
            if (violation * scale_ <= goal) {
                goal = 0.1 * std::min(goal, violation * scale_);
                if (goal < TIGHTER * tol * scale_) break;
            }
            // The sequential strong rule at first: a gradient changes by no more than l1 does, as a rule.
            const double level = turn == 0 && l1 > 0.0 ? std::min(1.0, 2.0 - before / l1) : 1.0;
            set_.clear();
            for (int64_t j = 0; j < n_; ++j)
                if (usable_[j] && (w_[j] != 0.0 || std::abs(r_[j]) > level * l1_[j])) set_.push_back(j);
            if (set_.empty()) break;
            optimise(0.5 * goal);
        }
    }

    // Stand at these weights, with the certificates of l1.
    void move_to(double l1, ConstVector w) {
        l1_now_ = l1;
        for (int64_t j = 0; j < n_; ++j) {
            l1_[j] = l1 * factors_[j];
            w_[j] = w.data()[j];
        }
        gradient();
        certify();
    }

    NewVector weights() const { return numpy_of(w_); }
    NewVector gradients() const { return numpy_of(r_); }

private:
    static constexpr int MOST_SETS = 50;        // working sets of one value of l1
    static constexpr double TIGHTER = 1e-4;     // part of the tolerance beyond which descent gains nothing

    void gradient();
    void certify();

    void optimise(double tol) {
        const int64_t k = static_cast<int64_t>(set_.size());
        H_.resize(static_cast<size_t>(k * k));
        local_.resize(static_cast<size_t>(5 * k));
        double *r = &local_[0], *u = r + k, *l1 = u + k, *l2 = l1 + k, *least = l2 + k;
        for (int64_t a = 0; a < k; ++a) {
            const int64_t j = set_[a];
            const double* row = G_.data() + j * n_;
            for (int64_t b = 0; b < k; ++b) H_[a * k + b] = row[set_[b]];
            r[a] = r_[j];
            u[a] = w_[j];
            l1[a] = l1_[j];
            l2[a] = l2_[j];
            least[a] = 0.0;
        }
        Quadratic& q = quadratic_;
        q.k = q.stride = k;
        q.H = H_.data();
        q.r = r;
        q.u = u;
        q.l1 = l1;
        q.l2 = l2;
        q.least = least;
        q.minimise(tol);
        for (int64_t a = 0; a < k; ++a) w_[set_[a]] = u[a];
    }

    ConstMatrix G_;
    int64_t n_;
    double yy_, scale_, least_total_, l1_now_ = -1.0;
    std::vector<double> c_, factors_, l2_;
    std::vector<char> usable_;
    std::vector<double> w_, r_, l1_, H_, local_;
    std::vector<int64_t> set_;
    Quadratic quadratic_;
};

void ProductsPath::gradient() {
    for (int64_t j = 0; j < n_; ++j) r_[j] = -c_[j];
    for (int64_t j = 0; j < n_; ++j)
        if (w_[j] != 0.0) add_scaled(w_[j], G_.data() + j * n_, r_.data(), n_);
}

// With u = Z w - y: mean u^2 = yy - c'w + r'w and mean u y = c'w - yy; the gap is that of criterion.py.
void ProductsPath::certify() {
    double cw = 0.0, rw = 0.0, penalties = 0.0, part = 1.0, worst = 0.0;
    for (int64_t j = 0; j < n_; ++j) {
        if (!usable_[j]) continue;
        const double w = w_[j], size = std::abs(r_[j]);
        worst = std::max(worst, sparsepath::violation(r_[j], w, l1_[j], l2_[j]));
        if (w != 0.0) {
            cw += c_[j] * w;
            rw += r_[j] * w;
            penalties += l1_[j] * std::abs(w) + l2_[j] * w * w;
        }
        if (l2_[j] == 0.0 && size > l1_[j]) part = std::min(part, l1_[j] / size);
    }
    double soft = 0.0;
    for (int64_t j = 0; j < n_; ++j) {
        if (!usable_[j] || l2_[j] == 0.0) continue;
        const double over = std::max(part * std::abs(r_[j]) - l1_[j], 0.0);
        soft += over * over / (4.0 * l2_[j]);
    }
    const double squares = std::max(yy_ - cw + rw, 0.0);
    const double dual = -(0.5 * part * part * squares + part * (cw - yy_)) - soft;
    loss = 0.5 * squares;
    criterion = loss + penalties;
    violation = worst / scale_;
    gap = std::max(criterion - dual, 0.0) / std::max(criterion, least_total_);
}

// --------------------------------------------------------------------------------------------------- sparse columns

// The columns z_j * root of a working set, one after the other, with c_j = z_j'h and a_j = z_j'(h z_j), root^2 = h.
struct WeightedColumns {
    int64_t m = 0;
    std::vector<int64_t> starts;
    std::vector<uint32_t> rows;
    std::vector<double> values, c, a;
};

// The step of a working set of sparse columns, and of the intercept.
struct SparseStep {
    std::vector<double> D;
    double shift = 0.0;
    int64_t passes = 0;
};

// Another order of the first n; the order follows from the seed alone. A new order for every pass takes half as many of
// them, and fewer, as one order for all where columns are much alike and numbered by something, as words by frequency.
void shuffle(std::vector<int64_t>& moving, int64_t n, uint64_t& seed) {
    for (int64_t i = n - 1; i > 0; --i) {
        seed = (seed * 1103515245u + 12345u) % 2147483648u;
        std::swap(moving[i], moving[static_cast<int64_t>((seed >> 8) % static_cast<uint64_t>(i + 1))]);
    }
}

SPARSEPATH_WIDE double gather_dot(const double* SPARSEPATH_RESTRICT x, const uint32_t* SPARSEPATH_RESTRICT rows,
                                  const double* SPARSEPATH_RESTRICT v, int64_t n) {
    double s = 0.0;
#pragma omp simd reduction(+ : s)
    for (int64_t e = 0; e < n; ++e) s += x[e] * v[rows[e]];
    return s;
}

// Minimise over steps D q'D + |root * Z D + root * shift|^2 / 2 + sum_j l1_j |w_j + D_j| + l2_j D_j^2 by coordinate
// descent on the columns; q includes the gradient of the l2 term at w. The intercept follows every move: its step is
// -(beta + c'D) / total, and `shift` begins at -beta / total. With total = 0 there is none.
SparseStep descend(const WeightedColumns& Z, double total, double shift, ConstVector q, ConstVector w, ConstVector l1,
                   ConstVector l2, double tol, int64_t max_passes) {
    constexpr int64_t ROUNDS = 20;  // passes over the moving coordinates between passes over all
    const int64_t k = static_cast<int64_t>(Z.c.size());
    const double *Q = q.data(), *W = w.data(), *L1 = l1.data(), *L2 = l2.data();
    SparseStep step;
    step.D.assign(static_cast<size_t>(k), 0.0);
    step.shift = shift;
    double* D = step.D.data();
    std::vector<double> v(static_cast<size_t>(Z.m), 0.0);  // root * (Z D)
    std::vector<int64_t> moving(static_cast<size_t>(k));
    int64_t n_moving = k;
    bool all = true;
    uint64_t seed = 1;
    while (step.passes < max_passes) {
        double largest = 0.0;
        int64_t kept = 0;
        if (!all) shuffle(moving, n_moving, seed);
        for (int64_t place = 0; place < n_moving; ++place) {
            const int64_t t = all ? place : moving[place];
            double curvature = Z.a[t] + 2.0 * L2[t];
            if (total > 0.0) curvature -= Z.c[t] * Z.c[t] / total;
            if (curvature <= 1e-12 * Z.a[t]) continue;
            const int64_t start = Z.starts[t], length = Z.starts[t + 1] - start;
            const double *x = Z.values.data() + start, old = W[t] + D[t];
            const uint32_t* rows = Z.rows.data() + start;
            const double slope = Q[t] + gather_dot(x, rows, v.data(), length) + step.shift * Z.c[t] + 2.0 * L2[t] * D[t];
            const double z = curvature * old - slope;
            const double target = z > L1[t] ? (z - L1[t]) / curvature : z < -L1[t] ? (z + L1[t]) / curvature : 0.0;
            const double d = target - old;
            if (d != 0.0) {
                D[t] = target == 0.0 ? -W[t] : D[t] + d;
                for (int64_t e = 0; e < length; ++e) v[rows[e]] += d * x[e];
                if (total > 0.0) step.shift -= d * Z.c[t] / total;
                largest = std::max(largest, std::abs(d) * curvature);
            }
            if (target != 0.0 || d != 0.0) moving[kept++] = t;
        }
        ++step.passes;
        if (all) {
            if (largest <= tol) break;
            n_moving = kept;
            all = false;
        } else if (largest <= tol || step.passes % ROUNDS == 0) {
            n_moving = k;
            all = true;
        }
    }
    return step;
}

// Columns z_j = x_j / scale_j of a CSC matrix, not centred.
class SparseColumns {
public:
    virtual ~SparseColumns() = default;
    // z_j'g for some features.
    virtual void products(Indices features, ConstVector g, double* out) const = 0;
    // Add Z D to `out`.
    virtual void add_outputs(Indices features, ConstVector D, Vector out) const = 0;
    virtual WeightedColumns weighted(Indices features, ConstVector root) const = 0;
};

template <class Index, class Value>
class SparseColumnsOf final : public SparseColumns {
public:
    SparseColumnsOf(Array1<const Index> indptr, Array1<const Index> rows, Array1<const Value> data, ConstVector scales)
        : indptr_(indptr), rows_(rows), data_(data), scales_(scales) {}

    void products(Indices features, ConstVector g, double* out) const override {
        const Index *starts = indptr_.data(), *rows = rows_.data();
        const Value* data = data_.data();
        const double* v = g.data();
        for (size_t t = 0; t < features.shape(0); ++t) {
            const int64_t j = features.data()[t];
            double s = 0.0;
#pragma omp simd reduction(+ : s)
            for (Index e = starts[j]; e < starts[j + 1]; ++e) s += static_cast<double>(data[e]) * v[rows[e]];
            out[t] = s / scales_.data()[j];
        }
    }

    void add_outputs(Indices features, ConstVector D, Vector out) const override {
        const Index *starts = indptr_.data(), *rows = rows_.data();
        double* v = out.data();
        for (size_t t = 0; t < features.shape(0); ++t) {
            if (D.data()[t] == 0.0) continue;
            const int64_t j = features.data()[t];
            const double step = D.data()[t] / scales_.data()[j];
            for (Index e = starts[j]; e < starts[j + 1]; ++e) v[rows[e]] += step * static_cast<double>(data_.data()[e]);
        }
    }

    WeightedColumns weighted(Indices features, ConstVector root) const override {
        const Index *starts = indptr_.data(), *rows = rows_.data();
        const size_t k = features.shape(0);
        WeightedColumns out;
        out.m = static_cast<int64_t>(root.shape(0));
        int64_t entries = 0;
        for (size_t t = 0; t < k; ++t) entries += starts[features.data()[t] + 1] - starts[features.data()[t]];
        out.starts.resize(k + 1);
        out.rows.resize(static_cast<size_t>(entries));
        out.values.resize(static_cast<size_t>(entries));
        out.c.resize(k);
        out.a.resize(k);
        int64_t place = 0;
        for (size_t t = 0; t < k; ++t) {
            const int64_t j = features.data()[t];
            const double scale = 1.0 / scales_.data()[j];
            double c = 0.0, a = 0.0;
            out.starts[t] = place;
            for (Index e = starts[j]; e < starts[j + 1]; ++e, ++place) {
                const double h = root.data()[rows[e]], x = static_cast<double>(data_.data()[e]) * scale * h;
                out.rows[place] = static_cast<uint32_t>(rows[e]);
                out.values[place] = x;
                c += x * h;
                a += x * x;
            }
            out.c[t] = c;
            out.a[t] = a;
        }
        out.starts[k] = place;
        return out;
    }

private:
    Array1<const Index> indptr_, rows_;
    Array1<const Value> data_;
    ConstVector scales_;
};

template <class Index, class Value>
void bind_sparse(nb::module_& m) {
    m.def(
        "sparse_columns",
        [](Array1<const Index> indptr, Array1<const Index> rows, Array1<const Value> data, ConstVector scales)
            -> std::unique_ptr<SparseColumns> {
            return std::make_unique<SparseColumnsOf<Index, Value>>(indptr, rows, data, scales);
        },
        nb::arg("indptr"), nb::arg("rows"), nb::arg("data"), nb::arg("scales"),
        "The columns of a matrix in CSC form, each divided by its scale.");
}

// -------------------------------------------------------------------------------------------------- groups of weights

// Descent over groups of K coordinates, each time to the exact minimum of a group; weight c of group j is coordinate
// j K + c of H and r = q + H D. Q and E hold eigenvectors (in columns) and eigenvalues of the diagonal blocks of H; a
// group whose eigenvalues are all zero or less stays where it is.
struct Groups {
    int64_t k, K;
    const double *H, *W, *l1, *l2, *Q, *E;
    double *r, *D;
    std::vector<double> b, x;

    // x = argmin x'(B + ridge) x / 2 - b'x + l1 |x| for group j, with B = Q E Q'. If |b| > l1 then
    // x = (B + ridge + mu)^-1 b with mu |x| = l1, one equation for mu > 0.
    double move(int64_t j) {
        const double *q = Q + j * K * K, *e = E + j * K, *w = W + j * K, lam = l1[j], ridge = 2.0 * l2[j];
        double *d = D + j * K, *slope = r + j * K;
        const double top = e[K - 1] + ridge;
        if (top <= 0.0) return 0.0;
        double size = 0.0;
        for (int64_t a = 0; a < K; ++a) {
            double projected = 0.0, along = 0.0;
            for (int64_t c = 0; c < K; ++c) {
                projected += q[c * K + a] * (w[c] + d[c]);
                along += q[c * K + a] * (slope[c] + ridge * d[c]);
            }
            b[a] = (e[a] + ridge) * projected - along;
            size += b[a] * b[a];
        }
        size = std::sqrt(size);
        const bool gone = size <= lam;
        if (!gone) {
            const double mu = lam > 0.0 ? multiplier(e, ridge, lam, size, top) : 0.0;
            for (int64_t a = 0; a < K; ++a) {
                const double whole = std::max(e[a] + ridge, 0.0) + mu;
                x[a] = whole > 1e-13 * top ? b[a] / whole : 0.0;
            }
        }
        double change = 0.0;
        for (int64_t c = 0; c < K; ++c) {
            double target = 0.0;
            if (!gone)
                for (int64_t a = 0; a < K; ++a) target += q[c * K + a] * x[a];
            const double by = target - (w[c] + d[c]);
            d[c] = gone ? -w[c] : d[c] + by;
            if (by == 0.0) continue;
            change = std::max(change, std::abs(by) * top);
            add_scaled(by, H + (j * K + c) * k * K, r, k * K);
        }
        return change;
    }

    double multiplier(const double* e, double ridge, double lam, double size, double top) const {
        double low = lam * std::max(e[0] + ridge, 0.0) / (size - lam), high = lam * top / (size - lam), mu = high;
        for (int turn = 0; turn < 100; ++turn) {
            double norm = 0.0, bend = 0.0;
            for (int64_t a = 0; a < K; ++a) {
                const double whole = std::max(e[a] + ridge, 0.0), v = b[a] / (whole + mu);
                norm += v * v;
                bend += v * v * whole / (whole + mu);
            }
            norm = std::sqrt(norm);
            const double value = mu * norm - lam;
            (value > 0.0 ? high : low) = mu;
            if (std::abs(value) <= 1e-14 * lam || high - low <= 1e-15 * high) break;
            // d(mu |x|)/dmu = sum v^2 e / (e + mu) / |x|
            const double step = bend > 0.0 ? mu - value * norm / bend : -1.0;
            mu = low < step && step < high ? step : 0.5 * (low + high);
        }
        return mu;
    }

    int64_t descend(double tol, int64_t max_passes) {
        constexpr int64_t ROUNDS = 20;
        b.resize(static_cast<size_t>(K));
        x.resize(static_cast<size_t>(K));
        std::vector<int64_t> moving(static_cast<size_t>(k));
        int64_t n_moving = k, passes = 0;
        bool all = true;
        while (passes < max_passes) {
            double largest = 0.0;
            int64_t kept = 0;
            for (int64_t place = 0; place < n_moving; ++place) {
                const int64_t j = all ? place : moving[place];
                const double change = move(j);
                largest = std::max(largest, change);
                bool free = change > 0.0;
                for (int64_t c = 0; c < K; ++c) free = free || W[j * K + c] + D[j * K + c] != 0.0;
                if (free) moving[kept++] = j;
            }
            ++passes;
            if (all) {
                if (largest <= tol) break;
                n_moving = kept;
                all = false;
            } else if (largest <= tol || passes % ROUNDS == 0) {
                n_moving = k;
                all = true;
            }
        }
        return passes;
    }
};

// ---------------------------------------------------------------------------------------------------- plain loops

SPARSEPATH_WIDE void expand_logistic(const double* SPARSEPATH_RESTRICT f, const double* SPARSEPATH_RESTRICT y,
                                     double* SPARSEPATH_RESTRICT value, double* SPARSEPATH_RESTRICT slope,
                                     double* SPARSEPATH_RESTRICT curvature, int64_t m) {
#pragma omp simd
    for (int64_t i = 0; i < m; ++i) {
        const LogisticPoint at = logistic_point(y[i] * f[i]);
        value[i] = at.value;
        slope[i] = -y[i] * at.slope;
        curvature[i] = at.curvature;
    }
}

// x_j'v and sum_i s_i x_ij^2 of one column.
SPARSEPATH_WIDE void product_and_square(const double* SPARSEPATH_RESTRICT x, const double* SPARSEPATH_RESTRICT v,
                                        const double* SPARSEPATH_RESTRICT s, int64_t m, double& product,
                                        double& square) {
    double xv = 0.0, xx = 0.0;
#pragma omp simd reduction(+ : xv, xx)
    for (int64_t i = 0; i < m; ++i) {
        xv += x[i] * v[i];
        xx += x[i] * x[i] * s[i];
    }
    product = xv;
    square = xx;
}

}  // namespace

void bind_grafting(nb::module_& m) {
    bind_convex_path(m);
    m.def(
        "minimise",
        [](ConstMatrix H, ConstVector q, ConstVector w, ConstVector l1, ConstVector l2, ConstVector least, double tol) {
            const size_t k = w.shape(0);
            NewVector u = new_vector<double>(k);
            std::copy(w.data(), w.data() + k, u.data());
            std::vector<double> r(q.data(), q.data() + k);
            Quadratic model;
            model.k = model.stride = static_cast<int64_t>(k);
            model.H = H.data();
            model.r = r.data();
            model.u = u.data();
            model.l1 = l1.data();
            model.l2 = l2.data();
            model.least = least.data();
            {
                nb::gil_scoped_release release;
                model.minimise(tol);
            }
            return u;
        },
        nb::arg("H"), nb::arg("q"), nb::arg("w"), nb::arg("l1"), nb::arg("l2"), nb::arg("least"), nb::arg("tol"),
        "The weights u of least q'(u - w) + (u - w)'H(u - w)/2 + sum l1 |u| + l2 u^2, from w on.");

    nb::class_<ProductsPath>(m, "ProductsPath", "Optima for descending l1 from the products of all columns.")
        .def(nb::init<ConstMatrix, ConstVector, double, ConstVector, ConstVector, Mask, double, double>(), nb::arg("G"),
             nb::arg("c"), nb::arg("yy"), nb::arg("l1_factors"), nb::arg("l2"), nb::arg("usable"), nb::arg("scale"),
             nb::arg("least_total"))
        .def("go_to", &ProductsPath::go_to, nb::arg("l1"), nb::arg("tol"), nb::call_guard<nb::gil_scoped_release>(),
             "Go to the optimum at l1.")
        .def("move_to", &ProductsPath::move_to, nb::arg("l1"), nb::arg("w"),
             "Stand at these weights with the certificates of l1.")
        .def_prop_ro("weights", &ProductsPath::weights, nb::rv_policy::move)
        .def_prop_ro("gradient", &ProductsPath::gradients, nb::rv_policy::move)
        .def_ro("loss", &ProductsPath::loss)
        .def_ro("criterion", &ProductsPath::criterion)
        .def_ro("violation", &ProductsPath::violation)
        .def_ro("gap", &ProductsPath::gap);

    nb::class_<WeightedColumns>(m, "WeightedColumns", "Columns of a working set times the roots of curvatures.")
        .def_prop_ro(
            "c", [](const WeightedColumns& of) { return numpy_of(of.c); }, nb::rv_policy::move);
    nb::class_<SparseColumns>(m, "SparseColumns", "Columns of a matrix in CSC form, each divided by its scale.")
        .def("products",
             [](const SparseColumns& of, Indices features, ConstVector g) {
                 NewVector out = new_vector<double>(features.shape(0));
                 of.products(features, g, out.data());
                 return out;
             },
             nb::arg("features"), nb::arg("g"), "z_j'g for some features.")
        .def("add_outputs", &SparseColumns::add_outputs, nb::arg("features"), nb::arg("D"), nb::arg("out"),
             nb::call_guard<nb::gil_scoped_release>(), "Add Z D to `out`.")
        .def("weighted", &SparseColumns::weighted, nb::arg("features"), nb::arg("root"),
             nb::call_guard<nb::gil_scoped_release>(), "The columns times `root`.");
    bind_sparse<int32_t, double>(m);
    bind_sparse<int64_t, double>(m);
    bind_sparse<int32_t, float>(m);
    bind_sparse<int64_t, float>(m);
    m.def(
        "descend_sparse",
        [](const WeightedColumns& Z, double total, double shift, ConstVector q, ConstVector w, ConstVector l1,
           ConstVector l2, double tol, int64_t max_passes) {
            SparseStep step;
            {
                nb::gil_scoped_release release;
                step = descend(Z, total, shift, q, w, l1, l2, tol, max_passes);
            }
            return std::make_tuple(numpy_of(step.D), step.shift, step.passes);
        },
        nb::arg("Z"), nb::arg("total"), nb::arg("shift"), nb::arg("q"), nb::arg("w"), nb::arg("l1"), nb::arg("l2"),
        nb::arg("tol"), nb::arg("max_passes"),
        "The steps of the weights and of the intercept, and the passes made, by coordinate descent on the columns.");

    m.def(
        "descend_groups",
        [](ConstMatrix H, Vector r, ConstMatrix W, Matrix D, ConstVector l1, ConstVector l2, Array3<const double> Q,
           ConstMatrix E, double tol, int64_t max_passes) {
            Groups groups{static_cast<int64_t>(W.shape(0)), static_cast<int64_t>(W.shape(1)), H.data(), W.data(),
                          l1.data(), l2.data(), Q.data(), E.data(), r.data(), D.data(), {}, {}};
            nb::gil_scoped_release release;
            return groups.descend(tol, max_passes);
        },
        nb::arg("H"), nb::arg("r"), nb::arg("W"), nb::arg("D"), nb::arg("l1"), nb::arg("l2"), nb::arg("Q"),
        nb::arg("E"), nb::arg("tol"), nb::arg("max_passes"),
        "Descend over groups of weights, changing r and D in place; the passes made.");

    m.def(
        "expand_logistic",
        [](ConstVector f, ConstVector y) {
            const size_t n = f.shape(0);
            NewVector value = new_vector<double>(n), slope = new_vector<double>(n), curvature = new_vector<double>(n);
            {
                nb::gil_scoped_release release;
                expand_logistic(f.data(), y.data(), value.data(), slope.data(), curvature.data(),
                                static_cast<int64_t>(n));
            }
            return std::make_tuple(value, slope, curvature);
        },
        nb::arg("f"), nb::arg("y"),
        "log(1 + exp(-y f)), its slope and its curvature by f, for y = -1 or 1.");

    m.def(
        "violations",
        [](ConstVector g, ConstVector w, ConstVector l1, ConstVector l2) {
            const size_t n = w.shape(0);
            NewVector out = new_vector<double>(n);
            for (size_t j = 0; j < n; ++j)
                out.data()[j] = violation(g.data()[j], w.data()[j], l1.data()[j], l2.data()[j]);
            return out;
        },
        nb::arg("g"), nb::arg("w"), nb::arg("l1"), nb::arg("l2"),
        "How far every weight, free or at zero, is from optimality, for one output.");

    m.def(
        "products_and_squares",
        [](ConstMatrix XT, ConstVector v, ConstVector s) {
            const size_t n = XT.shape(0), rows = XT.shape(1);
            NewVector products = new_vector<double>(n), squares = new_vector<double>(n);
            {
                nb::gil_scoped_release release;
                for (size_t j = 0; j < n; ++j)
                    product_and_square(XT.data() + j * rows, v.data(), s.data(), static_cast<int64_t>(rows),
                                       products.data()[j], squares.data()[j]);
            }
            return std::make_pair(products, squares);
        },
        nb::arg("XT"), nb::arg("v"), nb::arg("s"),
        "x_j'v and sum_i s_i x_ij^2 for all columns, reading X once; features first.");
}

}  // namespace sparsepath
