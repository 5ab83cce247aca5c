#pragma once

#include "frontend/lower/function_lowering.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace orias::ptx {

/// Coordinates of a geometry, as PTX lists them, and the number that the instruction has for it.
struct Geometry {
  unsigned coordinates;
  int texture, surface; ///< -1: there is none
  bool isArray, isCube;
  bool hasSamples = false; ///< PTX lists the sample first, which is none of the coordinates
};
std::optional<Geometry> geometryOf(const Form& form);

/// Coordinates in the order of PTX, a layer as an unsigned number.
std::vector<Value> coordinatesOf(FunctionLowering& f, const Operand& operand, Type type, const Geometry& geometry);

/// Values side by side in registers.
isa::Operand joined(FunctionLowering& f, std::span<const Value> values);

/// The bank of a constant and the number of its word there, as instructions name a texture by them.
std::array<isa::Operand, 2> constantWord(FunctionLowering& f, const isa::Operand& constant);

/// The instruction for each way of naming what it works on: by a uniform register (sm_90), and before by a word of
/// constant memory or a register.
struct NamedOps {
  IsaOp byUniform, byConstant, byRegister;
};

/// The handle of a texture or surface, and how the chip's instructions take it.
class TextureName {
 public:
  /// The handle that the operand gives, alone or in brackets; nothing, and an error, where it is none.
  static std::optional<TextureName> of(FunctionLowering& f, const Operand& operand);

  /// The handle's two words.
  std::array<Value, 2> words() const { return {handle_, high_}; }

  /// Emits the instruction of a surface: `operands`, then what names it.
  void emitSurface(FunctionLowering& f, const NamedOps& ops, std::vector<isa::Operand> operands,
                   std::span<const isa::ModValue> mods) const;

  /// Where a register with the handle stands, if there is one.
  enum class Place : std::uint8_t { BeforeFirst, BeforeSecond };
  /// Two operands of several registers. Some instructions have no second one; it may also be empty.
  struct Runs {
    std::vector<Value> first;
    std::optional<std::vector<Value>> second;
  };
  /// Emits the instruction of a texture: `results`, then the runs, then what names it.
  void emitTexture(FunctionLowering& f, const NamedOps& ops, std::vector<isa::Operand> results, Runs runs, Place place,
                   std::span<const isa::ModValue> mods) const;

 private:
  TextureName(Value low, Value high) : handle_(low), high_(high) {}

  Value handle_; ///< its low word: a constant of the kernel, or a register
  Value high_;
};

} // namespace orias::ptx
