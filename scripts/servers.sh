#!/usr/bin/env bash
# Installs the programs that the tests start, where missing: Redis, PostgreSQL and RabbitMQ of Debian, three kinds of
# proxies, Chromium and Firefox; also systemd and Prometheus, which check unit files and rules. Starts nothing: the
# tests run the programs in their own folders.
set -euo pipefail
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
there() {
  PATH="$PATH:/usr/sbin" command -v "$1" >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/$1" >/dev/null
}

missing=()
there redis-server || missing+=(redis-server)
there initdb || missing+=(postgresql)
there rabbitmq-server || missing+=(rabbitmq-server)
there tinyproxy || missing+=(tinyproxy)
there squid || missing+=(squid)
there microsocks || missing+=(microsocks)
there chromium || missing+=(chromium)
there firefox-esr || missing+=(firefox-esr)
there systemd-analyze || missing+=(systemd)
there promtool || missing+=(prometheus)
[ "${#missing[@]}" = 0 ] && exit 0

echo "installing ${missing[*]}" >&2
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
  trap 'as_root rm -f "$policy"' EXIT
fi
{
  as_root apt-get -qq update &&
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" \
      >/dev/null
} || {
  echo "${missing[*]} could not be installed with apt-get; the tests need them, make test-fast does not." >&2
  exit 4
}
