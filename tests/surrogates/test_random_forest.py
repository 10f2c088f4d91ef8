# SPDX-License-Identifier: BSD-3-Clause
"""RandomForestSurrogate: contract, categories, log losses."""

import numpy as np
import pytest

from accsmbo.surrogates import RandomForestSurrogate
from accsmbo.testing import check_surrogate


def test_contract():
    check_surrogate(RandomForestSurrogate())


def test_mean_is_the_forest_s_own():
    rng = np.random.default_rng(0)
    U = rng.random((60, 3))
    y = np.sin(5 * U[:, 0]) + U[:, 1]
    model = RandomForestSurrogate().fit(U, y)
    expected = model.forest_.predict(U) * y.std() + y.mean()
    np.testing.assert_allclose(model.predict(U)[0], expected, rtol=1e-10)


def test_variance_is_the_law_of_total_variance():
    rng = np.random.default_rng(0)
    U, y = rng.random((40, 2)), rng.standard_normal(40)
    model = RandomForestSurrogate(n_estimators=5, min_samples_leaf=8).fit(U, y)
    std = model.predict(U)[1]
    X = U.astype(np.float32)
    trees = [t.tree_ for t in model.forest_.estimators_]
    means = np.stack([t.value[t.apply(X), 0, 0] for t in trees])
    within = np.stack([t.impurity[t.apply(X)] for t in trees])
    expected = np.sqrt(means.var(axis=0) + within.mean(axis=0)) * y.std()
    np.testing.assert_allclose(std, expected, rtol=1e-10)


def test_best_choice_of_many_is_isolated():
    rng = np.random.default_rng(1)
    codes = rng.integers(12, size=150)
    U = ((codes + 0.5) / 12)[:, None]
    good = np.isin(codes, [2, 7, 11])
    model = RandomForestSurrogate().fit(U, np.where(good, 0.0, 1.0), categorical=[True])
    np.testing.assert_allclose(model.predict(U)[0][good], 0.0, atol=1e-6)
    np.testing.assert_allclose(model.predict(U)[0][~good], 1.0, atol=1e-6)


def test_choice_not_seen_yet_is_predicted():
    U = np.array([[0.25], [0.25], [0.75]])
    model = RandomForestSurrogate().fit(U, [0.0, 0.1, 1.0], categorical=[True])
    mean, std = model.predict([[0.5]])
    assert 0.0 <= mean[0] <= 1.0
    assert std[0] > 0.0


def test_log_losses_over_decades():
    rng = np.random.default_rng(2)
    U = rng.random((80, 1))
    y = 10.0 ** (4.0 * U[:, 0])
    mean, std = RandomForestSurrogate(log_loss=True).fit(U, y).predict(U)
    assert np.median(np.abs(np.log10(mean) - 4.0 * U[:, 0])) < 0.1
    assert np.all(std > 0)


def test_log_losses_must_be_positive():
    with pytest.raises(ValueError, match="y must be positive with log_loss=True, got"):
        RandomForestSurrogate(log_loss=True).fit([[0.1], [0.2]], [0.0, 1.0])
