# SPDX-License-Identifier: BSD-3-Clause
"""The journal of a search: its seed, and what must be equal to resume it."""

from accsmbo._digest import digest, estimator_digest
from accsmbo.execution import as_storage, open_journal, study_seed

__all__ = ["search_journal", "seeded"]


def seeded(optimizer, storage):
    """Give an optimizer the seed of the study, where that is kept on disk.

    Parameters
    ----------
    optimizer : Optimizer
        Not started.
    storage : str, path-like, JournalStorage or None
        None changes nothing.

    Returns
    -------
    Optimizer
        The same object.
    """
    if storage is None:
        return optimizer
    seed = study_seed(as_storage(storage), optimizer.random_state)
    return optimizer.set_params(random_state=seed)


def search_journal(search, objective, optimizer, metric):
    """Open the journal of a search.

    Parameters
    ----------
    search : BaseOptimizerSearchCV
        Its ``storage`` may be None.
    objective : CrossValidationObjective
        What is evaluated.
    optimizer : Optimizer
        With the space and the seed of the study.
    metric : str
        Name of the metric that is optimised.

    Returns
    -------
    context manager
        Gives the locked journal, or None.
    """
    if search.storage is None:
        return open_journal(None, optimizer, {})
    params = [dict(objective.fit_params or {}), dict(objective.score_params or {})]

    def changing():
        names = optimizer.space.names
        return {
            "scoring": digest([search.scoring, objective.metric]),
            "estimator": estimator_digest(search.estimator, names),
        }

    prints = {
        **changing(),
        "X": digest(objective.X),
        "y": digest(objective.y),
        "fit_params": digest(params),
        "splits": digest(objective.splits),
        "error_score": digest(search.error_score),
        "return_train_score": digest(bool(search.return_train_score)),
        "keep_predictions": digest(bool(search.keep_predictions)),
    }
    if hasattr(search, "solver"):
        prints["solver"] = digest(search.solver)
    if search.selection is not None:
        prints["selection"] = digest(search.selection)
    storage = as_storage(search.storage)
    return open_journal(storage, optimizer, prints, metric, again=changing)
