# SPDX-License-Identifier: BSD-3-Clause
"""Shipping the work: mapped arrays and exceptions that cannot be pickled."""

import pickle
import threading

import numpy as np
import pytest
from scipy import sparse

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
