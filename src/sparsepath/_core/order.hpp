// Pairs in the wrong order.
//
// With targets y_i > y_j and scores s, the weight of the pairs of one query in the wrong order is
//
//     sum u_i u_j ([s_i < s_j] + [s_i = s_j] / 2)  =  sum u_i u_j [s_i < s_j] / 2  +  sum u_i u_j [s_i <= s_j] / 2.
//
// Each of the two sums is taken in the order of the scores: the weights met so far are kept by target in a tree of sums
// (Fenwick), and a row reads the weight of those with larger targets in log time. With two targets and unit weights the
// rows of the larger target are put into buckets of equal width instead, as many as there are rows, unless these are
// crowded: the number of scores below another is that of all buckets before its own, and of those in its own that are
// below it. Scores that differ by
// no more than a blur are equal.
#pragma once

#include <cstdint>
#include <vector>

namespace sparsepath {

// The order that the rows of a test part belong in, by their targets. Rows of one query stand together, those with
// larger targets first.
struct Order {
    std::vector<int64_t> ends;      // where each query ends
    std::vector<int64_t> depth;     // place of a row's target among those of its query, zero for the largest
    std::vector<double> weights;
    int64_t larger = -1;            // rows of the larger target, if there is one query with two targets and unit weights

    int64_t rows() const { return static_cast<int64_t>(weights.size()); }
};

class Disorder {
public:
    explicit Disorder(const Order& order) : order_(order) {}

    // The weight of the pairs in the wrong order.
    double operator()(const double* scores, double blur);

private:
    bool fill_buckets(const double* scores);
    double by_buckets(const double* scores, double blur) const;
    double by_sums(const double* scores, const int64_t* depth, const double* w, int64_t count, double blur);

    const Order& order_;
    std::vector<double> sorted_;          // scores of the larger target, bucket by bucket
    std::vector<int32_t> bucket_, starts_;
    double low_ = 0.0, scale_ = 0.0;
    std::vector<int64_t> place_;
    std::vector<double> below_, up_to_;
};

}  // namespace sparsepath
