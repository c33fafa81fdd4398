"""Callbacks of scikit-learn's kind for the tests of all rooms."""

from importlib.util import find_spec

import pytest

listened = pytest.mark.skipif(
    find_spec("sklearn.callback") is None, reason="scikit-learn has callbacks from 1.9"
)


class Listener:
    """A callback of scikit-learn's kind that writes down what it is told."""

    def __init__(self, stop_at=None):
        self.events, self.models, self.stop_at = [], [], stop_at

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append("begin")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.events.append("end")
        if fitted_estimator is not None:
            self.models.append(fitted_estimator)
        return self.stop_at is not None and len(self.models) >= self.stop_at
