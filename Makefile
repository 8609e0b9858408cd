PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export DO_NOT_TRACK := 1
export MLFLOW_DISABLE_TELEMETRY := true
export NO_MKDOCS_2_WARNING := 1

.PHONY: install licences docs docs-build wheel-check ends demo week test test-shuffled mutants torture lint types audit bench pictures lock clean

$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-deps --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/pip check --quiet
	touch $@

install: $(VENV)/.installed

demo: install
	$(BIN)/evenhand run conf/quickstart.yaml

week: install
	$(BIN)/python examples/week.py

test: install
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

test-shuffled: SEED ?= $(shell date +%Y%m%d)
test-shuffled: install
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder --shuffle $(SEED)

mutants: install
	$(BIN)/python benchmarks/mutants.py $(MUTANTS)

torture: install
	$(BIN)/python benchmarks/torture.py

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: install
	rm -rf build
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --target build/types .
	MYPYPATH=build/types $(BIN)/mypy -p evenhand
	PYTHONPATH=build/types $(BIN)/lint-imports --no-cache

audit:
	$(PYTHON) -m venv build/audit
	build/audit/bin/pip install --quiet pip-audit
	build/audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements.lock $(AUDIT)

docs: install
	$(BIN)/mkdocs serve --dev-addr 127.0.0.1:8000

licences: install
	$(BIN)/python .ci/licences.py

docs-build: install
	$(BIN)/mkdocs build --strict --quiet

wheel-check: install
	$(BIN)/python .ci/check_wheel.py

UV := build/uv/bin/uv
$(UV):
	$(PYTHON) -m venv build/uv
	build/uv/bin/pip install --quiet uv

ends: install $(UV)
	PATH=$(CURDIR)/build/uv/bin:$$PATH $(BIN)/python .ci/check_ends.py $(ENDS)

bench: install
	$(BIN)/python benchmarks/against_plain_script.py

pictures: install
	$(BIN)/python docs/pictures.py $(PICTURES)

LOCK := $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
  --no-emit-index-url --no-strip-extras
lock: $(UV)
	$(LOCK) --extra dev --extra docs --extra all -o requirements.lock
	$(LOCK) --extra all --constraint requirements.lock -o deploy/requirements.lock

clean:
	rm -rf $(VENV) week pictures build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
