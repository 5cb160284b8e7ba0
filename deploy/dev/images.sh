#!/bin/sh
# images.sh: packs bin/muster (hub and operators) and bin/muster-agent into image
# archives, without a container engine. With IMAGE_REGISTRY set they are pushed;
# else IMAGE_LOAD, a command, is run with each archive, or it is said what to do.
set -eu
cd "$(dirname "$0")/../.."
. deploy/dev/deploy-env.sh

push=
[ -z "$IMAGE_REGISTRY" ] || push=-push
for program in muster muster-agent; do
  image=$HUB_IMAGE
  [ "$program" = muster ] || image=$AGENT_IMAGE
  # shellcheck disable=SC2086 # no or one flag
  go run ./deploy/dev/image $push -o "bin/$program.tar" -t "$image" "bin/$program"
  if [ -n "$push" ]; then
    echo "pushed $image"
  elif [ -n "$IMAGE_LOAD" ]; then
    $IMAGE_LOAD "bin/$program.tar"
  else
    echo "bin/$program.tar holds $image"
    loads="${loads:-} bin/$program.tar"
  fi
done
[ -z "${loads:-}" ] || cat <<EOF
No IMAGE_REGISTRY is set. Before pods can start, each node has to have these images:
  containerd   for i in$loads; do ctr -n k8s.io images import \$i; done    (on the node)
  kind, k3d    kind load image-archive ARCHIVE, k3d image import ARCHIVE
Or let it be done from here: make deploy IMAGE_LOAD='kind load image-archive --name NAME'
EOF
