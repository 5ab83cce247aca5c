#pragma once

// Everything that depends on the chip. Nobody else compares SM numbers.

#include "encoder/isa/chip.h"
#include "encoder/isa/latency_class.h"
#include "encoder/isa/operand.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace orias::isa {

struct LatencyTables; // encoder/isa/latency/tables.h

/// One use or definition of a 32-bit register (or predicate) as the latency tables see it: who, and through which port.
/// Some ports are read later, or written earlier, than the rest of the instruction.
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

/// How a latency is known.
enum class Evidence : std::uint8_t {
  Observed, ///< the least distance in code that ptxas emits
  Table,    ///< a public table
  Assumed   ///< taken from a relative, on the safe side
};

/// Cycles from the issue of one instruction to the issue of another.
struct Latency {
  std::uint8_t cycles = 0;
  Evidence evidence = Evidence::Assumed;
};

/// How many blocks fit on one multiprocessor, and what stops a further one.
struct Occupancy {
  enum class Limit : std::uint8_t { Warps, Blocks, Registers, SharedMemory, Impossible };
  unsigned blocksPerSm = 0;
  unsigned warpsPerSm = 0;
  double fraction = 0; ///< of the warps that the multiprocessor can hold
  Limit limit = Limit::Impossible;
};

/// On chips with Capability::BarrierSetup: the uniform register that tells whether it has been done (observed).
inline constexpr unsigned kSetupMark = 2;

class Target;

/// What `-arch` and friends name: `sm_90` (real) or `compute_90` (virtual: parse and check only).
struct ArchName {
  const Target* target = nullptr;
  bool isVirtual = false;
};

/// One chip. Objects are constants of the program; compare them by address.
class Target {
 public:
  /// All chips that kernels are compiled for, oldest first.
  static std::span<const Target> all();
  /// And those whose words are only read.
  static std::span<const Target> known();
  /// `sm_90a`, `compute_80`, ... ; null when unknown. `lto_` and `+PTX` forms are not names of chips.
  static std::optional<ArchName> parse(std::string_view arch);
  /// As parse(), for real names only: for tests and tools.
  static const Target* find(std::string_view smName);

  std::string_view name() const { return chip_.name; }               ///< "sm_90a"
  std::string_view virtualName() const { return chip_.virtualName; } ///< "compute_90a"
  /// 90: for rules of PTX and the files' names. What a chip has is asked by capability.
  unsigned smVersion() const { return chip_.smVersion; }
  /// The `a` suffix: features of this chip only (wgmma, setmaxnreg, ...).
  bool isArchSpecific() const { return chip_.suffix == 'a'; }
  unsigned ptxIsaMinimum() const { return chip_.ptxIsa; } ///< lowest `.version` that knows the chip, 78 = 7.8
  /// Kernels are compiled for it; else only its words are read.
  bool isAssembled() const { return chip_.isAssembled; }
  bool has(Capability capability) const { return chip_.capabilities.has(capability); }
  /// Everything that the row says.
  const Chip& chip() const { return chip_; }

  // --- words
  WordFormat words() const { return chip_.words; }
  std::uint16_t instructions() const { return chip_.instructions; } ///< its bit in InstrDesc::sms

  // --- ELF
  std::uint32_t elfFlags() const { return chip_.cubin.elfFlags; }

  // --- constant bank 0, byte offsets
  const ConstantBank& bank0() const { return *chip_.bank0; }
  std::uint32_t paramBase() const { return bank0().params; }
  /// With Capability::ClusterRecords: the word is at this offset less kRecordBytes * SR_CgaSize (observed).
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
  /// 64 bits, the descriptor of plain global accesses; none before sm_80.
  std::optional<std::uint32_t> globalDescriptorOffset() const {
    if (!has(Capability::MemoryDescriptors)) return std::nullopt;
    return bank0().globalDescriptor;
  }
  std::uint32_t textureTableOffset() const { return bank0().textureTable; }
  std::uint32_t samplerTableOffset() const { return bank0().samplerTable; }
  std::uint32_t surfaceTableOffset() const { return bank0().surfaceTable; }

  // --- shared memory
  /// What is sized at launch begins at a multiple of this at least, behind the rest (observed: the size of .nv.shared).
  static constexpr std::uint32_t kDynamicSharedAlignment = 16;
  /// First shared address that belongs to the program; what lies below is the system's.
  std::uint32_t sharedBase() const { return chip_.sharedBase; }
  std::uint32_t maxStaticShared() const { return 48 * 1024; }
  std::uint32_t maxConstantBank() const { return 64 * 1024; }
  std::uint32_t maxSharedPerBlock() const { return chip_.occupancy.sharedPerBlock; } ///< dynamic memory included

  // --- registers
  /// How many registers of a file a program can name, the zero or true register not counted.
  unsigned registerCount(File file) const;
  /// Counted on top of the highest R used: the hardware keeps the program counter there.
  unsigned reservedRegisters() const { return 2; }
  unsigned maxRegistersPerThread() const { return 255; }

  // --- textures
  /// Where in a word that names both the sampler's number stands, above the texture's.
  static constexpr unsigned kSamplerShift = 20;
  /// Of a handle, what counts the entries of the tables.
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
  /// The most registers per thread with which `warps` warps still fit on a multiprocessor; 0 when they never do.
  unsigned registersForWarps(unsigned warps) const;

  // --- latencies; cycles are counted from issue to issue
  /// The result arrives at a time nobody knows; a scoreboard tells.
  bool isScoreboarded(LatencyClass latencyClass) const;
  /// Least distance from a write to a read of the same register of `file`. After a scoreboarded writer it is the
  /// distance to the instruction that waits for the scoreboard.
  Latency rawLatency(File file, Access writer, Access reader) const;
  /// From a write to another write, of a register that nobody read in between.
  Latency wawLatency(File file, Access first, Access second) const;
  /// From a read at issue to a write. Late reads (SlotDesc::readLate) need a scoreboard instead.
  Latency warLatency(File file, Access reader, Access writer) const;
  /// The least stall count of an instruction, whatever follows.
  unsigned minStall(LatencyClass latencyClass) const;
  /// Instructions with the same pipe compete for it; 0 = for none.
  unsigned pipe(LatencyClass latencyClass) const;
  /// Cycles until the pipe takes the next instruction.
  unsigned issueCycles(LatencyClass latencyClass) const;
  /// For schedulers: what a result of this class usually takes; exact for classes of fixed latency.
  unsigned expectedLatency(LatencyClass latencyClass) const;
  /// No fixed latency is longer.
  unsigned maxFixedLatency() const;
  /// Units that complete in program order: waiting for an instruction is waiting for all earlier ones with the same
  /// queue. 0 = in no particular order.
  unsigned completionQueue(LatencyClass latencyClass) const;
  /// The same for reading late sources.
  unsigned readQueue(LatencyClass latencyClass) const;
  unsigned scoreboardCount() const { return 6; }
  /// Cycles from the issue of an instruction until its scoreboards are seen as taken.
  unsigned scoreboardDelay() const { return 2; }
  unsigned maxStall() const { return 15; }

  explicit Target(const Chip& chip) : chip_(chip) {}

 private:
  const LatencyTables& latencies() const;
  const Chip& chip_;
};

} // namespace orias::isa
