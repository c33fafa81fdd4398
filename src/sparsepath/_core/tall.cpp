// Loops of the searches that read tall data in blocks of rows; see rls/leave_one_out/.
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "rows.hpp"
#include "vectors.hpp"

namespace sparsepath {

namespace {

void sum_squares(const RowArray<const double>& candidates, const ConstVector& r, const ConstVector& p, const ConstVector& share,
                 const ConstVector& tau, const ConstVector& inverse, double room, Vector& out) {
    const auto z = row_pointers(candidates);
    const int64_t n = static_cast<int64_t>(candidates.shape(1));
    nb::gil_scoped_release release;
    for (size_t i = 0; i < z.size(); ++i)
        out.data()[i] = squared_errors(z[i], r.data(), p.data(), share.data(), tau.data()[i], inverse.data()[i], room, n);
}

// Some samples of the columns X, features by samples, centred and weighted.
void pick_rows(const RowArray<const double>& X, const Indices& rows, const ConstVector& means, const ConstVector& roots,
               const RowArray<double>& out) {
    const auto from = row_pointers(X);
    const auto to = row_pointers(out);
    nb::gil_scoped_release release;
    const int64_t* which = rows.data();
    const double* g = roots.data();
    for (size_t i = 0; i < from.size(); ++i) {
        const double *x = from[i], mean = means.data()[i];
        double* z = to[i];
        for (size_t j = 0; j < rows.shape(0); ++j) z[j] = g[which[j]] * (x[which[j]] - mean);
    }
}

// Backward elimination (elimination.py): what a removal does to the rows [N, M], and the next ones judged.
struct Removal {
    ConstVector row;    // [N_b, M_b] of the feature that goes
    double d;           // diag A^-1 of it
    double alpha;
    ConstMatrix r;      // residuals, targets by samples
    ConstVector p;      // 1 - leverages
    ConstMatrix a;      // Z'y, targets by directions; not used in the wide form
    double room;
};

void remove_from_rows(const RowArray<double>& rows, const RowArray<const double>& X, int64_t low, int64_t high,
                      const Removal& of, Vector& d, Matrix& w, Vector& errors) {
    const auto N = row_pointers(rows);
    const auto columns = row_pointers(X);
    const bool wide = !columns.empty();
    const int64_t m = static_cast<int64_t>(of.p.shape(0)), T = static_cast<int64_t>(of.r.shape(0));
    const int64_t tail = static_cast<int64_t>(of.row.shape(0)) - m;
    const double *gone = of.row.data(), *gone_tail = gone + m;
    const std::vector<double> ones(m, 1.0);
    nb::gil_scoped_release release;
    for (int64_t i = low; i < high; ++i) {
        double *n = N[i], *M = n + m;
        const double* x = wide ? columns[i] : nullptr;
        double own;
        if (wide) {
            subtract(n, -dot(x, gone, m) / (of.alpha * of.d), gone, m);
            own = (1.0 - dot(x, n, m)) / of.alpha;
        } else {
            const double f = dot(M, gone_tail, tail) / of.d;
            subtract(n, f, gone, m);
            subtract(M, f, gone_tail, tail);
            own = dot(M, M, tail);
        }
        d.data()[i] = own;
        double total = 0;
        for (int64_t o = 0; o < T; ++o) {
            const double* r = of.r.data() + o * m;
            const double along = wide ? dot(x, r, m) / of.alpha : dot(M, of.a.data() + o * tail, tail);
            w.data()[i * T + o] = along;
            total += squared_errors(n, r, of.p.data(), ones.data(), -along / own, -1.0 / own, of.room, m);
        }
        errors.data()[i] = total;
    }
}

}  // namespace

void bind_tall(nb::module_& m) {
    using namespace nb::literals;
    m.def("sum_squares", &sum_squares, "candidates"_a, "r"_a, "p"_a, "share"_a, "tau"_a, "inverse"_a, "room"_a,
          nb::arg("out").noconvert(), "Fill the sum of share ((r - z tau) / (p - z^2 inverse))^2 for each candidate z.");
    m.def("pick_rows", &pick_rows, "X"_a.noconvert(), "rows"_a, "means"_a, "roots"_a, nb::arg("out").noconvert(),
          "Fill some samples of the columns X, features by samples, centred and multiplied by the roots of their weights.");
    nb::class_<Removal>(m, "Removal", "A feature that leaves a model, and the model without it; see elimination.py.")
        .def(nb::init<ConstVector, double, double, ConstMatrix, ConstVector, ConstMatrix, double>(), "row"_a, "d"_a,
             "alpha"_a, "r"_a, "p"_a, "a"_a, "room"_a);
    m.def("remove_from_rows", &remove_from_rows, nb::arg("rows").noconvert(), nb::arg("X").noconvert(), "low"_a, "high"_a,
          "removal"_a, nb::arg("d").noconvert(), nb::arg("w").noconvert(), nb::arg("errors").noconvert(),
          "Make a removal in some of the rows, in place; fill d, w and the sum of squared errors of the next removals.");
}

}  // namespace sparsepath
