# make demo   builds and installs everything, then runs a DLRM training loop on 16 NPUs over ns-3's TCP
# make test   the same set-up where it is missing, then all tests
# Nothing but make, Python 3.10 to 3.13 and a C++20 compiler is needed; the rest goes into $(VENV).

VENV    := .venv
RESULTS := results/demo
BUILD   := build/native
SEEDS   := 1000
FIRST   := 1
CMAKE    = $(VENV)/bin/cmake

.PHONY: help wheel image setup setup-development demo test test-runner test-native test-python test-sanitize test-slow soak pins fuzz docs lint benchmark dev clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo           build, install and run the DLRM example (results in $(RESULTS))'
	@echo 'make test           native tests and pytest'
	@echo 'make test-sanitize  native tests with the address, undefined-behaviour and thread sanitizers'
	@echo 'make test-slow      what takes longer: models at full size, more random cases, all of the native tests'
	@echo 'make soak           random runs across all features, audited: SEEDS=1000 from FIRST=1; minutes'
	@echo 'make pins           what random runs and commands give, written anew: see tests/soak/pinned.py'
	@echo 'make fuzz           10,000 mutated inputs (CASES=, SEED=): no traceback, no hang, every status as documented'
	@echo 'make lint           ruff, mypy, codespell, clang-format, clang-tidy'
	@echo 'make benchmark      speed and memory against stock ns-3'
	@echo 'make docs           these pages as a site with a search: build/docs/index.html'
	@echo 'make wheel          the package as a wheel in dist/, tried in a fresh environment'
	@echo 'make image          a container image, by docker, podman or buildah, tried as another user'
	@echo 'make dev            editable install and git hooks'
	@echo 'make clean          remove $(VENV), build and results'

setup:
	@scripts/setup.sh --venv $(VENV) --extras plots,report,study

setup-development:
	@scripts/setup.sh --venv $(VENV) --extras development,plots,report,study,cluster

demo: setup
	$(VENV)/bin/astra-ns3 run \
	    -w inputs/workload/DLRM_HybridParallel.txt \
	    -s inputs/system/flat.txt \
	    -n inputs/network/single-switch-16.yaml \
	    -o $(RESULTS) --overwrite

# One more than cores: many tests wait for a process that they have started.
PYTEST = $(VENV)/bin/pytest -q -n $(shell echo $$(( $$(nproc) < 4 ? $$(nproc) + 1 : 4 ))) --dist loadgroup

# Both at once; the C++ suites write into a file, which is shown at the end.
test: test-runner
	@$(BUILD)/astra-ns3-test-runner --quick >$(BUILD)/tests.log 2>&1 & native=$$!; trap "kill $$native 2>/dev/null" INT TERM; \
	$(PYTEST); python=$$?; wait $$native; native=$$?; cat $(BUILD)/tests.log; \
	exit $$((python > native ? python : native))

test-runner: setup-development
	@$(CMAKE) --build $(BUILD) --target astra-ns3-test-runner -- --quiet

test-native: test-runner
	$(BUILD)/astra-ns3-test-runner

test-python: setup-development
	$(PYTEST)

test-sanitize: setup-development
	@for sanitizer in ON thread; do \
	    $(CMAKE) -S . -B build/sanitize-$$sanitizer -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python \
	        -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(VENV)/bin/ninja \
	        -DASTRA_NS3_TESTS=ON -DASTRA_NS3_SANITIZE=$$sanitizer --log-level=WARNING && \
	    $(CMAKE) --build build/sanitize-$$sanitizer -- --quiet || exit 1; \
	done
	build/sanitize-ON/astra-ns3-test-runner
	build/sanitize-thread/astra-ns3-test-runner astra-session-cores
	build/sanitize-thread/astra-ns3-test-runner astra-fabric-crew

test-slow: test-runner
	$(BUILD)/astra-ns3-test-runner
	$(PYTEST) -m slow

soak: setup-development
	PYTHONPATH=tests $(VENV)/bin/python -m soak --first $(FIRST) --seeds $(SEEDS)

pins: setup-development
	PYTHONPATH=tests $(VENV)/bin/python -m soak.pinned
	PYTHONPATH=tests $(VENV)/bin/python -m soak.pinned_commands

CASES := 10000
SEED  := 1
fuzz: setup-development
	PYTHONPATH=tests $(VENV)/bin/python -m fuzz --cases $(CASES) --seed $(SEED)
	PYTHONPATH=tests $(VENV)/bin/python -m fuzz --models --cases $$(($(CASES) / 5)) --seed $(SEED)

docs:
	@scripts/setup.sh --venv $(VENV) --extras docs
	$(VENV)/bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env docs build/docs
	@echo 'open build/docs/index.html'

lint: setup-development
	@scripts/lint.sh $(VENV)

benchmark: setup
	@$(CMAKE) --build $(BUILD) --target stock-tcp -- --quiet
	$(VENV)/bin/python benchmarks/run.py --stock $(BUILD)/stock-tcp

wheel: setup
	@scripts/build_wheel.sh

image:
	@docker/image.sh

dev:
	@scripts/setup.sh --venv $(VENV) --extras development,plots,report,study,cluster --editable
	@if git rev-parse --git-dir >/dev/null 2>&1; then $(VENV)/bin/pre-commit install; fi

clean:
	rm -rf $(VENV) build results .pytest_cache .mypy_cache .ruff_cache .hypothesis
