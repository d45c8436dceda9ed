# Sluicegate. `make` or `make help` lists the targets; everything stays inside this folder (.venv, target, out).

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
RUST := Cargo.toml Cargo.lock $(shell find crates -path '*/src/*' -type f -o -path '*/objects/*' -type f -o -name Cargo.toml)

# The simulator is always built for release, into one folder, against one interpreter.
export CARGO_TARGET_DIR := $(CURDIR)/target
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-all tests test-web web wheel lint docs picture verdicts kept bench bench-gate bench-peers bench-live captures ns2 fuzz bpf kernel generate coverage lock clean prerequisites

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.extension ## check the prerequisites, fill .venv, build the simulator

demo: setup ## reproduce CHOKe 1999 and show its report
	@status=0; $(BIN)/sluicegate reproduce choke1999 -o out/choke1999 || status=$$?; \
	report=$(CURDIR)/out/choke1999/report.html; \
	if [ -f "$$report" ]; then \
		echo "Report: $$report"; \
		if [ -n "$${DISPLAY:-}$${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then \
			xdg-open "$$report" >/dev/null 2>&1 || true; \
		fi; \
	fi; exit $$status

test: WHICH := -m "not full"
test: EXCLUDED := --exclude sluicegate-adapters --exclude sluicegate-live
test: tests ## the tests of a change: generated files fresh, Rust, Python, the reports in a browser

test-all: export SLUICEGATE_TESTS := full
test-all: tests ## every test, and more examples of the random ones, as continuous integration runs them

# Adapters to transports of others need the Rust of smoltcp, 1.91; an older one does without them.
OLD_RUST = $(shell rustc --version | awk -F'[ .]' '$$2 == 1 && $$3 < 91 { print "--exclude sluicegate-adapters" }')

# Tests in Python wait for processes, and those with real packets for time to pass: so there is one worker more than processors. Rust's tests
# are compiled and run in what is left. `make test` leaves out the adapters, whose QUIC and TLS would be a seventh of what is compiled, and
# the link for real packets, which tests in Python send packets over.
tests: setup
	@tools/chromium >/dev/null
	@mkdir -p out; log=out/tests-rust.log; \
	nice cargo test --profile tests --locked --workspace $(OLD_RUST) $(EXCLUDED) >$$log 2>&1 & rust=$$!; \
	chromium="$$(tools/chromium)"; status=0; SLUICEGATE_CHROMIUM="$$chromium" \
		$(BIN)/python -m pytest $(WHICH) --numprocesses $$(($$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) + 1)) --dist loadfile --no-loadscope-reorder --durations 15 || status=$$?; \
	if wait $$rust; then echo "Rust: $$(grep -c '\.\.\. ok$$' $$log) tests passed"; else cat $$log; status=1; fi; exit $$status

lint: setup ## formatting, clippy, docs of the crates, ruff, mypy, which module may import which, workflows
	cargo fmt --all --check
	cargo clippy --release --locked --workspace $(OLD_RUST) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --workspace $(OLD_RUST) --no-deps --document-private-items
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tools/circles.py
	$(BIN)/python tools/house.py --check
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

web: setup ## the page, in out/web, and as one file to open from disk: needs Node.js and Rust's target for browsers
	$(BIN)/python tools/web.py

test-web: web ## build the page, and try it in a browser
	chromium="$$(tools/chromium)"; SLUICEGATE_CHROMIUM="$$chromium" \
		$(BIN)/python -m pytest --numprocesses auto tests/test_web.py tests/test_live_page.py

wheel: setup ## a wheel for Python 3.11 and newer, in out/wheel; with the page, where it was built
	$(BIN)/python tools/wheel.py

docs: setup ## the manual as a site, in out/docs; warnings are errors
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs out/docs
	@echo "Manual: $(CURDIR)/out/docs/index.html"

picture: setup ## draw the manual's picture anew, and the README's where the page is built
	$(BIN)/python tools/picture.py
	if [ -f out/web/sluicegate.html ]; then $(BIN)/python tools/live_picture.py; fi

verdicts: setup ## reproduce the papers and record their verdicts: VERDICTS_OF="choke1999 ..."; half an hour for all
	$(BIN)/python tools/verdicts.py $(VERDICTS_OF)

kept: setup ## keep the runs of `sluicegate reproduce dcn2004 --full -o out/dcn2004-full` with the paper: KEPT=dcn2004
	$(BIN)/python tools/keep.py $(KEPT) out/$(KEPT)-full $(KEPT_SEEDS)

bench-gate: setup ## instructions per packet and bytes per flow beside those kept: REASON="why" keeps those of today
	@tools/install valgrind valgrind "which counts instructions" >/dev/null || true
	$(BIN)/python tools/bench/gate.py $(if $(REASON),--acknowledge "$(REASON)")

bench: setup ## measure speed: writes bench.json and prints its tables; PARTS="paper peers" for these alone
	$(BIN)/python tools/bench/bench.py $(PARTS)

bench-peers: PARTS := peers
bench-peers: bench ## measure speed beside ns-2, where it is installed

bench-live: setup ## measure the link for real packets: exactness and speed; as root
	$(BIN)/python tools/bench/live.py $(BENCH_LIVE)

captures: $(VENV)/.python ## record the captures of the tests anew: as root, with iproute2 and tcpdump
	$(BIN)/python tools/captures.py

ns2: $(VENV)/.python ## record the numbers of ns-2 that tests compare with anew: needs ns-2
	$(BIN)/python tools/ns2_numbers.py $(NS2)

# Neither .venv nor the extension is needed.
fuzz: FUZZ_SECONDS ?= 60
fuzz: prerequisites ## fuzz the readers, FUZZ_SECONDS for each target
	"$$(tools/prerequisites)" tools/fuzz.py --seconds $(FUZZ_SECONDS) $(FUZZ_TARGETS)

bpf: $(VENV)/.python ## compile the queue disciplines in BPF to the objects that the package has: needs clang-19
	$(BIN)/python tools/bpf.py $(BPF)

kernel: setup ## run them in this kernel if it can, else in Debian's newest, emulated: needs clang-19, qemu-system-x86, Debian's archive
	$(BIN)/python tools/kernel.py $(KERNEL)

generate: $(VENV)/.python ## write the Python classes, reference pages, schema and drawing of the house anew
	$(BIN)/python tools/generate.py
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/house.py

coverage: COVERAGE ?= rust python
coverage: setup ## measure what the tests cover, for CONTRIBUTING.md: COVERAGE="rust" or "python" alone; half an hour
	chromium="$$(tools/chromium)"; SLUICEGATE_CHROMIUM="$$chromium" \
		$(BIN)/python tools/lines.py $(addprefix --measure ,$(COVERAGE))

lock: $(VENV)/.python ## choose new versions for requirements.lock, with the digest of every file
	rm -rf $(VENV)/lock
	$(BIN)/python -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet uv
	$(BIN)/python tools/requirements.py | $(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal \
		--python-version 3.11 --generate-hashes --no-header --no-annotate --output-file requirements.lock -
	rm -rf $(VENV)/lock

clean: ## remove what was built: .venv, target, caches (results in out/ stay)
	rm -rf $(VENV) target web/node_modules web/core python/sluicegate/web python/sluicegate/_core*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

prerequisites:
	@tools/prerequisites >/dev/null

# A stamp is as old as the beginning of what it stands for: a file saved meanwhile is newer, and is built the next time.

# A changed lock gives a new environment, so that nothing outside the lock lingers in it.
$(VENV)/.python: requirements.lock | prerequisites
	"$$(tools/prerequisites)" -m venv --clear $(VENV)
	touch $@.begun
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements.lock
	mv $@.begun $@

$(VENV)/.extension: $(VENV)/.python pyproject.toml $(RUST)
	touch $@.begun
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	mv $@.begun $@
