# make demo, make demo-guest, make test, make bench and make package each do their own set-up: Debian packages by name, then the build.

# What the filesystems, the checks and the comparisons need beyond Rust, make and a C compiler.
PACKAGES = e2fsprogs xfsprogs btrfs-progs util-linux
SERVERS = postgresql mariadb-server fis-gtm redis-server etcd-server nginx apache2 lighttpd caddy python3-django gunicorn
PHP = libapache2-mod-php php-fpm php-cgi php-cli php-apcu php-sqlite3 php-mysql php-pgsql php-xml php-mbstring php-intl php-gd
PEERS = fio sysbench redis-tools pgreplay wrk apache2-utils nghttp2-client httperf siege
# A kernel that needs no root, with the filesystems that the machine's own may lack.
GUEST = user-mode-linux jfsutils reiserfsprogs f2fs-tools nilfs-tools e2fsprogs xfsprogs btrfs-progs postgresql
# What starts a fleet: the tests bring up clusters of three nodes in namespaces.
SCHEDULERS = slurmctld slurmd slurm-client munge iproute2 openssh-server openssh-client parallel pssh
SITES = wordpress wordpress-theme-twentytwentythree mediawiki dokuwiki
TEST_PACKAGES = $(PACKAGES) $(SERVERS) $(SCHEDULERS) $(PHP) $(SITES) $(PEERS) $(GUEST) chromium poppler-utils openssl zstd xz-utils rocksdb-tools sqlite3
# What packs, and what makes a fresh Debian to try it in.
PACKAGING = dpkg-dev jq zstd xz-utils git
PACKAGE_CHECK = $(PACKAGING) mmdebstrap python3-venv util-linux
BENCH_PACKAGES = $(PACKAGES) $(SERVERS) $(PEERS) $(GUEST) time

SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

# Installs only what is missing, so that a machine without a package server but with the packages works. What is installed is
# not started: surefoot starts servers of its own, and others would share the machine with them.
define install
	@missing=$$(dpkg-query -W -f '$${binary:Package} $${db:Status-Status}\n' $(1) 2>/dev/null | awk '$$2 == "installed" { sub(/:.*/, "", $$1); print $$1 }' | sort > .packages.tmp; \
	  printf '%s\n' $(1) | sort -u | comm -23 - .packages.tmp; rm -f .packages.tmp); \
	if [ -n "$$missing" ]; then echo "installing" $$missing; \
	  policy=/usr/sbin/policy-rc.d; \
	  if [ ! -e $$policy ]; then trap '$(SUDO) rm -f /usr/sbin/policy-rc.d' EXIT; \
	    printf '#!/bin/sh\nexit 101\n' | $(SUDO) tee $$policy >/dev/null; $(SUDO) chmod 755 $$policy; fi; \
	  $(SUDO) apt-get update -qq && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi
endef

.PHONY: all pdf package package-check record-release demo demo-guest test test-attack test-benchmarks-b-to-d test-benchmarks-e-to-z test-servers test-devices test-units test-computing test-end-to-end lint fuzz attack check-freebsd bench equals powercut powercut-safe simulations vectors clean

all:
	cargo build --release --locked -p surefoot

# What `surefoot report --pdf` starts: half of all packages, for one output.
pdf:
	cargo build --release --locked -p surefoot-pdf

# Debian packages, a static binary, checksums and a bill of materials into target/package: docs/packages.md.
package: packages-package
	$(MAKE) --no-print-directory -f packaging/package.mk all

# Whether two clones of what is committed give the same bytes, and whether a fresh Debian runs them: as root.
package-check: packages-package-check
	$(MAKE) --no-print-directory -f packaging/package.mk check

# A results file of this version, which every later one must read: once a release.
RELEASED = crates/surefoot/tests/released
RELEASE = $(RELEASED)/$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
record-release: packages-demo packages-package all
	@if [ -e $(RELEASE).surefoot ]; then echo "$(RELEASE).surefoot is there, and stays as it is"; exit 1; fi
	target/release/surefoot run $(RELEASED)/study.toml --work target/released --results $(RELEASE).surefoot --html target/released.html
	target/release/surefoot report $(RELEASE).surefoot --json | jq . > $(RELEASE).json

demo: packages-demo all
	cargo run --release --locked --quiet -p surefoot -- run quick

# Whoever calls it, without root once the packages are there: SQLite on seven filesystems, four rounds of short runs.
demo-guest: packages-guest all
	cargo run --release --locked --quiet -p surefoot -- run every-filesystem --rounds 4 --set engine=sqlite --set workload.oltp.time=3s

# Clippy compiles our own crates here and refuses what `make lint` would: a check of its own would go over all dependencies once more, as
# cargo shares nothing between a check and a build. What clippy built serves no other build, so it is not built in pieces that could be
# used again. Most tests wait, so more of them run at a time than there are cores: first those that start servers, mount or have little
# time, each kind beside the others, then the end-to-end tests. Nothing that mounts outside of a namespace runs beside the latter: such a
# mount is in each namespace that another makes meanwhile. Those that only compute have what both leave, at the lowest priority, as
# searches have seconds.
TEST = CARGO_INCREMENTAL=0 CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings RUSTC_WORKSPACE_WRAPPER=clippy-driver RUST_TEST_THREADS=6 \
  cargo test --workspace --locked
# What runs beside others says nothing until it is over, and all of it where it failed.
define aside
	@mkdir -p target
	@$(1) > target/$@.log 2>&1 || { cat target/$@.log; exit 1; }
	@grep -E 'Running|Doc-tests|test result' target/$@.log
endef
test: packages-test check-freebsd
	cargo fmt --all --check
	$(TEST) --no-run
	$(MAKE) --no-print-directory --jobs=5 test-computing test-end-to-end
# The attack first, as it looks for what anybody has left: a server that was killed leaves shared memory. Then the other benchmarks in two
# halves, as they wait most of the time. The three have all letters.
test-attack:
	$(call aside,$(TEST) --bench 'a*')
test-benchmarks-b-to-d: test-attack
	$(call aside,$(TEST) --bench '[b-d]*')
test-benchmarks-e-to-z: test-attack
	$(call aside,$(TEST) --bench '[e-z]*')
# Test targets by their first letter, so that none is left out: `servers`; `devices`, `programs`, what is loaded into a guest, and the doc
# tests; `it` and `tidy`, whose files lie in memory, as most of their time goes to flushes of ledgers; `end_to_end`.
test-servers: test-attack
	$(call aside,$(TEST) --test 's*')
test-devices:
	$(call aside,{ $(TEST) --test '[!eits]*' && $(TEST) --doc; })
test-units:
	$(TEST) --lib --bins
test-computing:
	$(call aside,TMPDIR=$$([ -w /dev/shm ] && echo /dev/shm || echo /tmp) nice -n 19 env $(TEST) --test '[it]*')
test-end-to-end: test-benchmarks-b-to-d test-benchmarks-e-to-z test-servers test-devices test-units
	$(TEST) --test 'e*'

# The same lints without a build, for the time before a commit.
lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

# Whether it would build on another Unix, all but the command itself and what sets PDFs: needs the target's standard library (`rustup
# target add x86_64-unknown-freebsd`) and no compiler for it, as nothing is linked.
FREEBSD = x86_64-unknown-freebsd
check-freebsd:
	@if [ -d "$$(rustc --print sysroot)/lib/rustlib/$(FREEBSD)" ]; then \
	  CC_x86_64_unknown_freebsd=true AR_x86_64_unknown_freebsd=true cargo check --locked --target $(FREEBSD) -p lab -p report; \
	else echo "skipped: no standard library of $(FREEBSD)"; fi

# Each reader of what others wrote, for FUZZ_SECONDS each (in `make test` 4), guided by what inputs reach: LLVM's counters, on stable Rust.
FUZZ_SECONDS ?= 600
fuzz:
	FUZZ_SECONDS=$(FUZZ_SECONDS) RUSTFLAGS="-C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=3 \
	  -C llvm-args=-sanitizer-coverage-inline-8bit-counters --cfg fuzz_coverage" \
	  cargo test --locked --target $$(rustc -vV | sed -n 's/^host: //p') --target-dir target/fuzz-build \
	  -p wire -p http -p powercut -p report -p surefoot --lib --bin surefoot --no-fail-fast hostile -- --nocapture

# What must hold whatever is done to it: devices, locks, archives, files, numbers, kills; about 15 minutes, ends with a table.
attack: packages-test all
	cargo bench --locked -p surefoot --bench attack

# All are measured; what missed a goal or broke is said at the end, with status 1.
BENCHES = block_io_against_fio http_against_peers log_parse cost database key_value guest large merge recorder recoveries turns failing_disks fsync_failures
bench: packages-bench all
	@missed=; for bench in $(BENCHES); do \
	  cargo bench --locked --workspace --bench $$bench || missed="$$missed $$bench"; done; \
	if [ -n "$$missed" ]; then echo "goals missed, see above:$$missed"; exit 1; fi

# Whether equals are told apart, on real servers: about four hours, and goes on where it was stopped.
equals: packages-bench all
	cargo bench --locked -p surefoot --bench equals -- --into $(CURDIR)/target/equals.jsonl

# The acceptance table of docs/safety.md, on real filesystems and databases. ROWS=word does those of that name, BUDGET=60s looks longer.
powercut: packages-test all
	cargo bench --locked -p surefoot --bench powercut

# No safe row may be found bad, in 10,000 images.
powercut-safe: packages-test all
	IMAGES=$${IMAGES:-10000} cargo bench --locked -p surefoot --bench powercut

# The tables of docs/statistics.md: by seed, without a disk, the same on every machine.
simulations:
	cargo bench --locked -p stats --bench tune
	cargo bench --locked -p stats --bench hosts
	cargo bench --locked -p lab --bench screen
	cargo bench --locked -p lab --bench claims

# What our statistics are held against, made again by scipy, statsmodels and ruptures: both files of crates/stats/tests/vectors. Says how far
# the new figures are from the old ones, and fails beyond a relative 1e-9. Needs python3 with venv and pip, and packages from PyPI.
VECTORS = crates/stats/tests/vectors
vectors: target/vectors/installed
	target/vectors/bin/python $(VECTORS)/vectors.py
target/vectors/installed: $(VECTORS)/requirements.txt
	python3 -m venv target/vectors
	target/vectors/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

clean:
	cargo clean

.PHONY: packages-demo packages-guest packages-test packages-bench packages-package packages-package-check
packages-package:
	$(call install,$(PACKAGING))
packages-package-check:
	$(call install,$(PACKAGE_CHECK))
packages-demo:
	$(call install,$(PACKAGES))
packages-guest:
	$(call install,$(GUEST))
packages-test:
	$(call install,$(TEST_PACKAGES))
packages-bench:
	$(call install,$(BENCH_PACKAGES))
