#pragma once

#include "tools/launch/memory.h"
#include "tools/launch/texture.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// One launch of one kernel, as data: the content of a launch file (README.md, launch.schema.json), the input of an
// engine, and its results. Independent of PTX and SASS.

namespace orias::launch {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

/// How the elements of a buffer are written and compared.
enum class ElementType : std::uint8_t { U8, S8, U16, S16, U32, S32, U64, S64, F16, BF16, F32, F64 };
unsigned elementBytes(ElementType type);
std::string_view elementName(ElementType type); ///< "f32"

/// The allowed error of a result. Both 0: the same bits (except that every NaN equals every NaN).
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

/// The required elements of a buffer after the run.
struct Expectation {
  std::vector<std::byte> bytes; ///< elements from the start of the buffer; may be shorter than the buffer
  Tolerance tolerance;
};

/// The address of a buffer inside other bytes.
struct Pointer {
  std::uint64_t at = 0;    ///< its location, in bytes
  int buffer = 0;          ///< index into Launch::buffers
  std::int64_t offset = 0; ///< bytes, added to the buffer's address
};
inline constexpr std::uint64_t kPointerBytes = 8;

/// The value that identifies a texture or sampler to a kernel; never 0, which means none.
inline std::uint64_t textureHandle(std::size_t index) {
  return index + 1;
}

/// The address of a multicast object, outside of all memory.
inline std::uint64_t multicastAddress(std::size_t index) {
  constexpr std::uint64_t kFirst = 0x780000000000, kEach = std::uint64_t{1} << 36;
  return kFirst + index * kEach;
}

/// An address range that maps to several buffers of one size, each on a different device (multimem).
struct Multicast {
  std::string name;
  std::vector<int> buffers; ///< indices into Launch::buffers
};

/// Memory that the kernel gets a pointer to.
struct Buffer {
  std::string name;
  ElementType type = ElementType::U32;
  std::uint64_t elements = 0;
  std::vector<std::byte> initial; ///< empty: uninitialized (reads as zero), else as long as the buffer
  std::vector<Pointer> pointers;  ///< written to the content when the addresses are known
  std::optional<Expectation> expected;
  Tolerance tolerance;     ///< for comparisons between two engines
  std::uint64_t print = 0; ///< number of elements to show after the run
};

/// One kernel parameter, in order: the address of a buffer, or raw bytes.
struct Argument {
  int buffer = -1;               ///< index into Launch::buffers
  std::int64_t offset = 0;       ///< bytes, added to the buffer's address
  std::vector<std::byte> bytes;  ///< when `buffer` is -1
  std::vector<Pointer> pointers; ///< inside `bytes`
  std::string name;              ///< for messages and formulas; may be empty
};

/// A variable of the module and its required value after the run.
struct VariableExpectation {
  std::string name; ///< in the PTX
  ElementType type = ElementType::U32;
  Expectation expected;
};

struct Launch {
  std::string name; ///< for messages
  std::string file; ///< the program, relative to the launch file: .ptx, .cubin or .ori; may be empty
  std::string kernel;
  Dim3 grid, block;
  std::optional<Dim3> cluster;     ///< blocks per cluster (cluster.h); nothing: the kernel's shape, or no clusters
  std::uint32_t dynamicShared = 0; ///< bytes
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  std::vector<Texture> textures;
  std::vector<Sampler> samplers;
  std::vector<Multicast> multicasts;
  std::vector<VariableExpectation> variables;
  std::string stops; ///< the kind of report that the run must stop with ("trap"); empty: it must complete
};

/// Reads a launch file. Paths in it are relative to its folder. Throws orias::Error with the location
/// ("buffers[1].type").
Launch readLaunchFile(const std::string& path);
/// Likewise from text; `folder` is the base of relative paths.
Launch parseLaunch(std::string_view json, const std::string& folder);
/// The path of the program of a launch; empty if it has none. `launchFile` is the path of the launch file.
std::string programPath(const Launch& launch, const std::string& launchFile);

/// The location of a kernel parameter in the parameter space.
struct ParameterPlace {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  bool isHandle = false; ///< of a texture, sampler or surface, which occupies no bytes
};

/// The device's memory for one launch. Every engine that runs the same launch gets the same addresses.
class Device {
 public:
  static constexpr std::uint64_t kGlobalBase = 0x7f0000000000;

  /// Allocates and fills the buffers. `trackInitialised`: see Memory.
  explicit Device(const Launch& launch, bool trackInitialised = false);
  /// The same memory for a grid that a kernel of `parent` launches; `grid` identifies it in messages.
  Device(const Launch& launch, Device& parent, std::string_view grid);

  /// The bytes of the kernel's parameter space. Throws orias::Error if the arguments do not match the parameters.
  std::vector<std::byte> parameterBytes(std::span<const ParameterPlace> places) const;
  /// The current bytes of a buffer.
  std::span<const std::byte> bufferBytes(std::size_t buffer) const;

  /// A module variable that the engine allocated; null if there is none of that name.
  const Allocation* variable(std::string_view name) const;

  /// The texture or surface of a handle; nothing if there is none. An argument's handle is the texture's index in the
  /// launch plus 1 (textureHandle).
  std::optional<Texels> texels(std::uint32_t handle) const { return texels(handle, 0); }
  /// With the sampler's settings; 0: with those of the texture.
  std::optional<Texels> texels(std::uint32_t handle, std::uint32_t sampler) const;
  /// The sampler of a handle; null if there is none.
  const Sampler* sampler(std::uint32_t handle) const;

  /// The handle of the texture or sampler with the name of a module's variable; nothing if there is none.
  std::optional<std::uint64_t> findHandle(std::string_view variable) const;
  /// Likewise. Throws orias::Error if there is none.
  std::uint64_t handleOf(std::string_view variable) const;
  /// The handle that a launch passes as its argument of that number, for a parameter that is a texture, sampler or
  /// surface. Throws orias::Error if the argument is not a handle.
  std::uint64_t handleArgument(std::size_t number) const;

  /// The addresses that an address of a multicast object maps to, one on each device; none for any other address.
  std::vector<std::uint64_t> replicas(std::uint64_t address) const;

  /// The address that a pointer has.
  std::uint64_t address(const Pointer& pointer) const;

  const Launch& launch;

 private:
  std::shared_ptr<Memory> memory_;

 public:
  /// Buffers first, in order; then the tables below, and allocations of the engine: module variables, by name.
  Memory& global;
  unsigned level = 0; ///< number of enclosing grids; the variables already have values if it is not 0
  std::string grid;   ///< " of grid 0 of thread …": identifies a child grid; empty without a parent
  /// The driver's tables of textures and surfaces (texture_table.h); 0 if the launch has none.
  std::uint64_t textureTableAddress = 0, samplerTableAddress = 0, surfaceTableAddress = 0;

 private:
  std::size_t buffers_ = 0;      ///< allocations that are buffers
  std::vector<Texture> sampled_; ///< each texture with each sampler, grouped by texture
  void describeTextures();
  void putPointers(std::span<const Pointer> pointers, std::byte* bytes) const;
};

/// Receives the progress of a long run.
class Progress {
 public:
  virtual ~Progress() = default;
  /// Called at fixed intervals of instructions, far more often than a display needs. `ctas`: number of started CTAs.
  virtual void tell(std::uint64_t threadInstructions, std::uint64_t ctas) = 0;
};

/// The limits of a run, and what it reports.
struct RunOptions {
  std::uint64_t instructionBudget = 2'000'000'000; ///< per launch, in thread instructions; exceeding it is an error
  bool memcheck = false;                           ///< report misaligned, out-of-bounds and uninitialized accesses
  bool racecheck = false;       ///< report conflicting unordered accesses to shared memory; PTX: to global memory, too
  bool timing = false;          ///< results become visible only after their latency (SASS)
  bool childrenLast = false;    ///< grids that a kernel launches run when its own threads have ended (device_runtime.h)
  bool trace = false;           ///< one line per instruction to RunResult::trace
  bool stats = false;           ///< statistics in RunResult::stats
  bool fullMachine = false;     ///< with stats: also the cycles of a block on a full multiprocessor (SASS)
  bool profile = false;         ///< with stats: RunResult::profile (SASS)
  Progress* progress = nullptr; ///< may be null
};

/// A finding of a checker, or the reason why the run stopped.
struct Report {
  std::string kind;  ///< "memcheck", "racecheck", "trap", "budget", "unsupported", "deadlock", ...
  std::string where; ///< instruction and its location: "kernel+0x120 LDG.E R2, ...", "file.ptx:12:3 ld.global.u32 ..."
  std::string text;
  std::uint32_t count = 1; ///< how often (the same kind at the same instruction)
};

/// The profile of one instruction, summed over its warps. Cycles are estimates (tools/emulator/README.md).
struct InstructionProfile {
  std::uint64_t executed = 0;         ///< by warps
  std::uint64_t lanes = 0;            ///< enabled lanes
  std::uint64_t fixedStalls = 0;      ///< cycles after it due to its stall count, beyond the first
  std::uint64_t scoreboardStalls = 0; ///< cycles waiting for scoreboards, copies and products
  std::uint64_t barrierStalls = 0;    ///< cycles waiting for other warps
};

struct RunResult {
  bool completed = false;      ///< every thread has exited
  std::vector<Report> reports; ///< first the reason of a stop; then findings of the checkers
  std::uint64_t threadInstructions = 0;
  std::uint64_t warpInstructions = 0; ///< 0 for engines without warps
  std::string trace;
  std::string printed;                               ///< by vprintf, in the order in which the engine ran the threads
  std::vector<std::pair<std::string, double>> stats; ///< name and value, in display order
  std::vector<InstructionProfile> profile;           ///< by instruction of the program
};

/// A difference between a buffer and its expected content.
struct Mismatch {
  std::string buffer;
  std::uint64_t index = 0; ///< of the element
  std::uint64_t count = 0; ///< number of different elements in this buffer
  std::string got, wanted; ///< as text
};

/// Whether the run ended as the launch specifies: completed, or stopped in the named way.
bool endedAsExpected(const Launch& launch, const RunResult& result);
/// Compares buffers and variables with the launch's expectations: one entry for each that differs.
std::vector<Mismatch> checkExpected(const Device& device);
/// Compares all allocations that both have (buffers by their types and tolerances, module variables bytewise).
std::vector<Mismatch> compare(const Device& got, const Device& wanted);
/// "1.5 -2 3": the first `count` elements.
std::string elementsText(ElementType type, std::span<const std::byte> bytes, std::uint64_t count);

} // namespace orias::launch
