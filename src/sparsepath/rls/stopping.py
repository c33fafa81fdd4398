"""Rules that end a search; ``a | b`` ends it when either says so, ``a & b`` when both do.

A search stops when any of its rules says so. A rule is any function of the trail so far that
returns why to stop, or nothing. A trail begins with the error of the empty model, or of the forced
features and the start set, or, going backward, of the largest model that may be on the path.

``MaxT`` is asked before an addition is made, also if it is the second half of an exchange; the
others after each update: one feature or one group that came or went, or one exchange as a whole.
When a search goes on from a checkpoint these are asked again as the updates are made again, so that
it ends where it had ended; the clock of ``TimeLimit`` goes on from that of the earlier run.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsepath.base.parameters import count, number, share
from sparsepath.errors import InputError
from sparsepath.rls.design import Design
from sparsepath.rls.history import Rule, SearchTrail
from sparsepath.rls.model import Model
from sparsepath.rls.significance import p_value, permutations
from sparsepath.rls.update import Update
from sparsepath.system.arrays import Floats

NO_MISTAKES = "no mistakes left"


class StopRule:
    """What the rules here share; a subclass says something in ``__call__`` or in ``before``."""

    judges_additions = False  # whether ``before`` has something to say
    judges_moves = True  # whether ``__call__`` has

    def begin(self, design: Design, Y: Floats, alpha: float) -> "StopRule":
        """The rule for one search, bound to its problem."""
        return self

    def __call__(self, trail: SearchTrail) -> str | None:
        """Why to stop after a move; None to go on."""
        return None

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """Why to stop before this addition, the best of the candidates; None to go on."""
        return None

    def __or__(self, other: Rule) -> "AnyOf":
        return AnyOf(self, other)

    def __ror__(self, other: Rule) -> "AnyOf":
        return AnyOf(other, self)

    def __and__(self, other: Rule) -> "AllOf":
        return AllOf(self, other)

    def __rand__(self, other: Rule) -> "AllOf":
        return AllOf(other, self)


def _judges(rule: Rule) -> bool:
    return isinstance(rule, StopRule) and rule.judges_additions


def begun(rule: Rule, design: Design, Y: Floats, alpha: float) -> Rule:
    """The rule for one search; plain functions need no problem."""
    return rule.begin(design, Y, alpha) if isinstance(rule, StopRule) else rule


def asked_before(
    rule: Rule, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
) -> str | None:
    """What a rule says before an addition; plain functions are silent then."""
    return rule.before(trail, model, update, candidates) if isinstance(rule, StopRule) else None


@dataclass(frozen=True)
class _TwoRules(StopRule):
    """Two rules as one."""

    one: Rule
    other: Rule

    @property
    def judges_additions(self) -> bool:  # type: ignore[override]
        return _judges(self.one) or _judges(self.other)

    def begin(self, design: Design, Y: Floats, alpha: float) -> StopRule:
        """Both, bound to the problem."""
        both = (begun(rule, design, Y, alpha) for rule in (self.one, self.other))
        return type(self)(*both)


@dataclass(frozen=True)
class AnyOf(_TwoRules):
    """Stop when one of two rules says so."""

    def __call__(self, trail: SearchTrail) -> str | None:
        return self.one(trail) or self.other(trail)

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """What the first says, or else the second."""
        about = (trail, model, update, candidates)
        return asked_before(self.one, *about) or asked_before(self.other, *about)


@dataclass(frozen=True)
class AllOf(_TwoRules):
    """Stop when two rules say so at the same time.

    If one of them judges additions, both are asked before each addition; one that does not has
    nothing to say before the first update.
    """

    def __call__(self, trail: SearchTrail) -> str | None:
        return None if self.judges_additions else _both(self.one(trail), self.other(trail))

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """What both say, if both say something."""
        if not self.judges_additions:
            return None

        def said(rule: Rule) -> str | None:
            if _judges(rule):
                return asked_before(rule, trail, model, update, candidates)
            return rule(trail) if trail.moves else None

        return _both(said(self.one), said(self.other))


def _both(one: str | None, other: str | None) -> str | None:
    return f"{one} and {other}" if one and other else None


@dataclass(frozen=True)
class NoMistakes(StopRule):
    """End a search that counts mistakes when there are none left: no addition could gain.

    It is asked before an addition, so that a floating search may still drop what is not needed. Up
    to the requested ``size`` the search continues nevertheless.
    """

    size: int = 0
    judges_moves = False

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """Whether the error is zero."""
        return NO_MISTAKES if model.error == 0 and len(model.chosen) >= self.size else None


@dataclass(frozen=True)
class Tolerance(StopRule):
    """Stop when the best error of the newest size is not better by this fraction.

    Compared with the next smaller size on the path: with ``Tolerance(0.01)`` a feature, or a group
    that enters as one, must lower the criterion by one per cent of what it was. A backward search
    stops at the first removal of one that had done so.
    """

    fraction: float

    def __post_init__(self) -> None:
        if not number("Tolerance: fraction", self.fraction) < 1:
            raise InputError(f"Tolerance({self.fraction!r}); give a fraction from 0 up to 1.")

    def __call__(self, trail: SearchTrail) -> str | None:
        sizes = sorted(trail.steps)
        newest = sizes[0 if trail.backward else -1]
        if trail.size != newest or len(sizes) < 2:
            return None
        smaller, larger = sizes[:2] if trail.backward else sizes[-2:]
        before, now = trail.steps[smaller].error, trail.steps[larger].error
        lowered = not before - now < self.fraction * before
        return "tolerance" if lowered == trail.backward else None


@dataclass(frozen=True)
class Patience(StopRule):
    """Stop when this many updates in a row have not brought a new least error.

    An update is one feature or one group of columns that came or went, or one exchange.
    """

    moves: int

    def __post_init__(self) -> None:
        count("Patience: moves", self.moves, 1)

    def __call__(self, trail: SearchTrail) -> str | None:
        errors = trail.errors
        since = len(errors) - 1 - errors.index(min(errors))
        return "patience" if since >= self.moves else None


@dataclass(frozen=True)
class TimeLimit(StopRule):
    """Stop after the first move that ends later than this many seconds from the start."""

    seconds: float

    def __post_init__(self) -> None:
        number("TimeLimit: seconds", self.seconds, finite=False)

    def __call__(self, trail: SearchTrail) -> str | None:
        return "time" if trail.moves and trail.moves[-1].seconds >= self.seconds else None


@dataclass(frozen=True)
class PastOneSE(StopRule):
    """Stop once the error has risen from its least value by one standard error."""

    def __call__(self, trail: SearchTrail) -> str | None:
        least = min(trail.steps.values(), key=lambda step: step.error)
        return "one_se" if trail.moves[-1].error > least.error + least.error_se else None


@dataclass(frozen=True)
class MaxT(StopRule):
    """Stop when the best candidate gains no more than chance would, by a permutation test.

    Before each addition the residuals of the current model are permuted, and the candidate's gain
    is held against the distribution of the largest gain over all candidates (see
    ``sparsepath.rls.significance``); the search stops if its p-value exceeds the level. The gain is
    that in squared error, whatever the loss of the search. It costs as much as that many products
    X'v per step, taken as products of matrices.

    Parameters
    ----------
    level : float
        The largest p-value of a feature that is let in.
    n_permutations : int
        The least p-value is one over this number plus one.
    seed : int
        Of the permutations.
    """

    level: float = 0.05
    n_permutations: int = 999
    seed: int = 0

    judges_additions = True

    def __post_init__(self) -> None:
        share("MaxT: level", self.level)
        count("MaxT: n_permutations", self.n_permutations)
        if self.level * (self.n_permutations + 1) < 1:
            raise InputError(
                f"MaxT(level={self.level!r}, n_permutations={self.n_permutations!r}) would let "
                "nothing in; give at least 1 / level - 1 permutations."
            )
        count("MaxT: seed", self.seed, 0)

    def begin(self, design: Design, Y: Floats, alpha: float) -> StopRule:
        """The test on the data of the search."""
        return _MaxTest(self, design, Y, alpha)


@dataclass(frozen=True)
class _MaxTest(StopRule):
    """``MaxT`` with the problem it is about."""

    rule: MaxT
    design: Design
    Y: Floats
    alpha: float

    judges_additions = True

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """Why to stop: the p-value is above the level."""
        counted = self.design.n_counted
        rule = self.rule
        dealt = permutations(rule.seed, len(trail.moves), rule.n_permutations, counted)
        p = p_value(
            self.design, self.Y, self.alpha, model.chosen, update.feature, candidates, dealt
        )
        return "max_t" if p > rule.level else None
