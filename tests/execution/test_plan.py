# SPDX-License-Identifier: BSD-3-Clause
"""Finite spaces: enumerated where they fit, sampled as scikit-learn does where tiny."""

import logging

from sklearn.model_selection import ParameterGrid, ParameterSampler

from accsmbo.execution import plan
from accsmbo.optimizers import SMBO, GridSearch, RandomSearch
from accsmbo.space import Real, Space

LISTS = {"a": [3, 1, 2], "b": ["x", "y"]}


def planned_params(optimizer, n_trials):
    optimizer.set_params(space=Space(optimizer.space))
    optimizer, n_trials = plan(optimizer, n_trials, "n_trials")
    return [optimizer.ask().params for _ in range(n_trials)]


def test_a_space_that_fits_is_enumerated_in_order():
    assert planned_params(SMBO(LISTS, random_state=0), 6) == list(ParameterGrid(LISTS))


def test_a_budget_above_the_space_is_cut_and_said_once(caplog):
    with caplog.at_level(logging.WARNING, logger="accsmbo"):
        assert len(planned_params(SMBO(LISTS), 50)) == 6
    assert [r.getMessage() for r in caplog.records] == [
        "The search space holds 6 candidates, fewer than n_trials=50; all are "
        "evaluated."
    ]


def test_random_search_over_lists_draws_the_candidates_of_scikit_learn():
    ours = planned_params(RandomSearch(LISTS, random_state=5), 4)
    assert ours == list(ParameterSampler(LISTS, 4, random_state=5))


def test_a_space_of_four_points_is_not_modelled():
    lists = {"a": [1, 2], "b": [3, 4]}
    ours = planned_params(SMBO(lists, random_state=0), 3)
    assert ours == list(ParameterSampler(lists, 3, random_state=0))


def test_a_larger_or_continuous_space_is_left_to_the_optimizer():
    for spec in (LISTS, {"x": Real(0, 1)}):
        optimizer = SMBO(Space(spec))
        assert plan(optimizer, 5, "n_trials") == (optimizer, 5)
    assert isinstance(plan(SMBO(Space(LISTS)), 6, "n_trials")[0], GridSearch)
