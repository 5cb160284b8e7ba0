#!/bin/sh
# cluster-setup.sh: builds what test clusters are made of into bin/: kube (every
# Kubernetes component in one binary), muster-lab, and the images pause and web.
# The first build of Kubernetes takes minutes; with Go's build cache warm, seconds.
set -eu
cd "$(dirname "$0")/../.."
bin=$PWD/bin
mkdir -p "$bin"

# Default build flags, so that the build cache is shared with the hub, which
# links the same packages. The version is what members report.
kubernetes=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${kubernetes#v*.} minor=${minor%%.*}
stamp=k8s.io/component-base/version
CGO_ENABLED=0 go build -ldflags "-s -w -X $stamp.gitVersion=$kubernetes -X $stamp.gitMajor=1 -X $stamp.gitMinor=$minor" \
  -o "$bin/kube" ./e2e/cluster/kube
CGO_ENABLED=0 go build -o "$bin/muster-lab" ./e2e/cluster/lab
for image in pause web; do
  CGO_ENABLED=0 go build -ldflags '-s -w' -o "$bin/$image" "./e2e/cluster/images/$image"
  "$bin/muster-lab" image "muster.test/$image:1" "$bin/$image.tar" "$bin/$image"
done
