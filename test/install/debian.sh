#!/usr/bin/env bash
# debian.sh BUILD [WHEEL]: installs what was built on a bare Debian 12, and uses it there. As root, with debootstrap and the network.
# BUILD is a build of the tree; the .deb is made of it. WHEEL: a wheel of tools/python, after auditwheel; with it, Triton and numba-cuda of
# PyPI are installed, too (1 GB), and assemble with orias. DEBIAN_MIRROR names the archive: the sources of this machine are not asked.
set -euo pipefail
build=$(realpath "$1") wheel=${2:+$(realpath "$2")}
here=$(cd "$(dirname "$0")" && pwd)
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
root=$work/root
trap 'umount "$root/proc" 2>/dev/null || true; rm -rf "$work"' EXIT

(cd "$build" && cpack -G DEB -B "$work/deb" >"$work/cpack.log") || { cat "$work/cpack.log"; exit 1; }
dpkg-deb --info "$work"/deb/*.deb | grep -E '^ (Package|Version|Architecture|Depends|Installed-Size)'

debootstrap --variant=minbase bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1 || { tail "$work/debootstrap.log"; exit 1; }
cp /etc/resolv.conf "$root/etc/resolv.conf"
grep -lis proxy /etc/apt/apt.conf.d/* | xargs -r -I{} cp {} "$root/etc/apt/apt.conf.d/" || true
mount -t proc proc "$root/proc"
mkdir "$root/test"
cp "$work"/deb/*.deb "$root/test/"
cp -r "$here/consumer" "$here/../../examples" "$root/test/"
if [ -n "$wheel" ]; then
  cp "$wheel" "$here/compilers.py" "$root/test/"
  cp "${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt}" "$root/test/certificates.crt"
fi

cat >"$root/test/inside.sh" <<'EOF'
set -euo pipefail
cd /test
export DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes
echo 'Dpkg::Use-Pty "0";' >/etc/apt/apt.conf.d/no-terminal
apt-get update -qq
apt-get install -y -qq --no-install-recommends ./*.deb >/dev/null
orias --version | tail -1
orias examples/saxpy.ptx --listing | grep '^saxpy:'
orias-run examples/saxpy.json --assemble | tail -1
test -s /usr/share/man/man1/orias.1.gz || test -s /usr/share/man/man1/orias.1 || echo "no manual pages: help2man was not there"
apt-get install -y -qq --no-install-recommends gcc g++ libc6-dev cmake make pkg-config >/dev/null
cc consumer/use_c.c $(pkg-config --cflags --libs orias) -o use_c && ./use_c examples/saxpy.ptx | head -1
cc consumer/use_nvptxcompiler.c $(pkg-config --cflags --libs orias-nvptxcompiler) -o jit && ./jit examples/saxpy.ptx
cmake -S consumer -B out >/dev/null && cmake --build out >/dev/null && ./out/use_cpp examples/saxpy.ptx
apt-get purge -y -qq orias >/dev/null
if ls ./*.whl >/dev/null 2>&1; then
  apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
  python3 -m venv venv
  venv/bin/pip install --quiet --disable-pip-version-check --no-index ./*.whl
  venv/bin/python -c 'import orias; print("Python:", orias.assemble(open("examples/saxpy.ptx").read()).functions[0])'
  venv/bin/python -c 'import orias; print("Python:", orias.run("examples/saxpy.json").cycles, "cycles")'
  venv/bin/orias --version | tail -1
  apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null # for Triton's driver
  PIP_CERT=/test/certificates.crt venv/bin/pip install --quiet --disable-pip-version-check triton 'numba-cuda[cu13]'
  venv/bin/python compilers.py -v
fi
EOF
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} \
  ${https_proxy:+https_proxy="$https_proxy"} ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
  chroot "$root" bash /test/inside.sh
echo "a bare Debian 12 can use it"
