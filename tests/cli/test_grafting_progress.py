"""``sparsepath select`` with grafting: progress, Ctrl-C, threads."""

import io
import json
import sys
import time
from typing import Any

import joblib
import pytest
from sklearn.datasets import load_diabetes

from sparsepath import GraftingRegressorCV, SelectionPath
from sparsepath.cli import output

from .conftest import Run


@pytest.mark.parametrize(
    ("options", "total"),
    [("--method grafting --cv 4", 34), ("--method grafting --l0 10", 35),
     ("--method grafting --l1 1 --l0 1", None), ("--method mlp-grafting --max-hidden 2", None)],
)  # fmt: skip
def test_grafting_tells_its_steps(run: Run, files, monkeypatch, options, total) -> None:
    bars = []

    class Seen(output.ProgressBar):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.shown, self.calls = True, 0
            bars.append(self)

        def __enter__(self) -> Any:
            return self

        def callback(self, path: SelectionPath) -> None:
            self.calls += 1

    monkeypatch.setattr("sparsepath.cli.select.ProgressBar", Seen)
    done = run("select", files["csv"], "--target", "progression", *options.split())
    assert done.code == 0, done.err
    [bar] = bars
    assert (bar.total, bar.unit) == (total, "steps")
    assert bar.calls == total if total is not None else bar.calls > 0


def test_a_bar_counts_steps(monkeypatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output, "BAR_AFTER", 0.01)
    X, y = load_diabetes(return_X_y=True)
    with output.ProgressBar(9, 1, backward=False, quiet=False, unit="steps") as watch:
        GraftingRegressorCV(n_l1s=4, cv=5, callback=watch.callback).fit(X, y)
        time.sleep(0.3)
    assert "9/9" in screen.getvalue()
    assert "steps" in screen.getvalue()


@pytest.mark.parametrize(("after", "kind"), [(3, "training"), (31, "selection"), (33, "selection")])
@pytest.mark.parametrize("choose", [None, "one_se"])
def test_interrupted_grafting_keeps_the_path(
    run: Run, files, tmp_path, monkeypatch, after, kind, choose
) -> None:
    class Impatient(output.ProgressBar):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.shown, self.calls = True, 0

        def __enter__(self) -> Any:
            return self

        def callback(self, path: SelectionPath) -> None:
            self.calls += 1
            if self.calls == after:
                raise KeyboardInterrupt

    monkeypatch.setattr("sparsepath.cli.select.ProgressBar", Impatient)
    options = (
        "--method",
        "grafting",
        "--out",
        tmp_path,
        "--model-format",
        "joblib",
        *(["--choose", choose] if choose else []),
    )
    done = run("select", files["csv"], "--target", "progression", *options)
    assert done.code == 130, done.err
    assert "interrupted" in done.err
    path = SelectionPath.load(tmp_path / "path.json")
    assert not path.complete
    assert path.error_kind == kind
    model = joblib.load(tmp_path / "model.joblib")
    assert model.callback is None
    assert len(model.selected_) > 0


def test_threads_of_grafting_change_nothing(run: Run, files) -> None:
    arguments = (
        "select",
        files["csv"],
        "--target",
        "progression",
        "--method",
        "grafting",
        "--json",
    )
    found = [
        json.loads(run(*arguments, *more).out)["path"]["steps"]
        for more in ((), ("--threads", 1), ("--threads", 2))
    ]
    assert found[0] == found[1] == found[2]
