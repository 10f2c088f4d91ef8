# SPDX-License-Identifier: BSD-3-Clause
"""Running an optimizer: the loop that submits work, and minimize()."""

from accsmbo.execution._minimize import minimize
from accsmbo.execution._plan import plan
from accsmbo.execution._runner import Objective, StopReason, run

__all__ = ["Objective", "StopReason", "minimize", "plan", "run"]
