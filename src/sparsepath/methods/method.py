"""Entries of the table of methods, how their estimators are created, and the options."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

Estimator = str | type
"""A class, or where it is found: room and name, as in "rls.SparseRLSRegressor"."""
TASKS = ("regression", "classification", "survival")


@dataclass(frozen=True)
class Option:
    """An option of a method."""

    parameter: str  # its name in Python
    # What is typed on the command line: the name of one of the readers of cli/options.py, "flag",
    # "file" or "column".
    kind: str
    help: str  # one sentence; {methods} are those that have the option, {values} what it may be
    default: str = ""  # what it is if it is not given
    metavar: str = "N"  # what stands for it in the help
    values: tuple[str, ...] = ()  # what it may be, if that is one of a few words


@dataclass(frozen=True)
class Method:
    """One row of the table."""

    name: str  # on the command line and on the path
    summary: str  # one line that says what the method does
    when: str  # when to take it
    regressor: Estimator  # its estimators; empty where it has none
    classifier: Estimator
    options: frozenset[str]  # which of OPTIONS it has
    page: str  # the page on it, below docs/methods/
    cost: str  # what one step of the search costs, for the note on big inputs
    limits: str = ""  # for which data it is not made, in words
    criterion: str = "leave-one-out"  # what kind of error its path has
    # What makes its estimators this method, and what they get unless something else is asked for.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    # Options that together fix what is chosen by cross-validation otherwise.
    given: tuple[str, ...] = ()
    single: tuple[Estimator, ...] = ()  # its estimators then, in the order of TASKS
    survival: Estimator = ""  # its estimator of right-censored times
    others: tuple[Estimator, ...] = ()  # more selectors that belong to it
    # By task: what --loss may be.
    losses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # What it is called elsewhere, names between blanks, and what to say of them.
    known_as: Mapping[str, str] = field(default_factory=dict)
    # 'up', 'down', 'own': whether the path goes from no feature up to max-features, from all of
    # them down, or through such sizes as its penalties happen to give.
    sizes: str = "up"
    model: str = ""  # what predicts, if the name of the method does not say it
    is_choice: bool = False  # whether it chooses between other methods of the table
    ranks: bool = False  # whether it ranks rows, and --groups are the queries within which it does
    # What a progress bar counts: the features of the path so far, or calls of the estimator's
    # callback under any other name.
    unit: str = "features"
    # From the options and the largest size to how often the callback comes, where that is known
    # from them.
    calls: Callable[[Mapping[str, Any], int], int] | None = None
    two_classes: bool = False  # whether classes are two at most
    # From rows and columns to the bytes that it needs at once, if more than the data take.
    memory: Callable[[int, int], float] | None = None
    # The size at which a path ends unless more is asked for; None: that of all methods.
    longest: int | None = None
    # Whether its estimators fit data that are read in passes: 'yes', 'given' with the options of
    # ``given``, or not.
    streams: str = ""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Which of TASKS it can do."""
        return tuple(task for task, able in zip(TASKS, self._by_task, strict=True) if able)

    @property
    def _by_task(self) -> tuple[Estimator, ...]:
        return self.regressor, self.classifier, self.survival

    @property
    def estimators(self) -> tuple[Estimator, ...]:
        """All selectors of the method, as written in the table."""
        every = (*self._by_task, *self.single, *self.others)
        return tuple(estimator for estimator in every if estimator)

    def reads_in_passes(self, asked: Collection[str]) -> bool:
        """Whether it fits data that are read in passes (files, Dask), with these options."""
        return self.streams == "yes" or (self.streams == "given" and self.is_fixed(asked))

    def is_fixed(self, asked: Collection[str]) -> bool:
        """Whether the options fix everything that cross-validation would choose."""
        return bool(self.given) and set(asked) >= {*self.given}

    def make(self, task: str = "regression", **parameters: Any) -> Any:
        """Return the estimator for a task of ``tasks``, with parameters by their Python names.

        ``choose`` and ``loss`` are ignored if the estimator has no such parameter. A single value
        of a parameter that cross-validation would choose replaces the list of candidates.
        """
        by_task = self.single if self.is_fixed(parameters) else self._by_task
        maker = load(by_task[TASKS.index(task)])
        takes = inspect.signature(maker).parameters
        asked = {**self.parameters, **parameters}
        for name in ("choose", "loss"):
            if name not in takes:
                asked.pop(name, None)
        for name in [name for name in asked if name not in takes and f"{name}s" in takes]:
            asked[f"{name}s"] = [asked.pop(name)]
        if "n_jobs" in takes:
            asked.setdefault("n_jobs", asked.pop("n_threads", -1))  # one per core
        return maker(**asked)


def load(estimator: Estimator) -> Any:
    """Return the class, importing its package.

    >>> load("lars.estimators.LarsSelector").__name__
    'LarsSelector'
    """
    if not isinstance(estimator, str):
        return estimator
    room, _, name = estimator.rpartition(".")
    return getattr(import_module(f"sparsepath.{room}"), name)


OF_NUMBERS = ("squared", "absolute", "huber", "log-cosh")  # losses of residuals, for classes too
OF_CLASSES = ("zero-one", "balanced", "auc")
OF_ORDERS = ("disagreement",)
OF_COUNTS = ("poisson", "gamma", "tweedie")  # deviances of targets that are not negative
LOSSES = (*OF_NUMBERS, *OF_CLASSES, *OF_ORDERS, *OF_COUNTS)
SEARCHES = ("forward", "floating", "backward", "swap", "strong", "exact")
STRATEGIES = ("both", "scaling", "swap")

OPTIONS: dict[str, Option] = {
    "max-features": Option(
        "max_features", "count", "Largest size on the path.", "all, at most 100; 20 for elm-fs", "K"
    ),
    "choose": Option(
        "choose",
        "choose",
        "Size to use: one_se (smallest within one standard error of the least error), min, a "
        "number of features, or a fraction of the least error such as 0.05.",
        "one_se; min for rbf and lssvm-forward",
        "RULE",
    ),
    "cv": Option(
        "cv",
        "cv",
        "Cross-validation in the search: loo or a number of folds.",
        "loo; 5 for grafting, mlp-grafting and rbf",
    ),
    "standardize": Option(
        "standardize", "flag", "Standardise columns for the penalty.", "standardize", ""
    ),
    "weights": Option("sample_weight", "column", "Column of sample weights.", metavar="COL"),
    "class-weight": Option(
        "class_weight",
        "class_weight",
        "Class weights: balanced (rare classes count as much as frequent ones), or as in "
        "yes=10,no=1.",
        "by frequency",
        "W",
    ),
    "threshold": Option(
        "threshold",
        "threshold",
        "When to predict the second of the two classes, chosen on held-out rows: balanced (least "
        "balanced error), f1, a probability such as 0.3, or costs such as 5:1 (a missed case "
        "costs 5 times a false alarm).",
        "score zero",
        "T",
    ),
    "groups": Option(
        "groups",
        "column",
        "Column of groups; the folds of --cv and --validation keep them whole, loo leaves out a "
        "group at a time. For rank-rls: the queries.",
        metavar="COL",
    ),
    "alpha": Option(
        "alpha",
        "alpha",
        "Ridge penalty: a number, several between commas (chosen by honest error), auto (chosen "
        "from two searches and seven refits; 1 without validation, and with ten rows or more per "
        "column), or loo (chosen with all features).",
        "1",
        "A",
    ),
    "loss": Option("loss", "loss", "{values}.", "squared; zero-one for elm-fs", "NAME", LOSSES),
    "search": Option(
        "search", "one_of", "Search of {methods}: {values}.", "forward", "NAME", SEARCHES
    ),
    "time-budget": Option(
        "time_budget",
        "duration",
        "Time after which --search strong or exact ends with what it has, such as 30s or 10m; for "
        "--method auto: CPU time for all methods together.",
        "none; for auto ten times that of greedy-rls, 3s to 60s",
        "TIME",
    ),
    "force": Option("forced", "names", "Features that every model contains.", metavar="A,B"),
    "forbid": Option("forbidden", "names", "Features that no model may contain.", metavar="A,B"),
    "start": Option(
        "start", "names", "Features to start from; the search may remove them.", metavar="A,B"
    ),
    "significance": Option(
        "stop",
        "level",
        "Stop when the best remaining feature is not significant at this level (max-T).",
        metavar="P",
    ),
    "l1": Option(
        "l1", "penalty", "L1 penalty of grafting, instead of cross-validation.", metavar="A"
    ),
    "l2": Option("l2", "penalty", "L2 penalty of grafting.", metavar="A"),
    "l0": Option("l0", "penalty", "L0 penalty of grafting.", metavar="A"),
    "max-hidden": Option(
        "max_hidden", "count", "Maximum number of hidden units of {methods}.", "50"
    ),
    "r": Option(
        "r", "budget", "Budget of {methods} for coefficients, instead of cross-validation.", "", "A"
    ),
    "t": Option(
        "t", "budget", "Budget of {methods} for inputs, instead of cross-validation.", "", "A"
    ),
    "strategy": Option(
        "strategy", "one_of", "Search of {methods}: {values}.", "both", "NAME", STRATEGIES
    ),
    "restarts": Option(
        "n_restarts", "count", "Random starts of {methods}.", "40 for elm-fs, 100 for the other"
    ),
    "neighbors": Option(
        "n_neighbors",
        "count",
        "Nearest neighbours for the mutual information estimate of {methods}.",
        "6",
    ),
    "seed": Option("random_state", "seed", "Random seed.", "0"),
    "threads": Option(
        "n_threads",
        "count",
        "Number of threads or worker processes; affects speed only.",
        "one per core",
    ),
    "checkpoint": Option(
        "checkpoint",
        "file",
        "Save progress here, and resume from it if the file exists.",
        "",
        "FILE",
    ),
}
