# Shared by ./run and ./check: finds the requirements of the build, installs them with apt if possible, configures and builds.
# Sourced, with the root of the tree as the current folder.

# The reference platform is Debian 12; the names are the same on Ubuntu.
orias_packages=(
  g++ cmake ninja-build ccache
  antlr4 libantlr4-runtime-dev
  libboost-dev libboost-program-options-dev libfmt-dev nlohmann-json3-dev libelf-dev zlib1g-dev libsqlite3-dev
  libjs-chart.js python3-xstatic-dagre
  doctest-dev llvm-14-tools clang-format python3
)

# A browser for test/page is large, so it is installed only on request.
[ -z "${ORIAS_TEST_BROWSER:-}" ] || orias_packages+=(chromium)

say() { printf '%s\n' "$*" >&2; }

# Debian's and Ubuntu's packages that are not installed yet, one a line.
missing_packages() {
  local package
  for package in "${orias_packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s\n' "$package"
  done
}

install_missing() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    return 0 # CMake reports what it does not find
  fi
  # Ubuntu 22.04's g++ is 11, which lacks parts of C++20; g++-12 is available there, too.
  if [ -z "${CXX:-}" ] && [ "$(apt-cache policy g++ 2>/dev/null | sed -n 's/.*Candidate: [0-9]*:\?\([0-9]*\)\..*/\1/p')" = 11 ]; then
    orias_packages+=(g++-12)
    export CXX=g++-12
  fi
  local missing
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -eq 0 ] && return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      # Their contents may exist nevertheless; CMake will check.
      say "These packages are missing, and there is no sudo to install them. As root:"
      say "  apt-get install --no-install-recommends ${missing[*]}"
      return 0
    fi
    as_root=(sudo)
  fi
  say "Installing: ${missing[*]}"
  if ! "${as_root[@]}" apt-get update -qq >&2 ||
     ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2; then
    say "apt-get could not install all of: ${missing[*]}"
    exit 2
  fi
}

# build_release TARGET [CMake options...]: configures (when needed) and builds the release preset.
build_release() {
  local target=$1 log=build/bootstrap.log
  shift
  mkdir -p build
  export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}" CCACHE_NOHASHDIR=1
  if [ ! -f build/release/build.ninja ] || [ $# -gt 0 ]; then
    if ! cmake --preset release "$@" >"$log" 2>&1; then
      cat "$log" >&2
      say ""
      say "The build could not be set up. On Debian 12 it needs these packages; elsewhere, what they contain:"
      say "  ${orias_packages[*]}"
      exit 2
    fi
  fi
  say "Building (build/release) ..."
  if [ -t 2 ]; then
    cmake --build --preset release --target "$target" >&2 || { say "The build failed."; exit 2; }
  elif ! cmake --build --preset release --target "$target" >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    say "The build failed; all of its output is in $log."
    exit 2
  fi
}
