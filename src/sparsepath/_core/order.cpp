#include "order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simd.hpp"

namespace sparsepath {
namespace {

constexpr int64_t CROWDED = 8;     // mean square of the rows in a bucket beyond which buckets do not help

SPARSEPATH_WIDE void range_of(const double* x, int64_t n, double& low, double& high) {
    double least = x[0], most = x[0];
#pragma omp simd reduction(min : least) reduction(max : most)
    for (int64_t i = 0; i < n; ++i) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    low = least, high = most;
}

SPARSEPATH_WIDE void buckets_of(const double* x, double low, double scale, int64_t n, int32_t* out) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<int32_t>((x[i] - low) * scale);
}

void put(std::vector<double>& tree, int64_t place, double weight) {
    for (++place; place < static_cast<int64_t>(tree.size()); place += place & -place) tree[place] += weight;
}

double before(const std::vector<double>& tree, int64_t place) {
    double total = 0.0;
    for (; place > 0; place -= place & -place) total += tree[place];
    return total;
}

}  // namespace

double Disorder::operator()(const double* scores, double blur) {
    if (order_.larger >= 0 && fill_buckets(scores)) return by_buckets(scores, blur);
    double total = 0.0;
    int64_t begin = 0;
    for (int64_t end : order_.ends) {
        total += by_sums(scores + begin, &order_.depth[begin], &order_.weights[begin], end - begin, blur);
        begin = end;
    }
    return 0.5 * total;
}

// False if there are no buckets, or they are crowded.
bool Disorder::fill_buckets(const double* scores) {
    const int64_t n = order_.larger;
    double high;
    range_of(scores, n, low_, high);
    scale_ = static_cast<double>(n - 1) / (high - low_);
    if (!std::isfinite(scale_)) return false;
    bucket_.resize(n);
    buckets_of(scores, low_, scale_, n, bucket_.data());
    starts_.assign(n + 1, 0);
    for (int64_t i = 0; i < n; ++i) ++starts_[bucket_[i] + 1];
    int64_t crowd = 0;
    for (int64_t q = 1; q <= n; ++q) {
        crowd += static_cast<int64_t>(starts_[q]) * starts_[q];
        starts_[q] += starts_[q - 1];
    }
    if (crowd > CROWDED * n) return false;
    sorted_.resize(n);
    for (int64_t i = 0; i < n; ++i) sorted_[starts_[bucket_[i]]++] = scores[i];
    for (int64_t q = n; q > 0; --q) starts_[q] = starts_[q - 1];  // filling has moved them to their ends
    starts_[0] = 0;
    return true;
}

double Disorder::by_buckets(const double* scores, double blur) const {
    const int64_t n = order_.larger;
    int64_t total = 0;
    for (int64_t j = n; j < order_.rows(); ++j) {
        const double least = scores[j] - blur, most = scores[j] + blur;
        const double a = (least - low_) * scale_, b = (most - low_) * scale_;
        if (b < 0.0) continue;
        if (a >= static_cast<double>(n)) {
            total += 2 * n;
            continue;
        }
        const int32_t first = a > 0.0 ? static_cast<int32_t>(a) : 0;
        const int32_t last = b < static_cast<double>(n) ? static_cast<int32_t>(b) : static_cast<int32_t>(n - 1);
        total += starts_[first] + starts_[last];
        if (first == last) {
            for (int32_t i = starts_[first]; i < starts_[first + 1]; ++i)
                total += (sorted_[i] < least) + (sorted_[i] <= most);
            continue;
        }
        for (int32_t i = starts_[first]; i < starts_[first + 1]; ++i) total += sorted_[i] < least;
        for (int32_t i = starts_[last]; i < starts_[last + 1]; ++i) total += sorted_[i] <= most;
    }
    return 0.5 * static_cast<double>(total);
}

double Disorder::by_sums(const double* s, const int64_t* depth, const double* w, int64_t count, double blur) {
    place_.resize(count);
    std::iota(place_.begin(), place_.end(), 0);
    std::sort(place_.begin(), place_.end(), [&](int64_t i, int64_t j) { return s[i] < s[j]; });
    const int64_t deepest = count ? *std::max_element(depth, depth + count) : 0;
    below_.assign(deepest + 2, 0.0);
    up_to_.assign(deepest + 2, 0.0);
    double total = 0.0;
    int64_t a = 0, b = 0;
    for (int64_t j : place_) {
        for (; a < count && s[place_[a]] < s[j] - blur; ++a) put(below_, depth[place_[a]], w[place_[a]]);
        for (; b < count && s[place_[b]] <= s[j] + blur; ++b) put(up_to_, depth[place_[b]], w[place_[b]]);
        total += w[j] * (before(below_, depth[j]) + before(up_to_, depth[j]));
    }
    return total;
}

}  // namespace sparsepath
