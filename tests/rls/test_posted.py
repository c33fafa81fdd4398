"""Blocks behind a post office: same choices, few readings of X, letters of a fixed size."""

from itertools import pairwise

import numpy as np
import pytest

from problems import make
from rls.comparing import design_of, search
from rls.posted import Post, PostedBlock
from sparsepath.rls.design import Design

LOSSES = ["squared", "absolute", "zero_one"]


def posted(X, weights, edges):
    blocks = [PostedBlock(X, a, b) for a, b in pairwise(edges)]
    return Design(blocks, weights, Post())


@pytest.mark.parametrize("how", ["forward", "floating", "swap"])
@pytest.mark.parametrize("loss", LOSSES)
def test_blocks_known_by_letter_make_the_same_choices(loss, how):
    case = make("tall", m=60, n=12, seed=5, weighted=True, classification=loss == "zero_one")
    given = {"loss": loss, "form": "passes", "search": how}
    expected = search(design_of(case.X, case.sw, "three"), case.Y, 0.5, 5, **given)
    design = posted(np.asfortranarray(case.X), case.sw, [0, 20, 40, 60])
    trail = search(design, case.Y, 0.5, 5, **given)
    assert [(m.action, m.feature, m.error) for m in trail.moves] == [
        (m.action, m.feature, m.error) for m in expected.moves
    ]
    assert design.threads.letters > 0


def per_step(m, steps=8):
    """Readings of X and bytes sent and received per step, beginnings left out."""
    case = make("tall", m=m, n=40, seed=2)
    design = posted(case.X, np.ones(m), [0, m // 2, m])
    post, seen = design.threads, []

    def note(trail):
        passes = sum(block.passes for block in design.blocks) / len(design.blocks)
        seen.append((passes, post.sent, post.received))

    search(design, case.Y, 1.0, steps, form="passes", watch=note)
    return np.diff(seen, axis=0)[1:]


def test_a_step_reads_the_data_once_at_most_and_sends_the_same_for_any_number_of_rows():
    few, many = per_step(2_000), per_step(20_000)
    # Products of all columns are known from the beginning; the rest are columns of candidates.
    assert np.all(many[:, 0] <= 1.75)
    assert np.all(many[:, 1:].mean(0) <= 1.2 * few[:, 1:].mean(0))
