# SPDX-License-Identifier: BSD-3-Clause
"""What a model learns from rungs, against numbers computed by hand."""

import math

import pytest

from accsmbo.fidelity._comparable import comparable_evaluations
from accsmbo.history import Evaluation


def results(*losses):
    """Return evaluations by rung; None: a failure."""
    return [
        {
            rung: Evaluation(error="no luck") if v is None else Evaluation(value=v)
            for rung, v in enumerate(by_rung)
        }
        for by_rung in losses
    ]


def test_lower_rungs_are_moved_by_the_median_change():
    known = comparable_evaluations(
        results([1.0, 0.5, 0.45], [2.0, 1.7], [3.0, 2.4], [4.0], []), 3
    )
    # changes on the first step -0.5, -0.3, -0.6: median -0.5, deviations 0, 0.2, 0.1
    assert known[0].value == 0.45
    assert known[0].noise is None
    assert known[1].value == pytest.approx(1.7 - 0.05)
    assert known[3].value == pytest.approx(4.0 - 0.5 - 0.05)
    assert known[1].noise is None  # one change says nothing of its spread
    assert known[4] is None


def test_the_spread_of_the_change_is_the_noise():
    known = comparable_evaluations(
        results([1.0, 0.5], [2.0, 1.7], [3.0, 2.4], [4.0]), 2
    )
    assert known[3].value == pytest.approx(3.5)
    assert known[3].noise == pytest.approx(1.4826 * 0.1)
    assert [e.noise for e in known[:3]] == [None] * 3


def test_nothing_is_moved_beyond_what_has_been_reached():
    known = comparable_evaluations(results([1.0], [2.0]), 3)
    assert [e.value for e in known] == [1.0, 2.0]


def test_a_failure_on_any_rung_is_one():
    known = comparable_evaluations(results([1.0, None], [2.0, 1.0], [None]), 2)
    assert [e.failed for e in known] == [True, False, True]
    assert known[0].error == "no luck"


def test_a_trial_with_a_failed_fold_has_failed_whatever_its_score():
    scored = {0: Evaluation(value=-7.0, error="a fold failed")}
    assert comparable_evaluations([scored], 1)[0].failed
    assert not math.isinf(scored[0].value)
