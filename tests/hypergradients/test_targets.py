# SPDX-License-Identifier: BSD-3-Clause
"""Class encoding and weights."""

import numpy as np
import pytest

from accsmbo.hypergradients._targets import (
    class_weights,
    encode_classes,
    one_hot,
    signs,
)

Y = np.array(["b", "a", "b", "c"])


def test_encoding():
    classes, index = encode_classes(Y)
    assert list(classes) == ["a", "b", "c"]
    np.testing.assert_array_equal(index, [1, 0, 1, 2])
    np.testing.assert_array_equal(one_hot(index, 3)[0], [0, 1, 0])
    np.testing.assert_array_equal(signs(np.array([0, 1])), [-1, 1])


def test_one_class():
    with pytest.raises(ValueError, match="got one class only"):
        encode_classes(np.array([3, 3]))


def test_class_weights():
    classes, _ = encode_classes(Y)
    np.testing.assert_allclose(class_weights(None, classes, Y, None), 1)
    balanced = class_weights("balanced", classes, Y, np.ones(4))
    np.testing.assert_allclose(balanced, [4 / 3, 2 / 3, 4 / 3])
    given = class_weights({"a": 5.0}, classes, Y, None)
    np.testing.assert_allclose(given, [5, 1, 1])
