# SPDX-License-Identifier: BSD-3-Clause
"""Subsamples of training rows: nested, in proportion, no class missing."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from accsmbo.fidelity._subsample import nested_order, strata

Y = np.repeat([0, 1, 2], [80, 15, 5])


@pytest.mark.parametrize("seed", range(5))
def test_every_beginning_is_stratified(seed):
    rows = np.random.default_rng(9).permutation(100)
    order = nested_order(rows, Y, np.random.default_rng(seed))
    assert sorted(order) == sorted(rows)
    for n in range(3, 101):
        counts = np.bincount(Y[order[:n]], minlength=3)
        assert counts.min() >= (2 if n >= 6 else 1)
        if n > 20:
            np.testing.assert_array_less(
                np.abs(counts - n * np.array([0.8, 0.15, 0.05])), 2.6
            )


def test_the_order_depends_on_the_seed_alone():
    orders = [
        nested_order(np.arange(100), Y, np.random.default_rng(s)) for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(orders[0], orders[1])
    assert (orders[0] != orders[2]).any()


def test_only_rows_of_the_fold_are_used():
    rows = np.arange(0, 100, 3)
    order = nested_order(rows, Y, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(order), rows)
    order = nested_order(rows, None, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(order), rows)
    assert (order != rows).any()


def test_strata_are_those_of_cross_validation():
    names = np.array(["b", "a", "b"])
    np.testing.assert_array_equal(strata(LogisticRegression(), names), [1, 0, 1])
    assert strata(Ridge(), np.array([0, 1, 0])) is None
    assert strata(LogisticRegression(), None) is None
    assert strata(LogisticRegression(), np.array([[0, 1], [1, 1]])) is None
