"""Every place of a JSON record, replaced by what does not belong there."""

import copy

WRONG = (None, True, -1, 10**9, 2**70, 1.5, "", "inf", [], [[1]], {}, {"number": "inf"})
ABSENT = object()


def places(value, at=()):
    """The way to every value; of long lists to the first three."""
    yield at
    inside = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value[:3]) if isinstance(value, list) else inside
    for key, item in inside:
        yield from places(item, (*at, key))


def changed(record, at, new):
    """A copy with another value at one place, or without that place."""
    made = copy.deepcopy(record)
    *way, last = at
    here = made
    for key in way:
        here = here[key]
    if new is ABSENT:
        del here[last]
    else:
        here[last] = new
    return made


def damaged(record, rng, count):
    """So many damaged copies."""
    every = [at for at in places(record) if at]
    for _ in range(count):
        new = [*WRONG, ABSENT][rng.integers(len(WRONG) + 1)]
        yield changed(record, every[rng.integers(len(every))], new)
