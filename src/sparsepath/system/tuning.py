"""Machine-dependent settings: block sizes, and the data sizes from which faster methods pay off.

They never change a result. Tests change the fields of ``TUNING`` to run small problems through code
for large ones. ``rls/engines.py`` has the cost constants that select an engine.
"""

import math
import os
from dataclasses import dataclass


@dataclass(slots=True)
class Tuning:
    """Sizes in numbers of values (not bytes), unless the name says otherwise."""

    # Rows that are taken at once
    block_numbers: int = 1 << 23  # a block smaller than this is not worth a thread
    block_rows: int = 256  # nor one of fewer rows
    tile_numbers: int = 1 << 16  # that are cast or squared: half a MiB of float64 stays in cache
    turned_from: int = 1 << 16  # from which a matrix is turned in tiles
    narrow_from: int = 1 << 19  # from which a copy is kept as float32 if that is exact
    turned_columns: int = 256  # columns, and rows at least, of a tile that is turned
    part_bytes: int = 1 << 26  # that a part of a file of numbers or of text holds
    strip_numbers: int = 1 << 20  # of candidates' columns that are looked at at once
    weighted_numbers: int = 1 << 18  # of a strip of weighted columns

    # Threads and workers
    threaded_from: int = 1 << 20  # fewer are read sooner than another thread wakes up
    shared_from: int = 1 << 18  # in the rows in memory, from which threads share a step
    thread_numbers: int = 1 << 16  # in the rows that a thread takes at once, at least
    workers_from: float = 1e7  # fits times squared samples: some seconds, as workers take to start

    # Compiled loops
    compiled_pass_from: int = 1 << 10  # numbers from which a compiled pass pays for its start
    told_numbers: int = 1 << 26  # read between which Ctrl-C is heard and progress is told

    # Gram matrices in place of the data
    joint_numbers: int = 1 << 25  # in the arrays of paths that go side by side
    split_gram_numbers: int = 1 << 25  # in the Gram matrices of all parts: always affordable
    read_from_cache: int = 1 << 21  # numbers that lie in a processor's cache when read again
    many_parts: int = 48  # from which each part is read by itself, not all from one product

    # Everybody, or those that bounds leave
    judged_by_rows: int = 1 << 27  # samples * features * splits: candidates judged from the rows
    kept_of_sparse: int = 1 << 22  # that are kept if the zeros of the data are implicit
    wide_from: int = 64  # features from which removals are done in the space of the samples

    # Grafting
    unread_from: int = 1 << 22  # in a dense matrix, from which it pays to leave columns unread
    products_from: int = 300  # weights of a group from which the matrix is not made


TUNING = Tuning()


def memory() -> float:
    """Return the bytes of memory available to this process; infinity if unknown."""
    known = [math.inf]
    try:
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        import resource  # not on Windows

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        known += [limit] if limit != resource.RLIM_INFINITY else []
    except (ImportError, AttributeError, ValueError, OSError):
        pass
    return min(known)
