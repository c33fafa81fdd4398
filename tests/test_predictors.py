"""Small models are the same after JSON; what is no model is refused."""

import json
import subprocess
import sys

import numpy as np
import pytest

from sparsepath import InputError
from sparsepath.base import Linear, Predictor

MODEL = Linear(np.array([2, 0]), np.array([[0.1, np.inf], [1 / 3, -0.0]]), np.array([1e-300, 5.0]))


def test_every_bit_comes_back():
    again = Predictor.from_dict(json.loads(json.dumps(MODEL.to_dict(), allow_nan=False)))
    assert type(again) is Linear
    for name in ("columns", "coef", "intercept"):
        one, other = getattr(MODEL, name), getattr(again, name)
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_empty_arrays_keep_their_shapes():
    model = Linear(np.empty(0, dtype=np.intp), np.empty((0, 3)), np.zeros(3))
    assert Predictor.from_dict(model.to_dict()).predict(np.ones((4, 2))).shape == (4, 3)


@pytest.mark.parametrize("kind", ["", "os.system", "elm.Nothing", "a.b.c", "nowhere.Linear"])
def test_other_kinds_are_refused(kind):
    with pytest.raises(InputError, match="unknown kind of model"):
        Predictor.from_dict({**MODEL.to_dict(), "kind": kind})


def test_damage_is_told():
    record = MODEL.to_dict()
    record["coef"]["shape"] = [3, 3]
    with pytest.raises(InputError, match="damaged"):
        Predictor.from_dict(record)
    del record["coef"]
    with pytest.raises(InputError, match="damaged"):
        Predictor.from_dict(record)


def test_a_model_is_read_without_its_room_loaded():
    from sparsepath.elm.network import Machine, Neurons

    neurons = Neurons(np.ones((2, 1)), np.zeros(2))
    one = np.ones(1)
    model = Machine(np.array([1]), 0 * one, one, neurons, np.ones((2, 1)), one)
    program = (
        "import json, sys; from sparsepath.base import Predictor; import numpy as np; "
        "model = Predictor.from_dict(json.loads(sys.argv[1])); "
        "print(model.predict(np.ones((1, 2)))[0, 0])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program, json.dumps(model.to_dict())],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert float(shown) == model.predict(np.ones((1, 2)))[0, 0]
