"""JSON is parsed with limits and compared with a schema."""

import json

import numpy as np
import pytest

from sparsepath.errors import InputError
from sparsepath.system.json_files import DEEPEST, canonical, check, parse


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"[NaN]", "not a finite number"),
        (b"[-Infinity]", "not a finite number"),
        (b"[1e400]", "not a finite number"),
        (b"[1" + b"0" * 5000 + b"]", "a number of 5001 characters"),
        (b"[0." + b"0" * 5000 + b"]", "a number of 5002 characters"),
        (b"[" * 100_000, "nested more than"),
        (b'{"a":' * 100_000, "nested more than"),
        (b"\xff", "not UTF-8"),
        (b'["\\ud800"]', "incomplete surrogate pair"),
        (b'["\\udc00\\ud800"]', "incomplete surrogate pair"),
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_limits(raw, said):
    with pytest.raises(InputError, match=said):
        parse(raw)


def test_what_is_within_the_limits():
    deep = "[" * DEEPEST + "]" * DEEPEST
    assert parse(deep.encode()) == json.loads(deep)
    names = ["[" * 200, "1" * 200, 'a "[[" \\', "\\ud800", "😀", "\x00", "é"]
    for text in (canonical(names), json.dumps(names, ensure_ascii=False)):
        assert parse(text.encode()) == names
    values = np.random.default_rng(0).standard_normal(100) * 10.0 ** np.arange(-150, 150, 3)
    assert parse(canonical(values.tolist()).encode()) == values.tolist()
    with pytest.raises(InputError, match="incomplete surrogate pair"):
        canonical("\udc80")


@pytest.mark.parametrize(
    ("value", "schema", "said"),
    [
        (True, int, "content must be a whole number, not True"),
        (2**63, int, "a whole number"),
        ("1", float, "a number, not '1'"),
        ({"a": 1}, {"a": int, "b": int}, "content lacks 'b'"),
        ({"a": 1, "c": 1}, {"a": int, "b?": int}, "has 'c', which is not part of the format"),
        ([1, [None]], [(int, [int])], r"content\[1\]\[0\] must be a whole number, not None"),
        ([1, "x"], [(float, None)], r"content\[1\] must be a number or null, not 'x'"),
        ("x", {"y", "z"}, "'y' or 'z', not 'x'"),
        ([], {"a": int}, r"content must be a record, not \[\]"),
        ("x" * 1000, [int], r"a list, not 'x{39}\.\.\."),
    ],
)
def test_what_does_not_fit_is_named(value, schema, said):
    with pytest.raises(InputError, match=said):
        check(value, schema)
