// Losses as structs, for loops that are templates over them. Formulas: rls/criteria/residuals.py and counts.py.
//
// Every loss is called as loss(e, y, room): what the residual e costs a sample with target y. `room` is what the
// residual of a +-1 target may reach before the sample counts as wrong, 1 - blur; residual losses ignore y and room.
// With p = 1 - leverage (1 on test rows) and g the root of the weight, e = r / (p g).
// `by_class`: with several targets the sample is judged as a whole (ZeroOne); otherwise costs of targets are added.
#pragma once

#include <cmath>
#include <variant>

namespace sparsepath {

struct SquaredLoss {
    static constexpr bool by_class = false;
    double operator()(double e, double, double) const { return e * e; }
};

struct AbsoluteLoss {
    static constexpr bool by_class = false;
    double operator()(double e, double, double) const { return std::fabs(e); }
};

struct HuberLoss {
    static constexpr bool by_class = false;
    double delta;
    double operator()(double e, double, double) const {
        const double far = std::fabs(e), near = far < delta ? far : delta;
        return near * (far - 0.5 * near);
    }
};

struct LogCoshLoss {
    static constexpr bool by_class = false;
    double scale;
    double operator()(double e, double, double) const {
        const double x = std::fabs(e) / scale;
        if (x < 1.0) {  // cosh x = 1 + 2 sinh^2(x/2) keeps the digits near zero
            const double s = std::sinh(0.5 * x);
            return scale * scale * std::log1p(2.0 * s * s);
        }
        return scale * scale * (x + std::log1p(std::exp(-2.0 * x)) - 0.69314718055994530942);
    }
};

struct ZeroOneLoss {
    static constexpr bool by_class = true;
    double operator()(double e, double y, double room) const { return e * y >= 1.0 - y * (1.0 - room) ? 1.0 : 0.0; }
};

using AnyLoss = std::variant<SquaredLoss, AbsoluteLoss, HuberLoss, LogCoshLoss, ZeroOneLoss>;

}  // namespace sparsepath
