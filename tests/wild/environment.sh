#!/usr/bin/env bash
# Makes the environment of the cases: `tests/wild/environment.sh FOLDER [PYTHON]`. Then FOLDER/bin/python tests/wild/run.py.
# It needs uv. The versions are those that the table in docs/wild.md was made with.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1 python=${2:-3.11}
python3 -m uv venv --quiet --python "$python" "$folder"
# hapsira asks for a matplotlib that NumPy 2 does not load
python3 -m uv pip install --quiet --python "$folder/bin/python" --requirement "$here/requirements.txt" \
    --override "$here/overrides.txt"
