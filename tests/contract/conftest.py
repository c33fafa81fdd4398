"""Where selectors still differ from the contract: which, in what, and why."""

import pytest

from contract.every import SELECTORS
from sparsepath.rls.base import SparseRLS

OWN_RUN = "greedy RLS has a run of its own: "
DIFFER = {
    "test_a_true_value_ends_the_work_and_the_path_is_kept": "a path that was stopped is complete",
    "test_an_interrupt_before_there_is_a_path_leaves_what_was_there": "it does not begin a Run",
    "test_ctrl_c_keeps_the_path_so_far": "its warnings point at a line of ours",
    "test_sparse_data_give_what_dense_data_give": "its fingerprint depends on the storage",
    "test_the_callback_sees_growing_paths_and_changes_nothing": "a path so far tells no data",
    "test_the_fingerprint_is_of_features_target_and_layout_free": "its fingerprint leaves out y",
}


def pytest_collection_modifyitems(items):
    for item in items:
        test = getattr(item, "originalname", "")
        name = getattr(item, "callspec", None) and item.callspec.params.get("name")
        if test in DIFFER and issubclass(SELECTORS.get(name, object), SparseRLS):
            reason = OWN_RUN + DIFFER[test]
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
