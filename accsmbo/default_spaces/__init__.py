# SPDX-License-Identifier: BSD-3-Clause
"""Search spaces for the common estimators, so that a search needs none by hand."""

from accsmbo.default_spaces._default_space import default_space
from accsmbo.default_spaces._registry import register_default_space

__all__ = ["default_space", "register_default_space"]
