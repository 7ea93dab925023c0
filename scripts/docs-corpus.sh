#!/usr/bin/env bash
# Unpacks real websites for the tests into .cache/docs: two documentation packages of Debian.
set -euo pipefail
cd "$(dirname "$0")/.."
target=.cache/docs
mkdir -p "$target"
missing() {
  echo "Debian's package $1 could not be fetched with apt-get (is the network away?). It is needed for make bench," \
    "and for the tests that read the corpora; make test-fast and a checkout without corpora do without it." >&2
  exit 4
}
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
updated=""
for package in python3.11-doc git-doc; do
  [ -d "$target/$package/usr" ] && continue
  work=$(mktemp -d)
  chmod 755 "$work"
  if [ -z "$updated" ] && ! apt-cache policy "$package" | grep -q 'Candidate: [0-9]'; then
    as_root apt-get -qq update || missing "$package"
    updated=yes
  fi
  (cd "$work" && apt-get -qq download "$package" 2>/dev/null) || {
    as_root apt-get -qq update || missing "$package"
    updated=yes
    (cd "$work" && apt-get -qq download "$package") || missing "$package"
  }
  dpkg-deb -x "$work"/*.deb "$work/out"
  mkdir -p "$target/$package.new"
  cp -r "$work/out/." "$target/$package.new/"
  mv "$target/$package.new" "$target/$package"
  rm -rf "$work"
done
