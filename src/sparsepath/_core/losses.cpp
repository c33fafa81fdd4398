// The losses as objects that Python hands to the loops; see losses.hpp.
#include "losses.hpp"

#include <nanobind/nanobind.h>

#include "bindings.hpp"

namespace nb = nanobind;

namespace sparsepath {

void bind_losses(nb::module_& m) {
    nb::class_<SquaredLoss>(m, "Squared").def(nb::init<>());
    nb::class_<AbsoluteLoss>(m, "Absolute").def(nb::init<>());
    nb::class_<HuberLoss>(m, "Huber").def("__init__", [](HuberLoss* at, double delta) { new (at) HuberLoss{delta}; }, nb::arg("delta"));
    nb::class_<LogCoshLoss>(m, "LogCosh").def("__init__", [](LogCoshLoss* at, double scale) { new (at) LogCoshLoss{scale}; }, nb::arg("scale"));
    nb::class_<ZeroOneLoss>(m, "ZeroOne").def(nb::init<>());
}

}  // namespace sparsepath
