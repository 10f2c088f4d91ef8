# SPDX-License-Identifier: BSD-3-Clause
"""A progress bar over epochs that shows the training loss."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    total: int, done: int, *, verbose: int
) -> Iterator[Callable[[float], None]]:
    """Yield a function to call with the loss after each epoch.

    Parameters
    ----------
    total : int
        Epochs in all.
    done : int
        Epochs already taken.
    verbose : int
        0 shows nothing.

    Yields
    ------
    callable
        Takes the loss of an epoch and moves the bar.
    """
    if not verbose:
        yield lambda loss: None
        return
    from tqdm import tqdm

    with tqdm(total=total, initial=done, unit="epoch") as bar:

        def update(loss: float) -> None:
            bar.set_postfix(loss=f"{loss:.4f}")
            bar.update()

        yield update
