# SPDX-License-Identifier: BSD-3-Clause
"""Running an optimizer: the loop that submits work, and minimize().

What repeats
------------
- One worker (serial, one process, one thread): the same seed gives the same history,
  and a resumed run that of an unbroken one.
- Several workers: the result of a trial does not depend on the worker that runs it, and
  the initial design not on their number; which model-based points are proposed depends
  on the order in which results come in.
- Several workers with ``deterministic=True``: the history depends on the seed and the
  number of workers alone. Results are used in the order of asking, so that a worker may
  wait for the slowest of the trials under way. With as many folds as workers, or more,
  and no racing, it is the history of one worker.
- Time and memory limits, dying workers and interrupts depend on the machine.
"""

from accsmbo.execution._executors import check_executor
from accsmbo.execution._minimize import minimize
from accsmbo.execution._objective import Objective
from accsmbo.execution._plan import plan
from accsmbo.execution._race import Race
from accsmbo.execution._runner import run
from accsmbo.execution._scheduler import OneStack, Scheduler
from accsmbo.execution._stop_reason import StopReason
from accsmbo.execution._study import as_storage, open_journal, study_seed
from accsmbo.execution._two_stacks import TwoStacks
from accsmbo.execution._workers import SerialExecutor

__all__ = [
    "Objective",
    "OneStack",
    "Race",
    "Scheduler",
    "SerialExecutor",
    "StopReason",
    "TwoStacks",
    "as_storage",
    "check_executor",
    "minimize",
    "open_journal",
    "plan",
    "run",
    "study_seed",
]
