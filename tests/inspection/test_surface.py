# SPDX-License-Identifier: BSD-3-Clause
"""A surface is fitted to the trials that can be compared."""

from dataclasses import replace

import numpy as np
import pytest

from accsmbo.history import History
from accsmbo.inspection import as_readout, fit_surface, is_complete
from accsmbo.space import Real
from tests.inspection._studies import HARD_SPACE, LONG, hard_history, run_random


def test_trials_of_one_resource_are_modelled():
    history = run_random({"x": Real(0, 1)}, lambda p: p["x"], 9)
    rungs = History(history.space)
    for i, (trial, evaluation) in enumerate(history):
        fidelity = 100.0 if i < 5 else 300.0 if i < 8 else 900.0
        rungs.append(replace(trial, fidelity=fidelity), evaluation)
    # One trial with 900 is too few for a model, three with 300 are enough.
    surface = fit_surface(as_readout(rungs))
    assert surface.resource == 300.0
    np.testing.assert_array_equal(surface.values, history.values[5:8])
    np.testing.assert_array_equal(is_complete(rungs), np.arange(9) == 8)
    assert fit_surface(as_readout(history)).resource is None


def test_one_diverged_loss_does_not_hide_the_others():
    space = {"x": Real(0, 1)}
    plain = run_random(space, lambda p: (p["x"] - 0.3) ** 2, 20)
    wild = run_random(space, lambda p: 1e9 if p["x"] > 0.9 else (p["x"] - 0.3) ** 2, 20)
    assert np.max(wild.values) == 1e9
    U = np.linspace(0.05, 0.8, 30)[:, None]
    expected = fit_surface(as_readout(plain)).predict(U)[0]
    np.testing.assert_allclose(
        fit_surface(as_readout(wild)).predict(U)[0], expected, atol=0.08
    )


def test_a_subspace_without_data_is_an_error():
    history = hard_history(1)
    with pytest.raises(ValueError, match="at least two successful trials"):
        fit_surface(as_readout(history))
    with pytest.raises(ValueError, match="less than 2, got 5"):
        fit_surface(as_readout(history), 5)
    assert LONG in HARD_SPACE[0]
