"""Choices and numbers are those that were recorded; see ``tools/reference_fits.py``."""

import json
from pathlib import Path

import pytest
from tools.reference_fits import ITERATED, cases, record

FILE = Path(__file__).parent / "reference_fits.json"
EXACT = ("subsets", "size")

pytestmark = pytest.mark.validated


@pytest.fixture(scope="module")
def recorded():
    return json.loads(FILE.read_text())


@pytest.fixture(scope="module")
def fits(tmp_path_factory):
    return dict(cases(tmp_path_factory.mktemp("tables")))


def families(names):
    """The fits by the first word of their names."""
    out = {}
    for name in names:
        out.setdefault(name.split()[0], []).append(name)
    return out


def differences(name, here, there):
    """Which entries of a record are not those that were recorded."""
    digits = 1e-7 if name.split()[0] in ITERATED else 1e-9
    for key in there.keys() | here.keys():
        a, b = here.get(key), there.get(key)
        if key in EXACT or a is None or b is None:
            same = a == b
        else:
            largest = max((abs(v) for v in b if v is not None), default=0.0)
            same = a == pytest.approx(b, rel=digits, abs=digits * largest)
        if not same:
            yield f"{name}: {key} {a}, recorded {b}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", families(json.loads(FILE.read_text())))
def test_fits_are_those_recorded(fits, recorded, family):
    names = families(recorded)[family]
    changed = [
        text for name in names for text in differences(name, record(fits[name]), recorded[name])
    ]
    assert not changed, "\n".join(changed)


def test_every_fit_is_recorded(fits, recorded):
    assert set(fits) == set(recorded)
    assert len(recorded) >= 200


def test_a_changed_number_or_choice_is_seen(recorded):
    there = recorded["rls forward squared loo"]
    other = json.loads(json.dumps(there))
    other["errors"][1] *= 1 + 1e-8
    other["subsets"]["1"] = [0]
    assert len(list(differences("rls", other, there))) == 2
    assert not list(differences("rls", there, there))
