#include "phases/narrow_loads.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "phases/memory_access.h"
#include "phases/split_components.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::MemSize;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// The words of a result that are used.
struct Part {
  unsigned first = 0, count = 0;
};

class LoadNarrower {
 public:
  LoadNarrower(ori::Function& function, PhaseContext& context) : function_(function), context_(context) {}

  bool run() {
    bool isChanged = false;
    for (ori::Block* block : function_.layout())
      for (Instr& instr : *block)
        if (mayBeNarrower(instr)) isChanged |= visit(instr);
    return isChanged;
  }

 private:
  static unsigned resultSlot(const Instr& load) { return isa::desc(load.op).slot(isa::SlotId::Rd); }

  bool mayBeNarrower(const Instr& instr) const {
    if (instr.op != Op::LDG && instr.op != Op::LDS && instr.op != Op::LDL && instr.op != Op::LD) return false;
    const ori::Operand& result = instr.op_(resultSlot(instr));
    if (!result.isReg(File::R) || !result.isVirtual() || result.width < 2) return false;
    const ori::VReg& reg = function_.vreg(result.reg);
    const auto size = isa::modAs<MemSize>(instr, Mod::Size);
    return result.isDef && reg.width == result.width && !reg.multiDef &&
           (size == MemSize::B64 || size == MemSize::B128) && result.width == (size == MemSize::B64 ? 2 : 4) &&
           !accessOf(instr).isOrdered;
  }

  /// The used part of a result; none if all words or no words are used.
  std::optional<Part> partRead(const ori::Operand& result) const {
    unsigned first = result.width, end = 0;
    function_.forEachUse(result.reg, [&](ori::Ref use) {
      first = std::min<unsigned>(first, use->sub);
      end = std::max<unsigned>(end, use->sub + use->width);
    });
    if (end <= first) return std::nullopt;
    if (end - first == 1) return Part{first, 1};
    const unsigned half = result.width / 2;
    if (half == 2 && (end <= half || first >= half)) return Part{first >= half ? half : 0, half};
    return std::nullopt;
  }

  bool visit(Instr& load) {
    const unsigned to = resultSlot(load);
    const ori::Operand& result = load.op_(to);
    const std::optional<Part> part = partRead(result);
    if (!part) return false;
    const int slot = isa::desc(load.op).slotIndex(isa::SlotId::offset);
    if (slot < 0) return false;
    const auto at = static_cast<unsigned>(slot);
    if (!load.op_(at).isImm() && !load.op_(at).isNone()) return false;
    constexpr unsigned kWordBytes = 4;
    const Operand offset = Operand::immediate(load.op_(at).imm + static_cast<std::int32_t>(kWordBytes * part->first));
    const ori::VRegId old = result.reg;
    const Operand fresh =
        function_.use(function_.newVReg(File::R, part->count, std::string_view(function_.vreg(old).name)));

    std::vector<Operand> operands;
    for (const ori::Operand& o : load.ops())
      operands.push_back(o.value());
    operands[to] = fresh;
    if (part->first != 0) operands[at] = offset;
    auto mods = load.mods;
    isa::setMod(load.op, mods, {Mod::Size, part->count == 1 ? MemSize::B32 : MemSize::B64});
    if (!isa::existsOn(function_.module().target(), load.op, mods) || !isa::fits(load.op, mods, operands)) return false;

    std::vector<Operand> words(result.width); // unused ones remain empty
    for (unsigned i = 0; i < part->count; ++i)
      words[part->first + i] = ori::component(fresh, i);
    function_.setOperand(&load, to, fresh);
    renameWords(function_, old, words);
    if (part->first != 0) function_.setOperand(&load, at, offset);
    load.mods = mods;
    function_.touch(&load);
    context_.remarks.applied(&load, fmt::format("load narrowed to the {} of its words that are read", part->count));
    return true;
  }

  ori::Function& function_;
  PhaseContext& context_;
};

} // namespace

bool narrowLoads(ori::Function& function, PhaseContext& context) {
  return LoadNarrower(function, context).run();
}

} // namespace orias::phases
