#pragma once

#include "encoder/isa/mods.h"
#include "frontend/instr_form.h"

// Maps modifiers of PTX to those of the instruction table.

namespace orias::ptx {

inline isa::Rnd rounding(const Form& form) {
  switch (form.rounding()) {
  case Mod::Rz: return isa::Rnd::RZ;
  case Mod::Rm: return isa::Rnd::RM;
  case Mod::Rp: return isa::Rnd::RP;
  default: return isa::Rnd::RN;
  }
}

/// Rounding to an integral value.
inline isa::RoundInt integralRounding(const Form& form) {
  switch (form.rounding()) {
  case Mod::Rzi: return isa::RoundInt::Trunc;
  case Mod::Rmi: return isa::RoundInt::Floor;
  case Mod::Rpi: return isa::RoundInt::Ceil;
  default: return isa::RoundInt::Round;
  }
}

/// The operation of an atomic.
inline isa::AtomOp atomOp(Mod action) {
  switch (action) {
  case Mod::Min: return isa::AtomOp::MIN;
  case Mod::Max: return isa::AtomOp::MAX;
  case Mod::Inc: return isa::AtomOp::INC;
  case Mod::Dec: return isa::AtomOp::DEC;
  case Mod::And: return isa::AtomOp::AND;
  case Mod::Or: return isa::AtomOp::OR;
  case Mod::Xor: return isa::AtomOp::XOR;
  case Mod::Exch: return isa::AtomOp::EXCH;
  default: return isa::AtomOp::ADD;
  }
}

/// The precision of a macro.
inline isa::MacroKind macroKind(const Form& form) {
  switch (form.rounding()) {
  case Mod::Rz: return isa::MacroKind::RZ;
  case Mod::Rm: return isa::MacroKind::RM;
  case Mod::Rp: return isa::MacroKind::RP;
  case Mod::Approx: return isa::MacroKind::Approx;
  case Mod::Full: return isa::MacroKind::Full;
  default: return isa::MacroKind::RN;
  }
}

} // namespace orias::ptx
