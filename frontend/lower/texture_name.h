#pragma once

#include "frontend/lower/function_lowering.h"
#include "frontend/lower/uniform_loop.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace orias::ptx {

/// The coordinates of a geometry, as PTX lists them, and its number in the instruction.
struct Geometry {
  unsigned coordinates;
  int texture, surface; ///< -1: there is none
  bool isArray, isCube;
  bool hasSamples = false; ///< PTX lists the sample first; it is not a coordinate
};
std::optional<Geometry> geometryOf(const Form& form);

/// Coordinates in the order of PTX, a layer as an unsigned number.
std::vector<Value> coordinatesOf(FunctionLowering& f, const Operand& operand, Type type, const Geometry& geometry);

/// Values packed into consecutive registers.
isa::Operand joined(FunctionLowering& f, std::span<const Value> values);

/// The bank of a constant and the index of its word, by which instructions identify a texture.
std::array<isa::Operand, 2> constantWord(FunctionLowering& f, const isa::Operand& constant);

/// The instruction for each way to refer to the object: by a uniform register (sm_90), or on older chips by a word of
/// constant memory or a register.
struct NamedOps {
  IsaOp byUniform, byConstant, byRegister;
};

/// The handle of a texture, sampler or surface in an operand, with or without brackets.
struct Handle {
  Value low, high;         ///< the low word is a constant of the kernel, or a register
  bool isUniform = false;  ///< the same in all lanes
  bool hasSampler = false; ///< the index of a sampler is in the upper bits of the low word

  /// Returns nothing, and reports an error, if the operand is not a handle.
  static std::optional<Handle> of(FunctionLowering& f, const Operand& operand);
};

/// How instructions of the target take the handle of a surface or a texture, with that of its sampler if
/// separate.
class TextureName {
 public:
  static std::optional<TextureName> of(FunctionLowering& f, const Operand& operand);
  static std::optional<TextureName> of(FunctionLowering& f, const Operand& texture, const Operand& sampler);
  /// The operand in brackets before the coordinates.
  static std::optional<TextureName> ofBracket(FunctionLowering& f, std::span<const Operand> parts) {
    return parts.size() == 3 ? of(f, parts[0], parts[1]) : of(f, parts[0]);
  }

  /// The combined handle in one word, before sm_90.
  const Value& word() const { return texture_.low; }
  /// The words of the handles, as functions take them: two, or four with a sampler's.
  std::vector<Value> words() const;
  bool hasSampler() const { return sampler_.has_value(); } ///< the sampler has a handle of its own

  /// Emits the instruction of a surface: `operands`, then the operands of the name.
  void emitSurface(FunctionLowering& f, const NamedOps& ops, std::vector<isa::Operand> operands,
                   std::span<const isa::ModValue> mods) const;

  /// The position of the register with the handle, if there is one.
  enum class Place : std::uint8_t { BeforeFirst, BeforeSecond };
  /// Two operands of several registers. Some instructions have no second one; it may also be empty.
  struct Runs {
    std::vector<Value> first;
    std::optional<std::vector<Value>> second;
  };
  /// Emits the instruction of a texture: `results`, then the runs, then the operands of the name.
  void emitTexture(FunctionLowering& f, const NamedOps& ops, std::vector<isa::Operand> results, Runs runs, Place place,
                   std::span<const isa::ModValue> mods) const;

 private:
  explicit TextureName(Handle texture) : texture_(texture) {}
  /// A uniform register with the word.
  static UniformWord uniformWord(FunctionLowering& f, const isa::Operand& to, const Handle& handle);

  Handle texture_;
  std::optional<Handle> sampler_; ///< separate; none if one word has both handles
};

} // namespace orias::ptx
