# `make help` lists the targets. Settings: PYTHON (3.11 or newer), PORT, TORCH_INDEX (see README), NEWEST=1 (the newest versions in
# place of the pinned ones), COLD=1 (Jupyter's own kernels in place of forked ones). `make notebooks` and `make test` execute what a
# change can affect, as far as .cache/seen.json tells, and everything where CI is set: ALL=1 and AFFECTED=1 say otherwise;
# CHAPTER=optimization executes one chapter.
PYTHON ?= python3
PORT ?= 8000
BIN := .venv/bin
JOBS ?= $(shell $(BIN)/python -c 'import os; print(os.cpu_count())' 2>/dev/null || echo 2)
SITE := _build/html
export PIP_DISABLE_PIP_VERSION_CHECK := 1
.DEFAULT_GOAL := help
.PHONY: help site read live pdf zip test lab record seal bench portable faults graders parts printed budget launch data weights lock wheel links release clean style unit rules notebooks site-tests

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

site: .venv/site  ## build the website into _build/html (executes nothing; ALL=1: from nothing)
	@$(call stage,building the website)
	@$(if $(ALL),rm -rf $(SITE) _build/.doctrees)
	@$(BIN)/jupyter-book build . -W -n --keep-going || $(call fail,mend what the warnings above name and run make site again)
	@echo "The website is ready: $(CURDIR)/$(SITE)/index.html (make read opens it)"

read: site  ## serve the website on 127.0.0.1 and open it (PORT=8000)
	@$(BIN)/python -m nbutils.maintain.serve $(SITE) $(PORT)

live: site .venv/full  ## the same, with cells that you edit and run in the page, on this machine (PORT=8000)
	@$(BIN)/python -m nbutils.maintain.live $(SITE) $(PORT)

pdf: .venv/site  ## make the book as one PDF (needs xelatex, and says what to install)
	@$(BIN)/python -m nbutils.maintain.pdf

zip: site  ## pack the website and all notebooks beside its pages, to take along (with the PDF, where make pdf has made it)
	@$(BIN)/python -m nbutils.maintain.bundle

test: style unit rules notebooks site site-tests  ## set up and check everything
	@echo "Everything passed."

lab: .venv/full  ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks  # pairing is set in pyproject.toml, at the root

record: .venv/full  ## execute the notebooks that changed and store their outputs (ALL=1: all; ACCEPT=1: also outputs that changed by themselves; PROSE=1: words alone, executing nothing)
	@$(BIN)/python -m nbutils.maintain.record $(if $(ALL),--all) $(if $(ACCEPT),--accept) $(if $(PROSE),--prose)

seal:  ## list statements and checks that changed alone; ID='a b': show what changed in these, old and new, and seal them again
	@$(BIN)/python -m nbutils.maintain.seals $(ID)

bench: .venv/full  ## measure how long make test takes, by stages, and what a section adds to it
	@$(BIN)/python -m nbutils.maintain.bench

portable: .venv/full  ## execute all notebooks under other thread counts and instruction sets
	@$(BIN)/python -m nbutils.maintain.portable

faults: .venv/full  ## inject faults into sections and nbutils and see what notices (N=12 a file, 0: all; SEED=0; FILES=)
	@$(BIN)/python -m nbutils.maintain.faults --number $(or $(N),12) --seed $(or $(SEED),0) $(FILES)

graders: .venv/full  ## mutate the official solutions of exercises whose cells changed and see whether their graders notice (ALL=1: all; FILES=)
	@$(BIN)/python -m nbutils.maintain.graders $(if $(ALL),--all) $(FILES)

parts: .venv/full  ## execute each part that stands alone, and read the displays with a second reader: the weekly tests
	@$(BIN)/python -m pytest -q -n $(JOBS) tests/weekly

printed: .venv/full  ## count which displayed formulas run as printed, and why others do not
	@$(BIN)/python -m nbutils.maintain.printed

budget: .venv/full  ## print what each section costs its reader: words, lines, checking code, parts
	@$(BIN)/python -m nbutils.maintain.budget

launch: .venv/full  ## write the repository's address and the version of the book into every notebook's launch cell
	@$(BIN)/python -m nbutils.maintain.launch

data: .venv/full  ## take the data sets out of their archives again (needs the network), and make what the page Data shows of them
	@$(BIN)/python -m nbutils.maintain.sources
	@$(BIN)/python -m nbutils.maintain.facts

weights: .venv/full  ## train what pages load from stored weights and cannot train themselves: what is stale, or NAME='a b'
	@$(BIN)/python -m nbutils.maintain.weights $(NAME)

lock: .venv/python  ## pin all that requirements*.txt need, with hashes, in *.lock and constraints.txt
	@$(BIN)/python -m pip install -q uv==0.13.9
	@$(BIN)/python -m nbutils.maintain.lock

wheel:  ## install the wheel of nbutils alone and try it, with the newest versions that it allows (PYTHON=, LOWEST=1)
	@$(PYTHON) tests/wheel/install.py $(if $(LOWEST),--lowest)

links: .venv/site  ## ask every address that the book links to whether it is still there (needs the network)
	@$(BIN)/jupyter-book build . --path-output _build/links --builder linkcheck || $(call fail,mend the addresses named above)

release: .venv/full  ## VERSION=x.y.z: write it, with the date, into the files that name it, commit and tag
	@$(BIN)/python -m nbutils.maintain.release $(VERSION)

clean:  ## remove what make made, the virtual environment included
	rm -rf .venv _build .cache

# the parts of `make test`
style: .venv/full
	@$(call stage,1 of 6: style of the code)
	@$(BIN)/ruff check . || $(call fail,$(BIN)/ruff check --fix . mends most)
unit: .venv/full
	@$(call stage,2 of 6: nbutils and the workflows)
	@$(BIN)/python -m pytest -q tests/unit -n $(JOBS) --dist loadfile --no-loadscope-reorder || $(call fail,mend nbutils or the workflow that is named above, or its test)
rules: .venv/full
	@$(call stage,3 of 6: the rules of the book)
	@$(BIN)/python -m nbutils.maintain.graders $(if $(ALL),--all) || $(call fail,a grader accepts what is named above: give it a case or list the reason)
	@$(BIN)/python -m pytest -q tests/book -n $(JOBS) --dist loadgroup || $(call fail,each line above names the notebook and the remedy)
notebooks: .venv/full
	@$(call stage,4 of 6: every cell again with outputs compared)
	@$(BIN)/python -m pytest -q $(if $(or $(ALL),$(if $(AFFECTED),,$(CI))),,--affected) --nbval --nbval-current-env --nbval-cell-timeout 120 \
	  -n $(JOBS) --dist loadfile notebooks/$(CHAPTER) \
	  || $(call fail,a cell gives another output than the stored one: mend its cause; if the new output is right run make record)
site-tests: site .venv/full
	@$(call stage,6 of 6: the website in a browser)
	@SITE_IS_BUILT=1 $(BIN)/python -m pytest -q -n $(JOBS) --dist loadgroup tests/site || $(call fail,mend the page named above)

# A virtual environment for the website alone, and the full one that contains it.
.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, this is " + sys.version.split()[0] + ": make PYTHON=python3.11 ...")'
	@$(call stage,creating .venv)
	@$(PYTHON) -m venv .venv
	@touch $@
.venv/site: requirements-site.lock | .venv/python
	@$(call stage,installing what the website needs)
	@$(BIN)/python -m pip install -q --no-deps --require-hashes -r requirements-site.lock || $(call fail,check the network and run make again)
	@touch $@
# torch comes from the index that is asked for, so after all else and without a hash: none holds for the wheels of every index
TORCH = $(if $(NEWEST),torch,$$(grep '^torch==' requirements.txt))
.venv/full: requirements.txt requirements.lock pyproject.toml | .venv/python
	@$(call stage,installing everything (1.6 GB with the CPU build of torch))
	@$(if $(NEWEST),sed -E '/^-[cer] |^torch/d; /^jupyter-book|^sphinx=/!s/==[^ ;]+//' requirements-site.txt requirements.txt > .venv/newest.txt)
	@$(BIN)/python -m pip install -q $(if $(NEWEST),-r .venv/newest.txt,--no-deps --require-hashes -r requirements.lock) || $(call fail,check the network and run make again)
	@$(BIN)/python -m pip install -q $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $(TORCH) || $(call fail,check the network and whether TORCH_INDEX has this torch)
	@$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	@touch .venv/site $@

stage = printf '\n\033[1m== %s\033[0m\n' '$(1)'
fail = { printf '\nStopped: %s.\n' '$(1)' >&2; exit 1; }
