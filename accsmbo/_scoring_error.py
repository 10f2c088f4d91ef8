# SPDX-License-Identifier: BSD-3-Clause
"""What a scorer raised: scikit-learn puts it into a warning and forgets it."""

import pickle
import traceback
from typing import Any

from accsmbo._sklearn_private import MultimetricScorer

__all__ = ["ScoringError", "watched_scorer"]


class ScoringError(str):
    """Traceback of a scorer's exception, with the exception where it can be pickled.

    Attributes
    ----------
    exception : Exception or None
        A copy without frames, which would keep the data of the fold alive.
    """

    exception: Exception | None

    @classmethod
    def of(cls, error: Exception) -> "ScoringError":
        """Return the text of an exception."""
        text = cls("".join(traceback.format_exception(error)))
        try:
            text.exception = pickle.loads(pickle.dumps(error))
        except Exception:
            text.exception = None
        return text


class _WatchedScorer:
    """A scorer that notes the first exception it raises."""

    def __init__(self, scorer: Any) -> None:
        self.scorer = scorer
        self.error: ScoringError | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.scorer(*args, **kwargs)
        except Exception as error:
            self.error = self.error or ScoringError.of(error)
            raise

    def __repr__(self) -> str:
        return repr(self.scorer)


class _WatchedScorers(MultimetricScorer):
    """Scorers that note the exception for which there is nothing to optimise."""

    def __init__(self, scorers: Any, metric: str | None) -> None:
        super().__init__(scorers=scorers._scorers, raise_exc=scorers._raise_exc)
        self.decisive = [metric] if metric in self._scorers else list(self._scorers)
        self.error: ScoringError | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        scores = super().__call__(*args, **kwargs)
        if all(isinstance(scores[name], str) for name in self.decisive):
            # Only a second call gives the exception itself, not its text.
            name = self.decisive[0]
            single = MultimetricScorer(scorers={name: self._scorers[name]})
            try:
                single(*args, **kwargs)
            except Exception as error:
                self.error = self.error or ScoringError.of(error)
        return scores


def watched_scorer(scorer: Any, metric: str | None) -> Any:
    """Return the scorer with an attribute ``error``: what it raised, or None.

    Parameters
    ----------
    scorer : callable
        One scorer, or scikit-learn's several in one.
    metric : str or None
        Which of several is optimised; None: an error is one of all of them.

    Returns
    -------
    callable
    """
    if isinstance(scorer, MultimetricScorer):
        return _WatchedScorers(scorer, metric)
    return _WatchedScorer(scorer)
