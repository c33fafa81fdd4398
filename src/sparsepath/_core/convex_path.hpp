// Optima of a smooth convex loss with an l1 penalty for descending l1: proximal Newton steps on a working set.
#pragma once

#include "arrays.hpp"
#include "quadratic.hpp"

#include <variant>
#include <vector>

namespace sparsepath {

struct LogisticTerm {};  // log(1 + exp(-y f)), y = -1 or 1
struct HuberTerm {       // (f - y)^2 / 2 up to |f - y| = delta, a straight line beyond
    double delta;
};
using LossTerm = std::variant<LogisticTerm, HuberTerm>;  // squares: delta is infinite

// Columns of the design that some working set has needed; paths on parts of the rows share them.
class ColumnStore {
public:
    ColumnStore(int64_t m, int64_t n) : m(m), at_(static_cast<size_t>(n), nullptr) {}

    // Keep these columns, one per row of `columns`, where they are.
    void add(Indices features, ConstMatrix columns);
    const double* column(int64_t j) const { return at_[j]; }

    const int64_t m;

private:
    std::vector<const double*> at_;
    std::vector<ConstMatrix> kept_;
};

// Outputs, and the loss there: s_i times slope and curvature of every sample, and sums over the samples.
struct OutputPoint {
    std::vector<double> f, slope, curvature;
    double loss = 0.0, slopes = 0.0, sizes = 0.0, curvatures = 0.0, along = 0.0;  // along: of slope times output
};

// Z'hZ and Z'h of the held columns, for curvatures h of some point.
struct SecondDerivatives {
    std::vector<double> H, c, h;
    int64_t k = 0, stride = 0;
    double total = 0.0;  // of h
};

// The path of one problem: samples weighted by s, which may be zero, and penalties
//
//     sum_i s_i L(f_i, y_i) + sum_j l1 factor_j |w_j| + l2_j w_j^2,        f = Z w + b
//
// The caller takes the gradient over all features, Z'(s L'), for this and other paths at the same time:
//
//     begin(gradient of the empty model)
//     for each l1:  aim(l1, tol); until certify(gradient):  put missing() into the store, optimise()
//
// The matrix H = Z'hZ of the working set may belong to an earlier point: gradients are exact, so an old matrix costs
// steps, never accuracy. The intercept is eliminated: its best step is d = -(beta + c'D) / sum(h), with beta the sum of
// the slopes, which turns H into H - c c'/sum(h).
class ConvexPath {
public:
    ConvexPath(const ColumnStore& store, LossTerm loss, ConstVector y, ConstVector s, ConstVector l1_factors,
               ConstVector l2, Mask usable, bool fit_intercept);

    void begin(ConstVector gradient);
    void aim(double l1, double tol);
    std::vector<int64_t> missing() const;
    void optimise();
    // Whether this value of l1 is done with: at its optimum, or, if not `certified`, as near as this method comes.
    bool certify(ConstVector gradient);

    const std::vector<double>& weights() const { return w_; }
    const std::vector<double>& gradient() const { return g_; }
    const OutputPoint& point() const { return here_; }

    double intercept = 0.0, criterion = 0.0, violation = 0.0, gap = 0.0;
    bool certified = false;

private:
    void expand(OutputPoint& at) const;
    void settle_intercept(double enough);
    void choose_entrants(double level);
    void hold_entrants();
    void fill(int64_t first);
    void rebuild();
    bool descend();
    double working_violation();
    void direction(double tol);
    bool step();
    double penalty(double t) const;

    const ColumnStore& store_;
    LossTerm loss_;
    bool fit_intercept_;
    int64_t m_, n_;
    std::vector<double> y_, s_, factors_, l2_;
    std::vector<char> usable_;

    std::vector<double> w_, g_, l1_;
    OutputPoint here_, there_;
    double scale_ = 1.0, null_loss_ = 0.0, l1_now_ = 0.0, tol_ = 0.0, goal_ = 0.0;
    int rounds_ = 0;
    bool stuck_ = false;

    std::vector<int64_t> entrants_, held_;  // features to come in; those in H
    std::vector<const double*> z_;          // columns of the held
    std::vector<char> is_held_;
    SecondDerivatives second_;
    std::vector<double> strip_, change_, q_, D_, r_, u_, least_, centred_, local_l1_, local_l2_;
    double d_ = 0.0;
    Quadratic quadratic_;
};

void bind_convex_path(nb::module_& m);

}  // namespace sparsepath
