// What module.cpp calls: one function per package that puts its loops into a submodule.
#pragma once

#include <nanobind/nanobind.h>

namespace sparsepath {

void bind_leave_one_out(nanobind::module_& m);
void bind_folds(nanobind::module_& m);
void bind_fold_losses(nanobind::module_& m);
void bind_pairs(nanobind::module_& m);
void bind_elm(nanobind::module_& m);
void bind_grafting(nanobind::module_& m);
void bind_losses(nanobind::module_& m);
void bind_threads(nanobind::module_& m);
void bind_gram_search(nanobind::module_& m);
void bind_tall(nanobind::module_& m);
void bind_neighbors(nanobind::module_& m);
void bind_data(nanobind::module_& m);
void bind_rbf(nanobind::module_& m);
void bind_exact(nanobind::module_& m);
void bind_logistic(nanobind::module_& m);

}  // namespace sparsepath
