"""Every script that makes a results page runs to its end, on a plan as small as it has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparsepath.data.paper_sets import available

ROOT = Path(__file__).resolve().parents[2]
PLANS = {
    "greedy_rls": (["--tiny"], {"australian", "german_numer"}),
    "floating_rls": (["--size", "4", "--swaps", "2", "--rows", "400"], {"mnist"}),
    "rbf": (["--minutes", "0", "--seeds", "2"], set()),
    "elmfs": (["--minutes", "0"], set()),
    "elmfs_claims": (["--seeds", "1", "--minutes", "0"], set()),
    "grafting": (["--tiny"], set()),
    "strong_search": (["2"], set()),
    "elmfs_honest": (
        ["--quick", "--seeds", "1", "--size", "2", "--only", "diabetes"],
        {"diabetes"},
    ),
}
PAGES = {"elmfs_claims": "elmfs-claims", "elmfs_honest": None, "strong_search": None}


@pytest.mark.parametrize("script", PLANS)
def test_a_script_runs(script, tmp_path):
    given, needed = PLANS[script]
    if missing := needed - set(available()):
        pytest.skip(f"data not at hand: {', '.join(sorted(missing))}")
    ran = subprocess.run(
        [sys.executable, ROOT / "experiments" / f"{script}.py", *given],
        capture_output=True, text=True, check=False,
        env={**os.environ, "SPARSEPATH_PAGES": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    page = PAGES.get(script, script)
    if page is not None:
        assert (tmp_path / f"{page}.md").read_text(encoding="utf-8").startswith("# ")
