# SPDX-License-Identifier: BSD-3-Clause
"""Digests: equal content, equal digest; other content, another digest."""

import dataclasses
import datetime
import decimal
import enum
import functools
import math
import operator
import os
import pathlib
import pickle
import runpy
import subprocess
import sys
import textwrap
import threading
import types

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from accsmbo import AccSMBOSearchCV, Categorical, Real, Space, minimize
from accsmbo._digest import cache_key, digest, estimator_digest
from accsmbo.ensembles import BatchEnsembleClassifier
from accsmbo.search import SMBOSearchCV

RNG = np.random.default_rng(0)
MASK = RNG.random(2000) < 0.5
OTHER_MASK = MASK ^ (np.arange(2000) == 1000)
MATRIX = sparse.random(30, 20, density=0.2, format="csr", random_state=0)
WORDS = [f"word{i}" for i in range(2000)]


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a  # and no b


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: object = None


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Calls:
    def __init__(self, shift):
        self.shift = shift

    def __call__(self, params):
        return (params["x"] - self.shift) ** 2

    def method(self, params):
        return self(params)


class HasAddress:
    """Its repr is the default one, with an address."""

    def __init__(self, a):
        self.a = a


class Columns(TransformerMixin, BaseEstimator):
    """Keeps the columns of a mask."""

    def __init__(self, mask=None, more=()):
        self.mask = mask
        self.more = more

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X[:, self.mask]


def shifted(shift, how=math.pow):
    def loss(params):
        return how(params["x"] - shift, 2)

    return loss


def functions_of(source, **names):
    """Return the module of a source, which is not installed."""
    module = types.ModuleType("written_by_a_user")
    vars(module).update(names)
    exec(textwrap.dedent(source), vars(module))
    return module


def same(a, b):
    assert (digest(a) == digest(b)) == (cache_key(a) == cache_key(b))
    return digest(a) == digest(b)


def unsorted(matrix):
    coo = matrix.tocoo()
    order = RNG.permutation(coo.nnz)
    halves = np.r_[coo.data[order] / 2, coo.data[order] / 2]
    places = (
        np.r_[coo.row[order], coo.row[order]],
        np.r_[coo.col[order]][np.r_[np.arange(coo.nnz), np.arange(coo.nnz)]],
    )
    return sparse.coo_matrix((halves, places), coo.shape)


def with_zeros(matrix):
    csr = matrix.copy()
    dense = np.argwhere(csr.toarray() == 0)[:5]
    zeros = sparse.coo_array((np.zeros(5), dense.T), csr.shape)
    coo = csr.tocoo()
    return sparse.coo_array(
        (
            np.r_[coo.data, zeros.data],
            (np.r_[coo.row, zeros.row], np.r_[coo.col, zeros.col]),
        ),
        csr.shape,
    )


TABLE = pd.DataFrame({"a": [1, 2], "b": ["u", "v"], 3: [1.5, None]})
PADDED = np.dtype({"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8]})


def padded(fill):
    array = np.full(32, fill, np.uint8).view(PADDED)
    array["a"], array["b"] = [1, 2], [3.0, 4.0]
    return array


def mapped(tmp):
    np.save(tmp, np.arange(12.0))
    return np.load(tmp, mmap_mode="r")


def masked(data):
    return np.ma.MaskedArray(data, mask=[False, True])


EQUAL = {
    "stride": (np.arange(4.0), np.arange(8.0)[::2] / 2),
    "order": (RNG.normal(size=(600, 500)),) * 2,
    "negative stride": (np.arange(5), np.arange(5)[::-1][::-1].copy()),
    "objects": (np.array(["a", None], object), np.array(["a", None], object)),
    "padding": (padded(0), padded(255)),
    "dict order": ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
    "keys": ({1: 2, "a": 3, (1,): 4}, {(1,): 4, "a": 3, 1: 2}),
    "set": ({1, 2, "a"}, {"a", 2, 1}),
    "csr and csc": (MATRIX, MATRIX.tocsc()),
    "unsorted": (MATRIX, sparse.csr_matrix(MATRIX.toarray())),
    "halves": (MATRIX, unsorted(MATRIX)),
    "zeros": (MATRIX, with_zeros(MATRIX)),
    "lil": (MATRIX, MATRIX.tolil()),
    "dok": (MATRIX, MATRIX.todok()),
    "bsr": (MATRIX, sparse.bsr_array(MATRIX)),
    "index dtype": (
        MATRIX,
        sparse.csr_array(
            (MATRIX.data, MATRIX.indices.astype("i8"), MATRIX.indptr.astype("i8")),
            MATRIX.shape,
        ),
    ),
    "frame": (TABLE, TABLE.copy()),
    "blocks": (
        pd.DataFrame({"a": [1.0], "b": [2.0]}),
        pd.DataFrame({"a": [1.0]}).assign(b=[2.0]),
    ),
    "estimator": (Ridge(alpha=2.0), Ridge(alpha=2.0)),
    "fitted": (Ridge(), Ridge().fit([[1], [2]], [1, 2])),
    "distribution": (stats.uniform(0, 1), stats.uniform(0, 1)),
    "RandomState": (np.random.RandomState(0), np.random.RandomState(0)),
    "Generator": (np.random.default_rng(0), np.random.default_rng(0)),
    "class": (object, object),
    "lambda": (lambda x: x + 1, lambda x: x + 1),
    "closure": (shifted(1), shifted(1)),
    "partial": (functools.partial(max, 1), functools.partial(max, 1)),
    "method": (Calls(1).method, Calls(1).method),
    "instance": (Calls(1), Calls(1)),
    "slots": (Slots(1), Slots(1)),
    "address": (HasAddress([1]), HasAddress([1])),
    "date twice": (
        [datetime.date(1, 1, 1)] * 2,
        [datetime.date(1, 1, 1).replace()] * 2,
    ),
    "value twice": (
        [decimal.Decimal("1.5")] * 2,
        [decimal.Decimal("1.5"), decimal.Decimal("1.5")],
    ),
    "estimator twice": ([Ridge()] * 2, [Ridge(), Ridge()]),
    "scorer": (make_scorer(accuracy_score), make_scorer(accuracy_score)),
    "module": (math, math),
    "ufunc": (np.log, np.log),
    "surrogate": ("\ud800", "\ud800"),
    "huge": ([10**5000], [10**5000]),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_content_has_equal_digests(name):
    a, b = EQUAL[name]
    assert same(a, b)


DIFFERENT = {
    "int, float": (1, 1.0),
    "bool, int": (True, 1),
    "in lists": ([True], [1]),
    "in dicts": ({"a": 1}, {"a": 1.0}),
    "zero-dimensional": (np.float64(1), np.array(1.0)),
    "list, tuple": ([1, 2], (1, 2)),
    "str, bytes": ("1", b"1"),
    "None, 'None'": (None, "None"),
    "nesting": ([[1], [2]], [[1, 2]]),
    "keys and values": ({"a": "b"}, {"b": "a"}),
    "key kinds": ({1: 0}, {"1": 0}),
    "set, frozenset": ({1}, frozenset({1})),
    "dtype": (np.arange(4), np.arange(4.0)),
    "byte order": (np.arange(4, dtype="<i4"), np.arange(4, dtype=">i4")),
    "shape": (np.zeros((2, 3)), np.zeros((3, 2))),
    "empty": (np.zeros((0, 3)), np.zeros((0, 2))),
    "transposed": (np.arange(4).reshape(2, 2), np.arange(4).reshape(2, 2).T),
    "large": (np.zeros(10**5), np.r_[np.zeros(99_999), 1e-300]),
    "objects": (np.array([1, None], object), np.array([True, None], object)),
    "fields": (np.zeros(1, [("a", "f8")]), np.zeros(1, [("b", "f8")])),
    "time unit": (np.array([1], "M8[s]"), np.array([1], "M8[ms]")),
    "masked": (masked([1, 2]), np.ma.MaskedArray([1, 2])),
    "matrix": (np.asmatrix([[1]]), np.array([[1]])),
    "long double": (
        np.array([np.longdouble(1)]),
        np.array([np.longdouble(1) + np.finfo(np.longdouble).eps]),
    ),
    "mask of 2,000": (MASK, OTHER_MASK),
    "list of 2,000": (MASK.tolist(), OTHER_MASK.tolist()),
    "list in an estimator": (Columns(MASK.tolist()), Columns(OTHER_MASK.tolist())),
    "estimators in a list": (Columns(more=[Ridge(1)]), Columns(more=[Ridge(2)])),
    "vocabulary": (
        CountVectorizer(vocabulary=WORDS),
        CountVectorizer(vocabulary=[*WORDS[:1000], "other", *WORDS[1001:]]),
    ),
    "sparse dtype": (MATRIX, MATRIX.astype(np.float32)),
    "sparse value": (MATRIX, MATRIX * 2),
    "sparse shape": (sparse.csr_array((2, 3)), sparse.csr_array((2, 4))),
    "column": (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
    "column kind": (pd.DataFrame({1: [1]}), pd.DataFrame({"1": [1]})),
    "duplicate columns": (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[2, 1]], columns=["a", "a"]),
    ),
    "index": (pd.Series([1, 2]), pd.Series([1, 2], index=[1, 0])),
    "series name": (pd.Series([1], name="a"), pd.Series([1], name="b")),
    "categories": (
        pd.Series(["a"], dtype=pd.CategoricalDtype(["a", "b"])),
        pd.Series(["a"], dtype=pd.CategoricalDtype(["b", "a"])),
    ),
    "category order": (
        pd.Series(["a"], dtype=pd.CategoricalDtype(["a"])),
        pd.Series(["a"], dtype=pd.CategoricalDtype(["a"], ordered=True)),
    ),
    "nullable": (pd.Series([1, None], dtype="Int64"), pd.Series([1, 2], dtype="Int64")),
    "time zone": (
        pd.Series(pd.to_datetime(["2020"]).tz_localize("UTC")),
        pd.Series(pd.to_datetime(["2020"]).tz_localize("Asia/Tokyo")),
    ),
    "frame, array": (pd.DataFrame([[1]]), np.array([[1]])),
    "parameter": (Ridge(alpha=2.0), Ridge(alpha=3.0)),
    "output": (StandardScaler(), StandardScaler().set_output(transform="pandas")),
    "step": (make_pipeline(Ridge(1)), make_pipeline(Ridge(2))),
    "frozen": (
        FrozenEstimator(Ridge().fit([[1], [2]], [1, 2])),
        FrozenEstimator(Ridge().fit([[1], [2]], [1, 3])),
    ),
    "distribution": (stats.uniform(0, 1), stats.uniform(0, 2)),
    "RandomState": (np.random.RandomState(0), np.random.RandomState(1)),
    "Generator": (np.random.default_rng(0), np.random.default_rng(1)),
    "bits": (
        np.random.Generator(np.random.MT19937(0)),
        np.random.Generator(np.random.PCG64(0)),
    ),
    "seeds": (np.random.SeedSequence(0), np.random.SeedSequence(1)),
    "lambda": (lambda x: x + 1, lambda x: x + 2),
    "name called": (lambda x: math.sin(x), lambda x: math.cos(x)),
    "inner": (lambda x: [i + 1 for i in x], lambda x: [i + 2 for i in x]),
    "default": (lambda x, a=1: a, lambda x, a=2: a),
    "keyword default": (lambda *, a=1: a, lambda *, a=2: a),
    "argument": (lambda a=1, b=2: a, lambda b=1, a=2: b),
    "closure": (shifted(1), shifted(2)),
    "function in a closure": (shifted(1), shifted(1, how=lambda x, y: x)),
    "fitted in a closure": (
        shifted(Ridge().fit([[1], [2]], [1, 2])),
        shifted(Ridge().fit([[1], [2]], [1, 3])),
    ),
    "partial function": (functools.partial(max, 1), functools.partial(min, 1)),
    "partial argument": (functools.partial(max, 1), functools.partial(max, 2)),
    "partial keyword": (
        functools.partial(sorted, reverse=True),
        functools.partial(sorted, reverse=False),
    ),
    "instance": (Calls(1), Calls(2)),
    "method": (Calls(1).method, Calls(2).method),
    "method's name": (Calls(1).method, Calls(1).__call__),
    "built-in method": ([1].append, [2].append),
    "built-in": (len, abs),
    "operator": (operator.itemgetter(1), operator.itemgetter(2)),
    "ufunc": (np.log, np.exp),
    "cached": (
        functools.lru_cache(lambda x: x + 1),
        functools.lru_cache(lambda x: x + 2),
    ),
    "slots": (Slots(1), Slots(2)),
    "dataclass": (Point(1), Point(2)),
    "enum": (Colour.RED, Colour.BLUE),
    "date": (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    "decimal": (decimal.Decimal("1.5"), decimal.Decimal("1.6")),
    "path": (pathlib.Path("a"), pathlib.Path("b")),
    "scorer": (
        make_scorer(accuracy_score),
        make_scorer(accuracy_score, normalize=False),
    ),
    "transformer": (
        FunctionTransformer(lambda x: x),
        FunctionTransformer(lambda x: -x),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_content_has_different_digests(name):
    a, b = DIFFERENT[name]
    assert not same(a, b)
    assert same(a, a)


def test_the_layout_of_an_array_does_not_count(tmp_path):
    array = RNG.normal(size=(700, 30, 20))
    layouts = [
        np.asfortranarray(array),
        np.repeat(array, 2, axis=1)[:, ::2],
        np.ascontiguousarray(array[::-1])[::-1],
        mapped_copy(tmp_path / "a.npy", array),
    ]
    assert {digest(layout) for layout in layouts} == {digest(array)}


def mapped_copy(path, array):
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def test_a_name_that_a_function_reads_counts():
    source = """
    LIMIT = {limit}
    def helper(x): return x + {constant}
    def unused(x): return {unused}
    def f(x): return helper(x) if x > LIMIT else (lambda y: helper(y))(x)
    """

    def of(limit=0, constant=1, unused=2):
        written = source.format(limit=limit, constant=constant, unused=unused)
        return functions_of(written).f

    assert same(of(), of(unused=3))
    assert not same(of(), of(limit=1))
    assert not same(of(), of(constant=3))


def test_what_a_function_reads_of_a_module_of_the_users_own_counts():
    def of(constant):
        module = functions_of(f"def helper(x): return x + {constant}\nother = 1")
        return functions_of("def f(x): return tools.helper(x)", tools=module).f

    assert same(of(1), of(1))
    assert not same(of(1), of(2))


def test_functions_that_call_each_other_end_in_time():
    lines = [
        f"f{i} = lambda x: [{', '.join(f'f{j}(x)' for j in range(60))}]"
        for i in range(60)
    ]
    one, two = functions_of("\n".join(lines)), functions_of("\n".join(lines))
    assert same(one.f0, two.f0)


def test_a_class_of_the_same_name_with_other_code_is_another_class():
    source = """
    class Base:
        def score(self): return {base}
    class Model(Base):
        level = {level}
        def fit(self): return {fit}
        @property
        def value(self): return {value}
        @staticmethod
        def helper(): return {helper}
    """
    plain = dict.fromkeys(["base", "level", "fit", "value", "helper"], 0)

    def of(**changed):
        return functions_of(source.format(**plain | changed)).Model

    assert same(of(), of())
    for name in plain:
        assert not same(of(), of(**{name: 1})), name
        assert not same(of()(), of(**{name: 1})()), name


def test_cycles_end():
    loop = []
    loop.append(loop)
    mapping = {"a": loop}
    mapping["b"] = mapping
    node = HasAddress(None)
    node.a = {node, frozenset([node])}
    array = np.empty(1, object)
    array[0] = array
    for value in (loop, mapping, node, array):
        assert same(value, value)


def test_an_empty_cell_is_no_error():
    def outer():
        def inner():
            return later

        yield inner
        later = 1
        yield later

    assert same(next(outer()), next(outer()))


@pytest.mark.parametrize(
    "make",
    [
        object,
        threading.Lock,
        lambda: (i for i in [1]),
        lambda: memoryview(b"a"),
        lambda: np.frompyfunc(lambda x: x, 1, 1),
        lambda: Raises(),
    ],
)
def test_an_object_without_readable_content_is_a_key_of_its_own(make):
    a, b = make(), make()
    assert digest([a]) == digest([b])
    assert cache_key([a]) == cache_key([a])
    assert hash(cache_key([a])) == hash(cache_key([a]))
    assert cache_key([a]) != cache_key([b])


class Raises:
    def __reduce__(self):
        raise RuntimeError("no")


def test_the_global_random_state_is_one_thing():
    before = digest([np.random.rand, stats.norm(0, 1)])
    np.random.rand()  # noqa: NPY002
    assert digest([np.random.rand, stats.norm(0, 1)]) == before


def test_searched_parameters_do_not_count():
    def print_of(searched, more=(), **kwargs):
        steps = StandardScaler(), Columns(more=list(more)), LogisticRegression(**kwargs)
        return estimator_digest(make_pipeline(*steps), searched)

    name = "logisticregression__C"
    assert print_of([name], C=1) == print_of([name], C=2)
    assert print_of([name], C=1, tol=1) != print_of([name], C=1, tol=2)
    assert print_of([], C=1) != print_of([], C=2)
    step = ["logisticregression", name]
    assert print_of(step, C=1, tol=1) == print_of(step, C=1, tol=2)
    assert print_of([name], [Ridge(1)]) != print_of([name], [Ridge(2)])


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
    ),
    max_leaves=12,
)


def canonical(value):
    """Equal exactly where the kinds and contents are: an independent oracle."""
    if isinstance(value, dict):
        pairs = [(canonical(k), canonical(v)) for k, v in value.items()]
        return "dict", tuple(sorted(pairs, key=repr))
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(canonical(item) for item in value)
    return type(value).__name__, repr(value)


@settings(max_examples=100, deadline=None)
@given(PLAIN, PLAIN)
def test_digests_of_plain_data_are_equal_where_the_data_are(a, b):
    assert same(a, pickle.loads(pickle.dumps(a)))
    assert same(a, b) == (canonical(a) == canonical(b))


SCRIPT = """
import dataclasses, enum, functools, threading
import numpy as np, pandas as pd
from scipy import sparse, stats
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, accuracy_score
from accsmbo._digest import digest

LIMIT, NAMES = 3, {"one", "two", "three"}

def helper(x):
    return x in {"a", "b", "c"} and x not in NAMES

def objective(params, *, scale=2.0):
    return helper(params) * scale + (lambda y: y + LIMIT)(1)

class Model(BaseEstimator):
    level = 1
    def __init__(self, a=1):
        self.a = a
    def fit(self, X, y=None):
        self.b_, self.c_, self.d_ = X, y, self.level
        return super().fit(X)

class Colour(enum.Enum):
    RED = 1

@dataclasses.dataclass
class Point:
    x: float = 1.0

class Slots:
    __slots__ = ("a",)

found = list(map(digest, [
    objective, Model, Model(), Model(2).fit, Colour, Colour.RED, Point, Point(2), Slots,
    {"b", "a", frozenset(["c", "d"])}, {"x": 1, 2: 3, (1, "a"): {"s"}},
    functools.partial(objective, scale=3), threading.Lock(), np.random.rand,
    np.arange(5), np.array(["a", None], object), np.random.default_rng(0), np.log,
    pd.DataFrame({"a": [1], 2: ["x"]}), sparse.eye(3), stats.loguniform(1, 2),
    stats.rv_discrete(values=([1, 2], [0.5, 0.5])), LogisticRegression(C=2).fit,
    make_scorer(accuracy_score), make_scorer(lambda y, p: LIMIT), np.mean, len, np,
]))
print(*found)
"""


def test_digests_are_equal_in_every_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    here = runpy.run_path(str(script), run_name="__main__")["found"]
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") == "0" else "0"
    there = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.split() == here


# Caches and studies


def test_candidates_that_print_alike_get_their_own_scores():
    X = RNG.normal(size=(60, 2000))
    y = (X[:, 1000] + 0.3 * RNG.normal(size=60) > 0).astype(int)
    without = np.arange(2000) < 6
    masks = [without, without | (np.arange(2000) == 1000)]
    model = make_pipeline(Columns(), LogisticRegression())
    search = AccSMBOSearchCV(
        model,
        {
            "columns__mask": Categorical(masks),
            "logisticregression__C": Real(0.01, 10, log=True),
        },
        n_iter=6,
        cv=2,
        scoring="neg_log_loss",
        solver="gradients",
        random_state=0,
        refit=False,
    ).fit(X, y)
    assert all(e.gradient for _, e in search.history_)
    params = search.cv_results_["params"]
    assert len({p["columns__mask"].sum() for p in params}) == 2
    for row, score in zip(params, search.cv_results_["mean_test_score"], strict=True):
        model.set_params(**row)
        expected = cross_val_score(model, X, y, cv=2, scoring="neg_log_loss").mean()
        assert score == pytest.approx(expected, rel=1e-12)


SPACE = {"x": Real(-2, 2)}
OTHER_FUNCTIONS = {
    "lambdas": (lambda p: (p["x"] - 1) ** 2, lambda p: -p["x"]),
    "closures": (shifted(1), shifted(-1)),
    "partials": (
        functools.partial(lambda a, p: (p["x"] - a) ** 2, 1),
        functools.partial(lambda a, p: (p["x"] - a) ** 2, 2),
    ),
    "instances": (Calls(1), Calls(-1)),
    "methods": (Calls(1).method, Calls(-1).method),
}


def start(func, path, n_trials=4, **arguments):
    arguments = {"space": SPACE, "random_state": 0} | arguments
    return minimize(func, n_trials=n_trials, storage=path, **arguments)


@pytest.mark.parametrize("name", OTHER_FUNCTIONS)
def test_another_function_is_another_study(name, tmp_path):
    one, other = OTHER_FUNCTIONS[name]
    first = start(one, tmp_path / "study.jsonl")
    with pytest.raises(ValueError, match="func differs"):
        start(other, tmp_path / "study.jsonl")
    again = start(one, tmp_path / "study.jsonl")
    assert again.values.tolist() == first.values.tolist()


class Counts:
    def __init__(self):
        self.n = 0

    def __call__(self, params):
        self.n += 1
        return params["x"] ** 2


def test_a_function_that_notes_its_calls_goes_on_with_its_study(tmp_path):
    log = []

    def noting(params):
        log.append(params)
        return params["x"] ** 2

    counts = Counts()
    for name, func in {"log": noting, "count": counts}.items():
        path = tmp_path / name
        start(func, path)
        start(func, path, n_trials=6)
        start(func, path, n_trials=6)
        start(func, path, n_trials=7)
    assert len(log) == counts.n == 7
    start(Counts(), tmp_path / "count")
    counts.n = 100
    with pytest.raises(ValueError, match="func differs"):
        start(counts, tmp_path / "count")


def test_choices_that_print_alike_are_other_spaces(tmp_path):
    def start_with(*choices):
        return start(
            lambda p: 1.0,
            tmp_path / "study.jsonl",
            space={"c": Categorical(choices)},
            n_trials=1,
        )

    start_with(CountVectorizer(vocabulary=WORDS), len)
    start_with(CountVectorizer(vocabulary=WORDS), len)
    with pytest.raises(ValueError, match="space differs"):
        start_with(CountVectorizer(vocabulary=[*WORDS[:1000], "z", *WORDS[1001:]]), len)


def test_choices_whose_text_has_an_address_resume(tmp_path):
    def start_with(shift):
        choices = [lambda x: x + shift, lambda x: x - shift]
        space = {"f": Categorical(choices)}
        return start(lambda p: p["f"](1), tmp_path / "a", space=space, n_trials=2)

    assert start_with(1).values.tolist() == start_with(1).values.tolist()
    with pytest.raises(ValueError, match="space differs"):
        start_with(2)


def test_spaces_are_equal_where_their_choices_are():
    def space(*choices):
        return Space({"c": Categorical(choices)})

    assert space(MASK, 1) == space(MASK.copy(), 1)
    assert space(MASK, 1) != space(OTHER_MASK, 1)
    assert space(lambda x: x) == space(lambda x: x)
    assert hash(Categorical([MASK])) == hash(Categorical([MASK.copy()]))


def test_a_scorer_that_reads_another_global_is_another_study(tmp_path):
    X, y = RNG.normal(size=(40, 2)), np.arange(40) % 2
    written = functions_of("LEVEL = 1.0\ndef score(model, X, y): return LEVEL")

    def search():
        return SMBOSearchCV(
            LogisticRegression(),
            {"C": Real(0.1, 10)},
            scoring=written.score,
            n_iter=2,
            cv=2,
            random_state=0,
            storage=tmp_path / "study.jsonl",
        ).fit(X, y)

    search()
    search()
    written.LEVEL = 2.0
    with pytest.raises(ValueError, match="scoring differs"):
        search()


def test_a_checkpoint_belongs_to_its_settings_and_data(tmp_path):
    X, y = RNG.normal(size=(40, 3)), np.arange(40) % 2

    def fit(X=X, **settings):
        path = tmp_path / "run.npz"
        settings = {"hidden_layer_sizes": (4,), "max_iter": 1} | settings
        model = BatchEnsembleClassifier(random_state=0, checkpoint=path, **settings)
        return model.fit(X, y)

    fit()
    fit()
    with pytest.raises(ValueError, match="another run"):
        fit(X=X + 1)
    with pytest.raises(ValueError, match="another run"):
        fit(batch_size=7)
