// A CUDA driver for tests: the functions that the suite uses, on the emulator. A program that exports them is its own
// driver, so cases can be run without a GPU. A kernel that does not terminate also hangs here.

#include "tools/emulator/emulator.h"
#include "tools/gpu/cuda.h"
#include "tools/launch/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <memory>
#include <unistd.h>

namespace {

using namespace orias;
using Handle = void*;

constexpr int kSuccess = 0, kInvalidValue = 1, kInvalidImage = 200, kNotFound = 500, kIllegalAddress = 700,
              kLaunchFailed = 719, kNotSupported = 801;

struct Module {
  std::vector<std::byte> cubin;
  std::string kernel; ///< the last requested kernel
};

struct State {
  std::unique_ptr<launch::Launch> launch = std::make_unique<launch::Launch>(); ///< its buffers are the allocations
  std::unique_ptr<launch::Device> device;                                      ///< the current memory
  int failure = kSuccess; ///< of a kernel: every call fails from then on
  bool hangs = false;
};
State state;

/// Creates the device again, with the contents of all allocations.
void renew() {
  auto launch = std::make_unique<launch::Launch>(*state.launch);
  for (std::size_t i = 0; state.device && i < state.device->launch.buffers.size(); ++i) {
    const auto bytes = state.device->bufferBytes(i);
    launch->buffers[i].initial.assign(bytes.begin(), bytes.end());
  }
  state.device.reset();
  state.launch = std::move(launch);
  state.device = std::make_unique<launch::Device>(*state.launch);
}

std::byte* memoryAt(std::uint64_t address, std::size_t size) {
  return state.device ? state.device->global.at(address, size) : nullptr;
}

/// The size of a cubin, from its ELF header: it ends with the section headers, or the program headers after them.
std::size_t sizeOf(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return std::max(header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize,
                  header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize);
}

int failureOf(const launch::RunResult& result) {
  const std::string& kind = result.reports.empty() ? std::string() : result.reports.front().kind;
  if (kind == "memcheck") return kIllegalAddress;
  return kind == "unsupported" ? kNotSupported : kLaunchFailed;
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
  *name = error == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : error == kLaunchFailed ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == kNotSupported ? "CUDA_ERROR_NOT_SUPPORTED"
                                   : "an error";
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}
int cuDeviceGet(int* device, int) {
  *device = 0;
  return kSuccess;
}
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "The emulator", static_cast<std::size_t>(length));
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == gpu::kComputeCapabilityMajor ? 9 : 0;
  return kSuccess;
}
int cuCtxCreate_v2(Handle* context, unsigned, int) {
  *context = &state;
  return kSuccess;
}
int cuCtxDestroy_v2(Handle) {
  return state.failure;
}
int cuCtxSetLimit(int, std::size_t) {
  return state.failure;
}
int cuCtxSynchronize() {
  while (state.hangs)
    sleep(1000);
  return state.failure;
}
int cuModuleLoadData(Handle* module, const void* image) {
  const std::size_t size = sizeOf(image);
  if (size == 0) return kInvalidImage;
  const auto* bytes = static_cast<const std::byte*>(image);
  *module = new Module{{bytes, bytes + size}, ""};
  return state.failure;
}
int cuModuleUnload(Handle module) {
  delete static_cast<Module*>(module);
  return state.failure;
}
int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  static_cast<Module*>(module)->kernel = name;
  *function = module;
  return state.failure;
}
int cuModuleGetGlobal_v2(std::uint64_t* address, std::size_t* size, Handle, const char* name) {
  const launch::Allocation* variable = state.device ? state.device->variable(name) : nullptr;
  if (!variable) return kNotFound;
  *address = variable->address;
  *size = variable->size;
  return state.failure;
}
int cuFuncGetAttribute(int* value, int, Handle) {
  *value = 0;
  return state.failure;
}
int cuFuncSetAttribute(Handle, int, int) {
  return state.failure;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t size) {
  launch::Buffer buffer;
  buffer.type = launch::ElementType::U8;
  buffer.elements = size;
  if (state.device) renew();
  state.launch->buffers.push_back(std::move(buffer));
  state.device = std::make_unique<launch::Device>(*state.launch);
  *address = state.device->global.allocations()[state.launch->buffers.size() - 1].address;
  return state.failure;
}
int cuMemFree_v2(std::uint64_t) {
  state.device.reset();
  state.launch = std::make_unique<launch::Launch>(); // the suite only has one allocation at a time
  return state.failure;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t size) {
  std::byte* at = memoryAt(to, size);
  if (!at) return kInvalidValue;
  std::memcpy(at, from, size);
  return state.failure;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t size) {
  const std::byte* at = memoryAt(from, size);
  if (!at) return kInvalidValue;
  std::memcpy(to, at, size);
  return state.failure;
}
int cuMemsetD8_v2(std::uint64_t to, unsigned char value, std::size_t size) {
  std::byte* at = memoryAt(to, size);
  if (!at) return kInvalidValue;
  std::memset(at, value, size);
  return state.failure;
}
int cuLaunchKernelEx(const gpu::LaunchConfig* config, Handle function, void** parameters, void**) {
  try {
    const auto* module = static_cast<const Module*>(function);
    const emu::Program program = emu::loadCubin(module->cubin, module->kernel);
    if (!state.device) state.device = std::make_unique<launch::Device>(*state.launch);
    state.launch->kernel = module->kernel;
    state.launch->grid = {config->gridX, config->gridY, config->gridZ};
    state.launch->block = {config->blockX, config->blockY, config->blockZ};
    state.launch->dynamicShared = config->sharedBytes;
    state.launch->cluster.reset();
    if (config->attributeCount != 0) {
      const unsigned* size = config->attributes[0].value;
      state.launch->cluster = launch::Dim3{size[0], size[1], size[2]};
    }
    state.launch->arguments.clear();
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      const auto* bytes = static_cast<const std::byte*>(parameters[i]);
      launch::Argument argument;
      argument.bytes.assign(bytes, bytes + program.parameters[i].size);
      state.launch->arguments.push_back(std::move(argument));
    }
    renew();
    launch::RunOptions options;
    options.instructionBudget = 500'000'000;
    const launch::RunResult result = emu::run(program, *state.device, options);
    if (result.completed) return state.failure;
    const std::string kind = result.reports.empty() ? "" : result.reports.front().kind;
    state.hangs = kind == "budget" || kind == "deadlock";
    if (!state.hangs) state.failure = failureOf(result);
    return kSuccess; // a failure of the kernel is reported later
  } catch (const std::exception&) {
    return kInvalidValue;
  }
}
int cuTensorMapEncodeTiled(void* into, int type, std::uint32_t rank, void* address, const std::uint64_t* sizes,
                           const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* elementStrides,
                           int, int swizzle, int, int fill) {
  using Type = launch::TensorMap::Type;
  constexpr Type kTypes[] = {Type::U8,  Type::U16, Type::U32,  Type::S32,    Type::U64,  Type::S64,    Type::F16,
                             Type::F32, Type::F64, Type::BF16, Type::F32Ftz, Type::TF32, Type::TF32Ftz};
  launch::TensorMap map;
  map.address = reinterpret_cast<std::uintptr_t>(address);
  map.type = kTypes[type];
  map.rank = rank;
  for (unsigned d = 0; d < rank; ++d) {
    map.size[d] = sizes[d];
    map.box[d] = box[d];
    map.elementStride[d] = elementStrides[d];
    if (d + 1 < rank) map.stride[d] = strides[d];
  }
  map.swizzle = static_cast<unsigned>(swizzle);
  map.fillsNan = fill != 0;
  const auto bytes = map.encode();
  std::memcpy(into, bytes.data(), bytes.size());
  return state.failure;
}
int cuEventCreate(Handle* event, unsigned) {
  *event = &state;
  return state.failure;
}
int cuEventDestroy_v2(Handle) {
  return state.failure;
}
int cuEventRecord(Handle, Handle) {
  return state.failure;
}
int cuEventSynchronize(Handle) {
  return cuCtxSynchronize();
}
int cuEventElapsedTime(float* milliseconds, Handle, Handle) {
  *milliseconds = 0.01F;
  return state.failure;
}

} // extern "C"
