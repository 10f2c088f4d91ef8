# SPDX-License-Identifier: BSD-3-Clause
"""Metadata reaches estimator, scorer and splitter, with routing on and off."""

import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import BaseCrossValidator, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import MetadataRouter

from tests._searches import (
    SEARCHES,
    Log,
    Recorder,
    make_search,
    rows_of,
    small_data,
)

SPACE = {"a": [1, 2]}


class RecordingSplitter(BaseCrossValidator):
    """Two halves; notes the groups and the metadata it is given."""

    def __init__(self):
        self.calls = []

    def get_n_splits(self, X=None, y=None, groups=None):
        return 2

    def split(self, X, y=None, groups=None):
        self.calls.append(groups)
        rows = np.arange(len(X))
        yield rows[::2], rows[1::2]
        yield rows[1::2], rows[::2]


def recording_metric(y_true, y_pred, sample_weight=None):
    SCORED.append(None if sample_weight is None else np.array(sample_weight))
    return accuracy_score(y_true, y_pred, sample_weight=sample_weight)


SCORED: list = []


@pytest.fixture
def data():
    X, y = small_data()
    SCORED.clear()
    return X, y, np.arange(1.0, len(y) + 1)


@pytest.mark.parametrize("cls", SEARCHES)
@pytest.mark.filterwarnings("ignore:The scoring .* does not support sample_weight")
def test_fit_parameters_are_cut_to_the_fold_without_routing(cls, data):
    X, y, weights = data
    log = Log()
    splitter = RecordingSplitter()
    search = make_search(cls, Recorder(log=log), SPACE, cv=splitter, n_iter=2)
    search.fit(X, y, sample_weight=weights, other=weights * 2, scalar="as it is")
    assert len(log) == 5  # 2 candidates, 2 folds, refit
    for call in log:
        rows = rows_of(X, call["X"])
        np.testing.assert_array_equal(call["sample_weight"], weights[rows])
        np.testing.assert_array_equal(call["other"], 2 * weights[rows])
        assert call["scalar"] == "as it is"
    assert len(log[-1]["X"]) == len(X)


@pytest.mark.parametrize("cls", SEARCHES)
def test_groups_go_to_the_splitter_without_routing(cls, data):
    X, y, _ = data
    groups = np.arange(len(y)) // 5
    splitter = RecordingSplitter()
    make_search(cls, Recorder(), SPACE, cv=splitter, n_iter=2).fit(X, y, groups=groups)
    assert splitter.calls
    for seen in splitter.calls:
        np.testing.assert_array_equal(seen, groups)


@pytest.mark.parametrize("cls", SEARCHES)
@config_context(enable_metadata_routing=True)
def test_metadata_is_routed_to_estimator_scorer_and_splitter(cls, data):
    X, y, weights = data
    log = Log()
    scorer = make_scorer(recording_metric).set_score_request(sample_weight=True)
    estimator = Recorder(log=log).set_fit_request(sample_weight=True)
    groups = np.arange(len(y)) // 5
    search = make_search(
        cls, estimator, SPACE, scoring=scorer, cv=GroupKFold(4), n_iter=2
    )
    search.fit(X, y, sample_weight=weights, groups=groups)
    assert len(log) == 9
    assert len(SCORED) == 8
    for call in log:
        rows = rows_of(X, call["X"])
        np.testing.assert_array_equal(call["sample_weight"], weights[rows])
    for call in log[:-1]:
        assert len(call["X"]) == 30  # whole groups: 2 of 8 groups are left out
    for seen in SCORED:
        assert len(seen) == 10


@pytest.mark.parametrize("cls", SEARCHES)
@config_context(enable_metadata_routing=True)
def test_metadata_that_is_not_requested_stays_away(cls, data):
    X, y, weights = data
    log = Log()
    estimator = Recorder(log=log).set_fit_request(sample_weight=False)
    scorer = make_scorer(recording_metric).set_score_request(sample_weight=True)
    search = make_search(cls, estimator, SPACE, scoring=scorer, cv=2, n_iter=2)
    search.fit(X, y, sample_weight=weights)
    assert all(call["sample_weight"] is None for call in log)
    assert all(seen is not None for seen in SCORED)


@pytest.mark.parametrize("cls", SEARCHES)
@config_context(enable_metadata_routing=True)
def test_unset_requests_are_an_error_that_names_the_metadata(cls, data):
    X, y, weights = data
    search = make_search(cls, Recorder(), SPACE, cv=2, n_iter=2)
    message = re.escape("[sample_weight] are passed but are not explicitly set")
    with pytest.raises(UnsetMetadataPassedError, match=message):
        search.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("cls", SEARCHES)
@config_context(enable_metadata_routing=True)
def test_score_routes_to_the_scorer(cls, data):
    X, y, weights = data
    scorer = make_scorer(recording_metric).set_score_request(sample_weight=True)
    estimator = Recorder().set_fit_request(sample_weight=True)
    search = make_search(cls, estimator, SPACE, scoring=scorer, cv=2, n_iter=2)
    search.fit(X, y, sample_weight=weights)
    SCORED.clear()
    search.score(X, y, sample_weight=weights)
    np.testing.assert_array_equal(SCORED, [weights])


@pytest.mark.parametrize("cls", SEARCHES)
@config_context(enable_metadata_routing=True)
def test_routing_through_a_pipeline_and_a_search_around_a_search(cls, data):
    X, y, weights = data
    final = LogisticRegression().set_fit_request(sample_weight=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    scorer = make_scorer(recording_metric).set_score_request(sample_weight=True)
    inner = make_search(
        cls,
        make_pipeline(scaler, final),
        {"logisticregression__C": [0.1, 1.0]},
        scoring=scorer,
        cv=2,
        n_iter=2,
    )
    outer = make_search(
        cls, inner, {"refit": [True]}, scoring=scorer, cv=2, n_iter=1
    ).fit(X, y, sample_weight=weights)
    assert outer.best_estimator_.best_params_
    assert all(seen is not None for seen in SCORED)


@pytest.mark.parametrize("cls", SEARCHES)
def test_router_lists_estimator_scorer_and_splitter(cls):
    search = make_search(cls, Recorder(), SPACE, cv=2)
    with config_context(enable_metadata_routing=True):
        router = search.get_metadata_routing()
    assert isinstance(router, MetadataRouter)
    assert {"estimator", "scorer", "splitter"} <= set(router._route_mappings)
