# SPDX-License-Identifier: BSD-3-Clause
"""SurrogateDisplay: slices and contours are the surrogate's, drawn in their place."""

import numpy as np
import pytest

from accsmbo import Categorical, Integer, Real, minimize
from accsmbo.history import Evaluation
from accsmbo.inspection import as_readout, fit_surface
from accsmbo.plotting import SurrogateDisplay
from accsmbo.surrogates import RandomForestSurrogate
from tests.inspection._studies import LONG, hard_history, run_random

SPACE = {
    "x": Real(1e-3, 1e3, log=True),
    "k": Integer(1, 5),
    "c": Categorical(["a", "b"]),
}


def loss(params):
    bent = 0.1 * (np.log10(params["x"]) - 1) ** 2
    return bent + 0.3 * params["k"] + (params["c"] == "b")


@pytest.fixture(scope="module")
def history():
    return run_random(SPACE, loss, 40, fails=lambda p: p["k"] == 5)


def test_a_slice_follows_the_function_through_the_best_trial():
    history = run_random(SPACE, loss, 40)
    display = SurrogateDisplay.from_history(history, ["x"])
    (shown,) = display.slices
    best = history.best_params
    truth = [loss({**best, "x": shown.dimension.from_unit(u)}) for u in shown.u]
    np.testing.assert_allclose(shown.mean, truth, atol=0.15)
    assert shown.points[shown.best] == history.best[0].unit[2]
    assert display.ax_ is display.axes_[0]


def test_other_values_can_be_held():
    history = run_random(SPACE, loss, 40)
    low, high = (
        SurrogateDisplay.from_history(history, ["x"], at={"k": k, "c": "a"}).slices[0]
        for k in (1, 4)
    )
    np.testing.assert_allclose(high.mean - low.mean, 0.9, atol=0.15)
    with pytest.raises(ValueError, match="params has the unknown name 'z'"):
        SurrogateDisplay.from_history(history, ["x"], at={"z": 1})


def test_a_contour_is_the_surface_on_a_grid(history):
    display = SurrogateDisplay.from_history(history, [("x", "k")])
    (both,) = display.contours
    assert both.mean.shape == (41, 5)
    surface = fit_surface(as_readout(history))
    point = surface.U[surface.best].copy()
    point[2], point[1] = both.u[0][7], both.u[1][3]
    mean, std = surface.predict(point[None, :])
    assert both.mean[7, 3] == pytest.approx(mean[0])
    assert both.std[7, 3] == pytest.approx(std[0])
    titles = [ax.get_title() for ax in display.axes_]
    assert titles == ["mean loss", "standard deviation"]
    assert [ax.get_xlabel() for ax in display.axes_] == ["x", "x"]


def test_panels_of_all_parameters_and_a_pair(history):
    import matplotlib.pyplot as plt

    display = SurrogateDisplay.from_history(history, ["c", "k", "x", ("c", "x")])
    assert len(display.axes_) == 5
    assert [ax.get_xlabel() for ax in display.axes_] == ["c", "k", "x", "c", "c"]
    rows = [ax.get_subplotspec().rowspan.start for ax in display.axes_]
    assert rows == [0, 0, 0, 1, 1]
    _, axes = plt.subplots(1, 5)
    again = display.plot(ax=axes)
    assert list(again.axes_) == list(axes)
    with pytest.raises(ValueError, match="one or 5 axes for 5 panels, got 2"):
        display.plot(ax=axes[:2])


def test_inside_given_axes(history):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    display = SurrogateDisplay.from_history(history, ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not right.axison
    assert left.axison
    assert len(display.axes_) == 3


def test_failed_trials_are_crosses_at_the_foot(history):
    display = SurrogateDisplay.from_history(history, ["k"])
    failed = [t.unit[1] for t, e in history if e.failed]
    crosses = display.axes_[0].collections[-2].get_offsets()
    np.testing.assert_allclose(crosses[:, 0], failed)
    np.testing.assert_allclose(crosses[:, 1], 0.04)


def test_a_forest_on_request_and_where_trials_are_many(history):
    given = RandomForestSurrogate(n_estimators=3)
    display = SurrogateDisplay.from_history(history, ["k"], surrogate=given)
    assert not hasattr(given, "forest_")
    assert np.isfinite(display.slices[0].mean).all()
    many = run_random(SPACE, loss, 501)
    assert isinstance(fit_surface(as_readout(many)).surrogate, RandomForestSurrogate)


def test_a_hard_history_is_drawn_without_warnings():
    history = hard_history()
    display = SurrogateDisplay.from_history(history, subspace=0)
    display.figure_.draw_without_rendering()
    labels = [ax.get_xlabel() for ax in display.axes_]
    assert r"\$x_1^2\$ <b>&amp;" in labels
    assert all(len(label) <= 36 for label in labels)
    pair = SurrogateDisplay.from_history(
        history, [(LONG, "$x_1^2$ <b>&amp;")], subspace=0
    )
    pair.figure_.draw_without_rendering()


def test_equal_values_are_drawn():
    history = run_random({"x": Real(0, 1), "y": Real(0, 1)}, lambda p: 2.0, 5)
    display = SurrogateDisplay.from_history(history, ["x", ("x", "y")])
    display.figure_.draw_without_rendering()


def test_wrong_parameters_are_named(history):
    message = r"must be among \['c', 'k', 'x'\], which vary in subspace 0, got 'z'"
    with pytest.raises(ValueError, match=message):
        SurrogateDisplay.from_history(history, ["z"])
    with pytest.raises(ValueError, match="at least one panel"):
        SurrogateDisplay([]).plot()
    history = minimize(lambda p: 1.0, {"x": Real(0, 1)}, n_trials=1)
    with pytest.raises(ValueError, match="at least two successful trials"):
        SurrogateDisplay.from_history(history)
    assert isinstance(history[0][1], Evaluation)
