# make parity   environment, install, build, run the whole matrix, print the parity table, write reports/
# make test     the project's own tests
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: parity test bench lint clean

parity: $(STAMP)
	$(BIN)/candle-parity run --json reports/parity.json --md reports/PARITY.md

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 tests

bench: $(STAMP)
	$(BIN)/python -m conformance.bench

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	git ls-files '*.cpp' '*.h' '*.hip' | xargs $(BIN)/clang-format --dry-run --Werror

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "candle-parity needs Python 3.11 or newer; $(PYTHON) is older. Name another one: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "python3 cannot make a virtual environment; install the package python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv .cache
