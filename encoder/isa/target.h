#pragma once

// All properties that depend on the chip. No other code compares SM numbers.

#include "encoder/isa/chip.h"
#include "encoder/isa/latency_class.h"
#include "encoder/isa/operand.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace orias::isa {

struct LatencyTables; // encoder/isa/latency/tables.h

/// One use or definition of a 32-bit register (or predicate) in the latency tables: its class and port. Some ports are
/// read later, or written earlier, than the rest of the instruction.
struct Access {
  enum class Port : std::uint8_t {
    Main,   ///< results and sources without a row of their own
    Addend, ///< the C operand of a multiply-add (its low word when 64 bits wide)
    High,   ///< the high word of a 64-bit IMAD.WIDE result or addend
    Guard   ///< the predicate that guards the instruction
  };
  LatencyClass latencyClass = LatencyClass::None;
  Port port = Port::Main;
};

/// The source of a latency.
enum class Evidence : std::uint8_t {
  Observed, ///< the minimum distance in code of ptxas
  Table,    ///< a public table
  Assumed   ///< a conservative value from a related chip or class
};

/// Cycles from the issue of one instruction to the issue of another.
struct Latency {
  std::uint8_t cycles = 0;
  Evidence evidence = Evidence::Assumed;
};

/// How many blocks fit on one multiprocessor, and the limiting resource.
struct Occupancy {
  enum class Limit : std::uint8_t { Warps, Blocks, Registers, SharedMemory, Impossible };
  unsigned blocksPerSm = 0;
  unsigned warpsPerSm = 0;
  double fraction = 0; ///< of the maximum number of warps
  Limit limit = Limit::Impossible;
};

/// On chips with Capability::BarrierSetup: the uniform register that marks a completed setup (observed).
inline constexpr unsigned kSetupMark = 2;

class Target;

/// A value of `-arch` and similar options: `sm_90` (real) or `compute_90` (virtual: parse and check only).
struct ArchName {
  const Target* target = nullptr;
  bool isVirtual = false;
};

/// One chip. Objects are constants of the program; compare them by address.
class Target {
 public:
  /// All chips for which kernels are compiled, oldest first.
  static std::span<const Target> all();
  /// All chips, including those whose words are only decoded.
  static std::span<const Target> known();
  /// `sm_90a`, `compute_80`, ... ; nullopt if unknown. `lto_` and `+PTX` forms are not names of chips.
  static std::optional<ArchName> parse(std::string_view arch);
  /// As parse(), for real names only: for tests and tools.
  static const Target* find(std::string_view smName);

  std::string_view name() const { return chip_.name; }               ///< "sm_90a"
  std::string_view virtualName() const { return chip_.virtualName; } ///< "compute_90a"
  /// 90: for PTX rules and file names only. Features of a chip are capabilities.
  unsigned smVersion() const { return chip_.smVersion; }
  /// The `a` suffix: features of this chip only (wgmma, setmaxnreg, ...).
  bool isArchSpecific() const { return chip_.suffix == 'a'; }
  unsigned ptxIsaMinimum() const { return chip_.ptxIsa; } ///< lowest `.version` with the chip, 78 = 7.8
  /// Kernels are compiled for it; else its words are only decoded.
  bool isAssembled() const { return chip_.isAssembled; }
  bool has(Capability capability) const { return chip_.capabilities.has(capability); }
  /// The row of the table.
  const Chip& chip() const { return chip_; }

  // --- words
  WordFormat words() const { return chip_.words; }
  std::uint16_t instructions() const { return chip_.instructions; } ///< its bit in InstrDesc::sms

  // --- ELF
  std::uint32_t elfFlags() const { return chip_.cubin.elfFlags; }

  // --- constant bank 0, byte offsets
  const ConstantBank& bank0() const { return *chip_.bank0; }
  std::uint32_t paramBase() const { return bank0().params; }
  /// With Capability::ClusterRecords: the word is at this offset minus kRecordBytes * SR_CgaSize (observed).
  bool isInRecord(std::uint32_t offset) const {
    return has(Capability::ClusterRecords) && offset >= bank0().envReg && offset < bank0().smCount;
  }
  static constexpr std::int32_t kRecordBytes = 0xa0;
  std::uint32_t maxParamBytes() const { return 32764; }
  std::uint32_t ntidOffset(unsigned axis) const { return bank0().ntid + 4 * axis; }
  std::uint32_t nctaidOffset(unsigned axis) const { return bank0().nctaid + 4 * axis; }
  std::uint32_t sharedWindowOffset() const { return bank0().sharedWindow; }
  std::uint32_t localWindowOffset() const { return bank0().localWindow; }
  std::uint32_t constWindowOffset() const { return bank0().constWindow; }
  std::uint32_t stackPointerOffset() const { return bank0().stackPointer; }
  std::uint32_t dynamicSharedSizeOffset() const { return bank0().dynamicSharedSize; }
  /// 64 bits: the descriptor of plain global accesses; nullopt before sm_80.
  std::optional<std::uint32_t> globalDescriptorOffset() const {
    if (!has(Capability::MemoryDescriptors)) return std::nullopt;
    return bank0().globalDescriptor;
  }
  std::uint32_t textureTableOffset() const { return bank0().textureTable; }
  std::uint32_t samplerTableOffset() const { return bank0().samplerTable; }
  std::uint32_t surfaceTableOffset() const { return bank0().surfaceTable; }

  // --- shared memory
  /// Minimum alignment of dynamic shared memory, which follows the static part (observed: the size of .nv.shared).
  static constexpr std::uint32_t kDynamicSharedAlignment = 16;
  /// First shared address that belongs to the program; lower addresses belong to the system.
  std::uint32_t sharedBase() const { return chip_.sharedBase; }
  std::uint32_t maxStaticShared() const { return 48 * 1024; }
  std::uint32_t maxConstantBank() const { return 64 * 1024; }
  std::uint32_t maxSharedPerBlock() const { return chip_.occupancy.sharedPerBlock; } ///< dynamic memory included

  // --- registers
  /// How many registers of a file a program can use, without the zero or true register.
  unsigned registerCount(File file) const;
  /// Added to the number of R registers used: the hardware keeps the program counter in them.
  unsigned reservedRegisters() const { return 2; }
  unsigned maxRegistersPerThread() const { return 255; }

  // --- textures
  /// In a joint handle, the bit position of the sampler's number, above the texture's.
  static constexpr unsigned kSamplerShift = 20;
  /// The bits of a handle that are the index in the tables.
  std::uint32_t handleNumberMask() const {
    return has(Capability::JoinedSamplers) ? (std::uint32_t{1} << kSamplerShift) - 1 : ~std::uint32_t{0};
  }

  // --- occupancy
  unsigned maxWarpsPerSm() const { return chip_.occupancy.warps; }
  unsigned maxBlocksPerSm() const { return chip_.occupancy.blocks; }
  unsigned registersPerSm() const { return 65536; }
  std::uint32_t sharedPerSm() const { return chip_.occupancy.sharedPerSm; }
  /// `registers` per thread as reported (reservedRegisters included); `sharedBytes` per block without the system's
  /// part.
  Occupancy occupancy(unsigned threadsPerBlock, unsigned registers, std::uint32_t sharedBytes) const;
  /// The maximum registers per thread with which `warps` warps fit on a multiprocessor; 0 if they never fit.
  unsigned registersForWarps(unsigned warps) const;

  // --- latencies; cycles are counted from issue to issue
  /// Whether the latency is variable, so that a scoreboard signals the result.
  bool isScoreboarded(LatencyClass latencyClass) const;
  /// The minimum distance from a write to a read of the same register of `file`. For a scoreboarded writer, the
  /// distance to the instruction that waits for the scoreboard.
  Latency rawLatency(File file, Access writer, Access reader) const;
  /// From a write to another write, without a read in between.
  Latency wawLatency(File file, Access first, Access second) const;
  /// From a read at issue to a write. Late reads (SlotDesc::readLate) need a scoreboard instead.
  Latency warLatency(File file, Access reader, Access writer) const;
  /// The minimum stall count of an instruction, regardless of its successor.
  unsigned minStall(LatencyClass latencyClass) const;
  /// Instructions with the same pipe compete for it; 0 = no pipe.
  unsigned pipe(LatencyClass latencyClass) const;
  /// Cycles until the pipe accepts the next instruction.
  unsigned issueCycles(LatencyClass latencyClass) const;
  /// For schedulers: the typical latency of a result of this class; exact for classes of fixed latency.
  unsigned expectedLatency(LatencyClass latencyClass) const;
  /// The longest fixed latency.
  unsigned maxFixedLatency() const;
  /// Units that complete in program order: waiting for an instruction waits for all earlier ones with the same queue. 0
  /// = unordered.
  unsigned completionQueue(LatencyClass latencyClass) const;
  /// The queue of units that read late sources in program order; 0 = unordered.
  unsigned readQueue(LatencyClass latencyClass) const;
  unsigned scoreboardCount() const { return 6; }
  /// Cycles from the issue of an instruction until its scoreboards appear as set.
  unsigned scoreboardDelay() const { return 2; }
  unsigned maxStall() const { return 15; }

  explicit Target(const Chip& chip) : chip_(chip) {}

 private:
  const LatencyTables& latencies() const;
  const Chip& chip_;
};

} // namespace orias::isa
