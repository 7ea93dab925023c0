#!/usr/bin/env bash
# Installs the needs of the benchmarks besides our own environment: nginx and the peers, in a separate virtualenv;
# with --cluster, also the servers of a cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.cache/bench/venv
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

scripts/docs-corpus.sh
[ "${1:-}" != --cluster ] || scripts/servers.sh
if ! PATH="$PATH:/usr/sbin" command -v nginx >/dev/null; then
  echo "installing nginx" >&2
  as_root apt-get -qq update
  # No service is wanted, only the program: the benchmark runs it with a configuration of its own.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    trap 'as_root rm -f "$policy"' EXIT
  fi
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends nginx >/dev/null
fi

wanted="scrapy==2.19.* twisted[http2] crawlee[parsel,playwright]==1.11.* py-spy==0.4.*"
wanted+=" scrapy-redis==0.9.* celery[redis]==5.7.* redis[hiredis]==8.1.* requests==2.* beautifulsoup4==4.*"
if [ "$(cat "$venv/.ready" 2>/dev/null)" != "$wanted" ]; then
  echo "making $venv with the peers" >&2
  mkdir -p .cache/bench
  python=$(.venv/bin/python -c 'import sys; print(sys._base_executable)')
  "$python" -m venv --clear "$venv"
  # shellcheck disable=SC2086  # each word is a requirement
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check $wanted
  echo "$wanted" >"$venv/.ready"
fi
# pip compiles the installed packages; compile this folder too, so that no run pays for it.
.venv/bin/python -m compileall -q src
