# Everything a developer or CI does. `make serve` and `make test` need nothing
# else first, on a machine with Python 3.11+, git and make.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMP := .venv/.installed
TORCH := torch==2.13.0

.PHONY: serve test test-all lint format proto proto-check bench setup models clean

serve: setup models
	$(BIN)/seedbed serve

test: setup models
	$(BIN)/python -m pytest

test-all: setup models
	$(BIN)/python -m pytest -m "slow or not slow"

bench: setup models
	$(BIN)/python -m benchmarks

setup: $(STAMP)

# torch first and alone: only its exact version is the CPU build. Packages are found by path (compat): by an import hook
# a clone in a folder named seedbed would hide the client from scripts beside it. Compiled here, since containers often
# forbid Python to keep what it compiles: each start would then take a third of a second more.
$(STAMP): pyproject.toml clients/python/pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "[1/3] environment in .venv"; $(PYTHON) -m venv .venv; }
	@echo "[2/3] torch, about 200 MB"
	@$(PIP) install $(TORCH)
	@echo "[3/3] everything else"
	@$(PIP) install -c constraints.txt --config-settings editable_mode=compat -e clients/python -e '.[dev]'
	@$(BIN)/python -m compileall -q clients/python/seedbed server/seedbed_server
	@touch $(STAMP)

models: $(STAMP)
	$(BIN)/seedbed models pull

lint: setup proto-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/buf lint

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Generated with an old protoc, so that clients on protobuf 5, 6 and 7 can
# import the code; in an environment of its own, since that protoc pins protobuf.
PROTO_BIN := .venv-proto/bin
$(PROTO_BIN)/python:
	$(PYTHON) -m venv .venv-proto
	$@ -m pip --disable-pip-version-check install --quiet grpcio-tools==1.63.2 mypy-protobuf==3.6.0 "setuptools<81"

OUT ?= clients/python
proto: $(PROTO_BIN)/python
	$(PROTO_BIN)/python -m grpc_tools.protoc -Iprotos \
	  --plugin=protoc-gen-mypy=$(PROTO_BIN)/protoc-gen-mypy \
	  --plugin=protoc-gen-mypy_grpc=$(PROTO_BIN)/protoc-gen-mypy_grpc \
	  --python_out=$(OUT) --grpc_python_out=$(OUT) \
	  --mypy_out=quiet:$(OUT) --mypy_grpc_out=quiet:$(OUT) protos/seedbed/v1/*.proto

# Regenerates into a folder aside and fails on any difference.
proto-check: $(PROTO_BIN)/python
	rm -rf build/proto && mkdir -p build/proto
	$(MAKE) --no-print-directory proto OUT=build/proto
	diff -r -x __pycache__ build/proto/seedbed/v1 clients/python/seedbed/v1

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache
