# SPDX-License-Identifier: BSD-3-Clause
"""AccSMBOSearchCV: the search to use by default."""

import numpy as np

from accsmbo._sklearn_private import StrOptions
from accsmbo.metalearning import Density
from accsmbo.optimizers import AccSMBO
from accsmbo.search._experience import density_of
from accsmbo.search._gradient_search import GradientSearchCV

__all__ = ["AccSMBOSearchCV"]

# Relative accuracies of the losses of the first and of the last gradients.
FIRST_TOLERANCE, LAST_TOLERANCE = 3e-2, 3e-3


class AccSMBOSearchCV(GradientSearchCV):
    """Cross-validated search that replaces a grid with a fraction of its fits.

    A drop-in replacement for scikit-learn's ``GridSearchCV`` and
    ``RandomizedSearchCV``. Its optimizer is :class:`~accsmbo.optimizers.AccSMBO`: where
    model and metric can be differentiated (:mod:`accsmbo.hypergradients`), each
    candidate comes with the gradient of its score and a handful of them is enough;
    where meta-data are shipped for the estimator, they say where to look first.

    Parameters
    ----------
    estimator : estimator
        What to tune; cloned.
    param_distributions : dict, list of dict, Space or None, default=None
        What to search: everything :class:`~accsmbo.Space` takes. None: the default
        space of the estimator, :func:`~accsmbo.default_spaces.default_space`.
    n_iter : int, default=50
        Largest number of candidates. A finite space that fits in is evaluated whole, in
        the order of ``ParameterGrid``.
    optimizer : Optimizer or None, default=None
        None: :class:`~accsmbo.optimizers.AccSMBO`. It is cloned; its space is replaced,
        and its seed where ``random_state`` is not None.
    density : "auto", Density or None, default="auto"
        Where good parameters are believed to be, see :mod:`accsmbo.metalearning`.
        "auto": the shipped meta-data of the estimator and the metric, if there are
        enough; ``density_`` says. Not together with `optimizer`.
    scoring : str, callable, list, tuple or dict, default=None
        As in scikit-learn. Where several metrics are computed, ``refit`` names the one
        that is optimised; if it does not name one, the first is.
    n_jobs : int or None, default=None
        Workers for folds and candidates: processes of the search's own, or threads or
        a cluster as an active joblib context says. None: 1; -1: all cores.
    refit : bool, str or callable, default=True
        As in scikit-learn. A callable selects among the results only.
    cv : int, cross-validation generator or iterable, default=None
        As in scikit-learn. Splits are drawn once and shared by all candidates.
    verbose : int, default=0
        0: silent; 1: a line at the start, and a progress bar in a terminal; more: a
        line for each fold that the estimator itself is fitted on.
    pre_dispatch : int or str, default="2*n_jobs"
        Without effect, kept for scikit-learn's signature: work is handed out when a
        worker is free.
    random_state : int, RandomState instance or None, default=None
        Seed of the candidates; 0 is a seed.
    error_score : "raise" or numeric, default=np.nan
        Score of a fold whose fit or scoring failed. Candidates whose score is not
        finite rank last and stay out of the model.
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
    solver : {"auto", "joint", "gradients", "estimator"}, default="auto"
        How candidates are found; each is fitted and scored by the estimator itself.
        "joint": the penalties of a linear model, perhaps the last step of a pipeline,
        are tuned while the folds are trained, for a few fits in all, and the result is
        the first candidate; if the estimator's own fits score what was expected,
        it is the only one. "gradients": each candidate comes with the gradient of its
        score, where model and metric can be differentiated. "estimator": neither.
        "auto": joint where it fits and pays, else the gradients of the first candidates
        where there are any and they pay, else neither. It never costs more than the
        same number of plain fits and depends on estimator, space, metric, splits and
        weights alone; :meth:`solver_for` tells beforehand, ``history_.route``
        afterwards. Another value that does not fit is an error.
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
        As in scikit-learn, one entry per candidate in the order of asking; every score
        is what ``cross_validate`` gives.
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
    density_ : Density or None
        The density in use; its ``source_`` says where it comes from.

    See Also
    --------
    SMBOSearchCV : Search by a surrogate of the values alone.
    accsmbo.search.RandomizedSearchCV : Independent random candidates.
    accsmbo.search.GridSearchCV : All candidates of a grid.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from accsmbo import AccSMBOSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = AccSMBOSearchCV(
    ...     LogisticRegression(max_iter=1000),
    ...     {"C": loguniform(1e-2, 1e2)},
    ...     n_iter=8,
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_score_ > 0.96
    np.True_
    """

    _parameter_constraints: dict = {
        **GradientSearchCV._parameter_constraints,
        "density": [StrOptions({"auto"}), Density, None],
        "solver": [StrOptions({"auto", "joint", "gradients", "estimator"})],
    }

    def __init__(
        self,
        estimator,
        param_distributions=None,
        *,
        n_iter=50,
        optimizer=None,
        density="auto",
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
        self.density = density
        self.solver = solver

    def _default_optimizer(self):
        # Adjoints of a fitted model: to the accuracy that a step needs.
        return AccSMBO(initial_tolerance=FIRST_TOLERANCE, tolerance=LAST_TOLERANCE)

    def _make_optimizer(self):
        if self.optimizer is not None and self.density != "auto":
            raise ValueError(
                "optimizer and density must not both be given, got "
                f"optimizer={self.optimizer!r} and density={self.density!r}. Give the "
                "density to the optimizer."
            )
        return super()._make_optimizer()

    def _takes_gradients(self, optimizer):
        return isinstance(optimizer, AccSMBO)

    def _plan(self, optimizer, objective, n_trials):
        self._own["density_"] = None
        if self.optimizer is None and isinstance(optimizer, AccSMBO):
            density = density_of(self, optimizer.space, objective)
            optimizer.set_params(density=density)
            self._own["density_"] = density
        return super()._plan(optimizer, objective, n_trials)
