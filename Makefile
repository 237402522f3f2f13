# Every target prepares what it needs: a Python >= 3.11, make and a package registry are enough.
# The first run needs the network; later runs do not, until pyproject.toml or uv.lock changes.

UV_VERSION := 0.13.7
CORPUS ?= $(if $(wildcard ../shared/conformance),../shared/conformance,tests/conformance/sample)
TEST_WORKERS ?= 2
ROUNDS ?= 10
FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= $(shell date +%s)
PERF_CONFIG ?= ../shared/scheduler_perf
PERF_SIZE ?= short
# One workload of each case, the largest that has upstream's defaults.
FLOW_WORKLOADS := /(5000Nodes(_[0-9]+Pods)?|5kNodes/.*|5000pods_500nodes)$$
VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/stowplan/__init__.py)
# Of the image, in Debian's words; a release has all of them.
ARCHES ?= $(patsubst x86_64,amd64,$(patsubst aarch64,arm64,$(shell uname -m)))
RELEASE_ARCHES ?= amd64 arm64
IMAGE_ROOTS ?= build/image
EXAMPLE := examples/cluster.yaml examples/workload.yaml

BIN := .venv/bin
# What runs the program, and what develops it: nobody who only runs it gets the second.
READY := .venv/.synced
DEVELOP := .venv/.synced-develop
# Apart: with what the tests of the page need, every other run of tests would take twice as long to start.
PAGE_BIN := .venv-page/bin
PAGE := .venv-page/.synced
# Apart: what makes the site of the documentation, and nothing of the program.
DOCS_BIN := .venv-docs/bin
DOCS := .venv-docs/.synced
SITE := build/docs
# Says in a line what a command is at; what it writes is shown if it fails.
STEP := tools/setup_step.py
# Where uv is already, there is a step less.
UV_IS_THERE := $(wildcard .uv/bin/uv-$(UV_VERSION))
SYNC_STEP := $(if $(UV_IS_THERE),1/2,2/3)
COMPILE_STEP := $(if $(UV_IS_THERE),2/2,3/3)
SYNC := -- .uv/bin/uv sync --frozen --compile-bytecode
SYNC_INTO_VENV := VIRTUAL_ENV= UV_PROJECT_ENVIRONMENT=.venv .uv/bin/python $(STEP) $(SYNC_STEP)
# Programs start in half the time, also where Python is told not to write bytecode by itself.
COMPILE := .uv/bin/python $(STEP) $(COMPILE_STEP) "Compiling Stowplan" -- $(BIN)/python -m compileall -q src
CONTROL_PLANE := tests/e2e/control_plane
# Oldest first: each has a folder there.
RELEASES := 1.36 1.37
CONTROL_PLANES_BUILT := $(RELEASES:%=.e2e/bin/%/.built)
HELM := tests/e2e/helm
HELM_BUILT := .e2e/bin/.helm-built
# Every release of Python has an environment of its own, and these tests: all units, and whole programs.
PYTHON_VENV = .venv-$(notdir $(PYTHON))
PYTHON_TESTS ?= tests/unit tests/integration/test_without_embedded.py tests/integration/kube
PROMTOOL := tests/e2e/promtool
PROMTOOL_BUILT := .e2e/bin/.promtool-built
CODE := $(wildcard src tests benchmarks tools)
CACHES := .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist

export UV_PYTHON_DOWNLOADS := never
# Trust what the operating system trusts, as pip does.
export UV_SYSTEM_CERTS := 1

.DEFAULT_GOAL := help
.PHONY: help setup run test test-page page-screenshots fuzz check conformance bench e2e e2e-bench perf-peer types docs docs-generated docs-plugins docs-page-api docs-whatif docs-diagrams docs-notebook performance docs-performance build format clean distclean image-root image image-lock release release-files release-check outdated docs-licences test-python chart

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "%-16s %s\n", $$1, $$2}'

setup: $(DEVELOP) ## create the environment the other targets use

run: $(READY) ## start a cluster with the example workload; in a terminal it stays up for kubectl until Ctrl-C
	@# Job control keeps Ctrl-C between the terminal and the program, which ends well; make would call it an error.
	@# Ctrl-Z is passed over: make would end, and nobody could bring the program back.
	@if [ -t 1 ]; then \
	    set -m; trap '' TSTP; $(BIN)/stowplan up --from $(EXAMPLE); \
	else \
	    $(BIN)/stowplan up --once --explain --allow-refused --from $(EXAMPLE); \
	fi

test: $(DEVELOP) ## run every test that needs no real cluster
	$(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal --ignore=tests/e2e --ignore=tests/page --ignore=tests/site

test-page: $(PAGE) ## drive the page with a browser, and ask its API at random
	tests/chromium/install
	$(PAGE_BIN)/pytest -q --durations=5 tests/page
	$(PAGE_BIN)/python -m tests.fuzz.page --schemathesis $(PAGE_BIN)/schemathesis

page-screenshots: $(PAGE) ## take the pictures of the page that README.md shows, into docs/images
	tests/chromium/install
	$(PAGE_BIN)/python -m tests.page.screenshots docs/images

fuzz: $(DEVELOP) ## run the property tests at length (ROUNDS=10), then attack the embedded cluster (FUZZ_SECONDS=3600)
	@for round in $$(seq $(ROUNDS)); do \
	    echo "round $$round"; \
	    STOWPLAN_EXAMPLES=new $(BIN)/pytest -q -n $(TEST_WORKERS) --dist worksteal -m "hypothesis or at_length" tests --ignore=tests/e2e --ignore=tests/page --ignore=tests/site || exit 1; \
	done
	@echo "attacking the embedded cluster for $(FUZZ_SECONDS) s, seed $(FUZZ_SEED)"
	$(BIN)/python -m tests.fuzz.embedded --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

check: $(DEVELOP) ## lint, format, types, import contracts, sizes
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy --strict $(CODE)
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -q tests/architecture

conformance: $(DEVELOP) ## compare every decision with the golden corpus (CORPUS=DIR)
	$(BIN)/python -m tests.conformance $(CORPUS)

bench: $(DEVELOP) ## run the benchmarks
	$(BIN)/python -m benchmarks

e2e: $(DEVELOP) $(CONTROL_PLANES_BUILT) $(HELM_BUILT) $(PROMTOOL_BUILT) image ## run the tests against real kube-apiservers and etcd, built here with Go
	tests/chromium/install
	$(BIN)/pytest --durations=5 tests/e2e
	$(BIN)/pytest --durations=5 --plane real-1.36 tests/e2e
	$(BIN)/pytest --durations=5 --plane embedded tests/e2e
	$(BIN)/pytest --durations=5 --plane embedded-1.36 tests/e2e/test_nonsense.py tests/e2e/test_nonsense_groups.py

e2e-bench: $(DEVELOP) $(lastword $(CONTROL_PLANES_BUILT)) ## measure schedulers on the real API server: pods a second, CPU time a pod
	$(BIN)/python -m tests.e2e.throughput

perf-peer: $(DEVELOP) $(lastword $(CONTROL_PLANES_BUILT)) ## Kubernetes' benchmark beside kube-scheduler (PERF_CONFIG=DIR, PERF_SIZE=trial|short|nightly)
	$(BIN)/python -m tests.e2e.perf_peer $(PERF_CONFIG) --size $(PERF_SIZE)

performance: bench ## run every benchmark whose figures are in docs/performance.md, and write that: needs Go, an idle machine and 90 minutes
	$(BIN)/stowplan bench $(PERF_CONFIG) --labels performance --workload '$(FLOW_WORKLOADS)' --output-file build/flow.json
	$(BIN)/stowplan bench benchmarks/mixed_templates --labels performance --output-file build/flow-own.json
	$(BIN)/python -m benchmarks.live --kind plain --kind "hard spread" --kind "soft spread" --kind affinity --fail-over
	$(MAKE) perf-peer PERF_SIZE=nightly
	$(BIN)/python -m tools.performance_page --take build

docs-performance: $(DEVELOP) ## write docs/performance.md from the runs in docs/performance
	$(BIN)/python -m tools.performance_page

docs: $(DOCS) $(DEVELOP) ## make the site of the documentation in build/docs; warnings and broken links are errors
	$(BIN)/python -m tools.documentation $(SITE)-source
	$(DOCS_BIN)/python -m sphinx -q -W --keep-going -n -j auto -c tools/documentation/sphinx $(SITE)-source $(SITE)
	$(BIN)/pytest -q tests/site
	@echo "the site is in $(SITE), with $(SITE)/index.html first"

docs-generated: $(DEVELOP) ## write the pages made from the code: configuration, command line, events, contract, HTTP and Python interfaces
	$(BIN)/python -m tools.reference_pages

docs-plugins: $(DEVELOP) ## write docs/plugins from the classes, and the tables of feature gates and of changes between releases
	$(BIN)/python -m tools.generate_plugin_manual

docs-page-api: $(DEVELOP) ## write the OpenAPI description of what the page asks, docs/page-api.openapi.json
	$(BIN)/python -m tools.generate_page_api

docs-whatif: $(DEVELOP) ## write the JSON schema of what-if questions and answers, docs/whatif.schema.json
	$(BIN)/python -m tools.generate_whatif_schema

docs-diagrams: $(DEVELOP) ## draw the diagrams of the documentation from their descriptions in docs/images
	$(BIN)/python -m tools.diagrams

docs-notebook: $(DEVELOP) ## run the notebook of the examples, and write what its cells show
	$(BIN)/python -m tools.notebook

chart: $(DEVELOP) ## write the dashboard, what the chart has copies of, and the table of its values in docs/chart.md
	$(BIN)/python -m tools.generate_dashboard
	$(BIN)/python -m tools.generate_chart

types: $(DEVELOP) ## write what the embedded API server knows of the Kubernetes types anew; needs Go
	$(BIN)/python -m tools.generate_types $(CONTROL_PLANE)

build: $(READY) ## build the archives to publish, into dist/
	@# Checksums of a release that was made before are not those of what comes now.
	@rm -f dist/SHA256SUMS
	.uv/bin/uv build --quiet --out-dir dist

image-root: build ## make the root file system of the image, for each of ARCHES, into build/image
	@for arch in $(ARCHES); do \
	    $(BIN)/python -m tools.image.root --architecture $$arch --wheel dist/stowplan-$(VERSION)-py3-none-any.whl $(IMAGE_ROOTS)/$$arch || exit 1; \
	done

image: image-root ## make the image, an archive that docker, podman and skopeo read, into dist/ (ARCHES="amd64 arm64")
	$(BIN)/python -m tools.image.oci --output dist/stowplan-$(VERSION)-image.tar $(ARCHES:%=$(IMAGE_ROOTS)/%)

image-lock: $(READY) ## take the newest versions of the image's Debian packages
	$(BIN)/python -m tools.image.debian

release: $(READY) ## make all files of a release into dist/: source archive, wheel, image, bill of materials, checksums
	$(BIN)/python -m tools.release check
	$(MAKE) release-files

release-files: $(READY)
	$(MAKE) image ARCHES="$(RELEASE_ARCHES)"
	$(BIN)/python -m tools.bill_of_materials --output dist/stowplan-$(VERSION).cdx.json $(RELEASE_ARCHES:%=$(IMAGE_ROOTS)/%)
	$(BIN)/python -m tools.release sums

release-check: release-files ## make the files of a release twice, the second time elsewhere from the source archive, and compare (RELEASE_ARCHES=amd64)
	$(BIN)/python -m tools.release again

outdated: $(READY) ## list the libraries of which there are newer releases
	.uv/bin/uv tree --frozen --outdated --no-dev --depth 1

docs-licences: $(READY) ## write the licences of the libraries, docs/licences.md
	$(BIN)/python -m tools.list_licences

test-python: | .uv/bin/uv-$(UV_VERSION) ## run a part of the tests with another Python (PYTHON=python3.13)
	@test -n "$(PYTHON)" || { echo "name a Python: make test-python PYTHON=python3.13" >&2; exit 1; }
	VIRTUAL_ENV= UV_PROJECT_ENVIRONMENT=$(PYTHON_VENV) .uv/bin/uv sync --frozen --python "$(PYTHON)"
	$(PYTHON_VENV)/bin/python --version
	$(PYTHON_VENV)/bin/pytest -q -n $(TEST_WORKERS) --dist worksteal $(PYTHON_TESTS)

format: $(DEVELOP) ## rewrite the code in house format
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

clean: ## remove caches and build output
	rm -rf $(CACHES)
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## also remove the environments and the control plane
	rm -rf .venv .venv-page .venv-docs .uv .e2e .venv-python*

# What is there beyond what is needed stays: to run something must not take away what tests need.
$(READY): pyproject.toml uv.lock | .uv/bin/uv-$(UV_VERSION) .venv/bin/python
	@$(SYNC_INTO_VENV) "Installing what Stowplan needs to run into .venv" $(SYNC) --no-dev --inexact
	@$(COMPILE)
	@touch $@

$(DEVELOP): pyproject.toml uv.lock | .uv/bin/uv-$(UV_VERSION) .venv/bin/python
	@$(SYNC_INTO_VENV) "Installing what Stowplan and its tests need into .venv" $(SYNC)
	@$(COMPILE)
	@touch $(READY) $@

$(PAGE): pyproject.toml uv.lock | .uv/bin/uv-$(UV_VERSION)
	@echo "Installing what the tests of the page need into .venv-page ..."
	@VIRTUAL_ENV= UV_PYTHON=.uv/bin/python UV_PROJECT_ENVIRONMENT=.venv-page .uv/bin/uv sync --frozen --compile-bytecode --group page
	@touch $@

$(DOCS): pyproject.toml uv.lock | .uv/bin/uv-$(UV_VERSION)
	@echo "Installing what makes the site of the documentation into .venv-docs ..."
	@VIRTUAL_ENV= UV_PYTHON=.uv/bin/python UV_PROJECT_ENVIRONMENT=.venv-docs .uv/bin/uv sync --frozen --compile-bytecode --only-group docs
	@touch $@

.venv/bin/python: | .uv/bin/uv-$(UV_VERSION)
	@.uv/bin/python -m venv --without-pip .venv

$(CONTROL_PLANES_BUILT): .e2e/bin/%/.built: $(CONTROL_PLANE)/build $(CONTROL_PLANE)/%/go.mod $(CONTROL_PLANE)/%/go.sum
	$(CONTROL_PLANE)/build $* $(@D)
	@touch $@

# Apart from the control plane: a Helm has the Kubernetes modules of its own release.
$(HELM_BUILT): $(addprefix $(HELM)/,build go.mod go.sum)
	$(HELM)/build $(@D)
	@touch $@

$(PROMTOOL_BUILT): $(addprefix $(PROMTOOL)/,build go.mod go.sum)
	$(PROMTOOL)/build $(@D)
	@touch $@

# The version is part of the name, so that a new pin installs anew.
.uv/bin/uv-$(UV_VERSION):
	@set -e; found=""; \
	for candidate in $(PYTHON) python3.11 python3; do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        found="$$candidate"; break; \
	    fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo "stowplan needs Python 3.11 or newer, and neither python3.11 nor python3 is;" \
	        "install one, or name it: make PYTHON=path/to/python" >&2; \
	    exit 1; \
	fi; \
	"$$found" $(STEP) 1/3 "Setting up with $$("$$found" --version): uv, which installs the rest" -- \
	    sh -c 'echo "stage: making an environment for it"; "$$0" -m venv .uv || exit; \
	        echo "stage: asking for it"; \
	        .uv/bin/python -m pip install --disable-pip-version-check --progress-bar off uv==$(UV_VERSION)' "$$found"
	@ln -sf uv $@
