# SPDX-License-Identifier: BSD-3-Clause
"""Selection: what ``selection=`` of a search takes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from accsmbo.evaluation import CrossValidationObjective
from accsmbo.history import Evaluation, Trial
from accsmbo.optimizers import Optimizer

__all__ = ["Selection"]

Records = Sequence[tuple[Trial, Evaluation]]


class Selection(BaseEstimator):
    """Base of the strategies that spend less on losing candidates.

    A strategy is a set of arguments: it keeps nothing of a run, so that one object
    serves many searches. A search calls the methods below in this order; each default
    changes nothing.

    Attributes
    ----------
    unit : str
        What one trial is, for the progress text.

    See Also
    --------
    Racing : Folds one after the other.
    SuccessiveHalving : All candidates with little of a resource, the best with more.
    Hyperband : Several such ladders, begun at different amounts.
    ASHA : A ladder on which nobody waits for others.

    Examples
    --------
    A strategy that saves nothing, and adds a column to the results:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from accsmbo.fidelity import Selection
    >>> from accsmbo.search import RandomizedSearchCV
    >>> class WithSeconds(Selection):
    ...     def columns(self, records):
    ...         seconds = [e.end_time - e.start_time for _, e in records]
    ...         return {"seconds": np.array(seconds)}
    >>> search = RandomizedSearchCV(
    ...     SVC(), {"C": [0.1, 1, 10, 100]}, n_iter=3, selection=WithSeconds()
    ... ).fit(*load_iris(return_X_y=True))
    >>> search.cv_results_["seconds"].shape
    (3,)
    """

    unit: str = "candidate"

    def check(self, objective: CrossValidationObjective, optimizer: Optimizer) -> None:
        """Check the arguments against what is to be tuned, before anything runs.

        Parameters
        ----------
        objective : CrossValidationObjective
            Estimator, data and folds.
        optimizer : Optimizer
            Not started; its ``space`` is what is searched.

        Raises
        ------
        ValueError
            If the strategy cannot be used with them.
        """

    def adapt(self, objective: CrossValidationObjective) -> CrossValidationObjective:
        """Return the objective that obeys the ``fidelity`` of this strategy's trials.

        Parameters
        ----------
        objective : CrossValidationObjective
            Evaluates every trial with the full resource.

        Returns
        -------
        CrossValidationObjective
            Travels to the workers.
        """
        return objective

    def wrap(
        self, optimizer: Optimizer, n_trials: int, objective: CrossValidationObjective
    ) -> tuple[Optimizer, int]:
        """Return the optimizer that is asked and told, and the budget in its trials.

        Parameters
        ----------
        optimizer : Optimizer
            Proposes candidates; not started.
        n_trials : int
            Budget in candidates.
        objective : CrossValidationObjective
            As returned by :meth:`adapt`.

        Returns
        -------
        optimizer : Optimizer
            Not started, with the ``space`` and ``random_state`` of the given one. To
            resume a run the loop makes a twin, ``type(o)(**o.get_params(deep=False))``,
            so it makes a twin of what it wraps when it starts, in the same way
            (``clone`` would take the data from a fitted density). Its history holds
            all trials, of every fidelity.
        n_trials : int
            Largest number of trials.
        """
        return optimizer, n_trials

    def race(self, objective: CrossValidationObjective) -> Any:
        """Return what decides fold by fold which trials go on.

        Parameters
        ----------
        objective : CrossValidationObjective
            As returned by :meth:`adapt`.

        Returns
        -------
        accsmbo.execution.Race or None
            None: every trial gets all folds at once.
        """
        return None

    def may_win(self, records: Records) -> NDArray[np.bool_]:
        """Tell which candidates may be the best of the search.

        Parameters
        ----------
        records : sequence of (Trial, Evaluation)
            All finished trials, in the order of ``cv_results_``.

        Returns
        -------
        ndarray of bool of shape (n_records,)
            False for candidates that did not get all the resource.
        """
        return np.ones(len(records), dtype=bool)

    def columns(self, records: Records) -> dict[str, Any]:
        """Return what ``cv_results_`` holds beyond scikit-learn's columns.

        Parameters
        ----------
        records : sequence of (Trial, Evaluation)
            All finished trials, in the order of ``cv_results_``.

        Returns
        -------
        dict of str to ndarray of shape (n_records,)
            New columns by name.
        """
        return {}

    def attributes(self, records: Records) -> dict[str, Any]:
        """Return fitted attributes of the search beyond scikit-learn's.

        Parameters
        ----------
        records : sequence of (Trial, Evaluation)
            All finished trials, in the order of ``cv_results_``.

        Returns
        -------
        dict of str to object
            Values by name.
        """
        return {}

    def advice(self, records: Records) -> str:
        """Return what to add to the message that all fits failed.

        Parameters
        ----------
        records : sequence of (Trial, Evaluation)
            All finished trials.

        Returns
        -------
        str
            Whole sentences, or nothing.
        """
        return ""
