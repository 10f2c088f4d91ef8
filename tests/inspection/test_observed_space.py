# SPDX-License-Identifier: BSD-3-Clause
"""The space of a history, where a journal has only its text."""

import numpy as np
import pytest
from scipy.stats import norm

from accsmbo import minimize
from accsmbo.history import History
from accsmbo.inspection import as_readout, fit_surface, space_of
from accsmbo.space import Categorical, Real
from accsmbo.storage import JournalStorage
from tests.inspection._studies import run_random


def test_the_space_is_inferred_where_a_journal_has_only_its_text(tmp_path):
    path = tmp_path / "study.jsonl"
    space = {"a": norm(0, 2), "b": ["u", "v", "w"], "c": [7], "d": Real(1, 2)}
    history = minimize(
        lambda p: p["a"] ** 2 + p["d"],
        space,
        n_trials=20,
        random_state=0,
        storage=path,
    )
    loaded = JournalStorage(path).load()
    assert loaded.space is None
    (inferred,) = space_of(loaded).subspaces
    (known,) = history.space.subspaces
    assert inferred.names == known.names == ("a", "b", "d")
    np.testing.assert_array_equal(inferred.categorical, known.categorical)
    np.testing.assert_array_equal(inferred.levels, known.levels)
    for trial in loaded.trials:
        again = inferred.to_params(trial.unit)
        assert again == pytest.approx(trial.params)
    given = JournalStorage(path).load(space)
    np.testing.assert_allclose(
        fit_surface(as_readout(loaded)).predict(np.full((1, 3), 0.5)),
        fit_surface(as_readout(given)).predict(np.full((1, 3), 0.5)),
        rtol=1e-6,
    )


def test_a_space_that_trials_do_not_tell_is_an_error():
    with pytest.raises(ValueError, match="must have a space or trials"):
        space_of(History())
    history = run_random({"a": norm(), "b": Real(1, 2), "c": [3]}, lambda p: 0.0, 1)
    history.space = None
    with pytest.raises(ValueError, match="do not tell which 2 of"):
        space_of(history)


def test_unseen_choices_keep_their_places():
    history = run_random({"a": list("uvwxyz"), "b": norm()}, lambda p: 0.0, 4)
    expected = history.space
    history.space = None
    dimension = space_of(history).subspaces[0].dimensions["a"]
    assert isinstance(dimension, Categorical)
    for trial in history.trials:
        assert dimension.to_unit(trial.params["a"]) == pytest.approx(trial.unit[0])
    assert dimension.n_levels == expected.subspaces[0].dimensions["a"].n_levels
