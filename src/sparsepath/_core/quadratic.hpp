// The least value of a quadratic model with an l1 penalty, by coordinate descent and exact solutions on the support.
#pragma once

#include <cstdint>
#include <vector>

namespace sparsepath {

// Over weights u, starting from the present ones:
//
//     r0'(u - u0) + (u - u0)'H(u - u0) / 2 + sum_j l1_j |u_j| + l2_j u_j^2
//
// r = r0 + H (u - u0) is the gradient of the first two terms. Descent on one coordinate sets
// u_j = soft(H_jj u_j - r_j, l1_j) / (H_jj + 2 l2_j); coordinates of curvature `least_j` or less stay where they are.
// The size of a change is measured in units of the gradient, so that `tol` compares with violations of optimality.
struct Quadratic {
    int64_t k = 0;
    int64_t stride = 0;      // of the rows of H
    const double* H = nullptr;
    double* r = nullptr;
    double* u = nullptr;
    const double* l1 = nullptr;
    const double* l2 = nullptr;
    const double* least = nullptr;

    // Descend until no change is above tol. Where that is slow, solve for the present signs (see solve_for_signs).
    // Returns the multiplications made.
    double minimise(double tol);

private:
    double pass(const int64_t* which, int64_t count, double& work);
    double solve_for_signs();

    std::vector<int64_t> moving_, support_;
    std::vector<double> factor_, step_;
};

// Factor the leading f x f part of A (row-major, stride f, lower half) in place: A = L L'. A row whose pivot is at most
// `zero_pivot` of its diagonal, a column that earlier ones reproduce, is left out. Returns the rows kept, in order.
int64_t cholesky(std::vector<double>& A, int64_t f, double zero_pivot, std::vector<int64_t>& kept);

}  // namespace sparsepath
