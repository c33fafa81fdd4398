"""The command line as a program: start, help, signals, pipes, the demo."""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from sparsepath import SelectionPath, __version__
from sparsepath.cli import Signals, compare

from .conftest import Run, program

HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "joblib",
)


def test_help_is_light_and_says_it_all() -> None:
    script = (
        "import sys; from sparsepath.cli import main; "
        "codes = [main(['--help']), main(['select', '--help']), main(['--version']), main([])]; "
        f"print(codes, [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0] []", done.stderr
    for word in ("select", "predict", "demo", "--alpha", "swap-rls", f"sparsepath {__version__}"):
        assert word in done.stdout


def test_console_script(files: dict[str, Path], tmp_path: Path) -> None:
    script = shutil.which("sparsepath", path=str(Path(sys.executable).parent))
    if script is None:
        pytest.skip("the console script is not installed beside this Python")
    command = [script, "select", str(files["csv"]), "--target", "progression", "--json"]
    command += ["--method", "greedy-rls"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["chosen"]["features"][:3] == ["bmi", "s5", "bp"]
    assert json.loads(done.stdout)["honest"]["validation"] == "10-fold"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes that break, no SIGINT to a child")
def test_a_reader_that_leaves_is_no_error(files: dict[str, Path]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "sparsepath", "select", str(files["csv"])]
    done = subprocess.run(
        [*command, "--target", "progression", "--method", "greedy-rls", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert (done.stderr, done.returncode) == ("", 0)


def _has_moves(checkpoint: Path) -> bool:
    return checkpoint.exists() and bool(json.loads(checkpoint.read_text())["moves"])


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a child")
@pytest.mark.parametrize(
    ("sent", "code", "told"), [(signal.SIGINT, 130, "--json"), (signal.SIGTERM, 143, "--quiet")]
)
def test_interrupt_keeps_the_path_so_far(
    tmp_path: Path, sent: signal.Signals, code: int, told: str
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 500))
    np.savez(tmp_path / "long.npz", X=X, y=X @ rng.normal(size=500))
    keep, out = tmp_path / "keep.json", tmp_path / "out"
    command = [sys.executable, "-m", "sparsepath", "select", str(tmp_path / "long.npz")]
    command += ["--target", "y", "--method", "swap-rls", "--max-features", "400"]
    command += ["--checkpoint", str(keep), "--out", str(out), told]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not _has_moves(keep) and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(sent)
        stdout, stderr = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == code, stderr
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    path = SelectionPath.load(out / "path.json")
    assert 0 < path.sizes[-1] < 400
    assert not path.complete
    if told == "--json":
        found = path.to_dict()
        assert found["data"].pop("model_sha256")
        told_path = json.loads(stdout)["path"]
        assert told_path == {name: found[name] for name in told_path}
    else:
        assert f"interrupted when the path had the sizes 0-{path.sizes[-1]}." in stdout


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_not_lost_in_a_call_back_from_c(sent: signal.Signals, capsys) -> None:
    heard = []

    def interrupted() -> None:
        signal.raise_signal(sent)
        heard.append("too late")  # the exception comes before

    from_c = ctypes.CFUNCTYPE(None)(interrupted)
    with pytest.raises(KeyboardInterrupt), Signals() as signals:  # noqa: PT012
        from_c()
        for _ in range(1000):  # it comes between two statements of Python
            time.sleep(0.01)
        heard.append("not at all")
    assert heard == []
    assert signals.terminated == (sent == signal.SIGTERM)
    assert capsys.readouterr().err == ""


def test_names_that_a_narrow_encoding_lacks(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * i % 7},{i % 5}.5\n" for i in range(20))
    (tmp_path / "names.csv").write_text("größe,b,y\n" + rows, encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = program("select", tmp_path / "names.csv", "--target", "y", env=environment)
    assert done.code == 0, done.err


class Outline(HTMLParser):
    """The open elements must close, and nothing may come from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = [value or "" for key, value in attrs if key in ("src", "href")]
        self.sources += [value for value in named if not value.startswith("#")]
        if tag not in ("meta", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_demo_writes_plots_and_a_page(run: Run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("demo")
    assert done.code == 0
    assert "bmi" in done.out
    assert "Selected: 3 of 10 features" in done.out
    assert "The same data by several methods" in done.out
    for method in compare.DEMO_METHODS:
        assert f"\n {method} " in done.out
    for name in (
        "index.html",
        "compare.html",
        "path.png",
        "curve.png",
        "model.json",
        "diabetes.csv",
    ):
        assert name in done.out
        assert (tmp_path / "demo-result" / name).stat().st_size > 0
    text = (tmp_path / "demo-result" / "index.html").read_text(encoding="utf-8")
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert outline.sources == []
    assert set(re.findall(r"https?://[^\"]*", text)) == {"http://www.w3.org/2000/svg"}, "a name"
    lines = tomllib.loads((tmp_path / "demo-result" / "run.toml").read_text())["python"]
    exec("\n".join(lines), known := {})
    assert {*known["model"].get_feature_names_out()} == {"bmi", "s5", "bp"}
    [command] = re.findall(r"Next, try: sparsepath (.*)", done.out)
    assert run(*command.split()).code == 0


def test_the_page_escapes_names(tmp_path: Path, run: Run, monkeypatch) -> None:
    data = compare._diabetes()
    names = ["<script>alert(1)</script>", *data.names[1:]]
    changed = type(data)(data.X, data.y, names, None, data.source)
    monkeypatch.setattr(compare, "_diabetes", lambda: changed)
    assert run("demo", "--out", tmp_path / "a&b").code == 0
    text = (tmp_path / "a&b" / "index.html").read_text(encoding="utf-8")
    assert text.count("<script") == 3, "its own"
    assert "u003cscript>alert(1)" in text
