"""Names made when asked for are those of a plain list; layouts never take a neighbour."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsepath import SelectionPath, Step
from sparsepath.data.layout import BY_NAME, BY_NUMBER, BY_PLACE, Layout, same_columns
from sparsepath.data.names import NumberedNames
from sparsepath.errors import InputError

FILE = Path("new.file")


@given(st.integers(0, 12), st.integers(0, 2), st.sets(st.integers(-1, 16)))
def test_as_a_list(count: int, first: int, without: set[int]) -> None:
    plain = [f"x{i}" for i in range(first, first + count) if i not in without]
    names = NumberedNames(count, first, without)
    assert (len(names), list(names), names[:], names[1:3]) == (
        len(plain),
        plain,
        tuple(plain),
        tuple(plain[1:3]),
    )
    assert names == plain
    assert tuple(plain) == names
    assert names != [*plain, "more"]
    for place in range(-len(plain), len(plain)):
        assert names[place] == plain[place]
    for place in (len(plain), -len(plain) - 1):
        with pytest.raises(IndexError):
            names[place]
    for name in [*(f"x{i}" for i in range(16)), "x", "x01", "y1", "x-1", 3]:
        assert (name in names) == (name in plain)
        if name in plain:
            assert names.index(name) == plain.index(name)
        else:
            with pytest.raises(ValueError, match="not among"):
                names.index(name)


def test_a_path_of_very_many_features() -> None:
    n = 10**12  # a list of these names would never end
    path = SelectionPath([Step((), 2.0), Step((n - 1,), 1.0)], n_features=n)
    assert path.names(1) == (f"x{n - 1}",)
    record = path.to_dict()
    assert record["feature_names"] is None
    assert SelectionPath.from_dict(record) == path


def test_deeply_nested_json(tmp_path: Path) -> None:
    file = tmp_path / "path.json"
    for text in ("[" * 100_000, '{"a":' * 100_000):
        file.write_text(text)
        with pytest.raises(OSError, match="nested more than 64 levels deep"):
            SelectionPath.load(file)


USED = {0: ["x0", "x3"], 1: ["x1", "x4"]}


@pytest.mark.parametrize(
    ("model", "file", "expected"),
    [
        # svmlight on svmlight: counted alike, or refused
        (Layout(BY_NUMBER, 5, 1), Layout(BY_NUMBER, 5, 1), ["x1", "x4"]),
        (Layout(BY_NUMBER, 5, 1), Layout(BY_NUMBER, 9, 1), ["x1", "x4"]),
        (Layout(BY_NUMBER, 5, 1), Layout(BY_NUMBER, 5, 0), "counts its columns from 0"),
        (Layout(BY_NUMBER, 5, 0), Layout(BY_NUMBER, 5, 0), ["x0", "x3"]),
        (Layout(BY_NUMBER, 5, 0), Layout(BY_NUMBER, 4, 1), ["x0", "x3"]),  # column 0 is empty
        (Layout(BY_NUMBER, 5, 0), Layout(BY_NUMBER, 5, 1), "seems to count from 1"),
        # svmlight and arrays: by place, if there are as many
        (Layout(BY_NUMBER, 5, 1), Layout(BY_PLACE, 5), ["x0", "x3"]),
        (Layout(BY_NUMBER, 5, 0), Layout(BY_PLACE, 5), ["x0", "x3"]),
        (
            Layout(BY_NUMBER, 5, 1),
            Layout(BY_PLACE, 6),
            "6 columns without names, and 5 are expected",
        ),
        (Layout(BY_PLACE, 5), Layout(BY_NUMBER, 5, 0), ["x0", "x3"]),
        (Layout(BY_PLACE, 5), Layout(BY_NUMBER, 5, 1), ["x1", "x4"]),
        (Layout(BY_PLACE, 5), Layout(BY_NUMBER, 4, 1), "reliably"),
        (Layout(BY_PLACE, 5), Layout(BY_NUMBER, 6, 0), "reliably"),
        (Layout(BY_PLACE, 6, target=5), Layout(BY_NUMBER, 5, 1), ["x1", "x4"]),
        (Layout(BY_PLACE, 6, target=1), Layout(BY_NUMBER, 5, 1), "reliably"),
        # arrays on arrays: as many columns, or without the target if it came last
        (Layout(BY_PLACE, 6, target=5), Layout(BY_PLACE, 6), ["x0", "x3"]),
        (Layout(BY_PLACE, 6, target=5), Layout(BY_PLACE, 5), ["x0", "x3"]),
        (
            Layout(BY_PLACE, 6, target=5),
            Layout(BY_PLACE, 7),
            "6, or 5 without the target are expected",
        ),
        (Layout(BY_PLACE, 6, target=1), Layout(BY_PLACE, 5), "the target in column x1"),
        (Layout(BY_PLACE, 5), Layout(BY_PLACE, 6), "6 columns without names, and 5 are expected"),
        # names: what the columns were called here, from the first to the last
        (Layout(BY_NUMBER, 5, 1), Layout(BY_NAME, 6, 1), ["x1", "x4"]),
        (Layout(BY_NUMBER, 5, 1), Layout(BY_NAME, 5, 0), "lacks the column 'x5'"),
        (Layout(BY_PLACE, 5), Layout(BY_NAME, 5, 1), "lacks the column 'x0'"),
        (Layout(BY_NAME, 5), Layout(BY_PLACE, 5), "identifies its columns by name"),
        (Layout(BY_NAME, 5), Layout(BY_NUMBER, 5), "identifies its columns by name"),
    ],
)
def test_which_column_is_which(model: Layout, file: Layout, expected: list[str] | str) -> None:
    known = NumberedNames(file.columns, file.first)
    used = USED[model.first]
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            same_columns(FILE, model, used, file, known)
    else:
        assert same_columns(FILE, model, used, file, known) == expected
