"""The record of a method, and how its estimator is created."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

Estimator = str | type
"""A class, or where it is found: room and name, as in "rls.SparseRLSRegressor"."""
TASKS = ("regression", "classification", "survival")
OF_NUMBERS = ("squared", "absolute", "huber", "log-cosh")  # losses of residuals, for classes too
OF_CLASSES = ("zero-one", "balanced", "auc")
OF_MARGINS = ("logistic", "squared-hinge")  # of a score times its class, -1 or +1
OF_ORDERS = ("disagreement",)
OF_COUNTS = ("poisson", "gamma", "tweedie")  # deviances of targets that are not negative


@dataclass(frozen=True, kw_only=True)
class Method:
    """One record of the table."""

    name: str  # on the command line and on the path
    summary: str  # one line that says what the method does
    when: str  # when to take it
    regressor: Estimator  # its estimators; empty where it has none
    classifier: Estimator = ""
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


def names(text: str) -> frozenset[str]:
    """Return the words of a text, as in a record of the table."""
    return frozenset(text.split())


def load(estimator: Estimator) -> Any:
    """Return the class, importing its package.

    >>> load("lars.estimators.LarsSelector").__name__
    'LarsSelector'
    """
    if not isinstance(estimator, str):
        return estimator
    room, _, name = estimator.rpartition(".")
    return getattr(import_module(f"sparsepath.{room}"), name)
