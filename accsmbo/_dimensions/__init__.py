# SPDX-License-Identifier: BSD-3-Clause
"""Dimensions of a search space."""

from accsmbo._dimensions._base import Dimension
from accsmbo._dimensions._categorical import Categorical
from accsmbo._dimensions._numeric import Integer, Real
from accsmbo._dimensions._parse import parse_dimension
from accsmbo._dimensions._quantile import Quantile

__all__ = [
    "Categorical",
    "Dimension",
    "Integer",
    "Quantile",
    "Real",
    "parse_dimension",
]
