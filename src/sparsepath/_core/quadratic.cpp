#include "quadratic.hpp"

#include "simd.hpp"
#include "vectors.hpp"

#include <algorithm>
#include <cmath>

namespace sparsepath {
namespace {

constexpr int64_t ROUNDS = 20;      // passes over the moving coordinates between passes over all
constexpr int64_t FEW_PASSES = 10;  // passes before an exact solution, at least; else a third of the weights: its price
constexpr int MOST_SOLUTIONS = 30;
constexpr double ZERO_PIVOT = 1e-12;  // part of a column's square that other columns must leave of it

// Subtract from a row its products with the rows above: L[row][i] = (A[row][i] - L[row] . L[i]) / L[i][i].
SPARSEPATH_WIDE void eliminate(const double* SPARSEPATH_RESTRICT L, int64_t rows, int64_t stride,
                               double* SPARSEPATH_RESTRICT row) {
    for (int64_t i = 0; i < rows; ++i) {
        const double* above = L + i * stride;
        double s = 0.0;
#pragma omp simd reduction(+ : s)
        for (int64_t e = 0; e < i; ++e) s += row[e] * above[e];
        row[i] = (row[i] - s) / above[i];
    }
}

}  // namespace

int64_t cholesky(std::vector<double>& A, int64_t f, double zero_pivot, std::vector<int64_t>& kept) {
    kept.clear();
    std::vector<double> row(static_cast<size_t>(f));
    int64_t done = 0;
    for (int64_t a = 0; a < f; ++a) {
        for (int64_t i = 0; i < done; ++i) row[i] = A[a * f + kept[i]];
        const double whole = A[a * f + a];
        eliminate(A.data(), done, f, row.data());
        double pivot = whole;
        for (int64_t i = 0; i < done; ++i) pivot -= row[i] * row[i];
        if (!(pivot > zero_pivot * whole)) continue;
        // Row `done` is written over at most by its own elimination: done <= a.
        std::copy(row.begin(), row.begin() + done, A.begin() + done * f);
        A[done * f + done] = std::sqrt(pivot);
        kept.push_back(a);
        ++done;
    }
    return done;
}

double Quadratic::pass(const int64_t* which, int64_t count, double& work) {
    double largest = 0.0;
    for (int64_t place = 0; place < count; ++place) {
        const int64_t j = which ? which[place] : place;
        const double* row = H + j * stride;
        const double a = row[j] + 2.0 * l2[j];
        if (a <= least[j]) continue;
        const double z = row[j] * u[j] - r[j];
        const double target = z > l1[j] ? (z - l1[j]) / a : z < -l1[j] ? (z + l1[j]) / a : 0.0;
        const double d = target - u[j];
        if (d == 0.0) continue;
        u[j] = target;
        add_scaled(d, row, r, k);
        work += static_cast<double>(k);
        largest = std::max(largest, std::abs(d) * a);
    }
    return largest;
}

double Quadratic::minimise(double tol) {
    double work = 0.0;
    for (int solutions = 0;; ++solutions) {
        int64_t passes = 0, most = FEW_PASSES;
        double largest = 0.0;
        for (;;) {
            largest = pass(nullptr, k, work);
            ++passes;
            if (largest <= tol || passes >= most) break;
            moving_.clear();
            for (int64_t j = 0; j < k; ++j)
                if (u[j] != 0.0) moving_.push_back(j);
            const int64_t f = static_cast<int64_t>(moving_.size());
            most = std::max(FEW_PASSES, f / 3);
            for (int64_t round = 0; round < ROUNDS && passes < most; ++round, ++passes)
                if (pass(moving_.data(), f, work) <= tol) break;
        }
        if (!(largest > tol) || solutions == MOST_SOLUTIONS) return work;
        work += solve_for_signs();
    }
}

// Go to the minimum for the present signs, or to where the first weight comes to zero, and on from there without it.
// A column that others reproduce keeps its weight. Returns the multiplications made.
double Quadratic::solve_for_signs() {
    double work = 0.0;
    support_.clear();
    for (int64_t j = 0; j < k; ++j)
        if (u[j] != 0.0 && H[j * stride + j] + 2.0 * l2[j] > least[j]) support_.push_back(j);
    while (!support_.empty()) {
        const int64_t f = static_cast<int64_t>(support_.size());
        factor_.resize(static_cast<size_t>(f * f));
        for (int64_t a = 0; a < f; ++a) {
            const double* row = H + support_[a] * stride;
            for (int64_t b = 0; b <= a; ++b) factor_[a * f + b] = row[support_[b]];
            factor_[a * f + a] += 2.0 * l2[support_[a]];
        }
        const int64_t held = cholesky(factor_, f, ZERO_PIVOT, moving_);
        work += static_cast<double>(held) * held * held / 6.0;
        step_.resize(static_cast<size_t>(held));
        for (int64_t i = 0; i < held; ++i) {
            const int64_t j = support_[moving_[i]];
            step_[i] = -(r[j] + 2.0 * l2[j] * u[j] + (u[j] > 0.0 ? l1[j] : -l1[j]));
        }
        for (int64_t i = 0; i < held; ++i) {
            const double* row = &factor_[i * f];
            for (int64_t e = 0; e < i; ++e) step_[i] -= row[e] * step_[e];
            step_[i] /= row[i];
        }
        for (int64_t i = held - 1; i >= 0; --i) {
            const double* row = &factor_[i * f];
            step_[i] /= row[i];
            for (int64_t e = 0; e < i; ++e) step_[e] -= row[e] * step_[i];
        }
        double part = 1.0;
        int64_t crossing = -1;
        for (int64_t i = 0; i < held; ++i) {
            const double at = u[support_[moving_[i]]];
            if (!std::isfinite(step_[i])) return work;
            if (step_[i] * at < 0.0 && -at / step_[i] < part) {
                part = -at / step_[i];
                crossing = i;
            }
        }
        for (int64_t i = 0; i < held; ++i) {
            const int64_t j = support_[moving_[i]];
            const double d = i == crossing ? -u[j] : part * step_[i];
            u[j] = i == crossing ? 0.0 : u[j] + d;
            add_scaled(d, H + j * stride, r, k);
        }
        work += static_cast<double>(held) * k;
        if (crossing < 0) break;
        support_.erase(support_.begin() + moving_[crossing]);
    }
    return work;
}

}  // namespace sparsepath
