# SPDX-License-Identifier: BSD-3-Clause
"""Warnings that name the line of the user, however deep they arise."""

import os
import sys
import warnings
from pathlib import Path

import sklearn

__all__ = ["warn_user"]

OURS = tuple(
    f"{Path(file).parent}{os.sep}" for file in (__file__, str(sklearn.__file__))
)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that is neither ours nor scikit-learn's.

    The number of our frames above a warning depends on the class of the search and on
    its subclasses, so that no fixed ``stacklevel`` is right.

    Parameters
    ----------
    message : str
        What to say.
    category : type of Warning
        Its kind.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
