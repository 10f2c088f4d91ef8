# SPDX-License-Identifier: BSD-3-Clause
"""The reliability diagram shows the numbers of calibration_bins."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from accsmbo.ensembles.metrics import calibration_bins, expected_calibration_error
from accsmbo.plotting import ReliabilityDisplay


@pytest.fixture(autouse=True)
def closed_figures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def draw(n=400):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.6, 0.6, 0.6], size=n)
    return rng.integers(0, 3, n), p


def test_points_are_the_bins_and_the_legend_has_the_error():
    y, p = draw()
    display = ReliabilityDisplay.from_predictions(y, {"dice": p}, n_bins=8)
    bins = calibration_bins(y, p, n_bins=8)
    filled = bins.weight > 0
    (line,) = display.lines_
    np.testing.assert_allclose(line.get_xdata(), bins.confidence[filled])
    np.testing.assert_allclose(line.get_ydata(), bins.accuracy[filled])
    error = expected_calibration_error(y, p, n_bins=8)
    assert line.get_label() == f"dice (ECE {error:.3f})"
    assert display.figure_ is display.ax_.figure


def test_estimators_are_compared_on_given_axes():
    import matplotlib.pyplot as plt

    X, y = load_iris(return_X_y=True)
    models = {
        "tree": DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y),
        "bayes": GaussianNB().fit(X, y),
    }
    _, ax = plt.subplots()
    display = ReliabilityDisplay.from_estimator(models, X, y, ax=ax)
    assert display.ax_ is ax
    assert len(display.lines_) == 2
    styles = {(line.get_linestyle(), line.get_marker()) for line in display.lines_}
    assert len(styles) == 2  # told apart without colour
    single = ReliabilityDisplay.from_estimator(models["tree"], X, y)
    assert single.lines_[0].get_label().startswith("DecisionTreeClassifier (ECE")


def test_errors_are_those_of_the_bins():
    with pytest.raises(ValueError, match="labels must name each of the 3 columns"):
        ReliabilityDisplay.from_predictions(["a", "b"], [[0.2, 0.3, 0.5]] * 2)


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    y, p = draw()
    display = ReliabilityDisplay({"": calibration_bins(y, p)})
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ImportError, match=r"ReliabilityDisplay\.plot requires matplotlib"
    ):
        display.plot()
