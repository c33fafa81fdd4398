"""Table of all methods: name, description, estimators and options."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sparsepath.errors import InputError
from sparsepath.methods.method import OF_CLASSES, OF_COUNTS, OF_NUMBERS, OF_ORDERS, Method, load


def _rbf_calls(options: Mapping[str, Any], size: int) -> int:
    if "t" in options:
        return 0 if "r" in options else 1
    from sparsepath.rbf import SparseRBFRegressorCV

    return 2 * int(SparseRBFRegressorCV().ts)  # and once more, relaxed


def _elm_fs_calls(options: Mapping[str, Any], size: int) -> int:
    from sparsepath.elm.search import RestartPlan

    return RestartPlan(
        options.get("strategy", "both"), options.get("restarts", 40), 10, "half", size
    ).n_reports


def _as_dense(rows: int, columns: int) -> float:
    """Return the cost of converting sparse data to a dense float64 table."""
    return 8.0 * rows * columns


def _has(options: str) -> frozenset[str]:
    return frozenset(options.split())


_FORWARD = _has(
    "max-features alpha loss choose cv standardize force forbid start significance threads "
    "checkpoint weights groups class-weight threshold"
)
_DRAWN = {"random_state": 0}  # so that the same command gives the same result


def _entries() -> Iterator[Method]:
    greedy = Method(
        "greedy-rls",
        "Forward selection by exact cross-validation of ridge regression.",
        "the first choice: linear effects, any number of rows and columns",
        "rls.SparseRLSRegressor",
        "rls.SparseRLSClassifier",
        _FORWARD | {"search", "time-budget"},
        "rls.md",
        "about one pass over the data",
        criterion="cross-validation",
        parameters={"search": "forward"},
        streams="yes",
        losses={"regression": OF_NUMBERS, "classification": OF_NUMBERS + OF_CLASSES},
        known_as={
            "forward sfs sequential ridge rls omp greedy": "forward selection is called "
            "greedy-rls here"
        },
    )
    yield greedy
    yield replace(
        greedy,
        name="floating-rls",
        summary="Forward selection that also removes features that became redundant.",
        when="features are correlated, and later ones make earlier ones redundant",
        options=_FORWARD,
        cost="one to a few passes over the data",
        parameters={"search": "floating"},
        known_as={"stepwise floating sffs sfbs": "called floating-rls here, or swap-rls"},
    )
    yield replace(
        greedy,
        name="backward-rls",
        summary="Backward elimination: start with all features and remove one at a time.",
        when="features matter only jointly, and there are more rows than columns",
        options=_FORWARD - {"significance"},
        cost="one pass over all remaining features",
        parameters={"search": "backward"},
        known_as={
            "rfe rfecv backward sbs elimination": "backward elimination is called backward-rls here"
        },
        sizes="down",
    )
    yield replace(
        greedy,
        name="swap-rls",
        summary="Forward selection, then exchange features while that lowers the error.",
        when="the best subset of a given size matters more than run time",
        options=_FORWARD,
        cost="one or several passes over the data per selected feature",
        parameters={"search": "swap"},
        known_as={},
    )
    yield Method(
        "rank-rls",
        "Ranking: least squares on pairs of rows, within the queries of --groups if given.",
        "rows are to be ranked; their values do not matter",
        "rls.SparseRankRLS",
        "",
        (_FORWARD | {"search"}) - {"weights", "significance", "class-weight", "threshold"},
        "rls.md",
        "about one pass over the data; without --groups over all pairs of rows per feature",
        limits="a few thousand rows without --groups",
        criterion="leave-query-out or leave-pair-out",
        losses={"regression": ("squared", *OF_ORDERS)},
        ranks=True,
    )
    yield Method(
        "grafting",
        "Linear, logistic or Cox model with L1, L2 and L0 penalties; L1 by cross-validation.",
        "you need logistic regression, counts (--loss poisson), survival times (--event), feature "
        "costs or an L1 penalty",
        "grafting.GraftingRegressorCV",
        "grafting.GraftingClassifierCV",
        _has(
            "max-features loss l1 l2 l0 cv choose standardize threads weights groups class-weight "
            "threshold"
        ),
        "grafting.md",
        "one optimum per penalty and fold",
        criterion="5 folds; with --l1 training",
        given=("l1",),
        single=(
            "grafting.GraftingRegressor",
            "grafting.GraftingClassifier",
            "grafting.GraftingCox",
        ),
        survival="grafting.GraftingCoxCV",
        losses={"regression": ("squared", "huber", *OF_COUNTS)},
        streams="given",
        known_as={
            "lasso l1 lassocv logistic": "an L1 penalty is called grafting here; lars is least "
            "angle regression",
            "cox survival coxnet": "survival times are for grafting, with --event COL",
            "elastic-net elasticnet enet": "called grafting here, with --l2 for the ridge part",
        },
        sizes="own",
        unit="steps",
    )
    yield Method(
        "mlp-grafting",
        "Neural network that grows unit by unit; L0 and L1 by cross-validation.",
        "effects are nonlinear or features interact, and you want a small network",
        "grafting.MLPGraftingRegressorCV",
        "grafting.MLPGraftingClassifierCV",
        _has("max-features l1 l2 l0 max-hidden cv choose standardize threads weights groups"),
        "grafting.md",
        "one optimisation of the network per fold",
        criterion="5 folds; with --l0 training",
        given=("l0",),
        single=("grafting.MLPGraftingRegressor", "grafting.MLPGraftingClassifier"),
        known_as={"mlp neural-network": "called mlp-grafting here"},
        sizes="own",
        unit="steps",
    )
    yield Method(
        "rbf",
        "RBF network with joint selection of inputs and centres; at most two classes.",
        "effects are smooth and nonlinear, and there are few rows",
        "rbf.SparseRBFRegressorCV",
        "rbf.SparseRBFClassifierCV",
        _has("r t cv choose seed groups weights"),
        "rbf.md",
        "one fit of a network with a centre at every row",
        limits="hundreds of rows, two classes",
        criterion="5 folds; with --r and --t training",
        given=("r", "t"),
        single=("rbf.SparseRBFRegressor", "rbf.SparseRBFClassifier"),
        sizes="own",
        unit="budgets",
        calls=_rbf_calls,
        two_classes=True,
        # A Hessian over centres and inputs, and its factor.
        memory=lambda rows, columns: 16.0 * (rows + columns) ** 2 + 8.0 * rows * columns,
    )
    yield Method(
        "lssvm-forward",
        "Forward selection for a kernel machine (LS-SVM); regression.",
        "effects are smooth, and there are few features",
        "kernel_machines.LSSVMForwardRegressor",
        "",
        _has("max-features cv choose standardize groups"),
        "kernel-rivals.md",
        "four small factorisations per candidate, one large one per step",
        limits="a few thousand rows",
        known_as={"svm svr kernel": "a kernel machine is called lssvm-forward here"},
        memory=_as_dense,
        longest=10,
    )
    yield Method(
        "elm-fs",
        "Random networks (extreme learning machines); finds interacting features.",
        "effects are nonlinear, and features may interact",
        "elm.ELMFSRegressor",
        "elm.ELMFSClassifier",
        _has("max-features loss choose strategy restarts seed threads groups"),
        "elmfs.md",
        "hundreds of small networks",
        limits="hundreds of columns",
        parameters=_DRAWN,
        losses={"regression": ("squared",), "classification": ("zero-one", "squared")},
        known_as={"elm elmfs": "called elm-fs here"},
        unit="parts",
        calls=_elm_fs_calls,
        memory=_as_dense,
        longest=20,
    )
    informed = Method(
        "mi-forward",
        "Forward selection by joint mutual information; regression.",
        "you want the features, independent of a model",
        "methods.mutual_info_regressor.MutualInfoRegressor",
        "",
        _has("max-features choose neighbors seed threads groups"),
        "mutual-information.md",
        "distances between all rows per candidate",
        limits="a few thousand rows; about ten features",
        criterion="leave-one-out of OP-ELM",
        parameters={**_DRAWN, "search": "forward"},
        others=("information.MutualInfoSelector",),
        known_as={"mrmr mi mutual-info jmi": "called mi-forward here"},
        model="mutual information selects; OP-ELM on the selected columns predicts",
        memory=_as_dense,
    )
    yield informed
    yield replace(
        informed,
        name="mi-forward-backward",
        summary="Add and remove by joint mutual information, from random starts; regression.",
        when="as mi-forward, and features may interact",
        options=informed.options | {"restarts"},
        cost="distances between all rows per feature, from a hundred starts",
        parameters={**_DRAWN, "search": "forward-backward"},
        others=(),
        known_as={},
        unit="climbs",
        calls=lambda options, size: int(options.get("restarts", 100)),
    )
    yield Method(
        "lars",
        "Least angle regression; regression.",
        "you want a fast linear baseline",
        "lars.estimators.LarsSelector",
        "",
        _has("max-features choose groups"),
        "lars.md",
        "about one pass over the data",
        criterion="leave-one-out of least squares",
        known_as={"lar least-angle": "called lars here"},
        model="least squares on the features that have entered",
    )
    yield Method(
        "auto",
        "Try linear and nonlinear methods on the same folds, and use the best of them.",
        "you do not know whether effects are linear",
        "methods.auto_selector.AutoSelectorRegressor",
        "methods.auto_selector.AutoSelectorClassifier",
        _has("max-features choose seed threads groups time-budget"),
        "auto.md",
        "what it costs in each of the methods",
        criterion="that of the method chosen",
        known_as={"automl best": "the choice between methods is called auto here"},
        sizes="own",
        unit="methods",
        is_choice=True,
    )


METHODS: dict[str, Method] = {method.name: method for method in _entries()}


def selectors() -> dict[str, Any]:
    """Return all selector classes of the table by name."""
    every = (load(estimator) for method in METHODS.values() for estimator in method.estimators)
    return {maker.__name__: maker for maker in every}


def having(option: str) -> list[str]:
    """Return the names of the methods that have an option.

    >>> having("restarts")
    ['elm-fs', 'mi-forward-backward']
    """
    return [name for name, method in METHODS.items() if option in method.options]


def in_passes() -> str:
    """Return the names of the methods that read data in passes, as text."""
    yes = [name for name, method in METHODS.items() if method.streams == "yes"]
    given = [
        f"{name} with {' and '.join(f'--{option}' for option in method.given)}"
        for name, method in METHODS.items()
        if method.streams == "given"
    ]
    return ", ".join([*yes, *given])


def called_here() -> dict[str, str]:
    """Names of methods in other packages, with a hint for each.

    >>> called_here()["rfe"]
    'backward elimination is called backward-rls here'
    """
    return {
        name: said
        for method in METHODS.values()
        for names, said in method.known_as.items()
        for name in names.split()
    }


def check(method: Method, task: str, given: Mapping[str, Any], classes: int = 2) -> None:
    """Raise InputError for options or tasks that the method does not support."""
    if task not in method.tasks:
        able = _able(lambda other: task in other.tasks)
        raise InputError(
            f"{method.name} supports {' and '.join(method.tasks)} only, not {task}; methods "
            f"that do: {able}."
        )
    if task == "classification" and classes > 2 and method.two_classes:
        able = _able(lambda other: task in other.tasks and not other.two_classes)
        raise InputError(
            f"{method.name} supports two classes, and the target has {classes}; methods for more: "
            f"{able}."
        )
    if task == "classification" and classes > 2 and given.get("loss") == "auc":
        raise InputError(f"--loss auc requires two classes, and the target has {classes}.")
    missing = sorted(set(given) - method.options)
    if missing:
        able = _able(lambda other: other.options.issuperset(missing))
        hint = f"; methods that have it: {able}" if able else ""
        wanted = " or ".join(f"--{option}" for option in missing)
        raise InputError(f"{method.name} has no option {wanted}{hint}.")
    losses = method.losses.get(task, ())
    counts = task == "regression" and given.get("loss") in OF_COUNTS
    if "loss" in given and given["loss"].partition(":")[0] not in losses:
        raise InputError(
            f"--loss {given['loss']} is not available for {task} with {method.name}; "
            + (f"use one of {', '.join(losses)}" if losses else "remove it")
            + (f", or --method grafting for {given['loss']}." if counts else ".")
        )
    if method.is_fixed(given) and "cv" in given:
        fixed = " and ".join(f"--{option}" for option in method.given)
        raise InputError(f"with {fixed} there is nothing for --cv to choose; remove one of them.")


def _able(fits: Callable[[Method], bool]) -> str:
    return ", ".join(name for name, method in METHODS.items() if fits(method))
