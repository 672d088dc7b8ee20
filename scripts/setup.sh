# Sourced by quickstart, test, build and flotilla: finds or installs what they need, and asks for nothing when it is all there.
# shellcheck shell=sh

ROOT=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
BUN_VERSION=$(sed -n 's/.*"packageManager": *"bun@\([^"]*\)".*/\1/p' "$ROOT/package.json")
MISSING=""
FONTS=""

say() { printf '%s\n' "$*" >&2; }

have() { command -v "$1" >/dev/null 2>&1; }

installed() { have dpkg-query && dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'; }

# want_command PACKAGE COMMAND...: the package is missing unless one of the commands is there.
want_command() {
  package=$1
  shift
  for candidate in "$@"; do
    have "$candidate" && return 0
  done
  MISSING="$MISSING $package"
}

# want_font PACKAGE PATTERN...: the package is wanted unless there is a font for each pattern of fc-list. A page is only shown
# less well without it, so nothing waits for one that cannot be installed.
want_font() {
  package=$1
  shift
  for pattern in "$@"; do
    have fc-list && [ -n "$(fc-list "$pattern" family 2>/dev/null)" ] && continue
    FONTS="$FONTS $package"
    return 0
  done
}

want_package() { installed "$1" || MISSING="$MISSING $1"; }

# Ubuntu's chromium packages only point to a snap, which cannot run in a container and sees neither /tmp nor hidden
# directories; there the browser's own package is taken.
want_browser() {
  [ -n "${SVC_CHROMIUM:-}" ] && have "$SVC_CHROMIUM" && return 0
  for candidate in chromium google-chrome google-chrome-stable chromium-browser; do
    have "$candidate" || continue
    path=$(readlink -f "$(command -v "$candidate")")
    case $path in /snap/*|/usr/bin/snap) continue ;; esac
    [ -f "$path" ] && grep -aqs 'snap install chromium' "$path" && continue
    [ "$candidate" = chromium ] || SVC_CHROMIUM=$(command -v "$candidate")
    [ -z "${SVC_CHROMIUM:-}" ] || export SVC_CHROMIUM
    return 0
  done
  MISSING="$MISSING chromium chromium-sandbox"
}

# What Selenium's clients need beside Debian's Chromium. Ubuntu's package is a snap as well, and Chrome's driver has none.
want_webdriver() {
  case " $MISSING " in
    *" chromium "*) ;;
    *) have chromium || return 0 ;;
  esac
  is_ubuntu || want_command chromium-driver chromedriver
}

# Runs a command as root, or says why that cannot be.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    sudo "$@"
  else
    return 126
  fi
}

may_be_root() { [ "$(id -u)" = 0 ] || { have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }; }

# apt-get with its talk kept for the case that it fails. Packages are not kept once they are installed, nor is the cache of
# what there is, which would be 60 MB.
apt() {
  talk=$(mktemp)
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 -o APT::Keep-Downloaded-Packages=false \
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= "$@" >"$talk" 2>&1 || {
    cat "$talk" >&2
    rm -f "$talk"
    say "apt-get $* failed: is there a network, and does no other apt run?"
    exit 1
  }
  rm -f "$talk"
}

# apt's own figures: "194 packages, 220 MB to download, 794 MB on disk".
apt_figures() {
  as_root env LC_ALL=C apt-get --assume-no "$@" 2>/dev/null | sed -n \
    -e 's/^.* \([0-9]*\) newly installed.*/\1 packages/p' \
    -e 's/^Need to get \(.*\) of archives.*/, \1 to download/p' \
    -e 's/^After this operation, \(.*\) of additional.*/, \1 on disk/p' | tr -d '\n'
}

# announce PACKAGES...: what is installed, and how large apt says it is.
announce() { say "installing: $* ($(apt_figures install --no-install-recommends "$@"))"; }

# Lists of packages are kept where somebody had them, and else only for as long as something is installed.
BORROWED_LISTS=""
UPDATED=""
note_lists() {
  for list in /var/lib/apt/lists/*Packages*; do [ -e "$list" ] || BORROWED_LISTS=1; done
}
apt_update() {
  [ -z "$UPDATED" ] || return 0
  apt update
  UPDATED=1
}
return_lists() {
  [ -n "$BORROWED_LISTS" ] || return 0
  as_root sh -c 'rm -rf /var/lib/apt/lists/*' || true
}

is_ubuntu() { grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null; }

# What Google signs its packages with: the fingerprint stands on https://www.google.com/linuxrepositories/
CHROME_KEY=EB4C1BFD4F042F6DDDCCEC917721F63BD38B4796
CHROME_KEY_URL=https://dl.google.com/linux/linux_signing_key.pub
CHROME_PACKAGES=https://dl.google.com/linux/chrome/deb/
# Chrome's package brings a source and a key of its own for its updates: these two go again.
CHROME_SOURCE=/etc/apt/sources.list.d/flotilla-chrome.list
CHROME_KEYRING=/etc/apt/flotilla-chrome.gpg

# fetch_key URL FINGERPRINT FILE: of the keys at URL the one with that fingerprint; fails when it is not among them.
fetch_key() {
  keys=$(mktemp -d) || return 1
  one=""
  if curl -fsSL -o "$keys/all" "$1"; then
    gpg --homedir "$keys" --batch --quiet --import "$keys/all" 2>/dev/null || true
    gpg --homedir "$keys" --batch --quiet --export "$2" >"$keys/one" 2>/dev/null || true
    # Another key may have one with this fingerprint below it: its own has to be the first.
    one=$(gpg --homedir "$keys" --batch --with-colons --show-keys "$keys/one" 2>/dev/null |
      awk -F: '$1 == "pub" { own = 1 } $1 == "fpr" && own { print $10; own = 0 }')
  fi
  [ "$one" = "$2" ] && as_root install -m 0644 "$keys/one" "$3" && found=0 || found=1
  rm -rf "$keys"
  return "$found"
}

drop_chrome_source() { as_root rm -f "$CHROME_SOURCE" "$CHROME_KEYRING"; }

# apt verifies the package by the list that Google has signed.
install_chrome_on_ubuntu() {
  [ "$(dpkg --print-architecture)" = amd64 ] || {
    say "Ubuntu has no chromium package outside snap for this processor: install Chromium and set SVC_CHROMIUM."
    exit 1
  }
  apt install -y --no-install-recommends ca-certificates curl gpg
  fetch_key "$CHROME_KEY_URL" "$CHROME_KEY" "$CHROME_KEYRING" || {
    say "$CHROME_KEY_URL has not the key $CHROME_KEY, so Chrome's package cannot be verified: install Chromium and set SVC_CHROMIUM."
    exit 1
  }
  line="deb [arch=amd64 signed-by=$CHROME_KEYRING] $CHROME_PACKAGES stable main"
  printf '%s\n' "$line" | as_root tee "$CHROME_SOURCE" >/dev/null
  # Where apt refuses the list or the package, this ends.
  trap drop_chrome_source EXIT
  apt update
  apt install -y --no-install-recommends google-chrome-stable
  drop_chrome_source
  trap - EXIT
  SVC_CHROMIUM=$(command -v google-chrome-stable)
  export SVC_CHROMIUM
}

install_missing() {
  [ -n "$MISSING" ] || return 0
  if ! have apt-get; then
    say "Please install what these Debian packages hold, then run this again:$MISSING"
    exit 1
  fi
  if ! may_be_root; then
    say "These packages are missing, and only root may install them:$MISSING"
    say "Run as root: apt-get update && apt-get install -y --no-install-recommends$MISSING"
    say "Then run this again, as the user you are."
    exit 1
  fi
  note_lists
  apt_update
  chrome=""
  case " $MISSING " in
    *" chromium "*)
      if is_ubuntu; then
        chrome=1
        MISSING=$(printf ' %s ' "$MISSING" | sed 's/ chromium chromium-sandbox / /')
      fi
      ;;
  esac
  # npm fetches Bun and goes again: borrow_npm.
  case " $MISSING " in
    *" npm "*) MISSING=$(printf ' %s ' "$MISSING" | sed 's/ npm / /') ;;
  esac
  if [ -n "$(printf %s "$MISSING" | tr -d ' ')" ]; then
    # shellcheck disable=SC2086
    announce $MISSING
    # shellcheck disable=SC2086
    apt install -y --no-install-recommends $MISSING
  fi
  [ -z "$chrome" ] || install_chrome_on_ubuntu
  MISSING=""
}

# Never a reason to stop: no password is asked for, and without a network they are left out.
install_fonts() {
  [ -n "$FONTS" ] || return 0
  if have apt-get && { [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; }; }; then
    note_lists
    # shellcheck disable=SC2086
    (apt_update && announce $FONTS && apt install -y --no-install-recommends $FONTS) && return 0
  fi
  say "Pages show boxes for some scripts without these fonts; to install them: apt-get install$FONTS"
}

bun_runs() { [ "$("$1" --version 2>/dev/null)" = "$BUN_VERSION" ]; }

# What everything below goes into.
want_writable() {
  [ -w "$ROOT" ] && mkdir -p "$ROOT/.bun/bin" 2>/dev/null && return 0
  say "$(id -un) may not write to $ROOT: clone Flotilla into a directory of your own and run it there."
  exit 1
}

no_registry() {
  say "$1 could not be fetched from the npm registry: is there a network? Behind a proxy, set https_proxy."
  exit 1
}

# Bun of the pinned version: the one on PATH, or one inside the project.
find_bun() {
  if have bun && bun_runs bun; then return 0; fi
  bun_runs "$ROOT/.bun/bin/bun" || return 1
  PATH="$ROOT/.bun/bin:$PATH"
  export PATH
}

# npm and the 374 packages that come with it on Debian fetch one file, so that those which were not there before go again.
BORROWED=""
borrow_npm() {
  have npm && return 0
  BORROWED=$(apt-get -s install --no-install-recommends npm 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p' | tr '\n' ' ')
  say "npm is installed to fetch Bun, and removed again ($(apt_figures install --no-install-recommends npm))"
  apt install -y --no-install-recommends npm
}
return_npm() {
  [ -n "$BORROWED" ] || return 0
  # shellcheck disable=SC2086
  apt purge -y $BORROWED
  BORROWED=""
}

# The npm package's install script only moves a platform package's executable into place, and many setups forbid
# install scripts: the executable is taken from the platform package itself, and the others (for musl, for older
# processors) are not kept.
install_bun() {
  borrow_npm
  say "installing bun $BUN_VERSION (100 MB on disk)"
  [ -f "$ROOT/.bun/package.json" ] || echo '{ "private": true }' >"$ROOT/.bun/package.json"
  npm install --prefix "$ROOT/.bun" --cache "$ROOT/.bun/cache" --no-save --ignore-scripts --include=optional --no-audit \
    --no-fund --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 \
    --loglevel=error "bun@$BUN_VERSION" >&2 || no_registry "bun $BUN_VERSION"
  for candidate in "$ROOT"/.bun/node_modules/@oven/bun-*/bin/bun; do
    bun_runs "$candidate" || continue
    mv -f "$candidate" "$ROOT/.bun/bin/bun"
    ln -sf bun "$ROOT/.bun/bin/bunx"
    rm -rf "$ROOT/.bun/node_modules" "$ROOT/.bun/cache"
    return_npm
    find_bun && return 0
  done
  say "bun $BUN_VERSION was installed but does not run on this machine"
  exit 1
}

# The packages of the lock file; a stamp says that these very ones are there. With TO_RUN set those that the program runs with
# are enough: without what checks, tests and releases need it is 270 MB instead of 500 MB.
TO_RUN=""
install_packages() {
  stamp="$ROOT/node_modules/.flotilla-lock"
  want=$(cat "$ROOT/bun.lock" "$ROOT/package.json" | cksum)
  there=$(cat "$stamp" 2>/dev/null || true)
  [ "$there" = "$want" ] && return 0
  [ -n "$TO_RUN" ] && [ "$there" = "$want, to run" ] && return 0
  (
    cd "$ROOT"
    # Where nobody has a cache yet, one that would hold everything twice is not left behind.
    [ -d "${BUN_INSTALL_CACHE_DIR:-$HOME/.bun/install/cache}" ] || export BUN_INSTALL_CACHE_DIR="$ROOT/.bun/cache"
    bun install --frozen-lockfile ${TO_RUN:+--production} >&2
  ) || no_registry "What Flotilla is built with"
  rm -rf "$ROOT/.bun/cache"
  printf '%s' "$want${TO_RUN:+, to run}" >"$stamp"
}

# Chromium has no sandbox for root, so that it runs as this account where the program runs as root.
BROWSER_ACCOUNT=flotilla-browser
make_browser_account() {
  [ "$(id -u)" = 0 ] || return 0
  [ -z "${SVC_BROWSER_USER:-}" ] && [ "${SVC_BROWSER_SANDBOX:-on}" = on ] || return 0
  id -u "$BROWSER_ACCOUNT" >/dev/null 2>&1 && return 0
  say "making the account $BROWSER_ACCOUNT, which the browsers run as"
  useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$BROWSER_ACCOUNT"
}

# setup EXTRA...: everything the program needs, and the extra wants given as functions.
# With MINIMAL set it is what headless lanes need: no display, and no fonts beyond those of western pages.
MINIMAL=""
setup() {
  want_browser
  [ -n "$MINIMAL" ] || want_webdriver
  [ -n "$MINIMAL" ] || want_command tigervnc-standalone-server Xvnc Xtigervnc
  want_command bubblewrap bwrap
  want_command fontconfig fc-match
  want_package fonts-liberation
  if [ -z "$MINIMAL" ]; then
    want_font fonts-wqy-microhei :lang=zh-cn :lang=ja :lang=ko
    want_font fonts-noto-color-emoji :charset=1f680
    want_font fonts-freefont-ttf :charset=633 :charset=5d0 :charset=915 :charset=e01
  fi
  for extra in "$@"; do "$extra"; done
  find_bun || { want_writable && want_command npm npm; }
  [ "$MISSING" != "" ] && want_package ca-certificates
  install_missing
  install_fonts
  make_browser_account
  find_bun || install_bun
  return_lists
  install_packages
}
