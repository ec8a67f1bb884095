# Thin wrappers over CMake, CTest and the scripts in tools/; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help demo launch-demo test test-unit test-system test-threads test-long check format package wheel bench fuzz fuzz-long clean

JOBS ?= $(shell nproc)
# One more than processors: tests of jobs wait more than they compute.
TEST_JOBS := $(shell expr $(JOBS) + 1)
# Tests of threads wait even more.
THREAD_TEST_JOBS := $(shell expr $(JOBS) + 3)
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
# One ccache for every checkout and preset: paths are relative to the checkout, and directories are
# not hashed.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo:  ## install packages, build, train a small network on Fashion-MNIST and show the result
	tools/install-deps.sh
	cmake --preset release -DTRIREME_UNITY=ON -DTRIREME_BUILD_TESTS=OFF -DTRIREME_BUILD_EXAMPLES=OFF
	cmake --build --preset release --target trireme_cli -j $(JOBS)
	tools/demo.sh build/release/bin/trireme

launch-demo:  ## train with three processes, one of which is killed while you watch
	tools/install-deps.sh
	cmake --preset release -DTRIREME_UNITY=ON -DTRIREME_BUILD_TESTS=OFF -DTRIREME_BUILD_EXAMPLES=OFF
	cmake --build --preset release --target trireme_cli trireme_distributed_cli -j $(JOBS)
	tools/launch_demo.sh build/release/bin/trireme

test:  ## install packages, build and run every test: test-unit, test-system, test-threads
	tools/install-deps.sh --test
	$(MAKE) test-unit
	$(MAKE) test-system
	$(MAKE) test-threads

test-unit: build-asan run-unit  ## unit tests and tests of bad input, with ASan and UBSan
test-system: build-release run-system  ## tests of whole programs and jobs, in release
test-threads: build-tsan run-threads  ## tests of rooms that use threads, with ThreadSanitizer

build-asan build-tsan: build-%:
	cmake --preset $*
	cmake --build --preset $* -j $(JOBS)
build-release:
	cmake --preset release -DTRIREME_UNITY=ON -DTRIREME_BUILD_TESTS=ON -DTRIREME_BUILD_EXAMPLES=ON \
	  -DTRIREME_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/build/venv/bin/python
	cmake --build --preset release -j $(JOBS)

run-unit:
	. tools/sanitizer_options.sh && ctest --preset asan -j $(TEST_JOBS)
run-system:
	ctest --preset release -j $(TEST_JOBS)
run-threads:
	. tools/sanitizer_options.sh && ctest --preset tsan -j $(THREAD_TEST_JOBS)

test-long:  ## every test in its long form and in every configuration; takes hours
	tools/install-deps.sh --test
	tools/test_long.sh

check:  ## include rules, file sizes, words and formatting (no build needed)
	$(PYTHON) tools/check_layers.py
	$(PYTHON) tools/check_prose.py
	tools/format.sh --check

format:  ## rewrite C++ files in the project's format
	tools/format.sh

package:  ## build Debian packages into build/packages
	tools/install-deps.sh
	cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_SKIP_INSTALL_RPATH=ON \
	  -DTRIREME_UNITY=ON -DTRIREME_BUILD_TESTS=OFF -DTRIREME_BUILD_EXAMPLES=OFF
	cmake --build --preset release -j $(JOBS)
	cpack --config build/release/CPackConfig.cmake -B build/packages

wheel:  ## build a wheel of the Python package into build/wheels
	tools/install-deps.sh --wheel
	tools/wheel.sh $(PYTHON)

bench:  ## compare speed with PyTorch and others, into performance.md (downloads 4 GB)
	tools/install-deps.sh
	benchmarks/run.sh --page

fuzz:  ## run every fuzz target for SECONDS=10 each
	tools/install-deps.sh --test
	tools/fuzz.sh $(or $(SECONDS),10)

fuzz-long:  ## run every fuzz target for SECONDS=3600 each and keep what they find as seeds
	tools/install-deps.sh --test
	KEEP=1 tools/fuzz.sh $(or $(SECONDS),3600)

clean:  ## remove everything built
	rm -rf build
