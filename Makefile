# Every target sets up what it needs from nothing: a virtual environment in .venv.
.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-oldest lint bench docs clean

VENV := .venv
BIN := $(VENV)/bin
RUN := $(BIN)/python
# without bytecode, which takes longer than the rest and of which the demonstration needs little
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile
OLDEST := .venv-oldest
OLD_TESTS := tests/kernels/test_jit.py tests/runs/test_pymc_names.py tests/test_package.py
OLD_TESTS += "tests/steps/test_contract.py::test_state_round_trip[pseudo groups]"
OLD_TESTS += "tests/steps/test_contract.py::test_state_round_trip[exact exchange]"
OLD_TESTS += "tests/steps/test_contract.py::test_state_round_trip[latent field at once]"

# pyenv and uv choose by .python-version; elsewhere the first Python >= 3.12 on the PATH is taken
FIND_PYTHON = for candidate in python3.13 python3.12 python3.14 python3 python; do \
	if $$candidate -c 'import sys; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1; then echo $$candidate; break; fi; done

help:
	@echo "make demo   sample the US Senate model and draw its groups (a few minutes)"
	@echo "make test   run the tests; test-slow: further ones; test-oldest: some, with the oldest packages"
	@echo "make lint   check style, types and the import contract"
	@echo "make bench  print speed ratios"
	@echo "make docs   build the documentation"

$(VENV)/demo: pyproject.toml
	@python=$$($(FIND_PYTHON)); \
	if [ -z "$$python" ]; then \
		echo "pymc-mrf needs Python >= 3.12, and none was found on the PATH."; \
		echo "Install one (for example: pyenv install 3.13, or uv python install 3.13) and run make again."; \
		exit 1; \
	fi; \
	$$python -m venv $(VENV) || { echo "Creating $(VENV) failed: is the venv module of $$python installed?"; exit 1; }
	$(INSTALL) --editable '.[plots]'
	@touch $@

$(VENV)/base: $(VENV)/demo
	$(INSTALL) --editable '.[dev]'
	-$(RUN) -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib
	@touch $@

# pip takes the newest of what is allowed, uv the oldest that has a wheel
$(OLDEST)/base: pyproject.toml | $(VENV)/base
	$(RUN) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST) --resolution lowest-direct --only-binary :all: \
		--requirements pyproject.toml --extra plots --extra structure --extra store
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST) pytest cloudpickle
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST) --no-deps --editable .
	@touch $@

$(VENV)/bench: $(VENV)/base
	$(INSTALL) --editable '.[bench]'
	@touch $@

$(VENV)/docs: $(VENV)/base
	$(INSTALL) --editable '.[docs]'
	@touch $@

demo: $(VENV)/demo
	$(RUN) examples/quickstart.py

test: $(VENV)/base
	$(RUN) -m pytest -m "not slow and not benchmark" -n 2 --dist loadfile

test-slow: $(VENV)/base
	$(RUN) -m pytest -m "slow" -n 2 --dist loadfile

# old packages warn of each other; numba is one for which kernels are compiled as it is published
test-oldest: $(OLDEST)/base
	$(OLDEST)/bin/python -m pytest -W default --disable-warnings -m "not slow" $(OLD_TESTS)

lint: $(VENV)/base
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench
	$(RUN) -m pytest -m benchmark -s tests/benchmarks

docs: $(VENV)/docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) $(OLDEST) build dist docs/_build docs/generated output .numba_cache
	find pymc_mrf -name '*.nb[ic]' -delete
