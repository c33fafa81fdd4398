// Loops of the solvers of RBF networks; the formulas stand in rbf/barrier.py, rbf/primal_dual.py and rbf/network.py.
//
// A point is u = s + alpha (n_alpha numbers), v = s - alpha (as many), the weights, and what is left of both budgets.
// Slopes are those by alpha, s and the weights. A Hessian comes as the transpose of a matrix in Fortran order of which
// only the lower triangle counts: here an upper triangle, row by row.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "blas.hpp"
#include "exponential.hpp"
#include "simd.hpp"
#include "vectors.hpp"

namespace sparsepath {
namespace {

using Numbers = std::vector<double>;
using NewVector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

constexpr double LEAST_POWER = -708.0;  // below it exp is less than any normal number

void require(bool fits) {
    if (!fits) throw std::invalid_argument("arrays that do not fit together");
}

int64_t length(const ConstVector& a) { return static_cast<int64_t>(a.shape(0)); }

// Newton systems -----------------------------------------------------------------------------------------------------

// The longest step, at most 1, that leaves 1 - fraction of every x.
double longest_step(const double* x, const double* step, int64_t n, double fraction) {
    double fastest = fraction;
    for (int64_t i = 0; i < n; ++i) fastest = std::max(fastest, -step[i] / x[i]);
    return fraction / fastest;
}

// Gradient of J by alpha, s and w, with `targets` in place of mu k. `size` is that of a point.
Numbers slopes_of(const double* gradient, const double* targets, const double* x, int64_t n, int64_t size) {
    Numbers out(size - 2);
    const double of_r = targets[size - 2] / x[size - 2], of_t = targets[size - 1] / x[size - 1];
    for (int64_t m = 0; m < n; ++m) {
        const double a = targets[m] / x[m], b = targets[n + m] / x[n + m];
        out[m] = gradient[m] - a + b;
        out[n + m] = of_r - a - b;
    }
    for (int64_t i = 2 * n; i < size - 2; ++i) out[i] = gradient[i - n] - targets[i] / x[i] + of_t;
    return out;
}

double slope_along(const double* slopes, const double* step, int64_t n, int64_t size) {
    double total = 0.0;
    for (int64_t m = 0; m < n; ++m) {
        const double u = step[m], v = step[n + m];
        total += 0.5 * (slopes[m] * (u - v) + slopes[n + m] * (u + v));
    }
    for (int64_t i = 2 * n; i < size - 2; ++i) total += slopes[i] * step[i];
    return total;
}

// What the products x z lack, at a step of this length, to be within `band` of `middle`. None falls by more than `band`
// times its `middle`: one that is far too large would dominate the direction.
struct Recentring {
    double length, band;
    double lack(double x, double z, double step, double dual, double middle) const {
        const double product = (x + length * step) * (z + length * dual);
        const double within = std::min(std::max(product, middle / band), middle * band);
        return std::max(within - product, -middle * band);
    }
};

// When a step is long enough, and how further ones are made of it.
struct StepRule {
    double fraction, long_step, longer, band;
    int recentrings;
};

// A step of the point and of its multipliers.
struct Move {
    Numbers step, dual;
    double slope = 0.0;      // of J along the step
    double longest = 0.0;    // length, of at most 1, that the boundary leaves
    double decrement = 0.0;  // of J, by the first step
};

// A point, its coefficients and residuals, and what J is made of there.
struct Trial {
    Numbers x, alpha, off;
    double error, logarithms;
    double value(double mu) const { return error + mu * logarithms; }
};

// Basis functions (n_alpha x samples), the target and the shares of the logarithms: what J is made of.
class Objective {
  public:
    Objective(ConstMatrix basis, ConstVector y, ConstVector shares) : basis_(basis), y_(y), shares_(shares) {
        require(basis.shape(1) == y.shape(0) && shares.shape(0) >= 2 * basis.shape(0) + 2);
    }
    int64_t n() const { return static_cast<int64_t>(basis_.shape(0)); }
    int64_t samples() const { return static_cast<int64_t>(y_.shape(0)); }
    int64_t size() const { return static_cast<int64_t>(shares_.shape(0)); }
    const double* row(int64_t m) const { return basis_.data() + m * samples(); }

    Trial trial(const double* x, const double* step, double length) const {
        Trial out{Numbers(size()), Numbers(n()), Numbers(samples()), 0.0, 0.0};
        for (int64_t i = 0; i < size(); ++i) {
            out.x[i] = x[i] + length * step[i];
            out.logarithms -= shares_.data()[i] * std::log(out.x[i]);
        }
        for (int64_t i = 0; i < samples(); ++i) out.off[i] = -y_.data()[i];
        for (int64_t m = 0; m < n(); ++m) {
            out.alpha[m] = 0.5 * (out.x[m] - out.x[n() + m]);
            add_scaled(out.alpha[m], row(m), out.off.data(), samples());
        }
        out.error = dot(out.off.data(), out.off.data(), samples()) / static_cast<double>(samples());
        return out;
    }

  private:
    ConstMatrix basis_;
    ConstVector y_, shares_;
};

SPARSEPATH_WIDE void add_upper_outer(double theta, const double* a, int64_t n, int64_t order, double* upper) {
    for (int64_t m = 0; m < n; ++m) {
        double* row = upper + m * order;
        const double part = theta * a[m];
#pragma omp simd
        for (int64_t i = m; i < n; ++i) row[i] += part * a[i];
    }
}

// A Hessian with what the logarithms add, the slacks eliminated, and its factor.
class NewtonSystem {
  public:
    NewtonSystem(Matrix upper, ConstVector curvature, int64_t n_alpha, bool alpha_moves, double lam, ConstVector lam_w)
        : upper_(upper), n_alpha_(n_alpha), lam_(lam), size_(length(curvature)) {
        const int64_t order = static_cast<int64_t>(upper.shape(0));
        n_ = alpha_moves ? n_alpha : 0;
        require(static_cast<int64_t>(upper.shape(1)) == order && n_ <= order && size_ >= 2 * n_alpha + 2 &&
                length(lam_w) == size_ - 2 * n_alpha - 2 && order - n_ <= length(lam_w));
        const Blas& lapack = blas();
        nb::gil_scoped_release release;
        eliminate(upper.data(), order, curvature.data(), lam_w.data());
        const int of_order = static_cast<int>(order);
        int info = 0;
        lapack.potrf("L", &of_order, upper.data(), &of_order, &info);
        positive_ = info == 0;
    }

    bool positive() const { return positive_; }
    double lam() const { return lam_; }

    // The step down the slopes. With `alpha_alone` the weights stay: the factor of the alphas' block is the leading
    // block of the factor L, so that with L y = right, L' p = (y, 0) gives p in its leading part.
    Numbers solution(const double* slopes, bool alpha_alone) const {
        const int64_t order = static_cast<int64_t>(upper_.shape(0));
        Numbers right(order), step(size_, 0.0);
        double mean = theta_ * dot(inverse_.data(), slopes + n_alpha_, n_);
        for (int64_t m = 0; m < n_; ++m)
            right[m] = c_[m] * (inverse_[m] * (slopes[n_alpha_ + m] - mean)) - slopes[m];
        for (int64_t i = n_; i < order; ++i) right[i] = -slopes[2 * n_alpha_ + i - n_];
        const int rows = static_cast<int>(order), one = 1;
        const Blas& lapack = blas();
        lapack.trsv("L", "N", "N", &rows, upper_.data(), &rows, right.data(), &one);
        if (alpha_alone) std::fill(right.begin() + n_, right.end(), 0.0);
        lapack.trsv("L", "T", "N", &rows, upper_.data(), &rows, right.data(), &one);
        mean = 0.0;
        for (int64_t m = 0; m < n_; ++m) mean += inverse_[m] * (slopes[n_alpha_ + m] + c_[m] * right[m]);
        mean *= theta_;
        for (int64_t m = 0; m < n_; ++m) {
            const double of_s = inverse_[m] * (mean - slopes[n_alpha_ + m] - c_[m] * right[m]);
            step[m] = of_s + right[m];
            step[n_alpha_ + m] = of_s - right[m];
            step[size_ - 2] -= of_s;
        }
        for (int64_t i = n_; i < order; ++i) {
            step[2 * n_alpha_ + i - n_] = right[i];
            step[size_ - 1] -= right[i];
        }
        return step;
    }

    NewVector solve(ConstVector slopes) const {
        require(length(slopes) == size_ - 2);
        return numpy_of(solution(slopes.data(), false));
    }

    // The best of a step for `plain` (mu k) and, if the boundary shortens it, of corrections: the one along which J may
    // fall most.
    Move direction(ConstVector gradient, ConstVector plain, ConstVector x, ConstVector z, const StepRule& rule) const {
        require(length(gradient) == size_ - 2 - n_alpha_ && length(plain) == size_ && length(x) == size_ &&
                length(z) == size_);
        nb::gil_scoped_release release;
        const double* mu_k = plain.data();
        const Numbers of_J = slopes_of(gradient.data(), mu_k, x.data(), n_alpha_, size_);
        auto towards = [&](const Numbers& targets) {
            Move out;
            out.step = solution(slopes_of(gradient.data(), targets.data(), x.data(), n_alpha_, size_).data(), false);
            out.dual.resize(size_);
            for (int64_t i = 0; i < size_; ++i)
                out.dual[i] = (targets[i] - z.data()[i] * out.step[i]) / x.data()[i] - z.data()[i];
            out.slope = slope_along(of_J.data(), out.step.data(), n_alpha_, size_);
            out.longest = longest_step(x.data(), out.step.data(), size_, rule.fraction);
            return out;
        };
        Numbers targets(mu_k, mu_k + size_);
        Move best = towards(targets);
        const double decrement = -best.slope;
        for (int correction = 0; correction <= rule.recentrings && best.longest < rule.long_step; ++correction) {
            Numbers other(size_);
            const Recentring recentring{std::min(1.0, best.longest + rule.longer), rule.band};
            for (int64_t i = 0; i < size_; ++i) {
                const double step = best.step[i], dual = best.dual[i];
                other[i] = correction == 0
                               ? mu_k[i] - step * dual
                               : targets[i] + recentring.lack(x.data()[i], z.data()[i], step, dual, mu_k[i]);
            }
            Move found = towards(other);
            if (found.slope * found.longest < best.slope * best.longest) {
                targets = std::move(other);
                best = std::move(found);
            } else if (correction > 0) {
                break;
            }
        }
        best.decrement = decrement;
        return best;
    }

    // The step of alpha alone that undoes what dE/dalpha is beyond `expected`.
    Numbers straightening(const Objective& of, const Numbers& off, const double* expected) const {
        Numbers wrong(size_ - 2, 0.0);
        const double scale = 2.0 / static_cast<double>(of.samples());
        for (int64_t m = 0; m < n_alpha_; ++m)
            wrong[m] = scale * dot(of.row(m), off.data(), of.samples()) - expected[m];
        return solution(wrong.data(), true);
    }

    // The point a step further, or what straightening makes of it if J is lower there. What the model makes of
    // dE/dalpha by a full step is what the multipliers balance there, z_u - z_v, less the damping: the step solves
    // that equation.
    Trial straight_trial(const Objective& of, ConstVector x, ConstVector z, ConstVector gradient, const Move& move,
                         double length_of_step, double fraction, double mu) const {
        require(of.n() == n_alpha_ && of.size() == size_ && length(x) == size_ && length(z) == size_ &&
                length(gradient) >= n_alpha_ && static_cast<int64_t>(move.step.size()) == size_);
        nb::gil_scoped_release release;
        Trial plain = of.trial(x.data(), move.step.data(), length_of_step);
        Numbers expected(n_alpha_);
        for (int64_t m = 0, v = n_alpha_; m < n_alpha_; ++m, ++v) {
            const double balanced = z.data()[m] + move.dual[m] - z.data()[v] - move.dual[v] -
                                    0.5 * lam_ * (move.step[m] - move.step[v]);
            const double slope = gradient.data()[m];
            expected[m] = slope + length_of_step * (balanced - slope);
        }
        const Numbers fix = straightening(of, plain.off, expected.data());
        const double far = longest_step(plain.x.data(), fix.data(), size_, fraction);
        Trial other = of.trial(plain.x.data(), fix.data(), far);
        return other.value(mu) < plain.value(mu) ? other : plain;
    }

    NewVector straightened(const Objective& of, ConstVector off, ConstVector expected) const {
        require(of.n() == n_alpha_ && length(off) == of.samples() && length(expected) == n_alpha_);
        const Numbers residuals(off.data(), off.data() + length(off));
        return numpy_of(straightening(of, residuals, expected.data()));
    }

  private:
    void eliminate(double* upper, int64_t order, const double* curvature, const double* lam_w) {
        c_.resize(n_), inverse_.resize(n_);
        Numbers across(n_);
        double total = 0.0;
        for (int64_t m = 0; m < n_; ++m) {
            const double of_u = curvature[m], of_v = curvature[n_alpha_ + m];
            c_[m] = of_u - of_v;
            inverse_[m] = 1.0 / (lam_ + of_u + of_v);
            across[m] = c_[m] * inverse_[m];
            total += inverse_[m];
            upper[m * order + m] += (lam_ + 2.0 * of_u) * ((lam_ + 2.0 * of_v) * inverse_[m]);
        }
        const double q = curvature[size_ - 2];
        theta_ = q / (1.0 + q * total);
        add_upper_outer(theta_, across.data(), n_, order, upper);
        for (int64_t i = n_; i < order; ++i) {
            upper[i * order + i] += curvature[2 * n_alpha_ + i - n_] + lam_w[i - n_];
            for (int64_t j = i; j < order; ++j) upper[i * order + j] += curvature[size_ - 1];
        }
    }

    Matrix upper_;
    int64_t n_alpha_, n_ = 0;
    double lam_;
    int64_t size_;
    Numbers c_, inverse_;
    double theta_ = 0.0;
    bool positive_ = false;
};

// In place: what is beyond Gauss-Newton. `cross` (centres x live) and `among` (live x live) belong to the `live` ones of
// the weights, whose rows begin at n.
void add_second_derivatives(Matrix upper, int64_t n, Indices live, ConstMatrix cross, ConstMatrix among) {
    const int64_t order = static_cast<int64_t>(upper.shape(0)), count = static_cast<int64_t>(live.shape(0));
    const int64_t centres = static_cast<int64_t>(cross.shape(0));
    require(static_cast<int64_t>(upper.shape(1)) == order && centres < n + 1 && n <= order &&
            static_cast<int64_t>(cross.shape(1)) == count && static_cast<int64_t>(among.shape(0)) == count &&
            static_cast<int64_t>(among.shape(1)) == count);
    for (int64_t k = 0; k < count; ++k) require(live.data()[k] >= 0 && n + live.data()[k] < order);
    for (int64_t m = 0; m < centres; ++m)
        for (int64_t k = 0; k < count; ++k)
            upper.data()[(1 + m) * order + n + live.data()[k]] += cross.data()[m * count + k];
    for (int64_t k = 0; k < count; ++k)
        for (int64_t j = k; j < count; ++j)
            upper.data()[(n + live.data()[k]) * order + n + live.data()[j]] += among.data()[k * count + j];
}

// In place: as far along `dual` as the boundary allows, then, but for those of the budgets, to within a `factor` of
// middle / x.
void move_multipliers(Vector z, ConstVector dual, ConstVector middle, ConstVector x, double fraction, double factor) {
    const int64_t n = static_cast<int64_t>(z.shape(0));
    require(length(dual) == n && length(middle) == n && length(x) == n);
    const double far = longest_step(z.data(), dual.data(), n, fraction);
    for (int64_t i = 0; i < n; ++i) {
        double& value = z.data()[i];
        value += far * dual.data()[i];
        if (i < n - 2) {
            const double central = middle.data()[i] / x.data()[i];
            value = std::min(std::max(value, central / factor), central * factor);
        }
    }
}

// The network --------------------------------------------------------------------------------------------------------

SPARSEPATH_WIDE void exponentials_of(double* h, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
        const double e = exponential(h[i]);
        h[i] = h[i] < LEAST_POWER ? 0.0 : e;
    }
}

void exponentials(Matrix H) {
    nb::gil_scoped_release release;
    exponentials_of(H.data(), static_cast<int64_t>(H.shape(0) * H.shape(1)));
}

SPARSEPATH_WIDE void weight_derivative(const double* x, const double* total, const double* first, const double* second,
                                       int64_t n, double* out) {
#pragma omp simd
    for (int64_t k = 0; k < n; ++k) out[k] = 2.0 * x[k] * first[k] - x[k] * x[k] * total[k] - second[k];
}

// Derivatives of the outputs by the weights, inputs x samples, from the moments K a, K (a c_i) and K (a c_i^2).
void weight_derivatives(ConstMatrix across, ConstMatrix moments, Matrix out) {
    const int64_t d = static_cast<int64_t>(across.shape(0)), n = static_cast<int64_t>(across.shape(1));
    require(static_cast<int64_t>(moments.shape(0)) == 1 + 2 * d && static_cast<int64_t>(moments.shape(1)) == n &&
            static_cast<int64_t>(out.shape(0)) == d && static_cast<int64_t>(out.shape(1)) == n);
    const double* total = moments.data();
    nb::gil_scoped_release release;
    for (int64_t i = 0; i < d; ++i)
        weight_derivative(across.data() + i * n, total, total + (1 + i) * n, total + (1 + d + i) * n, n,
                          out.data() + i * n);
}

// Squared differences to a centre, and the sum of their products with `off`.
SPARSEPATH_WIDE double squared_differences(const double* x, double c, const double* off, int64_t n, double* out) {
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (int64_t k = 0; k < n; ++k) {
        const double square = (x[k] - c) * (x[k] - c);
        out[k] = square;
        total += off[k] * square;
    }
    return total;
}

// Sums over n of e K D_i, for every centre, and over n and m of e alpha K D_i D_j, where D_i = (x_ni - c_mi)^2; X is
// inputs x samples, C centres x inputs. Centres whose alpha is not above `least` are passed over in the second.
nb::tuple second_derivatives(ConstMatrix K, ConstMatrix X, ConstMatrix C, ConstVector alpha, ConstVector e,
                             double least) {
    const int64_t M = static_cast<int64_t>(K.shape(0)), n = static_cast<int64_t>(K.shape(1));
    const int64_t d = static_cast<int64_t>(X.shape(0));
    require(static_cast<int64_t>(X.shape(1)) == n && static_cast<int64_t>(C.shape(0)) == M &&
            static_cast<int64_t>(C.shape(1)) == d && length(alpha) == M && length(e) == n);
    auto by_centre = new_matrix<double>(M, d), among = new_matrix<double>(d, d);
    {
        nb::gil_scoped_release release;
        Numbers off(n), weighted(n), D(d * n);
        for (int64_t m = 0; m < M; ++m) {
            const double* row = K.data() + m * n;
            for (int64_t k = 0; k < n; ++k) off[k] = e.data()[k] * row[k];
            for (int64_t i = 0; i < d; ++i)
                by_centre.data()[m * d + i] =
                    squared_differences(X.data() + i * n, C.data()[m * d + i], off.data(), n, &D[i * n]);
            const double a = alpha.data()[m];
            if (std::fabs(a) <= least) continue;
            for (int64_t i = 0; i < d; ++i) {
                for (int64_t k = 0; k < n; ++k) weighted[k] = a * off[k] * D[i * n + k];
                for (int64_t j = 0; j <= i; ++j) among.data()[i * d + j] += dot(weighted.data(), &D[j * n], n);
            }
        }
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < i; ++j) among.data()[j * d + i] = among.data()[i * d + j];
    }
    return nb::make_tuple(by_centre, among);
}

// Corners ------------------------------------------------------------------------------------------------------------

// In place: leave out corners, the one that costs least first, for `room` at most in all. V is the covariance of the
// shares, whose sum is fixed. Leaving out corner m costs shares_m^2 / V_mm and moves the others by -V_im shares_m / V_mm;
// it is not left out if that takes some share below zero. What is left out has the share zero.
void drop_corners(Matrix covariance, Vector share, Mask may_go, double room) {
    const int64_t k = static_cast<int64_t>(share.shape(0));
    require(static_cast<int64_t>(covariance.shape(0)) == k && static_cast<int64_t>(covariance.shape(1)) == k &&
            static_cast<int64_t>(may_go.shape(0)) == k);
    double *V = covariance.data(), *shares = share.data();
    nb::gil_scoped_release release;
    Numbers row(k);
    for (;;) {
        std::vector<char> tried(k, 0);
        int64_t gone = -1;
        double least = room, part = 0.0;
        while (gone < 0) {
            int64_t m = -1;
            least = room;
            for (int64_t i = 0; i < k; ++i) {
                if (!may_go.data()[i] || !(shares[i] > 0.0) || tried[i] || !(V[i * k + i] > 0.0)) continue;
                const double cost = shares[i] * shares[i] / V[i * k + i];
                if (cost < least) m = i, least = cost;
            }
            if (m < 0) return;
            tried[m] = 1;
            part = shares[m] / V[m * k + m];
            gone = m;
            for (int64_t i = 0; i < k && gone == m; ++i)
                if (i != m && shares[i] > 0.0 && shares[i] <= V[m * k + i] * part) gone = -1;
        }
        room -= least;
        std::copy(V + gone * k, V + (gone + 1) * k, row.begin());
        for (int64_t i = 0; i < k; ++i) {
            if (!(shares[i] > 0.0)) continue;
            shares[i] -= row[i] * part;
            add_scaled(-row[i] / row[gone], row.data(), V + i * k, k);
        }
        shares[gone] = 0.0;
    }
}

}  // namespace

void bind_rbf(nb::module_& m) {
    nb::class_<StepRule>(m, "StepRule", "When a step is long enough, and how further ones are made of it.")
        .def(nb::init<double, double, double, double, int>(), nb::arg("fraction"), nb::arg("long_step"),
             nb::arg("longer"), nb::arg("band"), nb::arg("recentrings"));
    nb::class_<Move>(m, "Move", "A step of the point and of its multipliers.")
        .def_prop_ro("step", [](const Move& self) { return numpy_of(self.step); }, nb::rv_policy::automatic)
        .def_prop_ro("dual", [](const Move& self) { return numpy_of(self.dual); }, nb::rv_policy::automatic)
        .def_ro("slope", &Move::slope, "Slope of J along the step.")
        .def_ro("longest", &Move::longest, "The length, of at most 1, that the boundary leaves.")
        .def_ro("decrement", &Move::decrement, "The fall of J that the quadratic model promises.");
    nb::class_<Trial>(m, "Trial", "A point and what J is made of there.")
        .def_prop_ro("x", [](const Trial& self) { return numpy_of(self.x); }, nb::rv_policy::automatic)
        .def_prop_ro("alpha", [](const Trial& self) { return numpy_of(self.alpha); }, nb::rv_policy::automatic)
        .def_prop_ro("off", [](const Trial& self) { return numpy_of(self.off); }, nb::rv_policy::automatic,
                     "Outputs less the target.")
        .def_ro("error", &Trial::error, "The mean squared error.")
        .def("value", &Trial::value, nb::arg("mu"), "J.");
    nb::class_<Objective>(m, "Objective", "What J is made of, at the Gaussians that the basis holds.")
        .def(nb::init<ConstMatrix, ConstVector, ConstVector>(), nb::arg("basis"), nb::arg("y"), nb::arg("shares"))
        .def(
            "trial",
            [](const Objective& self, ConstVector x, ConstVector step, double far) {
                require(length(x) == self.size() && length(step) == self.size());
                nb::gil_scoped_release release;
                return self.trial(x.data(), step.data(), far);
            },
            nb::arg("x"), nb::arg("step"), nb::arg("length"), "The point a step further.");
    nb::class_<NewtonSystem>(m, "NewtonSystem", "A factored system; its Hessian is overwritten.")
        .def(nb::init<Matrix, ConstVector, int64_t, bool, double, ConstVector>(), nb::arg("upper").noconvert(),
             nb::arg("curvature"), nb::arg("n_alpha"), nb::arg("alpha_moves"), nb::arg("lam"), nb::arg("lam_w"))
        .def_prop_ro("positive", &NewtonSystem::positive, "Whether it is positive definite; if not, it solves nothing.")
        .def("solve", &NewtonSystem::solve, nb::arg("slopes"), "The step down slopes by alpha, s and w.")
        .def("direction", &NewtonSystem::direction, nb::arg("gradient"), nb::arg("plain"), nb::arg("x"), nb::arg("z"),
             nb::arg("rule"), "The best of a step for plain (mu k) and of corrections.")
        .def("straight_trial", &NewtonSystem::straight_trial, nb::arg("objective"), nb::arg("x"), nb::arg("z"),
             nb::arg("gradient"), nb::arg("move"), nb::arg("length"), nb::arg("fraction"), nb::arg("mu"),
             "The point a step further, or what straightening makes of it if J is lower there.")
        .def("straightened", &NewtonSystem::straightened, nb::arg("objective"), nb::arg("off"), nb::arg("expected"),
             "The step of alpha alone that undoes what dE/dalpha is beyond expected.");
    m.def(
        "slopes",
        [](ConstVector gradient, ConstVector targets, ConstVector x, int64_t n) {
            require(length(targets) == length(x) && length(gradient) == length(x) - 2 - n && n >= 0);
            return numpy_of(slopes_of(gradient.data(), targets.data(), x.data(), n, length(x)));
        },
        nb::arg("gradient"), nb::arg("targets"), nb::arg("x"), nb::arg("n_alpha"),
        "Gradient of J by alpha, s and w, with targets in place of mu k.");
    m.def(
        "slope_along",
        [](ConstVector slopes, ConstVector step, int64_t n) {
            require(length(slopes) == length(step) - 2 && 2 * n <= length(slopes) && n >= 0);
            return slope_along(slopes.data(), step.data(), n, length(step));
        },
        nb::arg("slopes"), nb::arg("step"), nb::arg("n_alpha"), "The derivative of J along a step.");
    m.def(
        "longest_step",
        [](ConstVector x, ConstVector step, double fraction) {
            require(length(x) == length(step));
            return longest_step(x.data(), step.data(), length(x), fraction);
        },
        nb::arg("x"), nb::arg("step"), nb::arg("fraction"),
        "The longest step, at most 1, that leaves 1 - fraction of every x.");
    m.def(
        "recentring",
        [](ConstVector x, ConstVector z, ConstVector step, ConstVector dual, ConstVector middle, double far,
           double band) {
            const int64_t n = length(x);
            require(length(z) == n && length(step) == n && length(dual) == n && length(middle) == n);
            const Recentring recentring{far, band};
            Numbers out(n);
            for (int64_t i = 0; i < n; ++i)
                out[i] = recentring.lack(x.data()[i], z.data()[i], step.data()[i], dual.data()[i], middle.data()[i]);
            return numpy_of(out);
        },
        nb::arg("x"), nb::arg("z"), nb::arg("step"), nb::arg("dual"), nb::arg("middle"), nb::arg("length"),
        nb::arg("band"), "What the products x z lack, at a step of this length, to be within band of middle.");
    m.def("add_second_derivatives", &add_second_derivatives, nb::arg("upper").noconvert(), nb::arg("n"), nb::arg("live"),
          nb::arg("cross"), nb::arg("among"), "Add to a Hessian what is beyond Gauss-Newton.");
    m.def("move_multipliers", &move_multipliers, nb::arg("z").noconvert(), nb::arg("dual"), nb::arg("middle"), nb::arg("x"),
          nb::arg("fraction"), nb::arg("factor"), "Move multipliers along dual, near middle / x.");
    m.def("exponentials", &exponentials, nb::arg("H").noconvert(),
          "H <- exp(H), for entries below 700; what would be below 1e-307 becomes 0.");
    m.def("weight_derivatives", &weight_derivatives, nb::arg("across"), nb::arg("moments"), nb::arg("out").noconvert(),
          "Derivatives of the outputs by the weights, inputs x samples.");
    m.def("second_derivatives", &second_derivatives, nb::arg("K"), nb::arg("X"), nb::arg("C"), nb::arg("alpha"),
          nb::arg("e"), nb::arg("least"), nb::sig("def second_derivatives(K: NDArray[numpy.float64], X: "
          "NDArray[numpy.float64], C: NDArray[numpy.float64], alpha: NDArray[numpy.float64], e: NDArray[numpy.float64], "
          "least: float) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"),
          "Sums of e K D_i for every centre, and of e alpha K D_i D_j.");
    m.def("drop_corners", &drop_corners, nb::arg("V").noconvert(), nb::arg("shares").noconvert(),
          nb::arg("may_go"), nb::arg("room"),
          "Leave out corners, the one that costs least first.");
}

}  // namespace sparsepath
