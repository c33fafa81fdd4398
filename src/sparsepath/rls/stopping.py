"""Rules that end a search; ``a | b`` ends it when either applies, ``a & b`` when both do.

A rule is any function of the trail so far that returns a reason to stop, or None. A trail begins
with the error of the empty model, or of the forced features and the start set, or, for a backward
search, of the largest valid model.

``MaxT`` is evaluated before an addition, also as the second half of an exchange; the others after
each update: one feature or group added or removed, or one complete exchange. When a search resumes
from a checkpoint, these are evaluated again as the updates are repeated, so that it ends where it
had ended; ``TimeLimit`` includes the time of the earlier run.
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
    """Base class of rules; a subclass implements ``__call__`` or ``before``."""

    judges_additions = False  # whether ``before`` has something to say
    judges_moves = True  # whether ``__call__`` has

    def begin(self, design: Design, Y: Floats, alpha: float) -> "StopRule":
        """Return the rule for one search, bound to its problem."""
        return self

    def __call__(self, trail: SearchTrail) -> str | None:
        """Return a reason to stop after a move; None to continue."""
        return None

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """Return a reason to stop before this addition, the best candidate; None to continue."""
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
    """Return the rule for one search; plain functions need no binding."""
    return rule.begin(design, Y, alpha) if isinstance(rule, StopRule) else rule


def asked_before(
    rule: Rule, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
) -> str | None:
    """Return the reason of a rule before an addition; plain functions give none."""
    return rule.before(trail, model, update, candidates) if isinstance(rule, StopRule) else None


@dataclass(frozen=True)
class _TwoRules(StopRule):
    """Combination of two rules."""

    one: Rule
    other: Rule

    @property
    def judges_additions(self) -> bool:  # type: ignore[override]
        return _judges(self.one) or _judges(self.other)

    def begin(self, design: Design, Y: Floats, alpha: float) -> StopRule:
        """Return both rules, bound to the problem."""
        both = (begun(rule, design, Y, alpha) for rule in (self.one, self.other))
        return type(self)(*both)


@dataclass(frozen=True)
class AnyOf(_TwoRules):
    """Stop when either rule applies."""

    def __call__(self, trail: SearchTrail) -> str | None:
        return self.one(trail) or self.other(trail)

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """Return the reason of the first rule, or else of the second."""
        about = (trail, model, update, candidates)
        return asked_before(self.one, *about) or asked_before(self.other, *about)


@dataclass(frozen=True)
class AllOf(_TwoRules):
    """Stop when both rules apply at the same time.

    If one of them is evaluated before additions, both are; a rule that is normally evaluated after
    updates does not apply before the first update.
    """

    def __call__(self, trail: SearchTrail) -> str | None:
        return None if self.judges_additions else _both(self.one(trail), self.other(trail))

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """Return both reasons, if both rules apply."""
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
    """End a search that counts mistakes when none are left, because no addition can gain.

    It is evaluated before an addition, so that a floating search may still remove features. Up to
    the requested ``size`` the search continues.
    """

    size: int = 0
    judges_moves = False

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """Return a reason if the error is zero."""
        return NO_MISTAKES if model.error == 0 and len(model.chosen) >= self.size else None


@dataclass(frozen=True)
class Tolerance(StopRule):
    """Stop when a new size does not lower the error by this fraction.

    The error is compared with the next smaller size on the path: with ``Tolerance(0.01)``, a
    feature or group must lower the criterion by one per cent. A backward search stops at the first
    removal of such a feature.
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
    """Stop when this many updates in a row have not lowered the minimum error.

    An update is one feature or group added or removed, or one exchange.
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
    """Stop after the first move that ends later than this many seconds after the start."""

    seconds: float

    def __post_init__(self) -> None:
        number("TimeLimit: seconds", self.seconds, finite=False)

    def __call__(self, trail: SearchTrail) -> str | None:
        return "time" if trail.moves and trail.moves[-1].seconds >= self.seconds else None


@dataclass(frozen=True)
class PastOneSE(StopRule):
    """Stop once the error is one standard error above its minimum."""

    def __call__(self, trail: SearchTrail) -> str | None:
        least = min(trail.steps.values(), key=lambda step: step.error)
        return "one_se" if trail.moves[-1].error > least.error + least.error_se else None


@dataclass(frozen=True)
class MaxT(StopRule):
    """Stop when the best candidate is not significant, by a permutation test.

    Before each addition, the residuals of the current model are permuted, and the candidate's gain
    is compared with the distribution of the largest gain over all candidates (see
    ``sparsepath.rls.significance``). The search stops if the p-value exceeds the level. The gain is
    in squared error, whatever the loss of the search. A step costs ``n_permutations`` products X'v,
    computed as matrix products.

    Parameters
    ----------
    level : float
        Largest p-value at which a feature is added.
    n_permutations : int
        Number of permutations; the smallest possible p-value is 1 / (n_permutations + 1).
    seed : int
        Random seed of the permutations.
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
                f"MaxT(level={self.level!r}, n_permutations={self.n_permutations!r}) cannot "
                "reach the level; use at least 1 / level - 1 permutations."
            )
        count("MaxT: seed", self.seed, 0)

    def begin(self, design: Design, Y: Floats, alpha: float) -> StopRule:
        """Return the test on the data of the search."""
        return _MaxTest(self, design, Y, alpha)


@dataclass(frozen=True)
class _MaxTest(StopRule):
    """``MaxT`` bound to its problem."""

    rule: MaxT
    design: Design
    Y: Floats
    alpha: float

    judges_additions = True

    def before(
        self, trail: SearchTrail, model: Model, update: Update, candidates: NDArray[np.intp]
    ) -> str | None:
        """Return a reason to stop if the p-value is above the level."""
        counted = self.design.n_counted
        rule = self.rule
        dealt = permutations(rule.seed, len(trail.moves), rule.n_permutations, counted)
        p = p_value(
            self.design, self.Y, self.alpha, model.chosen, update.feature, candidates, dealt
        )
        return "max_t" if p > rule.level else None
