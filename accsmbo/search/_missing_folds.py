# SPDX-License-Identifier: BSD-3-Clause
"""Results of candidates that did not get all folds, in scikit-learn's form.

Notation
--------
n       candidates
K       folds
run     (n, K)  which folds were run
"""

from collections.abc import Mapping

import numpy as np
from scipy.stats import rankdata

__all__ = ["correct_for_missing_folds", "filled", "folds_run"]

NUMBERS = ("test_scores", "train_scores", "fit_time", "score_time")


def folds_run(records, n_folds):
    """Tell which folds were run.

    Parameters
    ----------
    records : sequence of (Trial, Evaluation)
        Finished trials.
    n_folds : int
        K.

    Returns
    -------
    ndarray of bool of shape (n, K)
        All True without racing.
    """
    run = np.ones((len(records), n_folds), dtype=bool)
    for row, (_, evaluation) in zip(run, records, strict=True):
        if evaluation.partial:
            row[:] = False
            row[list(evaluation.fold_indices)] = True
    return run


def filled(records, run):
    """Return K fold records for each candidate.

    Parameters
    ----------
    records : sequence of (Trial, Evaluation)
        Finished trials.
    run : ndarray of bool of shape (n, K)
        From :func:`folds_run`.

    Returns
    -------
    list of dict
        Of length n K; a fold that was not run has the means of those that were, so
        that the means over all K are theirs.
    """
    result = []
    for row, (_, evaluation) in zip(run, records, strict=True):
        folds = iter(evaluation.folds)
        filler = None if row.all() else _mean_record(evaluation.folds)
        result += [next(folds) if was_run else filler for was_run in row]
    return result


def _mean_record(folds):
    names = [name for name in NUMBERS if name in folds[0]]
    return folds[0] | {name: _mean([fold[name] for fold in folds]) for name in names}


def _mean(values):
    if isinstance(values[0], Mapping):
        return {key: _mean([value[key] for value in values]) for key in values[0]}
    return float(np.mean(values))


def correct_for_missing_folds(results, run):
    """Put NaN where a fold was not run; standard deviations and ranks accordingly.

    Parameters
    ----------
    results : dict of ndarray
        ``cv_results_`` of :func:`filled` records; changed in place.
    run : ndarray of bool of shape (n, K)
        From :func:`folds_run`.
    """
    n_run = run.sum(axis=1)
    for name in [name for name in results if name.startswith("mean_")]:
        kind = name.removeprefix("mean_")
        columns = [f"split{i}_{kind}" for i in range(run.shape[1])]
        if columns[0] not in results:  # times: the fillers deviate by nothing
            results[f"std_{kind}"] *= np.sqrt(run.shape[1] / n_run)
            continue
        scores = np.column_stack([results[column] for column in columns])
        scores[~run] = np.nan
        for column, values in zip(columns, scores.T, strict=True):
            results[column] = values.copy()
        cut = ~run.all(axis=1)  # their means came by way of the fillers
        results[name][cut] = np.where(run, scores, 0.0).sum(axis=1)[cut] / n_run[cut]
        deviations = np.where(run, scores - results[name][:, None], 0.0)
        squares = np.sum(deviations**2, axis=1)
        results[f"std_{kind}"] = np.sqrt(squares / n_run)
        if f"rank_{kind}" in results:
            results[f"rank_{kind}"] = _ranks(scores, results[name], run)


def _ranks(scores, means, run):
    """Return ranks by means corrected for how hard the folds run were.

    A fold's effect is what the candidates with all folds score on it, against their
    mean. Among equals those with all folds come first, and the best of them is first
    of all. Means that are not finite come last, as in scikit-learn.
    """
    full = run.all(axis=1) & np.isfinite(means)
    corrected = means.copy()
    if full.any():
        effects = scores[full].mean(axis=0) - means[full].mean()
        corrected -= np.where(run, effects, 0.0).sum(axis=1) / run.sum(axis=1)
        corrected[full] = means[full]
        corrected[~full] = np.minimum(corrected[~full], means[full].max())
    corrected = np.where(np.isfinite(corrected), corrected, -np.inf)
    # Equal pairs of score and kind share a rank, so two full candidates can tie.
    order = np.lexsort((~full, -corrected))
    pairs = np.column_stack([-corrected, ~full])[order]
    new = np.r_[True, np.any(pairs[1:] != pairs[:-1], axis=1)]
    places = np.empty(len(order))
    places[order] = np.cumsum(new)
    return rankdata(places, method="min").astype(np.int32)
