// NumPy arrays as the loops see them: float64 or int64, C order, on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace sparsepath {

namespace nb = nanobind;

template <class T>
using Array1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

using Vector = Array1<double>;
using ConstVector = Array1<const double>;
using Matrix = Array2<double>;
using ConstMatrix = Array2<const double>;
using Indices = Array1<const int64_t>;
using Mask = Array1<const bool>;

// A new NumPy array that owns its numbers.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> new_vector(size_t n) {
    T* data = new T[n]();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {n}, owner);
}

// A copy of some numbers.
template <class Values>
nb::ndarray<nb::numpy, double, nb::ndim<1>> numpy_of(const Values& values) {
    auto out = new_vector<double>(values.size());
    std::copy(values.begin(), values.end(), out.data());
    return out;
}

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> new_matrix(size_t rows, size_t columns) {
    T* data = new T[rows * columns]();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<2>>(data, {rows, columns}, owner);
}

}  // namespace sparsepath
