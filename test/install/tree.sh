#!/usr/bin/env bash
# tree.sh BUILD SOURCE: installs the build into an empty folder and uses it from there: programs, CMake package, pkg-config, NVIDIA's library name,
# exported symbols.
set -euo pipefail
build=$1 source=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
kernel=$source/examples/saxpy.ptx

fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { # expect PATTERN COMMAND...: the output of the command has a line like this
  local pattern=$1 out
  shift
  out=$("$@" 2>&1) || fail "$* ended with $?: $out"
  grep -qE -- "$pattern" <<<"$out" || fail "no '$pattern' in the output of $*: $out"
}

cmake --install "$build" --prefix "$prefix" --strip >"$work/install.log" 2>&1 || { cat "$work/install.log"; fail "cmake --install"; }
lib=$(dirname "$(find "$prefix" -name liborias.so)")

# Programs.
expect '^saxpy:' "$prefix/bin/orias" "$kernel" --listing -o "$work/saxpy.cubin"
expect 'STG.E' "$prefix/bin/orias-dis" "$work/saxpy.cubin"
for program in orias-run orias-reduce orias-lab; do expect Usage "$prefix/bin/$program" --help; done

# The libraries show what is theirs and nothing else.
foreign=$(nm -D --defined-only "$lib/liborias.so" | awk '{ print $3 }' | grep -vE '^orias_|^_ZN5orias8assembleE' || true)
[ -z "$foreign" ] || fail "liborias.so exports: $foreign"
foreign=$(nm -D --defined-only "$lib/orias/libnvptxcompiler.so" | awk '{ print $3 }' | grep -vE '^nvPTXCompiler' || true)
[ -z "$foreign" ] || fail "libnvptxcompiler.so exports: $foreign"

# Each header stands alone, in C and C++.
for header in orias/orias_c.h orias/nvptxcompiler/nvPTXCompiler.h; do
  echo "#include <$header>" >"$work/alone.c"
  "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -pedantic -I"$prefix/include" -fsyntax-only "$work/alone.c"
  "${CXX:-c++}" -std=c++20 -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only -x c++ "$work/alone.c"
done

# find_package.
cmake -S "$here/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" >"$work/consumer.log" 2>&1 &&
  cmake --build "$work/consumer" >>"$work/consumer.log" 2>&1 || { cat "$work/consumer.log"; fail "find_package(orias)"; }
expect '^C: [1-9][0-9]* bytes' "$work/consumer/use_c" "$kernel"
expect "^C\+\+: saxpy uses [1-9][0-9]* registers" "$work/consumer/use_cpp" "$kernel"
expect "sm_12" "$work/consumer/use_cpp" "$kernel"
expect '^nvPTXCompiler: result 0, [1-9]' "$work/consumer/use_nvptxcompiler" "$kernel"

# A program that asks for NVIDIA's static library.
"${CC:-cc}" "$here/consumer/use_nvptxcompiler.c" -I"$prefix/include/orias/nvptxcompiler" -L"$lib/orias" -lnvptxcompiler_static \
  -Wl,-rpath,"$lib/orias" -o "$work/static"
expect '^nvPTXCompiler: result 0, [1-9]' "$work/static" "$kernel"

# pkg-config.
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$lib/pkgconfig
  flags() { pkg-config --cflags --libs "$1"; }
  # shellcheck disable=SC2046
  "${CC:-cc}" "$here/consumer/use_c.c" $(flags orias) -Wl,-rpath,"$lib" -o "$work/pc"
  expect '^C: [1-9][0-9]* bytes' "$work/pc" "$kernel"
  # shellcheck disable=SC2046
  "${CC:-cc}" "$here/consumer/use_nvptxcompiler.c" $(flags orias-nvptxcompiler) -Wl,-rpath,"$lib/orias" -o "$work/pcjit"
  expect '^nvPTXCompiler: result 0, [1-9]' "$work/pcjit" "$kernel"
fi

# Completion.
expect '^--dump-after$' bash -c ". '$prefix/share/bash-completion/completions/orias'; PATH='$prefix/bin':\$PATH
  COMP_WORDS=(orias --dump-a) COMP_CWORD=1; _orias orias; printf '%s\n' \"\${COMPREPLY[@]}\""
expect '^ConvertToUniformReg$' bash -c ". '$prefix/share/bash-completion/completions/orias'; PATH='$prefix/bin':\$PATH
  COMP_WORDS=(orias --dump-after = ConvertTo) COMP_CWORD=3; _orias orias; printf '%s\n' \"\${COMPREPLY[@]}\""
echo "installed files work"
