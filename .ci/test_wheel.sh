#!/usr/bin/env bash
# Build sdist and wheel, check them, and run tests on the installed wheel in folders that
# hold nothing but the tests, with the newest and the oldest supported scikit-learn.
#
#     .ci/test_wheel.sh PYTHON    (a Python that has build and twine)
set -euo pipefail
cd "$(dirname "$0")/.."
checkout=$PWD
python=$(realpath --no-symlinks "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PIP_DISABLE_PIP_VERSION_CHECK=1

"$python" -m build --quiet --outdir "$scratch/dist" .
"$python" -m twine check --strict "$scratch"/dist/*
wheel=$(echo "$scratch"/dist/accsmbo-*.whl)
group=$("$python" -c "import tomllib; \
  print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['test'])")

test_wheel() { # name, tests, extras for the tests, pip requirements beside the wheel
  local name=$1 tests=$2 extras=$3 venv="$scratch/$1-venv" folder="$scratch/$1"
  shift 3
  printf '\n-- %s scikit-learn\n' "$name"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet "$wheel" "$@"
  mkdir "$folder"
  cd "$folder"
  "$venv/bin/python" -c "
import importlib.metadata, pathlib, sklearn, accsmbo
assert accsmbo.__version__ == importlib.metadata.version('accsmbo')
folder = pathlib.Path(accsmbo.__file__).parent
assert (folder / 'py.typed').exists(), 'py.typed is missing from the wheel'
assert '$checkout' not in str(folder), folder
print('accsmbo', accsmbo.__version__, 'scikit-learn', sklearn.__version__, folder)
"
  "$venv/bin/accsmbo" --version
  # Without any extra every module must be importable.
  "$venv/bin/python" -W error -c "
import importlib, pkgutil, accsmbo
for module in pkgutil.walk_packages(accsmbo.__path__, 'accsmbo.'):
    if not module.name.endswith('__main__'):
        importlib.import_module(module.name)
"
  # shellcheck disable=SC2086  # both are lists
  "$venv/bin/python" -m pip install --quiet "$wheel$extras" $group "$@"
  cp -r "$checkout/tests" "$checkout/pyproject.toml" .
  # shellcheck disable=SC2086
  "$venv/bin/python" -m pytest -q -n 2 --dist worksteal $tests
  cd "$checkout"
}

test_wheel newest "tests/test_import.py tests/test_space.py tests/test_storage.py \
  tests/metalearning tests/inspection tests/plotting tests/report \
  tests/search/test_base.py" "[openml]"
test_wheel oldest "tests/test_import.py tests/test_space.py tests/cases tests/conformance \
  tests/fidelity tests/optimizers tests/search" "" \
  "scikit-learn==1.6.*" "numpy==2.0.*" "scipy==1.13.*" "joblib==1.4.*" "pandas==2.2.*"
