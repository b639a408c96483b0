# `make` lists the targets. PYTHON names the interpreter; clang is taken from PATH, or comes with the package ziglang.
PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
BIN := .venv/bin
INSTALLED := .venv/.installed
DEVELOPED := .venv/.developed
HEADLINE := sed -nE '/ at parity[ ;]| (selected|recorded) pass/,$$p'
# One worker more than cores: some tests wait for processes that hang.
PYTEST := $(BIN)/python -m pytest -q -n $(shell expr $$(nproc) + 1) --dist worksteal

FOR_AMD := import sys; from conformance.toolchains.amd import lacking; sys.exit(lacking() or 0)
WANTS_ZIG := import sys; from conformance.toolchains.host import wants_zig; sys.exit(wants_zig())
PIP = $$($(BIN)/python -m pip --version >/dev/null 2>&1 && echo $(BIN)/python -m pip || \
  echo $(PYTHON) -m pip --python $(BIN)/python) install --quiet --disable-pip-version-check

# What `make parity` writes; `make reports` has it write the records of a release instead.
OUT := .parity
STORE = $(OUT)
JSON := json
RECORDS = $(foreach name,parity parity-wave32 replay-kernels replay-reference,$(STORE)/$(name).$(JSON))
# AMD GPUs whose machine code is interpreted, where there is a compiler for them.
INTERPRETED := gfx942

.DEFAULT_GOAL := help
.PHONY: help parity matrix view doctor quick test test-all slice lint speed rocm-libraries harm selftest reports pages ports site clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

parity: $(INSTALLED) ## environment, build, the whole matrix in both wave sizes, replays; prints tables, writes .parity/
	@mkdir -p $(STORE)
	$(BIN)/candle-parity run --all-cases --json $(STORE)/parity.$(JSON)
	$(BIN)/candle-parity run --runtime cpu --wave 32 --all-cases --json $(STORE)/parity-wave32.$(JSON) | $(HEADLINE)
	$(BIN)/candle-parity replay --json $(STORE)/replay-kernels.$(JSON) | $(HEADLINE)
	$(BIN)/candle-parity replay --subject reference --json $(STORE)/replay-reference.$(JSON) | $(HEADLINE)
	@rm -f $(STORE)/isa-*.$(JSON)
	@if why=$$($(BIN)/python -c '$(FOR_AMD)' 2>&1); then for arch in $(INTERPRETED); do \
	  $(BIN)/candle-parity run --runtime isa --arch $$arch --all-cases --json $(STORE)/isa-$$arch.$(JSON) | $(HEADLINE) || exit; done; \
	else echo "AMD machine code is not interpreted: $$why"; fi
	$(BIN)/candle-parity report $(RECORDS) $$(ls $(STORE)/isa-*.$(JSON) 2>/dev/null) --md $(OUT)/PARITY.md --html $(OUT)/parity.html
	@echo 'written: $(OUT)/PARITY.md, $(OUT)/parity.html and the records in $(STORE)'

matrix: $(INSTALLED) ## the whole matrix once, on the host or the GPU that is there
	@mkdir -p $(STORE)
	$(BIN)/candle-parity run --all-cases --fail-under 100 --json $(STORE)/parity.$(JSON) --md $(OUT)/PARITY.md

view: parity ## the same as parity, then opens the report in the browser
	@$(BIN)/python -m webbrowser -t "file://$(abspath $(OUT))/parity.html"

doctor: $(INSTALLED) ## what this machine has for running kernels, and what is lacking
	@$(BIN)/candle-parity doctor

quick: $(DEVELOPED) ## before a commit: the cheap tests of every folder, under a minute on two cores
	@echo 'every worker collects all tests first; dots follow'
	$(PYTEST) -m 'not slow and not nightly' tests

test: $(DEVELOPED) ## what a contributor runs: every test without the mark "nightly"; 8 minutes on two cores
	$(PYTEST) -m 'not nightly' tests

test-all: $(DEVELOPED) ## every test; tests/README.md says how long it takes
	$(PYTEST) tests

slice: $(DEVELOPED) ## one slice of what `make test` leaves out, chosen by the number of commits, as CI does (SLICE=N for another)
	$(BIN)/python -m tests.slices $(SLICE)

lint: $(DEVELOPED) ## ruff, mypy (strict), clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	git ls-files '*.cpp' '*.h' '*.hip' | xargs $(BIN)/clang-format --dry-run --Werror

speed: $(INSTALLED) ## how fast the harness is, printed; AGAINST=REV next to a worktree of REV
	$(BIN)/python tests/speed $(if $(AGAINST),--against $(AGAINST))

# Debian packages of other suites (140 MB), kept in the cache folder; tests/rocm_libraries says what "test" has of them.
rocm-libraries: $(DEVELOPED) ## every file of kernels/ by AMD's own hiprtc of two releases, without a GPU
	CANDLE_PARITY_ROCM_LIBRARIES=all $(PYTEST) tests/rocm_libraries

harm: $(DEVELOPED) ## 200 kernels that do harm, and killed processes; over half an hour
	CANDLE_PARITY_HARM=full $(BIN)/python -m pytest -q tests/harm

# `python -m tests.selftest` also has --others (launches, outputs), --variants (right kernels) and --judges (reference).
selftest: $(DEVELOPED) ## mutants of our kernels, all of them; with CANDLE=checkout of Candle's own too
	$(BIN)/python -W ignore -m tests.selftest -j $$(nproc) $(if $(CANDLE),--candle $(CANDLE)) --json $(OUT)/selftest.json

reports: OUT := reports
reports: STORE := reports/records
reports: JSON := json.xz
reports: INTERPRETED := gfx942 gfx1100 gfx1201
reports: $(DEVELOPED) parity ## for a release, not for a commit: the records in reports/, with CANDLE=checkout also its wiring, then `pages`
	$(BIN)/candle-parity build --json $(STORE)/build.$(JSON)
	$(if $(CANDLE),$(BIN)/candle-parity wiring --candle $(CANDLE) --json reports/wiring.$(JSON) >/dev/null || [ $$? -eq 1 ])
	$(MAKE) pages

# The public ports of reports/ports.toml, whose checkouts are in CHECKOUTS.
ports: $(INSTALLED) ## for a release: the records of public ports in CHECKOUTS, for the board
	$(BIN)/candle-parity ports reports/ports.toml --checkouts $(CHECKOUTS) --out reports/board

# After a change of what is rendered, and after `reports` and `ports`. Judges nothing.
PAGES := reports
HELD := reports/records
ISA := $(sort $(wildcard $(HELD)/isa-*.json.xz))
OURS := $(HELD)/parity.json.xz $(HELD)/parity-wave32.json.xz $(ISA) $(HELD)/nvidia.json.xz
pages: $(INSTALLED) ## renders the pages of reports/ from the records there; seconds
	$(BIN)/candle-parity report $(OURS) $(addprefix $(HELD)/,$(addsuffix .json.xz,replay-kernels replay-reference build)) \
	  --wiring reports/wiring.json.xz --md $(PAGES)/PARITY.md >/dev/null
	$(BIN)/candle-parity report $(HELD)/nvidia-candle.json.xz --md $(PAGES)/CANDLE-NVIDIA.md >/dev/null
	$(BIN)/candle-parity bench --from $(HELD)/bench-nvidia.json.xz --md $(PAGES)/BENCH-NVIDIA.md >/dev/null
	$(BIN)/candle-parity bench --from $(HELD)/bench-launchers-nvidia.json.xz --md $(PAGES)/BENCH-LAUNCHERS-NVIDIA.md >/dev/null
	$(BIN)/candle-parity board $(OURS) $(wildcard reports/board/*.json.xz) --html $(PAGES)/board.html --md $(PAGES)/BOARD.md

site: $(DEVELOPED) ## the documentation as a site with search, in .site/html; needs no network
	$(BIN)/python -m tests.house.site_pages

# Debian's python3 makes no pip without python3-venv; then the system's own pip, if there is one, fills the environment.
# Where no clang is installed, the one in the Python package ziglang compiles the kernels.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'candle-parity needs Python 3.11 or newer; name one that is: make PYTHON=python3.12'; exit 2; }
	@$(PYTHON) -m venv .venv 2>/dev/null || $(PYTHON) -m venv --without-pip .venv
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m pip --version >/dev/null 2>&1 || \
	  { echo 'neither venv nor pip is to be had for $(PYTHON); install the package python3-venv or python3-pip'; exit 2; }
	@echo 'installing into .venv'; $(PIP) -e .
	@$(BIN)/python -c '$(WANTS_ZIG)' || { echo 'no clang is installed: installing ziglang into .venv'; $(PIP) -e '.[zig]'; }
	@touch $@

$(DEVELOPED): $(INSTALLED)
	@echo 'installing what the tests need into .venv'; $(PIP) -e '.[dev]'
	@touch $@

clean: ## removes the environment and what was written
	rm -rf .venv .cache .parity .site
