"""What there is to say of the data before the search."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """What there is to say of some columns.

    Attributes
    ----------
    columns : tuple of str
        None where it is about the rows or the target.
    why : str
        In few words, for the card of the data.
    out : bool
        Whether they take no part in the search.
    said : str
        A sentence to print before the search; empty: nobody needs to be told.
    """

    columns: tuple[str, ...]
    why: str
    out: bool
    said: str = ""
