#!/bin/sh
# Runs the packed cases on the first GPU of this machine; --help tells more.
case $0 in
  */*) here=${0%/*} ;;
  *) here=. ;;
esac
here=$(CDPATH='' cd -- "$here" && pwd)

# The CUDA driver: from the environment, or in the system's library folders. Only this shell is needed to search it.
if [ -z "${ORIAS_CUDA_DRIVER:-}" ]; then
  ORIAS_CUDA_DRIVER=libcuda.so.1
  IFS=:
  for folder in ${LD_LIBRARY_PATH:-} /usr/lib/*-linux-gnu /usr/lib64 /usr/lib /lib/*-linux-gnu /lib64 /usr/local/*/lib64 /usr/local/*/compat \
                /usr/lib/wsl/lib /run/opengl-driver/lib; do
    if [ -e "$folder/libcuda.so.1" ]; then
      ORIAS_CUDA_DRIVER=$folder/libcuda.so.1
      break
    fi
  done
  unset IFS
  export ORIAS_CUDA_DRIVER
fi
case $ORIAS_CUDA_DRIVER in
  */*) beside=${ORIAS_CUDA_DRIVER%/*} ;;
  *) beside=$here/lib ;;
esac

# First with the packed C library, which may differ from the machine's; if that finds no GPU, with the machine's.
"$here/glibc/ld-linux-x86-64.so.2" --library-path "$here/glibc:$here/lib:$beside${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  "$here/bin/orias-gpu-suite" "$@" "$here/cases"
status=$?
case $status in
  77 | 126 | 127) ;;
  *) exit $status ;;
esac
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/bin/orias-gpu-suite" "$@" "$here/cases"
