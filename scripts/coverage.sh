#!/usr/bin/env bash
# Runs the tests under coverage and holds the heart of the house to 90 %.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -f .coverage .coverage.*
.venv/bin/python -m pytest -n 3 --dist loadscope --no-loadscope-reorder -m "not thorough" --cov --cov-report=
.venv/bin/coverage report --skip-covered --fail-under=90 \
  --include='src/gossamer/core/*,src/gossamer/policy/*,src/gossamer/frontier/*,src/gossamer/engine/*'
