"""Every script that makes a results page runs to its end, on a plan as small as it has."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from experiments.paper_sets import available

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "experiments"
NONE: set[str] = set()
# By script: options, data sets, and what the page (or, without one, the output) holds by then.
PLANS = {
    "greedy_rls": (["--tiny"], {"australian", "german_numer"}, "greedy_rls", r"\| australian "),
    "floating_rls": (
        ["--size", "4", "--swaps", "2", "--rows", "400"],
        {"mnist"},
        "floating_rls",
        r"\d here; the paper's figure",
    ),
    "grafting": (
        ["--tiny", "--parts", "PARTS"],
        NONE,
        "grafting",
        r"\| C \| \(b\) MLP graft \| 1 \|",
    ),
    "rbf": (["--tiny"], NONE, "rbf", r"\| printed Algorithm 2 \| 0\.\d+ ± "),
    "elmfs": (["--tiny"], NONE, "elmfs", r"\{1\}, \{2,3\}, \{1,2,3\} \| all \| \d of 1 \| \d of 1"),
    "elmfs_claims": (["--tiny", "--seeds", "1"], NONE, "elmfs-claims", r"\| all \| \d of 1 \|"),
    "elmfs_honest": (
        ["--tiny"],
        NONE,
        "elmfs-honest",
        r"\| lognormal, 500 x 100 \| 0 \| 0\.\d+ / ",
    ),
    "grown_networks": (["--tiny"], NONE, "grown-networks", r"\| product, 500 x 20 \| 0 \| "),
    "honest": (["--tiny"], NONE, "honest", r"\| 50 x 1000 \| 15 \| \d"),
    "arena": (
        ["--tiny", "--parts", "PARTS"],
        NONE,
        "arena",
        r"\| diabetes \| 300 \| 1 \| 3\.\d+e\+03 \[\d+\] \| ",
    ),
    "coefficient_coverage": (["2"], NONE, "", r"fixed +8 intervals, [01]\.\d+ cover"),
    "false_discoveries": (["2"], NONE, "", r"\| blocks \| wide \| 0\.2 \| 0\.\d+ \|"),
    "exact_search": (["--tiny"], NONE, "", r"\| 20, independent \| 21 of 21 \|"),
    "strong_search": (["2"], NONE, "", r"\| `strong` \| \d of 2 \|"),
}


@pytest.mark.parametrize("script", PLANS)
def test_a_script_runs(script, tmp_path):
    options, needed, page, pattern = PLANS[script]
    if missing := needed - set(available()):
        pytest.skip(f"data not at hand: {', '.join(sorted(missing))}")
    given = [str(tmp_path / "parts") if option == "PARTS" else option for option in options]
    ran = subprocess.run(
        [sys.executable, SCRIPTS / f"{script}.py", *given],
        capture_output=True, text=True, check=False,
        env={
            **os.environ,
            "SPARSEPATH_PAGES": str(tmp_path),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        },
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    text = ran.stdout
    if page:
        text = (tmp_path / f"{page}.md").read_text(encoding="utf-8")
        assert text.startswith("# ")
        assert re.search(r"Made with the code of commit [0-9a-z]+ in \d+ CPU seconds\.\n$", text)
    assert re.search(pattern, text)


def test_every_script_is_run_and_made_with_the_papers():
    """Scripts are those with a main part; the Makefile names each once."""
    scripts = {
        file.stem
        for file in SCRIPTS.glob("*.py")
        if '__name__ == "__main__"' in file.read_text(encoding="utf-8")
    }
    assert scripts == set(PLANS)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    made = re.findall(r"experiments/(\w+)\.py", makefile.split("\npapers:")[1].split("\n\n")[0])
    assert sorted(made) == sorted(scripts)
    index = (ROOT / "docs" / "results" / "index.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)\.py", index.split("## Scripts")[1], re.MULTILINE)
    assert sorted(named) == sorted(scripts)


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "results").glob("*.md")), ids=lambda p: p.stem
)
def test_a_page_says_with_which_code_it_was_made(page):
    if page.stem not in ("index", "as-printed", "robustness"):
        text = page.read_text(encoding="utf-8")
        assert re.search(r"^Made with .*commit [0-9a-f]{8,}", text, re.MULTILINE)


@pytest.mark.parametrize("script", [*PLANS, "grafting_rivals"])
def test_every_search_names_its_penalty(script):
    """A page does not change with the default of the library."""
    source = ast.parse((SCRIPTS / f"{script}.py").read_text(encoding="utf-8"))
    tables = {  # names of dictionaries that hold options: their keys
        node.targets[0].id: {key.value for key in node.value.keys if key is not None}
        for node in ast.walk(source)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Dict)
        and all(isinstance(key, ast.Constant) for key in node.value.keys)
    }
    for call in (node for node in ast.walk(source) if isinstance(node, ast.Call)):
        partial = isinstance(call.func, ast.Name) and call.func.id == "partial"
        names = call.args[:1] if partial else [call.func]
        searches = ("SparseRLSRegressor", "SparseRLSClassifier", "rls_path", "random_path")
        if any(isinstance(name, ast.Name) and name.id in searches for name in names):
            known = {word.arg for word in call.keywords}
            for word in call.keywords:
                if word.arg is None and isinstance(word.value, ast.Name):
                    known |= tables.get(word.value.id, set())
            assert "alpha" in known, f"{script}.py, line {call.lineno}"
