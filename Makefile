# Thin wrappers over CMake, CTest and the scripts in tools/; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help demo launch-demo test check format bench fuzz clean

JOBS ?= $(shell nproc)
# One more, since tests of jobs wait more than they compute.
TEST_JOBS := $(shell expr $(JOBS) + 1)
# ON: files of a target are compiled together, which builds all of it sooner and a change later (cmake/TriremeUnity.cmake).
UNITY ?= OFF
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
# One ccache for every checkout and preset: paths relative to the checkout, directory not hashed.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo:  ## install packages, build, train a small network on Fashion-MNIST and show what it learned
	tools/install-deps.sh
	cmake --preset release -DTRIREME_BUILD_TESTS=OFF -DTRIREME_BUILD_EXAMPLES=OFF
	cmake --build --preset release --target trireme_cli -j $(JOBS)
	tools/demo.sh build/release/bin/trireme

launch-demo:  ## train by three processes, one of which is killed while you watch
	tools/install-deps.sh
	cmake --preset release -DTRIREME_BUILD_TESTS=OFF -DTRIREME_BUILD_EXAMPLES=OFF
	cmake --build --preset release --target trireme_cli trireme_distributed_cli -j $(JOBS)
	tools/launch_demo.sh build/release/bin/trireme

test:  ## install packages, build with debug information, run every test
	tools/install-deps.sh --test
	cmake --preset dev -DTRIREME_UNITY=$(UNITY)
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev -j $(TEST_JOBS) --output-on-failure

check:  ## include rules, file sizes and formatting (no build needed)
	$(PYTHON) tools/check_layers.py
	tools/format.sh --check

format:  ## rewrite C++ files in the project's format
	tools/format.sh

bench:  ## compare speed with PyTorch and others, into docs/reference/performance.md (downloads 4 GB at first)
	tools/install-deps.sh
	benchmarks/run.sh --page

fuzz:  ## run every fuzz target for SECONDS=10 each
	tools/install-deps.sh --test
	tools/fuzz.sh $(or $(SECONDS),10)

clean:  ## remove everything built
	rm -rf build
