# SPDX-License-Identifier: BSD-3-Clause
"""LambdaPathDisplay draws the means and ranges that the ensemble recorded."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from accsmbo.ensembles import BatchEnsembleClassifier, HyperBatchEnsembleClassifier
from accsmbo.plotting import LambdaPathDisplay


@pytest.fixture(scope="module")
def ensemble():
    X, y = load_iris(return_X_y=True)
    return HyperBatchEnsembleClassifier(
        (4,), max_iter=7, tuning_learning_rate=0.1, random_state=0
    ).fit(X, y)


def test_a_line_and_a_region_for_each_member(ensemble):
    display = LambdaPathDisplay.from_estimator(ensemble, "dropout")
    path = ensemble.lambda_path_[:, :, 2]
    assert len(display.lines_) == len(display.ax_.collections) == 3
    for k, line in enumerate(display.lines_):
        np.testing.assert_array_equal(line.get_ydata(), path[:, k, 2])
        corners = display.ax_.collections[k].get_paths()[0].vertices[:, 1]
        assert corners.min() == path[:, k, 0].min()
        assert corners.max() == path[:, k, 1].max()
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylabel() == "dropout"


def test_the_first_hyperparameter_on_given_axes(ensemble):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    display = LambdaPathDisplay.from_estimator(ensemble, ax=ax)
    assert display.name == "l2_kernel"
    assert display.ax_ is ax
    assert display.figure_ is figure


def test_what_cannot_be_drawn_is_refused(ensemble):
    with pytest.raises(ValueError, match="name must be one of"):
        LambdaPathDisplay.from_estimator(ensemble, "momentum")
    with pytest.raises(ValueError, match="has no lambda_path_"):
        LambdaPathDisplay.from_estimator(BatchEnsembleClassifier())
