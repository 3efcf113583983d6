# What `make package` and `make package-check` do, from the workspace's root: docs/packages.md.
#
# The same commit and compiler give the same bytes in any folder: paths are taken out of what is compiled, times are the commit's,
# archives are sorted.
SHELL = /bin/bash
.SHELLFLAGS = -euo pipefail -c
.ONESHELL:
.SILENT:
.PHONY: all binaries surefoot surefoot-pdf static arm64 sbom sums check check-bytes check-sbom

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
ARCHITECTURE := $(shell dpkg --print-architecture)
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
CARGO_HOME ?= $(HOME)/.cargo
export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || stat --format=%Y CHANGELOG.md)

OUT = target/package
BUILT = target/package-build
REMAP = --remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$(CARGO_HOME)=cargo
# Which of the builds, for what target, with what more for the compiler.
build = CARGO_INCREMENTAL=0 CFLAGS="-ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(CARGO_HOME)=cargo" RUSTFLAGS="$(REMAP) $(3)" \
  cargo build --release --locked --target $(2) --target-dir $(BUILT)/$(1)
binary = $(BUILT)/$(1)/$(or $(2),$(HOST))/release

# Debian's cross compiler and Rust's own library for it: without them there is no arm64.
ARM64 = aarch64-unknown-linux-gnu
ARM64_COMPILER = aarch64-linux-gnu-gcc
ARM64_LIBRARIES = /usr/aarch64-linux-gnu/lib
HAS_ARM64 := $(and $(shell command -v $(ARM64_COMPILER)),$(wildcard $(shell rustc --print sysroot)/lib/rustlib/$(ARM64)/lib))
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER = $(ARM64_COMPILER)

STATIC = -C target-feature=+crt-static

# What comes along with the command; all of it is in this repository.
DOCUMENTS = README.md SECURITY.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md docs
LICENCES = LICENSE-MIT LICENSE-APACHE
EXAMPLES = studies

all: sums

binaries:
	$(call build,dynamic,$(HOST)) -p surefoot -p surefoot-pdf
	$(call build,static,$(HOST),$(STATIC)) -p surefoot

# Man pages, completions, schema and studies below a prefix: of which binary, and where.
define extras
umask 022
mkdir -p $(2)/man/man1 $(2)/bash-completion/completions $(2)/zsh/vendor-completions $(2)/fish/vendor_completions.d $(2)/surefoot
$(1) man $(2)/man/man1
$(1) completions bash > $(2)/bash-completion/completions/surefoot
$(1) completions zsh > $(2)/zsh/vendor-completions/_surefoot
$(1) completions fish > $(2)/fish/vendor_completions.d/surefoot.fish
$(1) schema > $(2)/surefoot/study.schema.json
$(1) schema report > $(2)/surefoot/report.schema.json
endef

# A package of what was laid out below a folder: its name, its folder's, its architecture, where else libraries lie.
define deb
root=$(CURDIR)/$(OUT)/root/$(2)
cp packaging/copyright $$root/usr/share/doc/$(1)/copyright
gzip -9nc CHANGELOG.md > $$root/usr/share/doc/$(1)/changelog.gz
gzip -9nf $$root/usr/share/man/man1/*.1
chmod -R u=rwX,go=rX $$root
mkdir -p $(OUT)/libraries/debian $$root/DEBIAN
printf 'Source: surefoot\n\nPackage: $(1)\nArchitecture: any\n' > $(OUT)/libraries/debian/control
libraries=$$(cd $(OUT)/libraries && dpkg-shlibdeps $(4) -O $$root/usr/bin/$(1) | sed -n 's/:$(3)//g; s/-$(3)-cross//g; s/^shlibs:Depends=//p')
size=$$(find $$root/usr -type f -printf '%s\n' | awk '{ sum += int(($$1 + 1023) / 1024) } END { print sum }')
sed -e "s/@VERSION@/$(VERSION)/" -e "s/@ARCHITECTURE@/$(3)/" -e "s/@LIBRARIES@/$$libraries/" -e "s/@SIZE@/$$size/" \
  packaging/$(1).control > $$root/DEBIAN/control
(cd $$root && find usr -type f | LC_ALL=C sort | xargs md5sum > DEBIAN/md5sums)
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build $$root $(OUT)/$(1)_$(VERSION)_$(3).deb
endef

# The command's package of one of the binaries: its folder, where the binary lies, its architecture, where else libraries lie.
define package
rm -rf $(OUT)/root/$(1)
install -D -m 755 $(2)/surefoot $(OUT)/root/$(1)/usr/bin/surefoot
$(call extras,$(call binary,dynamic)/surefoot,$(OUT)/root/$(1)/usr/share)
mkdir -p $(OUT)/root/$(1)/usr/share/doc/surefoot/examples
cp -r $(EXAMPLES) $(OUT)/root/$(1)/usr/share/doc/surefoot/examples/
cp -r $(filter-out CHANGELOG.md,$(DOCUMENTS)) $(OUT)/root/$(1)/usr/share/doc/surefoot/
$(call deb,surefoot,$(1),$(3),$(4))
endef

surefoot: binaries
	$(call package,surefoot,$(call binary,dynamic),$(ARCHITECTURE))

surefoot-pdf: binaries
	rm -rf $(OUT)/root/surefoot-pdf
	install -D -m 755 $(call binary,dynamic)/surefoot-pdf $(OUT)/root/surefoot-pdf/usr/bin/surefoot-pdf
	mkdir -p $(OUT)/root/surefoot-pdf/usr/share/doc/surefoot-pdf
	install -D -m 644 packaging/surefoot-pdf.1 $(OUT)/root/surefoot-pdf/usr/share/man/man1/surefoot-pdf.1
	$(call deb,surefoot-pdf,surefoot-pdf,$(ARCHITECTURE))

# One folder to copy to a machine of any distribution, with glibc in it: of what target.
define archive
name=surefoot-$(VERSION)-$(1)-static
rm -rf $(OUT)/root/$$name
install -D -m 755 $(call binary,static,$(1))/surefoot $(OUT)/root/$$name/surefoot
$(call extras,$(call binary,dynamic)/surefoot,$(OUT)/root/$$name/share)
cp -r $(EXAMPLES) $(DOCUMENTS) $(LICENCES) $(OUT)/root/$$name/
tar --directory $(OUT)/root --sort=name --mtime=@$(SOURCE_DATE_EPOCH) --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  --create $$name | zstd -19 --threads=1 --quiet --force -o $(OUT)/$$name.tar.zst
endef

static: binaries
	$(call archive,$(HOST))

# The command alone, on another machine's behalf. Pages, completions and schemas are those of this machine's command.
ifeq ($(HOST),$(ARM64))
arm64:
else ifneq ($(HAS_ARM64),)
arm64: binaries
	$(call build,dynamic,$(ARM64)) -p surefoot
	$(call build,static,$(ARM64),$(STATIC)) -p surefoot
	$(call package,surefoot-arm64,$(call binary,dynamic,$(ARM64)),arm64,-l$(ARM64_LIBRARIES))
	$(call archive,$(ARM64))
else
arm64:
	echo "arm64 is not built: it takes \`apt install gcc-aarch64-linux-gnu libc6-dev-arm64-cross\` and \`rustup target add $(ARM64)\`"
endif

# What is in the binaries, with licences and checksums.
sbom:
	mkdir -p $(OUT)
	cargo metadata --locked --format-version 1 --filter-platform $(HOST) | jq --sort-keys --rawfile lock Cargo.lock \
	  --argjson time $(SOURCE_DATE_EPOCH) --from-file packaging/sbom.jq > $(OUT)/surefoot-$(VERSION).cdx.json

sums: surefoot surefoot-pdf static arm64 sbom
	cd $(OUT) && sha256sum *.deb *.tar.zst *.cdx.json > SHA256SUMS
	cat SHA256SUMS

# Two clones in folders of different depth give the same bytes; then Debian, without a compiler, runs what was packed.
CHECK = target/package-check
SUITES ?= bookworm trixie
check: check-bytes check-sbom $(addprefix check-on-,$(SUITES))

check-bytes:
	rm -rf $(CHECK)/one $(CHECK)/another
	# Of one commit, whatever is committed meanwhile.
	commit=$$(git rev-parse HEAD)
	for folder in $(CHECK)/one $(CHECK)/another/and/deeper; do
	  git clone --quiet --no-checkout $(CURDIR) $$folder
	  git -C $$folder checkout --quiet --detach $$commit
	  $(MAKE) --no-print-directory -C $$folder -f packaging/package.mk all
	  rm -rf $$folder/$(BUILT)
	done
	diff $(CHECK)/one/$(OUT)/SHA256SUMS $(CHECK)/another/and/deeper/$(OUT)/SHA256SUMS
	echo "two clones: the same bytes"

# Against CycloneDX's own JSON schema, which its Python library brings.
check-sbom: $(CHECK)/python/installed
	$(CHECK)/python/bin/python packaging/validate.py $(CHECK)/one/$(OUT)/*.cdx.json
$(CHECK)/python/installed:
	python3 -m venv $(CHECK)/python
	$(CHECK)/python/bin/pip install --quiet --disable-pip-version-check 'cyclonedx-python-lib[json-validation]'
	touch $@

# A fresh Debian by mmdebstrap. Its apt goes where this machine's goes, and it sees this machine's loop devices. Its root
# is a mount, as each trial makes mounts private from there on.
check-on-%:
	root=$(CURDIR)/$(CHECK)/$*
	rm -rf $$root
	apt-config dump Acquire | { grep -E '^Acquire::(Check|[a-z]+::Proxy)' || true; } > $(CHECK)/apt.conf
	mmdebstrap --quiet --variant=apt --aptopt=$(CURDIR)/$(CHECK)/apt.conf $* $$root
	cp /etc/resolv.conf $$root/etc/resolv.conf
	cp $(CHECK)/one/$(OUT)/*.deb $(CHECK)/one/$(OUT)/*.tar.zst packaging/on-debian.sh $$root/root/
	unshare --mount --pid --fork bash -euc "mount --bind $$root $$root; mount --rbind /dev $$root/dev; mount -t proc proc $$root/proc; mount --rbind /sys $$root/sys; \
	  chroot $$root bash -eu /root/on-debian.sh"
	rm -rf $$root
	echo "$*: the packages work"
