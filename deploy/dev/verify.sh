#!/bin/sh
# verify.sh: generates everything anew and fails when that changes a file, or
# when go.mod or go.sum is not what "go mod tidy" would write.
set -eu
cd "$(dirname "$0")/../.."

# What is on disk before and after, whether committed or not.
state() { git ls-files -z --cached --others --exclude-standard | xargs -0 sha256sum 2>/dev/null | sort -k 2; }
before=$(mktemp) after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT
state >"$before"
make -s generate
state >"$after"
if ! diff "$before" "$after"; then
  echo "verify: generated files are not up to date: run make generate and commit the result" >&2
  exit 1
fi
if ! go mod tidy -diff; then
  echo "verify: run go mod tidy and commit go.mod and go.sum" >&2
  exit 1
fi
echo "verify: all generated files are up to date"
