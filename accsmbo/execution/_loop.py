# SPDX-License-Identifier: BSD-3-Clause
"""The one loop that submits work: keep every worker busy, tell, refill."""

import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from threadpoolctl import ThreadpoolController

from accsmbo._warnings import warn_user
from accsmbo.exceptions import (
    Converged,
    NothingReady,
    SearchInterruptedWarning,
    SpaceExhausted,
)
from accsmbo.execution._objective import Objective
from accsmbo.execution._open_trial import OpenTrial
from accsmbo.execution._proposer import running_mean
from accsmbo.execution._race import Race
from accsmbo.execution._scheduler import Scheduler
from accsmbo.execution._signals import undisturbed
from accsmbo.execution._stop_reason import StopReason
from accsmbo.execution._work import Fold, Raised
from accsmbo.execution._workers import (
    Done,
    Event,
    ExecutorBroken,
    Lost,
    Started,
    Workers,
)
from accsmbo.history import Evaluation, History, Trial
from accsmbo.optimizers import Optimizer
from accsmbo.optimizers._observations import checked
from accsmbo.storage import Journal

__all__ = ["Loop"]


class Loop:
    """State of one run; the arguments are those of :func:`accsmbo.execution.run`."""

    def __init__(
        self,
        optimizer: Optimizer,
        objective: Objective,
        workers: Workers,
        scheduler: Scheduler,
        race: Race,
        *,
        n_trials: int,
        deadline: float,
        trial_timeout: float,
        max_retries: int,
        deterministic: bool,
        journal: Journal | None,
        conditions: Sequence[Any],
        callback: Callable[[History], bool] | None,
        fold_callback: Callable[[int], Mapping[str, Any]] | None,
    ) -> None:
        self.optimizer = optimizer
        self.objective = objective
        self.workers = workers
        self.scheduler = scheduler
        self.race = race
        self.n_trials = n_trials
        self.deadline = deadline
        self.trial_timeout = trial_timeout
        self.max_retries = max_retries
        self.deterministic = deterministic
        self.journal = journal
        self.conditions = conditions
        self.callback = callback
        self.fold_callback = fold_callback
        self.stop: StopReason | None = None
        self.exhausted: StopReason | None = None
        self.noted_start = False
        self.running: dict[int, tuple[OpenTrial, int]] = {}
        self.todo: deque[tuple[OpenTrial, int]] = deque()
        self.open: dict[int, OpenTrial] = {}
        self.untold: dict[int, tuple[Trial, Evaluation]] = {}
        self.left_over = deque(optimizer.pending)
        self.n_started = len(optimizer.history)
        self.mean_seconds = 0.0
        self.controller = ThreadpoolController()

    def run(self) -> StopReason:
        """Run, and say why it ended."""
        self.race.begin(self.optimizer, steady=self.deterministic)
        n_slots = self.lag if self.deterministic else self.workers.n_slots
        self.scheduler.begin(self.optimizer, n_slots, steady=self.deterministic)
        if len(self.optimizer.history):
            self._ask_conditions()
        try:
            while self.stop is None:
                self._fill()
                if not self.running:
                    break
                for event in self.workers.wait(self._patience(self._prepare())):
                    self._handle(event)
                self._end_overdue()
        except KeyboardInterrupt:
            self._collect_finished()
            self.stop = StopReason.INTERRUPTED
        except ExecutorBroken as error:
            self._say(f"{error} Give an executor whose workers stay alive, or n_jobs.")
            self.stop = StopReason.EXECUTOR
        finally:
            self.scheduler.rest()
        if self.stop is None and (self.open or self._may_start):
            self.stop = StopReason.TIMEOUT
        return self.stop or self.exhausted or self._by_budget()

    def _by_budget(self) -> StopReason:
        """Tell a budget that is used up from one that was as large as the space."""
        history = self.optimizer.history
        points = {(t.subspace, t.unit.tobytes()) for t in history.trials}
        whole = len(points) >= history.space.size
        return StopReason.EXHAUSTED if whole else StopReason.BUDGET

    # Handing out work

    @property
    def lag(self) -> int:
        """Trials under way at once in a deterministic run."""
        return math.ceil(self.workers.n_slots / self.race.width)

    @property
    def _late(self) -> bool:
        return time.monotonic() >= self.deadline

    @property
    def _may_start(self) -> bool:
        if self.left_over:
            return True
        return self.n_started < self.n_trials and not self.exhausted

    @property
    def _has_enough(self) -> bool:
        """Whether an optimizer that wants few trials at once has enough."""
        n_folds = len(self.open) * self.race.width
        return self.optimizer.sequential and n_folds >= self.workers.n_slots

    def _fill(self) -> None:
        if self.deterministic:
            self._top_up()
        for slot in range(self.workers.n_slots):
            if slot in self.running:
                continue
            if self.stop is not None or self._late:
                return
            job = self._next_job(slot)
            if job is None:
                return
            self._start(slot, *job)

    def _start(self, slot: int, open_trial: OpenTrial, index: int) -> None:
        number = open_trial.trial.number * self.objective.n_folds + index
        callback = self.fold_callback(number) if self.fold_callback else {}
        self.running[slot] = open_trial, index
        states = self.optimizer.start_of(open_trial.trial)
        start = None if states is None else states[index]
        fold = Fold(open_trial.trial, index, self.n_trials, callback, start)
        self.workers.start(slot, fold)

    def _next_job(self, slot: int) -> tuple[OpenTrial, int] | None:
        while self.todo or (not self.deterministic and self._open_next(slot)):
            open_trial, index = self.todo.popleft()
            if open_trial.trial.number in self.open:
                return open_trial, index
        return None

    def _top_up(self) -> None:
        """Open trials up to a number that timing does not change."""
        while len(self.open) + len(self.untold) < self.lag and self.stop is None:
            if not self._open_next(0):
                return

    def _open_next(self, slot: int) -> bool:
        """Open the next trial and queue its folds; False where there is none."""
        may = self._may_start and not self._has_enough
        trial = self._next_trial(slot) if may else None
        if trial is None:
            return False
        self._note_start()
        self.n_started += 1
        open_trial = OpenTrial(trial, self.objective.n_folds)
        self.open[trial.number] = open_trial
        self._queue(open_trial, self.race.open(trial))
        return True

    def _note_start(self) -> None:
        """Record once that this run evaluates something; a resumed one may not."""
        if self.journal is not None and not self.noted_start:
            journal = self.journal
            self._write(lambda: journal.started(self.n_trials))
        self.noted_start = True

    def _queue(self, open_trial: OpenTrial, folds: Sequence[int]) -> None:
        self.todo.extend((open_trial, index) for index in folds)

    def _next_trial(self, slot: int) -> Trial | None:
        if self.left_over:
            return self.left_over.popleft()
        try:
            trial = self.scheduler.next(slot)
        except NothingReady:
            return None
        except SpaceExhausted as error:
            converged = isinstance(error, Converged)
            self.exhausted = StopReason.CONVERGED if converged else StopReason.EXHAUSTED
            return None
        if self.journal is not None:
            journal = self.journal
            self._write(lambda: journal.asked(trial))
        return trial

    def _prepare(self) -> float:
        """Use the time in which all workers are busy; return when to come back."""
        if len(self.running) == self.workers.n_slots and not self.left_over:
            n_left = 0 if self.exhausted else self.n_trials - self.n_started
            with contextlib.suppress(NothingReady, SpaceExhausted):
                return self.scheduler.idle(n_left)
        return math.inf

    # Taking results

    def _patience(self, longest: float) -> float | None:
        """Return the seconds until a limit is reached, None where there is none."""
        left = [self.trial_timeout - t.seconds() for t in self.open.values()]
        left.append(longest)
        if not self._late or self.workers.can_end:
            left.append(self.deadline - time.monotonic())
        shortest = min(left)
        return None if math.isinf(shortest) else max(shortest, 0.0)

    def _handle(self, event: Event) -> None:
        open_trial, index = self.running[event.slot]
        if isinstance(event, Started):
            open_trial.started()
            return
        del self.running[event.slot]
        number = open_trial.trial.number
        if isinstance(event, Lost):
            if number in self.open:
                self._retry(event, open_trial, index)
        elif isinstance(event.result, Raised):
            raise event.result.exception()
        elif number in self.open:
            open_trial.finish(index, event.slot, event.result)
            self._go_on(open_trial)

    def _go_on(self, open_trial: OpenTrial) -> None:
        """Close a trial whose folds are in, or queue the next of its folds."""
        if open_trial.complete:
            self._close(open_trial, open_trial.evaluation(self.objective))
            return
        folds = self.race.next(open_trial.trial, open_trial.records)
        if folds is None:
            self._close(open_trial, open_trial.partial(self.objective))
        else:
            self._queue(open_trial, folds)

    def _retry(self, event: Lost, open_trial: OpenTrial, index: int) -> None:
        if event.counts:
            open_trial.lost()
        if open_trial.n_lost > self.max_retries:
            times = "once" if open_trial.n_lost == 1 else f"{open_trial.n_lost} times"
            self._fail(open_trial, f"{event.reason}, {times}; max_retries is used up.")
        else:
            self.todo.appendleft((open_trial, index))

    def _end_overdue(self) -> None:
        if self._late and self.workers.can_end and self.running:
            self.stop = self.stop or StopReason.TIMEOUT
        if math.isinf(self.trial_timeout):
            return
        for open_trial in list(self.open.values()):
            if open_trial.seconds() > self.trial_timeout and self.stop is None:
                for slot in [s for s, r in self.running.items() if r[0] is open_trial]:
                    self.workers.end(slot)
                    del self.running[slot]
                self._fail(
                    open_trial,
                    f"the trial ran longer than trial_timeout={self.trial_timeout:g} "
                    "seconds and was ended.",
                )

    def _fail(self, open_trial: OpenTrial, error: str) -> None:
        self._close(open_trial, open_trial.evaluation(self.objective, error))

    def _close(self, open_trial: OpenTrial, evaluation: Evaluation) -> None:
        """Tell a trial that is finished, given up, or has failed."""
        trial = open_trial.trial
        del self.open[trial.number]
        if not self.deterministic:
            self._tell(trial, evaluation)
            return
        self.untold[trial.number] = trial, evaluation
        while self.untold and min(self.untold) == min([*self.open, *self.untold]):
            self._tell(*self.untold.pop(min(self.untold)))
            self._top_up()

    def _tell(self, trial: Trial, evaluation: Evaluation) -> None:
        evaluation = checked(trial, self.race.corrected(trial, evaluation))
        with undisturbed():
            if self.journal is not None:
                journal = self.journal
                self._write(lambda: journal.told(trial, evaluation))
            self.optimizer.tell(trial, evaluation)
        self.race.told(trial, evaluation)
        self._learn_pace(evaluation)
        self.scheduler.told(self.mean_seconds / self.workers.n_slots)
        if self.callback and self.callback(self.optimizer.history):
            self.stop = self.stop or StopReason.CALLBACK
        self._ask_conditions()

    def _ask_conditions(self) -> None:
        if not self.conditions:
            return
        self.scheduler.rest()
        # The other cores evaluate.
        with self.controller.limit(limits=1):
            if any(c.should_stop(self.optimizer) for c in self.conditions):
                self.stop = self.stop or StopReason.CONDITION

    def _learn_pace(self, evaluation: Evaluation) -> None:
        if evaluation.start_time is not None and evaluation.end_time is not None:
            seconds = evaluation.end_time - evaluation.start_time
            self.mean_seconds = running_mean(self.mean_seconds, seconds)

    def _collect_finished(self) -> None:
        """Tell what has finished already, after an interrupt."""
        with contextlib.suppress(Exception, KeyboardInterrupt):
            for event in self.workers.wait(0.0):
                if isinstance(event, Done):
                    self._handle(event)

    def _write(self, write: Callable[[], None]) -> None:
        if self.stop is StopReason.STORAGE:
            return
        try:
            # A record that the journal does not know to be there would be another's.
            with undisturbed():
                write()
        except OSError as error:
            self._say(
                f"the journal could not be written ({error}). What is finished is kept "
                "in memory and, up to here, in the journal. Make room, and run again "
                "to resume."
            )
            self.stop = StopReason.STORAGE

    def _say(self, text: str) -> None:
        warn_user(f"The run ended early: {text}", SearchInterruptedWarning)
