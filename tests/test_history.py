# SPDX-License-Identifier: BSD-3-Clause
"""History: order, the best of it, and the data frame."""

import math

import numpy as np
import pytest

from accsmbo.history import Evaluation, History, Trial


def history_of(*values):
    history = History()
    for number, value in enumerate(values):
        trial = Trial(number, {"x": number}, np.array([0.5]))
        error = "boom" if value is None else None
        history.append(trial, Evaluation(value=value, error=error))
    return history


def test_best_is_the_smallest_loss_and_the_first_of_equals():
    history = history_of(None, 3.0, 1.0, math.nan, 1.0)
    assert history.best_params == {"x": 2}
    assert history.best_value == 1.0
    np.testing.assert_array_equal(history.values, [np.nan, 3, 1, np.nan, 1])


def test_the_best_has_all_folds():
    history = history_of(3.0)
    trial = Trial(1, {"x": 1}, np.array([0.5]))
    evaluation = Evaluation(value=2.0, fold_indices=(0, 2))
    assert evaluation.partial
    history.append(trial, evaluation)
    assert history.best_params == {"x": 0}


def test_a_history_is_a_sequence_in_order_of_telling():
    history = history_of(2.0, 1.0)
    assert len(history) == 2
    assert [trial.number for trial, _ in history] == [0, 1]
    assert history[1][1].value == 1.0
    assert [t.number for t in history.trials] == [0, 1]
    assert repr(history) == "History(n_trials=2, best_value=1.0)"


def test_without_a_success_there_is_no_best():
    history = history_of(None, None)
    assert history.best is None
    assert history.best_value == math.inf
    with pytest.raises(ValueError, match="at least one successful trial, got 2 trials"):
        history.best_params  # noqa: B018


def test_to_frame_has_a_row_per_trial():
    pytest.importorskip("pandas")
    frame = history_of(2.0, None).to_frame()
    assert frame["param_x"].tolist() == [0, 1]
    assert frame["value"].isna().tolist() == [False, True]
    assert frame["error"].tolist()[1] == "boom"


def test_with_different_amounts_of_a_resource_the_best_has_the_most():
    history = History()
    for number, (value, amount) in enumerate([(0.1, 1.0), (0.4, 9.0), (0.3, 9.0)]):
        trial = Trial(number, {"x": number}, np.array([0.5]), fidelity=amount)
        history.append(trial, Evaluation(value=value))
    assert history.best_params == {"x": 2}
    last = Trial(3, {"x": 3}, np.array([0.5]), fidelity=27.0)
    history.append(last, Evaluation(error="boom"))
    assert history.best_params == {"x": 2}
    frame = history.to_frame()
    assert frame["fidelity"].tolist() == [1.0, 9.0, 9.0, 27.0]
    assert "fidelity" not in history_of(1.0).to_frame()
