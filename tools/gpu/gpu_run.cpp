#include "tools/gpu/gpu_run.h"

#include "support/check.h"
#include "tools/gpu/tensor_maps.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace orias::gpu {

namespace {

/// A kernel needs an attribute for more dynamic shared memory than this.
constexpr std::uint32_t kDefaultDynamicShared = 48 * 1024;
/// A kernel needs an attribute for larger clusters than this.
constexpr std::uint64_t kPortableClusterBlocks = 8;

/// Between two buffers, so that a write outside of one is detected and harmless.
constexpr std::size_t kGuardBytes = 4096;
constexpr std::byte kGuardByte{0xa5};
/// The minimum alignment of cuMemAlloc.
constexpr std::size_t kAlignment = 512;

/// The kind of report that the emulator has for this fault; null for other errors.
const char* faultKind(int code) {
  switch (code) {
  case 700:                    // illegal address
  case 716:                    // misaligned address
  case 717:                    // invalid address space
  case 718: return "memcheck"; // invalid program counter
  case 702: return "budget";   // timeout
  case 710:                    // assert
  case 715:                    // illegal instruction
  case 719: return "trap";     // launch failure
  default: return nullptr;
  }
}

/// One launch on the device.
class Session {
 public:
  Session(const Cuda& cuda, std::span<const std::byte> cubin, launch::Device& device)
      : cuda_(cuda), launch_(device.launch), device_(device) {
    if (!launch_.textures.empty()) throw Error("launches with textures are not supported on a GPU");
    if (!launch_.multicasts.empty()) throw Error("launches with multicast objects are not supported on a GPU");
    ORIAS_CUDA_CALL(cuda_, cuModuleLoadData, &module_, cubin.data());
    ORIAS_CUDA_CALL(cuda_, cuModuleGetFunction, &function_, module_, launch_.kernel.c_str());
    if (launch_.dynamicShared > kDefaultDynamicShared)
      ORIAS_CUDA_CALL(cuda_, cuFuncSetAttribute, function_, kMaxDynamicShared, static_cast<int>(launch_.dynamicShared));
    if (launch_.cluster && launch_.cluster->count() > kPortableClusterBlocks)
      ORIAS_CUDA_CALL(cuda_, cuFuncSetAttribute, function_, kMayHaveLargeClusters, 1);
    layOut();
    makeArguments();
  }

  unsigned attribute(int which) const {
    int value = 0;
    ORIAS_CUDA_CALL(cuda_, cuFuncGetAttribute, &value, which, function_);
    return static_cast<unsigned>(value);
  }

  ~Session() {
    // After a fault of a kernel these also fail; the memory is then released with the process.
    if (memory_ != 0) cuda_.cuMemFree_v2(memory_);
    if (module_) cuda_.cuModuleUnload(module_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Writes the initial contents to the buffers, and the guard pattern around them. Buffers without initial contents
  /// are zero, as in the emulator.
  void fillBuffers() const {
    std::vector<std::byte> image(imageBytes_, kGuardByte);
    for (std::size_t i = 0; i < launch_.buffers.size(); ++i) {
      const launch::Buffer& buffer = launch_.buffers[i];
      std::byte* at = image.data() + offsets_[i];
      if (buffer.initial.empty())
        std::fill_n(at, bytesOf(buffer), std::byte{0});
      else
        std::copy(buffer.initial.begin(), buffer.initial.end(), at);
      putPointers(buffer.pointers, {at, bytesOf(buffer)});
    }
    ORIAS_CUDA_CALL(cuda_, cuMemcpyHtoD_v2, memory_, image.data(), image.size());
  }

  /// Launches the kernel, with `copies` of its grid along z.
  void start(unsigned copies = 1) {
    std::vector<void*> parameters;
    for (std::vector<std::byte>& argument : arguments_)
      parameters.push_back(argument.data());
    const launch::Dim3 &grid = launch_.grid, &block = launch_.block;
    LaunchConfig config{grid.x, grid.y, grid.z * copies, block.x, block.y, block.z, launch_.dynamicShared};
    LaunchAttribute cluster{kClusterDimension};
    if (launch_.cluster) {
      cluster.value[0] = launch_.cluster->x;
      cluster.value[1] = launch_.cluster->y;
      cluster.value[2] = launch_.cluster->z;
      config.attributes = &cluster;
      config.attributeCount = 1;
    }
    ORIAS_CUDA_CALL(cuda_, cuLaunchKernelEx, &config, function_, parameters.data(), nullptr);
  }

  double timedMicroseconds(Handle before, Handle after, unsigned copies) {
    ORIAS_CUDA_CALL(cuda_, cuEventRecord, before, nullptr);
    start(copies);
    ORIAS_CUDA_CALL(cuda_, cuEventRecord, after, nullptr);
    ORIAS_CUDA_CALL(cuda_, cuEventSynchronize, after);
    float milliseconds = 0;
    ORIAS_CUDA_CALL(cuda_, cuEventElapsedTime, &milliseconds, before, after);
    return 1000.0 * static_cast<double>(milliseconds);
  }

  /// Copies buffers and variables to `device_`. Returns the writes outside of the buffers.
  std::vector<std::string> fetch() const {
    std::vector<std::byte> image(imageBytes_);
    ORIAS_CUDA_CALL(cuda_, cuMemcpyDtoH_v2, image.data(), memory_, image.size());
    for (std::size_t i = 0; i < launch_.buffers.size(); ++i) {
      const launch::Buffer& buffer = launch_.buffers[i];
      const launch::Allocation to = device_.global.allocations()[i];
      std::byte* bytes = device_.global.at(to.address, to.size);
      if (bytesOf(buffer) != 0) std::memcpy(bytes, image.data() + offsets_[i], bytesOf(buffer));
      // Addresses differ between engines. Unchanged pointers are translated to the addresses of `device_`.
      for (const launch::Pointer& p : buffer.pointers) {
        const std::uint64_t ours = device_.address(p), theirs = addressOf(p);
        if (std::memcmp(bytes + p.at, &theirs, sizeof theirs) == 0) std::memcpy(bytes + p.at, &ours, sizeof ours);
      }
    }
    fetchVariables();
    return strays(image);
  }

 private:
  void fetchVariables() const {
    for (const launch::VariableExpectation& variable : launch_.variables) {
      DevicePointer from = 0;
      std::size_t size = 0;
      ORIAS_CUDA_CALL(cuda_, cuModuleGetGlobal_v2, &from, &size, module_, variable.name.c_str());
      const std::uint64_t to = device_.global.allocate(variable.name, size);
      ORIAS_CUDA_CALL(cuda_, cuMemcpyDtoH_v2, device_.global.at(to, size), from, size);
    }
  }

  /// Assigns the offsets of the buffers in the one allocation: guard bytes before the first and after each.
  void layOut() {
    std::size_t at = kGuardBytes;
    for (const launch::Buffer& buffer : launch_.buffers) {
      offsets_.push_back(at);
      at = (at + bytesOf(buffer) + kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    imageBytes_ = at;
    ORIAS_CUDA_CALL(cuda_, cuMemAlloc_v2, &memory_, imageBytes_);
    for (const std::size_t offset : offsets_)
      addresses_.push_back(memory_ + offset);
  }

  std::vector<std::string> strays(std::span<const std::byte> image) const {
    std::vector<std::string> found;
    const auto look = [&](std::size_t from, std::size_t to, const std::string& where) {
      const auto changed =
          std::count_if(image.begin() + static_cast<std::ptrdiff_t>(from),
                        image.begin() + static_cast<std::ptrdiff_t>(to), [](std::byte b) { return b != kGuardByte; });
      if (changed != 0) found.push_back(fmt::format("{} bytes changed {}", changed, where));
    };
    look(0, kGuardBytes, "before the first buffer");
    for (std::size_t i = 0; i < offsets_.size(); ++i)
      look(offsets_[i] + bytesOf(launch_.buffers[i]), i + 1 < offsets_.size() ? offsets_[i + 1] : imageBytes_,
           fmt::format("after '{}'", launch_.buffers[i].name));
    return found;
  }

  static std::size_t bytesOf(const launch::Buffer& buffer) {
    return buffer.elements * launch::elementBytes(buffer.type);
  }
  std::uint64_t addressOf(const launch::Pointer& pointer) const {
    return addresses_[static_cast<std::size_t>(pointer.buffer)] + static_cast<std::uint64_t>(pointer.offset);
  }
  void putPointers(std::span<const launch::Pointer> pointers, std::span<std::byte> into) const {
    for (const launch::Pointer& p : pointers) {
      const std::uint64_t value = addressOf(p);
      std::memcpy(into.data() + p.at, &value, sizeof value);
    }
  }
  void makeArguments() {
    for (const launch::Argument& argument : launch_.arguments) {
      std::vector<std::byte> bytes = argument.bytes;
      if (argument.buffer >= 0) {
        bytes.resize(launch::kPointerBytes);
        const launch::Pointer pointer{0, argument.buffer, argument.offset};
        putPointers({&pointer, 1}, bytes);
      } else {
        putPointers(argument.pointers, bytes);
        if (std::optional<launch::TensorMap> map = tensorMapOf(argument)) {
          map->address = addressOf(argument.pointers[0]);
          encodeTensorMap(cuda_, *map, bytes);
        }
      }
      arguments_.push_back(std::move(bytes));
    }
  }

  const Cuda& cuda_;
  const launch::Launch& launch_;
  launch::Device& device_;
  Handle module_ = nullptr, function_ = nullptr;
  DevicePointer memory_ = 0;                      ///< one allocation for all buffers
  std::size_t imageBytes_ = 0;                    ///< its size
  std::vector<std::size_t> offsets_;              ///< of the buffers, in it
  std::vector<DevicePointer> addresses_;          ///< of the buffers
  std::vector<std::vector<std::byte>> arguments_; ///< the bytes of each argument
};

/// Microseconds of repeated launches with `copies` of the grid, sorted.
std::vector<double> sortedTimes(const Cuda& cuda, Session& session, const TimingOptions& timing, unsigned copies) {
  Handle before = nullptr, after = nullptr;
  ORIAS_CUDA_CALL(cuda, cuEventCreate, &before, 0);
  ORIAS_CUDA_CALL(cuda, cuEventCreate, &after, 0);
  std::vector<double> times;
  double total = 0;
  for (unsigned i = 0; i < timing.warmUps + timing.repetitions && total <= timing.maxMicroseconds; ++i) {
    session.fillBuffers();
    const double time = session.timedMicroseconds(before, after, copies);
    total += time;
    if (i >= timing.warmUps) times.push_back(time);
  }
  cuda.cuEventDestroy_v2(before);
  cuda.cuEventDestroy_v2(after);
  std::sort(times.begin(), times.end());
  return times;
}

} // namespace

GpuRun runOnGpu(const Cuda& cuda, std::span<const std::byte> cubin, launch::Device& device,
                const TimingOptions& timing) {
  Session session(cuda, cubin, device);
  GpuRun run;
  run.registers = session.attribute(kRegisters);
  run.localBytes = session.attribute(kLocalBytes);
  session.fillBuffers();
  try {
    session.start();
    ORIAS_CUDA_CALL(cuda, cuCtxSynchronize);
  } catch (const CudaError& error) {
    const char* kind = faultKind(error.code);
    if (!kind) throw;
    run.result.reports.push_back({kind, device.launch.kernel, error.what(), 1});
    return run;
  }
  run.result.completed = true;
  run.strays = session.fetch();
  if (timing.repetitions == 0) return run;

  run.microseconds = sortedTimes(cuda, session, timing, 1);
  if (timing.gridCopies > 1) {
    try {
      run.copiesMicroseconds = sortedTimes(cuda, session, timing, timing.gridCopies);
    } catch (const CudaError& error) {
      run.copiesFault = error.what();
    }
  }
  return run;
}

} // namespace orias::gpu
