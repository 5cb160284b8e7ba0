# deploy-env.sh: what the deploy and clean targets can be told by the environment,
# and what holds otherwise. Sourced by the scripts beside it.
# shellcheck shell=sh
KUBECTL=${KUBECTL:-kubectl}
KUBECONFIG=${KUBECONFIG:-./.kubeconfig}
HUB_KUBECONFIG=${HUB_KUBECONFIG:-./.hub-kubeconfig}
EXTERNAL_HUB_KUBECONFIG=${EXTERNAL_HUB_KUBECONFIG:-./.external-hub-kubeconfig}
EXTERNAL_MANAGED_KUBECONFIG=${EXTERNAL_MANAGED_KUBECONFIG:-./.external-managed-kubeconfig}
HOSTED_CLUSTER_MANAGER_NAME=${HOSTED_CLUSTER_MANAGER_NAME:-cluster-manager}
MANAGED_CLUSTER_NAME=${MANAGED_CLUSTER_NAME:-cluster1}
KLUSTERLET_NAME=${KLUSTERLET_NAME:-klusterlet}
# Where the hub's API server finds a hosted hub's webhooks.
WEBHOOK_ADDRESS=${WEBHOOK_ADDRESS:-management-control-plane}
REGISTRATION_WEBHOOK_PORT=${REGISTRATION_WEBHOOK_PORT:-30443}
WORK_WEBHOOK_PORT=${WORK_WEBHOOK_PORT:-31443}
# How long a clean target waits for one resource to go.
CLEAN_TIMEOUT=${CLEAN_TIMEOUT:-5m}

IMAGE_REGISTRY=${IMAGE_REGISTRY:-}
IMAGE_TAG=${IMAGE_TAG:-${VERSION:-dev}}
prefix=${IMAGE_REGISTRY:+$IMAGE_REGISTRY/}
# IMAGE_NAME is the operators' image, which is the hub's, too.
HUB_IMAGE=${IMAGE_NAME:-${prefix}muster:$IMAGE_TAG}
AGENT_IMAGE=${AGENT_IMAGE:-${prefix}muster-agent:$IMAGE_TAG}
# IMAGE_LOAD, a command, is given each image archive where no IMAGE_REGISTRY is set.
IMAGE_LOAD=${IMAGE_LOAD:-}
# What the custom resources name as images; empty: nothing, which means the two above.
REGISTRATION_IMAGE=${REGISTRATION_IMAGE:-}
WORK_IMAGE=${WORK_IMAGE:-}
PLACEMENT_IMAGE=${PLACEMENT_IMAGE:-}
ADDON_MANAGER_IMAGE=${ADDON_MANAGER_IMAGE:-}
OPERATOR_NAMESPACE=open-cluster-management
AGENT_NAMESPACE=open-cluster-management-agent

export KUBECONFIG

k() { "$KUBECTL" "$@"; }
hub() { "$KUBECTL" --kubeconfig "$EXTERNAL_HUB_KUBECONFIG" "$@"; }

# need FILE WHAT: ends when a kubeconfig is missing.
need() {
  [ -r "$1" ] && return
  echo "There is no $1: $2" >&2
  exit 1
}
