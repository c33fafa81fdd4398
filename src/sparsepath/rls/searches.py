"""The searches by name."""

from collections.abc import Callable

from sparsepath.rls.exact import exact
from sparsepath.rls.search import backward, floating, forward, with_swaps
from sparsepath.rls.strong import strong

TIMED = ("strong", "exact")  # those that take a time budget
EPSILON = ("forward", "floating")  # those that stop at a least gain
SEARCHES: dict[str, Callable[..., None]] = {
    "forward": forward,
    "floating": floating,
    "backward": backward,
    "swap": with_swaps,
    "strong": strong,
    "exact": exact,
}
METHODS = {  # as a path names them
    "forward": "greedy-rls",
    "floating": "floating-rls",
    "backward": "backward-rls",
    "swap": "swap-rls",
    "strong": "strong-rls",
    "exact": "exact-rls",
}
