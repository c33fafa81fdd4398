// The compiled loops of sparsepath: one submodule per package. They hold arithmetic and no policy.
#include "bindings.hpp"

NB_MODULE(_core, m) {
    nanobind::set_leak_warnings(false);  // modules of the package keep some objects until the interpreter ends
    m.doc() = "Compiled loops of sparsepath. Private: names and arguments may change at any time.";
    auto submodule = [&](const char* name, const char* doc, void (*bind)(nanobind::module_&)) {
        nanobind::module_ part = m.def_submodule(name, doc);
        bind(part);
    };
    submodule("leave_one_out", "Leave-one-out search with P X in memory.", sparsepath::bind_leave_one_out);
    submodule("elm", "Extreme learning machines.", sparsepath::bind_elm);
    submodule("grafting", "Sub-problems of working sets, paths over l1, sparse columns.", sparsepath::bind_grafting);
    submodule("losses", "What residuals cost, for the loops that judge models.", sparsepath::bind_losses);
    submodule("folds", "Cross-validation over splits from sums of products.", sparsepath::bind_folds);
    submodule("fold_losses", "Other losses over the test parts of splits.", sparsepath::bind_fold_losses);
    submodule("pairs", "Pairs of samples left out in turn.", sparsepath::bind_pairs);
    submodule("threads", "The pool of threads that the loops share.", sparsepath::bind_threads);
    submodule("gram_search", "Forward search from products of columns and bounds.", sparsepath::bind_gram_search);
    submodule("tall", "Leave-one-out searches in tall data, and backward elimination.", sparsepath::bind_tall);
    submodule("neighbors", "Mutual information by nearest neighbours.", sparsepath::bind_neighbors);
    submodule("data", "Passes over matrices of any real type.", sparsepath::bind_data);
    submodule("rbf", "Solvers of RBF networks.", sparsepath::bind_rbf);
    submodule("exact", "Best subsets of every size by branch and bound.", sparsepath::bind_exact);
    submodule("logistic", "Logistic models of the columns of a path.", sparsepath::bind_logistic);
}
