"""The pictures: what they show, what they say, and that they leave no state behind."""

import math
import sys
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from sparsepath.path.selection_path import SelectionPath
from sparsepath.path.steps import Step


def nested(n_features, n_sizes, errors_se=0.1, **options):
    """Features enter from the last column to the first; the least error is at size 3."""
    order = range(n_features - 1, n_features - 1 - n_sizes, -1)
    steps = [Step(tuple(order[:k]), 1.0 + abs(k - 3) / 20, errors_se) for k in range(n_sizes + 1)]
    return SelectionPath(steps, n_features=n_features, **options)


def drawn(axes):
    """Draw, then return the names that can be seen on the y axis with their boxes."""
    figure = axes.figure
    figure.draw_without_rendering()
    labels = [label for label in axes.get_yticklabels() if label.get_text()]
    return [label.get_text() for label in labels], [label.get_window_extent() for label in labels]


def cells(axes):
    """The filled cells, rows from top to bottom."""
    (mesh,) = axes.collections
    return np.asarray(mesh.get_array()).astype(bool)


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def pyplot_figures():
    pyplot = sys.modules.get("matplotlib.pyplot")
    return pyplot and pyplot.get_fignums()


@pytest.fixture(autouse=True)
def no_pyplot_state():
    """Drawing must neither import pyplot nor add to its figures."""
    before = pyplot_figures()
    yield
    assert pyplot_figures() == before


class TestPath:
    def test_few_features_are_all_shown_in_their_own_order(self):
        path = nested(5, 3)
        axes = path.plot_path()
        np.testing.assert_array_equal(cells(axes), path.matrix().T)
        assert drawn(axes)[0] == ["x0", "x1", "x2", "x3", "x4"]
        assert axes.get_title(loc="right") == ""
        assert axes.get_xlabel() == "number of features"
        assert axes.yaxis_inverted()  # the first feature is at the top

    def test_many_features_those_selected_in_order_of_entry(self):
        axes = nested(500, 10).plot_path()
        assert drawn(axes)[0] == [f"x{i}" for i in range(499, 489, -1)]
        np.testing.assert_array_equal(cells(axes), np.tri(11, 10, -1, dtype=bool).T)
        assert axes.get_title(loc="right") == "490 of 500 never selected, not shown"

    def test_all_of_many_features_in_the_order_of_the_columns(self):
        path = nested(60, 10)
        axes = path.plot_path(all_features=True)
        np.testing.assert_array_equal(cells(axes), path.matrix().T)
        assert axes.get_title(loc="right") == ""

    def test_the_scale_of_the_errors_can_be_given(self):
        near, far = ([Step((), e), Step((0,), 1.0)] for e in (2.0, 20.0))
        for steps, scales in ((near, ("linear", "log", "linear")), (far, ("log", "log", "linear"))):
            path = SelectionPath(steps, n_features=1)
            drawn_as = [path.plot_curve(log=log).get_yscale() for log in (None, True, False)]
            assert drawn_as == list(scales)

    def test_both_parts_of_the_whole_figure_take_their_options(self):
        path = nested(60, 10)
        plain, full = path.plot(), path.plot(log=True, all_features=True)
        assert [figure.axes[0].get_yscale() for figure in (plain, full)] == ["linear", "log"]
        assert [len(cells(figure.axes[1])) for figure in (plain, full)] == [10, 60]
        assert full.get_figheight() > plain.get_figheight()

    @pytest.mark.parametrize(("n_features", "n_sizes"), [(5, 5), (30, 30), (40, 25), (500, 150)])
    @pytest.mark.parametrize("height", [None, 1.5, 4])
    def test_names_never_overlap(self, n_features, n_sizes, height):
        axes = nested(n_features, n_sizes).plot_path()
        if height is not None:  # also when the figure is resized afterwards
            axes.figure.set_size_inches(5, height)
        names, boxes = drawn(axes)
        assert names
        for upper, lower in pairwise(boxes):
            assert lower.y1 <= upper.y0

    def test_all_names_of_a_path_of_thirty_features(self):
        assert len(drawn(nested(30, 30).plot_path())[0]) == 30

    def test_the_chosen_size_is_marked_and_every_name_can_be_read(self):
        path = nested(60, 60)
        axes = path.plot_path(chosen=4)
        shown = axes.collections[0].get_array().reshape(60, -1)
        assert (shown[:4] == 2 * path.matrix().T[::-1][:4]).all()
        assert shown[4:].max() == 1, "pale, what is not in the set"
        assert list(axes.lines[0].get_xdata()) == [4, 4]
        assert len(drawn(axes)[0]) == 60
        assert legend(path.plot_curve(chosen=4))[-1] == "chosen: size 4"

    def test_names_are_elided_and_dollars_kept(self):
        names = ["a" * 40 + "end", "cost in $ or $US", "two\nlines", "d"]
        seen, _ = drawn(nested(4, 3, feature_names=names).plot_path())
        assert seen == ["a" * 18 + "…" + "a" * 6 + "end", r"cost in \$ or \$US", "two lines", "d"]

    def test_gaps_in_sizes_are_filled_to_half_way(self):
        steps = [Step(tuple(range(k)), 1.0) for k in (0, 1, 5)]
        axes = SelectionPath(steps, n_features=6).plot_path()
        np.testing.assert_array_equal(
            axes.collections[0].get_coordinates()[0, :, 0], [-0.5, 0.5, 3, 5.5]
        )

    @pytest.mark.parametrize("n_features", [0, 3, 60])
    def test_nothing_selected(self, n_features):
        figure = SelectionPath([Step((), 1.0)], n_features=n_features).plot()
        figure.draw_without_rendering()

    def test_axes_given_are_used(self):
        given = Figure().subplots(2)
        path = nested(5, 3)
        assert path.plot_path(ax=given[0]) is given[0]
        assert path.plot_curve(given[1]) is given[1]


class TestCurve:
    def test_line_band_and_choices(self):
        path = nested(8, 6)
        axes = path.plot_curve()
        line, least, one_se = axes.lines
        np.testing.assert_array_equal(line.get_xdata(), path.sizes)
        np.testing.assert_array_equal(line.get_ydata(), path.errors)
        assert [*least.get_xdata(), *least.get_ydata()] == [3, 1.0]
        assert [*one_se.get_xdata(), *one_se.get_ydata()] == [1, 1.1]
        assert legend(axes) == [
            "± one standard error",
            "least error: size 3",
            "one-standard-error rule: size 1",
        ]
        (band,) = axes.collections
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(0.9)
        assert heights.max() == pytest.approx(1.25)

    @pytest.mark.parametrize("kind", ["training", "selection", "honest"])
    def test_label_says_criterion_and_kind(self, kind):
        path = nested(5, 3, error_kind=kind, criterion="error (scaled)")
        expected = f"error (scaled)\n({kind} error)"
        assert path.plot_curve().get_ylabel() == expected
        assert path.plot().axes[0].get_ylabel() == expected

    def test_without_standard_errors(self):
        axes = nested(5, 4, math.nan).plot_curve()
        assert legend(axes) == ["least error: size 3"]
        assert not axes.collections

    def test_infinite_errors_are_at_the_upper_edge(self):
        steps = [Step((), math.inf), Step((0,), 2.0), Step((0, 1), 1.0), Step((0, 1, 2), math.inf)]
        axes = SelectionPath(steps, n_features=3).plot_curve()
        assert legend(axes)[-1] == "infinite"
        np.testing.assert_array_equal(axes.lines[-1].get_xdata(), [0, 3])
        assert axes.get_ylim()[1] < 3
        axes.figure.draw_without_rendering()

    def test_all_infinite(self):
        path = SelectionPath([Step((), math.inf), Step((0,), math.inf)], n_features=3)
        path.plot().draw_without_rendering()

    @pytest.mark.parametrize(
        ("errors", "scale"),
        [
            ([1.0, 0.5], "linear"),
            ([1.0, 0.001], "log"),
            ([1.0, 0.0], "linear"),
            ([1, -9], "linear"),
        ],
    )
    def test_scale(self, errors, scale):
        path = SelectionPath([Step((), errors[0]), Step((0,), errors[1], 0.1)], n_features=1)
        assert path.plot_curve().get_yscale() == scale


class TestBoth:
    @pytest.mark.parametrize(("n_features", "n_sizes"), [(5, 5), (40, 25), (500, 150)])
    def test_one_axis_of_sizes(self, n_features, n_sizes, tmp_path):
        figure = nested(n_features, n_sizes).plot()
        assert type(figure) is Figure
        curve, path = figure.axes
        assert curve.get_shared_x_axes().joined(curve, path)
        assert curve.get_xlim() == path.get_xlim() == (-0.5, n_sizes + 0.5)
        figure.savefig(tmp_path / "both.png")
        assert curve.get_position().x0 == pytest.approx(path.get_position().x0)
        assert curve.get_position().y0 > path.get_position().y1
        assert figure.get_size_inches()[1] < 12
