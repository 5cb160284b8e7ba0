#!/bin/bash
# test.sh: every test, cheapest first. Whoever calls it has built bin/ (make test).
set -euo pipefail
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0

(cd frontend && npm run --silent test)
# End-to-end tests start many processes: they run alone, after the others.
mapfile -t packages < <(go list ./... | grep -v '/e2e\(/\|$\)')
go test -timeout 15m "${packages[@]}"
go test -count=1 -timeout 45m -p 1 ./e2e/...
