#pragma once

// Everything that depends on the chip. Nobody else compares SM numbers.

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

/// The data files of encoder/isa/latency.
enum class LatencyModel : std::uint8_t { Sm75, Sm80, Sm90 };

/// On chips with Target::needsBarrierSetup: the uniform register that tells whether it has been done (observed).
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
  /// All supported chips, oldest first.
  static std::span<const Target> all();
  /// `sm_90a`, `compute_80`, ... ; null when unknown. `lto_` and `+PTX` forms are not names of chips.
  static std::optional<ArchName> parse(std::string_view arch);
  /// As parse(), for real names only: for tests and tools.
  static const Target* find(std::string_view smName);

  std::string_view name() const { return facts_.name; }               ///< "sm_90a"
  std::string_view virtualName() const { return facts_.virtualName; } ///< "compute_90a"
  unsigned smVersion() const { return facts_.smVersion; }             ///< 90
  /// The `a` suffix: features of this chip only (wgmma, setmaxnreg, ...).
  bool isArchSpecific() const { return facts_.archSpecific; }
  unsigned ptxIsaMinimum() const { return facts_.ptxIsa; } ///< lowest `.version` that knows the chip, 78 = 7.8

  // --- ELF
  std::uint32_t elfFlags() const { return facts_.elfFlags; }

  // --- shared memory
  /// What is sized at launch begins at a multiple of this at least, behind the rest (observed: the size of .nv.shared).
  static constexpr std::uint32_t kDynamicSharedAlignment = 16;

  // --- constant bank 0, byte offsets
  std::uint32_t paramBase() const { return facts_.paramBase; }
  std::uint32_t maxParamBytes() const { return 32764; }
  std::uint32_t ntidOffset(unsigned axis) const { return 4 * axis; }
  std::uint32_t nctaidOffset(unsigned axis) const { return 0x0c + 4 * axis; }
  std::uint32_t sharedWindowOffset() const { return 0x18; } ///< 64 bits: generic address of shared address 0
  std::uint32_t localWindowOffset() const { return 0x20; }  ///< 64 bits: generic address of local address 0
  /// 64 bits: generic address of constant bank 3 (observed: cvta.const).
  std::uint32_t constWindowOffset() const { return facts_.smVersion >= 90 ? 0xd0 : 0x50; }
  std::uint32_t stackPointerOffset() const { return 0x28; }
  std::uint32_t dynamicSharedSizeOffset() const { return 0x2c; }
  std::uint32_t totalSharedSizeOffset() const { return 0x114; }
  /// 64 bits, the descriptor of plain global accesses; none before sm_80.
  std::optional<std::uint32_t> globalDescriptorOffset() const {
    if (facts_.globalDescriptor == 0) return std::nullopt;
    return facts_.globalDescriptor;
  }

  // --- shared memory
  /// First shared address that belongs to the program; what lies below is the system's.
  std::uint32_t sharedBase() const { return facts_.sharedBase; }
  /// CTAs may come in clusters, which fences have to know.
  bool hasClusters() const { return facts_.smVersion >= 90; }
  std::uint32_t maxStaticShared() const { return 48 * 1024; }
  std::uint32_t maxConstantBank() const { return 64 * 1024; }
  std::uint32_t maxSharedPerBlock() const { return facts_.maxSharedPerBlock; } ///< dynamic memory included

  // --- registers
  /// How many registers of a file a program can name, the zero or true register not counted.
  unsigned registerCount(File file) const;
  /// Counted on top of the highest R used: the hardware keeps the program counter there.
  unsigned reservedRegisters() const { return 2; }
  unsigned maxRegistersPerThread() const { return 255; }
  bool hasUniformDatapath() const { return true; }
  /// Compare-and-swap takes RZ (observed: nvdisasm knows no such word of sm_75, and ptxas makes none).
  bool swapsZero() const { return facts_.smVersion >= 80; }
  /// ptxas empties a convergence barrier before each BSSY (observed on sm_75).
  bool needsEmptyBarriers() const { return facts_.smVersion < 80; }
  /// ptxas has each kernel set all convergence barriers up, unless UR2 tells that it has been done (observed on sm_87).
  bool needsBarrierSetup() const { return facts_.smVersion == 87; }
  /// VIMNMX stands for IMNMX (observed).
  bool hasVectorMinMax() const { return facts_.smVersion >= 90; }
  /// Textures and surfaces are named by uniform registers; before, by a register of each lane or a word of constant
  /// memory.
  bool hasUniformTextureNames() const { return facts_.smVersion >= 90; }
  /// Textures by derivatives that TXD does not take: the lanes of a quad take their turns (observed). From sm_90 on a
  /// function of the driver does it.
  bool hasQuadTextures() const { return facts_.smVersion < 90; }
  /// 64 bits: where the tables lie in which the driver describes textures and surfaces (observed: txq, suq).
  std::uint32_t textureTableOffset() const { return facts_.smVersion >= 90 ? 0xf0 : 0x70; }
  std::uint32_t samplerTableOffset() const { return facts_.smVersion >= 90 ? 0xf8 : 0x78; }
  std::uint32_t surfaceTableOffset() const { return facts_.smVersion >= 90 ? 0x100 : 0x80; }
  /// A texture and its sampler are named by one word, with the sampler's number above the texture's (observed); from
  /// sm_90 on by two.
  bool joinsSamplers() const { return facts_.smVersion < 90; }
  static constexpr unsigned kSamplerShift = 20;
  /// Of a handle, what counts the entries of those tables.
  std::uint32_t handleNumberMask() const { return facts_.smVersion >= 90 ? ~0u : 0xfffff; }
  /// I2FP, which converts integers in the integer pipe (observed).
  bool hasAluIntegerToFloat() const { return facts_.smVersion >= 86; }
  /// The memory instructions take `desc[UR]`.
  bool hasMemoryDescriptors() const { return facts_.globalDescriptor != 0; }

  // --- occupancy
  unsigned maxWarpsPerSm() const { return facts_.maxWarps; }
  unsigned maxBlocksPerSm() const { return facts_.maxBlocks; }
  unsigned registersPerSm() const { return 65536; }
  std::uint32_t sharedPerSm() const { return facts_.sharedPerSm; }
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

  /// What differs from chip to chip; filled from the table in target.cpp.
  struct Facts {
    std::string_view name, virtualName;
    unsigned smVersion;
    bool archSpecific;
    unsigned ptxIsa;
    std::uint32_t elfFlags;
    std::uint32_t paramBase, globalDescriptor, sharedBase;
    unsigned maxWarps, maxBlocks;
    std::uint32_t sharedPerSm, maxSharedPerBlock, sharedReserved, sharedGranule;
    LatencyModel latencyModel;
  };
  explicit Target(const Facts& facts) : facts_(facts) {}

 private:
  const LatencyTables& latencies() const;
  Facts facts_;
};

} // namespace orias::isa
