#!/bin/sh
# image.sh: packs bin/muster-agent into bin/muster-agent.tar, an image archive
# that containerd, docker and skopeo load. VERSION becomes the tag.
set -eu
cd "$(dirname "$0")/../.."

version=${VERSION:-dev}
go run ./deploy/dev/image -o bin/muster-agent.tar -t "muster-agent:$version" bin/muster-agent
echo "bin/muster-agent.tar holds muster-agent:$version"
