// exp and the logistic loss without a call, so that loops around them run in vector registers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace sparsepath {

// exp(x) for x between -708 and 700, to two units in the last place.
//
// exp(x) = 2^k exp(v) with k the integer next to x / log 2, so that |v| <= log(2) / 2 and the series to the 13th power
// leaves 4e-18. Adding 1.5 2^52 puts k into the last bits of a double, from where it is shifted into the exponent.
inline double exponential(double x) {
    const double log2_e = 1.4426950408889634, whole = 6755399441055744.0;
    const double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
    const double z = x * log2_e + whole, k = z - whole;
    const double v = (x - k * ln2_high) - k * ln2_low, v2 = v * v, v4 = v2 * v2;
    const double low = (0.5 + v * (1 / 6.0)) + v2 * (1 / 24.0 + v * (1 / 120.0));
    const double mid = (1 / 720.0 + v * (1 / 5040.0)) + v2 * (1 / 40320.0 + v * (1 / 362880.0));
    const double top =
        (1 / 3628800.0 + v * (1 / 39916800.0)) + v2 * (1 / 479001600.0 + v * (1 / 6227020800.0));
    const double e = 1.0 + (v + v2 * (low + v4 * (mid + v4 * top)));
    uint64_t bits, shift;
    std::memcpy(&bits, &e, sizeof bits);
    std::memcpy(&shift, &z, sizeof shift);
    bits += shift << 52;
    double out;
    std::memcpy(&out, &bits, sizeof out);
    return out;
}

// L = log(1 + exp(-rho)), the size of its slope and its curvature by rho.
struct LogisticPoint {
    double value, slope, curvature;
};

// With e = exp(-|rho|), log(1 + e) = 2 (a + a^3 / 3 + a^5 / 5 + ...) with a = e / (2 + e), at most 1 / 3. Both to some
// units in the last place, also where e is small. Below -700 e is what it is at -700, next to nothing beside |rho|.
// The curvature of samples far on the wrong side is raised: see Logistic.expansion in criterion.py.
inline LogisticPoint logistic_point(double rho) {
    const double down = -std::abs(rho), x = down > -700.0 ? down : -700.0;
    const double e = exponential(x), a = e / (2.0 + e), b = a * a, b2 = b * b, b4 = b2 * b2;
    const double first = (1.0 + b * (1 / 3.0)) + b2 * (1 / 5.0 + b * (1 / 7.0));
    const double second = (1 / 9.0 + b * (1 / 11.0)) + b2 * (1 / 13.0 + b * (1 / 15.0));
    const double third = (1 / 17.0 + b * (1 / 19.0)) + b2 * (1 / 21.0 + b * (1 / 23.0));
    const double fourth = (1 / 25.0 + b * (1 / 27.0)) + b2 * (1 / 29.0 + b * (1 / 31.0 + b * (1 / 33.0)));
    const double series = first + b4 * (second + b4 * (third + b4 * fourth));
    const double part = 1.0 / (1.0 + e), less = e * part, wrong = rho < 0.0 ? -rho : 0.0;
    const double raised = wrong > 1.0 ? 0.02 / wrong : 0.0, own = less * part;
    return {wrong + 2.0 * a * series, rho > 0.0 ? less : part, own > raised ? own : raised};
}

}  // namespace sparsepath
