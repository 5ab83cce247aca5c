#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/phases.h"
#include "phases/uniform/convergent_calls.h"
#include "phases/uniform/local_values.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

namespace orias::phases {

using isa::File;
using ori::Instr;
using ori::VRegId;

namespace {

/// The instructions whose reads of uniform registers are in the literature's table, by the first part of their
/// mnemonics: moves, sums, loads, functions, permutations, shifts, float multiply-adds, register counts, logic.
constexpr std::array<std::string_view, 12> kListed = {"MOV",  "IADD3", "LD",  "LDG",  "LDS",        "LDL",
                                                      "MUFU", "PRMT",  "SHF", "FFMA", "USETMAXREG", "LOP3"};

bool isListed(const Instr& instr) {
  const std::string_view mnemonic = isa::desc(instr.op).mnemonic;
  const std::string_view family = mnemonic.substr(0, mnemonic.find('.'));
  return std::find(kListed.begin(), kListed.end(), family) != kListed.end();
}

/// Other instructions require one when they are guarded.
bool requiresBoundary(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.isPseudo() || row.pipe == isa::Pipe::Uniform) return false; // instructions that run once per warp
  return isListed(instr) || instr.isGuarded();
}

class Inserter {
 public:
  Inserter(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        divergence_(function.analyses().divergence()) {}

  bool run() {
    inside_ = convergentRegions(function_, divergence_, context_);
    bool changed = false;
    for (ori::Block* block : function_.layout()) {
      if (!cfg_.isReachable(block->id)) continue;
      const bool isApart = !divergence_.isUniformBlock(block->id);
      held_.clear();
      function_.forEachSafe(*block, [&](Instr& instr) {
        const bool isInside = instr.id < inside_.size() && inside_[instr.id];
        if ((isApart || isInside) && requiresBoundary(instr)) changed |= holdFor(instr, isApart);
      });
    }
    return changed;
  }

 private:
  /// Inserts one CONV.ALLOC for each uniform register that the instruction reads and that was written before the
  /// boundary. One per register is enough in a block.
  bool holdFor(Instr& instr, bool isApart) {
    bool changed = false;
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      const ori::Operand& o = instr.op_(i);
      if (o.isDef || !o.isReg(File::UR) || !o.isVirtual()) continue;
      if (std::find(held_.begin(), held_.end(), o.reg) != held_.end()) continue;
      if (isApart && !isWrittenTogether(o.reg)) continue;
      held_.push_back(o.reg);
      ori::Builder b = ori::Builder::before(function_, &instr);
      b.setSource(instr.source);
      b.emit(isa::Op::CONV_ALLOC, {b.newUR(o.width), o.value()});
      if (context_.remarks.wanted())
        context_.remarks.applied(&instr, fmt::format("CONV.ALLOC: {} reads a uniform register across a boundary",
                                                     isa::desc(instr.op).mnemonic));
      changed = true;
    }
    return changed;
  }

  bool isWrittenTogether(VRegId v) {
    if (writtenTogether_.size() <= v) writtenTogether_.resize(function_.vregCount());
    std::optional<bool>& known = writtenTogether_[v];
    if (!known) {
      known = true;
      function_.forEachDef(v, [&](ori::Ref def) { *known &= divergence_.isUniformBlock(def.owner->block->id); });
    }
    return *known;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::Divergence& divergence_;
  std::vector<bool> inside_; // by instruction id: between the boundaries of a call
  std::vector<VRegId> held_; // in this block
  // By register. Finding the definitions takes time proportional to all uses, and some registers are used in each
  // block.
  std::vector<std::optional<bool>> writtenTogether_;
};

/// Whether there is anything to do. Most functions have neither uniform registers nor such calls, and need no analysis.
bool isConcerned(const ori::Function& function) {
  for (VRegId v = 0; v < function.vregCount(); ++v)
    if (function.vreg(v).file == File::UR && function.vreg(v).hasRefs()) return true;
  for (const ori::Block* block : function.layout())
    for (const Instr& instr : *block)
      if (allowsConvAlloc(instr)) return true;
  return false;
}

} // namespace

/// Phase 86. A uniform register that the whole warp wrote must keep its value until a part of the warp has read it,
/// however long the other part runs meanwhile. A CONV.ALLOC before the reader tells the allocator. It has no encoding;
/// phase 103 removes it. It is inserted at the instructions of the literature's table (kListed), and at guarded ones,
/// in blocks that lanes run diverged, and between the boundaries of calls that allow it (allowConvAlloc), which are
/// checked here (errors 7020, 7021). Where parts of a warp may run separately at any point, no uniform value is live
/// across blocks.
bool insertPseudoUseDefForConvUr(ori::Function& function, PhaseContext& context) {
  const bool isChanged = keepUniformValuesLocal(function);
  return (isConcerned(function) && Inserter(function, context).run()) || isChanged;
}

} // namespace orias::phases
