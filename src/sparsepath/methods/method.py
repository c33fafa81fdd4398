"""What an entry of the table of methods says, how its estimator is made; and the options."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from sparsepath.errors import InputError

GROUP_FOLDS = 10  # of groups, where a search is judged by them

Estimator = str | type
"""A class, or where it is found: room and name, as in "rls.SparseRLSRegressor"."""


@dataclass(frozen=True)
class Option:
    """What may be asked of a method."""

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
    """One line of the table."""

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
    single: tuple[Estimator, Estimator] = ("", "")  # its estimators then
    others: tuple[Estimator, ...] = ()  # more selectors that belong to it
    # By task: what --loss may be.
    losses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # What it is called elsewhere, names between blanks, and what to say of them.
    known_as: Mapping[str, str] = field(default_factory=dict)
    # 'up', 'down', 'own': whether the path goes from no feature up to max-features, from all of
    # them down, or through such sizes as its penalties happen to give.
    sizes: str = "up"
    model: str = ""  # what predicts, if the name of the method does not say it
    ranks: bool = False  # whether it ranks rows, and --groups are the queries within which it does
    # From rows, columns and sizes to the numbers touched, in all; None: each once per size.
    work: Callable[[int, int, int], float] | None = None
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

    @property
    def tasks(self) -> tuple[str, ...]:
        """Regression, classification or both."""
        able = {"regression": self.regressor, "classification": self.classifier}
        return tuple(task for task, estimator in able.items() if estimator)

    @property
    def estimators(self) -> tuple[Estimator, ...]:
        """All its selectors, as they are written in the table."""
        every = (self.regressor, self.classifier, *self.single, *self.others)
        return tuple(estimator for estimator in every if estimator)

    def is_fixed(self, asked: Collection[str]) -> bool:
        """Whether all that is chosen by cross-validation otherwise is among what was asked for."""
        return bool(self.given) and set(asked) >= {*self.given}

    def folds(self, n_groups: int, asked: Mapping[str, Any]) -> str | int | None:
        """What its own cross-validation is where groups are kept whole; None: it has none.

        That many folds of groups, or "loo": a group at a time. So unless folds are asked for, if
        groups are few: the validation leaves out up to half of them, and there must be enough.
        """
        if self.ranks or "cv" not in self.options or self.is_fixed(asked):
            return None
        few = n_groups < 2 * GROUP_FOLDS
        found: str | int = asked.get("cv", "loo" if few else GROUP_FOLDS)
        if isinstance(found, int) and found > n_groups:
            raise InputError(f"--cv {found} is more than the {n_groups} groups.")
        return "loo" if found == n_groups else found

    def make(self, task: str = "regression", **parameters: Any) -> Any:
        """The estimator for a task, one of ``tasks``, with parameters by their names in Python.

        A rule to choose a size by and a loss are passed over where there is nothing to choose; a
        value of what is chosen otherwise is taken as the only one.
        """
        pair = self.single if self.is_fixed(parameters) else (self.regressor, self.classifier)
        maker = load(pair[task == "classification"])
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
    """The class itself; its room is imported now.

    >>> load("lars.LarsSelector").__name__
    'LarsSelector'
    """
    if not isinstance(estimator, str):
        return estimator
    room, _, name = estimator.rpartition(".")
    return getattr(import_module(f"sparsepath.{room}"), name)


OF_NUMBERS = ("squared", "absolute", "huber", "log-cosh")  # losses of residuals, for classes too
OF_CLASSES = ("zero-one", "balanced", "auc")
OF_ORDERS = ("disagreement",)
LOSSES = (*OF_NUMBERS, *OF_CLASSES, *OF_ORDERS)
SEARCHES = ("forward", "floating", "backward", "swap")
STRATEGIES = ("both", "scaling", "swap")

OPTIONS: dict[str, Option] = {
    "max-features": Option(
        "max_features", "count", "Where the path ends.", "all, at most 100; 20 of elm-fs", "K"
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
        "cv", "cv", "loo, or a number of folds.", "loo; 5 for grafting, mlp-grafting and rbf"
    ),
    "standardize": Option(
        "standardize", "flag", "Penalise as if all columns had unit variance.", "standardize", ""
    ),
    "weights": Option("sample_weight", "column", "Column of sample weights.", metavar="COL"),
    "groups": Option(
        "groups",
        "column",
        "Column of groups; the folds of --cv and --validation keep them whole, loo leaves out a "
        "group at a time. For rank-rls: the queries.",
        "10 folds; loo for rank-rls and less than 20 groups",
        "COL",
    ),
    "alpha": Option(
        "alpha",
        "alpha",
        "Ridge penalty: a number, several between commas (the best is used), or loo (chosen with "
        "all features).",
        "1",
        "A",
    ),
    "loss": Option("loss", "loss", "{values}.", "squared; zero-one of elm-fs", "NAME", LOSSES),
    "search": Option(
        "search", "one_of", "Search of {methods}: {values}.", "forward", "NAME", SEARCHES
    ),
    "force": Option("forced", "names", "Features that every model has.", metavar="A,B"),
    "forbid": Option("forbidden", "names", "Features that no model has.", metavar="A,B"),
    "start": Option(
        "start", "names", "Features to start from; they may be dropped again.", metavar="A,B"
    ),
    "significance": Option(
        "stop",
        "level",
        "Stop when the best feature left is not significant at this level (max-T).",
        metavar="P",
    ),
    "l1": Option("l1", "penalty", "L1 penalty of grafting, instead of many.", metavar="A"),
    "l2": Option("l2", "penalty", "L2 penalty of grafting.", metavar="A"),
    "l0": Option("l0", "penalty", "L0 penalty of grafting.", metavar="A"),
    "max-hidden": Option("max_hidden", "count", "Most hidden units of {methods}.", "50"),
    "r": Option("r", "budget", "Budget of {methods} for coefficients, instead of many.", "", "A"),
    "t": Option("t", "budget", "Budget of {methods} for inputs, instead of many.", "", "A"),
    "strategy": Option(
        "strategy", "one_of", "Search of {methods}: {values}.", "both", "NAME", STRATEGIES
    ),
    "restarts": Option(
        "n_restarts", "count", "Random starts of {methods}.", "40 of elm-fs, 100 of the other"
    ),
    "neighbors": Option(
        "n_neighbors", "count", "Neighbours by which {methods} tell how dense data are.", "6"
    ),
    "seed": Option("random_state", "seed", "Seed of methods that draw.", "0"),
    "threads": Option(
        "n_threads",
        "count",
        "Threads, or processes where a method works in those; only the speed changes.",
        "one per core",
    ),
    "checkpoint": Option(
        "checkpoint", "file", "Keep progress here, and go on from it if it is there.", "", "FILE"
    ),
}
