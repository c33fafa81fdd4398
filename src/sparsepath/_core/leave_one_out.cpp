#include "leave_one_out.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "simd.hpp"
#include "threads.hpp"
#include "ties.hpp"
#include "vectors.hpp"

namespace sparsepath {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double NO_DECISION = 1e-10;     // difference of two scores, over their reach, that decides nothing
constexpr double LABEL_ROUNDING = 4e-15;  // and what rounding leaves of a difference of labels and residuals
constexpr int64_t TARGET_STRIP = 512;            // samples that several targets are judged for at once
constexpr int64_t LANES = 8;              // numbers of the widest vector; a row is as long as some of these
constexpr int64_t SHORT_ROW = 256;        // numbers of a row below which the processor does not fetch the next in time

int64_t padded(int64_t width) { return (width + LANES - 1) / LANES * LANES; }

// Four rows together, so that the vectors that all of them meet are read once and no sum waits for another.
struct FourRows {
    double* row[4];
};

// Products of each row with `dual` and `target`, and its squares times `metric`. n is a multiple of LANES.
SPARSEPATH_WIDE void take_products(const FourRows& of, const double* SPARSEPATH_RESTRICT dual,
                                   const double* SPARSEPATH_RESTRICT target, const double* SPARSEPATH_RESTRICT metric,
                                   int64_t n, double (*out)[3]) {
    const double *a = of.row[0], *b = of.row[1], *c = of.row[2], *d = of.row[3];
    double fa = 0, fb = 0, fc = 0, fd = 0, ta = 0, tb = 0, tc = 0, td = 0, qa = 0, qb = 0, qc = 0, qd = 0;
    n = n / LANES * LANES;
#pragma omp simd reduction(+ : fa, fb, fc, fd, ta, tb, tc, td, qa, qb, qc, qd)
    for (int64_t i = 0; i < n; ++i) {
        fa += a[i] * dual[i], ta += a[i] * target[i], qa += a[i] * a[i] * metric[i];
        fb += b[i] * dual[i], tb += b[i] * target[i], qb += b[i] * b[i] * metric[i];
        fc += c[i] * dual[i], tc += c[i] * target[i], qc += c[i] * c[i] * metric[i];
        fd += d[i] * dual[i], td += d[i] * target[i], qd += d[i] * d[i] * metric[i];
    }
    out[0][0] = fa, out[0][1] = ta, out[0][2] = qa;
    out[1][0] = fb, out[1][1] = tb, out[1][2] = qb;
    out[2][0] = fc, out[2][1] = tc, out[2][2] = qc;
    out[3][0] = fd, out[3][1] = td, out[3][2] = qd;
}

// Take f D off each row; products of what is left with u, and its squares times `over`.
SPARSEPATH_WIDE void subtract_and_bound(const FourRows& of, const double* f, const double* SPARSEPATH_RESTRICT D,
                                        const double* SPARSEPATH_RESTRICT u, const double* SPARSEPATH_RESTRICT over,
                                        int64_t n, double (*out)[2]) {
    double *SPARSEPATH_RESTRICT a = of.row[0], *SPARSEPATH_RESTRICT b = of.row[1];
    double *SPARSEPATH_RESTRICT c = of.row[2], *SPARSEPATH_RESTRICT d = of.row[3];
    const double f0 = f[0], f1 = f[1], f2 = f[2], f3 = f[3];
    double ha = 0, hb = 0, hc = 0, hd = 0, qa = 0, qb = 0, qc = 0, qd = 0;
    n = n / LANES * LANES;
#pragma omp simd reduction(+ : ha, hb, hc, hd, qa, qb, qc, qd)
    for (int64_t i = 0; i < n; ++i) {
        const double x = a[i] - f0 * D[i], y = b[i] - f1 * D[i], z = c[i] - f2 * D[i], w = d[i] - f3 * D[i];
        a[i] = x, b[i] = y, c[i] = z, d[i] = w;
        ha += x * u[i], hb += y * u[i], hc += z * u[i], hd += w * u[i];
        qa += x * x * over[i], qb += y * y * over[i], qc += z * z * over[i], qd += w * w * over[i];
    }
    out[0][0] = ha, out[0][1] = qa;
    out[1][0] = hb, out[1][1] = qb;
    out[2][0] = hc, out[2][1] = qc;
    out[3][0] = hd, out[3][1] = qd;
}

// What the leave-one-out residual e = r / p of a sample costs; the squared loss is divided by the total weight later.
struct PlainSquare {
    double operator()(int64_t, double e) const { return e * e; }
};
template <class Loss>
struct Weighted {
    Loss loss;
    const double *weight, *scale;
    double operator()(int64_t i, double e) const { return weight[i] * loss(scale[i] * e, 0.0, 0.0); }
};

// Sum of the losses of (r - z tau) / (p - z^2 inverse); infinite if nothing is left of a p.
// Sum of the losses of (r - z tau) / (p - z^2 inverse) over samples and targets; infinite if nothing is left of a p.
template <class Loss>
SPARSEPATH_WIDE double total_losses(Loss loss, const double* z, const double* tau, double inverse, const double* r,
                                    int64_t r_stride, const double* p, int64_t m, int64_t T) {
    double total = 0.0, least = INF, over[TARGET_STRIP];
    for (int64_t first = 0; first < m; first += TARGET_STRIP) {
        const int64_t count = std::min(TARGET_STRIP, m - first);
        const double *x = z + first, *before = p + first;
#pragma omp simd reduction(min : least)
        for (int64_t i = 0; i < count; ++i) {
            const double left = before[i] - x[i] * x[i] * inverse;
            over[i] = 1.0 / left;
            least = left < least ? left : least;
        }
        for (int64_t t = 0; t < T; ++t) {
            const double step = tau[t], *residual = r + t * r_stride + first;
#pragma omp simd reduction(+ : total)
            for (int64_t i = 0; i < count; ++i) total += loss(first + i, (residual[i] - x[i] * step) * over[i]);
        }
    }
    return least > ROOM ? total : INF;
}

// Weight of the samples whose own class does not win: (r_own - r) / g >= 2 p - blur for an earlier class, + blur for a
// later one: of equal scores the first wins. With y = +-1: 2 y r / g >= 2 p - 2 y blur.
SPARSEPATH_WIDE double wrong_classes(const double* z, const double* tau, double inverse, const double* r,
                                     int64_t r_stride, const double* p, const LossSpec& spec, double blur, int64_t m,
                                     int64_t T) {
    double total = 0.0, least = INF, own[TARGET_STRIP], other[TARGET_STRIP];
    for (int64_t first = 0; first < m; first += TARGET_STRIP) {
        const int64_t count = std::min(TARGET_STRIP, m - first);
        const double *x = z + first, *label = spec.label.data() + first, *scale = spec.scale.data() + first;
        const double *before = p + first, *weight = spec.weight.data() + first;
        for (int64_t i = 0; i < count; ++i) own[i] = 0.0, other[i] = INF;
        if (T == 1) {
            const double step = tau[0], *residual = r + first;
#pragma omp simd
            for (int64_t i = 0; i < count; ++i) {
                own[i] = 2.0 * label[i] * scale[i] * (residual[i] - x[i] * step);
                other[i] = -2.0 * label[i] * blur;
            }
        }
        for (int64_t t = 0; t < (T == 1 ? 0 : T); ++t) {
            const double step = tau[t], *residual = r + t * r_stride + first, which = static_cast<double>(t);
#pragma omp simd
            for (int64_t i = 0; i < count; ++i) {
                const double e = scale[i] * (residual[i] - x[i] * step), rival = which < label[i] ? e - blur : e + blur;
                const bool mine = label[i] == which;
                own[i] = mine ? e : own[i];
                other[i] = !mine && rival < other[i] ? rival : other[i];
            }
        }
#pragma omp simd reduction(+ : total) reduction(min : least)
        for (int64_t i = 0; i < count; ++i) {
            const double left = before[i] - x[i] * x[i] * inverse;
            total += own[i] - other[i] >= 2.0 * left ? weight[i] : 0.0;
            least = left < least ? left : least;
        }
    }
    return least > ROOM ? total : INF;
}

int64_t rows_per_piece(int64_t width) { return std::max<int64_t>(8, (1 << 15) / width); }

}  // namespace

LeaveOneOut::LeaveOneOut(int64_t n_, int64_t m_, int64_t room, const double* targets, int64_t T_, const double* p,
                         double alpha_, double total_)
    : n(n_), m(m_), T(T_), alpha(alpha_), total(total_), stride_(padded(m_ + room)), width_(m_), rows_(n_ * stride_),
      targets_(T_ * stride_), weighted_targets_(T_ * stride_), metric_(stride_, alpha_), u_(T_ * stride_),
      over_(stride_), p_(p, p + m_), squares_(n_), floor_(n_), computed_(n_), live_(n_, 0), doubt_(n_, 0),
      pivots_(n_, INF), products_(n_ * T_), bounds_(n_), errors_(n_, INF), losses_(m_), along_(T_), ur_(T_) {
    std::fill_n(metric_.begin(), m, 1.0);
    for (int64_t t = 0; t < T; ++t) std::copy(targets + t * m, targets + (t + 1) * m, &targets_[t * stride_]);
}

// In tiles, so that rows of data in C order come from the cache for all but the first of their columns.
void LeaveOneOut::load(const RawColumns& raw, int64_t first, int n_threads) {
    constexpr int64_t TALL = 64;
    parallel_ranges(raw.n, LANES, n_threads, [&](int64_t low, int64_t high) {
        for (int64_t i = low; i < high; ++i) std::fill_n(row(first + i) + m, stride_ - m, 0.0);
        for (int64_t top = 0; top < m; top += TALL)
            for (int64_t i = low; i < high; ++i) {
                const double *x = raw.X + i * raw.by_feature, mean = raw.means[i], left = raw.left[i], scale = raw.scales[i];
                double* z = row(first + i);
                for (int64_t s = top; s < std::min(top + TALL, m); ++s)
                    z[s] = (x[s * raw.by_sample] - mean - left) * raw.roots[s] * scale;
            }
    });
}

void LeaveOneOut::set_columns(const double* squares, const double* floor, const bool* live) {
    for (int64_t i = 0; i < n; ++i) {
        squares_[i] = squares[i];
        floor_[i] = floor[i];
        computed_[i] = squares[i] + alpha;
        live_[i] = live[i];
        if (live[i]) open_.push_back(i);
    }
}

void LeaveOneOut::set_loss(LossSpec spec) {
    loss_ = std::move(spec);
    measure();
    target_squares = residual_squares;
    empty_error = error;
    empty_squared = squared_error;
}

double LeaveOneOut::dot_augmented(const double* a, const double* b) const {
    return dot(a, b, m) + alpha * dot(a + m, b + m, width_ - m);
}

// How little a score may beat its rivals and decide nothing: what should be equal must not be told apart by rounding.
double LeaveOneOut::blur_of(int64_t added, int64_t dropped) const {
    if (!loss_.by_class()) return 0.0;
    double reach = chosen_reach_;
    if (added >= 0) reach += loss_.reach[added];
    if (dropped >= 0) reach -= loss_.reach[dropped];
    return NO_DECISION * std::min(reach, 1.0) + LABEL_ROUNDING;
}

double LeaveOneOut::judge(const double* z, const double* tau, double inverse, const double* r, int64_t r_stride,
                          const double* p, double blur) const {
    if (loss_.squared()) return judge_squared(z, tau, inverse, r, r_stride, p);
    if (!loss_.by_class())
        return std::visit(
            [&](auto loss) {
                const Weighted<decltype(loss)> cost{loss, loss_.weight.data(), loss_.scale.data()};
                return total_losses(cost, z, tau, inverse, r, r_stride, p, m, T);
            },
            loss_.loss);
    return wrong_classes(z, tau, inverse, r, r_stride, p, loss_, blur, m, T);
}

double LeaveOneOut::judge_squared(const double* z, const double* tau, double inverse, const double* r, int64_t r_stride,
                                  const double* p) const {
    return total_losses(PlainSquare{}, z, tau, inverse, r, r_stride, p, m, T) / total;
}

// The criterion with a feature added.
double LeaveOneOut::evaluate(int64_t i, double blur) const {
    std::vector<double> tau(T);
    for (int64_t t = 0; t < T; ++t) tau[t] = products_[i * T + t] / pivots_[i];
    return judge(row(i), tau.data(), 1.0 / pivots_[i], targets_.data(), stride_, p_.data(), blur);
}

double LeaveOneOut::evaluate_squared(int64_t i) const {
    std::vector<double> tau(T);
    for (int64_t t = 0; t < T; ++t) tau[t] = products_[i * T + t] / pivots_[i];
    return judge_squared(row(i), tau.data(), 1.0 / pivots_[i], targets_.data(), stride_, p_.data());
}

// The criterion of the model as it stands, losses of the samples, and what bounds need.
void LeaveOneOut::measure() {
    bool tight = false;
    for (int64_t i = 0; i < m; ++i) {
        tight |= p_[i] <= ROOM;
        const double left = std::max(p_[i], ROOM);
        over_[i] = 1.0 / (left * left);
    }
    residual_squares = 0.0;
    double squares = 0.0;
    std::fill(losses_.begin(), losses_.end(), 0.0);
    for (int64_t t = 0; t < T; ++t) {
        const double* r = &targets_[t * stride_];
        double* u = &u_[t * stride_];
        double ur = 0.0, rr = 0.0;
        for (int64_t i = 0; i < m; ++i) {
            u[i] = r[i] * over_[i];
            const double square = u[i] * r[i];
            losses_[i] += square;
            ur += square;
            rr += r[i] * r[i];
        }
        ur_[t] = ur;
        squares += ur;
        residual_squares += rr;
        double* weighted = &weighted_targets_[t * stride_];
        std::copy(r, r + m, weighted);
        for (int64_t i = m; i < width_; ++i) weighted[i] = alpha * r[i];
    }
    squared_error = tight ? INF : squares / total;
    error = squared_error;
    swept_ = false;
    exchanges_.valid = false;
    chosen_reach_ = 0.0;
    if (loss_.squared()) return;
    if (!loss_.reach.empty())
        for (int64_t feature : chosen) chosen_reach_ += loss_.reach[feature];
    const double blur = blur_of(-1, -1);
    double sum = 0.0;
    for (int64_t i = 0; i < m; ++i) {
        double one = 0.0;
        const double left = std::max(p_[i], ROOM);
        if (loss_.by_class()) {
            const double label = loss_.label[i];
            bool wrong = false;
            if (T == 1) {
                wrong = label * loss_.scale[i] * targets_[i] - left >= -label * blur;
            } else {
                double own = 0.0, other = INF;
                for (int64_t t = 0; t < T; ++t) {
                    const double e = loss_.scale[i] * targets_[t * stride_ + i], which = static_cast<double>(t);
                    if (label == which) own = e;
                    else other = std::min(other, which < label ? e - blur : e + blur);
                }
                wrong = own - other >= 2.0 * left;
            }
            one = wrong ? loss_.weight[i] : 0.0;
        } else {
            for (int64_t t = 0; t < T; ++t) {
                const double e = loss_.scale[i] * targets_[t * stride_ + i] / left;
                one += loss_.weight[i] * std::visit([&](auto loss) { return loss(e, 0.0, 0.0); }, loss_.loss);
            }
        }
        losses_[i] = one;
        sum += one;
    }
    if (!tight) error = sum;
}

// Which addition is best -------------------------------------------------------------------------------------------

// Make the pending change in up to four rows, and take their pivots, products with the targets, and bounds or errors.
// `blank` stands for the rows that are missing.
void LeaveOneOut::sweep_rows(const int64_t* which, int64_t count, double* blank) {
    const int64_t width = padded(width_);
    const bool pending = change_.pending, added = pending && change_.place < 0;
    const double *target = weighted_targets_.data(), *D = pending ? change_.D.data() : target;
    FourRows of;
    double f[4] = {}, products[4][3], sums[4][2];
    for (int64_t j = 0; j < 4; ++j) of.row[j] = j < count ? row(which[j]) : blank + (j - 1) * stride_;
    take_products(of, added ? change_.dual.data() : target, target, metric_.data(), width, products);
    for (int64_t j = 0; j < count; ++j) {
        if (pending) f[j] = added ? products[j][0] : -of.row[j][change_.place];
        double* c = &products_[which[j] * T];
        c[0] = products[j][1] - f[j] * along_[0];
        for (int64_t t = 1; t < T; ++t) c[t] = dot(of.row[j], &weighted_targets_[t * stride_], width) - f[j] * along_[t];
        take_pivot(which[j], products[j][2] + alpha - f[j] * f[j] * change_.pivot);
    }
    const bool bounded = loss_.squared();
    if (bounded) subtract_and_bound(of, f, D, u_.data(), over_.data(), width, sums);
    for (int64_t j = 0; j < count; ++j) {
        if (!bounded && pending) subtract(of.row[j], f[j], D, width);
        const int64_t i = which[j];
        const bool collinear = !(pivots_[i] > floor_[i]);
        if (bounded) bounds_[i] = collinear ? INF : bound_of(i, sums[j][0], sums[j][1]);
        else errors_[i] = collinear ? INF : evaluate(i, blur_of(i, -1));
    }
}

void LeaveOneOut::take_pivot(int64_t i, double pivot) {
    pivots_[i] = pivot;
    if (pivot < SECOND_GO * SECOND_GO * computed_[i] && pivot > floor_[i]) doubt_[i] = 1;
    if (pivot > computed_[i]) computed_[i] = pivot;
}

// The bound on the squared loss from h = z'u of the first target and q = sum z^2 / p^2. By Cauchy and Schwarz
// 2 |tau h| <= u'r + tau^2 q, so that the factors allow for more than rounding.
double LeaveOneOut::bound_of(int64_t i, double h, double q) const {
    double bound = 0.0;
    q *= 1.0 - 2.0 * ROUNDING;
    for (int64_t t = 0; t < T; ++t) {
        const double tau = products_[i * T + t] / pivots_[i];
        if (t) h = dot(row(i), &u_[t * stride_], m);
        bound += (1.0 - 2.0 * ROUNDING) * ur_[t] + tau * (tau * q - 2.0 * h);
    }
    return bound / total;
}

void LeaveOneOut::sweep(int n_threads) {
    if (swept_) return;
    if (change_.pending)
        for (int64_t t = 0; t < T; ++t) along_[t] = dot(change_.D.data(), &weighted_targets_[t * stride_], width_);
    else
        change_.pivot = 0.0;
    for (int64_t i : evaluated_) errors_[i] = INF;
    evaluated_.clear();
    const int64_t count = static_cast<int64_t>(open_.size());
    parallel_ranges(count, rows_per_piece(width_), n_threads, [&](int64_t first, int64_t last) {
        std::vector<double> blank(3 * stride_);
        for (int64_t i = first; i < last; i += 4) {
            for (int64_t next = i + 8; width_ <= SHORT_ROW && next < std::min(i + 12, count); ++next)
                for (int64_t k = 0; k < width_; k += LANES) SPARSEPATH_FETCH(row(open_[next]) + k);
            sweep_rows(&open_[i], std::min<int64_t>(4, last - i), blank.data());
        }
    });
    doubtful.clear();
    for (int64_t i = 0; i < n; ++i) {
        if (doubt_[i]) doubtful.push_back(i);
        doubt_[i] = 0;
    }
    change_.pending = false;
    swept_ = true;
}

void LeaveOneOut::follow(int n_threads) { sweep(n_threads); }

// Squared loss: evaluate in the order of the bounds until the next bound exceeds the best value.
void LeaveOneOut::judge_bounded(const bool* allowed) {
    double least = INF, lowest = INF;
    for (int64_t i : evaluated_)
        if (!allowed || allowed[i]) least = std::min(least, errors_[i]);
    auto evaluate = [&](int64_t i) {
        errors_[i] = evaluate_squared(i);
        bounds_[i] = INF;
        evaluated_.push_back(i);
        least = std::min(least, errors_[i]);
    };
    int64_t first = -1;
    for (int64_t i : open_)
        if (bounds_[i] < lowest && (!allowed || allowed[i])) lowest = bounds_[i], first = i;
    if (first < 0 || lowest > ties::limit(least, empty_error)) return;
    evaluate(first);
    std::vector<int64_t> hopeful;
    const double most = ties::limit(least, empty_error);
    for (int64_t i : open_)
        if (bounds_[i] <= most && bounds_[i] < INF && (!allowed || allowed[i])) hopeful.push_back(i);
    std::sort(hopeful.begin(), hopeful.end(), [&](int64_t a, int64_t b) { return bounds_[a] < bounds_[b]; });
    for (int64_t i : hopeful) {
        if (bounds_[i] > ties::limit(least, empty_error)) break;
        evaluate(i);
    }
}

const std::vector<double>& LeaveOneOut::additions(const bool* allowed, int n_threads) {
    sweep(n_threads);
    if (loss_.squared()) judge_bounded(allowed);
    return errors_;
}

Candidate LeaveOneOut::best_addition(const bool* allowed, int n_threads) {
    additions(allowed, n_threads);
    const std::vector<int64_t>& known = loss_.squared() ? evaluated_ : open_;
    double least = INF;
    for (int64_t i : known)
        if (errors_[i] < least && (!allowed || allowed[i])) least = errors_[i];
    if (!(least < INF)) return {};
    const double most = ties::limit(least, empty_error);
    Candidate best{n, INF};
    for (int64_t i : known)
        if (i < best.feature && errors_[i] <= most && (!allowed || allowed[i])) best = {i, errors_[i]};
    return best;
}

std::vector<double> LeaveOneOut::squared_additions(const int64_t* features, int64_t count) {
    std::vector<double> out(count, INF);
    for (int64_t k = 0; k < count; ++k)
        if (live_[features[k]] && pivots_[features[k]] > floor_[features[k]]) out[k] = evaluate_squared(features[k]);
    return out;
}

void LeaveOneOut::read_rows(const int64_t* features, int64_t count, double* out) const {
    for (int64_t k = 0; k < count; ++k) std::copy_n(row(features[k]), m, out + k * m);
}

// Changes ----------------------------------------------------------------------------------------------------------

bool LeaveOneOut::needs_column(int64_t feature) const {
    const double* own = row(feature);
    return dot_augmented(own, own) + alpha < SECOND_GO * SECOND_GO * squares_[feature];
}

// Make a row orthogonal to the chosen columns to the last digit.
void LeaveOneOut::orthogonalise(double* row) const {
    const int64_t k = static_cast<int64_t>(chosen.size());
    std::vector<double> along(k);
    for (int round = 0; round < 2; ++round) {
        for (int64_t j = 0; j < k; ++j) along[j] = dot_augmented(row, &Q_[j * stride_]);
        for (int64_t j = 0; j < k; ++j) subtract(row, along[j], &Q_[j * stride_], width_);
    }
}

void LeaveOneOut::renew(int64_t feature, const double* column) {
    double* own = row(feature);
    std::copy_n(column, m, own);
    std::fill(own + m, own + width_, 0.0);
    orthogonalise(own);
    computed_[feature] = dot_augmented(own, own) + alpha;
    change_.pivot = 0.0;
    std::vector<double> blank(3 * stride_);
    sweep_rows(&feature, 1, blank.data());
    doubt_[feature] = 0;
}

bool LeaveOneOut::add(int64_t feature, const double* column) {
    const int64_t place = free_place();
    std::vector<double> D(stride_);
    std::copy_n(row(feature), width_, D.data());
    if (column) {
        std::copy_n(column, m, D.data());
        std::fill(D.begin() + m, D.end(), 0.0);
        orthogonalise(D.data());
    }
    const double pivot = dot_augmented(D.data(), D.data()) + alpha;
    if (!live_[feature] || !(pivot > floor_[feature])) return false;
    D[place] = -1.0;
    std::vector<double> dual(D);
    for (int64_t i = 0; i < width_; ++i) dual[i] *= metric_[i] / pivot;
    for (int64_t t = 0; t < T; ++t) {
        double* target = &targets_[t * stride_];
        const double step = dot(target, dual.data(), width_);
        subtract(target, step, D.data(), width_);
    }
    const int64_t k = static_cast<int64_t>(chosen.size());
    if (static_cast<int64_t>(Q_.size()) < (k + 1) * stride_) Q_.resize((k + 1) * stride_);
    const double root = 1.0 / std::sqrt(pivot);
    double* q = &Q_[k * stride_];
    std::fill(q, q + stride_, 0.0);
    for (int64_t i = 0; i < width_; ++i) q[i] = D[i] * root;
    for (int64_t i = 0; i < m; ++i) p_[i] -= q[i] * q[i];
    chosen.push_back(feature);
    places_.push_back(place);
    live_[feature] = 0;
    open_.erase(std::lower_bound(open_.begin(), open_.end(), feature));
    errors_[feature] = bounds_[feature] = INF;
    change_ = Change{std::move(D), std::move(dual), pivot, -1, true};
    measure();
    if (path.kept) keep();
    return true;
}

double LeaveOneOut::spread() const {
    const double scale = loss_.squared() ? 1.0 / total : 1.0;
    double sum = 0.0;
    for (int64_t i = 0; i < m; ++i) {
        const double off = losses_[i] * scale - error * loss_.weight[i];
        sum += off * off;
    }
    return sum;
}

void LeaveOneOut::keep() {
    path.errors.push_back(error);
    path.spreads.push_back(spread());
    const std::vector<double> now = coef();
    path.coef.insert(path.coef.end(), now.begin(), now.end());
}

void LeaveOneOut::start_path() {
    path = Path{};
    path.kept = true;
    keep();
}

bool LeaveOneOut::advance(int64_t size, const bool* allowed, int n_threads) {
    while (static_cast<int64_t>(chosen.size()) < size && !vanished()) {
        sweep(n_threads);
        if (!doubtful.empty()) return false;
        const Candidate best = best_addition(allowed, n_threads);
        if (best.feature < 0) return true;
        if (needs_column(best.feature)) return false;
        add(best.feature, nullptr);
    }
    return true;
}

void LeaveOneOut::drop(int64_t feature) {
    const int64_t k = static_cast<int64_t>(chosen.size());
    const int64_t index = std::find(chosen.begin(), chosen.end(), feature) - chosen.begin();
    const int64_t place = places_[index];
    std::vector<double> d(k);
    double norm = 0.0;
    for (int64_t j = 0; j < k; ++j) norm += Q_[j * stride_ + place] * Q_[j * stride_ + place];
    norm = std::sqrt(norm);
    for (int64_t j = 0; j < k; ++j) d[j] = -Q_[j * stride_ + place] / norm;
    std::vector<double> D(stride_, 0.0);
    for (int64_t j = 0; j < k; ++j) subtract(D.data(), -d[j], &Q_[j * stride_], width_);
    for (int64_t i = 0; i < m; ++i) p_[i] += D[i] * D[i];
    for (double& x : D) x /= norm;
    D[place] = -1.0;
    for (int64_t t = 0; t < T; ++t) {
        double* target = &targets_[t * stride_];
        subtract(target, -target[place], D.data(), width_);
        target[place] = 0.0;
    }
    // The reflection that takes the direction to the last place of the basis, which then goes.
    d[k - 1] += std::copysign(1.0, d[k - 1]);
    const double scale = 2.0 / dot(d.data(), d.data(), k);
    std::vector<double> along(width_, 0.0);
    for (int64_t j = 0; j < k; ++j) subtract(along.data(), -d[j], &Q_[j * stride_], width_);
    for (int64_t j = 0; j < k; ++j) {
        double* q = &Q_[j * stride_];
        subtract(q, d[j] * scale, along.data(), width_);
        q[place] = 0.0;
    }
    chosen.erase(chosen.begin() + index);
    places_.erase(places_.begin() + index);
    double* own = row(feature);
    std::copy_n(D.data(), width_, own);
    own[place] = 0.0;
    std::fill(own + width_, own + stride_, 0.0);
    live_[feature] = 1;
    open_.insert(std::lower_bound(open_.begin(), open_.end(), feature), feature);
    computed_[feature] = 1.0 / (norm * norm);
    change_ = Change{std::move(D), {}, -1.0 / (norm * norm), place, true};
    measure();
}

// Where the coefficients of one more feature stand in a row.
int64_t LeaveOneOut::free_place() {
    const int64_t k = static_cast<int64_t>(chosen.size());
    if (width_ - m > k)
        for (int64_t place = m;; ++place)
            if (std::find(places_.begin(), places_.end(), place) == places_.end()) return place;
    if (width_ == stride_) widen(std::min(std::max<int64_t>(stride_ - m, 8), n - (stride_ - m)));
    return width_++;
}

void LeaveOneOut::widen(int64_t more) {
    const int64_t wider = padded(stride_ + more);
    auto widen = [&](auto& old, int64_t count) {
        auto out = std::remove_reference_t<decltype(old)>(count * wider, 0.0);
        for (int64_t i = 0; i < count; ++i) std::copy_n(&old[i * stride_], width_, &out[i * wider]);
        old = std::move(out);
    };
    widen(rows_, n);
    widen(targets_, T);
    widen(weighted_targets_, T);
    widen(u_, T);
    widen(Q_, static_cast<int64_t>(chosen.size()));
    metric_.resize(wider, alpha);
    over_.resize(wider);
    stride_ = wider;
}

std::vector<double> LeaveOneOut::coef() const {
    std::vector<double> out(chosen.size() * T);
    for (size_t j = 0; j < chosen.size(); ++j)
        for (int64_t t = 0; t < T; ++t) out[j * T + t] = targets_[t * stride_ + places_[j]];
    return out;
}

// Removals and exchanges -------------------------------------------------------------------------------------------

// The direction in which a chosen feature is dropped is q, and its coefficient w_b gives r + w_b q / norm, p + q^2.
void LeaveOneOut::removal(int64_t index, double* r, double* p) const {
    const int64_t k = static_cast<int64_t>(chosen.size()), place = places_[index];
    double norm = 0.0;
    for (int64_t j = 0; j < k; ++j) norm += Q_[j * stride_ + place] * Q_[j * stride_ + place];
    norm = std::sqrt(norm);
    std::vector<double> q(m, 0.0);
    for (int64_t j = 0; j < k; ++j) subtract(q.data(), Q_[j * stride_ + place] / norm, &Q_[j * stride_], m);
    for (int64_t i = 0; i < m; ++i) p[i] = p_[i] + q[i] * q[i];
    for (int64_t t = 0; t < T; ++t) {
        const double* target = &targets_[t * stride_];
        std::copy_n(target, m, r + t * m);
        subtract(r + t * m, -target[place] / norm, q.data(), m);
    }
}

std::vector<double> LeaveOneOut::removals(bool squared) const {
    const int64_t k = static_cast<int64_t>(chosen.size());
    std::vector<double> out(k), r(T * m), p(m), zero(m, 0.0), tau(T, 0.0);
    for (int64_t b = 0; b < k; ++b) {
        removal(b, r.data(), p.data());
        out[b] = squared ? judge_squared(zero.data(), tau.data(), 0.0, r.data(), m, p.data())
                         : judge(zero.data(), tau.data(), 0.0, r.data(), m, p.data(), blur_of(-1, chosen[b]));
    }
    return out;
}

bool LeaveOneOut::is_steep() const {
    const int64_t k = static_cast<int64_t>(chosen.size());
    for (int64_t b = 0; b < k; ++b) {
        double square = 0.0;
        for (int64_t j = 0; j < k; ++j) square += Q_[j * stride_ + places_[b]] * Q_[j * stride_ + places_[b]];
        if (square * squares_[chosen[b]] > STEEP) return true;
    }
    return false;
}

void LeaveOneOut::prepare_exchanges() {
    if (exchanges_.valid) return;
    const int64_t k = static_cast<int64_t>(chosen.size());
    Exchanges& e = exchanges_;
    e.norms.assign(k, 0.0), e.q.assign(k * m, 0.0), e.G.assign(k * k, 0.0);
    e.r.resize(k * T * m), e.p.resize(k * m);
    for (int64_t b = 0; b < k; ++b) {
        double norm = 0.0;
        for (int64_t j = 0; j < k; ++j) norm += Q_[j * stride_ + places_[b]] * Q_[j * stride_ + places_[b]];
        e.norms[b] = norm = std::sqrt(norm);
        for (int64_t j = 0; j < k; ++j) {
            const double* q = &Q_[j * stride_];
            const double d = -q[places_[b]] / norm;
            subtract(&e.q[b * m], -d, q, m);
            for (int64_t l = 0; l < k; ++l) e.G[b * k + l] += d * q[places_[l]] / norm;
        }
        removal(b, &e.r[b * T * m], &e.p[b * m]);
    }
    e.valid = true;
}

// With the coefficient f = b_i[b] that dropping b frees, and q, D = q / norm its direction,
//
//     z_i' = z_i + f D    pivot_i' = pivot_i + (f / norm)^2    c_i' = c_i + f w_b / norm^2,
//
// so that z_i'r' = c_i' - alpha b_i'w' and |z_i'|^2 = pivot_i' - alpha - alpha |b_i'|^2 follow from coefficients alone.
// With u' = r' / p'^2 and beta = u'r' / r'r', |z'u' - beta z'r'| <= |z'| |u' - beta r'|, which bounds the squared loss.
std::vector<double> LeaveOneOut::exchanges(int64_t b, const bool* allowed, double most, int n_threads) {
    sweep(n_threads);
    prepare_exchanges();
    const int64_t k = static_cast<int64_t>(chosen.size());
    const Exchanges& e = exchanges_;
    const double norm = e.norms[b], *G = &e.G[b * k], own = dot(G, G, k), *q = &e.q[b * m];
    const double *r = &e.r[b * T * m], *p = &e.p[b * m];
    const bool bounded = loss_.squared();
    std::vector<double> w(T * k), ur(T), beta(T), off(T), Gw(T);
    for (int64_t t = 0; t < T; ++t) {
        double a = 0.0, uu = 0.0, rr = 0.0;
        for (int64_t i = 0; i < m; ++i) {
            const double left = std::max(p[i], ROOM), u = r[t * m + i] / (left * left);
            a += u * r[t * m + i], uu += u * u, rr += r[t * m + i] * r[t * m + i];
        }
        ur[t] = a;
        beta[t] = a / std::max(rr, std::numeric_limits<double>::min());
        off[t] = std::sqrt(std::max(uu - beta[t] * a, 0.0) + 1e-14 * uu);
        for (int64_t l = 0; l < k; ++l) w[t * k + l] = targets_[t * stride_ + places_[l]];
        Gw[t] = dot(G, &w[t * k], k);
    }
    const double limit = ties::limit(most, empty_error) * total * (1.0 + 1e-8);
    std::vector<double> out(n, INF);
    parallel_ranges(n, rows_per_piece(width_), n_threads, [&](int64_t first, int64_t last) {
        std::vector<double> B(k), tau(T), z(m);
        for (int64_t i = first; i < last; ++i) {
            if (!live_[i] || (allowed && !allowed[i])) continue;
            const double* own_row = row(i);
            for (int64_t l = 0; l < k; ++l) B[l] = own_row[places_[l]];
            const double f = B[b], step = f / norm, pivot = pivots_[i] + step * step;
            if (!(pivot > floor_[i])) continue;
            for (int64_t t = 0; t < T; ++t) tau[t] = (products_[i * T + t] + step * w[t * k + b] / norm) / pivot;
            if (bounded) {
                const double across = dot(B.data(), G, k), squares = dot(B.data(), B.data(), k);
                const double b2 = squares + f * (2.0 * across + f * own);
                const double z2 = std::max((1.0 - ROUNDING) * pivot - alpha - alpha * b2, 0.0);
                const double length = std::sqrt(z2 + 2.0 * ROUNDING * pivot);
                double bound = 0.0;
                for (int64_t t = 0; t < T; ++t) {
                    const double wb = w[t * k + b];
                    const double bw = dot(B.data(), &w[t * k], k) + across * wb + f * (Gw[t] + own * wb);
                    const double zr = tau[t] * pivot - alpha * bw;
                    const double pull = 2.0 * (tau[t] * zr * beta[t] + std::fabs(tau[t]) * length * off[t]);
                    bound += ur[t] - pull + tau[t] * tau[t] * z2 - ROUNDING * (ur[t] + std::fabs(pull));
                }
                if (bound > limit) continue;
            }
            std::copy_n(own_row, m, z.data());
            subtract(z.data(), -step, q, m);
            const double blur = loss_.by_class() ? blur_of(i, chosen[b]) : 0.0;
            out[i] = judge(z.data(), tau.data(), 1.0 / pivot, r, m, p, blur);
        }
    });
    return out;
}

// Bindings ---------------------------------------------------------------------------------------------------------

namespace {

std::vector<double> values(ConstVector a) { return std::vector<double>(a.data(), a.data() + a.size()); }

using Samples = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;

const bool* mask_of(const std::optional<Mask>& allowed) { return allowed ? allowed->data() : nullptr; }

}  // namespace

void bind_leave_one_out(nb::module_& m) {
    nb::class_<LeaveOneOut>(m, "LeaveOneOut", "Exact leave-one-out with what the chosen columns leave of every column.")
        .def(
            "__init__",
            [](LeaveOneOut* self, int64_t features, int64_t room, ConstMatrix targets, ConstVector p, double alpha,
               double total) {
                new (self) LeaveOneOut(features, static_cast<int64_t>(targets.shape(1)), room, targets.data(),
                                       static_cast<int64_t>(targets.shape(0)), p.data(), alpha, total);
            },
            nb::arg("features"), nb::arg("room"), nb::arg("targets"), nb::arg("p"), nb::arg("alpha"), nb::arg("total"))
        .def(
            "set_columns",
            [](LeaveOneOut& self, ConstVector squares, ConstVector floor, Mask live) {
                self.set_columns(squares.data(), floor.data(), live.data());
            },
            nb::arg("squares"), nb::arg("floor"), nb::arg("live"))
        .def(
            "set_loss",
            [](LeaveOneOut& self, AnyLoss loss, ConstVector v, ConstVector g, ConstMatrix Y, ConstVector reach) {
                LossSpec spec{loss, values(v), values(g), {}, values(reach)};
                for (double& x : spec.scale) x = x > 0.0 ? 1.0 / x : 0.0;
                if (spec.by_class()) {
                    const size_t T = Y.shape(1);
                    for (size_t i = 0; i < Y.shape(0); ++i) {
                        const double* y = Y.data() + i * T;
                        spec.label.push_back(T == 1 ? y[0] : static_cast<double>(std::max_element(y, y + T) - y));
                    }
                }
                self.set_loss(std::move(spec));
            },
            nb::arg("loss"), nb::arg("v"), nb::arg("g"), nb::arg("Y"), nb::arg("reach"))
        .def("copy", [](const LeaveOneOut& self) { return std::make_unique<LeaveOneOut>(self); })
        .def(
            "load",
            [](LeaveOneOut& self, Samples X, int64_t first, ConstVector means, ConstVector left, ConstVector scales,
               ConstVector roots, int n_threads) {
                const RawColumns raw{X.data(), X.stride(0), X.stride(1), static_cast<int64_t>(X.shape(1)), means.data(),
                                     left.data(), scales.data(), roots.data()};
                nb::gil_scoped_release release;
                self.load(raw, first, n_threads);
            },
            nb::arg("X").noconvert(), nb::arg("first"), nb::arg("means"), nb::arg("left"), nb::arg("scales"), nb::arg("roots"),
            nb::arg("n_threads"), "Take columns of the data, samples by features in any order, from feature `first` on.")
        .def(
            "best_addition",
            [](LeaveOneOut& self, std::optional<Mask> allowed, int n_threads) {
                Candidate best;
                {
                    nb::gil_scoped_release release;
                    best = self.best_addition(mask_of(allowed), n_threads);
                }
                return nb::make_tuple(best.feature, best.error);
            },
            nb::arg("allowed").none(), nb::arg("n_threads"))
        .def(
            "additions",
            [](LeaveOneOut& self, std::optional<Mask> allowed, int n_threads) {
                {
                    nb::gil_scoped_release release;
                    self.additions(mask_of(allowed), n_threads);
                }
                return numpy_of(self.additions(mask_of(allowed), n_threads));
            },
            nb::arg("allowed").none(), nb::arg("n_threads"))
        .def(
            "squared_additions",
            [](LeaveOneOut& self, Indices features) {
                return numpy_of(self.squared_additions(features.data(), static_cast<int64_t>(features.size())));
            },
            nb::arg("features"))
        .def(
            "removals", [](const LeaveOneOut& self, bool squared) { return numpy_of(self.removals(squared)); },
            nb::arg("squared"))
        .def(
            "exchanges",
            [](LeaveOneOut& self, int64_t place, std::optional<Mask> allowed, double most, int n_threads) {
                std::vector<double> out;
                {
                    nb::gil_scoped_release release;
                    out = self.exchanges(place, mask_of(allowed), most, n_threads);
                }
                return numpy_of(out);
            },
            nb::arg("place"), nb::arg("allowed").none(), nb::arg("most"), nb::arg("n_threads"))
        .def("is_steep", &LeaveOneOut::is_steep)
        .def("needs_column", &LeaveOneOut::needs_column, nb::arg("feature"))
        .def(
            "add",
            [](LeaveOneOut& self, int64_t feature, std::optional<ConstVector> column) {
                return self.add(feature, column ? column->data() : nullptr);
            },
            nb::arg("feature"), nb::arg("column").none())
        .def("drop", &LeaveOneOut::drop, nb::arg("feature"))
        .def(
            "follow",
            [](LeaveOneOut& self, int n_threads) {
                nb::gil_scoped_release release;
                self.follow(n_threads);
            },
            nb::arg("n_threads"))
        .def(
            "renew", [](LeaveOneOut& self, int64_t feature, ConstVector column) { self.renew(feature, column.data()); },
            nb::arg("feature"), nb::arg("column"))
        .def("start_path", &LeaveOneOut::start_path)
        .def(
            "advance",
            [](LeaveOneOut& self, int64_t size, std::optional<Mask> allowed, int n_threads) {
                nb::gil_scoped_release release;
                return self.advance(size, mask_of(allowed), n_threads);
            },
            nb::arg("size"), nb::arg("allowed").none(), nb::arg("n_threads"))
        .def(
            "path",
            [](const LeaveOneOut& self) {
                const size_t k = self.chosen.size(), T = static_cast<size_t>(self.T);
                auto coef = new_matrix<double>(k + 1, k * T);
                const double* from = self.path.coef.data();
                for (size_t size = 0; size <= k; from += size * T, ++size)
                    std::copy_n(from, size * T, coef.data() + size * k * T);
                return nb::make_tuple(numpy_of(self.path.errors), numpy_of(self.path.spreads), coef);
            },
            "Errors, spreads and coefficients of every size, if the path began with the empty model.")
        .def("spread", &LeaveOneOut::spread)
        .def_prop_ro("vanished", &LeaveOneOut::vanished)
        .def_prop_ro("doubtful", [](const LeaveOneOut& self) { return self.doubtful; })
        .def_prop_ro("is_doubtful", [](const LeaveOneOut& self) { return !self.doubtful.empty(); })
        .def_ro("chosen", &LeaveOneOut::chosen)
        .def_ro("error", &LeaveOneOut::error)
        .def_ro("squared_error", &LeaveOneOut::squared_error)
        .def_ro("empty_error", &LeaveOneOut::empty_error)
        .def_ro("empty_squared", &LeaveOneOut::empty_squared)
        .def("coef", [](const LeaveOneOut& self) {
            auto out = new_matrix<double>(self.chosen.size(), self.T);
            const std::vector<double> coef = self.coef();
            std::copy(coef.begin(), coef.end(), out.data());
            return out;
        })
        .def("pivots", [](const LeaveOneOut& self) { return numpy_of(self.pivots()); })
        .def("products", [](const LeaveOneOut& self) {
            auto out = new_matrix<double>(self.n, self.T);
            std::copy(self.products().begin(), self.products().end(), out.data());
            return out;
        })
        .def("losses", [](const LeaveOneOut& self) { return numpy_of(self.losses()); })
        .def("p", [](const LeaveOneOut& self) {
            auto out = new_vector<double>(self.m);
            std::copy_n(self.left(), self.m, out.data());
            return out;
        })
        .def("residuals", [](const LeaveOneOut& self) {
            auto out = new_matrix<double>(self.T, self.m);
            for (int64_t t = 0; t < self.T; ++t) std::copy_n(self.residuals(t), self.m, out.data() + t * self.m);
            return out;
        })
        .def(
            "removal",
            [](const LeaveOneOut& self, int64_t place) {
                auto r = new_matrix<double>(self.T, self.m);
                auto p = new_vector<double>(self.m);
                self.removal(place, r.data(), p.data());
                return nb::make_tuple(r, p);
            },
            nb::arg("place"))
        .def(
            "rows",
            [](const LeaveOneOut& self, Indices features) {
                auto out = new_matrix<double>(features.size(), self.m);
                self.read_rows(features.data(), static_cast<int64_t>(features.size()), out.data());
                return out;
            },
            nb::arg("features"));
}

}  // namespace sparsepath
