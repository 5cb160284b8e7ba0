#!/bin/sh
# clean-deploy.sh: takes away what deploy.sh put on clusters.
#   hub-cr | hub-operator | hub-cr-hosted | spoke-cr | spoke-operator | spoke-cr-hosted
set -eu
cd "$(dirname "$0")/../.."
. deploy/dev/deploy-env.sh

# served KIND CLIENT: whether a cluster has a kind. A cluster that does not answer ends the script.
served() {
  found=$("$2" get crd "$1" --ignore-not-found -o name) || exit 1
  [ -n "$found" ]
}

# gone KIND NAME: deletes a resource and waits; one that does not go says why.
gone() {
  served "$1.operator.open-cluster-management.io" k || return 0
  k delete "$1" "$2" --ignore-not-found --timeout="$CLEAN_TIMEOUT" && return
  echo "$1 $2 is still there:" >&2
  k get "$1" "$2" -o jsonpath='{range .status.conditions[?(@.type=="CleanupBlocked")]}{.reason}: {.message}{"\n"}{end}' >&2 || true
  exit 1
}

# managed_clusters CLIENT: removes the clusters while the hub still runs.
managed_clusters() {
  served managedclusters.cluster.open-cluster-management.io "$1" || return 0
  "$1" delete managedclusters --all --timeout="$CLEAN_TIMEOUT" && return
  echo "ManagedClusters are still there. What holds them:" >&2
  "$1" get manifestworks -A >&2 || true
  exit 1
}

# traces CLIENT [FLAGS]: what a hub keeps of its clusters when they have left.
traces() {
  client=$1
  shift
  label=open-cluster-management.io/cluster-name
  "$client" delete csr -l "$label" --ignore-not-found
  "$client" delete namespace -l "$label" --ignore-not-found --timeout="$CLEAN_TIMEOUT" "$@"
}

hub_cr() {
  managed_clusters k
  traces k --wait=false # namespaces take seconds, which the rest takes, too
  gone clustermanagers "${1:-cluster-manager}"
  traces k
  rm -f "$HUB_KUBECONFIG"
}

hub_cr_hosted() {
  need "$EXTERNAL_HUB_KUBECONFIG" "set EXTERNAL_HUB_KUBECONFIG to an administrator's kubeconfig of the hub"
  managed_clusters hub
  traces hub --wait=false
  gone clustermanagers "$HOSTED_CLUSTER_MANAGER_NAME"
  traces hub
  k delete namespace "$HOSTED_CLUSTER_MANAGER_NAME" --ignore-not-found --timeout="$CLEAN_TIMEOUT"
  rm -f "$HUB_KUBECONFIG"
}

# spoke_cr NAMESPACE: removes the Klusterlet and, with its namespace, the Secrets that users made.
spoke_cr() {
  gone klusterlets "$KLUSTERLET_NAME"
  k delete namespace "$1" --ignore-not-found --timeout="$CLEAN_TIMEOUT"
}

# operator NAME KIND OTHER: removes one operator; the namespace stays with the other.
operator() {
  if served "$2.operator.open-cluster-management.io" k && [ -n "$(k get "$2" -o name)" ]; then
    echo "There still are $2: the operator stays to look after them." >&2
    exit 1
  fi
  k -n "$OPERATOR_NAMESPACE" delete deployment/"$1" serviceaccount/"$1" --ignore-not-found
  k delete clusterrolebinding/"$1" clusterrole/"$1" "crd/$2.operator.open-cluster-management.io" --ignore-not-found
  k -n "$OPERATOR_NAMESPACE" get deployment "$3" >/dev/null 2>&1 ||
    k delete namespace "$OPERATOR_NAMESPACE" --ignore-not-found --timeout="$CLEAN_TIMEOUT"
}

case "${1:-}" in
hub-cr) hub_cr ;;
hub-cr-hosted) hub_cr_hosted ;;
hub-operator) operator cluster-manager clustermanagers klusterlet ;;
spoke-cr) spoke_cr "$AGENT_NAMESPACE" ;;
spoke-cr-hosted) spoke_cr "$KLUSTERLET_NAME" ;;
spoke-operator) operator klusterlet klusterlets cluster-manager ;;
*)
  echo "usage: clean-deploy.sh hub-cr|hub-cr-hosted|hub-operator|spoke-cr|spoke-cr-hosted|spoke-operator" >&2
  exit 2
  ;;
esac
