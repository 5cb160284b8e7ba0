# Everything that is run more than once. Recipes longer than five lines live in
# deploy/dev. "make help" lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# One flavour of every package: the hub, the test clusters and the tests share
# Go's build cache, which saves minutes where it is empty.
export CGO_ENABLED := 0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# What the hub API says of itself: the Kubernetes that is linked in.
KUBERNETES := $(shell sed -n 's|^.*k8s.io/kubernetes \(v[0-9.]*\)$$|\1|p' go.mod)
STAMP := k8s.io/component-base/version
LDFLAGS := -s -w -X main.version=$(VERSION) -X $(STAMP).gitVersion=$(KUBERNETES) -X $(STAMP).gitMajor=1 -X $(STAMP).gitMinor=$(word 2,$(subst ., ,$(KUBERNETES)))
# Compares two runs of "make bench".
BENCHSTAT := v0.0.0-20260908200009-22c9c6c9d4da
DATA_DIR ?= .muster
FRONTEND := $(shell find frontend/src frontend/public frontend/scripts frontend/index.html frontend/*.ts frontend/package.json -type f 2>/dev/null)

##@ Start here

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*##/ {printf "  %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Install what is missing on this machine (Debian packages as root, npm packages)
	@deploy/dev/setup.sh
	@$(MAKE) -s frontend/node_modules/.stamp e2e/ui/node_modules/.stamp

.PHONY: run
run: ## Build and start a hub that keeps its state in .muster (needs Go and Node.js only)
	@deploy/dev/setup.sh run
	@$(MAKE) -s build
	exec bin/muster serve --data-dir $(DATA_DIR)

.PHONY: demo
demo: setup build kube image ## Start a hub and two member clusters to try both ways of joining
	exec bin/muster demo

##@ Build

.PHONY: build
build: frontend/dist/index.html ## Build bin/muster and bin/muster-agent with the dashboard in it
	@go build -ldflags '$(LDFLAGS)' -o bin/muster ./backend/cmd/muster
	@go build -ldflags '$(LDFLAGS)' -o bin/muster-agent ./agent/cmd/muster-agent

.PHONY: image
image: build ## Build the agent's image archive, bin/muster-agent.tar, without a container engine
	@VERSION=$(VERSION) deploy/dev/image.sh

.PHONY: kube
kube: ## Build what test and demo clusters are made of (minutes when the build cache is empty)
	@deploy/dev/cluster-setup.sh

.PHONY: generate
generate: frontend/node_modules/.stamp ## Generate deepcopy, OpenAPI, CRDs, the REST description and the frontend's types
	@deploy/dev/generate.sh
	@deploy/dev/apidocs.sh
	@cd frontend && npm run --silent generate

%/node_modules/.stamp: %/package-lock.json
	@cd $* && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

frontend/dist/index.html: frontend/node_modules/.stamp $(FRONTEND)
	@cd frontend && npm run --silent build

##@ Deploy (any cluster of KUBECONFIG; deploy/dev/deploy-env.sh lists what can be told by the environment)

# What deploying needs first; DEPLOY_NEEDS= leaves it out where nodes have the images already.
DEPLOY_NEEDS ?= images
export VERSION

.PHONY: images
images: build ## Pack the images of hub and agent; push them when IMAGE_REGISTRY is set, else load them by IMAGE_LOAD or say how
	@deploy/dev/images.sh

.PHONY: deploy
deploy: deploy-hub cluster-ip ## Put hub and agents on one cluster, by their operators
	@deploy/dev/deploy.sh spoke

.PHONY: deploy-hub
deploy-hub: $(DEPLOY_NEEDS) ## Put the hub on a cluster; writes HUB_KUBECONFIG
	@deploy/dev/deploy.sh hub

.PHONY: cluster-ip
cluster-ip: ## Let HUB_KUBECONFIG lead to the hub by the address that its own pods use
	@deploy/dev/deploy.sh cluster-ip

.PHONY: deploy-spoke
deploy-spoke: $(DEPLOY_NEEDS) ## Put agents on a cluster, which introduce it to the hub of HUB_KUBECONFIG
	@deploy/dev/deploy.sh spoke

.PHONY: deploy-hub-hosted
deploy-hub-hosted: $(DEPLOY_NEEDS) ## Put a hub on a cluster for the API of EXTERNAL_HUB_KUBECONFIG
	@deploy/dev/deploy.sh hub-hosted

.PHONY: deploy-spoke-hosted
deploy-spoke-hosted: $(DEPLOY_NEEDS) ## Put agents on a cluster for the cluster of EXTERNAL_MANAGED_KUBECONFIG
	@deploy/dev/deploy.sh spoke-hosted

.PHONY: clean-deploy
clean-deploy: clean-spoke-cr clean-hub-cr clean-spoke-operator clean-hub-operator ## Undo deploy

.PHONY: clean-hub
clean-hub: clean-hub-cr clean-hub-operator ## Undo deploy-hub: all ManagedClusters go first

.PHONY: clean-spoke
clean-spoke: clean-spoke-cr clean-spoke-operator ## Undo deploy-spoke

.PHONY: clean-hub-hosted
clean-hub-hosted: clean-hub-cr-hosted clean-hub-operator ## Undo deploy-hub-hosted

.PHONY: clean-spoke-hosted
clean-spoke-hosted: clean-spoke-cr-hosted clean-spoke-operator ## Undo deploy-spoke-hosted

.PHONY: clean-hub-cr clean-hub-cr-hosted clean-hub-operator clean-spoke-cr clean-spoke-cr-hosted clean-spoke-operator
clean-hub-cr clean-hub-cr-hosted clean-hub-operator clean-spoke-cr clean-spoke-cr-hosted clean-spoke-operator:
	@deploy/dev/clean-deploy.sh $(@:clean-%=%)

##@ Check

.PHONY: test
test: setup build kube image ## Run every test: frontend, Go, end to end, browser, real clusters when root
	@deploy/dev/test.sh

.PHONY: test-faults
test-faults: build kube ## Run the tests that kill and cut things, three times, with more kills
	@MUSTER_KILLS=50 go test -count=3 -timeout 60m -run 'Fault' ./e2e

.PHONY: test-clusters
test-clusters: setup build kube image ## Run the tests that need clusters with kubelets (root)
	@go test -count=1 -timeout 20m ./e2e/cluster
	@MUSTER_OPERATORS=all go test -count=1 -timeout 40m -run 'RealClusters' ./e2e

.PHONY: bench
bench: build kube ## Print what scheduling, previews, starts, joins and propagation cost (half an hour; nothing is asserted); BASE=FILE compares with the bin/bench.txt of another run
	@go build -o bin/ ./e2e/load/simagent ./e2e/load/fakemember ./e2e/load/simklusterlet ./e2e/load/clonehub
	@{ go test -count=1 -run '^$$' -bench 'Decide|Preview' ./backend/scheduling ./backend/workload/preview; \
		go test -count=1 -timeout 120m -run '^$$' -bench . -benchtime 1x ./e2e; } | tee bin/bench.txt
	@[ -z "$(BASE)" ] || go run golang.org/x/perf/cmd/benchstat@$(BENCHSTAT) "$(BASE)" bin/bench.txt

.PHONY: fmt
fmt: ## Format Go files
	@gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: frontend/node_modules/.stamp ## Check formatting, go vet, staticcheck, eslint and types
	@test -z "$$(gofmt -l $$(git ls-files '*.go') | tee /dev/stderr)"
	@go vet ./...
	@go tool staticcheck ./...
	@cd frontend && npm run --silent lint

.PHONY: verify
verify: ## Fail when generated files or go.mod are not up to date
	@deploy/dev/verify.sh

##@ Clean

.PHONY: clean
clean: ## Remove what was built (not .muster, which is a hub's state)
	@rm -rf bin frontend/node_modules e2e/ui/node_modules e2e/ui/screenshots
	@find frontend/dist -mindepth 1 ! -name .gitkeep -delete
