#include "convex_path.hpp"

#include "blas.hpp"
#include "exponential.hpp"
#include "simd.hpp"
#include "vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <nanobind/stl/vector.h>

namespace sparsepath {
namespace {

constexpr double DRIFT = 0.3;          // relative change of the curvatures that makes the matrix too old
constexpr double SLOW = 0.25;          // a step that leaves more of the violation than this is slow; the fewer columns,
constexpr double WORTH = 1000.0;       // the sooner a new matrix pays: from (number of columns) / WORTH on
constexpr double INNER = 0.01;         // part of the violation to which the quadratic model is solved
constexpr double ARMIJO = 1e-4;        // part of the predicted decrease that must be had
constexpr double ROUNDING = 1e-13;     // relative decreases below this cannot be distinguished from rounding
constexpr int MOST_STEPS = 100, MOST_STALE = 6, MOST_ROUNDS = 50;
constexpr double TIGHTER = 1e-4;       // part of the tolerance beyond which steps gain nothing
constexpr double NO_GRADIENT = 1e-13;  // part of the sizes of the slopes below which a gradient is zero
constexpr double ZERO_LOSS = 1e-12;    // part of the empty model's loss below which the criterion is zero
constexpr double AT_ONCE = 2e6;        // entrants have products with each other for so many multiplications
constexpr int64_t CURVATURE_STRIP = 1 << 15;     // numbers that are weighted at a time

struct Samples {
    int64_t m;
    const double *y, *s;
};

SPARSEPATH_WIDE void expand_term(const LogisticTerm&, const Samples& of, OutputPoint& at) {
    const double* SPARSEPATH_RESTRICT f = at.f.data();
    const double* SPARSEPATH_RESTRICT y = of.y;
    const double* SPARSEPATH_RESTRICT s = of.s;
    double* SPARSEPATH_RESTRICT slope = at.slope.data();
    double* SPARSEPATH_RESTRICT curvature = at.curvature.data();
    double loss = 0.0, slopes = 0.0, sizes = 0.0, curvatures = 0.0, along = 0.0;
#pragma omp simd reduction(+ : loss, slopes, sizes, curvatures, along)
    for (int64_t i = 0; i < of.m; ++i) {
        const LogisticPoint p = logistic_point(y[i] * f[i]);
        const double u = -s[i] * y[i] * p.slope, h = s[i] * p.curvature;
        slope[i] = u;
        curvature[i] = h;
        loss += s[i] * p.value;
        slopes += u;
        sizes += std::abs(u);
        curvatures += h;
        along += u * f[i];
    }
    at.loss = loss, at.slopes = slopes, at.sizes = sizes, at.curvatures = curvatures, at.along = along;
}

// On the straight part the curvature is a little of the parabola that touches the loss there: zero would let go.
SPARSEPATH_WIDE void expand_term(const HuberTerm& term, const Samples& of, OutputPoint& at) {
    const double* SPARSEPATH_RESTRICT f = at.f.data();
    const double* SPARSEPATH_RESTRICT y = of.y;
    const double* SPARSEPATH_RESTRICT s = of.s;
    double* SPARSEPATH_RESTRICT slope = at.slope.data();
    double* SPARSEPATH_RESTRICT curvature = at.curvature.data();
    const double delta = term.delta;
    double loss = 0.0, slopes = 0.0, sizes = 0.0, curvatures = 0.0, along = 0.0;
#pragma omp simd reduction(+ : loss, slopes, sizes, curvatures, along)
    for (int64_t i = 0; i < of.m; ++i) {
        const double r = f[i] - y[i], far = std::abs(r), near = far < delta ? far : delta;
        const double u = s[i] * (r < 0.0 ? -near : near), h = far > delta ? 0.05 * s[i] * delta / far : s[i];
        slope[i] = u;
        curvature[i] = h;
        loss += s[i] * near * (far - 0.5 * near);
        slopes += u;
        sizes += std::abs(u);
        curvatures += h;
        along += u * f[i];
    }
    at.loss = loss, at.slopes = slopes, at.sizes = sizes, at.curvatures = curvatures, at.along = along;
}

SPARSEPATH_WIDE void multiply(const double* SPARSEPATH_RESTRICT x, const double* SPARSEPATH_RESTRICT y,
                              double* SPARSEPATH_RESTRICT out, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] * y[i];
}

SPARSEPATH_WIDE double distance(const double* SPARSEPATH_RESTRICT x, const double* SPARSEPATH_RESTRICT y, int64_t n) {
    double s = 0.0;
#pragma omp simd reduction(+ : s)
    for (int64_t i = 0; i < n; ++i) s += std::abs(x[i] - y[i]);
    return s;
}

inline double sign(double x) { return x > 0.0 ? 1.0 : -1.0; }

template <class T>
std::vector<T> copy_of(const Array1<const T>& x) {
    return std::vector<T>(x.data(), x.data() + x.shape(0));
}

}  // namespace

void ColumnStore::add(Indices features, ConstMatrix columns) {
    for (size_t t = 0; t < features.shape(0); ++t)
        at_[features.data()[t]] = columns.data() + static_cast<int64_t>(t) * m;
    kept_.push_back(columns);
}

ConvexPath::ConvexPath(const ColumnStore& store, LossTerm loss, ConstVector y, ConstVector s, ConstVector l1_factors,
                       ConstVector l2, Mask usable, bool fit_intercept)
    : store_(store), loss_(loss), fit_intercept_(fit_intercept), m_(store.m), n_(static_cast<int64_t>(l2.shape(0))),
      y_(copy_of(y)), s_(copy_of(s)), factors_(copy_of(l1_factors)), l2_(copy_of(l2)),
      usable_(usable.data(), usable.data() + n_) {
    const size_t m = static_cast<size_t>(m_), n = static_cast<size_t>(n_);
    for (auto* each : {&w_, &g_, &l1_}) each->assign(n, 0.0);
    for (auto* at : {&here_, &there_})
        for (auto* each : {&at->f, &at->slope, &at->curvature}) each->assign(m, 0.0);
    change_.assign(m, 0.0);
    is_held_.assign(n, 0);
    expand(here_);
    settle_intercept(0.0);
    null_loss_ = here_.loss;
}

void ConvexPath::expand(OutputPoint& at) const {
    const Samples samples{m_, y_.data(), s_.data()};
    std::visit([&](const auto& term) { expand_term(term, samples, at); }, loss_);
}

// Newton steps of the intercept alone, until the slopes sum to no more than `enough`, or to no less than before.
void ConvexPath::settle_intercept(double enough) {
    if (!fit_intercept_) return;
    for (int turn = 0; turn < 50 && std::abs(here_.slopes) > enough; ++turn) {
        double d = -here_.slopes / std::max(here_.curvatures, 1e-300);
        for (bool taken = false; !taken; d *= 0.5) {
            for (int64_t i = 0; i < m_; ++i) there_.f[i] = here_.f[i] + d;
            expand(there_);
            taken = std::abs(there_.slopes) < std::abs(here_.slopes);
            if (!taken && std::abs(d) <= 1e-10 * (1.0 + std::abs(intercept))) return;
        }
        intercept += there_.f[0] - here_.f[0];
        std::swap(here_, there_);
    }
}

void ConvexPath::begin(ConstVector gradient) {
    g_ = copy_of(gradient);
    double top = 0.0;
    for (int64_t j = 0; j < n_; ++j)
        if (usable_[j]) top = std::max(top, std::abs(g_[j]));
    scale_ = top > NO_GRADIENT * here_.sizes ? top : 1.0;
}

void ConvexPath::aim(double l1, double tol) {
    l1_now_ = l1;
    tol_ = tol;
    goal_ = 0.3 * tol * scale_;
    rounds_ = 0;
    stuck_ = false;
    for (int64_t j = 0; j < n_; ++j) l1_[j] = l1 * factors_[j];
    choose_entrants(1.0);
}

// Features at zero whose gradients are beyond `level` of their penalties: the worst, as many as there are in use.
void ConvexPath::choose_entrants(double level) {
    entrants_.clear();
    int64_t support = 0;
    for (int64_t j = 0; j < n_; ++j) {
        support += w_[j] != 0.0;
        if (!is_held_[j] && usable_[j] && std::abs(g_[j]) > level * l1_[j]) entrants_.push_back(j);
    }
    const size_t room = static_cast<size_t>(
        std::max<int64_t>({10, support, static_cast<int64_t>(std::sqrt(AT_ONCE / static_cast<double>(m_)))}));
    if (entrants_.size() <= room) return;
    std::stable_sort(entrants_.begin(), entrants_.end(), [&](int64_t a, int64_t b) {
        return std::abs(g_[a]) - l1_[a] > std::abs(g_[b]) - l1_[b];
    });
    entrants_.resize(room);
}

std::vector<int64_t> ConvexPath::missing() const {
    std::vector<int64_t> out;
    for (int64_t j : entrants_)
        if (!store_.column(j)) out.push_back(j);
    return out;
}

void ConvexPath::hold_entrants() {
    for (int64_t j : entrants_) {
        held_.push_back(j);
        z_.push_back(store_.column(j));
        is_held_[j] = 1;
    }
    entrants_.clear();
    if (second_.k < static_cast<int64_t>(held_.size()) && !second_.h.empty()) fill(second_.k);
}

// Take the products of the held columns from number `first` on with all of them.
void ConvexPath::fill(int64_t first) {
    const int64_t k = static_cast<int64_t>(held_.size());
    if (k > second_.stride) {
        const int64_t stride = std::max<int64_t>(16, k + k / 2);
        std::vector<double> grown(static_cast<size_t>(stride * stride));
        for (int64_t a = 0; a < first; ++a)
            std::copy_n(&second_.H[a * second_.stride], first, &grown[a * stride]);
        second_.H = std::move(grown);
        second_.stride = stride;
    }
    second_.k = k;
    second_.c.resize(static_cast<size_t>(k));
    for (int64_t a = first; a < k; ++a) second_.c[a] = dot(z_[a], second_.h.data(), m_);
    const int64_t rows = std::min(m_, std::max<int64_t>(256, CURVATURE_STRIP / k));
    strip_.resize(static_cast<size_t>(rows * (k + 1)));
    double* root = &strip_[static_cast<size_t>(rows * k)];
    const int size = static_cast<int>(k), fresh = static_cast<int>(k - first), stride = static_cast<int>(second_.stride);
    double* target = &second_.H[first * second_.stride];
    for (int64_t start = 0; start < m_; start += rows) {
        const int64_t count = std::min(rows, m_ - start);
        for (int64_t i = 0; i < count; ++i) root[i] = std::sqrt(second_.h[start + i]);
        for (int64_t a = 0; a < k; ++a) multiply(z_[a] + start, root, &strip_[a * count], count);
        const int length = static_cast<int>(count);
        const double one = 1.0, before = start ? 1.0 : 0.0;
        if (first == 0)
            blas().syrk("U", "T", &size, &length, &one, strip_.data(), &length, &before, target, &stride);
        else
            blas().gemm("T", "N", &size, &fresh, &length, &one, strip_.data(), &length, &strip_[first * count], &length,
                        &before, target, &stride);
    }
    for (int64_t a = first; a < k; ++a)
        for (int64_t b = 0; b < a; ++b) second_.H[b * second_.stride + a] = second_.H[a * second_.stride + b];
}

// H at the present curvatures, without columns that are at zero and best there.
void ConvexPath::rebuild() {
    size_t kept = 0;
    for (size_t a = 0; a < held_.size(); ++a) {
        const int64_t j = held_[a];
        if (w_[j] == 0.0 && std::abs(q_[a]) <= l1_[j]) {
            is_held_[j] = 0;
            continue;
        }
        held_[kept] = j;
        z_[kept] = z_[a];
        q_[kept++] = q_[a];
    }
    held_.resize(kept);
    z_.resize(kept);
    q_.resize(kept);
    second_.h = here_.curvature;
    second_.total = here_.curvatures;
    second_.k = 0;
    if (kept) fill(0);
}

// Fills q, the gradient of the held; the largest violation among them and the intercept.
double ConvexPath::working_violation() {
    double worst = fit_intercept_ ? std::abs(here_.slopes) : 0.0;
    q_.resize(held_.size());
    for (size_t a = 0; a < held_.size(); ++a) {
        const int64_t j = held_[a];
        const double w = w_[j];
        q_[a] = dot(z_[a], here_.slope.data(), m_);
        worst = std::max(worst, w == 0.0 ? std::abs(q_[a]) - l1_[j]
                                         : std::abs(q_[a] + 2.0 * l2_[j] * w + sign(w) * l1_[j]));
    }
    return worst;
}

void ConvexPath::optimise() {
    hold_entrants();
    stuck_ = !descend();
    // Slopes that sum to beta put the dual value wrong by beta times the intercept.
    settle_intercept(1e-3 * tol_ * here_.loss / (1.0 + std::abs(intercept)));
}

// Newton steps on the working set down to the goal; false if they do not come that far.
bool ConvexPath::descend() {
    double best = std::numeric_limits<double>::infinity();
    int stale = 0;
    for (int turn = 0;; ++turn) {
        const double now = working_violation();
        const double ratio = std::isinf(best) ? 0.0 : now / best;
        if (now <= goal_) return true;
        best = std::min(best, now);
        stale = ratio > 0.5 ? stale + 1 : 0;
        if (turn == MOST_STEPS || stale > MOST_STALE || !std::isfinite(now)) return false;
        const double drift = second_.h.empty()
                                 ? std::numeric_limits<double>::infinity()
                                 : distance(here_.curvature.data(), second_.h.data(), m_) / here_.curvatures;
        const bool slow = ratio > std::min(SLOW, static_cast<double>(held_.size()) / WORTH);
        if (drift > DRIFT || (slow && drift > 1e-3)) rebuild();
        direction(INNER * now);
        if (!step()) return false;
    }
}

// The step D, d that minimises the quadratic model, to a violation of `tol`.
void ConvexPath::direction(double tol) {
    const int64_t k = static_cast<int64_t>(held_.size());
    for (auto* each : {&D_, &r_, &u_, &least_, &local_l1_, &local_l2_}) each->resize(static_cast<size_t>(k));
    const double beta = here_.slopes, total = second_.total;
    const double* H = second_.H.data();
    int64_t stride = second_.stride;
    for (int64_t a = 0; a < k; ++a) {
        const int64_t j = held_[a];
        u_[a] = w_[j];
        local_l1_[a] = l1_[j];
        local_l2_[a] = l2_[j];
        least_[a] = 1e-14 * H[a * stride + a];
        r_[a] = fit_intercept_ ? q_[a] - second_.c[a] * (beta / total) : q_[a];
    }
    if (fit_intercept_) {
        centred_.resize(static_cast<size_t>(k * k));
        for (int64_t a = 0; a < k; ++a) {
            const double c = second_.c[a] / total;
            for (int64_t b = 0; b < k; ++b) centred_[a * k + b] = H[a * stride + b] - c * second_.c[b];
        }
        H = centred_.data();
        stride = k;
    }
    quadratic_.k = k;
    quadratic_.stride = stride;
    quadratic_.H = H;
    quadratic_.r = r_.data();
    quadratic_.u = u_.data();
    quadratic_.l1 = local_l1_.data();
    quadratic_.l2 = local_l2_.data();
    quadratic_.least = least_.data();
    quadratic_.minimise(tol);
    double cD = 0.0;
    for (int64_t a = 0; a < k; ++a) {
        D_[a] = u_[a] - w_[held_[a]];
        cD += second_.c[a] * D_[a];
    }
    d_ = fit_intercept_ ? -(beta + cD) / total : 0.0;
}

// Of the held weights after part t of the step.
double ConvexPath::penalty(double t) const {
    double out = 0.0;
    for (size_t a = 0; a < held_.size(); ++a) {
        const int64_t j = held_[a];
        const double w = w_[j] + t * D_[a];
        out += l1_[j] * std::abs(w) + l2_[j] * w * w;
    }
    return out;
}

// Take the step, or as much of it as lowers the criterion enough; false if nothing does.
bool ConvexPath::step() {
    std::fill(change_.begin(), change_.end(), d_);
    double slope = here_.slopes * d_;
    for (size_t a = 0; a < held_.size(); ++a) {
        if (D_[a] != 0.0) add_scaled(D_[a], z_[a], change_.data(), m_);
        slope += q_[a] * D_[a];
    }
    const double before = penalty(0.0), predicted = slope + penalty(1.0) - before, here = here_.loss + before;
    const bool sure = std::abs(predicted) <= ROUNDING * here;
    if (!sure && !(predicted < 0.0)) return false;
    for (double t = 1.0; t > 1e-12; t *= 0.5) {
        for (int64_t i = 0; i < m_; ++i) there_.f[i] = here_.f[i] + t * change_[i];
        expand(there_);
        if (!sure && !(there_.loss + penalty(t) <= here + ARMIJO * t * predicted)) continue;
        for (size_t a = 0; a < held_.size(); ++a) w_[held_[a]] = t == 1.0 ? u_[a] : w_[held_[a]] + t * D_[a];
        intercept += t * d_;
        std::swap(here_, there_);
        return true;
    }
    return false;
}

// The dual point is the slopes times the largest part <= 1 that is feasible. As L* is convex and zero at zero,
// L*(part u) <= part L*(u) = part (u f - L(f)).
bool ConvexPath::certify(ConstVector gradient) {
    g_ = copy_of(gradient);
    double worst = fit_intercept_ ? std::abs(here_.slopes) : 0.0, penalties = 0.0, part = 1.0;
    for (int64_t j = 0; j < n_; ++j) {
        if (!usable_[j]) continue;
        const double w = w_[j], size = std::abs(g_[j]);
        if (w == 0.0) {
            worst = std::max(worst, size - l1_[j]);
        } else {
            worst = std::max(worst, std::abs(g_[j] + 2.0 * l2_[j] * w + sign(w) * l1_[j]));
            penalties += l1_[j] * std::abs(w) + l2_[j] * w * w;
        }
        if (l2_[j] == 0.0 && size > l1_[j]) part = std::min(part, l1_[j] / size);
    }
    double soft = 0.0;
    for (int64_t j = 0; j < n_; ++j) {
        if (!usable_[j] || l2_[j] == 0.0) continue;
        const double over = std::max(part * std::abs(g_[j]) - l1_[j], 0.0);
        soft += over * over / (4.0 * l2_[j]);
    }
    criterion = here_.loss + penalties;
    const double dual = part * (here_.loss - here_.along) - soft;
    violation = worst / scale_;
    gap = std::max(criterion - dual, 0.0) / std::max({criterion, ZERO_LOSS * null_loss_, 1e-300});
    certified = violation <= tol_ && gap <= tol_;
    if (certified || ++rounds_ == MOST_ROUNDS) return true;
    choose_entrants(1.0);
    if (!entrants_.empty()) return false;
    if (stuck_) return true;
    if (worst <= goal_) goal_ *= 0.1;
    return goal_ < TIGHTER * tol_ * scale_;
}

void bind_convex_path(nb::module_& m) {
    nb::class_<ColumnStore>(m, "ColumnStore", "Columns of a design that some working set has needed.")
        .def(nb::init<int64_t, int64_t>(), nb::arg("m"), nb::arg("n"))
        .def("add", &ColumnStore::add, nb::arg("features"), nb::arg("columns"), "Keep columns, one per row.");
    nb::class_<ConvexPath>(m, "ConvexPath", "Optima of a convex loss for descending l1; see convex_path.hpp.")
        .def(
            "__init__",
            [](ConvexPath* self, const ColumnStore& store, double delta, ConstVector y, ConstVector s,
               ConstVector l1_factors, ConstVector l2, Mask usable, bool fit_intercept) {
                blas();
                const LossTerm loss = delta > 0.0 ? LossTerm(HuberTerm{delta}) : LossTerm(LogisticTerm{});
                new (self) ConvexPath(store, loss, y, s, l1_factors, l2, usable, fit_intercept);
            },
            nb::arg("store"), nb::arg("delta"), nb::arg("y"), nb::arg("s"), nb::arg("l1_factors"), nb::arg("l2"),
            nb::arg("usable"), nb::arg("fit_intercept"), nb::keep_alive<1, 2>(),
            "Stand at the empty model. delta is that of the Huber loss, infinite for squares, 0 for the logistic.")
        .def("begin", &ConvexPath::begin, nb::arg("gradient"), "Take the gradient of the empty model.")
        .def("aim", &ConvexPath::aim, nb::arg("l1"), nb::arg("tol"), "Go for the optimum at l1.")
        .def("missing", &ConvexPath::missing, "Features that are needed and not in the store.")
        .def("optimise", &ConvexPath::optimise, nb::call_guard<nb::gil_scoped_release>(), "Optimise the working set.")
        .def("certify", &ConvexPath::certify, nb::arg("gradient"), "Whether this value of l1 is done with.")
        .def_prop_ro(
            "weights", [](const ConvexPath& of) { return numpy_of(of.weights()); }, nb::rv_policy::move)
        .def_prop_ro(
            "gradient", [](const ConvexPath& of) { return numpy_of(of.gradient()); }, nb::rv_policy::move)
        .def(
            "outputs",
            [](const ConvexPath& of, Indices rows) {
                auto out = new_vector<double>(rows.shape(0));
                for (size_t t = 0; t < rows.shape(0); ++t) out.data()[t] = of.point().f[rows.data()[t]];
                return out;
            },
            nb::arg("rows"), "Of these samples.")
        .def(
            "slopes_into",
            [](const ConvexPath& of, Vector out) {
                std::copy(of.point().slope.begin(), of.point().slope.end(), out.data());
            },
            nb::arg("out"), "Write the slopes of the loss, times the sample weights.")
        .def_prop_ro("loss", [](const ConvexPath& of) { return of.point().loss; })
        .def_ro("intercept", &ConvexPath::intercept)
        .def_ro("criterion", &ConvexPath::criterion)
        .def_ro("violation", &ConvexPath::violation)
        .def_ro("gap", &ConvexPath::gap)
        .def_ro("certified", &ConvexPath::certified);
}

}  // namespace sparsepath
