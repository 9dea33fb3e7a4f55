# make book · make pdf · make cards · make zip · make test · make test-more · make test-processors · make notebooks ·
# make bench · make oldest · make demo · make lock · make clean
# Everything is installed into .venv from requirements.lock; nothing else on the machine changes,
# but for bubblewrap, which `make test` and `make demo` need, and Chromium for `make test`, `make pdf` and `make cards`.

.DEFAULT_GOAL := help
.PHONY: help book pdf cards zip test test-more test-processors notebooks bench oldest demo lock sandbox tools chromium clean
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile | column -t -s "$$(printf '\t')"

book: .venv/installed ## build the book from the committed notebooks
	@.venv/bin/jupyter-book build . -W -n --keep-going --quiet
	@echo "The book is built. Open file://$$(printf %s "$$PWD" | sed 's/ /%20/g')/_build/html/index.html"

FRAMEWORK ?= PyTorch

pdf: book chromium ## print the book and the cheat sheet; FRAMEWORK=JAX prints JAX's code
	@.venv/bin/python book/paper/make_pdf.py --framework $(FRAMEWORK)
	@$(MAKE) --no-print-directory book # whose pages now link to them

cards: book chromium ## draw the cards that a shared link shows, anew
	@.venv/bin/python book/cards/make_cards.py

zip: ## pack the site, as it is, to be read without a network: _build/zip/the-backward-pass.zip
	@rm -rf _build/zip
	@$(MAKE) --no-print-directory book
	@.venv/bin/python book/paper/make_zip.py
	@$(MAKE) --no-print-directory book # whose pages now link to it

# Left in their order: sorted by their number, the few and slow tests of grading would be left to one process at the end.
PYTEST := .venv/bin/python -m pytest -n auto --dist loadscope --no-loadscope-reorder --nbval --nbval-current-env

test: .venv/installed tools ## run the suite: code, docstrings, pages, exercises, the book
	@$(PYTEST) tests course_lib course_grader chapters

test-more: .venv/installed tools ## run the long rest: cold grading, large banks, the oldest packages, an old processor
	@.venv/bin/python -m tests.oldest
	@.venv/bin/python -m tests.processors SSE4
	@$(PYTEST) -m more tests

test-names: .venv/installed sandbox ## mark every known mistake under ten names, each with draws of its own
	@$(PYTEST) -m names tests/exercises

test-processors: .venv/installed tools ## run the pages, and the tests of numbers, as on five kinds of processor
	@.venv/bin/python -m tests.processors

notebooks: .venv/installed ## run the pages whose text changed, and write their notebooks
	@.venv/bin/python -m course_grader.cli notebooks

bench: .venv/installed ## measure each claim of speed beside its peers
	@.venv/bin/python -m benchmarks.autograd
	@.venv/bin/python -m benchmarks.monitoring
	@.venv/bin/python -m benchmarks.clipping
	@if command -v "$${CXX:-g++}" >/dev/null; then .venv/bin/python -m benchmarks.compile; fi
	@.venv/bin/python -m benchmarks.grading

oldest: .venv/installed ## run every page with the oldest packages that the ranges allow, in .venv-oldest
	@.venv/bin/python -m tests.oldest

demo: .venv/installed sandbox ## grade a small class and print the table
	@.venv/bin/python -m course_grader.cli demo

lock: .venv/installed ## choose the newest set of packages the ranges allow (torch keeps its pin)
# pip-compile takes what its own Python can install; the lock is for Debian 12's 3.11.2 as well, which soupsieve 3 refuses.
	@{ grep '^torch==' requirements.lock; echo 'soupsieve<3'; } > .venv/constraints.txt
	@.venv/bin/python -m piptools compile --quiet --upgrade --all-extras --strip-extras --no-annotate --no-header \
	  --no-emit-find-links --no-emit-index-url --no-emit-trusted-host -c .venv/constraints.txt -o .venv/requirements.txt pyproject.toml
	@sed -e '/^the-backward-pass/d; /^#/d; /^$$/d; /^nvidia-/d; /^triton/d; s/+cpu$$//' .venv/requirements.txt > requirements.lock

clean: ## remove what was built; keep .venv
	@rm -rf _build

# The interpreter's range is checked first: a wrong one fails later, and less clearly.
.venv/installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "This needs Python 3.11 to 3.13; $(PYTHON) is $$($(PYTHON) --version). Run: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || $(MAKE) --no-print-directory debian PACKAGES=python3-venv
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@echo "Installing the locked packages into .venv; the first time takes some minutes."
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch .venv/installed

# What isolates learners' code.
sandbox:
	@command -v bwrap >/dev/null || $(MAKE) --no-print-directory debian PACKAGES=bubblewrap

tools: sandbox chromium

# It prints the book, and the tests open the book in it. Ubuntu has it only as a snap, which sees no /tmp, where they
# build the book.
chromium:
	@missing=""; \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing="$$missing chromium"; \
	if test -n "$$missing" && grep -qs '^ID=ubuntu' /etc/os-release; then \
	  chrome=google-chrome-stable_current_amd64.deb; \
	  echo "This needs Google Chrome. Run: wget https://dl.google.com/linux/direct/$$chrome && sudo apt-get install ./$$chrome" >&2; exit 1; \
	fi; \
	test -z "$$missing" || $(MAKE) --no-print-directory debian PACKAGES="$${missing# }"

.PHONY: debian
debian:
	@if [ "$$(id -u)" = 0 ]; then as_root=""; else as_root="sudo -n"; fi; \
	if command -v apt-get >/dev/null && $$as_root true 2>/dev/null; then \
	  echo "Installing $(PACKAGES)"; \
	  $$as_root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$as_root apt-get install -y -qq $(PACKAGES) >/dev/null; \
	else \
	  echo "This needs the Debian packages $(PACKAGES). Run: sudo apt-get install $(PACKAGES)" >&2; exit 1; \
	fi
