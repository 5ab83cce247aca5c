#include "tools/gpu/cuda.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace orias::gpu {

namespace {

template <typename Function> void load(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name));
  if (!into) throw NoGpu(fmt::format("the CUDA driver is too old: it has no {}", name));
}

} // namespace

Cuda::Cuda(const std::string& library) {
  library_ = dlopen(library.empty() ? nullptr : library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) {
    const char* why = dlerror();
    throw NoGpu(fmt::format("no CUDA driver: {}", why ? why : library));
  }
#define ORIAS_CUDA_LOAD(name, parameters) load(library_, #name, name);
  ORIAS_CUDA_FUNCTIONS(ORIAS_CUDA_LOAD)
#undef ORIAS_CUDA_LOAD

  int count = 0;
  try {
    ORIAS_CUDA_CALL(*this, cuInit, 0);
    ORIAS_CUDA_CALL(*this, cuDeviceGetCount, &count);
  } catch (const CudaError& error) {
    throw NoGpu(fmt::format("the CUDA driver finds no device: {}", error.what()));
  }
  if (count == 0) throw NoGpu("the CUDA driver finds no device");
  ORIAS_CUDA_CALL(*this, cuDeviceGet, &device_, 0);
  ORIAS_CUDA_CALL(*this, cuCtxCreate_v2, &context_, 0, device_);
  ORIAS_CUDA_CALL(*this, cuCtxSetLimit, kStackLimit, kStackBytes);
}

Cuda::~Cuda() {
  // After a fault of a kernel this also fails, and nothing can be done about it.
  if (context_) cuCtxDestroy_v2(context_);
  if (library_) dlclose(library_);
}

void Cuda::check(int result, const char* call) const {
  if (result == 0) return;
  const char* name = nullptr;
  if (cuGetErrorName(result, &name) != 0 || !name) name = "unknown driver error";
  throw CudaError(result, fmt::format("{}: {} ({})", call, name, result));
}

void* Cuda::symbol(const char* name) const {
  return dlsym(library_, name);
}

std::string Cuda::describe() const {
  char name[256] = {};
  int major = 0, minor = 0, version = 0;
  ORIAS_CUDA_CALL(*this, cuDeviceGetName, name, static_cast<int>(sizeof name) - 1, device_);
  ORIAS_CUDA_CALL(*this, cuDeviceGetAttribute, &major, kComputeCapabilityMajor, device_);
  ORIAS_CUDA_CALL(*this, cuDeviceGetAttribute, &minor, kComputeCapabilityMinor, device_);
  ORIAS_CUDA_CALL(*this, cuDriverGetVersion, &version);
  return fmt::format("{} (sm_{}{}), driver {}.{}", name, major, minor, version / 1000, version % 1000 / 10);
}

} // namespace orias::gpu
