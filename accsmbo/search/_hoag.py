# SPDX-License-Identifier: BSD-3-Clause
"""HOAGSearchCV: search by descent along hypergradients."""

import numpy as np

from accsmbo._sklearn_private import StrOptions
from accsmbo.history import Route
from accsmbo.hypergradients import NotDifferentiableError
from accsmbo.optimizers import HOAG
from accsmbo.search._gradient_objective import GradientObjective
from accsmbo.search._gradient_search import GradientSearchCV

__all__ = ["HOAGSearchCV"]


class HOAGSearchCV(GradientSearchCV):
    """Cross-validated search along the gradient of the score by the hyperparameters.

    For models and metrics that :mod:`accsmbo.hypergradients` can differentiate, and
    continuous parameters: a handful of candidates, each fitted by the estimator itself
    and differentiated. It finds the nearest minimum and ends when it has converged
    (``optimizer_.converged_``), often long before ``n_iter``.

    Parameters
    ----------
    estimator : estimator
        What to tune; cloned. A model with an inner problem, or a pipeline that ends in
        one.
    param_distributions : dict, list of dict, Space or None, default=None
        What to search: everything :class:`~accsmbo.Space` takes. None: the default
        space of the estimator, :func:`~accsmbo.default_spaces.default_space`.
        Parameters without a gradient stay at the middle of their range.
    n_iter : int, default=50
        Largest number of candidates.
    optimizer : Optimizer or None, default=None
        None: :class:`~accsmbo.optimizers.HOAG`, one descent from the middle of the
        space. It is cloned; its space is replaced, and its seed where
        ``random_state`` is not None.
    scoring : str, callable, list, tuple or dict, default=None
        As in scikit-learn. Where several metrics are computed, ``refit`` names the one
        that is optimised; if it does not name one, the first is.
    n_jobs : int or None, default=None
        Workers for folds, as in joblib; -1 uses all cores.
    refit : bool, str or callable, default=True
        As in scikit-learn. A callable selects among the results only.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn. Splits are drawn once and shared by all candidates.
    verbose : int, default=0
        0: silent; 1: a line at the start, and a progress bar in a terminal.
    pre_dispatch : int or str, default="2*n_jobs"
        Without effect, kept for scikit-learn's signature: work is handed out when a
        worker is free.
    random_state : int, RandomState instance or None, default=None
        Seed of restarts; 0 is a seed.
    error_score : "raise" or numeric, default=np.nan
        Score of a fold whose fit or scoring failed.
    return_train_score : bool, default=False
        Whether ``cv_results_`` includes training scores.
    timeout : float or None, default=None
        Seconds for the whole search. Worker processes are ended then; otherwise no fold
        starts later. The refit follows.
    trial_timeout : float or None, default=None
        Seconds for each candidate. One that takes longer is ended and counts as failed;
        it runs in a worker process, also with one job.
    memory_limit : int or None, default=None
        Bytes that a fold may allocate above what its worker process held (Linux);
        beyond, its fit fails.
    executor : int, object with ``submit`` or None, default=None
        Where to run in place of ``n_jobs``: a number of worker processes, a
        ``concurrent.futures`` executor, a Dask client, ...
    storage : str, path-like, JournalStorage or None, default=None
        Journal to which every candidate is written when it is known. One of the same
        study (data, splits, estimator, space, seed) is resumed, also with a larger
        budget.
    selection : Selection or None, default=None
        How to spend less on losing candidates, see :mod:`accsmbo.fidelity`. None:
        every candidate gets all folds and all of the data.
    stop_when : object with ``should_stop`` or list of them, default=None
        When there is nothing left to gain, see :mod:`accsmbo.stopping`: each is asked
        after each candidate, and the first true answer ends the search.
    deterministic : bool, default=False
        Make the candidates independent of timing also with several workers: results
        are used in the order of asking, at the cost of waiting for the slowest.
    max_retries : int, default=1
        How often a candidate is tried again after its worker died; then it has failed.
    solver : {"auto", "joint", "gradients"}, default="auto"
        "joint": penalties of a linear model are tuned in training, see
        :class:`AccSMBOSearchCV`. "gradients": one candidate after the other, each with
        its gradient. "auto": joint where it fits and pays, else gradients; an estimator
        or metric without gradients is an error.
    on_interrupt : {"stop", "raise"}, default="stop"
        What Ctrl-C does once a candidate is finished: end the search normally with a
        warning and without refit, or re-raise after the results are set.
    keep_predictions : bool, default=False
        Keep what each candidate predicts for the rows of its test folds, for ensembles;
        needs a classifier or a regressor. In float32; beyond 256 MB in a temporary
        file.
    callbacks : callable or list of callable, default=None
        Each is called with the :class:`~accsmbo.history.History` after each candidate;
        a true answer ends the search.

    Attributes
    ----------
    cv_results_ : dict of ndarray
        As in scikit-learn, one entry per candidate in the order of asking.
    best_estimator_ : estimator
        Refitted on all data; only with ``refit``.
    best_score_ : float
        Mean cross-validated score of the best candidate; not with a callable ``refit``.
    best_params_ : dict
        Parameters of the best candidate; ties go to the first.
    best_index_ : int
        Its index into ``cv_results_``.
    scorer_ : callable or dict
        Scorer, or scorers by name.
    n_splits_ : int
        Number of folds.
    refit_time_ : float
        Seconds for the refit; only with ``refit``.
    multimetric_ : bool
        Whether several metrics were computed.
    objective_metric_ : str
        The metric that was optimised.
    classes_ : ndarray of shape (n_classes,)
        Class labels; only with ``refit`` and a classifier.
    n_features_in_ : int
        Number of features seen by ``best_estimator_``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen by ``best_estimator_``, where it has them.
    predictions_ : OutOfFoldPredictions
        Predictions of every candidate that has all folds; only with
        ``keep_predictions``.
    history_ : History
        Every finished trial; values are losses, minus the score. Its ``route`` says
        which solver ran, and why.
    optimizer_ : Optimizer
        The optimizer after the search.

    See Also
    --------
    AccSMBOSearchCV : Global search.
    accsmbo.hypergradients.hypergradient : The gradient alone.

    References
    ----------
    .. [1] F. Pedregosa, "Hyperparameter optimization with approximate gradient",
       ICML 2016.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from accsmbo.search import HOAGSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> search = HOAGSearchCV(
    ...     model, {"logisticregression__C": loguniform(1e-4, 1e4)},
    ...     scoring="neg_log_loss",
    ... ).fit(X, y)
    >>> search.optimizer_.converged_
    True
    """

    _parameter_constraints: dict = {
        **GradientSearchCV._parameter_constraints,
        "solver": [StrOptions({"auto", "joint", "gradients"})],
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
        solver="auto",
        on_interrupt="stop",
        keep_predictions=False,
        callbacks=None,
    ):
        super().__init__(
            estimator,
            param_distributions,
            n_iter=n_iter,
            optimizer=optimizer,
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
        self.solver = solver

    _needs_gradients = True

    def _default_optimizer(self):
        return HOAG()

    def _takes_gradients(self, optimizer):
        return True

    def _route(self, optimizer, objective, n_trials):
        route = super()._route(optimizer, objective, n_trials)
        if route.solver == "estimator" and isinstance(optimizer, HOAG):
            raise NotDifferentiableError(f"HOAG needs gradients. {route.reason}")
        return route

    def _after_joint(self, objective):
        return GradientObjective.from_values(objective)

    def _fallback(self, reason):
        return Route("gradients", reason)

    def _with_gradients(self, objective, n_trials):
        return GradientObjective.from_values(objective)

    def _final_route(self, optimizer, plan):
        route = super()._final_route(optimizer, plan)
        if route.solver == "joint":
            optimizer.converged_ = True
        return route
