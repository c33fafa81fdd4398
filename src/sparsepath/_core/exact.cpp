// Best subsets of every size for the penalised training error, by branch and bound.
//
// With M = X'X + alpha I and b = X'Y the least of |Y - X W|^2 + alpha |W|^2 over the columns A is
//
//     F(A) = Y'Y - b_A' M_A^-1 b_A,
//
// which never falls when a column leaves A. A node of the tree is a set A with some columns fixed: they stay in all sets
// below it. Kept for the free columns are B, their block of M_A^-1, and their coefficients W. A column i that leaves
// changes
//
//     F by |w_i|^2 / B_ii,        B by -B_i B_i' / B_ii,        W by -B_i w_i / B_ii,
//
// and fixing a column leaves out its row of B and W. When r of the free columns leave, F grows at least by
//
//     the r-th smallest |w_i|^2 / B_ii, since one of those that leave costs as much by itself, and by
//     the sum of the r smallest d_i |w_i|^2, where d > 0 and M - diag(d) is positive semidefinite: leaving out a set R is
//     the least of (u - W)' M_A (u - W) over all u with u_R = 0.
//
// A child drops one free column and fixes those before it, in the order of falling costs, so that what matters most is
// dropped first, below the largest subtree. Sizes whose bound is no less than the best value known are cut; a node
// without sizes is not entered.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"

namespace sparsepath {

namespace {

constexpr double INF = std::numeric_limits<double>::infinity();
constexpr int64_t NODES_AT_ONCE = 1 << 14;  // between two looks at the clock

// What ends a search from outside: the clock and Ctrl-C.
class Deadline {
public:
    explicit Deadline(double seconds) : seconds_(seconds), began_(Clock::now()) {}
    // Whether the search has to end; called with the GIL released.
    bool passed() {
        if (std::chrono::duration<double>(Clock::now() - began_).count() >= seconds_) return true;
        nb::gil_scoped_acquire gil;
        interrupted_ = PyErr_CheckSignals() != 0;
        return interrupted_;
    }
    bool interrupted() const { return interrupted_; }

private:
    using Clock = std::chrono::steady_clock;
    double seconds_;
    Clock::time_point began_;
    bool interrupted_ = false;
};

// The best subsets of all sizes; see the head of the file.
class RemovalTree {
public:
    // B and W of all free columns, in which `fixed` columns stay; d as above; F of all columns; the best values known
    // of the sizes 0 to the number of columns, infinite for sizes that are not wanted; what counts as no gain.
    RemovalTree(ConstMatrix B, ConstMatrix W, ConstVector d, double F, int64_t fixed, ConstVector known, double slack)
        : m_(B.shape(0)), t_(W.shape(1)), fixed_(fixed), F_(F), slack_(slack), d_(d.data(), d.data() + m_),
          best_(known.data(), known.data() + known.shape(0)), lower_(best_.size(), INF), dropped_(best_.size()),
          levels_(m_ + 1) {
        Level& root = level(0, m_);
        std::copy(B.data(), B.data() + m_ * m_, root.B.begin());
        std::copy(W.data(), W.data() + m_ * t_, root.W.begin());
        std::iota(root.index.begin(), root.index.end(), 0);
    }

    // Search until the end or for so many seconds; whether it came to the end.
    bool run(double seconds) {
        Deadline deadline(seconds);
        {
            nb::gil_scoped_release release;
            deadline_ = &deadline;
            stopped_ = seconds <= 0;
            int64_t first = 0, last = -1;
            for (int64_t s = 0; s < static_cast<int64_t>(best_.size()); ++s)
                if (best_[s] < INF) {
                    if (last < 0) first = s;
                    last = s;
                }
            if (stopped_) leave_open(F_, fixed_, fixed_ + m_);
            else visit(0, m_, fixed_, F_, first, last);
        }
        if (deadline.interrupted()) throw nb::python_error();
        return !stopped_;
    }

    auto best() const { return numpy_of(best_); }
    // For every size a bound of all sets that were not looked at: infinite if there are none.
    auto lower() const { return numpy_of(lower_); }
    // The free columns that are not in the best set of a size, if it was found here.
    std::vector<int64_t> dropped(int64_t size) const { return dropped_.at(size); }
    bool improved(int64_t size) const { return improved_.size() > static_cast<size_t>(size) && improved_[size]; }
    int64_t nodes() const { return nodes_; }

private:
    struct Level {
        std::vector<double> B, W, costs, sorted, drops;
        std::vector<int64_t> index, order;
    };

    Level& level(int64_t depth, int64_t m) {
        Level& here = levels_[depth];
        if (static_cast<int64_t>(here.index.size()) < m) {
            here.B.resize(m * m);
            here.W.resize(m * t_);
            for (auto* one : {&here.costs, &here.sorted, &here.drops}) one->resize(m);
            here.index.resize(m);
            here.order.resize(m);
        }
        return here;
    }

    // The subtree of a node whose B, W and index are in place; sizes from first to last are wanted.
    void visit(int64_t depth, int64_t m, int64_t fixed, double F, int64_t first, int64_t last) {
        if (++nodes_ % NODES_AT_ONCE == 0 && deadline_->passed()) stopped_ = true;
        record(fixed + m, F);
        last = std::min(last, fixed + m - 1);
        first = std::max(first, fixed);
        if (first > last) return;
        if (stopped_) return leave_open(F, first, last);
        Level& here = levels_[depth];
        double* B = here.B.data();
        double* W = here.W.data();
        for (int64_t i = 0; i < m; ++i) {
            double squares = 0;
            for (int64_t t = 0; t < t_; ++t) squares += W[i * t_ + t] * W[i * t_ + t];
            here.costs[i] = squares / B[i * m + i];
            here.drops[i] = squares * d_[here.index[i]];
        }
        std::copy(here.costs.begin(), here.costs.begin() + m, here.sorted.begin());
        std::sort(here.sorted.begin(), here.sorted.begin() + m);
        std::sort(here.drops.begin(), here.drops.begin() + m);
        double together = 0;
        int64_t low = -1, high = -1;
        for (int64_t size = fixed + m - 1, r = 1; size >= first; --size, ++r) {
            together += here.drops[r - 1];
            if (size > last) continue;
            if (F + std::max(here.sorted[r - 1], together) < best_[size] - slack_) {
                low = size;
                if (high < 0) high = size;
            }
        }
        if (low < 0) return;
        sort_columns(here, m);
        double* P = here.B.data();
        W = here.W.data();
        for (int64_t i = 0; i < m && fixed + i <= high; ++i) {
            const double after = F + here.costs[i];
            const int64_t from = std::max(low, fixed + i);
            const int64_t rest = m - i - 1;
            if (!hopeful(after, from, std::min(high, fixed + i + rest))) continue;
            if (stopped_) {
                leave_open(after, from, std::min(high, fixed + i + rest));
                continue;
            }
            Level& child = level(depth + 1, rest);
            const double pivot = 1.0 / P[i * m + i];
            const double* row = P + i * m + i + 1;
            for (int64_t a = 0; a < rest; ++a) {
                const double factor = row[a] * pivot;
                const double* old = P + (i + 1 + a) * m + i + 1;
                double* now = child.B.data() + a * rest;
                for (int64_t b = 0; b < rest; ++b) now[b] = old[b] - factor * row[b];
                for (int64_t t = 0; t < t_; ++t)
                    child.W[a * t_ + t] = W[(i + 1 + a) * t_ + t] - factor * W[i * t_ + t];
                child.index[a] = here.index[i + 1 + a];
            }
            gone_.push_back(here.index[i]);
            visit(depth + 1, rest, fixed + i, after, from, high);
            gone_.pop_back();
        }
    }

    // Whether some size may hold a set that is better than the best known.
    bool hopeful(double F, int64_t first, int64_t last) const {
        for (int64_t size = first; size <= last; ++size)
            if (F < best_[size] - slack_) return true;
        return false;
    }

    void record(int64_t size, double F) {
        if (!(F < best_[size] - slack_) || best_[size] == INF) return;
        best_[size] = F;
        dropped_[size] = gone_;
        if (improved_.empty()) improved_.assign(best_.size(), false);
        improved_[size] = true;
    }

    // Note that sets of some sizes below a node were not looked at.
    void leave_open(double F, int64_t first, int64_t last) {
        for (int64_t size = first; size <= last; ++size)
            if (F < best_[size] - slack_) lower_[size] = std::min(lower_[size], F);
    }

    // Put the columns in the order of falling costs, equal ones as they were.
    void sort_columns(Level& here, int64_t m) {
        auto begin = here.order.begin();
        std::iota(begin, begin + m, 0);
        std::stable_sort(begin, begin + m, [&](int64_t a, int64_t b) { return here.costs[a] > here.costs[b]; });
        scratch_.resize(m * std::max(m, t_));
        for (int64_t a = 0; a < m; ++a)
            for (int64_t b = 0; b < m; ++b) scratch_[a * m + b] = here.B[here.order[a] * m + here.order[b]];
        std::copy(scratch_.begin(), scratch_.begin() + m * m, here.B.begin());
        for (int64_t a = 0; a < m; ++a)
            for (int64_t t = 0; t < t_; ++t) scratch_[a * t_ + t] = here.W[here.order[a] * t_ + t];
        std::copy(scratch_.begin(), scratch_.begin() + m * t_, here.W.begin());
        for (int64_t a = 0; a < m; ++a) scratch_[a] = here.costs[here.order[a]];
        std::copy(scratch_.begin(), scratch_.begin() + m, here.costs.begin());
        for (int64_t a = 0; a < m; ++a) here.order[a] = here.index[here.order[a]];
        std::copy(here.order.begin(), here.order.begin() + m, here.index.begin());
    }

    int64_t m_, t_, fixed_;
    double F_, slack_;
    std::vector<double> d_, best_, lower_;
    std::vector<std::vector<int64_t>> dropped_;
    std::vector<Level> levels_;
    std::vector<double> scratch_;
    std::vector<int64_t> gone_;
    std::vector<bool> improved_;
    Deadline* deadline_ = nullptr;
    bool stopped_ = false;
    int64_t nodes_ = 0;
};

}  // namespace

void bind_exact(nb::module_& m) {
    nb::class_<RemovalTree>(m, "RemovalTree")
        .def(nb::init<ConstMatrix, ConstMatrix, ConstVector, double, int64_t, ConstVector, double>(), nb::arg("B"),
             nb::arg("W"), nb::arg("d"), nb::arg("F"), nb::arg("fixed"), nb::arg("known"), nb::arg("slack"))
        .def("run", &RemovalTree::run, nb::arg("seconds"))
        .def("dropped", &RemovalTree::dropped, nb::arg("size"))
        .def("improved", &RemovalTree::improved, nb::arg("size"))
        .def_prop_ro("best", &RemovalTree::best, nb::rv_policy::move)
        .def_prop_ro("lower", &RemovalTree::lower, nb::rv_policy::move)
        .def_prop_ro("nodes", &RemovalTree::nodes);
}

}  // namespace sparsepath
