"""Every method by its name, one entry each, and what of it may be asked for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sparsepath.errors import InputError
from sparsepath.methods.method import OF_CLASSES, OF_NUMBERS, OF_ORDERS, Method, load


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
    """Sparse data become a table of float64."""
    return 8.0 * rows * columns


def _has(options: str) -> frozenset[str]:
    return frozenset(options.split())


_FORWARD = _has(
    "max-features alpha loss choose cv standardize force forbid start significance threads "
    "checkpoint weights groups"
)
_DRAWN = {"random_state": 0}  # so that the same command gives the same result


def _entries() -> Iterator[Method]:
    greedy = Method(
        "greedy-rls",
        "Add one feature at a time, judged by exact cross-validation of ridge regression.",
        "first: linear effects, any number of rows and columns",
        "rls.SparseRLSRegressor",
        "rls.SparseRLSClassifier",
        _FORWARD | {"search"},
        "rls.md",
        "about one pass over the data",
        criterion="cross-validation",
        parameters={"search": "forward"},
        losses={"regression": OF_NUMBERS, "classification": OF_NUMBERS + OF_CLASSES},
        known_as={
            "forward sfs sequential ridge rls omp greedy": "adding one feature at a time is called "
            "greedy-rls here"
        },
    )
    yield greedy
    yield replace(
        greedy,
        name="floating-rls",
        summary="As greedy-rls, and drop features again where that costs little.",
        when="features that came early are made needless by later ones",
        options=_FORWARD,
        cost="one pass over the data or a few",
        parameters={"search": "floating"},
        known_as={"stepwise floating sffs sfbs": "called floating-rls here, or swap-rls"},
    )
    yield replace(
        greedy,
        name="backward-rls",
        summary="Start with all features and drop one at a time.",
        when="features are good only together, and there are more rows than columns",
        options=_FORWARD - {"significance"},
        cost="a pass over all features that are still in",
        parameters={"search": "backward"},
        known_as={
            "rfe rfecv backward sbs elimination": "dropping one feature at a time is called "
            "backward-rls here"
        },
        sizes="down",
    )
    yield replace(
        greedy,
        name="swap-rls",
        summary="As greedy-rls, and exchange chosen features for others while that helps.",
        when="the best set of a size matters more than the time",
        options=_FORWARD,
        cost="a pass over the data for each feature chosen so far, or several",
        parameters={"search": "swap"},
        known_as={},
    )
    yield Method(
        "rank-rls",
        "Rank rows by least squares on pairs, within the queries of --groups if given.",
        "the order of the rows matters, not their values",
        "rls.SparseRankRLS",
        "",
        (_FORWARD | {"search"}) - {"weights", "significance"},
        "rls.md",
        "about one pass over the data, or without --groups one over all pairs of rows per feature",
        limits="without --groups some thousand rows",
        criterion="leave-query-out or leave-pair-out",
        losses={"regression": ("squared", *OF_ORDERS)},
        ranks=True,
    )
    yield Method(
        "grafting",
        "Linear or logistic, L1, L2 and L0 penalties; l1 by cross-validation.",
        "probabilities of classes, features with costs, or an L1 penalty are wanted",
        "grafting.GraftingRegressorCV",
        "grafting.GraftingClassifierCV",
        _has("max-features l1 l2 l0 cv choose standardize threads weights groups"),
        "grafting.md",
        "the optimum for one penalty in every fold",
        criterion="5 folds; with --l1 training",
        given=("l1",),
        single=("grafting.GraftingRegressor", "grafting.GraftingClassifier"),
        known_as={
            "lasso l1 lassocv logistic": "an L1 penalty is called grafting here; lars is least "
            "angle regression",
            "elastic-net elasticnet enet": "called grafting here, with --l2 for the ridge part",
        },
        sizes="own",
        unit="steps",
    )
    yield Method(
        "mlp-grafting",
        "A network that grows unit by unit; l0 and l1 by cross-validation.",
        "effects are not linear or features good only together, and a small network is wanted",
        "grafting.MLPGraftingRegressorCV",
        "grafting.MLPGraftingClassifierCV",
        _has("max-features l1 l2 l0 max-hidden cv choose standardize threads weights groups"),
        "grafting.md",
        "an optimisation of the network in every fold",
        criterion="5 folds; with --l0 training",
        given=("l0",),
        single=("grafting.MLPGraftingRegressor", "grafting.MLPGraftingClassifier"),
        known_as={"mlp neural-network": "called mlp-grafting here"},
        sizes="own",
        # Half a second for each column, and more with the rows: measured at 200 to 1500 rows, and
        # less with fewer.
        work=lambda rows, columns, sizes: columns * (2.7e8 * min(rows / 200, 1) + 5e4 * rows),
        unit="steps",
    )
    yield Method(
        "rbf",
        "Gaussians that select inputs and centres at once; some hundred rows, two classes at most.",
        "effects are smooth and not linear, and there are few rows",
        "rbf.SparseRBFRegressorCV",
        "rbf.SparseRBFClassifierCV",
        _has("r t cv choose seed groups weights"),
        "rbf.md",
        "a fit of a network with a centre at every row",
        limits="some hundred rows, two classes",
        criterion="5 folds; with --r and --t training",
        given=("r", "t"),
        single=("rbf.SparseRBFRegressor", "rbf.SparseRBFClassifier"),
        sizes="own",
        work=lambda rows, columns, sizes: 1e5 * rows**2,
        unit="budgets",
        calls=_rbf_calls,
        two_classes=True,
        # A Hessian over centres and inputs, and its factor.
        memory=lambda rows, columns: 16.0 * (rows + columns) ** 2 + 8.0 * rows * columns,
    )
    yield Method(
        "lssvm-forward",
        "Add one input at a time to a kernel machine; regression, some hundred rows.",
        "effects are smooth, and the inputs are few",
        "kernel_machines.LSSVMForwardRegressor",
        "",
        _has("max-features cv choose standardize groups"),
        "kernel-rivals.md",
        "four factorisations of rows x rows numbers for every input that is left",
        limits="some hundred rows",
        known_as={"svm svr kernel": "a kernel machine is called lssvm-forward here"},
        work=lambda rows, columns, sizes: 4.0 * rows**3 * columns * sizes,
        memory=_as_dense,
    )
    yield Method(
        "elm-fs",
        "Random networks; finds features that are good only together.",
        "effects are not linear, and features may be good only together",
        "elm.ELMFSRegressor",
        "elm.ELMFSClassifier",
        _has("max-features loss choose strategy restarts seed threads groups"),
        "elmfs.md",
        "hundreds of small networks",
        limits="some hundred columns",
        parameters=_DRAWN,
        losses={"regression": ("squared",), "classification": ("zero-one", "squared")},
        known_as={"elm elmfs": "called elm-fs here"},
        work=lambda rows, columns, sizes: 1e4 * rows * (columns + 40) * sizes,
        unit="parts",
        calls=_elm_fs_calls,
        memory=_as_dense,
        longest=20,
    )
    informed = Method(
        "mi-forward",
        "Add one feature at a time by joint mutual information; regression.",
        "the features matter, whatever the model",
        "informed.MutualInfoRegressor",
        "",
        _has("max-features choose neighbors seed threads groups"),
        "mutual-information.md",
        "distances between all rows for every feature that is left",
        limits="some thousand rows; sets of about ten",
        criterion="leave-one-out of OP-ELM",
        parameters={**_DRAWN, "search": "forward"},
        others=("information.MutualInfoSelector",),
        known_as={"mrmr mi mutual-info jmi": "called mi-forward here"},
        model="mutual information selects, OP-ELM on the selected columns predicts",
        work=lambda rows, columns, sizes: 5.0 * rows**2 * columns * sizes,
        memory=_as_dense,
    )
    yield informed
    yield replace(
        informed,
        name="mi-forward-backward",
        summary="Add and drop by joint mutual information, from random starts; regression.",
        when="as mi-forward, where features may be good only together",
        options=informed.options | {"restarts"},
        cost="distances between all rows for every feature, in a hundred climbs",
        parameters={**_DRAWN, "search": "forward-backward"},
        others=(),
        known_as={},
        work=lambda rows, columns, sizes: 50.0 * rows**2 * columns * sizes,
        unit="climbs",
        calls=lambda options, size: int(options.get("restarts", 100)),
    )
    yield Method(
        "lars",
        "Least angle regression: features in their order of entry; regression.",
        "a linear path is wanted at once, as a yardstick",
        "lars.LarsSelector",
        "",
        _has("max-features choose groups"),
        "lars.md",
        "about one pass over the data",
        criterion="leave-one-out of least squares",
        known_as={"lar least-angle": "called lars here"},
        model="least squares on the features that have entered",
    )


METHODS: dict[str, Method] = {method.name: method for method in _entries()}


def selectors() -> dict[str, Any]:
    """Every selector of the table by its name."""
    every = (load(estimator) for method in METHODS.values() for estimator in method.estimators)
    return {maker.__name__: maker for maker in every}


def having(option: str) -> list[str]:
    """The methods that have an option.

    >>> having("restarts")
    ['elm-fs', 'mi-forward-backward']
    """
    return [name for name, method in METHODS.items() if option in method.options]


def called_here() -> dict[str, str]:
    """What methods are called elsewhere, and what to say of it.

    >>> called_here()["rfe"]
    'dropping one feature at a time is called backward-rls here'
    """
    return {
        name: said
        for method in METHODS.values()
        for names, said in method.known_as.items()
        for name in names.split()
    }


def check(method: Method, task: str, given: Mapping[str, Any], classes: int = 2) -> None:
    """Refuse what the method does not have."""
    if task not in method.tasks:
        able = _able(lambda other: task in other.tasks)
        raise InputError(
            f"{method.name} does {' and '.join(method.tasks)} only, not {task}; methods that do: "
            f"{able}."
        )
    if task == "classification" and classes > 2 and method.two_classes:
        able = _able(lambda other: task in other.tasks and not other.two_classes)
        raise InputError(
            f"{method.name} is for two classes, and the target has {classes}; methods for more: "
            f"{able}."
        )
    if task == "classification" and classes > 2 and given.get("loss") == "auc":
        raise InputError(f"--loss auc is for two classes, and the target has {classes}.")
    missing = sorted(set(given) - method.options)
    if missing:
        able = _able(lambda other: other.options.issuperset(missing))
        hint = f"; methods that have it: {able}" if able else ""
        wanted = " or ".join(f"--{option}" for option in missing)
        raise InputError(f"{method.name} has no option {wanted}{hint}.")
    losses = method.losses.get(task, ())
    if "loss" in given and given["loss"].partition(":")[0] not in losses:
        raise InputError(
            f"--loss {given['loss']} is not for {task} with {method.name}; use one of "
            f"{', '.join(losses)}."
        )
    if method.is_fixed(given) and "cv" in given:
        fixed = " and ".join(f"--{option}" for option in method.given)
        raise InputError(
            f"with {fixed} there is nothing for --cv to choose; leave one or the other out."
        )


def _able(fits: Callable[[Method], bool]) -> str:
    return ", ".join(name for name, method in METHODS.items() if fits(method))
