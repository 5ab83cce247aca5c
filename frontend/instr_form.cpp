#include "frontend/instr_form.h"

#include "support/check.h"

namespace orias::ptx {

namespace {

constexpr std::string_view kOpNames[] = {
    "",
#define PTX_OP(name, text) text,
#define PTX_ALIAS(name, text)
#include "frontend/instr_ops.def"
};

constexpr std::string_view kModNames[] = {
    "",
#define PTX_MOD(name, text, slot) text,
#include "frontend/instr_modifiers.def"
};

} // namespace

std::string_view opName(Op op) {
  return kOpNames[static_cast<std::size_t>(op)];
}

std::string_view modName(Mod mod) {
  return kModNames[static_cast<std::size_t>(mod)];
}

unsigned Form::vectorSize() const {
  switch (get(Slot::Vector)) {
  case Mod::V2: return 2;
  case Mod::V4: return 4;
  case Mod::V8: return 8;
  default: return 1;
  }
}

StateSpace Form::stateSpaceOf(Mod mod) {
  switch (mod) {
  case Mod::Const: return StateSpace::Const;
  case Mod::Global: return StateSpace::Global;
  case Mod::Local: return StateSpace::Local;
  case Mod::Param:
  case Mod::ParamEntry:
  case Mod::ParamFunc: return StateSpace::Param;
  case Mod::Shared:
  case Mod::SharedCta:
  case Mod::SharedCluster: return StateSpace::Shared;
  default: return StateSpace::None;
  }
}

void Form::replace(Mod mod, Slot slot) {
  Mod& held = slots_[static_cast<std::size_t>(slot)];
  if (held != Mod::None) set_.reset(static_cast<std::size_t>(held));
  held = mod;
  set_.set(static_cast<std::size_t>(mod));
}

void Form::add(Mod mod, Slot slot) {
  set_.set(static_cast<std::size_t>(mod));
  if (slot == Slot::Flag) return;
  // If an opcode can have two of a kind, the second has its own slot.
  auto taken = [&](Slot s) { return get(s) != Mod::None; };
  if (taken(slot)) {
    switch (slot) {
    case Slot::Space: slot = Slot::Space2; break;
    case Slot::Layout: slot = Slot::LayoutB; break;
    case Slot::Format: slot = Slot::Format2; break;
    case Slot::EvictL2: slot = Slot::EvictL2Second; break;
    default: break;
    }
  }
  ORIAS_CHECK(!taken(slot), std::string("two modifiers for one slot: ") + std::string(modName(mod)));
  slots_[static_cast<std::size_t>(slot)] = mod;
}

void Form::addType(Type type) {
  ORIAS_CHECK(typeCount_ < types_.size());
  types_[typeCount_++] = type;
}

} // namespace orias::ptx
