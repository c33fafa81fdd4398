// Forward search by exact leave-one-out from the products of all columns, with bounds.
//
// The letters are those of leave_one_out.hpp: z what the chosen columns leave of a candidate x, r and p residuals and
// 1 - leverages, u = r/p^2, tau = z'r / pivot. Products of columns give z'r, and z'u as far as u is a multiple of r; the
// rest of z'u is bounded by norms. The candidate with the lowest bound is judged from its column. (Taking its x'u from the
// data first, for a better bound, took 1.35 times as long with ten folds of 20000 x 200, k = 100, and 0.8 times at
// 100000 x 50, k = 20.)
//
// Adding a feature takes leverage, v = z^2/pivot, and 1/(p - v)^2 is convex in v, so that
//
//     LOO(x)  >=  sum (r - z tau)^2 / p^2  +  (2 / pivot) N^2,       N = | z (r - z tau) p^-3/2 |.
//
// The first sum follows from products of columns alone. For N, with w = |r| p^-3/2 and norms |.|_4 of fourth powers,
//
//     N  >=  |z w| - |tau| |z^2 p^-3/2|  >=  |z w| - |tau| min(p)^-3/2 |z|_4^2.
//
// When a candidate is judged, |z w| and |z|_4 are found on the way. A step takes t q off z, with q the new row of the path,
// and turns w into w + d, so that
//
//     |z|_4 gains at most |t| |q|_4,        |z w| loses at most |t| |q w| + |z|_4 |d|_4.
//
// Of a column that was never judged nothing is known.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "leave_one_out.hpp"
#include "rows.hpp"
#include "ties.hpp"
#include "vectors.hpp"

namespace sparsepath {

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr double SLIGHT = 1e-6;     // part of a column that is left, below which sums of products say too little of it
constexpr double SOUND = 1e-4;      // part of a column that is left, from which products give its row to the last digits
constexpr double SURE_PART = 0.99;  // of what leverage adds to a bound; the rest is more than rounding
constexpr double TURN_ROUNDING = 1e-14;  // part of u'u that may be rounding
constexpr double KNOWN_WELL = 1e-6;  // rounding of a product over the pivot up to which it may serve,
constexpr double SURELY = 1e-8;      // up to which it may judge a candidate; the margin is wide,
constexpr double TRUSTED = 0.1;      // and up to which it may bound the criterion
constexpr double ONCE_MORE = 0.25;   // part of a square that is left, below which a column is projected once more

// Memory that searches use one after another: fresh memory costs more than what they write to it.
class Space {
public:
    void reserve(int64_t n) {
        if (n > room_) {
            data_.reset();
            data_.reset(new double[static_cast<size_t>(n)]);
            room_ = n;
        }
        used_ = 0;
    }
    double* take(int64_t n) {
        used_ += n;
        return data_.get() + (used_ - n);
    }
    double* take_zeros(int64_t n) {
        double* out = take(n);
        std::fill(out, out + n, 0.0);
        return out;
    }

private:
    std::unique_ptr<double[]> data_;
    int64_t room_ = 0, used_ = 0;
};

// The raw columns, a row of X each; column i stands for g (x - mean - left) scale.
struct Columns {
    RowArray<const double> X;
    ConstVector means, left, scales, squares, sizes, floor;
};

// Products of the centred, unscaled columns: G - H + ef' + fe'. H is empty if there is nothing to subtract. `row_of` is
// the row of a feature in G and H, -1 if there is none. Features `again` are not known well by the difference, and their
// products are taken in every step. `start` holds the products with y, features by targets, or is empty.
struct Products {
    ConstMatrix G, H;
    ConstVector e, f;
    Indices row_of, again;
    ConstMatrix start;
};

// Targets by samples, 1 - leverage of the empty model, sample weights, penalty, the largest size, eligible features, and
// how many rows of candidates are kept.
struct Problem {
    ConstMatrix y;
    ConstVector p, weights;
    double alpha;
    int64_t size;
    Mask allowed;
    int64_t kept;
};

SPARSEPATH_WIDE void column(const double* SPARSEPATH_RESTRICT x, const double* SPARSEPATH_RESTRICT g, double mean, double left,
                            double scale, double* SPARSEPATH_RESTRICT out, int64_t n) {
    for (int64_t j = 0; j < n; ++j) out[j] = g[j] * (((x[j] - mean) - left) * scale);
}

SPARSEPATH_WIDE double sum(const double* a, int64_t n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < n; ++j) total += a[j];
    return total;
}

// p <- p - z^2 / pivot, q = z / root and inverse = 1/p; how many samples have no room in p.
SPARSEPATH_WIDE double shrink(const double* SPARSEPATH_RESTRICT z, double pivot, double* SPARSEPATH_RESTRICT p,
                              double* SPARSEPATH_RESTRICT q, double* SPARSEPATH_RESTRICT inverse, int64_t n) {
    const double root = 1.0 / std::sqrt(pivot);
    double tight = 0;
#pragma omp simd reduction(+ : tight)
    for (int64_t j = 0; j < n; ++j) {
        q[j] = z[j] * root;
        p[j] -= q[j] * q[j];
        inverse[j] = 1.0 / (p[j] > ROOM ? p[j] : ROOM);
        tight += p[j] <= ROOM ? 1.0 : 0.0;
    }
    return tight;
}

// The model of one target without `along` z: r and u = r/p^2 brought up to date; r'r, u'u, u'r and the squares of
// u - beta r. Losses and squares of r are added to what other targets left there.
struct TargetSums {
    double rr = 0, uu = 0, ur = 0, rest = 0;
};
SPARSEPATH_WIDE void follow(const double* SPARSEPATH_RESTRICT z, double along, const double* SPARSEPATH_RESTRICT inverse,
                            double beta, double* SPARSEPATH_RESTRICT r, double* SPARSEPATH_RESTRICT losses,
                            double* SPARSEPATH_RESTRICT squares, TargetSums& sums, int64_t n) {
    double rr = 0, uu = 0, ur = 0, all = 0;
#pragma omp simd reduction(+ : rr, uu, ur, all)
    for (int64_t j = 0; j < n; ++j) {
        const double here = r[j] - along * z[j], e = here * inverse[j], weighed = e * inverse[j];
        const double off = weighed - beta * here;
        r[j] = here;
        losses[j] += e * e;
        squares[j] += here * here;
        rr += here * here;
        uu += weighed * weighed;
        ur += weighed * here;
        all += off * off;
    }
    sums.rr += rr;
    sums.uu += uu;
    sums.ur += ur;
    sums.rest += all;
}

// Sums of the losses, of (loss - about weight)^2 and of that difference times the weight.
struct LossSums {
    double total = 0, around = 0, slope = 0;
};
SPARSEPATH_WIDE void add_losses(const double* SPARSEPATH_RESTRICT losses, const double* SPARSEPATH_RESTRICT weights,
                                double about, LossSums& sums, int64_t n) {
    double total = 0, around = 0, slope = 0;
#pragma omp simd reduction(+ : total, around, slope)
    for (int64_t j = 0; j < n; ++j) {
        const double off = losses[j] - about * weights[j];
        total += losses[j];
        around += off * off;
        slope += off * weights[j];
    }
    sums.total += total;
    sums.around += around;
    sums.slope += slope;
}

// w = |r| p^-3/2 brought up to date: fourth powers of its change, and the largest 1/p.
struct Spikes {
    double change = 0, narrow = 0;
};
SPARSEPATH_WIDE void spikes(const double* SPARSEPATH_RESTRICT squares, const double* SPARSEPATH_RESTRICT inverse,
                            double* SPARSEPATH_RESTRICT w, Spikes& sums, int64_t n) {
    double change = 0, narrow = sums.narrow;
#pragma omp simd reduction(+ : change) reduction(max : narrow)
    for (int64_t j = 0; j < n; ++j) {
        const double now = std::sqrt(squares[j] * (inverse[j] * inverse[j] * inverse[j]));
        const double off = (now - w[j]) * (now - w[j]);
        change += off * off;
        w[j] = now;
        narrow = inverse[j] > narrow ? inverse[j] : narrow;
    }
    sums.change += change;
    sums.narrow = narrow;
}

// |z w| and |z|_4, as sums or as norms.
struct Norms {
    double heavy = 0, fourth = 0;

    Norms roots() const { return {std::sqrt(heavy), std::sqrt(std::sqrt(fourth))}; }

    // Bounds of both after z lost t times a row with norms `row`, and w changed by `turn`.
    void follow(double t, const Norms& row, double turn) {
        fourth += t * row.fourth;
        heavy -= t * row.heavy + fourth * turn;
    }
};
SPARSEPATH_WIDE void add_norms(const double* SPARSEPATH_RESTRICT z, const double* SPARSEPATH_RESTRICT w, Norms& sums,
                               int64_t n) {
    double heavy = 0, fourth = 0;
#pragma omp simd reduction(+ : heavy, fourth)
    for (int64_t j = 0; j < n; ++j) {
        const double square = z[j] * z[j];
        heavy += square * (w[j] * w[j]);
        fourth += square * square;
    }
    sums.heavy += heavy;
    sums.fourth += fourth;
}

// By how much leverage raises the criterion at least: (2 / pivot) N^2, less a part for rounding; see the head.
double lift_by(const Norms& known, double narrow, double tau, double pivot) {
    const double N = known.heavy - tau * narrow * known.fourth * known.fourth;
    return N > 0.0 ? SURE_PART * 2.0 * N * N / pivot : 0.0;
}

// The criterion with a candidate z, of one target, its |z w| and |z|_4 as sums, z'z and z'r. `left` is filled.
struct Judged {
    double total = 0, tight = 0, zz = 0, zr = 0;
    Norms norms;
};
SPARSEPATH_WIDE void judge_first(const double* SPARSEPATH_RESTRICT z, double inverse, double tau,
                                 const double* SPARSEPATH_RESTRICT r, const double* SPARSEPATH_RESTRICT p,
                                 const double* SPARSEPATH_RESTRICT w, double* SPARSEPATH_RESTRICT left, Judged& sums,
                                 int64_t n) {
    double total = 0, tight = 0, heavy = 0, fourth = 0, zz = 0, zr = 0;
#pragma omp simd reduction(+ : total, tight, heavy, fourth, zz, zr)
    for (int64_t j = 0; j < n; ++j) {
        const double square = z[j] * z[j], here = p[j] - square * inverse;
        zz += square;
        zr += z[j] * r[j];
        heavy += square * (w[j] * w[j]);
        fourth += square * square;
        left[j] = here;
        tight += here <= ROOM ? 1.0 : 0.0;
        const double e = (r[j] - z[j] * tau) / here;
        total += e * e;
    }
    sums.total += total;
    sums.tight += tight;
    sums.norms.heavy += heavy;
    sums.norms.fourth += fourth;
    sums.zz += zz;
    sums.zr += zr;
}
struct Further {
    double total, zr;
};
SPARSEPATH_WIDE Further judge_more(const double* SPARSEPATH_RESTRICT z, double tau, const double* SPARSEPATH_RESTRICT r,
                                   const double* SPARSEPATH_RESTRICT left, int64_t n) {
    double total = 0, zr = 0;
#pragma omp simd reduction(+ : total, zr)
    for (int64_t j = 0; j < n; ++j) {
        const double e = (r[j] - z[j] * tau) / left[j];
        total += e * e;
        zr += z[j] * r[j];
    }
    return {total, zr};
}

SPARSEPATH_WIDE double weigh(const double* SPARSEPATH_RESTRICT g, const double* SPARSEPATH_RESTRICT z,
                             double* SPARSEPATH_RESTRICT out, int64_t n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < n; ++j) {
        out[j] = g[j] * z[j];
        total += out[j];
    }
    return total;
}

class GramSearch {
public:
    GramSearch(Columns columns, Products products, Problem problem, std::shared_ptr<Space> space);

    // Choose features until there are `until`; whether there may be more.
    bool advance(int64_t until);

    int64_t k = 0, n, m, T, size, width;
    bool vanished = false, exhausted = false;
    std::vector<int64_t> subset;
    std::vector<double> errors, around, coef;
    double* Q;                                     // size x width: the orthonormal rows of the path, samples and then coefficients

private:
    double squares(int64_t i) const { return columns_.squares.data()[i]; }
    double scale(int64_t i) const { return columns_.scales.data()[i]; }
    double unit(int64_t i) const { return ROUNDING * columns_.sizes.data()[i]; }
    double doubt(int64_t i) const { return 2.0 * unit(i) * std::sqrt(squares(i)); }
    double remaining(int64_t i) const { return std::max(std::max(s_[i], 0.0) - alpha_ * b2_[i], 0.0); }
    double raw_product(int64_t i, const double* v, double total) const {
        return scale(i) * (dot(x_[i], v, m) - columns_.means.data()[i] * total);
    }
    const double* row(int64_t i) const { return Q + i * width; }
    double* kept(int64_t i) const { return kept_ + place_[i] * width; }
    void read(int64_t i, double* out, int64_t low, int64_t high) const {
        column(x_[i] + low, &g_[low], columns_.means.data()[i], columns_.left.data()[i], scale(i), out + low, high - low);
    }

    void begin();
    void update(const double* z, double pivot, double* q);
    void bound_all();
    double bound(int64_t i) const;
    double lift(int64_t i) const;
    void judge(int64_t i);
    void find_place(int64_t i);
    double project(double* row);
    void choose(int64_t i);
    void take_products(int64_t chosen, const double* z, bool slight);

    Columns columns_;
    Products products_;
    Problem problem_;
    double alpha_;
    std::vector<const double*> x_, rows_;
    std::shared_ptr<Space> space_;
    double *g_, *p_, *V_, *w_, *D_;                // as long as the samples, V by target
    std::vector<double> x_here_;
    std::vector<double> t_, b_, b2_, c_, s_;       // size x n, size x n, n, T x n, n
    std::vector<char> live_;
    std::vector<double> h_, bounds_, values_;      // h: T x n, z'u as far as it is a multiple of z'r
    std::vector<double> pivots_, along_;           // of candidates judged in this step; n and T x n
    std::vector<Norms> known_;                     // |z w| at least, |z|_4 at most; zero: not known
    std::vector<double> uu_, norms_, off_, tau_, step_, inner_;
    double* kept_;                                 // rows of candidates that were judged
    std::vector<int64_t> owner_, place_, done_;    // whose a row is; the row of a candidate; up to which step
    int64_t next_place_ = 0;
    bool begun_ = false;
    bool sound_ = true;                            // whether enough was left of every chosen column
    double counted_ = 0, weight_ = 0, weight_squares_ = 0;
    double empty_ = 0, everything_ = 0, rr_ = 0, ur_ = 0, beta_ = 1, room_left_ = 0;
    double narrow_ = 0;                            // the largest p^-3/2
    double least_ = INF, most_ = INF;
};

GramSearch::GramSearch(Columns columns, Products products, Problem problem, std::shared_ptr<Space> space)
    : n(static_cast<int64_t>(columns.X.shape(0))),
      m(static_cast<int64_t>(columns.X.shape(1))),
      T(static_cast<int64_t>(problem.y.shape(0))),
      size(problem.size),
      width(m + size),
      subset(size, -1),
      errors(size + 1),
      around(size + 1),
      coef((size + 1) * size * T),
      columns_(std::move(columns)),
      products_(std::move(products)),
      problem_(std::move(problem)),
      alpha_(problem_.alpha),
      x_(row_pointers(columns_.X)),
      space_(std::move(space)),
      t_(size * n),
      b_(size * n),
      b2_(n),
      c_(T * n),
      s_(columns_.squares.data(), columns_.squares.data() + n),
      live_(problem_.allowed.data(), problem_.allowed.data() + n),
      h_(T * n),
      bounds_(n),
      values_(n),
      pivots_(n),
      along_(T * n),
      known_(n),
      uu_(T),
      norms_(T),
      off_(T),
      tau_(T),
      step_(T),
      inner_(size),
      owner_(std::min(problem_.kept, n), -1),
      place_(n, -1),
      done_(n) {
    const double* weights = problem_.weights.data();
    for (int64_t j = 0; j < m; ++j) {
        counted_ += weights[j] > 0.0 ? 1.0 : 0.0;
        weight_ += weights[j];
        weight_squares_ += weights[j] * weights[j];
    }
    const int64_t rows = size + static_cast<int64_t>(owner_.size());
    space_->reserve((rows + T + 1) * width + 3 * m);
    g_ = space_->take(m);
    p_ = space_->take(m);
    w_ = space_->take_zeros(m);
    V_ = space_->take_zeros(T * width);
    D_ = space_->take_zeros(width);
    Q = space_->take(size * width);
    kept_ = space_->take((rows - size) * width);
    for (int64_t j = 0; j < m; ++j) g_[j] = std::sqrt(weights[j]);
    std::copy(problem_.p.data(), problem_.p.data() + m, p_);
    for (int64_t i = 0; i < size; ++i) rows_.push_back(row(i));
}

void GramSearch::begin() {
    const bool given = products_.start.shape(0) > 0;
    std::vector<double> gy(m), nowhere(m);
    for (int64_t o = 0; o < T; ++o) {
        const double* y = problem_.y.data() + o * m;
        norms_[o] = std::sqrt(dot(y, y, m));
        std::copy(y, y + m, &V_[o * width]);
        const double total = given ? 0.0 : weigh(g_, y, gy.data(), m);
        for (int64_t i = 0; i < n; ++i) {
            if (given)
                c_[o * n + i] = scale(i) * products_.start.data()[i * T + o];
            else if (live_[i])
                c_[o * n + i] = raw_product(i, gy.data(), total);
        }
    }
    room_left_ = sum(p_, m) - (static_cast<double>(m) - counted_);
    update(D_, 1.0, nowhere.data());  // D is zero: the empty model
    empty_ = errors[0];
    everything_ = rr_;
    begun_ = true;
}

// What is as long as the samples, after z with this pivot came in: all in one pass, strip by strip. `step_` is by target.
void GramSearch::update(const double* z, double pivot, double* q) {
    const double share = room_left_ / counted_;
    beta_ = share > ROOM ? 1.0 / (share * share) : 1.0;
    double tight = 0, inverse[STRIP], losses[STRIP], squares[STRIP];
    std::vector<TargetSums> sums(static_cast<size_t>(T));
    Spikes spiked;
    Norms gone;
    LossSums lost;
    const double* weights = problem_.weights.data();
    const double about = k > 0 && errors[k - 1] < INF ? errors[k - 1] / weight_ : rr_ / weight_;
    for (int64_t low = 0; low < m; low += STRIP) {
        const int64_t here = std::min(STRIP, m - low);
        tight += shrink(z + low, pivot, &p_[low], q + low, inverse, here);
        std::fill_n(losses, here, 0.0);
        std::fill_n(squares, here, 0.0);
        for (int64_t o = 0; o < T; ++o)
            follow(z + low, step_[o], inverse, beta_, &V_[o * width + low], losses, squares, sums[o], here);
        add_norms(q + low, &w_[low], gone, here);  // with w as it was
        spikes(squares, inverse, &w_[low], spiked, here);
        add_losses(losses, weights + low, about, lost, here);
    }
    rr_ = ur_ = 0;
    for (int64_t o = 0; o < T; ++o) {
        rr_ += sums[o].rr;
        ur_ += sums[o].ur;
        uu_[o] = sums[o].uu;
        off_[o] = std::sqrt(sums[o].rest + TURN_ROUNDING * uu_[o]);
    }
    narrow_ = std::pow(spiked.narrow, 1.5);
    const double turn = std::sqrt(std::sqrt(spiked.change));
    const Norms of_row = gone.roots();
    for (int64_t i = 0; k > 0 && i < n; ++i)
        if (known_[i].fourth > 0.0) known_[i].follow(std::abs(t_[(k - 1) * n + i]), of_row, turn);
    const double off = lost.total / weight_ - about;
    errors[k] = tight == 0.0 ? lost.total : INF;
    around[k] = std::max(lost.around - 2.0 * off * lost.slope + off * off * weight_squares_, 0.0);
    for (int64_t i = 0; i < k; ++i)
        for (int64_t o = 0; o < T; ++o) coef[(k * size + i) * T + o] = V_[o * width + m + i];
}

void GramSearch::bound_all() {
    for (int64_t o = 0; o < T; ++o) {
        double* h = &h_[o * n];
        for (int64_t i = 0; i < n; ++i) h[i] = beta_ * c_[o * n + i];
        for (int64_t i = 0; i < k; ++i) subtract(h, -beta_ * alpha_ * dot(row(i) + m, &V_[o * width + m], k), &t_[i * n], n);
    }
    for (int64_t i = 0; i < n; ++i) {
        values_[i] = INF;
        bounds_[i] = live_[i] ? bound(i) : INF;
    }
}

// By how much leverage raises a bound at least, from what was known of the candidate when it was judged.
double GramSearch::lift(int64_t i) const {
    const double pivot = alpha_ + s_[i];
    if (!(known_[i].heavy > 0.0 && doubt(i) <= KNOWN_WELL * pivot)) return 0.0;
    double square = 0;
    for (int64_t o = 0; o < T; ++o) square += c_[o * n + i] * c_[o * n + i];
    return lift_by(known_[i], narrow_, std::sqrt(square) / pivot, pivot);
}

// A lower bound of the criterion, less its rounding.
double GramSearch::bound(int64_t i) const {
    const double q = remaining(i), s_error = doubt(i), pivot = std::max(s_[i], 0.0) + alpha_;
    if (!(s_error <= TRUSTED * pivot)) return -INF;
    const double norm = std::sqrt(q + s_error);  // at least |z|
    double value = ur_ + lift(i);
    for (int64_t o = 0; o < T; ++o) {
        const double h = h_[o * n + i], tau = c_[o * n + i] / pivot, length = std::abs(tau);
        const double h_error = norm * off_[o] + unit(i) * std::sqrt(uu_[o]);
        const double tau_error = (unit(i) * norms_[o] + length * s_error) / pivot;
        value -= 2.0 * tau * h - tau * tau * q;
        value -= 2.0 * length * h_error + tau * tau * s_error;
        value -= 2.0 * tau_error * (std::abs(h) + h_error + length * q);
    }
    return value;
}

// A row for candidate i, if it has none; the one that was taken first is given up for it.
void GramSearch::find_place(int64_t i) {
    if (place_[i] >= 0) return;
    const int64_t old = owner_[next_place_];
    if (old >= 0) place_[old] = -1;
    place_[i] = next_place_;
    owner_[next_place_] = i;
    done_[i] = -1;
    next_place_ = (next_place_ + 1) % static_cast<int64_t>(owner_.size());
}

// The exact criterion with candidate i added, from its column.
void GramSearch::judge(int64_t i) {
    bounds_[i] = INF;
    find_place(i);
    double *z = kept(i), left[STRIP];
    const double known = s_[i] + alpha_;
    bool followed = doubt(i) <= SURELY * known;  // s and c are as exact as sums over the row
    for (int64_t o = 0; o < T; ++o) followed &= unit(i) * norms_[o] <= SURELY * std::abs(c_[o * n + i]);
    const bool by_products = doubt(i) <= KNOWN_WELL * known, fresh = done_[i] < 0;
    const int64_t from = fresh ? 0 : done_[i];
    auto bring_up = [&](int64_t low, int64_t high) {
        if (fresh) read(i, z, low, high);
        subtract_strip(z + low, rows_.data() + from, low, &t_[from * n + i], n, k - from, high - low);
    };
    if (by_products) {
        if (fresh) std::fill(z + m, z + width, 0.0);
        subtract_strip(z + m, rows_.data() + from, m, &t_[from * n + i], n, k - from, k);
        for (int64_t low = 0; low < m && !followed; low += STRIP) bring_up(low, std::min(m, low + STRIP));
    } else {
        read(i, z, 0, m);
        project(z);
    }
    done_[i] = k;
    const double behind = alpha_ * dot(z + m, z + m, k);
    const double pivot = followed ? known : alpha_ + dot(z, z, m) + behind;
    if (pivot <= columns_.floor.data()[i]) return;
    for (int64_t o = 0; o < T; ++o) {
        const double* r = &V_[o * width];
        tau_[o] = (followed ? c_[o * n + i] : dot(z, r, m) + alpha_ * dot(z + m, r + m, k)) / pivot;
        along_[o * n + i] = alpha_ * dot(z + m, r + m, k);
    }
    Judged now;
    for (int64_t low = 0; low < m; low += STRIP) {
        const int64_t high = std::min(m, low + STRIP);
        if (by_products && followed) bring_up(low, high);
        judge_first(z + low, 1.0 / pivot, tau_[0], &V_[low], &p_[low], &w_[low], left, now, high - low);
        for (int64_t o = 1; o < T; ++o) {
            const Further more = judge_more(z + low, tau_[o], &V_[o * width + low], left, high - low);
            now.total += more.total;
            along_[o * n + i] += more.zr;
        }
    }
    along_[i] += now.zr;
    pivots_[i] = alpha_ + now.zz + behind;
    known_[i] = now.norms.roots();
    values_[i] = now.tight == 0.0 ? now.total : INF;
    if (values_[i] < least_) {
        least_ = values_[i];
        most_ = ties::limit(least_, empty_);
    }
}

// Make a row that begins with a column orthogonal to the rows of the path; its pivot.
double GramSearch::project(double* z) {
    const double before = dot(z, z, m);
    double left = before;
    std::fill(z + m, z + width, 0.0);
    for (int round = 0; round < 2 && k > 0; ++round) {
        inner_products(rows_.data(), k, z, m, inner_.data());
        for (int64_t i = 0; i < k; ++i) inner_[i] += alpha_ * dot(row(i) + m, z + m, k);
        subtract_all(z, rows_.data(), inner_.data(), 1, k, m + k);
        left = dot(z, z, m) + alpha_ * dot(z + m, z + m, k);
        if (left > ONCE_MORE * before) break;
    }
    return left + alpha_;
}

// Numbers of the path come from the row of the chosen column: the one that was judged, or, where products of columns
// leave it uncertain in the last digits, one that is projected from the column once more.
void GramSearch::choose(int64_t chosen) {
    double* z = D_;
    double pivot = pivots_[chosen];
    sound_ &= pivot > SOUND * squares(chosen) && doubt(chosen) <= SURELY * pivot;
    if (sound_ && place_[chosen] >= 0) {
        z = kept(chosen);
    } else {
        read(chosen, z, 0, m);
        pivot = project(z);
        for (int64_t o = 0; o < T; ++o) {
            const double* r = &V_[o * width];
            along_[o * n + chosen] = dot(z, r, m) + alpha_ * dot(z + m, r + m, k);
        }
    }
    take_products(chosen, z, pivot < SLIGHT * squares(chosen));

    double *q = Q + k * width, *next = &t_[k * n];
    const double root = std::sqrt(pivot);
    for (int64_t i = 0; i < k; ++i) q[m + i] = z[m + i] / root;
    q[m + k] = -1.0 / root;
    std::fill(q + m + k + 1, q + width, 0.0);
    for (int64_t i = 0; i < n; ++i) {
        next[i] /= root;
        s_[i] -= next[i] * next[i];
        b2_[i] = 0.0;
    }
    for (int64_t i = 0; i <= k; ++i) {
        double* b = &b_[i * n];
        subtract(b, q[m + i], next, n);
        for (int64_t j = 0; j < n; ++j) b2_[j] += b[j] * b[j];
    }
    for (int64_t o = 0; o < T; ++o) {
        step_[o] = along_[o * n + chosen] / pivot;
        subtract(&V_[o * width + m], step_[o], z + m, k);
        V_[o * width + m + k] = step_[o];
        subtract(&c_[o * n], step_[o] * root, next, n);
    }
    room_left_ -= 1.0 - (alpha_ + alpha_ * dot(z + m, z + m, k)) / pivot;
    live_[chosen] = false;
    subset[k] = chosen;
    ++k;
    update(z, pivot, q);
}

// Products of what is left of the chosen column with all columns.
void GramSearch::take_products(int64_t chosen, const double* z, bool slight) {
    double *next = &t_[k * n], total = 0;
    const int64_t at = products_.row_of.data()[chosen];
    const size_t again = products_.again.shape(0);
    const bool from_data = slight || at < 0;
    if (from_data || again > 0) {
        x_here_.resize(m);
        if (!slight) read(chosen, x_here_.data(), 0, m);
        std::vector<double> from(slight ? z : x_here_.data(), (slight ? z : x_here_.data()) + m);
        total = weigh(g_, from.data(), x_here_.data(), m);
    }
    if (from_data) {
        for (int64_t i = 0; i < n; ++i)
            if (live_[i]) next[i] = raw_product(i, x_here_.data(), total);
    } else {
        const double *G = products_.G.data() + at * n, *e = products_.e.data(), *f = products_.f.data();
        const double* H = products_.H.shape(0) > 0 ? products_.H.data() + at * n : nullptr;
        for (int64_t i = 0; i < n; ++i)
            next[i] = ((H ? G[i] - H[i] : G[i]) + (e[chosen] * f[i] + f[chosen] * e[i])) * (scale(chosen) * scale(i));
        for (size_t j = 0; j < again; ++j) {
            const int64_t i = products_.again.data()[j];
            if (live_[i]) next[i] = raw_product(i, x_here_.data(), total);
        }
    }
    for (int64_t i = 0; i < (slight ? 0 : k); ++i) subtract(next, t_[i * n + chosen], &t_[i * n], n);
}

bool GramSearch::advance(int64_t until) {
    if (!begun_) begin();
    const double nothing = VANISHED * VANISHED * everything_;
    while (k < until && rr_ > nothing) {
        bound_all();
        least_ = most_ = INF;
        while (n > 0) {
            const int64_t i = std::min_element(bounds_.begin(), bounds_.end()) - bounds_.begin();
            if (!(bounds_[i] <= most_) || bounds_[i] == INF) break;
            judge(i);
        }
        if (least_ == INF) {
            exhausted = true;
            break;
        }
        int64_t chosen = 0;
        while (!(values_[chosen] <= most_)) ++chosen;
        choose(chosen);
    }
    vanished = !(rr_ > nothing);
    return !(vanished || exhausted);
}

template <class T>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> view(const std::vector<T>& of, nb::handle owner) {
    return {of.data(), {of.size()}, owner};
}

}  // namespace

void bind_gram_search(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<Columns>(m, "Columns", "Raw columns, features by samples, and what is done to them.")
        .def(nb::init<RowArray<const double>, ConstVector, ConstVector, ConstVector, ConstVector, ConstVector, ConstVector>(),
             "X"_a.noconvert(), "means"_a, "left"_a, "scales"_a, "squares"_a, "sizes"_a, "floor"_a);
    nb::class_<Products>(m, "Products", "Products of centred columns, G - H + ef' + fe'; see gram_search.py.")
        .def(nb::init<ConstMatrix, ConstMatrix, ConstVector, ConstVector, Indices, Indices, ConstMatrix>(), "G"_a, "H"_a, "e"_a,
             "f"_a, "row_of"_a, "again"_a, "start"_a);
    nb::class_<Problem>(m, "Problem", "Targets by samples, 1 - leverage, weights, penalty, size and eligible features.")
        .def(nb::init<ConstMatrix, ConstVector, ConstVector, double, int64_t, Mask, int64_t>(), "y"_a, "p"_a, "weights"_a,
             "alpha"_a, "size"_a, "allowed"_a, "kept"_a);
    m.def("lift", [](double heavy, double fourth, const ConstVector& t, const ConstVector& heavy_rows,
                     const ConstVector& fourth_rows, const ConstVector& turns, double narrow, double tau, double pivot) {
        Norms known{heavy, fourth};
        for (size_t l = 0; l < t.shape(0); ++l)
            known.follow(std::abs(t.data()[l]), {heavy_rows.data()[l], fourth_rows.data()[l]}, turns.data()[l]);
        return lift_by(known, narrow, tau, pivot);
    }, "heavy"_a, "fourth"_a, "t"_a, "heavy_rows"_a, "fourth_rows"_a, "turns"_a, "narrow"_a, "tau"_a, "pivot"_a,
          "By how much leverage raises the criterion at least, some steps after |z w| and |z|_4 were found.");
    m.def("spikes", [](const ConstVector& squares, const ConstVector& inverse, Vector& w) {
        Spikes now;
        spikes(squares.data(), inverse.data(), w.data(), now, static_cast<int64_t>(w.shape(0)));
        return std::make_tuple(std::sqrt(std::sqrt(now.change)), std::pow(now.narrow, 1.5));
    }, "squares"_a, "inverse"_a, nb::arg("w").noconvert(),
          "Update w = |r| p^-3/2 in place; return |change|_4 and min(p)^-3/2.");
    nb::class_<Space>(m, "Space", "Memory that searches use one after another.").def(nb::init<>());
    nb::class_<GramSearch>(m, "GramSearch", "A forward search from products of columns and bounds.")
        .def(nb::init<Columns, Products, Problem, std::shared_ptr<Space>>(), "columns"_a, "products"_a, "problem"_a, "space"_a)
        .def("advance", &GramSearch::advance, "until"_a, nb::call_guard<nb::gil_scoped_release>(),
             "Choose features until there are so many; whether there may be more.")
        .def_ro("size", &GramSearch::k, "How many features are chosen.")
        .def_ro("vanished", &GramSearch::vanished, "Whether nothing is left of the residuals but rounding.")
        .def_prop_ro("subset", [](nb::handle_t<GramSearch> self) {
            return view(nb::cast<GramSearch&>(self).subset, self);
        }, "The features in order of entry, -1 beyond the size.")
        .def_prop_ro("errors", [](nb::handle_t<GramSearch> self) {
            return view(nb::cast<GramSearch&>(self).errors, self);
        }, "Sums of the losses, by size.")
        .def_prop_ro("around", [](nb::handle_t<GramSearch> self) {
            return view(nb::cast<GramSearch&>(self).around, self);
        }, "Sums of squared deviations of the losses, by size.")
        .def_prop_ro("coef", [](nb::handle_t<GramSearch> self) {
            GramSearch& of = nb::cast<GramSearch&>(self);
            const size_t size = static_cast<size_t>(of.size), T = static_cast<size_t>(of.T);
            return nb::ndarray<nb::numpy, const double, nb::ndim<3>>(of.coef.data(), {size + 1, size, T}, self);
        }, "Coefficients of the columns as they stand, by size, in order of entry.");
}

}  // namespace sparsepath
