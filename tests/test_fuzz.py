"""A slice of the fuzzer of tools/fuzz.py, and that it finds what it looks for."""

import importlib.util
import sys
from pathlib import Path

import pytest

import sparsepath.cli

TOOL = Path(__file__).parents[1] / "tools" / "fuzz.py"
SLICES, CASES = 20, 25


@pytest.fixture(scope="module")
def fuzz():
    spec = importlib.util.spec_from_file_location("fuzz", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def base(fuzz, tmp_path_factory):
    return fuzz.make_base(tmp_path_factory.mktemp("base"))


@pytest.mark.parametrize("part", range(SLICES))
def test_every_case_ends_well(fuzz, base, tmp_path, part):
    seeds = range(part * CASES, (part + 1) * CASES)
    ended = list(fuzz.run_seeds(seeds, base, tmp_path))
    assert not [f"{seed}: {fault}" for seed, _, fault in ended if fault]
    assert len(ended) == CASES


def test_a_case_is_made_from_its_seed_alone(fuzz, base, tmp_path):
    for seed in range(40):
        made = []
        for _ in range(2):
            folder = tmp_path / str(seed)
            folder.mkdir()
            case = fuzz.make_case(seed, base, folder)
            made.append((case.arguments, case.stdin, case.files))
            fuzz.shutil.rmtree(folder)
        assert made[0] == made[1], seed


def failing(arguments):
    raise ZeroDivisionError("division by zero")


def interrupted(arguments):
    return 130


def talkative(arguments):
    print("Error: one.\nError: two.", file=sys.stderr)
    return 2


def tracing(arguments):
    print("Traceback (most recent call last):\n...", file=sys.stderr)
    return 0


def warning(arguments):
    print("/a/b.py:12: RuntimeWarning: overflow", file=sys.stderr)
    return 0


def silent(arguments):
    return 2


def damaging(arguments):
    Path(arguments[1]).write_text("")
    return 0


def leaving(arguments):
    Path(".out.part").touch()
    return 0


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (failing, "traceback: ZeroDivisionError"),
        (interrupted, "exit code 130"),
        (talkative, "code 2 without one sentence"),
        (tracing, "trace on stderr"),
        (warning, "trace on stderr"),
        (silent, "code 2 without one sentence"),
        (damaging, "changed or removed data.csv"),
        (leaving, "left .out.part"),
    ],
)
def test_faults_are_found(fuzz, tmp_path, monkeypatch, program, fault):
    monkeypatch.setattr(sparsepath.cli, "main", program)
    (tmp_path / "data.csv").write_text("a,y\n1,2\n")
    case = fuzz.Case(0, tmp_path, ["select", str(tmp_path / "data.csv")])
    assert fuzz.fault_of(case)[1].startswith(fault)


def test_a_case_that_ends_its_process_is_a_fault(fuzz, tmp_path, monkeypatch):
    """The cases after it are run by another process."""
    script = tmp_path / "worker.py"
    script.write_text(
        "import os, signal, sys\n"
        "low, high, log = int(sys.argv[2]), int(sys.argv[3]), sys.argv[5] + '/log-0.txt'\n"
        "done = sum(1 for _ in open(log)) if os.path.exists(log) else 0\n"
        "for seed in range(low + done, high):\n"
        "    if seed == 2:\n"
        "        os.kill(os.getpid(), signal.SIGPROF)\n"
        "    open(log, 'a').write(f'{seed}\\t0\\t\\n')\n"
    )
    monkeypatch.setattr(fuzz, "__file__", str(script))
    fuzz.watch(0, 5, tmp_path)
    counts, faults = fuzz.summary(tmp_path)
    assert counts == {"done": 4, "fault": 1}
    assert faults == ["2: process: more than 60 s of CPU"]


def test_a_run_that_is_stopped_records_no_fault(fuzz, tmp_path, monkeypatch):
    monkeypatch.setattr(sparsepath.cli, "main", lambda arguments: 143)
    with pytest.raises(SystemExit):
        fuzz.fault_of(fuzz.Case(0, tmp_path, ["select", "data.csv"]))
    script = tmp_path / "worker.py"
    script.write_text("import sys\nsys.exit(143)\n")
    monkeypatch.setattr(fuzz, "__file__", str(script))
    with pytest.raises(SystemExit):
        fuzz.watch(0, 5, tmp_path)
    assert fuzz.summary(tmp_path)[1] == []
