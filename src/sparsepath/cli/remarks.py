"""What there is to say of the data before the search."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """What there is to say of some columns."""

    columns: tuple[str, ...]  # none of them where it is about the rows or the target
    why: str  # in few words, for the card of the data
    out: bool  # whether they take no part in the search
    said: str = ""  # a sentence to print before the search; empty: nobody needs to be told
