#!/usr/bin/env python3
"""Compiles the functions of kernels.py with XLA for chips that are only described, without a GPU: generate.py OUTPUT [NAME_PART]"""
import inspect
import os
import pathlib
import sys
import tempfile

# XLA asks for these properties of the chip: limits from the CUDA C++ Programming Guide's table of compute capabilities; sizes and rates, which
# only guide its cost model, are those of an A100.
CHIP = """
gpu_device_info {{
  cuda_compute_capability {{ major: {major} minor: {minor} }}
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {shared}
  shared_memory_per_block_optin: {shared_optin}
  threads_per_core_limit: {threads}
  core_count: {cores}
  fpus_per_core: {units}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 1555000000000
  l2_cache_size: 41943040
  clock_rate_ghz: 1.41
  device_memory_size: 42331013120
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 3 }}
device_description_str: "{name}"
"""
CHIPS = {
    "sm_90a": dict(major=9, minor=0, shared=233472, shared_optin=232448, threads=2048, cores=132, units=128, name="H100"),
    "sm_80": dict(major=8, minor=0, shared=167936, shared_optin=166912, threads=2048, cores=108, units=64, name="A100"),
    "sm_100a": dict(major=10, minor=0, shared=233472, shared_optin=232448, threads=2048, cores=148, units=128, name="B200"),
    "sm_103a": dict(major=10, minor=3, shared=233472, shared_optin=232448, threads=2048, cores=148, units=128, name="B300"),
    "sm_120a": dict(major=12, minor=0, shared=102400, shared_optin=101376, threads=1536, cores=170, units=128, name="RTX 5090"),
}
# No libraries and no autotuning: both would require a GPU.
FLAGS = ("--xla_gpu_autotune_level=0 --xla_gpu_cublas_fallback=false --xla_gpu_enable_cublaslt=false --xla_gpu_enable_cub_radix_sort=false "
         "--xla_gpu_enable_triton_gemm=true --xla_gpu_triton_gemm_any=true")


def compile_case(case, chip, target):
    """In a separate process: XLA reads its flags once, and may abort the process. Returns whether the file exists now.
    """
    child = os.fork()
    if child == 0:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                os.environ["XLA_FLAGS"] = f"{FLAGS} --xla_dump_to={scratch}"
                import jax
                import kernels
                from jax.experimental import topologies

                jax.config.update("jax_enable_x64", True)
                chip_found = topologies.get_topology_desc("chip", "cuda", target_config=CHIP.format(**CHIPS[chip]), topology="1x1x1")
                mesh = jax.sharding.Mesh(chip_found.devices[:1], "x")
                everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
                function, shapes = getattr(kernels, case)()
                jax.jit(function, in_shardings=everywhere, out_shardings=everywhere).lower(*shapes).compile()
            except BaseException as error:  # of many kinds, the compiler's own among them
                print(f"{target.name}: {str(error).strip().splitlines()[0][:300]}", file=sys.stderr, flush=True)
            # XLA writes a file for each kernel. The largest gets the name of the case, others a number.
            made = sorted({file.read_bytes() for file in pathlib.Path(scratch).glob("*.ptx")} - {b""}, key=lambda text: (-len(text), text))
            for number, text in enumerate(made, 1):
                target.with_name(target.name if number == 1 else f"{case}_{number}.{chip}.ptx").write_bytes(text)
        os._exit(0)
    os.waitpid(child, 0)
    return target.exists()


def main():
    output, part, failures = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "", []
    output.mkdir(parents=True, exist_ok=True)
    os.environ["JAX_PLATFORMS"] = "cpu"
    import kernels

    cases = [name for name, thing in inspect.getmembers(kernels, inspect.isfunction) if not name.startswith("_")]
    for chip in CHIPS:
        for case in cases:
            target = output / f"{case}.{chip}.ptx"
            if part in target.name and not target.exists() and not compile_case(case, chip, target):
                failures.append(target.name)
    print(f"{len(list(output.glob('*.ptx')))} files; not compiled: {', '.join(failures) or 'none'}")


if __name__ == "__main__":
    main()
