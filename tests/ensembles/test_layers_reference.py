# SPDX-License-Identifier: BSD-3-Clause
"""Layers against numbers of the public TensorFlow implementation (edward2)."""

import os
from pathlib import Path

import numpy as np
import pytest

from accsmbo.ensembles._layers._convolutional import ConvolutionLayer
from accsmbo.ensembles._layers._dense import DenseLayer
from accsmbo.ensembles._layers._embedding import Embedding
from accsmbo.ensembles._layers._initializers import RandomSigns
from accsmbo.ensembles._layers._stages import (
    BackwardStep,
    Gradients,
    LinearStage,
    Signals,
)

DEFAULT_DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
DATA = Path(os.environ.get("ACCSMBO_DATA", DEFAULT_DATA))
TAGS = [
    "dense_batch",
    "dense_hyper_eq0_reg1",
    "dense_hyper_eq0_reg0",
    "dense_hyper_eq1_reg1",
    "conv_batch",
    "conv_hyper_eq0_reg1",
]
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture(scope="module")
def reference():
    path = DATA / "edward2_reference.npz"
    if not path.exists():
        pytest.skip(
            f"NOT CHECKED AGAINST EDWARD2: {path} does not exist. Set ACCSMBO_DATA to "
            "the folder with edward2_reference.npz."
        )
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def build(tag, kernel, n_members):
    options = {
        "n_members": n_members,
        "factors": RandomSigns(),
        "tuned": "hyper" in tag,
        "tie_factors": "eq1" in tag,
        "regularize_factors": "reg0" not in tag,
    }
    if tag.startswith("conv"):
        size = len(kernel)
        return ConvolutionLayer(*kernel.shape[-2:], kernel_size=size, **options)
    return DenseLayer(*kernel.shape, **options)


def test_every_stored_case_is_compared(reference):
    assert {name.split("__")[0] for name in reference} == set(TAGS)


@pytest.mark.parametrize("tag", TAGS)
def test_outputs_regulariser_and_gradients(reference, tag):
    prefix = tag + "__"
    given = {
        name.removeprefix(prefix): values
        for name, values in reference.items()
        if name.startswith(prefix)
    }
    given |= {k.replace("delta_bias", "delta"): v for k, v in given.items()}
    n_members = len(given["r"])
    n_examples = len(given["X"]) // n_members

    def by_member(rows):
        """Return member-major rows with a member axis in front."""
        return rows.reshape(n_members, n_examples, *rows.shape[1:])

    layer = build(tag, given["W"], n_members)
    params = {
        name: given[name].reshape(entry.shape)
        for name, entry in layer.parameter_shapes().items()
    }
    embedding = e = None
    lam = np.zeros((n_members, n_examples, 2))
    if layer.tuned:
        # The identity as the linear embedding makes z the embeddings themselves.
        e, lam = by_member(given["e"]), by_member(given["lam"])
        embedding = Embedding(e.shape[-1], layer.embedding_widths, units=0)
        params["C"] = np.eye(e.shape[-1])
    strengths = lam[..., 0], lam[..., 1]
    stage = LinearStage(layer, embedding, 0)
    signals = Signals(e, strengths=[strengths])

    Z, cache = stage.forward(params, by_member(given["X"]), signals)
    grads = {name: np.zeros_like(values) for name, values in params.items()}
    totals = Gradients(z=None if e is None else np.zeros_like(e))
    step = BackwardStep(grads, totals, needs_input=True)
    dX = stage.backward(params, cache, by_member(given["R"]), signals, step)

    np.testing.assert_allclose(Z, by_member(given["output"]), **TOLERANCE)
    np.testing.assert_allclose(totals.penalty, given["regularizer"], **TOLERANCE)
    np.testing.assert_allclose(dX, by_member(given["dX"]), **TOLERANCE)
    for name in layer.parameter_shapes():
        expected = given["d" + name].reshape(grads[name].shape)
        np.testing.assert_allclose(grads[name], expected, **TOLERANCE)
    if e is not None:
        np.testing.assert_allclose(totals.z, by_member(given["de"]), **TOLERANCE)
        f = stage._moving(embedding, params, e, by_regularizer=True)
        dlam = np.stack(layer.penalty(params, strengths, f=f).by_strengths(), axis=-1)
        np.testing.assert_allclose(dlam, by_member(given["dlam"]), **TOLERANCE)
