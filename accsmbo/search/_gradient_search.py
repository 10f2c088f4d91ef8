# SPDX-License-Identifier: BSD-3-Clause
"""GradientSearchCV: joint tuning or gradients where a model has them."""

from sklearn.utils.validation import indexable

from accsmbo._sklearn_private import check_method_params
from accsmbo.execution import OneStack
from accsmbo.history import Route
from accsmbo.search._cost import n_affordable
from accsmbo.search._gradient_objective import GradientObjective
from accsmbo.search._joint import ConfirmFirst, tune_jointly
from accsmbo.search._optimizer_search import OptimizerSearchCV
from accsmbo.search._route import choose_route

__all__ = ["GradientSearchCV"]


class GradientSearchCV(OptimizerSearchCV):
    """Base of the searches with a ``solver``: runs the route that is chosen."""

    _needs_gradients = False

    def solver_for(self, X, y=None, **params):
        """Tell how :meth:`fit` would find and score its candidates, without a fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Target.
        **params : dict of str to object
            As in :meth:`fit`.

        Returns
        -------
        Route
            Solver and reason. :meth:`fit` may go back from "joint" to "estimator", if
            that costs too much or the estimator's own fits do not confirm it;
            ``history_.route`` says so.
        """
        scorers, _ = self._get_scorers()
        X, y = indexable(X, y)
        routed = self._get_routed_params_for_fit(check_method_params(X, params=params))
        optimizer, n_trials = self._make_optimizer()
        objective = self._make_objective(X, y, scorers, routed)
        return self._route(optimizer, objective, n_trials)

    def _takes_gradients(self, optimizer):
        """Return whether an optimizer is one of those that the routes are for."""
        raise NotImplementedError

    def _route(self, optimizer, objective, n_trials):
        if not self._takes_gradients(optimizer):
            name = type(optimizer).__name__
            return Route("estimator", f"{name} does not use gradients")
        return choose_route(self, objective, optimizer.space, n_trials)

    def _plan(self, optimizer, objective, n_trials):
        plan = super()._plan(optimizer, objective, n_trials)
        route = self._route(optimizer, objective, n_trials)
        if route.solver == "joint":
            return self._plan_joint(optimizer, plan, route)
        if route.solver == "gradients":
            plan = plan._replace(objective=self._with_gradients(objective, n_trials))
        return plan._replace(route=route)

    def _plan_joint(self, optimizer, plan, route):
        limited = self.solver == "auto"
        found = tune_jointly(
            plan.objective, optimizer.space, plan.n_trials, limited=limited
        )
        plan = plan._replace(objective=self._after_joint(plan.objective))
        if found is None:
            return plan._replace(route=self._fallback("joint tuning failed"))
        if found.params is not None:
            optimizer.set_params(points_to_evaluate=[found.params])
        n_trials = max(1, plan.n_trials - found.n_spent)
        if found.loss is None:
            route = self._fallback("joint tuning would cost more than it saves")
            return plan._replace(n_trials=n_trials, route=route)
        scheduler = ConfirmFirst(plan.scheduler or OneStack(), found.loss)
        return plan._replace(n_trials=n_trials, scheduler=scheduler, route=route)

    def _after_joint(self, objective):
        """Return the objective that tells whether the joint optimum holds."""
        return objective

    def _fallback(self, reason):
        """Return the route that is taken where joint tuning steps back."""
        return Route("estimator", reason)

    def _with_gradients(self, objective, n_trials):
        n = n_affordable(objective, n_trials) if self.solver == "auto" else None
        return GradientObjective.from_values(objective, n_gradients=n)

    def _final_route(self, optimizer, plan):
        """Return the joint route where it was confirmed, else what took its place."""
        if plan.route.solver != "joint" or plan.scheduler.confirms(optimizer.history):
            return plan.route
        return self._fallback("its own fits did not confirm the joint optimum")
