"""The selection path: choosing, reading, saving."""

import json
import math
import os
import pickle
import subprocess
import sys
from contextlib import contextmanager

import narwhals
import numpy as np
import pytest

import sparsepath.path.selection_path
from sparsepath.errors import FileError, InputError, PathWarning
from sparsepath.path.record import file_text
from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Exchange, Move, Step

NAN, INF = math.nan, math.inf


def curve(errors, errors_se=None, sizes=None, **options):
    """A nested path with these errors at sizes 0, 1, ... or at those given."""
    sizes = range(len(errors)) if sizes is None else sizes
    errors_se = [NAN] * len(errors) if errors_se is None else errors_se
    steps = [
        Step(tuple(range(k)), e, se) for k, e, se in zip(sizes, errors, errors_se, strict=True)
    ]
    return SelectionPath(steps, n_features=max(sizes) + 2, **options)


def python(*lines):
    """What a fresh interpreter prints that has the modules of the package, but not its __init__."""
    folder = os.path.dirname(sparsepath.__file__)
    bare = "import sys; sys.modules['sparsepath'] = package = type(sys)('sparsepath')"
    found = f"package.__path__ = [{folder!r}]"
    command = [sys.executable, "-c", "\n".join([bare, found, *lines])]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def xor():
    """Frénay et al.: {0} gives way to {1, 2}, which tell nothing one by one."""
    steps = [Step((), 4.0), Step((0,), 3.0), Step((1, 2), 1.0), Step((1, 2, 0), 0.5, 0.1)]
    return SelectionPath(steps, n_features=5, feature_names=list("abcde"))


@pytest.fixture
def full():
    """A path with something in every place, the awkward floats included."""
    rng = np.random.default_rng(0)
    return SelectionPath(
        [
            Step((), INF, NAN, np.zeros((0, 2)), np.array([1 / 3, 5e-324])),
            Step((3,), 0.1, 0.01, rng.normal(size=(1, 2)), rng.normal(size=2), 0.05),
            Step((3, 0), 0.1 + 2**-55, 0.0, np.array([[NAN, INF], [-INF, -0.0]]), np.zeros(2)),
        ],
        n_features=4,
        moves=[Move("add", 3, INF, 0.5), Move("add", 0, NAN, 0.75)],
        feature_names=["é", 'a "b"', "c,d", "日"],
        criterion="ten-fold absolute error",
        error_kind="honest",
        method="floating",
        parameters={"alpha": np.float32(0.5), "cv": (1, 2), "tol": INF, "f": len, "n": None},
        data={"n_samples": np.int64(10), "n_features": 4, "fingerprint": "f00"},
        seed=7,
        complete=False,
        stopped="interrupted",
    )


class TestReading:
    def test_per_size(self, xor):
        assert xor.sizes == (0, 1, 2, 3)
        assert len(xor) == 4
        assert xor.subsets == [(), (0,), (1, 2), (1, 2, 0)]
        assert xor.subset(3) == (1, 2, 0)
        assert xor.names(3) == ("b", "c", "a")
        assert xor.error(1) == 3.0
        assert xor.error_se(3) == 0.1
        assert math.isnan(xor.error_se(1))
        assert xor.coef(1) is None
        assert xor.intercept(1) is None
        np.testing.assert_array_equal(xor.errors, [4.0, 3.0, 1.0, 0.5])
        np.testing.assert_array_equal(xor.errors_se, [NAN, NAN, NAN, 0.1])

    def test_mapping_and_any_order_give_the_same_path(self, xor):
        by_size = {len(step.subset): step for step in reversed(xor.steps)}
        assert SelectionPath(by_size, n_features=5, feature_names="abcde") == xor

    def test_default_names(self):
        assert curve([2.0, 1.0, 1.5]).names(2) == ("x0", "x1")

    def test_missing_size_names_those_there_are(self):
        path = curve([3, 2, 1, 1, 1], sizes=[0, 1, 2, 5, 9])
        with pytest.raises(InputError, match=r"size 3; the sizes are 0-2, 5, 9"):
            path.subset(3)

    def test_matrix(self, xor):
        expected = np.zeros((4, 5), dtype=bool)
        expected[[1, 2, 2, 3, 3, 3], [0, 1, 2, 0, 1, 2]] = True
        np.testing.assert_array_equal(xor.matrix(), expected, strict=True)

    def test_entering_together(self, xor):
        assert xor.entering_together() == [Exchange(size=2, entered=(1, 2), left=(0,))]
        assert curve([3, 2, 1]).entering_together() == []

    def test_repr_says_the_kind_of_error(self, xor):
        assert repr(xor) == (
            "<SelectionPath '': sizes 0-3 of 5 features, least leave-one-out squared error "
            "(selection error) 0.5 at size 3, a size is chosen by this criterion>"
        )
        text = repr(curve([2, 1], error_kind="honest", method="grafting", stopped="leverage"))
        assert text.startswith("<SelectionPath 'grafting': sizes 0-1 of 3 features")
        assert "(honest error)" in text
        assert "stopped: leverage" in text

    def test_arrays_are_copies_and_read_only(self):
        given = np.ones((1, 1))
        step = Step((0,), 1.0, coef=given)
        given[:] = 5
        assert step.coef[0, 0] == 1
        with pytest.raises(ValueError, match="read-only"):
            step.coef[0, 0] = 2

    def test_versions_are_looked_up(self):
        versions = curve([1.0]).versions
        assert set(versions) == {"python", "numpy", "scipy", "scikit-learn", "sparsepath"}
        assert versions["numpy"] == np.__version__


class TestChoose:
    #         size: 0    1    2    3    4    5
    path = curve([9.0, 5.0, 4.2, 4.0, 4.0, 4.5], [1.0, 0.9, 0.8, 0.3, 7.0, 0.2])

    @pytest.mark.parametrize(
        ("rule", "size"),
        [
            ("min", 3),  # of the equals 3 and 4 the smaller
            ("one_se", 2),  # 4.2 <= 4.0 + 0.3; the 7.0 at the other minimum is not asked
            (0, 0),
            (5, 5),
            (np.int32(4), 4),
            (0.0, 3),
            (0.05, 2),  # 4.2 <= 4.2
            (0.049, 3),
            (np.float64(0.25), 1),
            (np.float32(0.25), 1),
        ],
    )
    def test_rules(self, rule, size):
        chosen = self.path.choose(rule)
        assert chosen == size
        assert type(chosen) is int

    @pytest.mark.parametrize("rule", [1.0, 5.0, 100.0])
    def test_a_size_with_a_point_is_no_fraction(self, rule):
        with pytest.raises(InputError, match=f"a size is an integer, such as {rule:.0f}; a float"):
            self.path.choose(rule)

    def test_keywords_are_the_same(self):
        assert self.path.choose(size=4) == 4
        assert self.path.choose(within=0.25) == 1
        assert self.path.choose(within=0) == 3
        assert self.path.choose(within=1) == 1  # 5.0 <= 8.0 < 9.0
        assert self.path.choose(rule="min") == 3

    @pytest.mark.parametrize(
        "rule", ["best", "", True, np.True_, -0.1, NAN, INF, [3], 1j], ids=repr
    )
    def test_bad_rules_list_what_is_allowed(self, rule):
        with pytest.raises(InputError, match=r"allowed are 'min', 'one_se', an integer .* a float"):
            self.path.choose(rule)

    @pytest.mark.parametrize(
        "given", [{"size": 2.0}, {"size": True}, {"size": "2"}, {"within": -1}, {"within": "min"}]
    )
    def test_bad_keywords(self, given):
        with pytest.raises(InputError, match="allowed are"):
            self.path.choose(**given)

    @pytest.mark.parametrize("given", [{}, {"rule": "min", "size": 2}, {"size": 2, "within": 0.1}])
    def test_exactly_one(self, given):
        with pytest.raises(InputError, match="one of rule, size and within"):
            self.path.choose(**given)

    @pytest.mark.parametrize("size", [6, -1])
    def test_size_not_there(self, size):
        with pytest.raises(InputError, match="the sizes are 0-5"):
            self.path.choose(size)

    def test_one_se_needs_a_standard_error_only_at_the_minimum(self):
        with pytest.raises(InputError, match=r"no standard error.*use 'min'"):
            curve([3, 1, 2], [0.1, NAN, 0.1]).choose("one_se")
        assert curve([3, 1.1, 1], [NAN, NAN, 0.1]).choose("one_se") == 1

    def test_infinite_errors(self):
        path = curve([INF, 2.0, INF, 1.0, INF], [NAN, NAN, NAN, 0.5, NAN])
        assert path.choose("min") == 3
        assert path.choose("one_se") == 3
        assert path.choose(within=1.0) == 1
        assert curve([INF, INF]).choose("min") == 0

    def test_errors_below_zero_are_relaxed_upwards(self):
        path = curve([0.0, -0.5, -0.95, -1.0])  # minus a mutual information
        assert path.choose("min") == 3
        assert path.choose(0.05) == 2
        assert path.choose(0.5) == 1
        assert path.choose(within=1.0) == 0


class TestMoves:
    def test_replay(self):
        moves = [("add", 2), ("add", 0), ("add", 3), ("drop", 2), ("add", 2)]
        path = curve([1.0, 1.0, 1.0], moves=[Move(a, f, 0.0, 0.0) for a, f in moves])
        assert list(path.replay()) == [(2,), (2, 0), (2, 0, 3), (0, 3), (0, 3, 2)]

    def test_backward_search_starts_from_all(self):
        moves = [Move("drop", 1, 0.0, 0.0), Move("drop", 0, 0.0, 0.0)]
        assert list(curve([1.0, 1.0], moves=moves, start=(0, 1, 2)).replay()) == [(0, 2), (2,)]

    @pytest.mark.parametrize("moves", [[("drop", 0)], [("add", 0), ("add", 0)], [("swap", 0)]])
    def test_moves_must_fit(self, moves):
        with pytest.raises(InputError, match="does not fit the subset before it"):
            curve([1.0, 1.0], moves=[Move(a, f, 0.0, 0.0) for a, f in moves])


def test_a_step_that_was_just_found_is_as_any_other():
    given = ((2, 0), 1.5, 0.25, np.ones((2, 1)), np.zeros(1))
    found, made = Step.found(*given), Step(*given)
    assert list(vars(found)) == list(vars(made))
    paths = [SelectionPath([step], n_features=3).to_dict() for step in (found, made)]
    assert paths[0] == paths[1]
    for error, error_se in ((math.nan, 0.0), (1.0, -1.0)):
        with pytest.raises(InputError, match="error_se"):
            Step.found((), error, error_se, np.ones((0, 1)), np.zeros(1))


class TestChecks:
    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ({"subset": (1, 1)}, "different columns"),
            ({"error": NAN}, "error must be"),
            ({"error": -INF}, "error must be"),
            ({"error_se": -1.0}, "error_se"),
            ({"coef": np.ones(2)}, "len.subset. x n_targets"),
            ({"coef": np.ones((3, 1))}, "len.subset. x n_targets"),
        ],
    )
    def test_step(self, given, match):
        with pytest.raises(InputError, match=match):
            Step(**{"subset": (0, 1), "error": 1.0, **given})

    @pytest.mark.parametrize(
        ("steps", "given", "match"),
        [
            ([], {}, "one Step per size"),
            ([Step((0,), 1.0), Step((1,), 1.0)], {}, "one Step per size"),
            ({2: Step((0,), 1.0)}, {}, "each key"),
            ([Step((3,), 1.0)], {}, r"0\.\.2"),
            ([Step((-1,), 1.0)], {}, r"0\.\.2"),
            ([Step((), 1.0)], {"start": (3,)}, r"0\.\.2"),
            ([Step((), 1.0)], {"feature_names": ["a"]}, "1 feature_names"),
            ([Step((), 1.0)], {"error_kind": "true"}, "'training', 'selection', 'honest'"),
        ],
    )
    def test_path(self, steps, given, match):
        with pytest.raises(InputError, match=match):
            SelectionPath(steps, n_features=3, **given)


class TestFrames:
    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_columns(self, xor, backend):
        pytest.importorskip(backend)
        frame = xor.to_frame(backend)
        assert type(frame).__module__.split(".")[0] == backend
        read = narwhals.from_native(frame, eager_only=True).to_dict(as_series=False)
        assert read["size"] == [0, 1, 2, 3]
        assert read["error"] == [4.0, 3.0, 1.0, 0.5]
        np.testing.assert_array_equal(np.array(read["error_se"], float), [NAN, NAN, NAN, 0.1])
        assert read["error_kind"] == ["selection"] * 4
        assert read["entered"] == ["", "a", "b, c", "a"]
        assert read["left"] == ["", "", "a", ""]
        assert read["features"] == ["", "a", "b, c", "b, c, a"]
        assert len(read) == 7

    def test_unknown_backend(self, xor):
        with pytest.raises(InputError, match="'excel' is not installed or unknown"):
            xor.to_frame("excel")

    def test_backend_not_installed(self):
        said = python(
            "sys.modules['polars'] = None",
            "from sparsepath.path.selection_path import SelectionPath",
            "from sparsepath.path.steps import Step",
            "try: SelectionPath([Step((), 1.0)], n_features=1).to_frame('polars')",
            "except ValueError as error: print(repr(error))",
        )
        assert (
            said == """InputError("'polars' is not installed or unknown; """
            """use pandas, polars or pyarrow.")"""
        )


class TestFiles:
    def test_round_trip_is_exact(self, full, tmp_path):
        full.save(tmp_path / "new folder" / "path.json")
        again = SelectionPath.load(tmp_path / "new folder" / "path.json")
        assert again == full
        assert vars(again).keys() == vars(full).keys()
        for old, new in zip(full.steps, again.steps, strict=True):
            assert old.subset == new.subset
            for name in ("error", "error_se", "train_error", "coef", "intercept"):
                np.testing.assert_array_equal(getattr(new, name), getattr(old, name), strict=True)
        assert again.coef(0).shape == (0, 2)
        assert math.copysign(1, again.coef(2)[1, 1]) == -1
        assert again.moves[0] == full.moves[0]
        assert math.isnan(again.moves[1].error)
        assert again.versions == full.versions
        assert again.feature_names == ("é", 'a "b"', "c,d", "日")
        assert (again.complete, again.stopped, again.seed) == (False, "interrupted", 7)

    def test_the_json_is_standard(self, full, tmp_path):
        full.save(tmp_path / "path.json")

        def refuse(constant):
            raise AssertionError(constant)

        record = json.loads((tmp_path / "path.json").read_text("utf-8"), parse_constant=refuse)
        assert record["schema"] == "sparsepath/selection-path"
        assert record["schema_version"] == 3
        assert record["steps"][0]["error"] == "inf"
        assert record["steps"][0]["error_se"] is None
        assert record["steps"][2]["coef"] == [[None, "-inf"], ["inf", -0.0]]  # a list per target
        assert record["parameters"]["alpha"] == 0.5
        assert record["parameters"]["cv"] == [1, 2]
        assert record["parameters"]["tol"] == "inf"
        assert record["parameters"]["f"] == repr(len)
        assert record["data"]["n_samples"] == 10

    def test_equality_is_of_content(self, full):
        record = full.to_dict()
        assert SelectionPath.from_dict(record) == full
        assert pickle.loads(pickle.dumps(full)) == full
        record["steps"][1]["coef"][0][0] += 1e-9
        assert SelectionPath.from_dict(record) != full
        assert full != "a path"

    def test_no_file(self, tmp_path):
        with pytest.raises(FileError, match=r"cannot read .*none\.json: No such file"):
            SelectionPath.load(tmp_path / "none.json")

    @pytest.mark.parametrize("keep", [0, 1, 100, -1])
    @pytest.mark.parametrize("end", [b"", b"\xff"], ids=["text", "binary"])
    def test_half_written(self, full, tmp_path, keep, end):
        text = json.dumps(full.to_dict())
        (tmp_path / "half.json").write_bytes(text[:keep].encode() + end)
        with pytest.raises(FileError, match=r"half\.json: it is (truncated or )?damaged: "):
            SelectionPath.load(tmp_path / "half.json")

    @pytest.mark.parametrize("content", [b"[1, 2]", b'"text"', b"{}", b'{"schema": "other"}'])
    def test_unrelated(self, tmp_path, content):
        (tmp_path / "other.json").write_bytes(content)
        with pytest.raises(FileError, match=r"other\.json: it is not a selection path\."):
            SelectionPath.load(tmp_path / "other.json")

    def test_paths_of_version_1_had_no_models(self, full):
        record = {**full.to_dict(), "schema_version": 1}
        del record["models"]
        assert SelectionPath.from_dict(record) == full

    def test_files_before_version_3_had_no_checksum(self, full, tmp_path):
        record = {**full.to_dict(), "schema_version": 2}
        (tmp_path / "old.json").write_text(json.dumps(record))
        assert SelectionPath.load(tmp_path / "old.json") == full
        (tmp_path / "old.json").write_text(json.dumps({**record, "schema_version": 3}))
        with pytest.raises(FileError, match="was modified after it was written"):
            SelectionPath.load(tmp_path / "old.json")

    def test_every_changed_byte_is_noticed_or_harmless(self, full, tmp_path):
        full.save(tmp_path / "path.json")
        whole = (tmp_path / "path.json").read_bytes()
        for place, byte in enumerate(whole):
            for other in (byte ^ 1, ord("9"), ord("e")):
                changed = whole[:place] + bytes([other]) + whole[place + 1 :]
                (tmp_path / "path.json").write_bytes(changed)
                try:
                    found = SelectionPath.load(tmp_path / "path.json")
                except FileError:
                    continue
                assert found == full

    @pytest.mark.parametrize("version", [4, None, "1"])
    def test_other_schema_version(self, full, tmp_path, version):
        record = {**full.to_dict(), "schema_version": version}
        (tmp_path / "new.json").write_text(file_text(record))
        with pytest.raises(FileError, match=rf"schema version is {version}, .*newer sparsepath"):
            SelectionPath.load(tmp_path / "new.json")

    @pytest.mark.parametrize("key", ["steps", "moves", "n_features", "more"])
    @pytest.mark.parametrize("value", [None, [3], [{}], "4", "absent"], ids=repr)
    def test_damaged(self, full, tmp_path, key, value):
        record = {**full.to_dict(), key: value}
        if value == "absent" and key != "more":
            del record[key]
        (tmp_path / "bad.json").write_text(file_text(record))
        with pytest.raises(FileError, match=r"bad\.json: the selection path is damaged: "):
            SelectionPath.load(tmp_path / "bad.json")

    def test_failing_midway_leaves_the_old_file(self, full, xor, tmp_path, monkeypatch):
        xor.save(tmp_path / "path.json")
        whole = sparsepath.path.selection_path.replacing

        @contextmanager
        def full_disk(path):
            with whole(path) as stream:
                write = stream.write

                class Stream:
                    def write(self, text):
                        write(text[: len(text) // 2])
                        raise OSError(28, "No space left on device")

                yield Stream()

        monkeypatch.setattr(sparsepath.path.selection_path, "replacing", full_disk)
        with pytest.raises(FileError, match="No space left on device"):
            full.save(tmp_path / "path.json")
        assert os.listdir(tmp_path) == ["path.json"]
        assert SelectionPath.load(tmp_path / "path.json") == xor


def test_import_is_light():
    heavy = "matplotlib", "pandas", "polars", "pyarrow", "narwhals", "sklearn", "scipy"
    assert (
        python(
            "import sparsepath.path.selection_path, sparsepath.path.plots",
            f"print([module for module in {heavy!r} if module in sys.modules])",
        )
        == "[]"
    )


def test_a_path_that_did_not_come_to_its_end_settles_for_the_nearest_size():
    steps = [Step((), 3.0, 1.0), Step((0,), 2.0, 1.0), Step((0, 1), 1.0, 0.1)]
    ended = SelectionPath(steps, n_features=9)
    assert ended.settle(2) == 2
    with pytest.warns(PathWarning, match="no size 5, only 0-2; the nearest size, 2"):
        assert ended.settle(5) == 2
    with pytest.raises(InputError, match="no model of size 10"):
        ended.settle(10)
    for told in (
        {"complete": False, "stopped": "interrupted"},
        {"complete": False, "stopped": "asked to"},
    ):
        path = SelectionPath(steps, n_features=9, **told)
        assert not path.complete
        assert [path.settle(rule) for rule in (5, 1, "min", "one_se", 0.99)] == [2, 1, 2, 2, 2]
