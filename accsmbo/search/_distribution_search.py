# SPDX-License-Identifier: BSD-3-Clause
"""DistributionSearchCV: a search over ``param_distributions`` with a budget."""

from numbers import Integral

import numpy as np

from accsmbo._sklearn_private import Interval
from accsmbo.default_spaces import default_space
from accsmbo.execution import plan
from accsmbo.search._base import BaseOptimizerSearchCV
from accsmbo.space import Space

__all__ = ["DistributionSearchCV"]


class DistributionSearchCV(BaseOptimizerSearchCV):
    """Base of the searches that take ``param_distributions`` and ``n_iter``.

    A subclass returns its optimizer, without a space, from ``_new_optimizer``.
    """

    _parameter_constraints: dict = {
        **BaseOptimizerSearchCV._parameter_constraints,
        "param_distributions": [dict, list, tuple, Space, None],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator,
        param_distributions=None,
        *,
        n_iter=10,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        random_state=None,
        error_score=np.nan,
        return_train_score=False,
        timeout=None,
        trial_timeout=None,
        memory_limit=None,
        executor=None,
        storage=None,
        selection=None,
        stop_when=None,
        deterministic=False,
        max_retries=1,
        on_interrupt="stop",
        keep_predictions=False,
        callbacks=None,
    ):
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
            return_train_score=return_train_score,
            timeout=timeout,
            trial_timeout=trial_timeout,
            memory_limit=memory_limit,
            executor=executor,
            storage=storage,
            selection=selection,
            stop_when=stop_when,
            deterministic=deterministic,
            max_retries=max_retries,
            on_interrupt=on_interrupt,
            keep_predictions=keep_predictions,
            callbacks=callbacks,
        )
        self.param_distributions = param_distributions
        self.n_iter = n_iter

    def _new_optimizer(self):
        raise NotImplementedError

    def _make_optimizer(self):
        space = self.param_distributions
        if space is None:
            space = default_space(self.estimator)
        space = Space(space, allow_empty=True)
        optimizer = self._seeded(self._new_optimizer().set_params(space=space))
        return plan(optimizer, self.n_iter, "n_iter")
