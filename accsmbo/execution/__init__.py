# SPDX-License-Identifier: BSD-3-Clause
"""Running an optimizer: the loop that submits work, and minimize()."""

from accsmbo.execution._executors import check_executor
from accsmbo.execution._fingerprint import estimator_fingerprint, fingerprint
from accsmbo.execution._minimize import minimize
from accsmbo.execution._objective import Objective
from accsmbo.execution._plan import plan
from accsmbo.execution._runner import run
from accsmbo.execution._scheduler import OneStack, Scheduler
from accsmbo.execution._stop_reason import StopReason
from accsmbo.execution._study import as_storage, open_journal, study_seed
from accsmbo.execution._two_stacks import TwoStacks
from accsmbo.execution._workers import SerialExecutor

__all__ = [
    "Objective",
    "OneStack",
    "Scheduler",
    "SerialExecutor",
    "StopReason",
    "TwoStacks",
    "as_storage",
    "check_executor",
    "estimator_fingerprint",
    "fingerprint",
    "minimize",
    "open_journal",
    "plan",
    "run",
    "study_seed",
]
