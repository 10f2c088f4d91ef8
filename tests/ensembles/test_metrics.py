# SPDX-License-Identifier: BSD-3-Clause
"""Metrics against scikit-learn, loops and hand-computed values."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score, roc_curve
from sklearn.model_selection import cross_validate

from accsmbo.ensembles import metrics


def draw(n=200, c=4, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(c, 0.5), size=n).astype(dtype)
    y = np.array([rng.choice(c, p=np.asarray(row, float) / row.sum()) for row in p])
    y[:c] = np.arange(c)
    p.setflags(write=False)
    return y, p


def ece_by_loop(y, p, n_bins):
    """Naeini's definition, bin by bin, with (low, high] bins."""
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    error = 0.0
    for b in range(n_bins):
        inside = (confidence > b / n_bins) & (confidence <= (b + 1) / n_bins)
        if inside.any():
            gap = abs(right[inside].mean() - confidence[inside].mean())
            error += inside.mean() * gap
    return error


@pytest.mark.parametrize("weighted", [False, True])
def test_nll_equals_log_loss(weighted):
    y, p = draw()
    weight = np.linspace(0.1, 2, len(y)) if weighted else None
    ours = metrics.negative_log_likelihood(y, p, sample_weight=weight)
    assert ours == pytest.approx(log_loss(y, p, sample_weight=weight), abs=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nll_clips_like_log_loss(dtype):
    p = np.array([[0, 1], [1, 0], [0.5, 0.5]], dtype=dtype)
    y = [0, 0, 1]
    ours = metrics.negative_log_likelihood(y, p)
    assert ours == pytest.approx(
        log_loss(y, p), abs=1e-6 if dtype is np.float32 else 1e-10
    )


def test_binary_column_and_string_labels():
    y, p = draw(c=2)
    names = np.array(["no", "yes"])
    both = metrics.negative_log_likelihood(names[y], p, labels=names)
    column = metrics.negative_log_likelihood(y, p[:, 1])
    assert both == pytest.approx(column, abs=1e-12)
    assert both == pytest.approx(log_loss(y, p), abs=1e-10)


def test_whole_numbers_are_columns_where_a_class_is_missing():
    p = np.array([[0.1, 0.2, 0.7], [0.2, 0.5, 0.3]])
    assert metrics.accuracy([2, 1], p) == 1
    assert metrics.accuracy([2, 2], p) == 0.5
    # As many values as columns: they are sorted labels, as everywhere.
    assert metrics.accuracy([4, 2, 3], np.eye(3)[[2, 0, 1]]) == 1


def test_labels_need_not_be_sorted():
    y, p = draw(c=3)
    shuffled = [2, 0, 1]
    assert metrics.accuracy(y, p[:, shuffled], labels=shuffled) == metrics.accuracy(
        y, p
    )


def test_brier_against_scikit_learn():
    from sklearn.metrics import brier_score_loss

    y, p = draw(c=2)
    half = brier_score_loss(y, p[:, 1])
    assert metrics.brier_score(y, p) == pytest.approx(2 * half, abs=1e-10)


def test_brier_multiclass_and_shifted_form():
    y, p = draw()
    by_loop = np.mean(
        [np.sum((row - np.eye(4)[k]) ** 2) for row, k in zip(p, y, strict=True)]
    )
    paper = np.mean([np.sum(row**2) - 2 * row[k] for row, k in zip(p, y, strict=True)])
    assert metrics.brier_score(y, p) == pytest.approx(by_loop, abs=1e-10)
    shifted = metrics.brier_score(y, p, shifted=True)
    assert shifted == pytest.approx(paper, abs=1e-10)


def test_accuracy_equals_scikit_learn():
    y, p = draw()
    assert metrics.accuracy(y, p) == accuracy_score(y, p.argmax(axis=1))


@pytest.mark.parametrize("n_bins", [1, 7, 15])
def test_ece_equals_loop(n_bins):
    y, p = draw(n=500)
    ours = metrics.expected_calibration_error(y, p, n_bins=n_bins)
    assert ours == pytest.approx(ece_by_loop(y, p, n_bins), abs=1e-10)


def test_ece_by_hand_with_weights_and_bin_edges():
    # Confidences 0.75 (right, wrong) fall in (0.5, 0.75]; 1.0 (right) in (0.75, 1].
    p = np.array([[0.75, 0.25], [0.25, 0.75], [1.0, 0.0]])
    y = [0, 0, 0]
    bins = metrics.calibration_bins(y, p, n_bins=4, labels=[0, 1])
    np.testing.assert_allclose(bins.weight, [0, 0, 2 / 3, 1 / 3])
    np.testing.assert_allclose(bins.accuracy[2:], [0.5, 1])
    ece = metrics.expected_calibration_error(y, p, n_bins=4, labels=[0, 1])
    assert ece == pytest.approx(2 / 3 * 0.25)
    weighted = metrics.expected_calibration_error(
        y, p, n_bins=4, labels=[0, 1], sample_weight=[3, 1, 4]
    )
    assert weighted == pytest.approx(0.5 * 0)


def test_disagreement_equals_pairs():
    rng = np.random.default_rng(1)
    members = rng.dirichlet(np.ones(3), size=(5, 60))
    y = rng.integers(0, 3, 60)
    votes = members.argmax(axis=2)
    pairs = [np.mean(a != b) for a, b in itertools.combinations(votes, 2)]
    raw = metrics.predictive_disagreement(members)
    assert raw == pytest.approx(np.mean(pairs), abs=1e-12)
    error = np.mean(members.mean(axis=0).argmax(axis=1) != y)
    normalised = metrics.predictive_disagreement(members, y)
    assert normalised == pytest.approx(np.mean(pairs) / error, abs=1e-12)


def test_disagreement_limits_and_weights():
    same = np.array([[[0.9, 0.1], [0.2, 0.8]]] * 2)
    other = same[:, :, ::-1][:1]
    members = np.concatenate([same, other])
    assert metrics.predictive_disagreement(same) == 0
    assert metrics.predictive_disagreement(same, [0, 1]) == 0
    assert metrics.predictive_disagreement(members[1:]) == 1
    assert metrics.predictive_disagreement(members, weights=[1, 1, 0]) == 0
    assert metrics.predictive_disagreement(members, weights=[0, 1, 0]) == 0
    assert metrics.predictive_disagreement(members, [0, 1]) == np.inf


def test_members_against_ensemble():
    members = np.array([[[0.8, 0.2]], [[0.4, 0.6]]])
    scores = metrics.member_and_ensemble_scores(members, [0], labels=[0, 1])
    assert scores["nll"]["members"] == pytest.approx(-np.mean(np.log([0.8, 0.4])))
    assert scores["nll"]["ensemble"] == pytest.approx(-np.log(0.6))
    assert scores["accuracy"] == {"members": 0.5, "ensemble": 1.0}
    weighted = metrics.member_and_ensemble_scores(
        members, [0], labels=[0, 1], weights=[3, 1], metrics={"a": metrics.accuracy}
    )
    assert weighted == {"a": {"members": 0.75, "ensemble": 1.0}}


def test_out_of_distribution_metrics_equal_scikit_learn():
    rng = np.random.default_rng(2)
    known = rng.dirichlet([0.3, 0.3, 0.3], size=300).round(2)
    foreign = rng.dirichlet([1, 1, 1], size=200).round(2)
    truth = np.repeat([1, 0], [300, 200])
    confidence = np.concatenate([known.max(axis=1), foreign.max(axis=1)])
    auroc = metrics.out_of_distribution_auroc(known, foreign)
    assert auroc == pytest.approx(roc_auc_score(truth, confidence), abs=1e-12)
    fpr, tpr, _ = roc_curve(truth, confidence, drop_intermediate=False)
    expected = fpr[tpr >= 0.95].min()
    assert metrics.fpr_at_tpr(known, foreign) == pytest.approx(expected)
    assert metrics.mean_maximum_confidence(foreign) == foreign.max(axis=1).mean()


def test_scorers_in_a_cross_validation_with_a_rare_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.array(["a"] * 30 + ["b"] * 29 + ["c"])
    splits = [(np.arange(0, 59), np.arange(59, 60)), (np.arange(1, 60), np.arange(1))]
    scores = cross_validate(
        LogisticRegression(), X, y, cv=splits, scoring=metrics.SCORERS
    )
    # The first fold never saw class c: its probability is clipped at eps.
    assert scores["test_neg_nll"][0] == pytest.approx(np.log(np.finfo(float).eps))
    assert -1 < scores["test_neg_nll"][1] < 0
    assert scores["test_accuracy"][0] == 0
    assert (scores["test_neg_brier"] <= 0).all()
    assert (scores["test_neg_ece"] <= 0).all()


def test_scorer_shows_its_metric():
    assert "brier_score" in repr(metrics.SCORERS["neg_brier"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.accuracy([0, 1], [[0.5], [0.5]]), "y_prob must have shape"),
        (lambda: metrics.accuracy([0, 1], [1.5, 0]), r"y_prob must hold.*1\.5|-0\.5"),
        (lambda: metrics.accuracy([0, 1], [np.nan, 0]), "y_prob must hold"),
        (lambda: metrics.accuracy([2, 2], [0.1, 0.2]), "labels must name each of"),
        (
            lambda: metrics.accuracy([0, 5], [0.1, 0.2], labels=[0, 1]),
            "y must hold only the labels",
        ),
        (
            lambda: metrics.expected_calibration_error([0, 1], [0.1, 0.2], n_bins=0),
            "n_bins must be at least 1, got 0",
        ),
        (
            lambda: metrics.fpr_at_tpr([0.1], [0.2], tpr=0),
            r"tpr must be in \(0, 1\], got 0",
        ),
        (
            lambda: metrics.predictive_disagreement(np.ones((2, 2))),
            "predictions must have shape",
        ),
        (
            lambda: metrics.predictive_disagreement(
                np.ones((2, 2, 2)), weights=[-1, 2]
            ),
            "weights must hold 2 numbers",
        ),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
