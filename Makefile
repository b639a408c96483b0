# make parity   environment, install, build, run the whole matrix, print the parity table, write .parity/
# make view     the same, and opens .parity/parity.html in the browser
# make doctor   what this machine has for running kernels, and whether it can
# make quick    before a commit: the cheapest tests of each folder and of the house, under a minute on two cores
# make test     the project's own tests
# make rocm-libraries  AMD's own HIP libraries without a GPU: every file of kernels/ for five targets and two releases
# make harm     kernels that do harm, and killed processes: the tests that take long
# make selftest  the harness on trial: mutants of our kernels, with CANDLE=checkout of Candle's own too; `python -m
#               tests.selftest` has --others (launches, outputs), --variants (right kernels), --judges (reference)
# make reports  the committed reports/: parity, what compiles for AMD targets, and with CANDLE=checkout what its Rust
#               side asks for; after every change of kernels/ or specs/, which tests/house looks at
# make board    reports/board.html from the records of reports/; with CHECKOUTS=DIR `make ports` makes those of the ports
# make speed    how fast the harness is, printed
# make lint     what CI checks besides the tests
PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
BIN := .venv/bin
INSTALLED := .venv/.installed
DEVELOPED := .venv/.developed
HEADLINE := sed -n '/ at parity /,$$p'
OUT := .parity
STORE = $(OUT)
JSON := json
RECORDS = $(foreach name,parity parity-wave32 replay-kernels replay-reference,$(STORE)/$(name).$(JSON))
# AMD GPUs whose machine code is interpreted, where there is a compiler for them.
INTERPRETED := gfx942

FOR_AMD := import sys; from conformance.toolchains.amd import lacking; sys.exit(lacking() or 0)
WANTS_ZIG := import sys; from conformance.toolchains.host import wants_zig; sys.exit(wants_zig())
PIP = $$($(BIN)/python -m pip --version >/dev/null 2>&1 && echo $(BIN)/python -m pip || \
  echo $(PYTHON) -m pip --python $(BIN)/python) install --quiet --disable-pip-version-check

.PHONY: parity view doctor reports ports board quick test rocm-libraries harm selftest speed lint clean

parity: $(INSTALLED)
	$(BIN)/candle-parity run --json $(STORE)/parity.$(JSON)
	$(BIN)/candle-parity run --runtime cpu --wave 32 --json $(STORE)/parity-wave32.$(JSON) | $(HEADLINE)
	$(BIN)/candle-parity replay --json $(STORE)/replay-kernels.$(JSON) | $(HEADLINE)
	$(BIN)/candle-parity replay --subject reference --json $(STORE)/replay-reference.$(JSON) | $(HEADLINE)
	@rm -f $(STORE)/isa-*.$(JSON)
	@if why=$$($(BIN)/python -c '$(FOR_AMD)' 2>&1); then for arch in $(INTERPRETED); do \
	  $(BIN)/candle-parity run --runtime isa --arch $$arch --json $(STORE)/isa-$$arch.$(JSON) | $(HEADLINE) || exit; done; \
	else echo "AMD machine code is not interpreted: $$why"; fi
	$(BIN)/candle-parity report $(RECORDS) $$(ls $(STORE)/isa-*.$(JSON) 2>/dev/null) --md $(OUT)/PARITY.md --html $(OUT)/parity.html
	@echo 'written: $(OUT)/PARITY.md, $(OUT)/parity.html and the records in $(STORE)'

view: parity
	@$(BIN)/python -m webbrowser -t "file://$(abspath $(OUT))/parity.html"

reports: OUT := reports
reports: STORE := reports/records
reports: JSON := json.xz
reports: INTERPRETED := gfx942 gfx1100
reports: parity
	$(BIN)/candle-parity build --json $(OUT)/build.json
	$(if $(CANDLE),$(BIN)/candle-parity wiring --candle $(CANDLE) --json .cache/wiring.json >/dev/null || [ $$? -eq 1 ])
	$(BIN)/candle-parity report $(RECORDS) $(STORE)/isa-*.$(JSON) $(wildcard $(STORE)/h100.$(JSON)) $(OUT)/build.json $(if $(CANDLE),--wiring .cache/wiring.json) \
	  --md $(OUT)/PARITY.md --html $(OUT)/parity.html
	$(MAKE) board

# The public ports of reports/ports.toml, whose checkouts are in CHECKOUTS; then `make board`.
ports: $(INSTALLED)
	$(BIN)/candle-parity ports reports/ports.toml --checkouts $(CHECKOUTS) --out reports/board

board: $(INSTALLED)
	$(BIN)/candle-parity board $(addprefix reports/records/,parity.json.xz parity-wave32.json.xz isa-gfx942.json.xz isa-gfx1100.json.xz h100.json.xz) \
	  $(wildcard reports/board/*.json.xz) --html reports/board.html --md reports/BOARD.md
	cd reports && sha256sum *.md records/*.xz board/*.xz board.html >SHA256SUMS

doctor: $(INSTALLED)
	@$(BIN)/candle-parity doctor

quick: $(DEVELOPED)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m quick tests --ignore tests/harm

test: $(DEVELOPED)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests --ignore tests/harm

# Debian packages of other suites (140 MB), kept in the cache folder; tests/rocm_libraries says what "test" has of them.
rocm-libraries: $(DEVELOPED)
	CANDLE_PARITY_ROCM_LIBRARIES=all $(BIN)/python -m pytest -q -n 2 --dist worksteal tests/rocm_libraries

harm: $(DEVELOPED)
	CANDLE_PARITY_HARM=full $(BIN)/python -m pytest -q tests/harm

selftest: $(DEVELOPED)
	$(BIN)/python -W ignore -m tests.selftest -j $$(nproc) $(if $(CANDLE),--candle $(CANDLE)) --json $(OUT)/selftest.json

speed: $(INSTALLED)
	$(BIN)/python tests/speed

lint: $(DEVELOPED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	git ls-files '*.cpp' '*.h' '*.hip' | xargs $(BIN)/clang-format --dry-run --Werror

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

clean:
	rm -rf .venv .cache .parity
