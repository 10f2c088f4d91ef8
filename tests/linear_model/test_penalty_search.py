# SPDX-License-Identifier: BSD-3-Clause
"""The descent on a cheap validation loss, on curves whose minimum is known."""

import numpy as np
import pytest

from accsmbo.linear_model._penalty_search import Box, minimise


def box(n=1):
    return Box(np.full(n, -8.0), np.full(n, 8.0), np.ones(n))


@pytest.mark.parametrize("bend", [1e-4, 1e-2, 1.0, 30.0])
@pytest.mark.parametrize("start", [-7.0, 0.0, 2.9])
def test_a_parabola_of_any_bend_is_followed_to_its_minimum(bend, start):
    def objective(x):
        gap = float(x[0]) - 3.0
        return 1.0 + 0.5 * bend * gap**2, np.array([bend * gap])

    found = minimise(objective, np.array([start]), box())
    assert objective(found)[0] - 1.0 <= 2e-5
    if bend >= 1e-2:
        assert found[0] == pytest.approx(3.0, abs=0.05)


def test_the_descent_ends_at_an_end_of_the_range():
    assert minimise(lambda x: (1 - x[0], -np.ones(1)), np.zeros(1), box())[0] == 8.0


def test_a_curve_without_slope_is_left_where_it_is():
    calls = []

    def objective(x):
        calls.append(x)
        return 1.0, np.zeros(1)

    assert minimise(objective, np.ones(1), box())[0] == 1.0
    assert len(calls) == 1


def test_the_point_returned_is_the_last_one_evaluated():
    seen = []

    def objective(x):  # the slope keeps its sign and its size: no secant ends
        seen.append(float(x[0]))
        return 1.0 - 0.1 * float(x[0]) % 0.7, np.array([-0.5])

    assert minimise(objective, np.full(1, -8.0), box())[0] == seen[-1]

    def wild(x):
        seen.append(float(x[0]))
        return 1.0, np.array([(-1.0) ** len(seen)])

    assert minimise(wild, np.zeros(1), box())[0] == seen[-1]
    assert len(seen) < 50
