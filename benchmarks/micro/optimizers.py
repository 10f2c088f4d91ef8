# SPDX-License-Identifier: BSD-3-Clause
"""One ask and tell of an optimizer with n finished trials."""

from accsmbo import SMBO, AccSMBO, RandomSearch, Real

OPTIMIZERS = {"AccSMBO": AccSMBO, "RandomSearch": RandomSearch, "SMBO": SMBO}
SPACE = {f"x{j}": Real(0.0, 1.0) for j in range(5)}


def loss_and_gradient(params):
    """Return a paraboloid and its gradient."""
    loss = 1 + sum((x - 0.37) ** 2 for x in params.values())
    return loss, {name: 2 * (x - 0.37) for name, x in params.items()}


class AskAndTell:
    """AccSMBO is told gradients, the others are not."""

    params = (sorted(OPTIMIZERS), (20, 100))
    param_names = ("optimizer", "n")

    def setup(self, name, n):
        history = RandomSearch(SPACE, random_state=0)
        points = [history.ask().params for _ in range(n)]
        self.optimizer = OPTIMIZERS[name](
            SPACE, points_to_evaluate=points, random_state=0
        )
        self.with_gradient = name == "AccSMBO"
        for _ in range(n):
            self.step()

    def step(self):
        trial = self.optimizer.ask()
        loss, gradient = loss_and_gradient(trial.params)
        self.optimizer.tell(trial, loss, gradient if self.with_gradient else None)

    def time_step(self, name, n):
        self.step()

    def peakmem_step(self, name, n):
        self.step()
