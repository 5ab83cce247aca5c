#pragma once

#include "frontend/instr_form.h"

#include <string_view>

namespace orias::ptx {

/// The base words of opcodes that may have a state space or a generic address.
inline constexpr std::string_view kAccessWords[] = {"ld", "st", "atom", "red", "prefetch", "wmma"};

/// The index of the address operand of an operation that may be generic; -1 for other operations.
inline int genericAddressOperand(const Form& form) {
  if (form.get(Slot::Space) != Mod::None) return -1;
  switch (form.op) {
  case Op::Ld:
  case Op::Atom:
  case Op::WmmaLoad: return 1;
  case Op::St:
  case Op::Red:
  case Op::Prefetch:
  case Op::WmmaStore: return 0;
  default: return -1;
  }
}

} // namespace orias::ptx
