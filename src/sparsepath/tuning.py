"""What depends on the machine, in one record: how much of the data is taken at once, and from which
size on a faster form pays for its start.

None of it changes a choice. Tests set the fields of ``TUNING`` to send small problems through the
forms of large ones. The costs that decide on the form of a search are in ``rls/forms.py``, with
their formula.
"""

import math
import os
from dataclasses import dataclass


@dataclass(slots=True)
class Tuning:
    """Sizes in numbers of the data (not bytes) unless the name says otherwise."""

    # Rows that are taken at once
    block_numbers: int = 1 << 23  # a block smaller than this is not worth a thread
    block_rows: int = 256  # nor one of fewer rows
    tile_numbers: int = 1 << 16  # that are cast or squared: half a MiB of float64 stays in cache
    turned_late_from: int = 1 << 19  # from which a copy in another order waits until it pays
    turned_columns: int = 256  # columns, and rows at least, of a tile that is turned
    part_bytes: int = 1 << 26  # that a part of a file of numbers or of text holds
    strip_numbers: int = 1 << 20  # of candidates' columns that are looked at at once
    weighted_numbers: int = 1 << 18  # of a strip of weighted columns

    # Threads and workers
    threaded_from: int = 1 << 20  # fewer are read sooner than another thread wakes up
    thread_numbers: int = 1 << 16  # in the rows that a thread takes at once, at least
    distance_rows: int = 128  # rows between which and all others a thread takes distances at once
    workers_from: float = 1e7  # fits times squared samples: some seconds, as workers take to start

    # Compiled loops
    compiled_pass_from: int = 1 << 22  # numbers from which a compiled pass pays for its start
    native_search_up_to: int = 1 << 14  # that loops built with the package are best at
    native_numbers_up_to: int = 1 << 14  # samples up to which they give the numbers of a path
    compiled_search_from: int = 1 << 16  # and a compiled search in the fused form
    stepwise_from: int = 1 << 19  # and a search whose steps are told of, and shared out
    told_numbers: int = 1 << 26  # read between which Ctrl-C is heard and progress is told
    compiled_removals_from: int = 1 << 17  # and compiled removals

    # Gram matrices in place of the data
    gram_batch: int = 48  # columns of the Gram matrix computed at once
    first_gram_batch: int = 32  # and at first: few may be chosen at all
    gram_credit: int = 12  # passes that may be spent on batches ahead of the steps they save
    gram_columns: int = 5  # that batches would compute for every one that is needed
    gram_always: int = 1 << 22  # numbers of a Gram matrix that is made whatever the data's size
    split_gram_numbers: int = 1 << 25  # in the Gram matrices of all parts: always affordable
    read_from_cache: int = 1 << 21  # numbers that lie in a processor's cache when read again
    many_parts: int = 48  # from which each part is read by itself, not all from one product

    # Everybody, or those that bounds leave
    everyone_up_to: int = 1 << 14  # in all rows: judging everyone is quicker than bounds
    judged_by_rows: int = 1 << 27  # samples * features * splits: candidates judged from the rows
    kept_of_sparse: int = 1 << 22  # that are kept if the zeros of the data are implicit
    losses_at_once: int = 1 << 15  # in the rows that NumPy judges by a loss without bounds
    wide_from: int = 64  # features from which removals are done in the space of the samples

    # Grafting
    single_from: int = 1 << 27  # products from which single precision pays
    unread_from: int = 1 << 22  # in a dense matrix, from which it pays to leave columns unread
    products_from: int = 300  # weights of a group from which the matrix is not made


TUNING = Tuning()


def memory() -> float:
    """The bytes of memory that this process may use; infinite where nothing tells."""
    known = [math.inf]
    try:
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        import resource  # not on Windows

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        known += [limit] if limit != resource.RLIM_INFINITY else []
    except (ImportError, AttributeError, ValueError, OSError):
        pass
    return min(known)
