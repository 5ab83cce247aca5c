// The mask of a texture fetch selects the components that are returned, of four. They are packed: the first two into
// the registers of Rd, the others into those of Rd2.

#include "phases/texel_masks.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"

#include <array>
#include <bit>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Operand;
using ori::Instr;

namespace {

constexpr unsigned kComponents = 4;
constexpr unsigned kAllComponents = (1u << kComponents) - 1;

/// The result slots of a fetch of f32 or 32-bit integers.
struct TexelSlots {
  unsigned low, high;
};

std::optional<TexelSlots> texelSlots(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.pipe != isa::Pipe::Tex || row.modIndex(Mod::Mask) < 0 || instr.isGuarded()) return std::nullopt;
  if (row.modIndex(Mod::DstFmt) >= 0 && isa::getMod(instr.op, instr.mods, Mod::DstFmt) != 0) return std::nullopt;
  std::optional<unsigned> low, high;
  for (unsigned slot = 0; slot < row.slotCount; ++slot) {
    if (row.slots[slot].width == isa::WidthRule::TexLow) low = slot;
    if (row.slots[slot].width == isa::WidthRule::TexHigh) high = slot;
  }
  if (!low || !high) return std::nullopt;
  return TexelSlots{*low, *high};
}

/// The registers of a fetch of all components, and the uses of each.
struct Texel {
  Operand low, high;
  std::array<std::vector<ori::Ref>, kComponents> uses;

  unsigned usedMask() const {
    unsigned mask = 0;
    for (unsigned i = 0; i < kComponents; ++i)
      mask |= uses[i].empty() ? 0u : 1u << i;
    return mask;
  }
};

/// Nothing if a result is not a whole register with one definition, or if an instruction uses both of its components
/// together: these must stay adjacent.
std::optional<Texel> texelOf(const ori::Function& function, const Instr& instr, TexelSlots slots) {
  Texel texel{instr.op_(slots.low).value(), instr.op_(slots.high).value(), {}};
  for (const auto& [result, first] : {std::pair{texel.low, 0u}, std::pair{texel.high, 2u}}) {
    if (!result.isReg(File::R) || !result.isVirtual() || result.sub != 0 || result.width != 2) return std::nullopt;
    if (function.vreg(result.reg).width != 2 || function.vreg(result.reg).multiDef) return std::nullopt;
    for (const ori::Ref ref : function.refs(result.reg)) {
      if (ref->isDef ? ref.owner != &instr : ref->width != 1 || ref.isGuard()) return std::nullopt;
      if (!ref->isDef) texel.uses[first + ref->sub].push_back(ref);
    }
  }
  return texel;
}

bool narrow(ori::Function& function, Instr& instr) {
  const auto slots = texelSlots(instr);
  if (!slots || isa::getMod(instr.op, instr.mods, Mod::Mask) != kAllComponents) return false;
  const auto texel = texelOf(function, instr, *slots);
  const unsigned mask = texel ? texel->usedMask() : 0;
  if (mask == 0 || mask == kAllComponents) return false;
  const auto count = static_cast<unsigned>(std::popcount(mask));
  const auto newRegister = [&](unsigned width) { return function.use(function.newVReg(File::R, width)); };
  const Operand low = newRegister(count >= 2 ? 2 : 1), high = count == 3 ? newRegister(1) : Operand::rz();
  unsigned next = 0;
  for (const std::vector<ori::Ref>& uses : texel->uses) {
    if (uses.empty()) continue;
    const Operand component = next < 2 ? ori::component(low, next) : high;
    ++next;
    for (const ori::Ref use : uses) {
      Operand value = use->value();
      value.reg = component.reg;
      value.sub = component.sub;
      function.setOperand(use, value);
    }
  }
  isa::setMod(instr.op, instr.mods, {Mod::Mask, mask});
  function.setOperand(&instr, slots->low, low);
  function.setOperand(&instr, slots->high, high);
  return true;
}

} // namespace

bool narrowTexels(ori::Function& function) {
  bool isChanged = false;
  for (ori::Block* block : function.layout())
    for (Instr& instr : *block)
      isChanged |= narrow(function, instr);
  return isChanged;
}

} // namespace orias::phases
