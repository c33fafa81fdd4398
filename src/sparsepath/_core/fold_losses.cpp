#include "fold_losses.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "simd.hpp"
#include "threads.hpp"
#include "vectors.hpp"

namespace sparsepath {
namespace {

constexpr int64_t TILE = 256;          // columns that are judged together

template <class Loss>
inline void add_costs(Loss loss, double e, double v, const double* d, const double* omega, int64_t n,
                      double* SPARSEPATH_RESTRICT out) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] += v * loss(e - omega[i] * d[i], 0.0, 0.0);
}
SPARSEPATH_WIDE void add_squared(SquaredLoss loss, double e, double v, const double* d, const double* omega, int64_t n,
                                 double* SPARSEPATH_RESTRICT out) {
    add_costs(loss, e, v, d, omega, n, out);
}
SPARSEPATH_WIDE void add_absolute(AbsoluteLoss loss, double e, double v, const double* d, const double* omega,
                                  int64_t n, double* SPARSEPATH_RESTRICT out) {
    add_costs(loss, e, v, d, omega, n, out);
}
SPARSEPATH_WIDE void add_huber(HuberLoss loss, double e, double v, const double* d, const double* omega, int64_t n,
                               double* SPARSEPATH_RESTRICT out) {
    add_costs(loss, e, v, d, omega, n, out);
}
void add_losses(SquaredLoss loss, double e, double v, const double* d, const double* omega, int64_t n, double* out) {
    add_squared(loss, e, v, d, omega, n, out);
}
void add_losses(AbsoluteLoss loss, double e, double v, const double* d, const double* omega, int64_t n, double* out) {
    add_absolute(loss, e, v, d, omega, n, out);
}
void add_losses(HuberLoss loss, double e, double v, const double* d, const double* omega, int64_t n, double* out) {
    add_huber(loss, e, v, d, omega, n, out);
}
void add_losses(LogCoshLoss loss, double e, double v, const double* d, const double* omega, int64_t n, double* out) {
    for (int64_t i = 0; i < n; ++i) out[i] += v * loss(e - omega[i] * d[i], 0.0, 0.0);
}

// A mistake of a +-1 target: y e >= 1 - y blur; no decision is the first class.
SPARSEPATH_WIDE void add_wrong_signs(double e, double y, double v, const double* d, const double* omega,
                                     const double* blur, int64_t n, double* SPARSEPATH_RESTRICT out) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] += (e - omega[i] * d[i]) * y >= 1.0 - y * blur[i] ? v : 0.0;
}

// A mistake with one target per class: e_own - e >= 2 - blur for an earlier class, 2 + blur for a later one: of equal
// scores the first wins. omega: T x n, `step` numbers apart; e likewise.
struct ClassRow {
    const double* e;
    int64_t e_step, own;
    const double* omega;
    int64_t omega_step, T;
};
SPARSEPATH_WIDE void add_wrong_classes(const ClassRow& row, double v, const double* d, const double* blur, int64_t n,
                                       double* SPARSEPATH_RESTRICT least,
                                       double* SPARSEPATH_RESTRICT out) {
    std::fill_n(least, n, INFINITY);
    for (int64_t t = 0; t < row.T; ++t) {
        if (t == row.own) continue;
        const double e = row.e[t * row.e_step], *omega = row.omega + t * row.omega_step;
        const double sign = t < row.own ? -1.0 : 1.0;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
            const double left = e - omega[i] * d[i] + sign * blur[i];
            least[i] = left < least[i] ? left : least[i];
        }
    }
    const double e = row.e[row.own * row.e_step], *omega = row.omega + row.own * row.omega_step;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] += (e - omega[i] * d[i]) - least[i] >= 2.0 ? v : 0.0;
}

}  // namespace

FoldLosses::FoldLosses(std::shared_ptr<const TestRows> rows, const double* d, int64_t n_, const double* e, int64_t T_)
    : n(n_), T(T_), rows_(std::move(rows)), e_(e, e + T_ * rows_->count()) {
    if (d) d_.assign(d, d + rows_->count() * n);
}

// Take the last addition off what is left of some columns.
void FoldLosses::catch_up(int64_t begin, int64_t end) {
    const std::vector<double>& d_b = chosen_.back();
    for (int64_t f = 0; f < rows_->splits(); ++f)
        for (int64_t r = rows_->starts[f]; r < rows_->starts[f + 1]; ++r)
            subtract(&d_[r * n + begin], d_b[r], &pending_->u[f * n + begin], end - begin);
}

void FoldLosses::follow(const Folds& folds, const double* column) {
    if (pending_) catch_up(0, n);
    const int64_t b = folds.chosen.back(), k = static_cast<int64_t>(chosen_.size()), R = rows_->count();
    std::vector<double> d_b(R);
    for (int64_t f = 0; f < rows_->splits(); ++f) {
        const int64_t first = rows_->starts[f], last = rows_->starts[f + 1];
        if (keeps()) {
            for (int64_t r = first; r < last; ++r) d_b[r] = d_[r * n + b];
        } else {
            std::copy(column + first, column + last, &d_b[first]);
            for (int64_t l = 0; l < k; ++l)
                subtract(&d_b[first], folds.followed[l]->u[f * n + b], &chosen_[l][first], last - first);
        }
        for (int64_t t = 0; t < T; ++t)
            subtract(&e_[t * R + first], folds.triangles[f].omega[k * T + t], &d_b[first], last - first);
    }
    chosen_.push_back(std::move(d_b));
    if (keeps()) pending_ = folds.followed.back();
}

// d of some columns that is not kept: columns begin .. of a strip of `width`, which are first + begin .. of all.
void FoldLosses::fill(const Folds& folds, const double* strip, int64_t width, int64_t first, int64_t begin,
                      int64_t count, double* out) const {
    for (int64_t f = 0; f < rows_->splits(); ++f)
        for (int64_t r = rows_->starts[f]; r < rows_->starts[f + 1]; ++r) {
            double* row = out + r * count;
            std::copy_n(strip + r * width + begin, count, row);
            for (size_t l = 0; l < chosen_.size(); ++l)
                subtract(row, chosen_[l][r], &folds.followed[l]->u[f * n + first + begin], count);
        }
}

void FoldLosses::left(const Folds& folds, const double* strip, int64_t first, int64_t count, double* out) {
    if (!keeps()) return fill(folds, strip, count, first, 0, count, out);
    if (pending_) catch_up(0, n);
    pending_.reset();
    for (int64_t r = 0; r < rows_->count(); ++r) std::copy_n(&d_[r * n + first], count, out + r * count);
}

void FoldLosses::additions(const Folds& folds, const double* strip, int64_t first, int64_t count, const double* blur,
                           double* out, int n_threads) {
    const int64_t F = rows_->splits();
    parallel_ranges(count, TILE, n_threads, [&](int64_t begin, int64_t end) {
        const int64_t some = end - begin, at = first + begin;
        std::vector<double> omega(F * T * some), found(some);
        Numbers d;
        for (int64_t of = 0; of < F * T; ++of)
            for (int64_t i = 0; i < some; ++i)
                omega[of * some + i] = folds.is_usable(at + i) ? folds.omega(of / T, of % T, at + i) : 0.0;
        Models models{nullptr, n, some, omega.data(), blur + begin};
        if (keeps()) {
            if (pending_) catch_up(at, at + some);
            models.d = &d_[at];
        } else {
            d.resize(rows_->count() * some);
            fill(folds, strip, count, first, begin, some, d.data());
            models.d = d.data();
            models.stride = some;
        }
        for (int64_t f = 0; f < F; ++f) {
            judge(f, models, found.data());
            std::copy_n(found.data(), some, out + f * count + begin);
        }
    });
    if (keeps()) pending_.reset();
}

std::vector<double> FoldLosses::removed(const Folds& folds) const {
    const int64_t k = static_cast<int64_t>(chosen_.size());
    std::vector<double> out(rows_->count() * k, 0.0), q(k);
    for (int64_t f = 0; f < rows_->splits(); ++f)
        for (int64_t l = 0; l < k; ++l) {
            folds.triangles[f].removal(l, q.data());
            for (int64_t m = l; m < k; ++m)
                for (int64_t r = rows_->starts[f]; r < rows_->starts[f + 1]; ++r)
                    out[r * k + l] += q[m] * chosen_[m][r];
        }
    return out;
}

void FoldLosses::removals(const Folds& folds, const double* blur, double* out) const {
    const int64_t k = static_cast<int64_t>(chosen_.size()), F = rows_->splits();
    const std::vector<double> d = removed(folds);
    std::vector<double> omega(F * T * k), w(T);
    for (int64_t f = 0; f < F; ++f)
        for (int64_t l = 0; l < k; ++l) {
            folds.triangles[f].removed_coefficient(l, T, w.data());
            for (int64_t t = 0; t < T; ++t) omega[(f * T + t) * k + l] = -w[t];
        }
    for (int64_t f = 0; f < F; ++f) judge(f, {d.data(), k, k, omega.data(), blur}, out + f * k);
}

void FoldLosses::current(double blur, double* out) const {
    const std::vector<double> nothing(std::max(rows_->count(), rows_->splits() * T), 0.0);
    for (int64_t f = 0; f < rows_->splits(); ++f) judge(f, {nothing.data(), 1, 1, nothing.data(), &blur}, out + f);
}

// The loss of some models on the test rows of split f.
void FoldLosses::judge(int64_t f, const Models& models, double* out) const {
    const int64_t first = rows_->starts[f], last = rows_->starts[f + 1], R = rows_->count(), count = models.count;
    const double* omega = models.omega + f * T * count;
    if (!rows_->orders.empty()) {
        const Order& order = rows_->orders[f];
        const int64_t rows = last - first;
        Disorder wrong(order);
        std::vector<double> scores(count * rows);
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = 0; i < count; ++i)
                scores[i * rows + r] = omega[i] * models.d[(first + r) * models.stride + i] - e_[first + r];
        for (int64_t i = 0; i < count; ++i) out[i] = rows_->weight[f] * wrong(&scores[i * rows], models.blur[i]);
        return;
    }
    std::fill_n(out, count, 0.0);
    std::visit(
        [&](auto loss) {
            if constexpr (decltype(loss)::by_class) {
                std::vector<double> least(count);
                for (int64_t r = first; r < last; ++r) {
                    const double *d = models.d + r * models.stride, v = rows_->weight[r];
                    if (v == 0.0) continue;
                    if (T == 1)
                        add_wrong_signs(e_[r], rows_->label[r], v, d, omega, models.blur, count, out);
                    else
                        add_wrong_classes({&e_[r], R, static_cast<int64_t>(rows_->label[r]), omega, count, T}, v, d,
                                          models.blur, count, least.data(), out);
                }
            } else {
                for (int64_t r = first; r < last; ++r)
                    for (int64_t t = 0; t < T; ++t)
                        add_losses(loss, e_[t * R + r], rows_->weight[r], models.d + r * models.stride,
                                   omega + t * count, count, out);
            }
        },
        rows_->loss);
}

namespace {

using Strip = std::optional<ConstMatrix>;
using Out = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

const double* data_of(const FoldLosses& self, const Strip& strip) {
    if (!self.keeps() && !strip) throw std::invalid_argument("columns are not kept: give those of the strip");
    return strip ? strip->data() : nullptr;
}

std::vector<double> numbers(ConstVector from) { return {from.data(), from.data() + from.shape(0)}; }
std::vector<int64_t> numbers(Indices from) { return {from.data(), from.data() + from.shape(0)}; }

}  // namespace

void bind_fold_losses(nb::module_& m) {
    nb::class_<Order>(m, "Order", "The order that the rows of a test part belong in.")
        .def(
            "__init__",
            [](Order* at, Indices ends, Indices depth, ConstVector weights, int64_t larger) {
                new (at) Order{numbers(ends), numbers(depth), numbers(weights), larger};
            },
            nb::arg("ends"), nb::arg("depth"), nb::arg("weights"), nb::arg("larger"))
        .def(
            "wrong",
            [](const Order& self, ConstMatrix scores, ConstVector blur) {
                auto out = new_vector<double>(scores.shape(0));
                Disorder wrong(self);
                for (size_t i = 0; i < scores.shape(0); ++i)
                    out.data()[i] = wrong(scores.data() + i * scores.shape(1), blur.data()[i]);
                return out;
            },
            nb::arg("scores"), nb::arg("blur"), "The weight of the pairs in the wrong order, for each row of scores.");
    nb::class_<TestRows>(m, "TestRows", "The test rows of all splits, and how they are judged.")
        .def(
            "__init__",
            [](TestRows* at, Indices starts, ConstVector weight, ConstVector label, const AnyLoss& loss) {
                new (at) TestRows{numbers(starts), numbers(weight), numbers(label), loss, {}};
            },
            nb::arg("starts"), nb::arg("weight"), nb::arg("label"), nb::arg("loss"))
        .def_static(
            "ordered",
            [](Indices starts, ConstVector weight, const std::vector<Order>& orders) {
                return TestRows{numbers(starts), numbers(weight), {}, SquaredLoss{}, orders};
            },
            nb::arg("starts"), nb::arg("weight"), nb::arg("orders"));
    nb::class_<FoldLosses>(m, "FoldLosses", "What models cost on the test rows of all splits.")
        .def(
            "__init__",
            [](FoldLosses* at, const TestRows& rows, std::optional<ConstMatrix> d, int64_t n, ConstMatrix e) {
                if ((d && (d->shape(0) != static_cast<size_t>(rows.count()) ||
                           d->shape(1) != static_cast<size_t>(n))) ||
                    e.shape(1) != static_cast<size_t>(rows.count()))
                    throw std::invalid_argument("columns and residuals must have the test rows");
                new (at) FoldLosses(std::make_shared<const TestRows>(rows), d ? d->data() : nullptr, n, e.data(),
                                    e.shape(0));
            },
            nb::arg("rows"), nb::arg("d").none(), nb::arg("n"), nb::arg("e"))
        .def("copy", [](const FoldLosses& self) { return FoldLosses(self); })
        .def(
            "follow",
            [](FoldLosses& self, const Folds& folds, std::optional<ConstVector> column) {
                if (!self.keeps() && !column) throw std::invalid_argument("columns are not kept: give the new one");
                nb::gil_scoped_release release;
                self.follow(folds, column ? column->data() : nullptr);
            },
            nb::arg("folds"), nb::arg("column").none(), "Follow the last feature that was added.")
        .def(
            "additions",
            [](FoldLosses& self, const Folds& folds, ConstVector blur, int64_t first, Strip strip, int n_threads) {
                Out out = new_matrix<double>(self.rows().splits(), blur.shape(0));
                const double* columns = data_of(self, strip);
                nb::gil_scoped_release release;
                self.additions(folds, columns, first, blur.shape(0), blur.data(), out.data(), n_threads);
                return out;
            },
            nb::arg("folds"), nb::arg("blur"), nb::arg("first") = 0, nb::arg("strip").none() = nb::none(),
            nb::arg("n_threads") = 1, "Losses with each of some candidates, splits x candidates.")
        .def(
            "removals",
            [](const FoldLosses& self, const Folds& folds, ConstVector blur) {
                Out out = new_matrix<double>(self.rows().splits(), folds.chosen.size());
                self.removals(folds, blur.data(), out.data());
                return out;
            },
            nb::arg("folds"), nb::arg("blur"), "Losses without each chosen feature, splits x features.")
        .def(
            "current",
            [](const FoldLosses& self, double blur) {
                auto out = new_vector<double>(self.rows().splits());
                self.current(blur, out.data());
                return out;
            },
            nb::arg("blur"), "The loss of the model on each test part.")
        .def(
            "left",
            [](FoldLosses& self, const Folds& folds, int64_t first, int64_t count, Strip strip) {
                Out out = new_matrix<double>(self.rows().count(), count);
                self.left(folds, data_of(self, strip), first, count, out.data());
                return out;
            },
            nb::arg("folds"), nb::arg("first"), nb::arg("count"), nb::arg("strip").none() = nb::none(),
            "What is left of some columns on the test rows.")
        .def(
            "removed",
            [](const FoldLosses& self, const Folds& folds) {
                const std::vector<double> found = self.removed(folds);
                Out out = new_matrix<double>(self.rows().count(), folds.chosen.size());
                std::copy(found.begin(), found.end(), out.data());
                return out;
            },
            nb::arg("folds"), "What the other chosen features leave of each chosen column on the test rows.")
        .def(
            "residuals",
            [](const FoldLosses& self) {
                Out out = new_matrix<double>(self.T, self.rows().count());
                std::copy(self.residuals().begin(), self.residuals().end(), out.data());
                return out;
            },
            "Residuals on the test rows, T x rows.");
}

}  // namespace sparsepath
