#!/bin/sh
# Installs the program of Toolcrib for this user in DIRECTORY (~/.local/bin), and where that is the bin of a prefix,
# its manual in share/man of the prefix.
#
#   sh install.sh [--from FILE|URL] [--sha256 SUM] [--to DIRECTORY]
#
# FILE or URL is an archive of a release (toolcrib-TARGET.tar.gz). Without --from it is the one for this machine in the
# newest release of TOOLCRIB_RELEASES, the address that releases are published at. A checksum beside the archive (.sha256)
# is always checked.
set -eu

say() { printf '%s\n' "$*" >&2; }
fail() { say "install: $*"; exit 1; }

from='' sum='' to=${HOME:?there is no home directory}/.local/bin
while [ $# -gt 0 ]; do
  case $1 in
    --from) from=${2:?--from needs a file or an address}; shift 2 ;;
    --sha256) sum=${2:?--sha256 needs a sum}; shift 2 ;;
    --to) to=${2:?--to needs a directory}; shift 2 ;;
    -h|--help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail "$1 is no option; --help lists them" ;;
  esac
done

case $(uname -s) in
  Linux) system=unknown-linux-gnu ;;
  Darwin) system=apple-darwin ;;
  *) fail "there is no archive for $(uname -s); build it with cargo install --path crates/gateway" ;;
esac
case $(uname -m) in
  x86_64|amd64) machine=x86_64 ;;
  aarch64|arm64) machine=aarch64 ;;
  *) fail "there is no archive for $(uname -m); build it with cargo install --path crates/gateway" ;;
esac

if [ -z "$from" ]; then
  releases=${TOOLCRIB_RELEASES:-}
  [ -n "$releases" ] || fail "say where to take it from: --from FILE|URL, or TOOLCRIB_RELEASES=URL"
  from=$releases/toolcrib-$machine-$system.tar.gz
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

fetch() { # ADDRESS FILE
  if command -v curl >/dev/null 2>&1; then
    curl --proto '=https,http' --fail --location --silent --show-error --output "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then
    wget --quiet --output-document="$2" "$1"
  else
    fail "neither curl nor wget is here"
  fi
}

case $from in
  http://*|https://*)
    fetch "$from" "$work/archive.tar.gz" || fail "$from cannot be fetched"
    if [ -z "$sum" ]; then
      fetch "$from.sha256" "$work/sum" || fail "$from.sha256 cannot be fetched; give --sha256"
      sum=$(cut -d' ' -f1 < "$work/sum")
    fi
    ;;
  *)
    [ -f "$from" ] || fail "$from is no file"
    cp "$from" "$work/archive.tar.gz"
    if [ -z "$sum" ] && [ -f "$from.sha256" ]; then
      sum=$(cut -d' ' -f1 < "$from.sha256")
    fi
    ;;
esac

if [ -n "$sum" ]; then
  if command -v sha256sum >/dev/null 2>&1; then
    is=$(sha256sum "$work/archive.tar.gz" | cut -d' ' -f1)
  else
    is=$(shasum -a 256 "$work/archive.tar.gz" | cut -d' ' -f1)
  fi
  [ "$is" = "$sum" ] || fail "the archive is not what was published: its sum is $is, expected was $sum"
fi

tar -xzf "$work/archive.tar.gz" -C "$work" || fail "the archive cannot be unpacked"
program=$(find "$work" -type f -name toolcrib | head -n 1)
[ -n "$program" ] || fail "there is no program in the archive"
mkdir -p "$to"
# A program that runs can be replaced by a rename, not by writing into it.
cp "$program" "$to/.toolcrib.new"
chmod 0755 "$to/.toolcrib.new"
# What is installed already stays until the new one has shown that it starts here.
if ! version=$("$to/.toolcrib.new" --version); then
  rm -f "$to/.toolcrib.new"
  fail "the program does not start on this machine; nothing in $to was changed"
fi
mv -f "$to/.toolcrib.new" "$to/toolcrib"
say "installed $version as $to/toolcrib"
# The program works without its manual, which has a place only where there is a prefix.
pages=$(dirname "$program")/share/man/man1
if [ -d "$pages" ] && [ "$(basename "$to")" = bin ]; then
  man=$(dirname "$to")/share/man/man1
  if mkdir -p "$man" && cp "$pages"/*.1 "$man/"; then
    say "installed its manual in $man"
  else
    say "its manual cannot be written to $man; the program works without it"
  fi
fi
case :$PATH: in
  *:"$to":*) say "next: toolcrib demo" ;;
  *) say "next: add $to to your PATH, then run toolcrib demo" ;;
esac
