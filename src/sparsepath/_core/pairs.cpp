// Leave-pair-out: loops over all pairs of samples. The letters are those of rls/pairs/model.py, which has the derivation.
//
// The models that are judged have H + zz' inverse and F + z tau; nothing of the size of the pairs is kept.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "simd.hpp"
#include "threads.hpp"
#include "vectors.hpp"

namespace sparsepath {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();

// The samples, those with the largest targets first, and the pairs i < j that are left out: i < stop, j >= begin.
struct Pairs {
    std::vector<double> y, g;         // targets, centred if there is an intercept; roots of the weights
    double share;                     // one over the weight of all samples, zero without an intercept
    int64_t stop, begin;
    double room;                      // a determinant up to this leaves nothing out

    int64_t size() const { return static_cast<int64_t>(y.size()); }
};

// One model: what is added to H and F, and the difference of scores that decides nothing.
struct Change {
    const double* z;
    double inverse, tau, blur;
};

// What a sample brings to its pairs.
struct Samples {
    std::vector<double> h, p, r, part, gy, over, weight;

    Samples(const Pairs& pairs, const double* H, const double* F, Change of)
        : h(pairs.size()), p(h), r(h), part(h), gy(h), over(h), weight(h) {
        const int64_t m = pairs.size();
        for (int64_t j = 0; j < m; ++j) {
            gy[j] = pairs.g[j] * pairs.y[j];
            over[j] = 1.0 / pairs.g[j];
            weight[j] = pairs.g[j] * pairs.g[j];
            const double f = F[j] + of.z[j] * of.tau;
            h[j] = H[j * m + j] + of.z[j] * of.z[j] * of.inverse;
            p[j] = 1.0 - pairs.share * weight[j] - h[j];
            r[j] = gy[j] - f;
            part[j] = f - h[j] * gy[j];  // less what the sample itself has in its fitted value
        }
    }
};

// The pairs of sample i with j = first .. m - 1: their losses into `losses`, the least determinant returned.
SPARSEPATH_WIDE double squared_row(const Pairs& pairs, const Samples& of, const double* row, Change change, int64_t i,
                                   int64_t first, double* SPARSEPATH_RESTRICT losses) {
    const int64_t count = pairs.size() - first;
    const double step = change.inverse * change.z[i], pi = of.p[i], ri = of.r[i], over_i = of.over[i],
                 share = pairs.share * pairs.g[i], room = pairs.room;
    const double *z = change.z + first, *p = &of.p[first], *r = &of.r[first], *over = &of.over[first],
                 *g = &pairs.g[first], *H = row + first;
    double least = INF;
#pragma omp simd reduction(min : least)
    for (int64_t j = 0; j < count; ++j) {
        const double cross = -share * g[j] - (H[j] + step * z[j]);
        const double det = pi * p[j] - cross * cross;
        const double e_i = (p[j] * ri - cross * r[j]) * over_i, e_j = (pi * r[j] - cross * ri) * over[j];
        const double gap = det > room ? (e_i - e_j) / det : 0.0;
        losses[j] = gap * gap;
        least = det < least ? det : least;
    }
    return least;
}

SPARSEPATH_WIDE double order_row(const Pairs& pairs, const Samples& of, const double* row, Change change, int64_t i,
                                 int64_t first, double* SPARSEPATH_RESTRICT losses) {
    const int64_t count = pairs.size() - first;
    const double step = change.inverse * change.z[i], gi = pairs.g[i], gyi = of.gy[i], yi = pairs.y[i], hi = of.h[i],
                 pi = of.p[i], fi = of.part[i], over_i = of.over[i], share = pairs.share, blur = change.blur;
    const double *z = change.z + first, *p = &of.p[first], *h = &of.h[first], *part = &of.part[first],
                 *over = &of.over[first], *g = &pairs.g[first], *gy = &of.gy[first], *y = &pairs.y[first],
                 *H = row + first;
    double least = INF;
#pragma omp simd reduction(min : least)
    for (int64_t j = 0; j < count; ++j) {
        const double x = H[j] + step * z[j], cross = -share * gi * g[j] - x;
        const double det = pi * p[j] - cross * cross;
        const double a = fi - x * gy[j], b = part[j] - x * gyi;
        double gap = -share * (gi * gyi + g[j] * gy[j]) * (hi - h[j] + x * (g[j] * over_i - gi * over[j]));
        gap += (p[j] * a - cross * b) * over_i - (pi * b - cross * a) * over[j];
        gap = yi > y[j] ? gap : -gap;
        const double edge = blur * det;
        const double loss = 0.5 * ((gap < -edge ? 1.0 : 0.0) + (gap <= edge ? 1.0 : 0.0));
        losses[j] = yi != y[j] ? loss : 0.0;
        least = det < least ? det : least;
    }
    return least;
}

// Sum over pairs of g_i^2 g_j^2 times the loss; own, if given, gets the sums over the pairs of every sample without its
// own weight. Infinite if a pair leaves no room.
double sum_pairs(const Pairs& pairs, const double* H, const double* F, Change change, bool squared, double* own) {
    const int64_t m = pairs.size();
    const Samples of(pairs, H, F, change);
    std::vector<double> losses(m);
    double total = 0.0, least = INF;
    for (int64_t i = 0; i < pairs.stop; ++i) {
        const int64_t first = std::max(i + 1, pairs.begin), count = m - first;
        if (count <= 0) continue;
        const double *row = H + i * m, *weight = &of.weight[first];
        const double tightest = squared ? squared_row(pairs, of, row, change, i, first, losses.data())
                                        : order_row(pairs, of, row, change, i, first, losses.data());
        least = std::min(least, tightest);
        const double mine = dot(weight, losses.data(), count);
        total += of.weight[i] * mine;
        if (!own) continue;
        own[i] += mine;
        for (int64_t j = 0; j < count; ++j) own[first + j] += of.weight[i] * losses[j];
    }
    return least > pairs.room ? total : INF;
}

}  // namespace

void bind_pairs(nb::module_& m) {
    nb::class_<Pairs>(m, "Pairs", "Samples, and the pairs of them that are left out.")
        .def(
            "__init__",
            [](Pairs* at, ConstVector y, ConstVector g, double share, int64_t stop, int64_t begin, double room) {
                new (at) Pairs{{y.data(), y.data() + y.shape(0)}, {g.data(), g.data() + g.shape(0)}, share, stop, begin,
                               room};
            },
            nb::arg("y"), nb::arg("g"), nb::arg("share"), nb::arg("stop"), nb::arg("begin"), nb::arg("room"))
        .def(
            "sums",
            [](const Pairs& self, ConstMatrix H, ConstVector F, ConstMatrix Z, ConstVector inverse, ConstVector tau,
               ConstVector blur, bool squared, int n_threads) {
                const int64_t m = self.size(), count = Z.shape(0);
                auto out = new_vector<double>(count);
                double* sums = out.data();
                nb::gil_scoped_release release;
                parallel_for(count, n_threads, [&](int64_t c) {
                    const Change change{Z.data() + c * m, inverse.data()[c], tau.data()[c], blur.data()[c]};
                    sums[c] = sum_pairs(self, H.data(), F.data(), change, squared, nullptr);
                });
                return out;
            },
            nb::arg("H"), nb::arg("F"), nb::arg("Z"), nb::arg("inverse"), nb::arg("tau"), nb::arg("blur"),
            nb::arg("squared"), nb::arg("n_threads") = 1,
            "Sums of the loss over pairs with H + zz' inverse and F + z tau, z each row of Z.")
        .def(
            "sums_by_sample",
            [](const Pairs& self, ConstMatrix H, ConstVector F, double blur, bool squared) {
                auto own = new_vector<double>(self.size());
                const std::vector<double> nothing(self.size(), 0.0);
                const double total = sum_pairs(self, H.data(), F.data(), {nothing.data(), 0.0, 0.0, blur}, squared, own.data());
                return std::pair<double, decltype(own)>(total, own);
            },
            nb::arg("H"), nb::arg("F"), nb::arg("blur"), nb::arg("squared"),
            "The sum over pairs of the model, and those of every sample without its own weight.");
}

}  // namespace sparsepath
