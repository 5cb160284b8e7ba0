#!/bin/sh
# setup.sh [run]: installs what is missing of the programs that build, test and
# demonstrate Muster. Quiet when nothing is missing. "run" asks only for what
# "make run" needs: Go and Node.js.
set -eu
cd "$(dirname "$0")/../.."

need() { command -v "$1" >/dev/null || { echo "setup: $1 is missing: $2" >&2; exit 1; }; }
need go "install Go $(sed -n 's/^go //p' go.mod) or newer"
need npm "install Node.js $(sed -n 's/.*"node": ">=\([0-9.]*\)".*/\1/p' frontend/package.json) or newer, with npm"
[ "${1:-}" = run ] && exit 0

# Only what is missing: another runtime's packages may conflict with Debian's.
missing=
have() { command -v "$1" >/dev/null || missing="$missing $2"; }
have nft nftables
have ip iproute2
have containerd containerd
have runc runc
[ -x /usr/lib/cni/ptp ] || missing="$missing containernetworking-plugins"
have chromium chromium
command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
[ -d /usr/share/fonts/truetype/liberation ] || missing="$missing fonts-liberation"
[ -d /usr/share/fonts/opentype/noto ] || missing="$missing fonts-noto-cjk"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "setup: not installed, and this user cannot install it:$missing" >&2
  echo "setup: tests that need it are skipped or fail; as root on Debian: apt-get install$missing" >&2
  exit 0
fi
echo "setup: installing$missing"
log=$(mktemp)
# Nobody's service is wanted: 101 means "do not start it".
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
  trap 'rm -f $policy $log' EXIT
else
  trap 'rm -f $log' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of names
if ! { apt-get update -q && apt-get install -qy --no-install-recommends $missing; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
