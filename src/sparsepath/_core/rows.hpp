// Matrices whose rows are contiguous, with any distance between rows.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "arrays.hpp"

namespace sparsepath {

template <class T>
using RowArray = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

template <class T>
std::vector<T*> row_pointers(const RowArray<T>& a) {
    if (a.shape(0) > 0 && a.shape(1) > 1 && a.stride(1) != 1) throw std::invalid_argument("rows must be contiguous");
    std::vector<T*> out(a.shape(0));
    for (size_t i = 0; i < out.size(); ++i) out[i] = a.data() + static_cast<int64_t>(i) * a.stride(0);
    return out;
}

}  // namespace sparsepath
