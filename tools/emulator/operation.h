#pragma once

#include "encoder/isa/effects.h"
#include "encoder/isa/semantics/semantics.h"
#include "tools/emulator/constants.h"
#include "tools/emulator/program.h"

#include <array>
#include <vector>

namespace orias::emu {

class Machine;

/// The kind of register that a word of an operand comes from.
enum class From : std::uint8_t { Lane, Predicate, Uniform, UniformPredicate };

/// One 32-bit register (or predicate) that an instruction reads, and the word of the slot that it goes to.
struct Read {
  std::uint8_t slot = 0, word = 0;
  From from = From::Lane;
  isa::Access::Port port = isa::Access::Port::Main;
  bool isLate = false;
  std::uint32_t row = 0;
};

/// One register that an instruction writes.
struct Write {
  std::uint8_t slot = 0, word = 0;
  From to = From::Lane;
  isa::Access::Port port = isa::Access::Port::Main;
  std::uint32_t row = 0;
};

/// The maximum number of registers that an instruction reads: STTM.x128 with an address, and more.
inline constexpr std::size_t kMaxReads = 136;

/// A decoded instruction, ready to execute: registers are rows, constants are values, the handler is known.
struct Operation {
  using Handler = void (Machine::*)(const Operation& op, std::uint32_t lanes);

  isa::Inst inst;
  Handler handler = nullptr;
  isa::LaneFunction lane = nullptr;
  isa::WarpFunction warp = nullptr;
  bool isFlow = false;    ///< the handler sets the program counter, and is also called with no lanes
  bool isUniform = false; ///< executes once, under a uniform guard
  bool isUnknown = false;
  bool startsBlock = false;

  From guardFrom = From::Predicate;
  bool guardIsInverted = false;
  bool isGuarded = false;
  bool leavesRestUndefined = false; ///< where the guard is false, the results are undefined
  std::uint32_t guardRow = 0;

  std::uint8_t readCount = 0, writeCount = 0;
  std::vector<Read> reads;                                 ///< `readCount` of them
  std::vector<Write> writes;                               ///< `writeCount` of them
  std::array<std::int8_t, isa::kMaxOperands> firstRead{};  ///< by slot: index into `reads`, or -1
  std::array<std::int8_t, isa::kMaxOperands> firstWrite{}; ///< by slot: index into `writes`, or -1
  isa::LaneValues preset{};                                ///< immediates and constants

  // What handlers of memory and control instructions require.
  std::int8_t base = -1, uniform = -1, data = -1, data2 = -1, result = -1, predicate = -1; ///< slots
  std::uint8_t size = 0;                                                                   ///< bytes of an access
  std::uint8_t scale = 0;                                                                  ///< of the base, as a shift
  bool isSigned = false;                                                                   ///< of a load
  bool isWideAddress = false;                                                              ///< 64 bits
  bool isIndexed = false; ///< ... with a 32-bit register
  bool isStrong = false; ///< no race with atomics: STRONG, or a load whose value a later compare-and-swap compares with
  std::int32_t offset = 0;
  std::uint32_t target = 0;  ///< of a branch: index into the code
  std::uint32_t barrier = 0; ///< row of a convergence barrier
  std::int32_t phis = -1;
  std::int32_t targets = -1;
  std::uint32_t block = 0;
  std::uint32_t quadLanes = ~0u; ///< MOV: the lanes of each quad that the mask enables
};

/// The operations of a program for one launch.
class Code {
 public:
  Code(const Program& program, const Constants& constants);
  const Operation& operator[](std::size_t index) const { return operations_[index]; }
  std::size_t size() const { return operations_.size(); }
  /// Rows of each file that the code uses.
  const std::array<std::uint32_t, isa::kFileCount>& rows() const { return rows_; }
  bool hasPhis() const { return hasPhis_; }

  /// The rows and constants of an operand of a phi or a copy.
  struct Place {
    bool isRegister = false;
    isa::File file{};
    std::uint32_t row = 0;
    bool isZero = false; ///< a zero or true register
    std::uint64_t constant = 0;
  };
  Place place(const isa::Operand& operand) const;

 private:
  void bind(const Instruction& from, Operation& to);
  void bindSlot(Operation& to, unsigned slot);
  void addRead(Operation& to, unsigned slot, const isa::Operand& operand, unsigned width, bool isLate);
  void findAtomics();

  const Program& program_;
  const Constants& constants_;
  std::vector<Operation> operations_;
  std::array<std::uint32_t, isa::kFileCount> rows_{};
  bool hasPhis_ = false;
};

/// The machine's handler of an instruction without a lane or warp function; null if it is not modeled.
Operation::Handler handlerOf(isa::Op op);
/// Whether it determines where the lanes continue.
bool isFlow(isa::Op op);

} // namespace orias::emu
