# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions and warnings of accsmbo."""

__all__ = [
    "Converged",
    "DensityWarning",
    "JournalDamaged",
    "JournalWarning",
    "NothingReady",
    "SearchInterruptedWarning",
    "SpaceExhausted",
    "SurrogateFailedWarning",
]


class SpaceExhausted(Exception):
    """Raised by ``ask`` when every point of a finite space has been asked.

    A loop of your own ends there. Searches, `minimize` and `run` handle it: for them it
    is an end like that of the budget.

    See Also
    --------
    NothingReady : There is more, but not now.
    Converged : Of an optimizer that has found its minimum.

    Examples
    --------
    >>> from accsmbo import GridSearch
    >>> from accsmbo.exceptions import SpaceExhausted
    >>> optimizer = GridSearch({"depth": [1, 2, 3], "weights": ["a", "b"]})
    >>> try:
    ...     while True:
    ...         trial = optimizer.ask()
    ...         optimizer.tell(trial, abs(trial.params["depth"] - 2.0))
    ... except SpaceExhausted:
    ...     len(optimizer.history)
    6
    """


class Converged(SpaceExhausted):
    """Raised by ``ask`` when an optimizer has converged and has nothing to propose.

    Local optimizers end by themselves, unlike those that explore. As a kind of
    `SpaceExhausted` it ends every loop that handles that one.

    See Also
    --------
    HOAG : Raises it; more ``n_restarts`` make it look elsewhere first.
    SpaceExhausted : There are no more points.

    Examples
    --------
    >>> from accsmbo import HOAG, Real
    >>> from accsmbo.exceptions import Converged
    >>> optimizer = HOAG({"x": Real(-1, 2)})
    >>> try:
    ...     while True:
    ...         trial = optimizer.ask()
    ...         x = trial.params["x"]
    ...         optimizer.tell(trial, (x - 1) ** 2, {"x": 2 * (x - 1)})
    ... except Converged:
    ...     round(optimizer.history.best_params["x"], 2)
    1.0
    """


class NothingReady(Exception):
    """Raised by ``ask`` when a pending trial must be told before there is another.

    Successive halving promotes when all trials of a rung are in; an optimizer of your
    own may raise it to keep trials in order. Runs leave the free workers idle until the
    next result. A loop of your own tells a pending trial and asks again.

    See Also
    --------
    SpaceExhausted : There will be no more.
    SuccessiveHalving : Waits for whole rungs.
    ASHA : Does not wait for a whole rung.

    Examples
    --------
    One trial at a time, however many workers there are:

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from accsmbo import RandomSearch, Real, minimize
    >>> from accsmbo.exceptions import NothingReady
    >>> class OneByOne(RandomSearch):
    ...     def ask(self):
    ...         if self.pending:
    ...             raise NothingReady("the pending trial must be told first.")
    ...         return super().ask()
    >>> with ThreadPoolExecutor(2) as pool:
    ...     history = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=5,
    ...                        optimizer=OneByOne(), executor=pool)
    >>> [trial.number for trial in history.trials]
    [0, 1, 2, 3, 4]
    """


class JournalDamaged(ValueError):
    """A line of a journal cannot be read, or is not where it was written.

    The message names the file, the line and the remedy. Damage at the very end, behind
    which nothing whole follows, is a `JournalWarning`: what stands before it is read.

    See Also
    --------
    JournalStorage : Reads and writes journals.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from accsmbo import JournalStorage, Real, minimize
    >>> from accsmbo.exceptions import JournalDamaged
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.jsonl"
    >>> _ = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=3,
    ...              storage=path)
    >>> lines = path.read_text().splitlines(keepends=True)
    >>> _ = path.write_text("".join(lines[:3] + lines[4:]))
    >>> try:
    ...     JournalStorage(path).load()
    ... except JournalDamaged as error:
    ...     print(str(error).partition("whose ")[2])
    line 4 cannot be read (it is that of line 5). Restore the file, ...
    """


class JournalWarning(UserWarning):
    """A journal has a damaged end, or something else changed it while a run wrote it.

    Nothing is lost by it that could be read: a run that resumes keeps the damaged lines
    in ``<name>.damaged``, and one whose journal was deleted, replaced or written by
    another writes the whole history to ``<name>.rescued`` and goes on there.

    See Also
    --------
    JournalDamaged : Whole lines follow the damage.

    Examples
    --------
    >>> import pathlib, tempfile, warnings
    >>> from accsmbo import JournalStorage, Real, minimize
    >>> from accsmbo.exceptions import JournalWarning
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.jsonl"
    >>> _ = minimize(lambda p: p["x"] ** 2, {"x": Real(-1, 2)}, n_trials=3,
    ...              storage=path)
    >>> with path.open("ab") as file:
    ...     _ = file.write(bytes(20))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", JournalWarning)
    ...     len(JournalStorage(path).load())
    3
    >>> str(caught[0].message).partition("ends in ")[2]
    '1 line that cannot be read, from line 10 on; what stands before is taken. ...'
    """


class SearchInterruptedWarning(UserWarning):
    """A run ended early: it was interrupted, or lost its journal or its workers.

    What had finished is kept: a search has its results, though it does not refit after
    Ctrl-C, and `minimize` returns the history. Time limits, callbacks and ``stop_when``
    end a run without this warning.

    See Also
    --------
    StopReason : Why a run ended.
    JournalStorage : From which the run can be resumed.

    Examples
    --------
    >>> import warnings
    >>> from accsmbo import Real, minimize
    >>> from accsmbo.exceptions import SearchInterruptedWarning
    >>> calls = []
    >>> def loss(params):
    ...     calls.append(params)
    ...     if len(calls) == 4:
    ...         raise KeyboardInterrupt  # what Ctrl-C does
    ...     return params["x"] ** 2
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SearchInterruptedWarning)
    ...     history = minimize(loss, {"x": Real(-1, 2)}, n_trials=50)
    >>> len(history)
    3
    """


class SurrogateFailedWarning(UserWarning):
    """A surrogate could not be fitted; a random point was proposed instead.

    One such step costs little and the search goes on; the optimizer warns once and
    counts them in ``n_surrogate_failures_``. Where a surrogate is being written or
    measured, an error is better.

    See Also
    --------
    SMBO : Warns; so do the optimizers built on it.
    check_surrogate : Tests a surrogate of your own.

    Examples
    --------
    >>> import warnings
    >>> from accsmbo import SMBO, Real, minimize
    >>> from accsmbo.exceptions import SurrogateFailedWarning
    >>> from accsmbo.surrogates import GaussianProcess
    >>> class Unfinished(GaussianProcess):
    ...     def fit(self, *args, **kwargs):
    ...         raise ValueError("not written yet")
    >>> optimizer = SMBO(surrogate=Unfinished())
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SurrogateFailedWarning)
    ...     minimize(lambda p: p["x"], {"x": Real(0, 1)}, optimizer=optimizer)
    Traceback (most recent call last):
    accsmbo.exceptions.SurrogateFailedWarning: the surrogate failed ...
    """


class DensityWarning(UserWarning):
    """A density of good hyperparameters is ignored, or says little.

    It is ignored where it rests on fewer than ``MIN_TASKS`` earlier tasks; it says
    little where the best points of one task are hardly denser than elsewhere under what
    was learned from the others. The search itself is sound in both cases.

    See Also
    --------
    EmpiricalDensity : Its ``score_`` and ``n_tasks_`` say how much it knows.
    PriorDensity : A belief given by hand always counts.

    Examples
    --------
    >>> import warnings
    >>> from accsmbo import AccSMBO, EmpiricalDensity, Real
    >>> from accsmbo.exceptions import DensityWarning
    >>> space = {"C": Real(1e-3, 1e3, log=True)}
    >>> density = EmpiricalDensity().fit([{"C": 1.0}, {"C": 4.0}], space)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", DensityWarning)
    ...     trial = AccSMBO(space, density=density).ask()
    >>> print(caught[0].message)
    density is ignored: it rests on 2 source tasks ...
    """
