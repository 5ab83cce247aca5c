// A CUDA driver for tests: the functions that orias-gpu uses, on host memory. It logs its calls in the file
// $FAKE_CUDA_LOG, and recognizes kernels by their names; $FAKE_CUDA_DEVICES is the number of devices (1). Kernels:
// `addOne`, `store` (42), `count`, `stop` (faults), `hang`, `crash` (the process dies); all others do nothing.

#include "tools/gpu/cuda.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace {

using Handle = void*;

constexpr int kSuccess = 0, kInvalidValue = 1, kNotFound = 500, kLaunchFailed = 719;

std::uint32_t counter = 42; // a variable of every module
bool hasFailed = false;     // a kernel has trapped: every call fails from then on
bool hangs = false;         // a kernel does not end
char function[64];          // the last requested kernel

void log(const std::string& text) {
  const char* path = std::getenv("FAKE_CUDA_LOG");
  if (!path) return;
  if (std::FILE* file = std::fopen(path, "a")) {
    std::fprintf(file, "%s\n", text.c_str());
    std::fclose(file);
  }
}

int answer() {
  return hasFailed ? kLaunchFailed : kSuccess;
}

template <typename T> T parameter(void** parameters, unsigned index) {
  T value;
  std::memcpy(&value, parameters[index], sizeof value);
  return value;
}

} // namespace

extern "C" {

int cuInit(unsigned) {
  return kSuccess;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int cuGetErrorName(int error, const char** name) {
  *name = error == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED" : error == kNotFound ? "CUDA_ERROR_NOT_FOUND" : nullptr;
  return *name ? kSuccess : kInvalidValue;
}
int cuDeviceGetCount(int* count) {
  const char* devices = std::getenv("FAKE_CUDA_DEVICES");
  *count = devices ? std::atoi(devices) : 1;
  return kSuccess;
}
int cuDeviceGet(int* device, int) {
  *device = 0;
  return kSuccess;
}
int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU");
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;
  return kSuccess;
}
int cuCtxCreate_v2(Handle* context, unsigned, int) {
  *context = &counter;
  return kSuccess;
}
int cuCtxDestroy_v2(Handle) {
  return answer();
}
int cuCtxSetLimit(int limit, std::size_t value) {
  log("cuCtxSetLimit " + std::to_string(limit) + " " + std::to_string(value));
  return answer();
}
int cuCtxSynchronize() {
  while (hangs)
    sleep(1000);
  return answer();
}
int cuModuleLoadData(Handle* module, const void* image) {
  *module = &counter;
  return std::memcmp(image, "\177ELF", 4) == 0 ? answer() : kInvalidValue;
}
int cuModuleUnload(Handle) {
  return answer();
}
int cuModuleGetFunction(Handle* into, Handle, const char* name) {
  std::snprintf(function, sizeof function, "%s", name);
  *into = function;
  return answer();
}
int cuModuleGetGlobal_v2(std::uint64_t* address, std::size_t* size, Handle, const char* name) {
  if (std::strcmp(name, "counter") != 0) return kNotFound;
  *address = reinterpret_cast<std::uintptr_t>(&counter);
  *size = sizeof counter;
  return answer();
}
int cuFuncGetAttribute(int* value, int attribute, Handle) {
  *value = attribute == 4 ? 24 : 0;
  return answer();
}
int cuFuncSetAttribute(Handle, int attribute, int value) {
  log("cuFuncSetAttribute " + std::to_string(attribute) + " " + std::to_string(value));
  return answer();
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t size) {
  *address = reinterpret_cast<std::uintptr_t>(std::malloc(size));
  log("cuMemAlloc " + std::to_string(size));
  return answer();
}
int cuMemFree_v2(std::uint64_t address) {
  std::free(reinterpret_cast<void*>(address));
  return answer();
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t size) {
  std::memcpy(reinterpret_cast<void*>(to), from, size);
  return answer();
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t size) {
  std::memcpy(to, reinterpret_cast<void*>(from), size);
  return answer();
}
int cuMemsetD8_v2(std::uint64_t to, unsigned char value, std::size_t size) {
  std::memset(reinterpret_cast<void*>(to), value, size);
  return answer();
}
int cuLaunchKernelEx(const orias::gpu::LaunchConfig* c, Handle, void** parameters, void**) {
  std::string text = std::string("cuLaunchKernelEx ") + function;
  for (unsigned number : {c->gridX, c->gridY, c->gridZ, c->blockX, c->blockY, c->blockZ, c->sharedBytes})
    text += " " + std::to_string(number);
  for (unsigned i = 0; i < c->attributeCount; ++i) {
    const orias::gpu::LaunchAttribute& a = c->attributes[i];
    for (unsigned number : {static_cast<unsigned>(a.id), a.value[0], a.value[1], a.value[2]})
      text += " " + std::to_string(number);
  }
  log(text);
  const std::string name = function;
  if (name == "addOne") {
    auto* data = reinterpret_cast<std::uint32_t*>(parameter<std::uint64_t>(parameters, 0));
    for (std::uint32_t i = 0; i < parameter<std::uint32_t>(parameters, 1); ++i)
      ++data[i];
  }
  if (name == "store") *reinterpret_cast<std::uint32_t*>(parameter<std::uint64_t>(parameters, 0)) = 42;
  if (name == "count") ++counter;
  if (name == "stop") hasFailed = true;
  if (name == "hang") hangs = true;
  if (name == "crash") std::abort();
  return kSuccess; // a trap of the kernel is reported later
}
int cuEventCreate(Handle* event, unsigned) {
  *event = &counter;
  return answer();
}
int cuEventDestroy_v2(Handle) {
  return answer();
}
int cuEventRecord(Handle, Handle) {
  return answer();
}
int cuEventSynchronize(Handle) {
  return answer();
}
int cuEventElapsedTime(float* milliseconds, Handle, Handle) {
  *milliseconds = 0.0125f;
  return answer();
}

} // extern "C"
