// Exact cross-validation over any splits from sums of products ("moments"): after them nothing grows with the samples.
//
// For a split let K = X'X over the training rows, centred there, and let D hold the same products over the test rows,
// centred with the training means. Let S be the chosen features, alpha the penalty, and
//
//     s_i, c_i   what the training part leaves of x_i'x_i and x_i'y after regression on S
//     d_i, e     what is left of column i and of the target on the test rows, with training coefficients
//
// A candidate changes e to e - omega d_i with omega = c_i / pivot_i and pivot_i = alpha + s_i, so its test error is
//
//     e'e - 2 omega e'd_i + omega^2 d_i'd_i:
//
// three numbers per candidate and split. Adding b changes them by rank one. With u_i = K~_bi / pivot_b, where K~ is what
// the features chosen before leave of K, d_i becomes d_i - u_i d_b, and
//
//     K~_bi   = K_bi - sum_l u_lb pivot_l u_li
//     x_i'd_b = D_bi - sum_l u_lb x_i'd_l
//     d_i'd_b = x_i'd_b - sum_l (d_b'd_l) u_li
//
// where l runs over the features chosen before: O(n |S|) per split and step.
//
// Removals. With d_l = sum_j G_lj x_j (G unit lower triangular) the inverse of A = K + alpha I over S is
// G' diag(1/pivot) G, and its diagonal is a_l = sum_m G_ml^2 / pivot_m. Without feature l the residuals are e + w_l d~_l,
//
//     w_l = sum_m G_ml omega_m        d~_l = sum_m q_m d_m        q_m = G_ml / (pivot_m a_l),
//
// d~_l being what the other chosen features leave of column l.
//
// Folds of few rows (FoldBlocks). Let the test parts make up all rows, each training part being all others, and let
// rows be multiplied by the roots g of their weights. On all rows let P be the matrix that takes off the intercept and
// the chosen features, P = I - gg'/W - sum_l z_l z_l'/sigma_l with z = P x and sigma = alpha + x'z. With P_ff its block on
// the rows of fold f, what is left of a column there with training coefficients is
//
//     d_f = (P_ff)^-1 z_f,
//
// the block form of the leave-one-out residual, and products over training parts are those over all rows less a
// correction:
//
//     K~_bi = x_b'z_i - z_b,f'd_i,f        x_b'z_i = sum_f v_f'd_i,f        v_f = P_ff x_b,f.
//
// So d is kept, rows x columns. Each number of it is multiplied by z_b, d_b and v of its row, and loses u_i d_b: O(m n) a
// step whatever was chosen before, where sums of products take O(m n + F n |S|).
//
// Rounding. Sums of products know what is left of a column to 1e-16 of its square. `doubtful` marks candidates of which
// too little is left, and blur() says how much of the chosen features' squares is lost; the owner then asks the rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "arrays.hpp"
#include "memory.hpp"

namespace sparsepath {

constexpr double COLLINEAR_IN_PART = 1e-12;  // part of a column's square that is left, up to which it counts as nothing
constexpr double FINE = 1e-6;                // the same, up to which sums of products tell too little

// Sums of products over the parts of F splits: F test parts, F training parts, all rows.
struct FoldSums {
    Array1<const double> weight;              // 2F + 1
    Array2<const double> x, squares;          // (2F + 1) x n
    Array3<const double> xy;                  // (2F + 1) x n x T
    Array2<const double> y, yy;               // (2F + 1) x T
    // Where a column of products over the training part of a split stands among those over parts that are given to
    // Folds::add, the F test parts first; -1: all rows less the test part. Last, where all rows stand; -1: the sum of
    // the test parts.
    Array1<const int64_t> sources;            // F + 1
};

// What the chosen features are to each other in one split, or on all rows.
struct Triangle {
    std::vector<double> pivot;                   // k
    std::vector<std::vector<double>> G;          // row l: l + 1 numbers, the last of them 1
    std::vector<double> omega;                   // k x T
    std::vector<double> inverse;                 // k: diagonal of A^-1

    int64_t size() const { return static_cast<int64_t>(pivot.size()); }
    // Add a feature; u: its products with what is left of those before, over their pivots.
    void append(const double* u, double new_pivot, const double* new_omega, int64_t T);
    // The same from products of the columns as they stand, K_b (k + 1 numbers) and x_b'y (T).
    void append_products(const double* K, const double* c, double alpha, int64_t T);
    std::vector<double> coefficients(int64_t T) const;        // k x T
    void removal(int64_t l, double* q) const;                 // q_l .. q_k-1 at their places, zero before
    void removed_coefficient(int64_t l, int64_t T, double* w) const;
};

class Folds {
public:
    Folds(const FoldSums& sums, const bool* constant, double alpha, bool fit_intercept, bool pooled);
    virtual ~Folds() = default;
    Folds(const Folds&) = default;

    // Add a feature. products: parts x n, those of column b with all columns over the parts that were summed, `stride`
    // numbers apart. False if it is collinear with the chosen ones.
    bool add(int64_t b, const double* products, int64_t stride, int n_threads);

    std::vector<double> additions() const;                    // n, infinite where impossible
    std::vector<double> removals() const;                     // k
    double addition(int64_t i) const { return is_usable(i) && !inside_[i] ? errors_[i] : INFINITY; }
    bool is_collinear(int64_t b, const double* products, int64_t stride) const;  // with the chosen ones on all rows
    bool any_doubtful(const bool* allowed) const;             // of the features that can be added
    bool is_doubtful(int64_t i) const { return low_[i] <= 0.0; }
    int64_t best(const bool* allowed) const;                  // ties to the lowest index; -1: none
    double error() const;
    double total_sse() const { return std::accumulate(sse.begin(), sse.end(), 0.0); }
    double blur() const;                                      // largest sizes_j (A^-1)_jj of a chosen feature
    double omega(int64_t f, int64_t t, int64_t i) const { return c[(f * T + t) * n + i] / (s[f * n + i] + alpha); }
    bool is_usable(int64_t i) const { return live_[i] && closed_[i] > 0.0; }

    int64_t F, n, T;
    double alpha;
    std::vector<int64_t> chosen;
    std::vector<double> share, sse;                           // F
    Numbers s, dd;                                            // F x n
    Numbers c, ed;                                            // F x T x n
    Numbers mu, sizes;                                        // F x n
    std::vector<Triangle> triangles;                          // F
    Triangle all_rows;

    // One per chosen feature, F x n: u, and x'd, which FoldBlocks does not need.
    struct Followed {
        Numbers u, h;
    };
    std::vector<std::shared_ptr<const Followed>> followed;

protected:
    // A feature on its way in, as every split knows it.
    struct Entering {
        std::vector<double> pivot, d_bb;                      // F
        std::vector<double> omega, e_b, c_b;                  // F x T
    };
    bool is_open(int64_t b) const;
    // Add a feature to all but the columns. d: d_b'd_l, F x k; K: its products with the chosen ones and with itself on
    // all rows, centred.
    Entering enter(int64_t b, const std::vector<double>& d, const std::vector<double>& K);
    // Let some columns follow in split f: u (pivot times u at first) and w = d_b'd_i.
    void change(const Entering& b, int64_t f, int64_t begin, int64_t count, double* u, double* w);
    void judge(int64_t begin, int64_t end);

    std::vector<double> all_x_, all_c_;                       // n, n x T: on all rows, centred
    double all_weight_;
    bool fit_intercept_;

private:
    std::vector<double> on_all_rows(int64_t b, const double* products, int64_t stride) const;
    struct Products;
    void follow(const Entering& b, const Products& of, Followed& out, int64_t begin, int64_t end);

    std::vector<double> test_weight_, train_weight_;          // F
    Numbers x_;                                               // F x n
    std::vector<int64_t> sources_;
    double first_error_ = 0.0;
    std::vector<char> live_, inside_;                         // n: not constant; chosen
    std::vector<double> errors_, low_, closed_;               // n; what is left above FINE and COLLINEAR_IN_PART
    std::vector<std::vector<double>> DD_;                     // F, each k x k in rows of a lower triangle
    std::vector<std::vector<double>> ED_;                     // F, each k x T: e'd_l
};

// Rows of folds that make up all rows, one fold after the other: x as it stands, and weights.
struct FoldRows {
    Array2<const double> x;                   // m x n
    Array1<const double> weights;             // m
    Array1<const int64_t> starts;             // F + 1
};

class FoldBlocks : public Folds {
public:
    FoldBlocks(const FoldSums& sums, const FoldRows& rows, const bool* constant, double alpha, bool fit_intercept,
               bool pooled);
    // Add a feature, given as it stands on all rows. False if it is collinear with the chosen ones.
    bool add_column(int64_t b, const double* column, int n_threads);
    int64_t rows() const { return starts_.back(); }

private:
    struct Directions;
    void follow(const Entering& b, const Directions& of, Numbers& u, int64_t begin, int64_t end);

    std::vector<int64_t> starts_;
    std::vector<double> g_;
    Numbers d_;                                               // m x n
    std::vector<std::vector<double>> x_of_, z_of_, d_of_;     // of each chosen feature: g x, z, d
};

}  // namespace sparsepath
