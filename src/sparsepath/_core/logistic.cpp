// Logistic and multinomial models of the first k columns, for several k and a ridge penalty each.
//
// With one output f for two classes, or C outputs for C classes, and intercepts that are not penalised, the least of
//
//     sum of w_i loss(f(x_i), y_i) + alpha/2 |B|^2,        loss = -log of the softmax probability of the class,
//
// is found by Newton steps. With p the probabilities and x with a one in front, the Hessian applied to V is
//
//     X' [w (p * XV - p (p'XV))] + alpha V        (two classes: X' [w p (1 - p) XV] + alpha V).
//
// A step solves it by conjugate gradients; the preconditioner has one block per output, X' diag(w p_c (1 - p_c)) X + alpha I
// at an earlier point, of which the Cholesky factor is kept. A column that enters appends a row to it, so that along a path
// the products of all columns are formed now and then only. With one output and a fresh factor this is Newton's method.
// A step that lowers the objective by less than a part of what its slope promises is halved.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "exponential.hpp"
#include "simd.hpp"
#include "vectors.hpp"

namespace sparsepath {

namespace {

using Numbers = std::vector<double>;

constexpr int NEWTON_STEPS = 100;
constexpr int HALVINGS = 40;
constexpr int INNER_STEPS = 50;
constexpr double ARMIJO = 1e-4;
constexpr double SLACK = 1e-12;     // of the objective: rounding of a difference
constexpr int FRESH_AFTER = 12;     // products with the Hessian for one model after which the factor is made again
constexpr double FORCING = 0.1;     // residual of the inner solve, relative to the gradient
constexpr double LEAST_CURVATURE = 1e-6;  // of a sample in the factor, so that it exists where all are certain

// The probabilities p of the second class at outputs f, and the sum of the losses; y is -1 or +1.
SPARSEPATH_WIDE double binary_state(const double* SPARSEPATH_RESTRICT f, const double* SPARSEPATH_RESTRICT y,
                                    const double* SPARSEPATH_RESTRICT w, double* SPARSEPATH_RESTRICT p, int64_t n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < n; ++i) {
        const LogisticPoint at = logistic_point(y[i] * f[i]);
        p[i] = y[i] > 0.0 ? 1.0 - at.slope : at.slope;
        total += w[i] * at.value;
    }
    return total;
}

// p <- exp(f - top), added to the sums.
SPARSEPATH_WIDE void exponentials(const double* SPARSEPATH_RESTRICT f, const double* SPARSEPATH_RESTRICT top,
                                  double* SPARSEPATH_RESTRICT p, double* SPARSEPATH_RESTRICT sum, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        const double x = f[i] - top[i];
        p[i] = exponential(x > -700.0 ? x : -700.0);
        sum[i] += p[i];
    }
}

// One path of models at one penalty; see the head of the file.
class LogisticPath {
public:
    LogisticPath(const double* Z, int64_t K, int64_t n, const double* w, const int64_t* codes, int64_t C, double alpha,
                 double tolerance, bool intercept)
        : Z_(K + 1), n_(n), T_(C == 2 ? 1 : C), alpha_(alpha), w_(w), codes_(codes), F_(T_ * n),
          P_(T_ * n), Y_(T_ == 1 ? n : 0), D_(T_ * n), stride_(K + 1), L_(T_ * stride_ * stride_) {
        ones_.assign(n, intercept ? 1.0 : 0.0);  // without an intercept, a column that nothing can use
        Z_[0] = ones_.data();
        for (int64_t j = 0; j < K; ++j) Z_[j + 1] = Z + j * n;
        for (int64_t i = 0; i < n; ++i) total_ += w[i];
        if (T_ == 1)
            for (int64_t i = 0; i < n; ++i) Y_[i] = codes[i] == 1 ? 1.0 : -1.0;
        tolerance_ = tolerance * total_;
        for (auto* one : {&B_, &gradient_, &step_, &r_, &z_, &v_, &Hv_}) one->assign(T_ * stride_, 0.0);
        for (auto* one : {&U_, &S_, &next_, &nextP_}) one->assign(T_ * n, 0.0);
        row_.resize(stride_);
        objective_ = evaluate(F_.data(), P_.data(), B_.data());
    }

    // The model of the first k columns, from that of fewer.
    void grow_to(int64_t k) {
        const int64_t before = k_;
        k_ = k + 1;
        if (before > 0 && products_ <= FRESH_AFTER)
            for (int64_t j = before; j < k_; ++j) append(j);
        else refresh();
        products_ = 0;
        for (int step = 0; step < NEWTON_STEPS; ++step) {
            slope();
            const double promised = solve();
            if (promised <= tolerance_) return;
            if (!move(promised)) {
                refresh();  // rounding, or a factor that is too old
                const double again = solve();
                if (again <= tolerance_ || !move(again)) return;
            }
            if (products_ > FRESH_AFTER) {
                refresh();
                products_ = 0;
            }
        }
    }

    // Coefficient of a column (0: the intercept) for an output.
    double coef(int64_t t, int64_t j) const { return B_[t * stride_ + j]; }

private:
    // Sets probabilities; returns the objective.
    double evaluate(const double* F, double* P, const double* B) const {
        double total = 0;
        if (T_ == 1) total = binary_state(F, Y_.data(), w_, P, n_);
        else total = softmax_state(F, P);
        double squares = 0;
        for (int64_t t = 0; t < T_; ++t)
            for (int64_t j = 1; j < k_; ++j) squares += B[t * stride_ + j] * B[t * stride_ + j];
        return total + 0.5 * alpha_ * squares;
    }

    double softmax_state(const double* F, double* P) const {
        double total = 0;
        Numbers& top = top_;
        Numbers& sum = sum_;
        top.assign(F, F + n_);
        for (int64_t t = 1; t < T_; ++t)
            for (int64_t i = 0; i < n_; ++i) top[i] = std::max(top[i], F[t * n_ + i]);
        sum.assign(n_, 0.0);
        for (int64_t t = 0; t < T_; ++t) exponentials(F + t * n_, top.data(), P + t * n_, sum.data(), n_);
        for (int64_t i = 0; i < n_; ++i) {
            total += w_[i] * (std::log(sum[i]) + top[i] - F[codes_[i] * n_ + i]);
            sum[i] = 1.0 / sum[i];
        }
        for (int64_t t = 0; t < T_; ++t)
            for (int64_t i = 0; i < n_; ++i) P[t * n_ + i] *= sum[i];
        return total;
    }

    void slope() {
        for (int64_t t = 0; t < T_; ++t) {
            double* off = S_.data() + t * n_;
            const double* p = P_.data() + t * n_;
            const int64_t own = T_ == 1 ? 1 : t;
            for (int64_t i = 0; i < n_; ++i) off[i] = w_[i] * (p[i] - (codes_[i] == own ? 1.0 : 0.0));
            double* g = gradient_.data() + t * stride_;
            inner_products(Z_.data(), k_, off, n_, g);
            for (int64_t j = 1; j < k_; ++j) g[j] += alpha_ * B_[t * stride_ + j];
        }
    }

    // U <- X V.
    void forward(const double* V, double* U) const {
        std::fill(U, U + T_ * n_, 0.0);
        Numbers& minus = row_;
        for (int64_t t = 0; t < T_; ++t) {
            for (int64_t j = 0; j < k_; ++j) minus[j] = -V[t * stride_ + j];
            subtract_all(U + t * n_, Z_.data(), minus.data(), 1, k_, n_);
        }
    }

    void hessian_times(const double* V, double* out) {
        ++products_;
        forward(V, U_.data());
        if (T_ == 1) {
            for (int64_t i = 0; i < n_; ++i) S_[i] = w_[i] * P_[i] * (1.0 - P_[i]) * U_[i];
        } else {
            sum_.assign(n_, 0.0);
            for (int64_t t = 0; t < T_; ++t)
                for (int64_t i = 0; i < n_; ++i) sum_[i] += P_[t * n_ + i] * U_[t * n_ + i];
            for (int64_t t = 0; t < T_; ++t)
                for (int64_t i = 0; i < n_; ++i)
                    S_[t * n_ + i] = w_[i] * P_[t * n_ + i] * (U_[t * n_ + i] - sum_[i]);
        }
        for (int64_t t = 0; t < T_; ++t) {
            double* h = out + t * stride_;
            inner_products(Z_.data(), k_, S_.data() + t * n_, n_, h);
            for (int64_t j = 1; j < k_; ++j) h[j] += alpha_ * V[t * stride_ + j];
        }
    }

    // The step that conjugate gradients find; returns what its slope promises, the squared Newton decrement.
    double solve() {
        const double *g = gradient_.data();
        std::fill(step_.begin(), step_.end(), 0.0);
        for (size_t a = 0; a < r_.size(); ++a) r_[a] = -g[a];
        precondition(r_.data(), z_.data());
        double rz = product(r_, z_);
        const double first = rz;
        v_ = z_;
        for (int i = 0; i < INNER_STEPS && rz > 0; ++i) {
            if (first <= tolerance_) {  // small in any case: the preconditioned step will do
                step_ = z_;
                break;
            }
            hessian_times(v_.data(), Hv_.data());
            const double curvature = product(v_, Hv_);
            if (!(curvature > 0)) break;
            const double length = rz / curvature;
            for (size_t a = 0; a < r_.size(); ++a) {
                step_[a] += length * v_[a];
                r_[a] -= length * Hv_[a];
            }
            precondition(r_.data(), z_.data());
            const double now = product(r_, z_);
            if (now <= FORCING * FORCING * first) break;
            for (size_t a = 0; a < r_.size(); ++a) v_[a] = z_[a] + now / rz * v_[a];
            rz = now;
        }
        return -product(gradient_, step_);
    }

    double product(const Numbers& a, const Numbers& b) const {
        double total = 0;
        for (int64_t t = 0; t < T_; ++t) total += dot(a.data() + t * stride_, b.data() + t * stride_, k_);
        return total;
    }

    // Take the step, halved until the objective falls; whether it did.
    bool move(double promised) {
        forward(step_.data(), U_.data());
        double length = 1.0;
        next_B_ = B_;
        for (int i = 0; i < HALVINGS; ++i, length /= 2) {
            for (size_t a = 0; a < F_.size(); ++a) next_[a] = F_[a] + length * U_[a];
            for (size_t a = 0; a < B_.size(); ++a) next_B_[a] = B_[a] + length * step_[a];
            const double value = evaluate(next_.data(), nextP_.data(), next_B_.data());
            if (value <= objective_ - ARMIJO * length * promised + SLACK * std::abs(objective_)) {
                objective_ = value;
                F_.swap(next_);
                P_.swap(nextP_);
                B_.swap(next_B_);
                return true;
            }
        }
        return false;
    }

    // Curvatures of the factor, here; and the factor of all columns so far.
    void refresh() {
        for (int64_t t = 0; t < T_; ++t)
            for (int64_t i = 0; i < n_; ++i) {
                const double p = P_[t * n_ + i];
                D_[t * n_ + i] = w_[i] * std::max(p * (1.0 - p), LEAST_CURVATURE);
            }
        for (int64_t j = 0; j < k_; ++j) append(j);
    }

    // Row j of the factor of every output.
    void append(int64_t j) {
        for (int64_t t = 0; t < T_; ++t) {
            double* L = L_.data() + t * stride_ * stride_;
            double* row = L + j * stride_;
            const double* d = D_.data() + t * n_;
            for (int64_t i = 0; i < n_; ++i) U_[i] = d[i] * Z_[j][i];
            inner_products(Z_.data(), j + 1, U_.data(), n_, row);
            const double own = row[j] + (j ? alpha_ : 0.0);
            for (int64_t a = 0; a < j; ++a) {
                row[a] = (row[a] - dot(row, L + a * stride_, a)) / L[a * stride_ + a];
            }
            const double left = own - dot(row, row, j);
            row[j] = std::sqrt(std::max(left, 1e-13 * own + std::numeric_limits<double>::min()));
        }
    }

    // out <- (L L')^-1 v for every output.
    void precondition(const double* v, double* out) const {
        for (int64_t t = 0; t < T_; ++t) {
            const double* L = L_.data() + t * stride_ * stride_;
            const double* b = v + t * stride_;
            double* x = out + t * stride_;
            for (int64_t j = 0; j < k_; ++j) x[j] = (b[j] - dot(L + j * stride_, x, j)) / L[j * stride_ + j];
            for (int64_t j = k_ - 1; j >= 0; --j) {
                x[j] /= L[j * stride_ + j];
                subtract(x, x[j], L + j * stride_, j);
            }
        }
    }

    std::vector<const double*> Z_;
    int64_t n_, T_;
    double alpha_, total_ = 0, tolerance_ = 0, objective_ = 0;
    const double* w_;
    const int64_t* codes_;
    Numbers ones_, F_, P_, Y_, D_;
    int64_t stride_, k_ = 0;
    int products_ = 0;
    Numbers L_, B_, gradient_, step_, r_, z_, v_, Hv_, U_, S_, next_, nextP_, next_B_;
    mutable Numbers row_, top_, sum_;
};

// Coefficients, penalties x sizes x outputs x (columns + 1), the intercept first; see the head of the file.
auto logistic_paths(ConstMatrix Z, ConstVector w, Indices codes, int64_t n_classes, ConstVector alphas, Indices sizes,
                    double tolerance, bool fit_intercept) {
    const int64_t K = Z.shape(0), n = Z.shape(1), P = alphas.shape(0), S = sizes.shape(0);
    if (static_cast<int64_t>(w.shape(0)) != n || static_cast<int64_t>(codes.shape(0)) != n || n_classes < 2)
        throw std::invalid_argument("rows differ");
    for (int64_t i = 0; i < n; ++i)
        if (codes.data()[i] < 0 || codes.data()[i] >= n_classes) throw std::invalid_argument("no such class");
    for (int64_t s = 0; s < S; ++s)
        if (sizes.data()[s] > K || sizes.data()[s] < (s ? sizes.data()[s - 1] : 0))
            throw std::invalid_argument("sizes must ascend");
    const int64_t T = n_classes == 2 ? 1 : n_classes;
    auto out = new_vector<double>(P * S * T * (K + 1));
    double* place = out.data();
    nb::gil_scoped_release release;
    for (int64_t p = 0; p < P; ++p) {
        LogisticPath path(Z.data(), K, n, w.data(), codes.data(), n_classes, alphas.data()[p], tolerance,
                          fit_intercept);
        for (int64_t s = 0; s < S; ++s) {
            const int64_t k = sizes.data()[s];
            path.grow_to(k);
            for (int64_t t = 0; t < T; ++t, place += K + 1)
                for (int64_t j = 0; j <= k; ++j) place[j] = path.coef(t, j);
        }
    }
    return out;
}

}  // namespace

void bind_logistic(nb::module_& m) {
    m.def("logistic_paths", &logistic_paths, nb::arg("Z"), nb::arg("w"), nb::arg("codes"), nb::arg("n_classes"),
          nb::arg("alphas"), nb::arg("sizes"), nb::arg("tolerance"), nb::arg("fit_intercept"),
          "Coefficients of models of the first columns, penalties x sizes x outputs x (columns + 1), the intercept first.");
}

}  // namespace sparsepath
