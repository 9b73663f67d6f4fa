# make run [PROJECT=path]   set up and serve that repository; without PROJECT a demonstration
# make test                 all checks and tests, of many like ones a share: six to ten minutes on two cores
# make torture [MINUTES=n] [SEED=s]   chaos and the state machine, n minutes each, and every test that `make test` takes
#                           a share of or leaves out
# make bench                measurements, beside the limits of this machine; BENCH_MINUTES=1 for a shorter one

PROJECT ?=
MINUTES ?= 1
SEED ?=
PIP_INSTALL = pip install --disable-pip-version-check --no-input --progress-bar off
export PROJECT
# Without bytecode each of the hundreds of processes that tests start compiles anew what it loads.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test torture bench clean tools

run: .venv/ready
	@if [ -n "$$PROJECT" ]; then exec .venv/bin/dagentd run "$$PROJECT"; else exec .venv/bin/dagentd demo; fi

# Two processes more than there are processors: tests wait about as often as they work. Whoever is done takes over some of
# what another one has left: the longest tests come last. Types are checked beside them, on one processor for a minute.
test: .venv-test/ready tools
	@echo "Checking style, then types and tests beside each other (six to ten minutes on two cores):"; \
		echo "of many like ones a share, by a seed that is told below; 'make torture' takes all of them."
	@.venv-test/bin/python -m compileall -q dagentd tests
	.venv-test/bin/ruff check
	.venv-test/bin/ruff format --check --quiet
	.venv-test/bin/mypy --strict & types=$$!; \
	.venv-test/bin/python -m pytest --dist worksteal --numprocesses $$(($$(getconf _NPROCESSORS_ONLN) + 2)); tests=$$?; \
	wait $$types || { echo "Types are wrong: mypy says above where." >&2; exit 1; }; exit $$tests

torture: .venv-test/ready
	.venv-test/bin/python -m tests.torture --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

bench: .venv-test/ready
	.venv-test/bin/python -m tests.bench

# The tests that need one of them are skipped, with the reason, where it cannot be had.
TOOLS = tmux zsh fish man:man-db chromium chromedriver:chromium-driver
tools: .venv-test/ready
	@for each in $(TOOLS); do \
		command -v "$${each%%:*}" >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
			DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "$${each##*:}" >/dev/null 2>&1; } || \
			echo "There is no $${each%%:*}, so its tests are skipped; install the package $${each##*:} to run them." >&2; \
	done
	@.venv-test/bin/python -m tests.agents.programs || true  # Claude Code and Codex by npm, 760 MB in /var/tmp; says why not

clean:
	rm -rf .venv .venv-test dist build

.venv/ready: pyproject.toml
	$(call set_up,.venv,.)

.venv-test/ready: pyproject.toml
	$(call set_up,.venv-test,.[test])

# The stamp is written last, so an installation that was interrupted is done again. Editable: a changed
# source needs no new installation.
define set_up
	@python=; for each in python3 python3.13 python3.12 python3.11; do \
		if $$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$each; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "dagentd needs Python 3.11 or later; none of python3, python3.13, python3.12, python3.11 is that." >&2; exit 1; \
	fi; \
	echo "Setting up $(1) with $$($$python --version)"; \
	$$python -m venv --clear $(1) || { \
		echo "$$python cannot make a virtualenv; on Debian and Ubuntu install the package python3-venv." >&2; exit 1; }
	@printf 'Installing what it needs, about a minute:'; \
	{ $(1)/bin/python -m $(PIP_INSTALL) --editable "$(2)" 2>&1 && echo installed; } | { \
		status=1; while IFS= read -r line; do case $$line in \
			installed) status=0 ;; \
			Collecting*) line=$${line#Collecting }; printf ' %s' "$${line%%[!A-Za-z0-9_.-]*}" ;; \
			*ERROR*|*rror:*) printf '\n%s\n' "$$line" >&2 ;; \
		esac; done; echo; exit $$status; }
	@touch $@
endef
