# What `make package-check` does inside a fresh Debian: installs the packages, and answers a question with them.
set -o pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
cd /root
echo "on $(. /etc/os-release; echo "$PRETTY_NAME")"
for deb in surefoot_*.deb surefoot-pdf_*.deb; do
  # Nothing runs at installation, and nothing has rights of its own.
  [ "$(dpkg-deb --ctrl-tarfile $deb | tar --list | sort | tr '\n' ' ')" = "./ ./control ./md5sums " ]
  [ -z "$(dpkg-deb --fsys-tarfile $deb | tar --list --verbose | cut -c 1-10 | grep s || true)" ]
done
apt-get update -qq
# Another architecture's packages may lie beside them.
own=$(dpkg --print-architecture)
apt-get install -y -qq ./surefoot_*_$own.deb ./surefoot-pdf_*_$own.deb zstd >/dev/null
for program in cc gcc rustc cargo; do if command -v $program; then exit 1; fi; done
surefoot --version
for file in man/man1/surefoot-run.1.gz bash-completion/completions/surefoot surefoot/study.schema.json; do test -s /usr/share/$file; done
surefoot run quick --rounds 3 --set workload.oltp.time=250ms --quiet
surefoot report quick.surefoot --pdf quick.pdf
[ "$(head -c 5 quick.pdf)" = %PDF- ]
# The static one reads what the other wrote.
static=$(basename -s .tar.zst surefoot-*-$(uname -m)-*-static.tar.zst)
tar --extract --file $static.tar.zst
./$static/surefoot report quick.surefoot --markdown > static.md
surefoot report quick.surefoot --markdown | cmp - static.md
./$static/surefoot plan quick > /dev/null
