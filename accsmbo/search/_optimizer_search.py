# SPDX-License-Identifier: BSD-3-Clause
"""OptimizerSearchCV: a search whose optimizer is an argument."""

import numpy as np
from sklearn.base import clone

from accsmbo.optimizers import Optimizer
from accsmbo.search._distribution_search import DistributionSearchCV

__all__ = ["OptimizerSearchCV"]


class OptimizerSearchCV(DistributionSearchCV):
    """Base of the searches that take an optimizer.

    A subclass returns its own one from ``_default_optimizer``.
    """

    _parameter_constraints: dict = {
        **DistributionSearchCV._parameter_constraints,
        "optimizer": [Optimizer, None],
    }

    def __init__(
        self,
        estimator,
        param_distributions=None,
        *,
        n_iter=50,
        optimizer=None,
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
            param_distributions,
            n_iter=n_iter,
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
        self.optimizer = optimizer

    def _default_optimizer(self):
        raise NotImplementedError

    def _new_optimizer(self):
        if self.optimizer is None:
            return self._default_optimizer().set_params(random_state=self.random_state)
        optimizer = clone(self.optimizer)
        if self.random_state is not None:
            optimizer.set_params(random_state=self.random_state)
        return optimizer
