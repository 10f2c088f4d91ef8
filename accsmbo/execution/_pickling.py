# SPDX-License-Identifier: BSD-3-Clause
"""cloudpickle, wherever joblib keeps it: it came with joblib until 1.5."""

try:
    import cloudpickle  # type: ignore[import-untyped,unused-ignore]
except ImportError:
    from joblib.externals import cloudpickle

__all__ = ["cloudpickle"]
