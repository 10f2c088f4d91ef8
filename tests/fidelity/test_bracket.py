# SPDX-License-Identifier: BSD-3-Clause
"""Brackets: sizes against the papers' tables, promotions, ties, failures."""

import math

import numpy as np
import pytest

from accsmbo.fidelity import ASHA, Hyperband, SuccessiveHalving
from accsmbo.fidelity._bracket import Bracket, bracket_sizes, resource_levels


@pytest.mark.parametrize(
    ("low", "high", "factor", "levels"),
    [
        (1, 81, 3, [1, 3, 9, 27, 81]),
        (2, 81, 3, [3, 9, 27, 81]),
        (1, 100, 3, [1, 3, 11, 33, 100]),
        (10, 10, 3, [10]),
        (5, 14, 3, [14]),
        (1, 10, 2.5, [1, 4, 10]),
        (1, 3**11, 3, [3**k for k in range(12)]),
    ],
)
def test_levels_end_at_all_of_the_resource(low, high, factor, levels):
    assert resource_levels(low, high, factor) == levels


def test_hyperband_has_the_sizes_of_table_1():
    levels, brackets, n_trials = Hyperband()._plan(143, [1, 3, 9, 27, 81])
    table = [
        bracket_sizes(n, len(levels) - first, 3, round_up=False)
        for first, n in brackets
    ]
    assert table == [[81, 27, 9, 3, 1], [34, 11, 3, 1], [15, 5, 1], [8, 2], [5]]
    assert n_trials == sum(map(sum, table))


@pytest.mark.parametrize("n", range(1, 60))
def test_hyperband_shares_out_exactly_the_candidates(n):
    levels, brackets, _ = Hyperband()._plan(n, [1, 3, 9, 27])
    counts = [count for _, count in brackets]
    assert sum(counts) == n
    assert min(counts) >= 1
    assert levels[-1] == 27


def test_halving_has_the_rungs_that_its_candidates_need():
    levels = [1, 3, 9, 27, 81]
    assert SuccessiveHalving()._plan(20, levels) == ([9, 27, 81], [(0, 20)], 30)
    assert SuccessiveHalving()._plan(27, levels)[0] == [3, 9, 27, 81]
    assert SuccessiveHalving()._plan(2, levels) == ([81], [(0, 2)], 2)
    assert SuccessiveHalving()._plan(999, [27, 81])[2] == 999 + 333
    assert ASHA()._plan(7, levels) == (levels, [(0, 7)], 35)


def filled(losses, **kwargs):
    """Return a bracket over three rungs whose first rung has these losses."""
    bracket = Bracket(0, 3, len(losses), 3, **kwargs)
    for candidate, loss in enumerate(losses):
        bracket.enter(candidate, 0)
        bracket.finish(candidate, 0, loss)
    return bracket


def promotions(bracket):
    """Return what is promoted now, each noted as running."""
    found = []
    while (promotion := bracket.next_promotion()) is not None:
        bracket.promote(*promotion)
        found.append(promotion)
    return found


def test_the_best_third_goes_on_ties_by_number():
    bracket = filled([0.5, 0.2, 0.9, 0.2, 0.1, 0.2])
    assert promotions(bracket) == [(4, 1), (1, 1)]


def test_shares_are_rounded_as_asked():
    losses = [0.4, 0.3, 0.2, 0.1]
    assert promotions(filled(losses)) == [(3, 1)]
    assert promotions(filled(losses, round_up=True)) == [(3, 1), (2, 1)]


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_failed_trial_is_never_promoted(bad):
    assert promotions(filled([bad, bad, 0.7, bad, bad, bad])) == [(2, 1)]
    assert promotions(filled([bad] * 6)) == []


def test_a_synchronous_rung_waits_for_the_whole_of_it():
    bracket = Bracket(0, 2, 3, 3)
    for candidate in range(3):
        assert bracket.wants_candidate
        bracket.enter(candidate, 0)
    bracket.finish(0, 0, 0.1)
    bracket.finish(1, 0, 0.2)
    assert not bracket.wants_candidate
    assert bracket.next_promotion() is None
    bracket.finish(2, 0, 0.3)
    assert bracket.next_promotion() == (0, 1)


def test_an_asynchronous_rung_promotes_from_what_it_has():
    bracket = Bracket(0, 3, 9, 3, asynchronous=True)
    for candidate, loss in enumerate([0.3, 0.2]):
        bracket.enter(candidate, 0)
        bracket.finish(candidate, 0, loss)
    assert bracket.next_promotion() is None
    bracket.enter(2, 0)
    bracket.finish(2, 0, 0.4)
    assert promotions(bracket) == [(1, 1)]
    for candidate, loss in enumerate([0.1, 0.05, 0.5], 3):
        bracket.enter(candidate, 0)
        bracket.finish(candidate, 0, loss)
    assert promotions(bracket) == [(4, 1), (3, 1)]


def test_the_last_rung_is_reached_however_few_there_are():
    bracket = filled([0.3, 0.2], asynchronous=True)
    assert promotions(bracket) == [(1, 1)]
    bracket.finish(1, 1, 0.1)
    assert promotions(bracket) == [(1, 2)]


def test_those_that_go_no_further_are_known():
    bracket = filled([0.5, 0.2, 0.9, 0.3, 0.1, math.inf])
    assert bracket.out(range(6)) == {0, 2, 3, 5}
    bracket.promote(4, 1)
    bracket.finish(4, 1, 0.1)
    assert bracket.out(range(6)) == {0, 2, 3, 5}
    waiting = filled([0.5, 0.2, math.inf], asynchronous=True)
    waiting.n_candidates = 9
    assert waiting.out(range(3)) == {2}


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("seed", range(10))
def test_any_order_of_results_ends_and_breaks_no_rule(asynchronous, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    bracket = Bracket(1, 4, n, 3, asynchronous=asynchronous)
    running, place, failed, asked = [], {}, set(), 0
    while True:
        promotion = bracket.next_promotion() if len(running) < 3 else None
        if promotion is not None:
            candidate, rung = promotion
            assert candidate not in failed
            assert place[candidate] == rung - 1
            bracket.promote(candidate, rung)
        elif bracket.wants_candidate and len(running) < 3:
            candidate, rung, asked = asked, 1, asked + 1
            bracket.enter(candidate, rung)
        elif running:
            candidate, rung = running.pop(int(rng.integers(len(running))))
            loss = float(rng.choice([math.inf, *rng.random(4)]))
            if math.isinf(loss):
                failed.add(candidate)
            bracket.finish(candidate, rung, loss)
            continue
        else:
            break
        place[candidate] = rung
        running.append((candidate, rung))
    assert asked == n
    assert bracket.out(range(n)) == set(range(n))
    assert max(place.values()) == 3 or failed
