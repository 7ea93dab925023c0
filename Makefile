# Every target sets up what it needs. `make demo` and `make test` run on a fresh Debian 12 with Python 3.11 only.
VENV    := .venv
PY      := $(VENV)/bin/python
# One virtual environment, set up in two stages. Each mark is written when its stage has succeeded.
CORE    := $(VENV)/.core
READY   := $(VENV)/.ready
CORPORA := $(or $(GOSSAMER_CORPORA),../shared/corpora)
# Debian's documentation sites are fetched only if the corpora have facts about them.
DOCS    := $(if $(wildcard $(CORPORA)/debian-docs),docs-corpus)

.PHONY: demo test check lint types contracts clean setup docs-corpus lock

# The core alone, without the development extras.
demo: $(CORE)
	$(VENV)/bin/gossamer demo

# Everything that `make test` fetches from elsewhere.
.PHONY: prepare
prepare: $(READY) $(DOCS) test-servers

# Three processes on two cores, since many tests wait.
test: prepare
	$(PY) -m pytest -n 3 --dist loadscope --no-loadscope-reorder -m "not long and not thorough"

# Tests of more than two seconds each, which `make test` leaves out and CI runs: fleets, browsers, kills, the guides.
.PHONY: test-long
test-long: prepare
	$(PY) -m pytest -n 3 --dist loadscope --no-loadscope-reorder -m "long and not thorough"

# The longest tests, and ten times as many examples of each property: about an hour.
# Other targets run parts of it on larger sites.
.PHONY: test-thorough
test-thorough: prepare
	$(PY) -m pytest -n 2 --dist loadscope --no-loadscope-reorder -m thorough
	GOSSAMER_TEST_EXAMPLES=400 $(PY) -m pytest -n 2 -m "hypothesis and not thorough" tests/unit tests/contract

# Quick tests without servers, with a quarter of the examples of each property: under a minute.
.PHONY: test-fast
test-fast: $(READY)
	TEST_SERVERS=none GOSSAMER_TEST_EXAMPLES=10 $(PY) -m pytest -n 2 \
	  -m "not server and not slow and not long and not thorough" tests/unit tests/contract

# Repeats `make test`, every other time beside a busy loop on every core, and prints a table of failures.
RUNS := 20
.PHONY: flake
flake: $(READY)
	$(PY) scripts/flake.py $(RUNS)

check: prepare lint types contracts commits
	scripts/coverage.sh

# A crash at every SQL statement of a small crawl; `make test` crashes at some of them.
.PHONY: crash
crash: $(READY)
	GOSSAMER_TEST_EVERY_CRASH=1 $(PY) -m pytest tests/acceptance/hostile/test_crash_points.py

# Each pair of features, half of the crawls killed and resumed; `make test` runs a random sample.
# GOSSAMER_TEST_SEED=NUMBER kills at the same requests again.
.PHONY: pairs
pairs: prepare
	$(PY) -m pytest -n 2 tests/acceptance/test_pairs_of_features.py tests/acceptance/fleet/test_fleet_pairs.py

# Sites of which 5 % of the URLs always fail, in six ways, by each way to fetch: in one process, through proxies, on a
# fleet of two workers. It prints how long the good pages took, beside the same site without such URLs.
.PHONY: failing
failing: prepare
	$(PY) -m pytest -s tests/acceptance/test_failing_urls.py tests/acceptance/fleet/test_fleet_failing_urls.py

# Fleets on sites of full size, with kills; `make test` uses smaller sites.
.PHONY: fleet
fleet: prepare
	GOSSAMER_TEST_FULL=1 $(PY) -m pytest -s tests/acceptance/fleet

# Two thousand pages of a site that refuses plain clients, through proxies of which half do not work.
.PHONY: blocked
blocked: $(READY)
	GOSSAMER_TEST_FULL=1 $(PY) -m pytest -s tests/acceptance/test_blocked_crawls.py

# Real incidents and their alerts: a site that changes its markup, proxies that die, Redis killed under a fleet.
.PHONY: alerts
alerts: prepare
	$(PY) -m pytest -s tests/acceptance/test_alerts_for_real.py

# A thousand pages in one browser lane, with a look at its memory and processes; the whole contract of fetchers; a log-in.
.PHONY: test-browser
test-browser: prepare
	GOSSAMER_TEST_FULL=1 $(PY) -m pytest -s tests/integration/browser tests/acceptance/test_log_in_ways.py

# Valid and invalid requests to the HTTP API, generated from its OpenAPI document: none may return a 5xx.
.PHONY: fuzz-api
fuzz-api: $(READY)
	GOSSAMER_TEST_EXAMPLES=40 $(PY) -m pytest --timeout 900 tests/unit/web/test_schema.py

# Every view of the dashboard at seven widths, light and dark, with axe over each; `make test` looks at some.
.PHONY: test-dashboard
test-dashboard: prepare
	$(PY) -m pytest tests/acceptance/dashboard tests/unit/web/test_page_files.py

# Screenshots of every view of the dashboard in .cache/screenshots; PICTURES=--docs renews those of the documentation.
.PHONY: screenshots
screenshots: prepare
	$(PY) scripts/screenshots.py $(PICTURES)

lint: $(READY)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check

types: $(READY)
	$(VENV)/bin/mypy

contracts: $(READY)
	$(VENV)/bin/lint-imports

# The messages of the commits that are not on the default branch yet: subject, length, body.
.PHONY: commits
commits: $(READY)
	$(PY) scripts/check_commits.py

# The notes of the next version, from the files in changes/.
.PHONY: changelog
changelog: $(READY)
	$(VENV)/bin/towncrier build --draft --version Unreleased

# Names, imports and sizes of the code against their limits; MEASURE=--write puts them into the documentation.
.PHONY: measure
measure: $(READY)
	$(PY) scripts/measure_house.py $(MEASURE)

# Real websites for the tests: documentation packages of Debian, unpacked below .cache.
docs-corpus:
	scripts/docs-corpus.sh

# Redis, PostgreSQL and RabbitMQ of Debian for the tests, which start them on free ports in folders of their own.
.PHONY: test-servers
test-servers:
	scripts/servers.sh

# The documentation as a website in .cache/site: reference pages anew from the code, then every link checked.
.PHONY: docs
docs: $(READY)
	$(PY) scripts/reference.py
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --site-dir .cache/site

setup: $(READY)

$(CORE): pyproject.toml constraints.txt scripts/setup.sh
	scripts/setup.sh $(VENV)
	touch $@

$(READY): pyproject.toml constraints.txt scripts/setup.sh
	scripts/setup.sh $(VENV) '[dev,docs]'
	touch $(CORE) $@

# The versions the tests run with. Without addresses, so that any index can serve them.
lock: $(READY)
	$(VENV)/bin/uv pip compile --quiet --universal --no-header --no-annotate --all-extras \
	  --python-version 3.11 pyproject.toml -o constraints.txt

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .hypothesis htmlcov .coverage*

# Gossamer beside Scrapy and Crawlee on the same sites: see benchmarks/README.md. Options: make bench BENCH=--quick
.PHONY: bench
bench: $(READY)
	scripts/bench-setup.sh
	$(PY) benchmarks/run.py $(BENCH)

# Two workers with their Redis and PostgreSQL beside scrapy-redis and the tutorials' recipe. BENCH=--quick is one round.
.PHONY: bench-cluster
bench-cluster: $(READY)
	scripts/bench-setup.sh --cluster
	$(PY) benchmarks/cluster.py $(BENCH)

# Pages in a browser, beside Crawlee's PlaywrightCrawler on the same Chromium. BENCH=--quick is one round.
.PHONY: bench-browser
bench-browser: $(READY)
	scripts/servers.sh
	scripts/bench-setup.sh
	$(PY) benchmarks/browser.py $(BENCH)

# The stores alone: SQLite and PostgreSQL.
.PHONY: bench-store
bench-store: $(READY)
	scripts/servers.sh
	$(PY) benchmarks/store.py $(BENCH)

# The frontier alone, in memory, in SQLite and in Redis.
.PHONY: bench-frontier
bench-frontier: $(READY)
	scripts/servers.sh
	$(PY) benchmarks/frontier.py $(BENCH)

# The cost of archiving every response.
.PHONY: bench-archive
bench-archive: $(READY)
	$(PY) benchmarks/archive.py $(BENCH)

# A profile of a crawl of one of those sites: make profile PROFILE=docs
.PHONY: profile
profile: $(READY)
	scripts/bench-setup.sh
	$(PY) benchmarks/profiling.py $(PROFILE)

# The first answer of each view of the dashboard over a crawl of a million pages; BENCH=--fleet in Redis and PostgreSQL.
.PHONY: bench-dashboard
bench-dashboard: $(READY)
	scripts/servers.sh
	$(PY) benchmarks/dashboard.py $(BENCH)

# The cost of metrics and open dashboards for a fleet, in turns with the same fleet alone.
.PHONY: bench-observation
bench-observation: $(READY)
	scripts/servers.sh
	scripts/bench-setup.sh
	$(PY) benchmarks/observation.py $(BENCH)

# Public projects written for Scrapy, by Scrapy and by Gossamer on pages made for them: see docs/contributing/scrapy-projects.md.
# COMPARE="--clones DIR" names the folder of their clones; "--fetch" fetches missing ones from GitHub.
.PHONY: compare-scrapy
compare-scrapy: $(READY)
	$(PY) scripts/compare_scrapy.py $(COMPARE)
