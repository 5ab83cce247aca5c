#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace orias::isa {

// The names of the operand slots of all rows, as in the literature.
// clang-format off
#define ORIAS_SLOTS(X)                                                                                               \
  X(Ba) X(Bd) X(Pp) X(Pq) X(Pr) X(Pu) X(Pv) X(Ra) X(Rb) X(Rb2) X(Rc) X(Rd) X(Rd2) X(Re) X(Rp) X(Rs) X(Rsa)           \
  X(Rsb) X(Rx) X(Ry) X(UPp) X(UPq) X(UPr) X(UPu) X(UPv) X(URa) X(URb) X(URc) X(URd) X(URi) X(URm) X(URs) X(URt)      \
  X(again) X(bank) X(callee) X(code) X(constant) X(count) X(desc) X(gsb) X(half) X(high) X(id) X(idCount)            \
  X(index) X(low) X(lut) X(lut2) X(mask) X(number) X(offset) X(others) X(quad) X(sb) X(scale) X(scales)              \
  X(selector) X(sharedOffset) X(shift) X(sign) X(sr) X(symbol) X(target)
// clang-format on

enum class SlotId : std::uint8_t {
#define ORIAS_SLOT(name) name,
  ORIAS_SLOTS(ORIAS_SLOT)
#undef ORIAS_SLOT
};

/// The slot with this name. In a row, an unknown name is a compile error.
constexpr SlotId slotIdOf(std::string_view name) {
#define ORIAS_SLOT(slot)                                                                                               \
  if (name == #slot) return SlotId::slot;
  ORIAS_SLOTS(ORIAS_SLOT)
#undef ORIAS_SLOT
  throw std::invalid_argument("unknown operand slot");
}

} // namespace orias::isa
