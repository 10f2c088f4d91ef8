# SPDX-License-Identifier: BSD-3-Clause
"""Spend less on losers: which trials get how many folds, or how much of a resource."""

from accsmbo.fidelity._asha import ASHA
from accsmbo.fidelity._base import Selection
from accsmbo.fidelity._halving import SuccessiveHalving
from accsmbo.fidelity._hyperband import Hyperband
from accsmbo.fidelity._racing import Racing

__all__ = ["ASHA", "Hyperband", "Racing", "Selection", "SuccessiveHalving"]
