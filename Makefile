# Everything runs in its own virtual environment; `make run` and `make test` need no step by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test thorough check grammar completion soundness corpus mutants forgeries bench tables schemas docs vsix clean

run: $(VENV)/.installed
	$(BIN)/dipapprox verify programs/svt_gauss.dpg --eps 0.5 --eps-prv 1.24 --delta 0.01

# Files of tests are shared out to the processors: what the tests of a file share is made once. A
# process that dies ends it: nobody waits for what it should have asked.
test: $(VENV)/.tested
	$(BIN)/pytest -q -n logical --dist loadfile --no-loadscope-reorder --max-worker-restart 0

# All of what `make test` asks a part of: long tables, 200 examples of each law, the site, the wheel.
thorough: export DIPAPPROX_TESTS = thorough
thorough: test

# The parser tables, after a grammar has changed: into dipapprox/language/tables/.
grammar: $(VENV)/.installed
	$(BIN)/python -m dipapprox.language.write_tables

# The words that shells complete, after a flag has changed: into dipapprox/cli/words.json.
completion: $(VENV)/.installed
	$(BIN)/python -m dipapprox.cli.completion

# A million random operations of the float64 algebra against the balls: some minutes.
soundness: $(VENV)/.tested
	$(BIN)/python tests/numerics/soundness.py 1000000 1

# Thousands of questions and their answers, asked again: some minutes. `--write` makes them anew.
corpus: $(VENV)/.tested
	$(BIN)/python -m tests.corpus

# The kernel with one place broken at a time; some test has to notice each: about two hours.
mutants: $(VENV)/.tested
	$(BIN)/python -m tests.kernel.mutants

# Proofs with something changed, tens of thousands: about an hour.
forgeries: $(VENV)/.tested
	$(BIN)/python -m tests.kernel.forgeries 50000
	$(BIN)/python -m tests.kernel.false_compositions 500

# Engines side by side, growth with N, memory: into results/benchmarks/, some minutes.
bench: $(VENV)/.tested
	$(BIN)/python -m bench --output results/benchmarks

# The papers' tables, published numbers beside ours: into results/tables/, about a minute.
tables: $(VENV)/.installed
	$(BIN)/dipapprox tables --out results/tables

# The JSON Schemas, made from the types of certificates and answers: into dipapprox/schemas/.
schemas: $(VENV)/.installed
	$(BIN)/python -m dipapprox.schemas.generate

# The extension for Visual Studio Code: editors/vscode/dipapprox.vsix.
vsix: $(VENV)/.installed
	$(BIN)/python editors/vscode/package.py

# The documentation, into site/.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/.tested
	$(BIN)/mkdocs build --strict

check: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tests/documented_python.py $(VENV)/documented
	$(BIN)/mypy $(VENV)/documented

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dipapprox needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,check]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
