# SPDX-License-Identifier: BSD-3-Clause
"""Running an optimizer: the loop that submits work, and minimize()."""

from accsmbo.execution._minimize import minimize
from accsmbo.execution._runner import Objective, StopReason, exhaustive, run

__all__ = ["Objective", "StopReason", "exhaustive", "minimize", "run"]
