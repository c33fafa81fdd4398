// Any loss over the test parts of splits. The letters are those of folds.hpp, which has the training side.
//
// The loss of a candidate does not follow from sums of products: its residuals e - omega_i d_i on the test rows are
// needed. d_i is kept for all columns, rows of the test parts by columns, and a feature b that is added takes u_i d_b off
// it. Where that needs too much memory, d_i = x_i - mu_i - sum_l u_li d_l is computed for some columns at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "folds.hpp"
#include "losses.hpp"
#include "order.hpp"

namespace sparsepath {

// The test rows of all splits, one split after the other. The loss of row r is v_r loss(e_r).
struct TestRows {
    std::vector<int64_t> starts;      // F + 1
    std::vector<double> weight;       // v: R; for orders, what the wrong pairs of a split are multiplied by: F
    std::vector<double> label;        // by class: +-1 of two classes, or the number of the class
    AnyLoss loss = SquaredLoss{};
    std::vector<Order> orders;        // F, if pairs are judged rather than rows

    int64_t splits() const { return static_cast<int64_t>(starts.size()) - 1; }
    int64_t count() const { return starts.back(); }
};

// Residuals e - omega_i d_i of some models: d is rows x count, omega F x T x count, blur is that of each model.
struct Models {
    const double* d;
    int64_t stride, count;
    const double *omega, *blur;
};

class FoldLosses {
public:
    // d: rows x n, may be null; e: T x rows, the residuals of the empty model.
    FoldLosses(std::shared_ptr<const TestRows> rows, const double* d, int64_t n, const double* e, int64_t T);

    // Follow the last feature that was added to `folds`; column: x_b - mu_b on the test rows, where d is not kept.
    void follow(const Folds& folds, const double* column);
    // The criterion of candidates `first` and following in every split, F x count; strip: x - mu on the test rows, where
    // d is not kept.
    void additions(const Folds& folds, const double* strip, int64_t first, int64_t count, const double* blur, double* out,
                   int n_threads);
    void removals(const Folds& folds, const double* blur, double* out) const;   // F x k
    void current(double blur, double* out) const;                              // F
    // What is left of some columns, rows x count.
    void left(const Folds& folds, const double* strip, int64_t first, int64_t count, double* out);
    // What the other chosen features leave of each chosen column, rows x k.
    std::vector<double> removed(const Folds& folds) const;

    bool keeps() const { return !d_.empty(); }
    const Numbers& residuals() const { return e_; }
    const TestRows& rows() const { return *rows_; }
    int64_t n, T;

private:
    void judge(int64_t f, const Models& models, double* out) const;
    void catch_up(int64_t begin, int64_t end);
    void fill(const Folds& folds, const double* strip, int64_t width, int64_t first, int64_t begin, int64_t count,
              double* out) const;

    std::shared_ptr<const TestRows> rows_;
    Numbers d_, e_;
    std::vector<std::vector<double>> chosen_;                 // d of each chosen feature, rows
    std::shared_ptr<const Folds::Followed> pending_;          // the last addition, until d has followed it
};

}  // namespace sparsepath
