"""Hypothesis profiles: the usual one repeats itself exactly, ``thorough`` looks much further.

``pytest --hypothesis-profile=thorough`` draws other and thirty times as many problems each time.

Tests of searches do without the default validation, which repeats each of them ten times: for them
no number of samples is enough for it. Tests of validation ask for it.

What draws from NumPy's global generator, as scikit-learn does without a seed, repeats itself too.

Ctrl-C is taken even where the tests run in the background, whose processes are born deaf to it:
children of a process that listens are born listening.
"""

import os
import signal
import tempfile

import numpy as np
from hypothesis import HealthCheck, settings

from sparsepath.assessment import out_of_sample, validation

signal.signal(signal.SIGINT, signal.default_int_handler)
_CACHE = tempfile.TemporaryDirectory(prefix="sparsepath-cache-")
os.environ["SPARSEPATH_CACHE"] = _CACHE.name  # not that of the user

settings.register_profile(
    "usual",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "thorough", parent=settings.get_profile("usual"), derandomize=False, print_blob=True
)
settings.load_profile("usual")


def pytest_runtest_setup(item):
    np.random.seed(0)  # noqa: NPY002
    if item.get_closest_marker("validated") is None:
        validation.FEWEST = np.inf


def pytest_runtest_teardown(item):
    validation.FEWEST = out_of_sample.FEWEST
