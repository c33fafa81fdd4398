"""One run for every fit: what a search leaves, who is told, how it ends, which size is used."""

from sparsepath.running.callbacks import Callback, CallbackSupportMixin, fitting
from sparsepath.running.predictors import Frozen, Linear, Predictor
from sparsepath.running.record import Call, Given, seed_of
from sparsepath.running.run import Found, Run, Validate
from sparsepath.running.trail import Stop, Trail

__all__ = [
    "Call",
    "Callback",
    "CallbackSupportMixin",
    "Found",
    "Frozen",
    "Given",
    "Linear",
    "Predictor",
    "Run",
    "Stop",
    "Trail",
    "Validate",
    "fitting",
    "seed_of",
]
