"""Where selectors still differ from the contract: which, in what, and why."""

import pytest

from contract.every import SELECTORS
from sparsepath.rls.base import SparseRLS

OWN_RUN = "greedy RLS has a run of its own: "
DIFFER = {
    "test_an_interrupt_before_there_is_a_path_leaves_what_was_there": "it does not begin a Run",
}


def pytest_collection_modifyitems(items):
    for item in items:
        test = getattr(item, "originalname", "")
        name = getattr(item, "callspec", None) and item.callspec.params.get("name")
        if test in DIFFER and issubclass(SELECTORS.get(name, object), SparseRLS):
            reason = OWN_RUN + DIFFER[test]
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
