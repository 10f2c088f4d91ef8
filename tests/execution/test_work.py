# SPDX-License-Identifier: BSD-3-Clause
"""Shipping the work: mapped arrays, exceptions that cannot be pickled, fingerprints."""

import pickle
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from accsmbo.execution import estimator_fingerprint, fingerprint
from accsmbo.execution._work import Inline, Stored, Work, forget_work, portable


class Holds:
    n_folds = 1

    def __init__(self, **data):
        self.__dict__.update(data)


def test_large_arrays_are_mapped_and_small_ones_stay_writable():
    large = np.arange(200_000, dtype=float)
    fortran = np.asfortranarray(np.random.default_rng(0).normal(size=(500, 400)))
    small = np.arange(10.0)
    matrix = sparse.random(3000, 300, density=0.3, format="csr", random_state=0)
    objective = Holds(large=large, small=small, fortran=fortran, matrix=matrix)
    stored = Stored.save(Work.of(objective, 1))
    stored = pickle.loads(pickle.dumps(stored))
    loaded = stored.open().objective
    assert stored.open().objective is loaded
    stored.remove()
    np.testing.assert_array_equal(loaded.large, large)
    np.testing.assert_array_equal(loaded.fortran, fortran)
    np.testing.assert_array_equal(loaded.matrix.toarray(), matrix.toarray())
    assert not loaded.large.flags.writeable
    assert not loaded.large.flags.owndata
    assert loaded.fortran.flags.f_contiguous
    assert loaded.small.flags.writeable
    forget_work()
    with pytest.raises(FileNotFoundError):
        stored.open()


def test_inline_work_is_loaded_once():
    data = pickle.dumps(Work.of(Holds(a=1), 1))
    one, two = Inline("token", data), Inline("token", data)
    assert one == two
    assert one.open() is two.open()
    assert Inline("other", data).open() is not one.open()
    forget_work()


class Unpicklable(Exception):
    def __init__(self):
        super().__init__("has a lock")
        self.lock = threading.Lock()


def test_exceptions_travel_even_where_they_cannot_be_pickled():
    error = pickle.loads(portable(ValueError("bad value")))
    assert type(error) is ValueError
    assert "In a worker process" in error.__notes__[0]
    error = pickle.loads(portable(Unpicklable()))
    assert type(error) is RuntimeError
    assert "Unpicklable: has a lock" in str(error)


def same(a, b):
    return fingerprint(a) == fingerprint(b)


EQUAL = [
    (np.arange(4.0), np.arange(8.0)[::2] / 2),
    ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
    (sparse.eye(3, format="csr"), sparse.eye(3, format="csc")),
    (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 2]})),
    (Ridge(alpha=2.0), Ridge(alpha=2.0)),
    (stats.uniform(0, 1), stats.uniform(0, 1)),
    (np.random.RandomState(0), np.random.RandomState(0)),
    (np.random.default_rng(0), np.random.default_rng(0)),
    (np.array(["a", None], dtype=object), np.array(["a", None], dtype=object)),
    (object, object),
    ({1, 2}, {2, 1}),
    (threading.Lock, threading.Lock),
]
DIFFERENT = [
    (1, 1.0),
    (True, 1),
    ([1, 2], (1, 2)),
    ("1", b"1"),
    (np.arange(4), np.arange(4.0)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
    (Ridge(alpha=2.0), Ridge(alpha=3.0)),
    (stats.uniform(0, 1), stats.uniform(0, 2)),
    (lambda x: x + 1, lambda x: x + 2),
    (np.random.RandomState(0), np.random.RandomState(1)),
    ([[1], [2]], [[1, 2]]),
]


@pytest.mark.parametrize(("a", "b"), EQUAL, ids=range(len(EQUAL)))
def test_equal_content_has_equal_fingerprints(a, b):
    assert same(a, b)


@pytest.mark.parametrize(("a", "b"), DIFFERENT, ids=range(len(DIFFERENT)))
def test_different_content_has_different_fingerprints(a, b):
    assert not same(a, b)


def test_cycles_end():
    loop = []
    loop.append(loop)
    assert fingerprint(loop) == fingerprint(loop)


def test_searched_parameters_do_not_count():
    def print_of(searched, **kwargs):
        model = make_pipeline(StandardScaler(), LogisticRegression(**kwargs))
        return estimator_fingerprint(model, searched)

    name = "logisticregression__C"
    assert print_of([name], C=1) == print_of([name], C=2)
    assert print_of([name], C=1, tol=1) != print_of([name], C=1, tol=2)
    assert print_of([], C=1) != print_of([], C=2)
    step = "logisticregression"
    assert print_of([step], C=1, tol=1) == print_of([step], C=1, tol=2)
