#!/usr/bin/env bash
# setup.sh [VENV] [EXTRAS]: installs the checkout, with extras such as '[dev,docs]', into a virtual environment.
# It needs Python 3.11 or newer. An environment whose creation was interrupted is made again.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}
extras=${2:-}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else return 1; fi; }

python=""
for candidate in python3.11 python3.12 python3.13 python3; do
  if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "gossamer needs Python 3.11 or newer; on Debian 12: apt-get install python3" >&2
  exit 4
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  echo "installing the venv module of $python" >&2
  as_root apt-get -qq update && as_root apt-get -qq install -y python3-venv >/dev/null || {
    echo "the venv module is missing; as root: apt-get install python3-venv" >&2
    exit 4
  }
fi
echo "installing gossamer$extras into $venv${extras:+; this takes about two minutes}" >&2
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".$extras"
