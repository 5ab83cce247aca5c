#pragma once

#include "frontend/instr_form.h"
#include "frontend/instr_table.h"
#include "frontend/module.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The rows of the instruction table in a form for matching: parses the notation of instr_table.h.

namespace orias::ptx {

/// One component of an opcode after the operation: a modifier, a type or a matrix shape.
class Word {
 public:
  constexpr Word() = default;
  constexpr Word(Mod mod) : code_(static_cast<std::uint32_t>(mod)) {}
  constexpr Word(Type type) : code_(kTypeBit | static_cast<std::uint32_t>(type)) {}
  constexpr Word(MatrixShape s) : code_(kShapeBit | s.m << 20 | s.n << 10 | s.k) {}

  /// Not the name of any modifier, type or shape.
  constexpr bool isUnknown() const { return code_ == 0; }
  constexpr bool isType() const { return (code_ & (kShapeBit | kTypeBit)) == kTypeBit; }
  constexpr bool isShape() const { return code_ & kShapeBit; }
  constexpr bool isMod() const { return !isUnknown() && !isType() && !isShape(); }
  constexpr Mod mod() const { return static_cast<Mod>(code_); }
  constexpr Type type() const { return static_cast<Type>(code_ & 0xff); }
  constexpr MatrixShape shape() const {
    return {static_cast<std::uint16_t>(code_ >> 20 & 0x3ff), static_cast<std::uint16_t>(code_ >> 10 & 0x3ff),
            static_cast<std::uint16_t>(code_ & 0x3ff)};
  }
  friend constexpr bool operator==(Word, Word) = default;

 private:
  static constexpr std::uint32_t kShapeBit = 1u << 31;
  static constexpr std::uint32_t kTypeBit = 1u << 30;
  std::uint32_t code_ = 0;
};

/// From the text without the dot.
Word wordFromText(std::string_view text);
std::string wordText(Word word);
/// The modifier's own slot.
Slot slotOf(Mod mod);

/// One `.x`, `{.x}`, `.(x|y)` or named set of a row.
struct ModGroup {
  std::vector<Word> words;
  Slot slot = Slot::Flag;
  bool slotGiven = false; ///< by the named set; otherwise each modifier's own
  bool optional = false;

  bool contains(Word word) const;
};

/// The lowest `.version` and `.target`.
struct Since {
  Version version;
  std::uint16_t sm = 0;
  std::vector<Arch> only; ///< architecture-specific targets, one of which is required
};

/// The kind of an operand.
enum class Want : std::uint8_t {
  Value, ///< a register or constant, or a vector of them
  Pair,  ///< `d|p`; with `pairOptional` also `d`
  Address,
  Label,
  Call,    ///< everything else is checked by check_instr_call.cpp
  Targets, ///< a `.branchtargets` list
  Texture, ///< `[tex, coordinates]`, `[tex, sampler, coordinates]`
  Surface, ///< `[surf, coordinates]`
  TexRef,  ///< `[tex]`
  SurfRef, ///< `[surf]`
  Tensor,  ///< `[map, coordinates]`
};

struct OperandSpec {
  std::string_view name;
  Want want = Want::Value;
  bool dest : 1 = false;
  bool relaxed : 1 = false;
  bool negatable : 1 = false;
  bool minus : 1 = false;
  bool registerOnly : 1 = false;
  bool constantOnly : 1 = false;
  bool special : 1 = false;
  bool symbol : 1 = false;
  bool selector : 1 = false;
  bool optional : 1 = false;
  bool pairOptional : 1 = false;
  bool anyType : 1 = false;
  bool sink : 1 = false;     ///< a destination that may be `_`
  bool onlySink : 1 = false; ///< `_` and nothing else

  /// The type: `fixedType`, or the opcode's type number `typeIndex`, doubled if `wide`.
  Type fixedType = Type::None;
  std::uint8_t typeIndex = 0;
  bool wide = false;

  enum class Count : std::uint8_t {
    Scalar,
    Fixed,
    Any,
    VectorSlot,
    CountSlot,
    TensorMemory,
    Geometry,    ///< for a texture: gradients and offsets
    Im2col,      ///< offsets of an image
    OutputLanes, ///< for tcgen05.mma
    FragmentA,
    FragmentB,
    FragmentC,
    FragmentD
  };
  Count countFrom = Count::Scalar;
  std::uint16_t count = 0; ///< elements; 0: a scalar; kAnyCount: a vector of any size, or a scalar
  static constexpr std::uint16_t kAnyCount = 0xffff;

  Mod onlyWith = Mod::None;

  /// Address: None means any space (generic).
  enum class SpaceFrom : std::uint8_t { First, Second, Fixed, TensorMemory };
  SpaceFrom spaceFrom = SpaceFrom::First;
  Mod space = Mod::None;

  bool bounded = false;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t step = 1;
  std::vector<std::int64_t> values; ///< instead of bounds
};

using OperandPattern = std::vector<OperandSpec>;

/// A row of the table.
struct RowSyntax {
  const Row* row = nullptr;
  Op op = Op::None;
  std::vector<ModGroup> groups;
  std::vector<OperandPattern> patterns;
  Since since;
  std::vector<Since> patternSince; ///< the requirements of each of `patterns`; empty: all require `since`
};

struct OpPrefix {
  Op op = Op::None;
  std::size_t length = 0; ///< number of characters in the opcode
};

/// The operations that an opcode (or a row's opcode) begins with, longest first.
std::vector<OpPrefix> operationsOf(std::string_view opcode);

/// Parses a row. A mistake in the table is an InternalError.
RowSyntax parseRow(const Row& row);

/// The requirements of a modifier or type of an operation beyond those of its row.
Since wordSince(Op op, Word word);

} // namespace orias::ptx
