#!/bin/sh
# generate.sh: deepcopy functions, custom resource definitions and OpenAPI
# definitions, all from the Go types in backend/apis. Same input, same output.
set -eu
cd "$(dirname "$0")/../.."

apis=muster.dev/muster/backend/apis
# Served by our own server code: these need OpenAPI definitions, and no CRD.
typed="cluster/v1alpha1 work/v1alpha1 work/v1alpha2"
# Served as custom resources.
custom="policy config networking autoscaling apps remedy multicluster"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go tool controller-gen object paths=./backend/apis/...

set --
for group in $custom; do set -- "$@" "paths=./backend/apis/$group/..."; done
go tool controller-gen crd "$@" output:crd:dir="$work/crds"
mkdir -p deploy/crds
for file in deploy/crds/*.yaml; do
  [ -e "$work/crds/${file##*/}" ] || rm -f "$file"
done
cp "$work"/crds/*.yaml deploy/crds/

# Bindings carry placements, hence the policy group. The linter's findings are
# rules for Kubernetes' own groups; the names here are given by the contract.
set --
for package in $typed policy/v1alpha1; do set -- "$@" "$apis/$package"; done
: >"$work/header"
go tool openapi-gen --output-dir backend/apis/openapi --output-pkg "$apis/openapi" \
  --output-file zz_generated.openapi.go --output-model-name-file zz_generated.model_name.go \
  --go-header-file "$work/header" --report-filename "$work/report" "$@"
