#!/bin/sh
# deploy.sh: puts the operators, and what they are to look after, on clusters.
#   hub | hub-hosted | spoke | spoke-hosted | cluster-ip
# The clusters, names and images are told by the environment: see deploy-env.sh.
set -eu
cd "$(dirname "$0")/../.."
. deploy/dev/deploy-env.sh

apply() { k apply --server-side --force-conflicts "$@"; }

# established CRD: waits until a kind is served. kubectl gives up at once on one whose status is still empty.
established() {
  for _ in 1 2 3 4 5; do
    k wait --for=condition=Established --timeout=60s "crd/$1" 2>/dev/null && return
    sleep 1
  done
  k wait --for=condition=Established --timeout=60s "crd/$1"
}

# operator SIDE KIND: installs one operator and its kind.
operator() {
  apply -f "deploy/crds/ocm-operator/operator.open-cluster-management.io_$2.yaml"
  established "$2.operator.open-cluster-management.io"
  sed "s#IMAGE_HUB#$HUB_IMAGE#; s#IMAGE_AGENT#$AGENT_IMAGE#" "deploy/operator/install/$1.yaml" | apply -f -
}

namespace() { k get namespace "$1" >/dev/null 2>&1 || k create namespace "$1"; }

# kubeconfig_secret NAMESPACE NAME FILE: a Secret with a kubeconfig, all of it inside.
kubeconfig_secret() {
  k --kubeconfig "$3" config view --raw --minify --flatten >"$work/kubeconfig"
  k -n "$1" create secret generic "$2" --from-file=kubeconfig="$work/kubeconfig" --dry-run=client -o yaml | apply -f -
}

# image FIELD IMAGE: a line for a sample's spec, if an image was asked for.
image() { [ -z "$2" ] || printf 's#^spec:#spec:\\n  %s: %s#;' "$1" "$2"; }

hub_images() {
  image registrationImagePullSpec "$REGISTRATION_IMAGE"
  image workImagePullSpec "$WORK_IMAGE"
  image placementImagePullSpec "$PLACEMENT_IMAGE"
  image addOnManagerImagePullSpec "$ADDON_MANAGER_IMAGE"
}

agent_images() {
  image registrationImagePullSpec "$REGISTRATION_IMAGE"
  image workImagePullSpec "$WORK_IMAGE"
}

# klusterlet SAMPLE: applies a Klusterlet.
klusterlet() {
  sed "$(agent_images)s/^  name: klusterlet$/  name: $KLUSTERLET_NAME/; s/clusterName: cluster1/clusterName: $MANAGED_CLUSTER_NAME/" \
    "deploy/operator/samples/$1.yaml" | apply -f -
}

deploy_hub() {
  operator hub clustermanagers
  sed "$(hub_images)" deploy/operator/samples/clustermanager.yaml | apply -f -
  k config view --raw --minify --flatten >"$work/hub"
  install -m 600 "$work/hub" "$HUB_KUBECONFIG"
  echo "wrote $HUB_KUBECONFIG"
}

deploy_hub_hosted() {
  need "$EXTERNAL_HUB_KUBECONFIG" "set EXTERNAL_HUB_KUBECONFIG to an administrator's kubeconfig of the hub, as this cluster's pods reach it"
  operator hub clustermanagers
  namespace "$HOSTED_CLUSTER_MANAGER_NAME"
  kubeconfig_secret "$HOSTED_CLUSTER_MANAGER_NAME" external-hub-kubeconfig "$EXTERNAL_HUB_KUBECONFIG"
  sed "$(hub_images)s/^  name: cluster-manager$/  name: $HOSTED_CLUSTER_MANAGER_NAME/; s/management-control-plane/$WEBHOOK_ADDRESS/
    s/port: 30443/port: $REGISTRATION_WEBHOOK_PORT/; s/port: 31443/port: $WORK_WEBHOOK_PORT/" \
    deploy/operator/samples/clustermanager-hosted.yaml | apply -f -
  install -m 600 "$EXTERNAL_HUB_KUBECONFIG" "$HUB_KUBECONFIG"
  echo "wrote $HUB_KUBECONFIG"
}

deploy_spoke() {
  need "$HUB_KUBECONFIG" "set HUB_KUBECONFIG to a kubeconfig of the hub, as this cluster's pods reach it"
  operator spoke klusterlets
  namespace "$AGENT_NAMESPACE"
  kubeconfig_secret "$AGENT_NAMESPACE" bootstrap-hub-kubeconfig "$HUB_KUBECONFIG"
  klusterlet klusterlet
}

deploy_spoke_hosted() {
  need "$HUB_KUBECONFIG" "set HUB_KUBECONFIG to a kubeconfig of the hub, as this cluster's pods reach it"
  need "$EXTERNAL_MANAGED_KUBECONFIG" "set EXTERNAL_MANAGED_KUBECONFIG to an administrator's kubeconfig of the managed cluster, as this cluster's pods reach it"
  operator spoke klusterlets
  namespace "$KLUSTERLET_NAME"
  kubeconfig_secret "$KLUSTERLET_NAME" bootstrap-hub-kubeconfig "$HUB_KUBECONFIG"
  kubeconfig_secret "$KLUSTERLET_NAME" external-managed-kubeconfig "$EXTERNAL_MANAGED_KUBECONFIG"
  klusterlet klusterlet-hosted
}

# cluster_ip: pods of the cluster that the hub is on reach its API by this address.
cluster_ip() {
  need "$HUB_KUBECONFIG" "make deploy-hub writes it"
  ip=$(k -n default get service kubernetes -o jsonpath='{.spec.clusterIP}')
  name=$(k --kubeconfig "$HUB_KUBECONFIG" config view --minify -o jsonpath='{.clusters[0].name}')
  k --kubeconfig "$HUB_KUBECONFIG" config set-cluster "$name" --server "https://$ip"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 077
case "${1:-}" in
hub) deploy_hub ;;
hub-hosted) deploy_hub_hosted ;;
spoke) deploy_spoke ;;
spoke-hosted) deploy_spoke_hosted ;;
cluster-ip) cluster_ip ;;
*)
  echo "usage: deploy.sh hub|hub-hosted|spoke|spoke-hosted|cluster-ip" >&2
  exit 2
  ;;
esac
