// Exact leave-one-out for ridge regression with P X in memory: every column keeps its residual and its coefficients.
//
// Let S be the chosen columns, b_i the ridge coefficients of column i on them, z_i = x_i - X_S b_i what they leave of
// it, and in the same way r and w for the target y. With the penalty alpha and
//
//     <i, j> = z_i'z_j + alpha b_i'b_j        pivot_i = <i, i> + alpha
//
// the rows [z_i, b_i] are residuals of ordinary least squares in a space with one more coordinate per chosen column,
// <i, y> = x_i'r, and p = 1 - leverage. The leave-one-out residual of sample s is r_s / p_s. With feature i added it is
//
//     (r_s - z_is tau) / (p_s - z_is^2 / pivot_i)        tau = <i, y> / pivot_i.
//
// A feature k that is added is taken off all other rows as in modified Gram-Schmidt. With D = [z_k, b_k] and -1 at its
// own new coordinate,
//
//     row_i  <-  row_i - f_i D            f_i = <i, k> / pivot_k,
//
// for the target too, and p loses z_k^2 / pivot_k. A feature that is dropped is given back by the same rule with
// f_i = -b_i[k], where D is what the other chosen columns leave of x_k. It follows from Q, an orthonormal basis of the
// chosen columns: the column of Q at the coordinate of k is a direction in that basis, and a reflection removes it.
//
// Bounds (squared loss). Adding a feature only lowers p, so with u = r / p^2
//
//     sum_s e_s^2  >=  u'r - 2 tau z'u + tau^2 sum z^2 / p^2,
//
// and few candidates have to be evaluated exactly. An exchange is bounded without a look at the samples: see exchange().
//
// Rounding. Products are taken with what is left of the columns, as in modified Gram-Schmidt, which is backward stable.
// A row of which less than SECOND_GO is left is reported as doubtful; its owner computes it again from the data.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "losses.hpp"
#include "memory.hpp"

namespace sparsepath {

constexpr double ROOM = 1e-10;        // 1 - leverage below this: nothing is left out of the sample's own prediction
constexpr double SECOND_GO = 1e-2;    // norm left of a row, over its norm when computed, below which it is doubtful
constexpr double ROUNDING = 1e-11;    // part of the sums in a bound that may be rounding
constexpr double VANISHED = 1e-13;    // norm of the residuals, over that of the targets, that counts as zero
constexpr double STEEP = 1e6;         // |x|^2 over the pivot of a chosen column up to which exchanges are known well

// How leave-one-out residuals are judged: sum over samples of v_s loss(e_s), e_s = r_s / (p_s g_s), v summing to one.
struct LossSpec {
    AnyLoss loss = SquaredLoss{};
    std::vector<double> weight;    // v
    std::vector<double> scale;     // 1 / g, zero where the weight is zero
    std::vector<double> label;     // by class: +-1 of two classes, or the number of the class
    std::vector<double> reach;     // by class: per feature, how large its scores can be; see criteria/counts.py

    bool squared() const { return std::holds_alternative<SquaredLoss>(loss); }
    bool by_class() const { return std::holds_alternative<ZeroOneLoss>(loss); }
};

// Columns of the data, and what centres, scales and weighs them.
struct RawColumns {
    const double* X;
    int64_t by_sample, by_feature, n;    // numbers from sample to sample and from feature to feature; features
    const double *means, *left, *scales, *roots;
};

struct Candidate {
    int64_t feature = -1;
    double error = std::numeric_limits<double>::infinity();
};

class LeaveOneOut {
public:
    // For n features, of which about `room` will be chosen. targets: T x m.
    LeaveOneOut(int64_t n, int64_t m, int64_t room, const double* targets, int64_t T, const double* p, double alpha,
                double total);
    void load(const RawColumns& raw, int64_t first, int n_threads);

    void set_columns(const double* squares, const double* floor, const bool* live);
    void set_loss(LossSpec spec);

    // Errors of all additions: exact where a loss has no bounds, and for the squared loss of those that `allowed`
    // leaves and no bound rules out; infinite elsewhere.
    const std::vector<double>& additions(const bool* allowed, int n_threads);
    Candidate best_addition(const bool* allowed, int n_threads);
    std::vector<double> squared_additions(const int64_t* features, int64_t count);
    std::vector<double> removals(bool squared) const;
    // Errors of exchanging the chosen feature at a place for each that is allowed, where they may be up to `most`.
    std::vector<double> exchanges(int64_t place, const bool* allowed, double most, int n_threads);
    bool is_steep() const;

    bool needs_column(int64_t feature) const;
    bool add(int64_t feature, const double* column);
    void drop(int64_t feature);
    void follow(int n_threads);
    void renew(int64_t feature, const double* column);
    // Forward search up to a size. It returns before a step that needs a column of the data again: false, and then
    // the caller makes that step. The numbers of every size, from the model at start_path() on, are kept in `path`.
    void start_path();
    bool advance(int64_t size, const bool* allowed, int n_threads);
    std::vector<int64_t> doubtful;     // rows to be computed again before they are judged

    int64_t n, m, T;
    double alpha, total;
    double error = 0.0, squared_error = 0.0, empty_error = 0.0, empty_squared = 0.0;
    double residual_squares = 0.0, target_squares = 0.0;
    std::vector<int64_t> chosen;
    struct Path {
        std::vector<double> errors, spreads, coef;   // coef: |S| x T numbers of each size, one after the other
        bool kept = false;
    } path;
    double spread() const;    // sum of squared differences of the samples' losses from their part of the error
    bool vanished() const { return residual_squares <= VANISHED * VANISHED * target_squares; }
    std::vector<double> coef() const;                      // |S| x T
    const std::vector<double>& losses() const { return losses_; }  // v_s loss_s; for the squared loss times total
    const std::vector<double>& pivots() const { return pivots_; }      // after follow()
    const std::vector<double>& products() const { return products_; }  // n x T, after follow()
    void read_rows(const int64_t* features, int64_t count, double* out) const;  // z after the last change
    const double* residuals(int64_t t) const { return &targets_[t * stride_]; }
    const double* left() const { return p_.data(); }
    void removal(int64_t place, double* r, double* p) const;   // residuals (T x m) and p without a feature

private:
    struct Change {          // what the rows have to follow: row - f D
        std::vector<double> D, dual;
        double pivot = 0.0;
        int64_t place = -1;  // the coordinate of a removal; -1: an addition
        bool pending = false;
    };
    struct Exchanges {       // of every chosen feature: direction of its removal, and the model without it
        std::vector<double> norms, q, G;     // q: |S| x m, G: |S| x |S|, coefficients of the direction over the norm
        std::vector<double> r, p;            // |S| x T x m, |S| x m
        bool valid = false;
    };

    void keep();
    double dot_augmented(const double* a, const double* b) const;
    void measure();
    void sweep(int n_threads);
    void sweep_rows(const int64_t* which, int64_t count, double* blank);
    void take_pivot(int64_t i, double pivot);
    double bound_of(int64_t i, double h, double q) const;
    double evaluate(int64_t i, double blur) const;
    double evaluate_squared(int64_t i) const;
    double judge(const double* z, const double* tau, double inverse, const double* r, int64_t r_stride, const double* p,
                 double blur) const;
    double judge_squared(const double* z, const double* tau, double inverse, const double* r, int64_t r_stride,
                         const double* p) const;
    double blur_of(int64_t added, int64_t dropped) const;
    void judge_bounded(const bool* allowed);
    int64_t free_place();
    void widen(int64_t more);
    void orthogonalise(double* row) const;
    void prepare_exchanges();

    double* row(int64_t i) { return rows_.data() + i * stride_; }
    const double* row(int64_t i) const { return rows_.data() + i * stride_; }

    int64_t stride_, width_;             // numbers from row to row; numbers in use of a row, zeros behind them
    Numbers rows_;                       // n x stride: [z, b]
    std::vector<double> targets_;        // T x stride: [r, w]
    std::vector<double> weighted_targets_;  // the same times the metric
    std::vector<double> metric_;         // 1 for samples, alpha for coefficients
    std::vector<double> u_, over_;       // r / p^2 per target (T x stride), 1 / p^2; zero for coefficients
    std::vector<double> p_, Q_;          // Q: |S| x stride
    std::vector<double> squares_, floor_, computed_;
    std::vector<char> live_, doubt_;
    std::vector<int64_t> places_;
    std::vector<int64_t> open_;          // the features that are live, in order
    std::vector<int64_t> evaluated_;     // squared loss: those judged exactly since the last change
    std::vector<double> pivots_, products_;      // n, n x T
    std::vector<double> bounds_, errors_;        // n; errors_ infinite until judged
    std::vector<double> losses_;
    std::vector<double> along_;          // <D, target> per target, of the pending change
    std::vector<double> ur_;             // u'r per target
    Change change_;
    Exchanges exchanges_;
    LossSpec loss_;
    double chosen_reach_ = 0.0;
    bool swept_ = false;
};

}  // namespace sparsepath
