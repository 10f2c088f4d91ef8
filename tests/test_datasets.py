# SPDX-License-Identifier: BSD-3-Clause
"""Data sets: the real tables where they are at hand, errors everywhere."""

import gzip
import re

import numpy as np
import pytest

from accsmbo.datasets import data_folder, load_pc4

needs_pc4 = pytest.mark.skipif(
    not (data_folder() / "pc4.csv.gz").exists(),
    reason=f"NO DATA: {data_folder() / 'pc4.csv.gz'} is missing; set ACCSMBO_DATA",
)


@needs_pc4
def test_pc4_has_its_shape_and_labels():
    X, y = load_pc4()
    assert X.shape == (1458, 37)
    assert X.dtype == np.float64
    assert np.isfinite(X).all()
    assert np.bincount(y).tolist() == [1280, 178]


def test_the_argument_goes_before_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ACCSMBO_DATA", str(tmp_path / "environment"))
    assert data_folder() == tmp_path / "environment"
    assert data_folder(tmp_path) == tmp_path
    monkeypatch.delenv("ACCSMBO_DATA")
    assert data_folder().parts[-2:] == ("shared", "data")


def test_a_missing_file_says_where_it_was_looked_for(tmp_path):
    message = rf"pc4\.csv\.gz, got none at {re.escape(str(tmp_path))}.*ACCSMBO_DATA"
    with pytest.raises(FileNotFoundError, match=message):
        load_pc4(tmp_path)


def test_another_table_is_refused(tmp_path):
    with gzip.open(tmp_path / "pc4.csv.gz", "wt") as stream:
        stream.write("a,b,Class\n1,2,TRUE\n3,4,FALSE\n")
    message = r"must hold 1458 rows of 37 features.*got shape \(2, 2\) with 1.*replace"
    with pytest.raises(ValueError, match=message):
        load_pc4(tmp_path)
