# SPDX-License-Identifier: BSD-3-Clause
"""Greedy selection against loops, hand-computed paths and exhaustive search."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import log_loss

from accsmbo.ensembles import greedy_selection, metrics, top_k_selection

METRICS = {
    "nll": lambda y, p: metrics.negative_log_likelihood(y, p, labels=range(p.shape[1])),
    "brier": lambda y, p: metrics.brier_score(y, p, labels=range(p.shape[1])),
    "accuracy": lambda y, p: -metrics.accuracy(y, p, labels=range(p.shape[1])),
}


def draw(n_members=12, n=40, c=3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, n)
    y[:c] = np.arange(c)
    logits = rng.normal(size=(n, c)) + 1.5 * np.eye(c)[y]
    noise = rng.normal(size=(n_members, n, c)) * rng.uniform(0.5, 3, (n_members, 1, 1))
    p = np.exp(logits + noise)
    p = (p / p.sum(axis=2, keepdims=True)).astype(dtype)
    p.setflags(write=False)
    return p, y


def greedy_by_loop(p, y, loss, n_members, rounds):
    """Algorithm 2 with its limit on distinct members read as `at most`."""
    taken, losses = [], []
    for _ in range(rounds):
        pool = sorted(set(taken)) if len(set(taken)) >= n_members else range(len(p))
        trials = {m: loss(y, p[[*taken, m]].astype(float).mean(axis=0)) for m in pool}
        taken.append(min(trials, key=trials.get))
        losses.append(trials[taken[-1]])
    return taken, losses


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("score", ["nll", "brier"])
@pytest.mark.parametrize("n_members", [1, 3, 12])
def test_equals_the_loop(score, n_members, dtype):
    p, y = draw(dtype=dtype)
    taken, losses = greedy_by_loop(p, y, METRICS[score], n_members, 15)
    result = greedy_selection(
        p, y, n_members=n_members, score=score, max_rounds=15, patience=None
    )
    # A single member ties with itself in every later round.
    assert [step.member for step in result.path] == taken
    np.testing.assert_allclose([s.score for s in result.path], losses, atol=1e-7)
    assert result.best == np.argmin(np.round(losses, 12))
    expected = np.bincount(taken[: result.best + 1], minlength=len(p))
    np.testing.assert_allclose(result.weights, expected / expected.sum(), atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("c", [2, 3, 5, 8, 10])
def test_accuracy_takes_a_best_member_each_round(c, dtype):
    p, y = draw(c=c, n=60, dtype=dtype)
    result = greedy_selection(
        p, y, n_members=12, score="accuracy", max_rounds=12, patience=None
    )
    taken = []
    for step in result.path:
        scores = [
            metrics.accuracy(
                y, p[[*taken, m]].astype(float).mean(axis=0), labels=range(c)
            )
            for m in range(len(p))
        ]
        assert step.score == pytest.approx(max(scores), abs=1e-12)
        assert scores[step.member] == pytest.approx(max(scores), abs=1e-12)
        taken.append(step.member)


def test_accuracy_of_hard_votes_resolves_ties_like_argmax():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 50)
    p = np.eye(3)[rng.integers(0, 3, (9, 50))]
    p[0] = np.eye(3)[np.where(rng.random(50) < 0.7, y, 0)]
    result = greedy_selection(
        p, y, n_members=9, score="accuracy", max_rounds=8, patience=None
    )
    taken = [step.member for step in result.path]
    for i, step in enumerate(result.path):
        mean = p[taken[: i + 1]].mean(axis=0)
        others = [p[[*taken[:i], m]].mean(axis=0) for m in range(9)]
        assert step.score == metrics.accuracy(y, mean)
        assert step.score == max(metrics.accuracy(y, q) for q in others)


def test_algorithm_2_by_hand():
    # Two samples of class 0; probabilities of class 0 per member.
    true = np.array([[0.9, 0.2], [0.5, 0.5], [0.1, 0.9]])
    p = np.stack([true, 1 - true], axis=2)
    result = greedy_selection(p, [0, 0], n_members=2, labels=[0, 1], max_rounds=5)
    # Products of the two likelihoods: 0.18, 0.25, 0.09 alone: member 1.
    # With 1: (0.7 * 0.35, 0.25, 0.3 * 0.7) = 0.245, 0.25, 0.21: no gain, stop.
    assert [step.member for step in result.path] == [1, 1]
    assert result.best == 0
    assert result.path[0].score == pytest.approx(-0.5 * np.log(0.25))
    np.testing.assert_array_equal(result.weights, [0, 1, 0])


def test_patience_lets_it_pass_a_round_without_gain():
    true = np.array([[0.9, 0.2], [0.5, 0.5], [0.1, 0.95]])
    p = np.stack([true, 1 - true], axis=2)
    kwargs = {"labels": [0, 1], "n_members": 3, "max_rounds": 30}
    short = greedy_selection(p, [0, 0], patience=1, **kwargs)
    long = greedy_selection(p, [0, 0], patience=None, **kwargs)
    assert len(long.path) == 30
    assert long.path[long.best].score <= short.path[short.best].score


def test_only_taken_members_compete_once_the_number_is_reached():
    p, y = draw(n_members=20, seed=3)
    result = greedy_selection(p, y, n_members=3, max_rounds=60, patience=None)
    assert np.count_nonzero(result.weights) == 3
    assert len({step.member for step in result.path}) == 3
    assert result.best > 2  # weights went on improving


@pytest.mark.parametrize("score", ["nll", "brier", "accuracy"])
def test_size_one_is_the_best_single_model(score):
    """See the reports of case 79.

    https://github.com/automl/auto-sklearn/issues/623
    https://github.com/automl/auto-sklearn/issues/626
    """
    p, y = draw(seed=5)
    losses = [METRICS[score](y, member) for member in p]
    result = greedy_selection(p, y, n_members=1, score=score)
    assert losses[int(np.argmax(result.weights))] == min(losses)
    assert result.weights.max() == 1


@pytest.mark.parametrize("greater_is_better", [False, True])
def test_direction_of_a_callable_is_handled_once(greater_is_better):
    """See the reports of case 79.

    https://github.com/automl/auto-sklearn/issues/623
    https://github.com/automl/auto-sklearn/issues/626
    """
    rng = np.random.default_rng(0)
    y = rng.normal(size=30)
    p = y + rng.normal(size=(6, 30)) * np.arange(1, 7)[::-1, None]
    sign = -1 if greater_is_better else 1

    def score(truth, prediction):
        return sign * np.mean((truth - prediction) ** 2)

    kwargs = {"n_members": 1, "random_state": 0}
    named = greedy_selection(p, y, score="squared_error", **kwargs)
    called = greedy_selection(
        p, y, score=score, greater_is_better=greater_is_better, **kwargs
    )
    np.testing.assert_array_equal(named.weights, [0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(called.weights, named.weights)
    assert called.path[0].score == pytest.approx(sign * named.path[0].score)


@pytest.mark.parametrize("score", ["nll", "brier", "accuracy"])
def test_weights_sum_to_one(score):
    """See https://github.com/automl/auto-sklearn/issues/1718 (case 77)."""
    p, y = draw(n_members=80, n=100, seed=7, dtype=np.float32)
    p = np.concatenate([p, p[:5]])  # repeated models tie
    result = greedy_selection(
        p, y, n_members=50, score=score, max_rounds=50, patience=None, random_state=0
    )
    assert (result.weights >= 0).all()
    assert abs(result.weights.sum() - 1) < 1e-12
    counts = result.weights * (result.best + 1)
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-12)


def test_members_that_are_not_finite_are_never_taken():
    """See https://github.com/autogluon/autogluon/issues/5317 (case 81)."""
    p, y = draw()
    broken = np.array(p)
    broken[0] = np.inf
    broken[4, 2, 1] = np.nan
    for score in ["nll", "brier", "accuracy", METRICS["nll"]]:
        result = greedy_selection(
            broken, y, n_members=12, score=score, max_rounds=20, patience=None
        )
        assert result.weights[0] == result.weights[4] == 0
        assert np.isfinite([step.score for step in result.path]).all()


def test_equals_exhaustive_search_over_pairs():
    """With two rounds and the best single model given, greedy tries every pair."""
    p, y = draw(seed=11)
    first = int(np.argmin([METRICS["nll"](y, m) for m in p]))
    best = min(METRICS["nll"](y, p[[first, m]].mean(axis=0)) for m in range(len(p)))
    result = greedy_selection(p, y, n_members=2, max_rounds=2, patience=None)
    assert result.path[1].score == pytest.approx(best, abs=1e-12)


def test_equals_exhaustive_search_where_errors_are_orthogonal():
    """With orthogonal unit errors, counts k give the loss |k|^2 / (sum k)^2.

    Greedy keeps the counts level, so it must reach the best of its size.
    """
    n_members = 4
    y = np.zeros(n_members)
    p = np.eye(n_members)
    for rounds in range(1, 7):
        losses = [
            np.mean(np.mean(p[list(taken)], axis=0) ** 2)
            for taken in itertools.combinations_with_replacement(
                range(n_members), rounds
            )
        ]
        result = greedy_selection(
            p,
            y,
            n_members=4,
            score="squared_error",
            max_rounds=rounds,
            patience=None,
            random_state=rounds,
        )
        assert result.path[-1].score == pytest.approx(min(losses), abs=1e-12)


def test_squared_error_of_several_outputs_equals_a_callable():
    rng = np.random.default_rng(4)
    y = rng.normal(size=(25, 2))
    p = 1e4 + y + rng.normal(size=(7, 25, 2))
    kwargs = {"n_members": 5, "max_rounds": 10, "patience": None, "random_state": 0}
    named = greedy_selection(p, y + 1e4, score="squared_error", **kwargs)
    called = greedy_selection(
        p, y + 1e4, score=lambda t, q: np.mean((t - q) ** 2), **kwargs
    )
    assert [s.member for s in named.path] == [s.member for s in called.path]
    np.testing.assert_allclose(
        [s.score for s in named.path], [s.score for s in called.path], rtol=1e-9
    )


def test_float32_far_from_zero_is_decided_in_float64():
    rng = np.random.default_rng(6)
    y = 1e4 + rng.normal(size=300)
    p = (y + rng.normal(size=(30, 300))).astype(np.float32)
    kwargs = {"n_members": 30, "max_rounds": 20, "patience": None, "random_state": 0}
    low = greedy_selection(p, y, score="squared_error", **kwargs)
    high = greedy_selection(p.astype(float), y, score="squared_error", **kwargs)
    assert [s.member for s in low.path] == [s.member for s in high.path]


def test_ties_fall_by_seed():
    p, y = draw(n_members=1)
    copies = np.repeat(p, 6, axis=0)

    def first(seed):
        result = greedy_selection(copies, y, n_members=6, random_state=seed)
        return result.path[0].member

    assert [first(s) for s in range(8)] == [first(s) for s in range(8)]
    assert len({first(s) for s in range(8)}) > 1
    # Copies add nothing: rounding is no improvement.
    result = greedy_selection(copies, y, n_members=6, patience=None, random_state=0)
    assert result.best == 0


def test_sorted_initialisation_starts_from_the_best_singles():
    p, y = draw(seed=8)
    order = np.argsort([METRICS["nll"](y, m) for m in p])
    result = greedy_selection(p, y, n_members=5, n_initial=3, max_rounds=10)
    assert [step.member for step in result.path[:3]] == list(order[:3])
    assert result.weights.sum() == pytest.approx(1)


def test_bagging_is_seeded_and_keeps_the_number_of_members():
    p, y = draw(n_members=30, seed=9)
    kwargs = {"n_members": 4, "n_bags": 6, "max_rounds": 10, "patience": None}
    one = greedy_selection(p, y, random_state=1, **kwargs)
    two = greedy_selection(p, y, random_state=1, **kwargs)
    np.testing.assert_array_equal(one.weights, two.weights)
    assert one.path == two.path
    assert {step.bag for step in one.path} == set(range(6))
    assert np.count_nonzero(one.weights) <= 4
    assert abs(one.weights.sum() - 1) < 1e-12
    assert one.path[one.best].score == min(step.score for step in one.path)


def test_top_k_takes_the_best_singles_with_equal_weights():
    p, y = draw(seed=10)
    order = np.argsort([METRICS["nll"](y, m) for m in p])
    result = top_k_selection(p, y, n_members=4)
    assert [step.member for step in result.path] == list(order[:4])
    np.testing.assert_allclose(result.weights[order[:4]], 0.25)
    expected = log_loss(y, p[order[:4]].mean(axis=0))
    assert result.path[result.best].score == pytest.approx(expected, abs=1e-12)


def test_memory_map_and_string_labels(tmp_path):
    p, y = draw(dtype=np.float32)
    path = tmp_path / "p.npy"
    np.save(path, p)
    mapped = np.load(path, mmap_mode="r")
    names = np.array(["x", "y", "z"])
    one = greedy_selection(mapped, names[y], n_members=4, labels=names)
    two = greedy_selection(p, y, n_members=4)
    np.testing.assert_array_equal(one.weights, two.weights)


@pytest.mark.parametrize("score", ["nll", "accuracy"])
def test_large_columns_go_to_disk_without_a_difference(score, monkeypatch):
    p, y = draw(dtype=np.float32)
    kwargs = {"n_members": 4, "score": score, "random_state": 0}
    one = greedy_selection(p, y, **kwargs)
    monkeypatch.setattr("accsmbo.ensembles._ensemble_objective.MEMORY_LIMIT", 0)
    two = greedy_selection(p, y, **kwargs)
    assert one.path == two.path


def test_zero_probabilities_are_clipped_like_the_metric():
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    p = np.eye(2)[rng.integers(0, 2, (5, 20))]
    result = greedy_selection(p, y, n_members=5, max_rounds=6, patience=None)
    taken = [step.member for step in result.path]
    expected = [log_loss(y, p[taken[: i + 1]].mean(axis=0)) for i in range(6)]
    np.testing.assert_allclose([s.score for s in result.path], expected, atol=1e-10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_members": 0}, "n_members must be an integer >= 1, got 0"),
        ({"max_rounds": 0}, "max_rounds must be an integer >= 1"),
        ({"patience": 0}, "patience must be an integer >= 1"),
        ({"n_bags": 0}, "n_bags must be an integer >= 1"),
        ({"n_initial": 4}, "n_initial must be at most n_members=3"),
        ({"bag_fraction": 0}, r"bag_fraction must be in \(0, 1\], got 0"),
        ({"score": "auc"}, "score must be one of .*'nll'.*got 'auc'"),
        ({"predictions": np.ones(3)}, "predictions must have shape"),
        ({"predictions": np.full((2, 40, 3), np.nan)}, "finite for at least one"),
        ({"predictions": np.full((2, 40, 3), 2.0)}, r"probabilities in \[0, 1\]"),
        ({"predictions": np.ones((2, 40))}, "score='nll' needs predictions of shape"),
        ({"y": np.zeros(39)}, "inconsistent numbers of samples"),
    ],
)
def test_errors_name_the_argument(changes, message):
    p, y = draw()
    arguments = {"predictions": p, "y": y, "n_members": 3} | changes
    p, y = arguments.pop("predictions"), arguments.pop("y")
    with pytest.raises(ValueError, match=message):
        greedy_selection(p, y, **arguments)
