"""One run for every fit: what a search leaves, who is told, how it ends, which size is used."""

from sparsepath.predictors import Formula, Frozen, Gaussian, Linear, Predictor, Tanh
from sparsepath.running.callbacks import Callback, CallbackSupportMixin
from sparsepath.running.fitting import explained, fitting
from sparsepath.running.run import Call, Found, Given, Run, Validate, opened, seed_of
from sparsepath.running.trail import Stop, Trail

__all__ = [
    "Call",
    "Callback",
    "CallbackSupportMixin",
    "Formula",
    "Found",
    "Frozen",
    "Gaussian",
    "Given",
    "Linear",
    "Predictor",
    "Run",
    "Stop",
    "Tanh",
    "Trail",
    "Validate",
    "explained",
    "fitting",
    "opened",
    "seed_of",
]
