# SPDX-License-Identifier: BSD-3-Clause
"""Digests of values by their content: keys of caches, fingerprints of studies.

Equal content, equal digest: not a matter of identities, addresses, the process, the
order of a dict or a set, or the layout of an array in memory.

What counts
-----------
- An estimator counts as `clone` sees it, by class and parameters; a frozen one, and one
  that a function or another object holds, with what it has learnt.
- A function or a class that can be imported from the standard library or an installed
  package is its name. Any other is its code, with its defaults, the variables of
  enclosing functions, and the globals that it reads, whatever these hold.
- Of a module, the attributes that such code names, unless it is an installed one.
- Other objects are what `pickle` would write of them.

What does not: versions of packages, compiled code of the user's own, files and
environment variables, attributes found by ``getattr`` with a computed name.
"""

from accsmbo._digest._digests import cache_key, digest, estimator_digest

__all__ = ["cache_key", "digest", "estimator_digest"]
