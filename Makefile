# Every target works on a machine with Go, git and make; those that need more name it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules
export CGO_ENABLED := 0
# One set of flags for builds, tests and lints of all modules: each package is compiled once. With -trimpath
# the packages of this module would be compiled again for each module that requires it. Nobody asks git about a
# checkout that may be another user's. Vet looks at all libraries; it is a part of lint.
GOFLAGS ?=
override GOFLAGS := $(filter-out -trimpath -buildvcs=% -vet=%,$(GOFLAGS)) -buildvcs=false -vet=off
export GOFLAGS

BIN := bin/capstan
TOOLS := $(CURDIR)/.tmp/bin
# The origin that the binary reports: capstan version, /version.
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT := $(shell git rev-parse HEAD 2>/dev/null)
COMMIT_TIME := $(shell TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null)
BUILDINFO := github.com/capstan-dev/capstan/internal/buildinfo
LDFLAGS := -s -w -buildid= -X $(BUILDINFO).version=$(VERSION) -X $(BUILDINFO).commit=$(COMMIT) -X $(BUILDINFO).commitTime=$(COMMIT_TIME)
# A binary must not depend on the machine that builds it.
BUILDFLAGS := -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'
# Longest that one fuzz target or stress run may take.
FUZZTIME ?= 1m
OBJECTS ?= 1000000
STRESSTIME ?= 10m
# How long make soak takes, at least five minutes.
SOAKTIME ?= 10m
# The seed and the number of the random scenarios of make differ.
ifeq ($(origin SEED), undefined)
SEED := $(shell date +%s)
endif
N ?= 1000
# A later release for make differ and make later, and whether make differ mixes servers on one etcd.
LATER ?=
MIXED ?=
# How long make storm draws new rounds, the race detector for the server with RACE=1, and further flags.
TIME ?= 5m
RACE ?=
STORMFLAGS ?=

.PHONY: help
help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# What changed since the last release, for the explorer.
CHANGES := explorer/public/changes.json

.PHONY: generate
generate: ## Rebuild gen/ and the explorer's record of changes from openapi/ and schemas/
	go run ./generator generate
	go run ./generator changes $(CHANGES)

.PHONY: verify
verify: generate verify-explorer ## Fail when gen/ or the record of changes is stale, or has a new or orphaned file, or explorer/dist is not made of its sources
	@changes=$$(git status --porcelain -- gen internal/gen $(CHANGES)); \
	if [ -n "$$changes" ]; then echo "gen/ or $(CHANGES) differs from the documents; run 'make generate' and commit:"; echo "$$changes"; exit 1; fi

.PHONY: reference
reference: ## Write the pages in docs/reference that are made of the code: commands, flags, metrics
	CAPSTAN_UPDATE=1 go test -count 1 -run '^(TestCommandsAreOnTheirPage|TestFlagsAreOnTheirPage|TestMetricsAreOnTheirPage)$$' ./server/internal/reference ./server/internal/metrics ./generator/internal/command

EXPLORER := explorer/node_modules/.package-lock.json

$(EXPLORER): explorer/package.json explorer/package-lock.json
	npm --prefix explorer ci --ignore-scripts --no-audit --no-fund

.PHONY: explorer
explorer: $(EXPLORER) ## Build the page in explorer/ into explorer/dist (needs node and npm)
	npm --prefix explorer run --silent check
	npm --prefix explorer run --silent build

# Machines without node, or without packages for it, build the server from the committed files.
.PHONY: verify-explorer
verify-explorer:
	@if ! command -v npm > /dev/null; then echo "explorer/dist is not verified: there is no npm"; \
	elif ! $(MAKE) --no-print-directory $(EXPLORER) > /dev/null 2>&1; then echo "explorer/dist is not verified: its packages cannot be installed"; \
	else $(MAKE) --no-print-directory explorer > /dev/null && changes=$$(git status --porcelain -- explorer/dist); \
	if [ -n "$$changes" ]; then echo "explorer/dist differs from its sources; run 'make explorer' and commit:"; echo "$$changes"; exit 1; fi; fi

.PHONY: test-browser
test-browser: build $(EXPLORER) ## Use the explorer in Chromium (needs node, npm and chromium; SCREENSHOTS=folder keeps pictures)
	CAPSTAN=$(CURDIR)/$(BIN) npm --prefix explorer test

.PHONY: explorer-pictures
explorer-pictures: build $(EXPLORER) ## Take the pictures of docs/howto/explorer.md again (needs node, npm and chromium)
	cd explorer && PICTURES=$(CURDIR)/docs/howto CAPSTAN=$(CURDIR)/$(BIN) node --test test/pictures.test.mjs

.PHONY: docs
docs: ## Write the documentation into site/: guides, reference of all kinds, changes since the release
	go run ./generator docs site

.PHONY: build
build: ## Build bin/capstan, and bin/capstan-etcd for servers on etcd
	go build $(BUILDFLAGS) -o $(BIN) ./server/cmd/capstan
	go build $(BUILDFLAGS) -o $(BIN)-etcd ./server/cmd/capstan-etcd

.PHONY: ldflags
ldflags:
	@echo "$(LDFLAGS)"

# A release has for each of these platforms the binaries, the lists of their modules, and packages.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

.PHONY: dist
dist: ## Build dist/: binaries, archives, .deb, .rpm, an image, a chart, their modules (CycloneDX), and the sums of all (PLATFORMS="linux/amd64 ...")
	rm -rf dist && mkdir dist
	@for p in $(PLATFORMS); do for program in capstan capstan-etcd; do \
	  f=dist/$$program-$${p/\//-}; echo "== $$f"; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} go build $(BUILDFLAGS) -o $$f ./server/cmd/$$program; \
	  go run ./internal/sbom $$f $(VERSION) > $$f.cdx.json; done; done
	go -C tools/release run . -root $(CURDIR) -dist $(CURDIR)/dist -version $(VERSION) -commit $(COMMIT) -time $(COMMIT_TIME) $(PLATFORMS)
	cd dist && sha256sum * > SHA256SUMS

# The second build has other paths and an empty cache.
.PHONY: reproducible
reproducible: build ## Build the commit a second time, elsewhere and without a cache, and compare
	@case "$(VERSION)" in *-dirty) echo "commit first: the second build is made of the commit"; exit 1;; esac
	@dir=$$(mktemp -d); trap 'chmod -R u+w "$$dir"; rm -rf "$$dir"' EXIT; \
	git archive HEAD | tar -x -C "$$dir"; \
	GOCACHE="$$dir/.cache" $(MAKE) -s -C "$$dir" build VERSION=$(VERSION) COMMIT=$(COMMIT) COMMIT_TIME=$(COMMIT_TIME); \
	sha256sum $(BIN) "$$dir/$(BIN)"; cmp $(BIN) "$$dir/$(BIN)"

.PHONY: reproducible-dist
reproducible-dist: dist ## Make dist/ of the commit a second time, elsewhere and without a cache, and compare all files (PLATFORMS)
	@case "$(VERSION)" in *-dirty) echo "commit first: the second dist/ is made of the commit"; exit 1;; esac
	@dir=$$(mktemp -d); trap 'chmod -R u+w "$$dir"; rm -rf "$$dir"' EXIT; \
	git archive HEAD | tar -x -C "$$dir"; \
	GOCACHE="$$dir/.cache" $(MAKE) -s -C "$$dir" dist PLATFORMS="$(PLATFORMS)" VERSION=$(VERSION) COMMIT=$(COMMIT) COMMIT_TIME=$(COMMIT_TIME); \
	diff -r dist "$$dir/dist"; echo "all files are the same:"; cat dist/SHA256SUMS

.PHONY: run
run: build ## Build and serve on https://127.0.0.1:6443 with ./capstan-data, and print a login link of the explorer
	$(BIN) serve --explorer-link

# Compiles the packages of a module, with -test those of its tests too. The garbage of a compiler fits into
# memory: collecting it less often takes a sixth off its time.
compile = GOGC=400 go -C $(1) list -export -deps $(2) ./... > /dev/null

# Two modules are tested at a time, so that no core waits for one long test; each shows its output when it ends.
# The packages that all of them use are compiled before, so that they are compiled once.
.PHONY: test
test: ## Run all tests, real kubectl and client-go included
	$(call compile,.,)
	@$(MAKE) --no-print-directory --jobs 2 --output-sync test-e2e test-root test-differ test-rules test-storm

# The server of e2e is a process: a cached result would not depend on it. The time-outs are those of a machine
# that is busy with ten other things.
.PHONY: test-root test-e2e test-differ test-rules test-storm
test-root:
	$(call compile,.,-test)
	go test -timeout 25m ./...
test-e2e:
	$(call compile,internal/e2e,-test)
	go -C internal/e2e test -count 1 -parallel 3 -timeout 40m ./...
test-differ:
	$(call compile,tools/differ,-test)
	go -C tools/differ test -timeout 15m ./...
test-rules:
	$(call compile,tools/differ/rules,-test)
	go -C tools/differ/rules test -timeout 15m ./...
test-storm:
	$(call compile,tools/storm,-test)
	go -C tools/storm test -timeout 15m ./...

CLIENTS := $(CURDIR)/.tmp/clients
OLD_KUBECTL := $(CLIENTS)/debian/usr/bin/kubectl
PROMETHEUS := $(CLIENTS)/debian/usr/bin/prometheus
NODE_CLIENT := $(CLIENTS)/node/node_modules/.package-lock.json
# The JavaScript client, two validators of OpenAPI, a generator of TypeScript from it, its client, and the compiler.
NODE_PACKAGES := @kubernetes/client-node@1.4.0 @apidevtools/swagger-parser@12.1.0 @redocly/cli@2.14.0 openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@20.19.0 yaml-language-server@1.25.0

.PHONY: test-clients
test-clients: $(OLD_KUBECTL) $(NODE_CLIENT) $(PROMETHEUS) ## Run Debian's kubectl 1.20 and Prometheus, the JavaScript client, the language server of editors, and TypeScript made of the OpenAPI documents (needs apt-get, dpkg, node, npm)
	CAPSTAN_OLD_KUBECTL=$(OLD_KUBECTL) CAPSTAN_NODE_CLIENT=$(CLIENTS)/node CAPSTAN_PROMETHEUS=$(dir $(PROMETHEUS)) \
	  go -C internal/e2e test -count 1 -timeout 40m -v -run '^(TestOldKubectl|TestNodeClient|TestEditor|TestTypeScriptClient|TestActionClients|TestPrometheus|TestDashboard)$$' .

# The package is taken apart, not installed. dpkg keeps the times of its files.
$(OLD_KUBECTL):
	mkdir -p $(CLIENTS)/debian
	cd $(CLIENTS) && apt-get download kubernetes-client && dpkg -x kubernetes-client_*.deb debian

$(PROMETHEUS):
	mkdir -p $(CLIENTS)/debian
	cd $(CLIENTS) && apt-get download prometheus && dpkg -x prometheus_*.deb debian

$(NODE_CLIENT):
	npm install --prefix $(CLIENTS)/node --no-audit --no-fund --ignore-scripts $(NODE_PACKAGES)

MINIMAL := $(CURDIR)/.tmp/minimal

.PHONY: test-packages
test-packages: $(MINIMAL)/etc/debian_version ## Install, run, upgrade, remove and purge the .deb in a minimal Debian, run the image, compare two runs, check the chart (needs root, debootstrap, unshare; with systemd-nspawn also under systemd)
	$(MAKE) dist PLATFORMS=linux/amd64
	CAPSTAN_BINARIES=$(CURDIR)/dist CAPSTAN_ROOT=$(MINIMAL) go -C tools/release test -count 1 -timeout 15m -v .
	CAPSTAN_BINARIES=$(CURDIR)/dist go -C tools/chart test -count 1 -timeout 15m -v .

# The suite is that of Debian 12, with systemd, which a test boots. A half-made root is made again.
$(MINIMAL)/etc/debian_version:
	rm -rf $(MINIMAL) $(MINIMAL).new && mkdir -p $(dir $(MINIMAL))
	debootstrap --variant=minbase --include=systemd-sysv,iproute2 bookworm $(MINIMAL).new
	mv $(MINIMAL).new $(MINIMAL)

.PHONY: race
race: ## Run the tests of the concurrent packages with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -timeout 20m ./internal/store/... ./internal/storetest/... ./internal/watch/... ./internal/index/... ./internal/document/... ./server/...

# Code that no program of ours calls, only other programs, tests or processors; and the engine on etcd, which one of two
# programs opens.
CALLED := ^\(action\|client\|internal/balancer\|internal/kmstest\|internal/grpctest\|internal/signertest\|internal/docpage\|internal/etcdtest\|internal/store/etcd\|kit\|object\|server/builtin\|server/manual\|value\|internal/authztest\|internal/converttest\|internal/history\|internal/storetest\|internal/measured\|internal/streamtest\|server/internal/harness\|server/servertest\)/\|^internal/document/classify.go\|^internal/document/format.go\|^internal/api/endpoint.go\|^internal/store/encoded.go\|^server/login.go\|^server/command/tree.go

.PHONY: lint
lint: $(TOOLS)/staticcheck $(TOOLS)/deadcode ## Check formatting, vet, staticcheck, dead code and the house rules
	@files=$$(gofmt -l action client examples explorer generator internal kit nodeapi object openapi schemas server tools/facts value); if [ -n "$$files" ]; then echo "gofmt these:"; echo "$$files"; exit 1; fi
	go vet ./...
	go -C internal/e2e vet ./...
	go -C tools/differ vet ./...
	go -C tools/differ/rules vet ./...
	go -C tools/storm vet ./...
	go -C tools/etcd vet ./...
	go -C tools/pinned vet ./...
	go -C tools/release vet ./...
	go -C tools/chart vet ./...
	$(TOOLS)/staticcheck ./...
	@all=$$($(TOOLS)/deadcode ./...); dead=$$(grep -v '$(CALLED)' <<< "$$all" || true); \
	if [ -n "$$dead" ]; then echo "remove these:"; echo "$$dead"; exit 1; fi
	go test ./internal/lint

$(TOOLS)/staticcheck: tools/pinned/go.mod
	go -C tools/pinned build -o $@ honnef.co/go/tools/cmd/staticcheck

$(TOOLS)/deadcode: tools/pinned/go.mod
	go -C tools/pinned build -o $@ golang.org/x/tools/cmd/deadcode

$(TOOLS)/govulncheck: tools/pinned/go.mod
	go -C tools/pinned build -o $@ golang.org/x/vuln/cmd/govulncheck

.PHONY: picture
picture: ## Draw internal/lint/layers.svg, the groups of packages and their imports
	go -C tools/pinned run ./layers ../..

.PHONY: vulncheck
vulncheck: $(TOOLS)/govulncheck ## List known vulnerabilities that the code can reach (asks vuln.go.dev)
	$(TOOLS)/govulncheck ./...

.PHONY: lines
lines: ## Count hand-written lines: Go, tests separately, and documents
	@code() { git ls-files "$$@" | grep '\.go$$' | grep -v '^\(internal/\)\?gen/'; }; total() { xargs cat | wc -l; }; \
	for d in server internal generator client value tools .; do \
	  printf '%-12s%7d   tests %7d\n' $${d/#./all} $$(code $$d | grep -v '_test\.go$$' | total) $$(code $$d | grep '_test\.go$$' | total); done; \
	printf '%-12s%7d\n' documents $$(git ls-files openapi schemas | grep -v '^openapi/released/\|^schemas/examples/' | total)

.PHONY: compat
compat: ## Compare the documents with openapi/released and list breaking changes
	go run ./generator compat

.PHONY: gate-mutations
gate-mutations: ## Try the gate with N random edits of schemas and of definitions from SEED on, by default one of the clock, for at most TIME
	go test ./generator/compat -run 'TestMutations|TestDefinitionMutations' -v -timeout 0 -mutations $(or $(N),10000) -mutation-seed $(or $(SEED),0) -mutation-time $(or $(TIME),20m)

.PHONY: release-baseline
release-baseline: ## Make the documents those of the release VERSION=1.26, which make compat compares with from then on
	@case "$(VERSION)" in [0-9]*.[0-9]*) ;; *) echo "write make release-baseline VERSION=1.26"; exit 2;; esac
	go run ./generator release-baseline --version $(VERSION)

REFERENCE := $(CURDIR)/.tmp/reference
DIFFER := $(CURDIR)/.tmp/differ

RELEASES ?= 1.25.16 1.26.15 1.27.16 1.28.15 1.29.15 1.30.14 1.31.14 1.32.13 1.33.13 1.34.9 1.35.6 1.36.3
.PHONY: facts
facts: ## Write what Kubernetes has served in each release from 1.25 on, read from its Go modules, as tables for tests (RELEASES)
	go run ./tools/facts generator/internal/facts/testdata/releases $(RELEASES)

.PHONY: differ
differ: build $(REFERENCE)/kube-apiserver ## Send N random scenarios of SEED to kube-apiserver 1.25 and to this server, and list what differs (MIXED=1: to a mix of both kinds on one etcd; LATER=1.36.3: to that release and this server as it)
	go -C tools/differ build -o $(TOOLS)/differ .
	$(if $(LATER),V=$(LATER) tools/differ/reference/build.sh $(CURDIR)/.tmp/later-$(LATER))
	@echo "SEED=$(SEED) N=$(N)"
	$(TOOLS)/differ run $(if $(MIXED),-mixed) $(if $(LATER),-release $(basename $(LATER)) -start-reference $(CURDIR)/.tmp/later-$(LATER),-start-reference $(REFERENCE)) -start-server $(BIN) -accepted tools/differ/accepted.yaml -seed $(SEED) -n $(N) -out $(DIFFER)

.PHONY: exchange
exchange: $(REFERENCE)/kube-apiserver ## Exchange the kube-apiservers 1.25 of a cluster on etcd for this server and back while clients use it; UPSTREAM=folder adds controllers
	cd internal/e2e && CAPSTAN_REFERENCE=$(REFERENCE) CAPSTAN_UPSTREAM=$(UPSTREAM) go test -run TestExchange -v -count 1 -timeout 8m .

.PHONY: later
later: $(REFERENCE)/kube-apiserver ## Go on with the etcd of a later kube-apiserver (LATER), as kube-apiserver 1.25 does on a copy of it
	V=$(or $(LATER),1.36.3) tools/differ/reference/build.sh $(CURDIR)/.tmp/later-$(or $(LATER),1.36.3)
	cd internal/e2e && CAPSTAN_REFERENCE=$(REFERENCE) CAPSTAN_LATER=$(CURDIR)/.tmp/later-$(or $(LATER),1.36.3) go test -run TestLaterRelease -v -count 1 -timeout 8m .

$(REFERENCE)/kube-apiserver:
	tools/differ/reference/build.sh $(REFERENCE)

STORM := $(CURDIR)/.tmp/storm

.PHONY: storm
storm: ## Have many clients use a server at once for TIME, by programs of SEED and the next ones, and judge what they saw (RACE=1 needs a C compiler; SERVERS=3 shares an etcd of three members)
	CGO_ENABLED=$(if $(RACE),1,0) go build $(if $(RACE),-race) -tags invariants -o $(TOOLS)/capstan-storm ./server/cmd/capstan
	$(if $(SERVERS),CGO_ENABLED=$(if $(RACE),1,0) go build $(if $(RACE),-race) -tags invariants -o $(TOOLS)/capstan-etcd ./server/cmd/capstan-etcd)
	$(if $(SERVERS),go -C tools/etcd build -o $(TOOLS)/etcd .)
	go -C tools/storm build -o $(TOOLS)/storm .
	@echo "SEED=$(SEED) TIME=$(TIME)"
	@ulimit -n "$$(ulimit -Hn)"; $(TOOLS)/storm -server $(TOOLS)/capstan-storm $(if $(SERVERS),-etcd $(TOOLS)/etcd -servers $(SERVERS)) -seed $(SEED) -time $(TIME) -out $(STORM) $(STORMFLAGS)

MUTANT ?=

.PHONY: storm-mutants
storm-mutants: ## Plant mistakes into the server, one at a time (MUTANT=name for one), and see that the storm finds each within five minutes (SEED)
	@test -e tools/storm/testdata/mutants/$(addsuffix .yaml,$(MUTANT))
	@echo "SEED=$(SEED)"
	@ulimit -n "$$(ulimit -Hn)"; CAPSTAN_STRESS=1 CAPSTAN_SEED=$(SEED) go -C tools/storm test -count 1 -v -timeout 4h -run '^TestMutants$$/^$(or $(MUTANT),.*)$$' .

.PHONY: bench
bench: ## Run the Go benchmarks, in the form that benchstat reads
	go test -run '^$$' -bench . -benchmem -count 3 -timeout 20m ./internal/... ./server/...

.PHONY: bench-scale
bench-scale: ## Measure large stores, 10,000 idle watches and the latency of announcements, and draw tools/bench/scale.svg (some minutes; OBJECTS)
	@ulimit -n "$$(ulimit -Hn)"; FIGURE=$(CURDIR)/tools/bench/scale.svg CAPSTAN_STRESS=1 go test -v -count 1 -timeout 30m ./tools/bench/scale

.PHONY: bench-floor
bench-floor: ## Measure the cost of each kind of request as a multiple of that of a bare HTTPS server (ROUNDS, OPERATIONS, SETTINGS, ROWS)
	@ulimit -n "$$(ulimit -Hn)"; CAPSTAN_STRESS=1 go test -v -count 1 -timeout 15m -run TestFloor ./tools/bench/scale

UPSTREAM ?= .tmp/upstream
NODES ?= 300
PODS ?= 3000
DEPLOYMENTS ?= 1

.PHONY: bench-cluster
bench-cluster: build ## Measure a living cluster of NODES fake nodes and PODS pods in DEPLOYMENTS deployments on this server and on kube-apiserver 1.25, with the controllers, scheduler and KWOK in the folder UPSTREAM (root; KINDS, PROFILE=1, RELEASE; LIGHT=1 for a scheduler that looks at fewer nodes)
	test -x $(UPSTREAM)/kube-controller-manager -a -x $(UPSTREAM)/kwok -a -s $(UPSTREAM)/stages.yaml
	go build -o $(TOOLS)/cluster ./tools/bench/cluster
	$(TOOLS)/cluster -server $(BIN) -reference $(REFERENCE) -upstream $(UPSTREAM) -nodes $(NODES) -pods $(PODS) -deployments $(DEPLOYMENTS) -out .tmp/cluster $(if $(KINDS),-kinds $(KINDS)) $(if $(PROFILE),-profile) $(if $(RELEASE),-release $(RELEASE)) $(if $(LIGHT),-light-scheduler)

.PHONY: soak
soak: ## Keep watches and informers on the real binary, in real time, for SOAKTIME (10m, 2h, ...)
	CAPSTAN_SOAK=$(SOAKTIME) go -C internal/e2e test -timeout 0 -count 1 -v -run '^TestSoak$$' .

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME each, and OBJECTS objects through all validators
	CAPSTAN_OBJECTS=$(OBJECTS) go test -count 1 -timeout 1h -run "TestValidatorsAgree|TestKeywordsAgree|TestReference" ./generator ./internal/quantity
	@for module in . internal/e2e; do \
	  for pkg in $$(go -C $$module list ./... ); do \
	    case $$pkg in */e2e) continue;; esac; \
	    for f in $$(go -C $$module test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	      echo "== $$pkg $$f"; go -C $$module test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; done; done; done

.PHONY: stress
stress: ## Run the long store and server tests, internal checks on, for up to STRESSTIME each
	CAPSTAN_STRESS=1 go test -tags invariants -timeout $(STRESSTIME) -count 1 ./internal/store/... ./internal/storetest/... ./internal/watch/... ./internal/index/... ./server/internal/conns ./server/internal/extensions ./server/internal/request ./server/internal/serve ./server/internal/live
	CAPSTAN_STRESS=1 go test -tags invariants -timeout $(STRESSTIME) -count 1 -run 'TestHistory|TestLinearizable|TestNeighbourOfSlowWebhooks|TestNoisyClient|TestReferencesInAStorm' ./server/internal/objects ./server/internal/flowcontrol ./server/internal/kinds/references
	CAPSTAN_STRESS=1 go -C internal/e2e test -timeout $(STRESSTIME) -count 1 -run 'TestKilled|TestOperator|TestWardle' .
