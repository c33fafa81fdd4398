"""The run of a fit: results, callbacks, interruption, choice of the size."""

from sparsepath.base.callbacks import Callback, CallbackSupportMixin
from sparsepath.base.fitting import document_fit, fitting, in_memory, refuse_source
from sparsepath.base.run import Call, Found, Run, open_fit, seed_of
from sparsepath.base.trail import Trail, gained_nothing
from sparsepath.data.fit_arguments import Given
from sparsepath.models.predictors import Formula, Frozen, Gaussian, Linear, Predictor, Tanh
from sparsepath.system.interrupts import Stop

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
    "document_fit",
    "fitting",
    "gained_nothing",
    "in_memory",
    "open_fit",
    "refuse_source",
    "seed_of",
]
