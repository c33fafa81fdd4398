"""Run tests of the compiled core on a build with address and undefined-behaviour sanitizers.

    python tools/sanitize.py                        # the tests listed below
    python tools/sanitize.py tests/rls/test_batch.py # these tests, or any arguments of pytest

The core is built into an environment of its own (build/sanitize); other packages are borrowed from
this one. Leaks are not counted: Python itself frees little at its end.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "sanitize"
TESTS = [
    "tests/core",
    "tests/data/test_medians.py",
    "tests/elm/test_network.py",
    "tests/grafting/test_squares.py",
    "tests/information/test_ties.py",
    "tests/rbf/test_solvers.py",
    "tests/rls/test_counting.py",
    "tests/rls/test_elimination.py",
    "tests/rls/test_exact_search.py",
    "tests/rls/test_fold_engines.py",
    "tests/rls/test_in_memory.py",
    "tests/rls/test_batch.py",
    "tests/rls/test_posted.py",
    "tests/rls/test_ranking.py",
]
# Most of these tests' time goes to references in Python.
LEFT_OUT = "not many_exchanges and not printed_schedule and not every_point_of_a_path"


def compiler() -> list[str]:
    """The C++ compiler, if it can link what the sanitizers need; otherwise nothing."""
    named = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or ""
    command = shlex.split(named)
    if not command or sys.platform != "linux":
        return []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.cpp"
        source.write_text("int main() { return 0; }\n", "utf-8")
        link = [*command, "-fsanitize=address,undefined", source, "-o", Path(folder) / "empty"]
        return command if subprocess.run(link, capture_output=True).returncode == 0 else []


def preloaded(command: list[str]) -> str:
    """Libraries that must be loaded before Python: the sanitizer, and what throws exceptions."""
    names = ["libasan.so", "libstdc++.so"]
    paths = [
        subprocess.run(
            [*command, f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in names
    ]
    return " ".join(str(Path(path).resolve()) for path in paths)


def main() -> None:
    command = compiler()
    if not command:
        print("No sanitizers: the C++ compiler cannot link them (on Debian: apt install g++).")
        return
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    venv = FOLDER / "venv"
    if not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    site = next(venv.rglob("site-packages"))
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    pip = [sys.executable, "-m", "pip", "--python", venv / "bin" / "python", "install", "--quiet"]
    options = ["--no-deps", "--no-build-isolation", "--force-reinstall"]
    build = ["-C", f"build-dir={FOLDER / 'cmake'}", "-C", "cmake.define.SPARSEPATH_SANITIZE=ON"]
    build += ["-C", "cmake.build-type=RelWithDebInfo"]
    subprocess.run([*pip, *options, *build, ROOT], check=True, env=environment)
    environment |= {
        "LD_PRELOAD": preloaded(command),
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    pytest = [venv / "bin" / "python", "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal"]
    tests = sys.argv[1:] or [*TESTS, "-k", LEFT_OUT]
    sys.exit(subprocess.run([*pytest, *tests], cwd=ROOT, env=environment).returncode)


if __name__ == "__main__":
    main()
