# SPDX-License-Identifier: BSD-3-Clause
"""Labels: bounded, printable, and at the coordinates of the values they name."""

import numpy as np
import pytest
from scipy.stats import binom, lognorm, norm, poisson

from accsmbo import Categorical, Integer, Real, Space
from accsmbo.inspection import (
    format_number,
    format_value,
    shorten,
    tick_labels,
)
from accsmbo.storage import Opaque

NUMERIC = {
    "real": Real(-3, 7),
    "real log": Real(1e-5, 1, log=True),
    "short log": Real(0.5, 8, log=True),
    "huge": Real(-1.7e308, 1.7e308),
    "tiny": Real(5, 5.0000001),
    "integer": Integer(0, 1000),
    "integer log": Integer(2, 4096, log=True),
    "few integers": Integer(1, 3),
    "many choices": Categorical(np.arange(100.0), ordered=True),
    "normal": norm(0, 3),
    "lognormal": lognorm(2),
    "poisson": poisson(30),
    "binomial": binom(3, 0.5),
}


@pytest.mark.parametrize("name", NUMERIC)
def test_ticks_stand_where_their_values_are(name):
    dimension = Space({"x": NUMERIC[name]}).subspaces[0].dimensions["x"]
    positions, labels = tick_labels(dimension)
    assert 2 <= len(labels) <= 8
    assert np.all(np.diff(positions) > 0)
    for position, label in zip(positions, labels, strict=True):
        value = float(label)
        if name != "tiny":  # its values differ in the eighth digit
            assert dimension.to_unit(value) == pytest.approx(position, abs=1e-6)


def test_ticks_of_known_dimensions():
    assert tick_labels(Real(1e-6, 1, log=True))[1] == ["1e-6", "0.0001", "0.01", "1"]
    assert tick_labels(Real(0, 1))[1] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert tick_labels(Integer(1, 3))[1] == ["1", "2", "3"]
    assert tick_labels(Integer(0, 1000))[1][-1] == "1000"
    positions, labels = tick_labels(Categorical(["a", None, True]))
    assert labels == ["a", "None", "True"]
    np.testing.assert_allclose(positions, [1 / 6, 1 / 2, 5 / 6])


def test_numbers_are_short():
    found = [format_number(x) for x in (0.123456, 1e-5, 3.2e7, 0, np.nan, -np.inf)]
    assert found == ["0.1235", "1e-5", "3.2e7", "0", "nan", "-inf"]


def test_text_is_one_printable_line_of_bounded_length():
    nasty = "a\n\x1b[31mred\x1b[0m\x07 \u202eevil \x9b2J"
    safe = shorten(nasty, 200)
    assert safe.isprintable()
    assert safe == r"a \x1b[31mred\x1b[0m\x07 \u202eevil \x9b2J"
    assert shorten("x" * 50 + "tail", 10) == "xxx…xxtail"
    assert len(shorten(nasty, 10)) == 10


def test_values_as_people_read_them():
    assert format_value("gini") == "gini"
    assert format_value(0.30000000000000004) == "0.3"
    assert format_value(None) == "None"
    assert format_value((1, 2)) == "(1, 2)"
    assert format_value(Opaque("SVC(C=1)", 2)) == "SVC(C=1)"
