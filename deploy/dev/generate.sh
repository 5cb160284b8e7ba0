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

# Open Cluster Management's kinds, apart by who installs them: the hub, a
# managed cluster, a cluster that the operator runs in. Without descriptions:
# they are most of such a schema, and the hub reads it at each start.
go tool controller-gen crd:maxDescLen=0 paths=./backend/apis/ocm/... output:crd:dir="$work/ocm"
rm -rf deploy/crds/ocm-hub deploy/crds/ocm-member deploy/crds/ocm-operator
mkdir -p deploy/crds/ocm-hub deploy/crds/ocm-member deploy/crds/ocm-operator
mv "$work"/ocm/*_appliedmanifestworks.yaml "$work"/ocm/*_clusterclaims.yaml deploy/crds/ocm-member/
mv "$work"/ocm/*_clustermanagers.yaml "$work"/ocm/*_klusterlets.yaml deploy/crds/ocm-operator/
mv "$work"/ocm/*.yaml deploy/crds/ocm-hub/

# Bindings carry placements, hence the policy group. The linter's findings are
# rules for Kubernetes' own groups; the names here are given by the contract.
set --
for package in $typed policy/v1alpha1; do set -- "$@" "$apis/$package"; done
: >"$work/header"
go tool openapi-gen --output-dir backend/apis/openapi --output-pkg "$apis/openapi" \
  --output-file zz_generated.openapi.go --output-model-name-file zz_generated.model_name.go \
  --go-header-file "$work/header" --report-filename "$work/report" "$@"
