# SPDX-License-Identifier: BSD-3-Clause
"""Progress of a search: scikit-learn's first line, and a bar in a terminal."""

import sys
from types import TracebackType
from typing import Any

from accsmbo.history import History, Route
from accsmbo.storage import Journal

__all__ = ["Progress"]


class Progress:
    """Context manager that reports finished candidates.

    Parameters
    ----------
    verbose : int
        0: silent; from 1: the line that scikit-learn prints; exactly 1 in a terminal:
        also a bar on stderr (above 1 each fold prints its own line).
    n_trials, n_folds : int
        Size of the search.
    at_most : bool, default=False
        Whether there may be fewer fits.
    unit : str, default="candidate"
        What one trial is.
    journal : Journal or None, default=None
        What an earlier run left there is not done again.
    route : Route or None, default=None
        Said in a line of its own; the joint one may end early.
    """

    def __init__(
        self,
        verbose: int,
        n_trials: int,
        n_folds: int,
        *,
        at_most: bool = False,
        unit: str = "candidate",
        journal: Journal | None = None,
        route: Route | None = None,
    ) -> None:
        self.verbose = int(verbose)
        self.route = route
        self.n_trials = n_trials
        self.n_folds = n_folds
        self.at_most = at_most or (route is not None and route.solver == "joint")
        self.unit = unit
        self.journal = journal
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        events = [] if self.journal is None else self.journal.events
        n_done = sum(kind == "told" for kind, *_ in events)
        n_left = max(0, self.n_trials - n_done)
        if self.verbose > 0:
            limit, total = ("up to ", "at most") if self.at_most else ("", "totalling")
            sys.stdout.write(
                f"Fitting {limit}{self.n_folds} folds for each of {n_left} "
                f"{self.unit}s, {total} {self.n_folds * n_left} fits"
            )
            if self.journal is not None and n_done:
                path = str(self.journal.path)
                sys.stdout.write(f"; {n_done} {self.unit}s are in {path!r}")
            sys.stdout.write("\n")
            if self.route is not None:
                sys.stdout.write(f"Solver: {self.route.solver} ({self.route.reason})\n")
            # Worker processes write past our buffer, where the output is no terminal.
            sys.stdout.flush()
        if self.verbose == 1 and n_left and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=self.n_trials, initial=n_done, unit=self.unit)
        return self

    def update(self, history: History) -> None:
        """Count one more candidate; the bar shows the best score so far."""
        if self._bar is not None:
            self._bar.set_postfix_str(f"best score {-history.best_value:.4g}")
            self._bar.update()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
