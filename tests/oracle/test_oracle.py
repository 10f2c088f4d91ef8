# SPDX-License-Identifier: BSD-3-Clause
"""Random problems: what a search says is what plain scikit-learn says."""

import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from tests.oracle import _problems as tables
from tests.oracle._check import check
from tests.oracle._models import MODELS
from tests.oracle._pipelines import PIPELINES

CHUNK = 20


@pytest.mark.parametrize("first", range(0, 280, CHUNK))
def test_a_search_says_what_scikit_learn_says(first):
    """Scores, choice, predictions, exceptions; the same under neutral arguments."""
    wrong = []
    for seed in range(first, first + CHUNK):
        try:
            check(tables.recipe_of(seed))
        except AssertionError as error:
            wrong.append(f"seed {seed}: {error}")
    assert not wrong, "\n".join(wrong)


@given(tables.problems())
@settings(
    max_examples=20,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_the_simplest_problem_that_goes_wrong_is_shown(recipe):
    """The same on recipes that hypothesis draws, so that failures are shrunk."""
    check(recipe)


def test_every_ingredient_is_drawn():
    recipes = [tables.draw(random.Random(seed)) for seed in range(4000)]
    drawn = {
        "model": MODELS,
        "pipeline": PIPELINES,
        "X": tables.X_FORMS,
        "y": tables.CLASS_TARGETS | tables.NUMBER_TARGETS,
        "weights": tables.WEIGHTS,
        "cv": tables.SPLITTERS,
        "scoring": tables.CLASS_METRICS | tables.POSITIVE_METRICS,
        "search": tables.SEARCHES,
        "space": tables.SPACES,
        "refit": (True, False, "second", "worst", "last"),
        "error_score": ("nan", "raise", -1.0),
    }
    for name, table in drawn.items():
        assert set(table) <= {recipe[name] for recipe in recipes}, name
    changes = Counter(change for recipe in recipes for change in recipe["neutral"])
    assert set(changes) == set(tables.NEUTRAL)
    aims = Counter(recipe["aim"] for recipe in recipes)
    assert min(aims["joint"], aims["gradients"]) > 800
