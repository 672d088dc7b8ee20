#!/bin/sh
# install.sh [--from ADDRESS|DIR] [--prefix DIR] [--deb] [--key FILE]: installs Flotilla of a release.
#
#   --from    where the release's files are: an address or a directory (default: where this script is published)
#   --prefix  the program goes to DIR/bin (default: /usr/local for root, ~/.local for anybody else)
#   --deb     install the release's package with apt instead
#   --key     the release key (PEM) that you trust (default: the one in this script)
#
# The checksums must be signed with the key, and what is fetched must have its checksum, before anything of it is unpacked
# or run. Nothing is started, and a run that fails changes nothing.
set -eu

# Filled in by the release that publishes this script.
RELEASE_NAME=""
RELEASE_URL=""
RELEASE_KEY=""

MAX_BYTES=500000000
MAX_SECONDS=1800

say() { printf '%s\n' "$*"; }
die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }
need() { have "$1" || die "needs $1, which is not installed${2:+ ($2)}"; }

usage() {
  say "install.sh [--from ADDRESS|DIR] [--prefix DIR] [--deb] [--key FILE]"
  say "installs Flotilla${RELEASE_NAME:+ $RELEASE_NAME} once its signature and its checksum are verified"
}

# Which of the release's archives this machine runs.
target_of_machine() {
  [ "$(uname -s)" = Linux ] || die "Flotilla runs on Linux, not on $(uname -s)"
  for musl in /lib/ld-musl-*; do
    [ ! -e "$musl" ] || have ldconfig || die "Flotilla needs glibc, and this system has musl"
  done
  case $(uname -m) in
    x86_64 | amd64)
      if grep -qw avx2 /proc/cpuinfo 2>/dev/null; then say linux-x64; else say linux-x64-baseline; fi
      ;;
    aarch64 | arm64) say linux-arm64 ;;
    *) die "there is no build of Flotilla for $(uname -m)" ;;
  esac
}

# fetch NAME: a file of the release, into the scratch directory.
fetch() {
  case $FROM in
    http://* | https://*)
      if have curl; then
        curl --fail --silent --show-error --location --proto '=http,https' --proto-redir '=http,https' --retry 2 \
          --connect-timeout 20 --max-time "$MAX_SECONDS" --max-filesize "$MAX_BYTES" --output "$SCRATCH/$1" "$FROM/$1"
      else
        wget --quiet --tries 3 --timeout 20 --output-document "$SCRATCH/$1" "$FROM/$1"
      fi || die "$FROM/$1 could not be fetched"
      ;;
    *) cp "$FROM/$1" "$SCRATCH/$1" || die "$FROM has no $1" ;;
  esac
}

# The sum that the signed list has for NAME; nothing when it does not name it.
sum_of() { awk -v name="$1" '{ file = $2; sub(/^\*/, "", file) } file == name { print $1; exit }' "$SCRATCH/SHA256SUMS"; }

demand_sum() {
  want=$(sum_of "$1")
  [ -n "$want" ] || die "the release has no $1"
  found=$(sha256sum "$SCRATCH/$1" | cut -d ' ' -f 1)
  [ "$found" = "$want" ] || die "$1 has the checksum $found, but the signed list says $want: nothing was installed"
}

fetch_list() {
  if [ -n "$KEY_FILE" ]; then
    cp "$KEY_FILE" "$SCRATCH/release.pub" || die "$KEY_FILE cannot be read"
  else
    [ -n "$RELEASE_KEY" ] || die "this copy was not published with a release: name the release key with --key FILE"
    printf -- '-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n' "$RELEASE_KEY" >"$SCRATCH/release.pub"
  fi
  fetch SHA256SUMS
  fetch SHA256SUMS.sig
  openssl pkeyutl -verify -pubin -inkey "$SCRATCH/release.pub" -rawin -in "$SCRATCH/SHA256SUMS" \
    -sigfile "$SCRATCH/SHA256SUMS.sig" >/dev/null 2>&1 ||
    die "SHA256SUMS is not signed with the release key (or openssl is older than 3.0): nothing was installed"
}

# What the release is called, of its signed description. Without --from it must be the one that published this script: an
# earlier one is signed as well.
release_name() {
  fetch RELEASE
  demand_sum RELEASE
  name=$(sed -n 's/^name \([0-9][0-9A-Za-z.+~-]*\)$/\1/p' "$SCRATCH/RELEASE")
  [ -n "$name" ] || die "the release has no packages"
  if [ -n "$PINNED" ] && [ "$name" != "$PINNED" ]; then
    die "$FROM has $name, but this script is of $PINNED: fetch install.sh again"
  fi
  NAME=$name
}

install_deb() {
  [ "$(id -u)" = 0 ] || die "--deb needs root"
  need apt-get
  file=flotilla_${NAME}_$(dpkg --print-architecture).deb
  fetch "$file"
  demand_sum "$file"
  # apt's own user reads it.
  chmod 755 "$SCRATCH"
  chmod 644 "$SCRATCH/$file"
  apt-get install --yes "$SCRATCH/$file"
  say "Flotilla $NAME is installed; how it becomes a service: sudo flotilla install hub --now"
}

refuse_others() {
  if have dpkg-query && dpkg-query -W -f '${Status}' flotilla 2>/dev/null | grep -q ' installed$'; then
    die "Flotilla is installed as a package here: use --deb"
  fi
  for unit in /etc/systemd/system/flotilla-*.service; do
    [ ! -f "$unit" ] || [ "$PREFIX" != /usr/local ] ||
      die "services of this machine run with $PREFIX/bin/flotilla: sudo flotilla upgrade replaces it and restarts them"
  done
}

# place FILE DIR NAME [MODE]: by a rename, so that a program which runs keeps its file.
place() {
  mkdir -p "$2"
  cp "$1" "$2/.$3.new"
  chmod "${4:-644}" "$2/.$3.new"
  mv -f "$2/.$3.new" "$2/$3"
}

install_archive() {
  target=$(target_of_machine)
  refuse_others
  file=flotilla-$NAME-$target.tar.gz
  fetch "$file"
  demand_sum "$file"
  mkdir "$SCRATCH/unpacked"
  tar -xzf "$SCRATCH/$file" -C "$SCRATCH/unpacked" --no-same-owner
  from=$SCRATCH/unpacked/flotilla-$NAME-$target
  "$from/flotilla" --version >/dev/null || die "the program does not start on this machine: nothing was installed"
  share=$PREFIX/share
  place "$from/completions/flotilla.bash" "$share/bash-completion/completions" flotilla
  place "$from/completions/_flotilla" "$share/zsh/site-functions" _flotilla
  place "$from/completions/flotilla.fish" "$share/fish/vendor_completions.d" flotilla.fish
  place "$from/man/flotilla.1" "$share/man/man1" flotilla.1
  place "$from/flotilla" "$PREFIX/bin" flotilla 755
  say "Flotilla $NAME is $PREFIX/bin/flotilla"
  case ":$PATH:" in
    *":$PREFIX/bin:"*) ;;
    *) say "$PREFIX/bin is not in your PATH: export PATH=\"$PREFIX/bin:\$PATH\"" ;;
  esac
  say "next: flotilla doctor, flotilla dev, or as a service: sudo flotilla install hub --now"
}

main() {
  FROM=$RELEASE_URL
  PINNED=$RELEASE_NAME
  KEY_FILE=""
  DEB=""
  if [ "$(id -u)" = 0 ]; then PREFIX=/usr/local; else PREFIX=${HOME:?}/.local; fi
  while [ $# -gt 0 ]; do
    case $1 in
      --from | --prefix | --key)
        [ -n "${2:-}" ] || die "$1 needs a value"
        case $1 in
          --from) FROM=${2%/} PINNED="" ;;
          --prefix) PREFIX=${2%/} ;;
          --key) KEY_FILE=$2 ;;
        esac
        shift
        ;;
      --deb) DEB=1 ;;
      --help | -h)
        usage
        exit 0
        ;;
      *) die "unknown argument $1 (--help)" ;;
    esac
    shift
  done
  [ -n "$FROM" ] || die "say where the release is: --from ADDRESS, or a directory with its files"
  for tool in openssl sha256sum awk tar gzip; do need "$tool" "apt-get install $tool"; done
  case $FROM in
    http://* | https://*) have curl || need wget "or curl" ;;
  esac
  SCRATCH=$(mktemp -d)
  trap 'rm -rf "$SCRATCH"' EXIT
  trap 'exit 130' HUP INT TERM
  fetch_list
  release_name
  if [ -n "$DEB" ]; then install_deb; else install_archive; fi
}

# All of it has been read by here: a script that was cut off on its way does nothing.
main "$@"
