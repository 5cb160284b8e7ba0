#!/bin/sh
# apidocs.sh: the OpenAPI description of the REST API in api-docs/, from the
# comments of the handlers in backend/. Same input, same output.
set -eu
cd "$(dirname "$0")/../.."

# Fields are required unless tagged validate:"optional": the dashboard's types
# are made from this file. swag reports what it parses on standard output.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! go tool swag init --dir ./backend --generalInfo doc.go --exclude ./backend/apis,./backend/controlplane \
  --output api-docs --outputTypes json,yaml --requiredByDefault --parseDepth 3 >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
# Unknown types become empty objects with no more than a warning.
if grep -i 'warning' "$log" >&2; then exit 1; fi
