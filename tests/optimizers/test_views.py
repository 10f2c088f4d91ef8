# SPDX-License-Identifier: BSD-3-Clause
"""Views: rows, scale, turns."""

import numpy as np

from accsmbo.optimizers._views import N_GLOBAL, VIEWS, LocalView, turn


def test_global_views_take_all_rows():
    y = np.random.default_rng(0).random(11)
    for view in VIEWS[:N_GLOBAL]:
        rows, t, slope = view.select(y, 2)
        np.testing.assert_array_equal(rows, np.arange(11))
        np.testing.assert_array_equal(np.argsort(t), np.argsort(y))
        assert slope.shape == (11,)


def test_local_view_takes_the_best_half_on_its_own_scale():
    y = np.concatenate([1e6 * np.arange(1, 11), 1e-3 * np.arange(10)])
    rows, t, slope = LocalView().select(y, 2)
    np.testing.assert_array_equal(rows, np.arange(10, 20))
    assert abs(t.mean()) < 1e-12
    np.testing.assert_allclose(np.diff(t), np.diff(t)[0])
    np.testing.assert_allclose(slope * 1e-3, np.diff(t)[0])


def test_local_view_keeps_enough_rows_for_the_dimension():
    rows, _, _ = LocalView().select(np.arange(12.0), 6)
    assert len(rows) == 10
    rows, _, _ = LocalView().select(np.arange(5.0), 6)
    assert len(rows) == 5


def test_every_third_proposal_is_local_later_on():
    turns = [turn(n) for n in range(30)]
    assert isinstance(VIEWS[N_GLOBAL], LocalView)
    assert N_GLOBAL not in turns[:12]
    assert [n for n, t in enumerate(turns) if t == N_GLOBAL] == [*range(12, 30, 3)]
    assert [turns[12:].count(t) for t in range(3)] == [6, 6, 6]
