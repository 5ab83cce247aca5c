#pragma once

#include "support/check.h"

#include <cstddef>
#include <cstdint>
#include <string>

// The CUDA driver, loaded at run time, so the build does not need CUDA. Declares the used part of its API (CUDA Driver
// API, "Modules" and "Execution Control") under its own names.

namespace orias::gpu {

/// There is no driver, or it has no device.
class NoGpu : public Error {
 public:
  using Error::Error;
};

/// A call of the driver failed.
class CudaError : public Error {
 public:
  CudaError(int code, const std::string& text) : Error(text), code(code) {}
  int code; ///< CUresult
};

using Handle = void*;                ///< CUcontext, CUmodule, CUfunction, CUevent, CUstream
using DevicePointer = std::uint64_t; ///< CUdeviceptr

/// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id = 0;
  int padding = 0;
  unsigned value[16] = {};
};
struct LaunchConfig {
  unsigned gridX = 1, gridY = 1, gridZ = 1, blockX = 1, blockY = 1, blockZ = 1, sharedBytes = 0;
  Handle stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attributeCount = 0;
};

/// X(name, parameters): every function returns a CUresult.
// clang-format off
#define ORIAS_CUDA_FUNCTIONS(X)                                                                          \
  X(cuInit, (unsigned flags))                                                                            \
  X(cuDriverGetVersion, (int* version))                                                                  \
  X(cuGetErrorName, (int error, const char** name))                                                      \
  X(cuDeviceGetCount, (int* count))                                                                      \
  X(cuDeviceGet, (int* device, int ordinal))                                                             \
  X(cuDeviceGetName, (char* name, int length, int device))                                               \
  X(cuDeviceGetAttribute, (int* value, int attribute, int device))                                       \
  X(cuCtxCreate_v2, (Handle* context, unsigned flags, int device))                                       \
  X(cuCtxDestroy_v2, (Handle context))                                                                   \
  X(cuCtxSetLimit, (int limit, std::size_t value))                                                       \
  X(cuCtxSynchronize, ())                                                                                \
  X(cuModuleLoadData, (Handle* module, const void* image))                                               \
  X(cuModuleUnload, (Handle module))                                                                      \
  X(cuModuleGetFunction, (Handle* function, Handle module, const char* name))                            \
  X(cuModuleGetGlobal_v2, (DevicePointer* address, std::size_t* size, Handle module, const char* name))  \
  X(cuFuncGetAttribute, (int* value, int attribute, Handle function))                                    \
  X(cuFuncSetAttribute, (Handle function, int attribute, int value))                                     \
  X(cuMemAlloc_v2, (DevicePointer* address, std::size_t size))                                           \
  X(cuMemFree_v2, (DevicePointer address))                                                                \
  X(cuMemcpyHtoD_v2, (DevicePointer to, const void* from, std::size_t size))                             \
  X(cuMemcpyDtoH_v2, (void* to, DevicePointer from, std::size_t size))                                   \
  X(cuMemsetD8_v2, (DevicePointer to, unsigned char value, std::size_t size))                            \
  X(cuLaunchKernelEx, (const LaunchConfig* config, Handle function, void** parameters, void** extra))    \
  X(cuEventCreate, (Handle* event, unsigned flags))                                                      \
  X(cuEventDestroy_v2, (Handle event))                                                                    \
  X(cuEventRecord, (Handle event, Handle stream))                                                        \
  X(cuEventSynchronize, (Handle event))                                                                  \
  X(cuEventElapsedTime, (float* milliseconds, Handle start, Handle end))
// clang-format on

// CUdevice_attribute and CUfunction_attribute.
inline constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76;
inline constexpr int kLocalBytes = 3, kRegisters = 4, kMaxDynamicShared = 8, kMayHaveLargeClusters = 14;
// CUlimit.
inline constexpr int kStackLimit = 0;
/// Stack size of a thread if the cubin does not tell the depth of its calls, or the size of alloca; the same as in the
/// emulator. The driver's default of 1 KiB is too small for launches of the corpus.
inline constexpr std::size_t kStackBytes = 8192;
// CUlaunchAttributeID.
inline constexpr int kClusterDimension = 4;

/// The driver and its first device, with a current context. The destructor releases memory, modules and events.
class Cuda {
 public:
  /// Opens the driver's library, by its name or path; an empty name is this program itself, which must then define the
  /// functions. Throws NoGpu.
  explicit Cuda(const std::string& library);
  ~Cuda();
  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;

  /// "NVIDIA H100 PCIe (sm_90), driver 13.0".
  std::string describe() const;

  /// The functions. Calls go through ORIAS_CUDA_CALL, which throws CudaError.
#define ORIAS_CUDA_MEMBER(name, parameters) int(*name) parameters = nullptr;
  ORIAS_CUDA_FUNCTIONS(ORIAS_CUDA_MEMBER)
#undef ORIAS_CUDA_MEMBER

  void check(int result, const char* call) const;
  /// Another function of the driver; null if this driver does not have it.
  void* symbol(const char* name) const;

 private:
  void* library_ = nullptr;
  int device_ = 0;
  Handle context_ = nullptr;
};

#define ORIAS_CUDA_CALL(cuda, function, ...) (cuda).check((cuda).function(__VA_ARGS__), #function)

} // namespace orias::gpu
