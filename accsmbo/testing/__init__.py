# SPDX-License-Identifier: BSD-3-Clause
"""Contract tests for people who extend accsmbo."""

from accsmbo.testing._gradient import check_gradient, numerical_gradient
from accsmbo.testing._inner_problem import check_inner_problem
from accsmbo.testing._optimizer import check_optimizer
from accsmbo.testing._surrogate import check_surrogate

__all__ = [
    "check_gradient",
    "check_inner_problem",
    "check_optimizer",
    "check_surrogate",
    "numerical_gradient",
]
