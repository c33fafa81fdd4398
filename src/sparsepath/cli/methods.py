"""The methods that the command line offers: one table, one entry each.

A method is an estimator with ``fit(X, y)``, ``predict``, ``path_``, ``selected_`` and
``at_size(k)``. Its entry names the options it has; any other option is refused, never ignored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sparsepath.errors import InputError

Build = Callable[[str, Mapping[str, Any]], Any]
"""Makes the estimator for a task ("regression" or "classification") and its parameters."""

PARAMETERS = {
    "max-features": "max_features",
    "alpha": "alpha",
    "loss": "loss",
    "choose": "choose",
    "cv": "cv",
    "search": "search",
    "standardize": "standardize",
    "force": "forced",
    "forbid": "forbidden",
    "start": "start",
    "significance": "stop",
    "threads": "n_threads",
    "checkpoint": "checkpoint",
    "weights": "sample_weight",
    "groups": "groups",
    "seed": "random_state",
    "l1": "l1",
    "l2": "l2",
    "l0": "l0",
    "r": "r",
    "t": "t",
    "strategy": "strategy",
    "restarts": "n_restarts",
    "max-hidden": "max_hidden",
}
"""Options that a method may have, and what their parameters are called in Python."""


@dataclass(frozen=True)
class Method:
    """One line of the table.

    Attributes
    ----------
    help : str
        One line that says what the method does.
    build : callable
        Makes the estimator; imports what it needs.
    options : frozenset of str
        Which of ``PARAMETERS`` it has.
    tasks : tuple of str
        Regression, classification or both.
    losses : mapping of task to tuple of str
        What ``--loss`` may be.
    cost : str
        What one step of the search costs, for the note on big inputs.
    sizes : {"up", "down", "own"}
        Whether the path goes from no feature up to ``max-features``, from all of them down, or
        through such sizes as its penalties happen to give.
    model : str
        What predicts, if the name of the method does not say it.
    ranks : bool
        Whether it ranks rows, and ``--groups`` are the queries within which it does.
    work : callable, optional
        From rows, columns and sizes to the numbers touched, in all; None: each once per size.
    unit : str
        What a progress bar counts: the features of the path so far, or calls of the estimator's
        callback under any other name.
    calls : callable, optional
        From the options and the largest size to how often the callback comes, where that is known
        from them.
    two_classes : bool
        Whether classes are two at most.
    memory : callable, optional
        From rows and columns to the bytes that it needs at once, if more than the data take.
    longest : int, optional
        The size at which a path ends unless more is asked for; None: that of all methods.
    """

    help: str
    build: Build
    options: frozenset[str]
    tasks: tuple[str, ...]
    losses: Mapping[str, tuple[str, ...]]
    cost: str
    sizes: str = "up"
    model: str = ""
    ranks: bool = False
    work: Callable[[int, int, int], float] | None = None
    unit: str = "features"
    calls: Callable[[Mapping[str, Any], int], int] | None = None
    two_classes: bool = False
    memory: Callable[[int, int], float] | None = None
    longest: int | None = None

    def check(self, name: str, task: str, given: Mapping[str, Any], classes: int = 2) -> None:
        """Refuse what the method does not have."""
        if task not in self.tasks:
            able = [n for n, m in METHODS.items() if task in m.tasks]
            raise InputError(
                f"{name} does {' and '.join(self.tasks)} only, not {task}; methods that do: "
                f"{', '.join(able)}."
            )
        if task == "classification" and classes > 2 and self.two_classes:
            able = [n for n, m in METHODS.items() if task in m.tasks and not m.two_classes]
            raise InputError(
                f"{name} is for two classes, and the target has {classes}; methods for more: "
                f"{', '.join(able)}."
            )
        if task == "classification" and classes > 2 and given.get("loss") == "auc":
            raise InputError(f"--loss auc is for two classes, and the target has {classes}.")
        missing = sorted(f"--{option}" for option in given if option not in self.options)
        if missing:
            able = [n for n, m in METHODS.items() if {o[2:] for o in missing} <= m.options]
            hint = f"; methods that have it: {', '.join(able)}" if able else ""
            raise InputError(f"{name} has no option {' or '.join(missing)}{hint}.")
        losses = self.losses.get(task, ())
        if "loss" in given and given["loss"].partition(":")[0] not in losses:
            raise InputError(
                f"--loss {given['loss']} is not for {task} with {name}; use one of "
                f"{', '.join(losses)}."
            )


def _rls(search: str) -> Build:
    def build(task: str, parameters: Mapping[str, Any]) -> Any:
        from sparsepath.rls import SparseRLSClassifier, SparseRLSRegressor

        estimator = SparseRLSRegressor if task == "regression" else SparseRLSClassifier
        return estimator(**{"search": search, **parameters})

    return build


def _rank_rls(task: str, parameters: Mapping[str, Any]) -> Any:
    from sparsepath.rls import SparseRankRLS

    return SparseRankRLS(**parameters)


def _grafting(task: str, parameters: Mapping[str, Any]) -> Any:
    from sparsepath import grafting

    given = dict(parameters)
    threads = given.pop("n_threads", None)
    if "l1" in given:
        if "cv" in given:
            raise InputError("--l1 fixes the penalty; --cv and --groups are for choosing it.")
        del given["choose"]
        one = {"regression": grafting.GraftingRegressor}.get(task, grafting.GraftingClassifier)
        return one(**given, n_threads=threads)
    if given.get("cv") == "loo":
        from sklearn.model_selection import LeaveOneOut

        given["cv"] = LeaveOneOut()
    many = {"regression": grafting.GraftingRegressorCV}.get(task, grafting.GraftingClassifierCV)
    return many(**given, n_jobs=-1 if threads is None else threads)  # one per core


def _mlp_grafting(task: str, parameters: Mapping[str, Any]) -> Any:
    from sparsepath.grafting import MLPGraftingClassifier, MLPGraftingRegressor

    given = {name: value for name, value in parameters.items() if name != "choose"}
    return (MLPGraftingRegressor if task == "regression" else MLPGraftingClassifier)(**given)


def _rbf(task: str, parameters: Mapping[str, Any]) -> Any:
    from sparsepath import rbf

    given = dict(parameters)
    if "r" in given and "t" in given:
        if "cv" in given:
            raise InputError("--r and --t fix the budgets; --cv and --groups are for choosing.")
        del given["choose"]
        one = {"regression": rbf.SparseRBFRegressor}.get(task, rbf.SparseRBFClassifier)
        return one(**given)
    for name in ("r", "t"):
        if name in given:
            given[f"{name}s"] = [given.pop(name)]
    if given.get("cv") == "loo":
        from sklearn.model_selection import LeaveOneOut

        given["cv"] = LeaveOneOut()
    many = {"regression": rbf.SparseRBFRegressorCV}.get(task, rbf.SparseRBFClassifierCV)
    return many(n_jobs=-1, **given)


def _lssvm_forward(task: str, parameters: Mapping[str, Any]) -> Any:
    from sparsepath.kernel_machines import LSSVMForwardRegressor

    return LSSVMForwardRegressor(**parameters)


def _elm_fs(task: str, parameters: Mapping[str, Any]) -> Any:
    from sparsepath.elm import ELMFSClassifier, ELMFSRegressor

    given = {"random_state": SEED, **parameters}
    if task == "classification":
        return ELMFSClassifier(**given)
    given.pop("loss", None)  # it is the squared one
    return ELMFSRegressor(**given)


def _mutual_information(search: str) -> Build:
    def build(task: str, parameters: Mapping[str, Any]) -> Any:
        from sparsepath.information import MutualInfoRegressor

        return MutualInfoRegressor(**{"search": search, "random_state": SEED, **parameters})

    return build


def _lars(task: str, parameters: Mapping[str, Any]) -> Any:
    from sparsepath.lars import LarsSelector

    return LarsSelector(**parameters)


def _rbf_calls(options: Mapping[str, Any], size: int) -> int:
    if "t" in options:
        return 0 if "r" in options else 1
    from sparsepath.rbf import SparseRBFRegressorCV

    return int(SparseRBFRegressorCV().ts)


def _elm_fs_calls(options: Mapping[str, Any], size: int) -> int:
    from sparsepath.elm.search import Plan

    return Plan(
        options.get("strategy", "both"), options.get("restarts", 40), 10, "half", size
    ).n_reports


def _as_dense(rows: int, columns: int) -> float:
    """Sparse data become a table of float64."""
    return 8.0 * rows * columns


def _has(options: str) -> frozenset[str]:
    return frozenset(options.split())


SEED = 0  # so that the same command gives the same result
_RLS_LOSSES = {
    "regression": ("squared", "absolute", "huber", "log-cosh"),
    "classification": ("squared", "absolute", "huber", "log-cosh", "zero-one", "balanced", "auc"),
}
_BOTH = ("regression", "classification")
_FORWARD = _has(
    "max-features alpha loss choose cv standardize force forbid start significance threads "
    "checkpoint weights groups"
)
_MI = _has("max-features choose seed threads")
_OP_ELM = "mutual information selects, OP-ELM on the selected columns predicts"

CALLED_HERE = {
    **dict.fromkeys(
        ("lasso", "l1", "lassocv", "logistic"),
        "an L1 penalty is called grafting here; lars is least angle regression",
    ),
    **dict.fromkeys(
        ("elastic-net", "elasticnet", "enet"), "called grafting here, with --l2 for the ridge part"
    ),
    **dict.fromkeys(
        ("rfe", "rfecv", "backward", "sbs", "elimination"),
        "dropping one feature at a time is called backward-rls here",
    ),
    **dict.fromkeys(
        ("forward", "sfs", "sequential", "ridge", "rls", "omp", "greedy"),
        "adding one feature at a time is called greedy-rls here",
    ),
    **dict.fromkeys(
        ("stepwise", "floating", "sffs", "sfbs"), "called floating-rls here, or swap-rls"
    ),
    **dict.fromkeys(("mrmr", "mi", "mutual-info", "jmi"), "called mi-forward here"),
    **dict.fromkeys(("svm", "svr", "kernel"), "a kernel machine is called lssvm-forward here"),
    **dict.fromkeys(("elm", "elmfs"), "called elm-fs here"),
    **dict.fromkeys(("mlp", "neural-network"), "called mlp-grafting here"),
}
"""What methods are called elsewhere, and here."""

METHODS: dict[str, Method] = {
    "greedy-rls": Method(
        "Add one feature at a time, judged by exact cross-validation of ridge regression.",
        _rls("forward"),
        _FORWARD | {"search"},
        _BOTH,
        _RLS_LOSSES,
        "about one pass over the data",
    ),
    "floating-rls": Method(
        "As greedy-rls, and drop features again where that costs little.",
        _rls("floating"),
        _FORWARD,
        _BOTH,
        _RLS_LOSSES,
        "one pass over the data or a few",
    ),
    "backward-rls": Method(
        "Start with all features and drop one at a time.",
        _rls("backward"),
        _FORWARD - {"max-features", "significance"},
        _BOTH,
        _RLS_LOSSES,
        "a pass over all features that are still in",
        sizes="down",
    ),
    "swap-rls": Method(
        "As greedy-rls, and exchange chosen features for others while that helps.",
        _rls("swap"),
        _FORWARD,
        _BOTH,
        _RLS_LOSSES,
        "a pass over the data for each feature chosen so far, or several",
    ),
    "rank-rls": Method(
        "Rank rows by least squares on pairs, within the queries of --groups if given.",
        _rank_rls,
        (_FORWARD | {"search"}) - {"weights", "significance"},
        ("regression",),
        {"regression": ("squared", "disagreement")},
        "about one pass over the data, or without --groups one over all pairs of rows per feature",
        ranks=True,
    ),
    "grafting": Method(
        "Linear or logistic, L1, L2 and L0 penalties; l1 by cross-validation.",
        _grafting,
        _has("max-features l1 l2 l0 cv choose standardize threads weights groups"),
        _BOTH,
        {},
        "the optimum for one penalty in every fold",
        sizes="own",
        unit="steps",
    ),
    "mlp-grafting": Method(
        "A network that grows one connection at a time.",
        _mlp_grafting,
        _has("max-features l1 l2 l0 max-hidden choose standardize threads weights"),
        _BOTH,
        {},
        "an optimisation of the network",
        sizes="own",
        unit="steps",
    ),
    "rbf": Method(
        "Gaussians that select inputs and centres at once; some hundred rows, two classes at most.",
        _rbf,
        _has("r t cv choose seed groups weights"),
        _BOTH,
        {},
        "a fit of a network with a centre at every row",
        sizes="own",
        work=lambda rows, columns, sizes: 1e5 * rows**2,
        unit="budgets",
        calls=_rbf_calls,
        two_classes=True,
        # A Hessian over centres and inputs, and its factor.
        memory=lambda rows, columns: 16.0 * (rows + columns) ** 2 + 8.0 * rows * columns,
    ),
    "lssvm-forward": Method(
        "Add one input at a time to a kernel machine; regression, some hundred rows.",
        _lssvm_forward,
        _has("max-features cv choose standardize"),
        ("regression",),
        {},
        "four factorisations of rows x rows numbers for every input that is left",
        work=lambda rows, columns, sizes: 4.0 * rows**3 * columns * sizes,
        memory=_as_dense,
    ),
    "elm-fs": Method(
        "Random networks; finds features that are good only together.",
        _elm_fs,
        _has("max-features loss choose strategy restarts seed threads"),
        _BOTH,
        {"regression": ("squared",), "classification": ("zero-one", "squared")},
        "hundreds of small networks",
        work=lambda rows, columns, sizes: 1e4 * rows * (columns + 40) * sizes,
        unit="parts",
        calls=_elm_fs_calls,
        memory=_as_dense,
        longest=20,
    ),
    "mi-forward": Method(
        "Add one feature at a time by joint mutual information; regression.",
        _mutual_information("forward"),
        _MI,
        ("regression",),
        {},
        "distances between all rows for every feature that is left",
        model=_OP_ELM,
        work=lambda rows, columns, sizes: 5.0 * rows**2 * columns * sizes,
        memory=_as_dense,
    ),
    "mi-forward-backward": Method(
        "Add and drop by joint mutual information, from random starts; regression.",
        _mutual_information("forward-backward"),
        _MI | {"restarts"},
        ("regression",),
        {},
        "distances between all rows for every feature, in a hundred climbs",
        model=_OP_ELM,
        work=lambda rows, columns, sizes: 50.0 * rows**2 * columns * sizes,
        unit="climbs",
        calls=lambda options, size: int(options.get("restarts", 100)),
        memory=_as_dense,
    ),
    "lars": Method(
        "Least angle regression: features in their order of entry; regression.",
        _lars,
        _has("max-features choose"),
        ("regression",),
        {},
        "about one pass over the data",
        model="least squares on the features that have entered",
    ),
}
"""Every method by its name on the command line."""


def help_text() -> str:
    """The table as the end of ``--help``."""
    width = max(map(len, METHODS))
    lines = [f"  {name:{width}}  {method.help}" for name, method in METHODS.items()]
    return "\n".join(["\b", "Methods:", *lines])
