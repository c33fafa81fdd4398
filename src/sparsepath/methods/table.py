"""The table of methods: one record per method, data only.

``method.py`` explains the fields of a record, ``options.py`` the options, and ``lookup.py`` answers
questions about the table. A new method consists of its class and its record here.
"""

from collections.abc import Mapping
from typing import Any

from sparsepath.methods.method import (
    OF_CLASSES,
    OF_COUNTS,
    OF_MARGINS,
    OF_NUMBERS,
    OF_ORDERS,
    Method,
    names,
)


def _dense(rows: int, columns: int) -> float:
    """Bytes of the data as a dense table."""
    return 8.0 * rows * columns


def _rbf_matrices(rows: int, columns: int) -> float:
    """Bytes of a Hessian over centres and inputs, its factor, and the data."""
    return 16.0 * (rows + columns) ** 2 + _dense(rows, columns)


def _rbf_calls(options: Mapping[str, Any], size: int) -> int:
    if "t" in options:
        return 0 if "r" in options else 1
    from sparsepath.rbf import SparseRBFRegressorCV

    return 2 * int(SparseRBFRegressorCV().ts)  # and once more, relaxed


def _elm_fs_calls(options: Mapping[str, Any], size: int) -> int:
    from sparsepath.elm.search import RestartPlan

    plan = options.get("strategy", "both"), options.get("restarts", 40), 10, "half", size
    return RestartPlan(*plan).n_reports


_SEED = {"random_state": 0}  # so that the same command gives the same result
_RLS_OPTIONS = names(
    "max-features choose cv standardize weights class-weight threshold groups alpha loss force "
    "forbid start threads checkpoint"
)
_RLS: dict[str, Any] = {
    "regressor": "rls.SparseRLSRegressor",
    "classifier": "rls.SparseRLSClassifier",
    "page": "rls.md",
    "criterion": "cross-validation",
    "losses": {
        "regression": OF_NUMBERS + OF_COUNTS,
        "classification": OF_NUMBERS + OF_CLASSES,
    },
    "streams": "yes",
}
_MUTUAL_INFORMATION: dict[str, Any] = {
    "regressor": "methods.mutual_info_regressor.MutualInfoRegressor",
    "page": "mutual-information.md",
    "limits": "a few thousand rows; about ten features",
    "criterion": "leave-one-out of OP-ELM",
    "model": "mutual information selects; OP-ELM on the selected columns predicts",
    "memory": _dense,
}

_RECORDS = (
    Method(
        **_RLS,
        name="greedy-rls",
        summary="Forward selection by exact cross-validation of ridge regression.",
        when="the first choice: linear effects, any number of rows and columns",
        cost="about one pass over the data",
        options=_RLS_OPTIONS | names("significance search time-budget"),
        parameters={"search": "forward"},
        known_as={
            "forward sfs sequential ridge rls omp greedy": (
                "forward selection is called greedy-rls here"
            )
        },
    ),
    Method(
        **_RLS,
        name="floating-rls",
        summary="Forward selection that also removes features that became redundant.",
        when="features are correlated, and later ones make earlier ones redundant",
        cost="one to a few passes over the data",
        options=_RLS_OPTIONS | {"significance"},
        parameters={"search": "floating"},
        known_as={"stepwise floating sffs sfbs": "called floating-rls here, or swap-rls"},
    ),
    Method(
        **_RLS,
        name="backward-rls",
        summary="Backward elimination: start with all features and remove one at a time.",
        when="features matter only jointly, and there are more rows than columns",
        cost="one pass over all remaining features",
        sizes="down",
        options=_RLS_OPTIONS,
        parameters={"search": "backward"},
        known_as={
            "rfe rfecv backward sbs elimination": "backward elimination is called backward-rls here"
        },
    ),
    Method(
        **_RLS,
        name="swap-rls",
        summary="Forward selection, then exchange features while that lowers the error.",
        when="the best subset of a given size matters more than run time",
        cost="one or several passes over the data per selected feature",
        options=_RLS_OPTIONS | {"significance"},
        parameters={"search": "swap"},
    ),
    Method(
        name="rank-rls",
        summary="Ranking: least squares on pairs of rows, within the queries of --groups if given.",
        when="rows are to be ranked; their values do not matter",
        limits="a few thousand rows without --groups",
        cost="about one pass over the data; without --groups over all pairs of rows per feature",
        regressor="rls.SparseRankRLS",
        page="rls.md",
        criterion="leave-query-out or leave-pair-out",
        options=names(
            "max-features choose cv standardize groups alpha loss search force forbid start "
            "threads checkpoint"
        ),
        losses={"regression": ("squared", *OF_ORDERS)},
        ranks=True,
    ),
    Method(
        name="grafting",
        summary="Linear, logistic or Cox model with L1, L2 and L0 penalties; L1 by "
        "cross-validation.",
        when="you need logistic regression, counts (--loss poisson), survival times (--event), "
        "feature costs or an L1 penalty",
        cost="one optimum per penalty and fold",
        regressor="grafting.GraftingRegressorCV",
        classifier="grafting.GraftingClassifierCV",
        survival="grafting.GraftingCoxCV",
        given=("l1",),
        single=(
            "grafting.GraftingRegressor",
            "grafting.GraftingClassifier",
            "grafting.GraftingCox",
        ),
        page="grafting.md",
        criterion="5 folds; with --l1 training",
        sizes="own",
        unit="steps",
        options=names(
            "max-features choose cv standardize weights class-weight threshold groups loss l1 "
            "l2 l0 threads"
        ),
        losses={
            "regression": ("squared", "huber", *OF_COUNTS),
            "classification": OF_MARGINS,
        },
        streams="given",
        known_as={
            "lasso l1 lassocv logistic": (
                "an L1 penalty is called grafting here; lars is least angle regression"
            ),
            "cox survival coxnet": "survival times are for grafting, with --event COL",
            "elastic-net elasticnet enet": "called grafting here, with --l2 for the ridge part",
        },
    ),
    Method(
        name="mlp-grafting",
        summary="Neural network that grows unit by unit; L0 and L1 by cross-validation.",
        when="effects are nonlinear or features interact, and you want a small network",
        cost="one optimisation of the network per fold",
        regressor="grafting.MLPGraftingRegressorCV",
        classifier="grafting.MLPGraftingClassifierCV",
        given=("l0",),
        single=("grafting.MLPGraftingRegressor", "grafting.MLPGraftingClassifier"),
        page="grafting.md",
        criterion="5 folds; with --l0 training",
        sizes="own",
        unit="steps",
        options=names(
            "max-features choose cv standardize weights groups l1 l2 l0 max-hidden threads"
        ),
        known_as={"mlp neural-network": "called mlp-grafting here"},
    ),
    Method(
        name="rbf",
        summary="RBF network with joint selection of inputs and centres; at most two classes.",
        when="effects are smooth and nonlinear, and there are few rows",
        limits="hundreds of rows, two classes",
        cost="one fit of a network with a centre at every row",
        regressor="rbf.SparseRBFRegressorCV",
        classifier="rbf.SparseRBFClassifierCV",
        two_classes=True,
        given=("r", "t"),
        single=("rbf.SparseRBFRegressor", "rbf.SparseRBFClassifier"),
        page="rbf.md",
        criterion="5 folds; with --r and --t training",
        sizes="own",
        unit="budgets",
        calls=_rbf_calls,
        memory=_rbf_matrices,
        options=names("choose cv weights groups r t seed"),
    ),
    Method(
        name="lssvm-forward",
        summary="Forward selection for a kernel machine (LS-SVM); regression.",
        when="effects are smooth, and there are few features",
        limits="a few thousand rows",
        cost="four small factorisations per candidate, one large one per step",
        regressor="kernel_machines.LSSVMForwardRegressor",
        page="kernel-rivals.md",
        longest=10,
        memory=_dense,
        options=names("max-features choose cv standardize groups"),
        known_as={"svm svr kernel": "a kernel machine is called lssvm-forward here"},
    ),
    Method(
        name="elm-fs",
        summary="Random networks (extreme learning machines); finds interacting features.",
        when="effects are nonlinear, and features may interact",
        limits="hundreds of columns",
        cost="hundreds of small networks",
        regressor="elm.ELMFSRegressor",
        classifier="elm.ELMFSClassifier",
        page="elmfs.md",
        longest=20,
        unit="parts",
        calls=_elm_fs_calls,
        memory=_dense,
        options=names("max-features choose groups loss strategy restarts seed threads"),
        parameters=_SEED,
        losses={"regression": ("squared",), "classification": ("zero-one", "squared")},
        known_as={"elm elmfs": "called elm-fs here"},
    ),
    Method(
        **_MUTUAL_INFORMATION,
        name="mi-forward",
        summary="Forward selection by joint mutual information; regression.",
        when="you want the features, independent of a model",
        cost="distances between all rows per candidate",
        others=("information.MutualInfoSelector",),
        options=names("max-features choose groups neighbors seed threads"),
        parameters={**_SEED, "search": "forward"},
        known_as={"mrmr mi mutual-info jmi": "called mi-forward here"},
    ),
    Method(
        **_MUTUAL_INFORMATION,
        name="mi-forward-backward",
        summary="Add and remove by joint mutual information, from random starts; regression.",
        when="as mi-forward, and features may interact",
        cost="distances between all rows per feature, from a hundred starts",
        unit="climbs",
        calls=lambda options, size: int(options.get("restarts", 100)),
        options=names("max-features choose groups restarts neighbors seed threads"),
        parameters={**_SEED, "search": "forward-backward"},
    ),
    Method(
        name="lars",
        summary="Least angle regression; regression.",
        when="you want a fast linear baseline",
        cost="about one pass over the data",
        regressor="lars.estimators.LarsSelector",
        page="lars.md",
        criterion="leave-one-out of least squares",
        model="least squares on the features that have entered",
        options=names("max-features choose groups"),
        known_as={"lar least-angle": "called lars here"},
    ),
    Method(
        name="auto",
        summary="Try linear and nonlinear methods on the same folds, and use the best of them.",
        when="you do not know whether effects are linear",
        cost="what it costs in each of the methods",
        regressor="methods.auto_selector.AutoSelectorRegressor",
        classifier="methods.auto_selector.AutoSelectorClassifier",
        page="auto.md",
        criterion="that of the method chosen",
        sizes="own",
        unit="methods",
        is_choice=True,
        options=names(
            "max-features choose time-budget weights groups class-weight threshold seed threads"
        ),
        known_as={"automl best": "the choice between methods is called auto here"},
    ),
)

METHODS: dict[str, Method] = {method.name: method for method in _RECORDS}
