# SPDX-License-Identifier: BSD-3-Clause
"""State of a training run, and checkpoints that resume it bit for bit."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from accsmbo._files import check_regular, replacing
from accsmbo.ensembles._layers._adam import AdamState


@dataclass
class TrainingState:
    """Everything that changes while a network trains.

    Attributes
    ----------
    theta : ndarray
        Parameters of the network, flat.
    adam : AdamState
        Optimizer of `theta`.
    xi : ndarray of shape (K, m, 2)
        Parameters of the hyperparameters' distributions.
    xi_adam : AdamState
        Optimizer of `xi`.
    rng : numpy.random.Generator
        Source of batches, hyperparameters and dropout masks.
    split_seed : int
        Seed of the validation split.
    epoch, step : int
        Epochs and training steps taken.
    loss_curve : list of float
        Training loss of each epoch, regulariser included.
    validation_curve : list of float
        Validation negative log-likelihood of each epoch, where it is computed.
    lambda_path : list of ndarray
        Ranges and means of the hyperparameters, (K, m, 3), at the start and after each
        epoch.
    best : tuple of ndarray or None
        Parameters and `xi` at the best validation loss.
    best_loss : float
        That loss.
    n_stale : int
        Epochs since then.
    """

    theta: np.ndarray
    adam: AdamState
    xi: np.ndarray
    xi_adam: AdamState
    rng: np.random.Generator
    split_seed: int
    epoch: int = 0
    step: int = 0
    loss_curve: list[float] = field(default_factory=list)
    validation_curve: list[float] = field(default_factory=list)
    lambda_path: list[np.ndarray] = field(default_factory=list)
    best: tuple[np.ndarray, np.ndarray] | None = None
    best_loss: float = float("inf")
    n_stale: int = 0


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise if no checkpoint can be written to a path, before anything is trained."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(
            f"checkpoint must lie in a folder that exists, got {os.fspath(path)!r}. "
            f"Make the folder {os.fspath(folder)!r} first."
        )


def save_state(path: str | os.PathLike[str], state: TrainingState, mark: str) -> None:
    """Write a state to a file, whole or not at all.

    Parameters
    ----------
    path : path-like
        File to write.
    state : TrainingState
        State to keep.
    mark : str
        Digest of settings and data; the checkpoint fits where it is equal.
    """
    path = Path(path)
    meta = {
        "fingerprint": mark,
        "rng": state.rng.bit_generator.state,
        "split_seed": state.split_seed,
        "epoch": state.epoch,
        "step": state.step,
        "adam_step": state.adam.step,
        "xi_adam_step": state.xi_adam.step,
        "n_stale": state.n_stale,
    }
    arrays: dict[str, Any] = {
        "theta": state.theta,
        "first": state.adam.first,
        "second": state.adam.second,
        "xi": state.xi,
        "xi_first": state.xi_adam.first,
        "xi_second": state.xi_adam.second,
        "loss_curve": np.array(state.loss_curve),
        "validation_curve": np.array(state.validation_curve),
        "lambda_path": np.array(state.lambda_path),
        "best_loss": np.array(state.best_loss),
    }
    if state.best is not None:
        arrays |= {"best_theta": state.best[0], "best_xi": state.best[1]}
    with replacing(path, "checkpoint") as file:
        np.savez(file, meta=np.array(json.dumps(meta)), **arrays)


def load_state(path: str | os.PathLike[str], mark: str) -> TrainingState:
    """Read a state written by `save_state`.

    Parameters
    ----------
    path : path-like
        File to read.
    mark : str
        Fingerprint of the run that wants to resume.

    Returns
    -------
    TrainingState
        The state.

    Raises
    ------
    ValueError
        If the checkpoint belongs to other settings or other data, or is no checkpoint.
    """
    check_regular(Path(path), "checkpoint")
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
            data = {name: stored[name] for name in stored.files}
        meta = json.loads(str(data["meta"]))
    except (ValueError, EOFError, KeyError, AttributeError, BadZipFile) as error:
        raise ValueError(
            f"checkpoint {os.fspath(path)!r} is not a checkpoint or is damaged. "
            "Delete the file or give another path."
        ) from error
    if meta["fingerprint"] != mark:
        raise ValueError(
            f"checkpoint {os.fspath(path)!r} belongs to another run: settings or "
            "training data differ. Delete the file or give another path."
        )
    rng = np.random.default_rng()
    rng.bit_generator.state = meta["rng"]
    best = (data["best_theta"], data["best_xi"]) if "best_theta" in data else None
    return TrainingState(
        theta=data["theta"],
        adam=AdamState(data["first"], data["second"], meta["adam_step"]),
        xi=data["xi"],
        xi_adam=AdamState(data["xi_first"], data["xi_second"], meta["xi_adam_step"]),
        rng=rng,
        split_seed=meta["split_seed"],
        epoch=meta["epoch"],
        step=meta["step"],
        loss_curve=data["loss_curve"].tolist(),
        validation_curve=data["validation_curve"].tolist(),
        lambda_path=list(data["lambda_path"]),
        best=best,
        best_loss=float(data["best_loss"]),
        n_stale=meta["n_stale"],
    )
