#pragma once

#include "support/ieee.h"
#include "tools/interpreter/handlers.h"

#include <optional>

// Common parts of the floating-point families: formats, modifiers, and a handler that applies an operation to every
// element of its operands.

namespace orias::interp {

/// The format of the elements of a type.
inline std::optional<ieee::Format> formatOf(ptx::Type type) {
  using ieee::Format;
  using ptx::Type;
  switch (type) {
  case Type::F16:
  case Type::F16x2: return Format::F16;
  case Type::BF16:
  case Type::BF16x2: return Format::BF16;
  case Type::F32:
  case Type::F32x2: return Format::F32;
  case Type::F64: return Format::F64;
  case Type::TF32: return Format::TF32;
  case Type::E4M3:
  case Type::E4M3x2:
  case Type::E4M3x4: return Format::E4M3;
  case Type::E5M2:
  case Type::E5M2x2:
  case Type::E5M2x4: return Format::E5M2;
  case Type::E2M1:
  case Type::E2M1x2:
  case Type::E2M1x4: return Format::E2M1;
  case Type::E2M3:
  case Type::E2M3x2:
  case Type::E2M3x4: return Format::E2M3;
  case Type::E3M2:
  case Type::E3M2x2:
  case Type::E3M2x4: return Format::E3M2;
  case Type::UE8M0:
  case Type::UE8M0x2: return Format::UE8M0;
  default: return std::nullopt;
  }
}

/// To nearest even if the opcode does not say.
inline ieee::Rounding roundingOf(ptx::Mod mod) {
  using ieee::Rounding;
  using ptx::Mod;
  switch (mod) {
  case Mod::Rz:
  case Mod::Rzi: return Rounding::TowardZero;
  case Mod::Rm:
  case Mod::Rmi: return Rounding::Down;
  case Mod::Rp:
  case Mod::Rpi: return Rounding::Up;
  case Mod::Rna: return Rounding::NearestAway;
  default: return Rounding::NearestEven;
  }
}

/// Inst::option of floating-point instructions.
struct FloatMode {
  ieee::Rounding rounding = ieee::Rounding::NearestEven;
  bool ftz = false, sat = false, relu = false, nan = false, xorsign = false;

  static FloatMode of(const ptx::Form& f) {
    using ptx::Mod;
    return {roundingOf(f.rounding()), f.ftz(), f.sat(), f.has(Mod::Relu), f.has(Mod::NaN), f.has(Mod::Xorsign)};
  }
  static FloatMode unpack(std::uint16_t option) {
    const auto bit = [&](unsigned i) { return (option >> i & 1) != 0; };
    return {static_cast<ieee::Rounding>(option & 7), bit(3), bit(4), bit(5), bit(6), bit(7)};
  }
  std::uint16_t pack() const {
    auto option = static_cast<unsigned>(rounding);
    unsigned at = 3;
    for (bool flag : {ftz, sat, relu, nan, xorsign})
      option |= static_cast<unsigned>(flag) << at++;
    return static_cast<std::uint16_t>(option);
  }

  /// Finishes a result: .ftz, .sat, .relu.
  ieee::Bits finish(ieee::Format format, ieee::Bits value) const {
    if (ftz) value = ieee::flush(format, value);
    if (sat) value = ieee::saturate(format, value);
    if (relu) value = ieee::maximum(format, value, 0, true);
    return value;
  }
};

template <ieee::Format F>
inline constexpr unsigned kFloatBits = F == ieee::Format::F64   ? 64
                                       : F == ieee::Format::F32 ? 32
                                                                : 16;
template <ieee::Format F> inline constexpr ieee::Bits kFloatMask = ~ieee::Bits{0} >> (64 - kFloatBits<F>);
template <ieee::Format F> inline constexpr ieee::Bits kFloatSign = ieee::Bits{1} << (kFloatBits<F> - 1);

/// An operation has `static Bits apply<Format>(Bits a, Bits b, Bits c, const FloatMode&)`, and ignores operands that it
/// does not have. With .ftz its operands are already flushed.
template <typename Op, ieee::Format F, unsigned Count> void floatElements(Thread& t, const Inst& i) {
  const FloatMode mode = FloatMode::unpack(i.option);
  ieee::Bits result = 0;
  for (unsigned k = 0; k < Count; ++k) {
    const unsigned shift = k * kFloatBits<F>;
    const auto element = [&](std::uint32_t slot) {
      const ieee::Bits bits = t.r[slot] >> shift & kFloatMask<F>;
      return mode.ftz ? ieee::flush(F, bits) : bits;
    };
    const ieee::Bits exact = Op::template apply<F>(element(i.a), element(i.b), element(i.c), mode);
    result |= mode.finish(F, exact) << shift;
  }
  t.r[i.d] = result;
}

template <typename Op> Handler floatHandler(ptx::Type type) {
  using ieee::Format;
  using ptx::Type;
  switch (type) {
  case Type::F32: return &floatElements<Op, Format::F32, 1>;
  case Type::F32x2: return &floatElements<Op, Format::F32, 2>;
  case Type::F64: return &floatElements<Op, Format::F64, 1>;
  case Type::F16: return &floatElements<Op, Format::F16, 1>;
  case Type::F16x2: return &floatElements<Op, Format::F16, 2>;
  case Type::BF16: return &floatElements<Op, Format::BF16, 1>;
  case Type::BF16x2: return &floatElements<Op, Format::BF16, 2>;
  default: return nullptr;
  }
}

/// Emits a floating-point handler with sources of the opcode's type.
inline bool emitFloat(FunctionTranslator& t, Handler handler, unsigned sources) {
  const ptx::Type type = t.form().type();
  // Sums of mixed precision have two types.
  if (t.operandCount() != sources + 1 || t.form().typeCount() != 1) return false;
  const bool done = sources == 1   ? emitWith(t, handler, {type})
                    : sources == 2 ? emitWith(t, handler, {type, type})
                                   : emitWith(t, handler, {type, type, type});
  if (done) t.code().insts.back().option = FloatMode::of(t.form()).pack();
  return done;
}

} // namespace orias::interp
