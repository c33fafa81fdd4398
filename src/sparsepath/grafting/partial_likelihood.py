r"""Right-censored times: the partial likelihood of Cox, by Breslow's rule for ties.

A target is one number per sample: the time, with a minus sign if it is censored (then the event had
not happened yet). With the risk set R(t) = {j: time_j >= t}, sample weights s and

    S(t) = sum over j in R(t) of s_j exp(f_j)
    A_i  = sum over events k, t_k <= t_i, of s_k / S(t_k)

the loss term of the criterion and its derivatives in the outputs f are

    C       = sum over events i of s_i (log S(t_i) - log s_i - f_i)
    dC/df_i = s_i (exp(f_i) A_i - event_i)
    d2C     = diag(s_i exp(f_i) A_i) - sum over events k of s_k P_k P_k'
    P_ki    = s_i exp(f_i) / S(t_k)  on R(t_k)

For columns Z the second derivatives are thus Z'diag(h)Z - M'diag(s)M, where row k of M is the mean
of Z over the risk set of event k, weighted by s exp(f): sums from the longest time down. An
intercept would cancel: there is none. The loss does not fall apart into samples, so that there is
no simple dual point and no duality gap (NaN); the violation of optimality is the certificate.
"""

from typing import Any

import numpy as np

from sparsepath.errors import InputError
from sparsepath.grafting.criterion import ConvexLoss, Penalty
from sparsepath.grafting.engines import INNER_GRAM, ColumnCache
from sparsepath.grafting.steps import minimise
from sparsepath.system.arrays import Floats, floats

NEEDED = (
    "y needs two columns, time and event (1 if the event happened, 0 if the time is censored), or "
    "the fields of a structured array"
)


class CoxLoss(ConvexLoss):
    """The partial likelihood, as losses of the samples that had the event; see the module."""

    error_name = "partial log loss"

    def __init__(self, Y: Floats | None = None, s: Floats | None = None) -> None:
        if Y is None or s is None:
            return
        self.s, time = s, np.abs(Y[:, 0])
        self.event = (~np.signbit(Y[:, 0]) & (s > 0)).astype(np.float64)
        self.order = np.argsort(-time, kind="stable")  # the longest time first
        self.last = np.searchsorted(-time[self.order], -time, side="right") - 1
        self.before = len(time) - 1 - (np.searchsorted(time[self.order[::-1]], time, "right") - 1)

    def of_samples(self, Y: Floats, s: Floats) -> "CoxLoss":
        return CoxLoss(Y, s)

    def at_risk(self, V: Floats) -> Floats:
        """Sums of V over the risk set of every sample's time."""
        return np.cumsum(V[self.order], axis=0)[self.last]

    def so_far(self, V: Floats) -> Floats:
        """Sums of V over the samples whose time is not longer than every sample's."""
        return np.cumsum(V[self.order[::-1]], axis=0)[::-1][self.before]

    def _parts(self, F: Floats) -> tuple[Floats, Floats, Floats, float]:
        f = F[:, 0]
        top = float(f.max(initial=0.0))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            grown = np.exp(f - top)
            S = self.at_risk(self.s * grown)
            A = self.so_far(np.where(self.event > 0, self.s / S, 0.0))
        return grown, S, A, top

    def value(self, F: Floats, Y: Floats) -> Floats:
        _, S, _, top = self._parts(F)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.event > 0, np.log(S / self.s) + top - F[:, 0], 0.0)

    def slope(self, F: Floats, Y: Floats) -> Floats:
        grown, _, A, _ = self._parts(F)
        return (grown * A - self.event)[:, None]

    def curvature(self, F: Floats, Y: Floats) -> Floats:
        """Return an upper bound of the curvature of each output, ignoring shared risk sets."""
        grown, _, A, _ = self._parts(F)
        return (grown * A)[:, None]

    def means(self, Z: Floats, F: Floats) -> Floats:
        """The means of columns over the risk set of every sample."""
        grown, S, _, _ = self._parts(F)
        return self.at_risk((self.s * grown)[:, None] * Z) / S[:, None]

    def conjugate(self, U: Floats, Y: Floats) -> Floats:
        return np.full(len(U), np.nan)

    def within(self, U: Floats, Y: Floats) -> float:
        return np.nan


class CoxEngine(ColumnCache):
    """Newton steps with the second derivatives of the partial likelihood."""

    part = 0.03
    loss: CoxLoss

    def _direction(
        self, q: Floats, beta: Floats, w: Floats, local: Penalty, violation: float, ratio: float
    ) -> tuple[Floats, Floats]:
        Z = self.columns
        had = np.flatnonzero(self.loss.event)
        M = self.loss.means(Z, self.F)[had]
        whole = Z.T @ (Z * self.curvatures()[:, None])
        H = whole - M.T @ (M * self.s[had, None])
        least = np.where(self._free, 1e-14 * whole.diagonal(), np.inf)
        D = minimise(
            H, q[:, 0], np.ascontiguousarray(w[:, 0]), local, least, INNER_GRAM * violation
        )
        return D[:, None], np.zeros(1)


def signed_times(y: Any, n: int) -> Floats:
    """Times, with a minus sign where they are censored, as a column."""
    pairs = time_and_event(y, n)
    return np.where(pairs[:, 1] > 0, pairs[:, 0], -pairs[:, 0])[:, None]


def time_and_event(y: Any, n: int) -> Floats:
    """Two columns, times and 1 or 0, from whatever holds them.

    >>> time_and_event([(2.0, True), (1.5, False)], 2).tolist()
    [[2.0, 1.0], [1.5, 0.0]]
    """
    values = np.asarray(y)
    if values.dtype.names is not None:
        fields = [values[name] for name in values.dtype.names]
        if len(fields) == 2 and fields[0].dtype.kind == "b":  # scikit-survival: event, time
            fields.reverse()
        values = np.column_stack(fields)
    try:
        pairs = floats(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{NEEDED}; it has values that are not numbers.") from error
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"{NEEDED}; its shape is {pairs.shape}.")
    if len(pairs) != n:
        raise InputError(f"inconsistent numbers of samples: y has {len(pairs)}, X has {n}.")
    if not np.isfinite(pairs).all():
        raise InputError("y has missing or infinite times or events; remove those rows.")
    if (pairs[:, 0] < 0).any():
        raise InputError(f"y has the time {pairs[:, 0].min():g}; times must be zero or more.")
    if not np.isin(pairs[:, 1], (0, 1)).all():
        raise InputError(f"{NEEDED}; the second column has other values than 0 and 1.")
    return pairs
