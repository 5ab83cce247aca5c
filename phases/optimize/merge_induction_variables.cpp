#include "phases/optimize/merge_induction_variables.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "phases/optimize/linear_form.h"
#include "phases/optimize/phis.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// The value of a phi from a predecessor.
struct Source {
  LinearForm form;     ///< without the phi's own value
  bool isStep = false; ///< whether the phi's own value is added to it
};

/// A phi with its sources by predecessor.
struct Counter {
  Instr* phi;
  std::map<ori::BlockId, Source> sources;
};

/// Whether two phis may differ by a constant.
bool areAlike(const Counter& a, const Counter& b) {
  return std::ranges::equal(a.sources, b.sources, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.isStep == y.second.isStep && x.second.form.terms == y.second.form.terms;
  });
}

class Counters {
 public:
  Counters(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), rewriter_(function), forms_(rewriter_) {}

  bool run() {
    const ori::DomTree& dominators = function_.analyses().dominators();
    for (ori::BlockId id : dominators.preorder())
      for (const Instr& instr : *function_.block(id))
        forms_.show(instr);
    bool changed = false;
    for (ori::BlockId id : dominators.preorder())
      changed |= visit(*function_.block(id));
    return changed;
  }

 private:
  bool visit(const ori::Block& block) {
    std::vector<std::vector<Counter>> groups;
    for (Instr& phi : block) {
      if (phi.op != Op::PHI) break;
      std::optional<Counter> counter = show(phi);
      if (!counter) continue;
      const auto group = std::ranges::find_if(groups, [&](const auto& g) { return areAlike(g.front(), *counter); });
      (group != groups.end() ? *group : groups.emplace_back()).push_back(std::move(*counter));
    }
    bool changed = false;
    for (std::vector<Counter>& counters : groups)
      for (std::size_t i = 0; i + 1 < counters.size(); ++i)
        if (join(counters[i], counters[i + 1])) {
          counters[i + 1] = counters[i];
          changed = true;
        } else if (join(counters[i + 1], counters[i])) {
          changed = true;
        }
    return changed;
  }

  std::optional<Counter> show(Instr& phi) const {
    const Operand self = phi.op_(0).value();
    if (!self.isReg(File::R) || self.width != 1 || !rewriter_.isSingle(self.reg) || function_.vreg(self.reg).width != 1)
      return std::nullopt;
    Counter counter{&phi, {}};
    bool isCounter = false;
    for (unsigned i = 1; i + 1 < phi.operandCount; i += 2) {
      const Operand source = phi.op_(i).value();
      if (!source.isReg(File::R) || !(source.isVirtual() || source.isZeroReg())) return std::nullopt;
      std::optional<LinearForm> form = forms_.of(source);
      if (!form) return std::nullopt;
      bool isStep = false;
      for (std::size_t k = 0; k < form->terms.size(); ++k) {
        const Term& term = form->terms[k];
        if (term.value != self) continue;
        if (term.factor != 1) return std::nullopt;
        form->terms.erase(form->terms.begin() + static_cast<std::ptrdiff_t>(k));
        isStep = true;
        break;
      }
      isCounter |= isStep;
      counter.sources.emplace(phi.op_(i + 1).reg, Source{std::move(*form), isStep});
    }
    if (!isCounter) return std::nullopt;
    return counter;
  }

  /// The difference between the second and the first; nothing if it is not the same in every iteration.
  static std::optional<std::uint32_t> distance(const Counter& a, const Counter& b) {
    std::optional<std::uint32_t> result;
    for (const auto& [from, source] : a.sources) {
      const std::uint32_t number = b.sources.at(from).form.number - source.form.number;
      if (source.isStep ? number != 0 : result && *result != number) return std::nullopt;
      if (!source.isStep) result = number;
    }
    return result;
  }

  bool reportMissed(const Instr& phi, const char* why) {
    context_.remarks.missed(&phi, fmt::format("induction variables that differ by a constant not merged: {}", why));
    return false;
  }

  bool join(const Counter& kept, const Counter& other) {
    const std::optional<std::uint32_t> number = distance(kept, other);
    if (!number || *number == 0) return false;
    Instr& phi = *other.phi;
    if (!isSteppedForItself(phi)) return reportMissed(phi, "its next value has other uses");
    const Operand self = phi.op_(0).value();
    bool haveRoom = true;
    function_.forEachUse(self.reg, [&](ori::Ref use) { haveRoom &= isStepOf(*use.owner, phi) || hasRoom(use); });
    if (!haveRoom) return reportMissed(phi, "a use cannot hold the constant");
    context_.remarks.applied(&phi, "merged induction variables that differ by a constant");
    ori::Builder b = builderAfterPhis(function_, *phi.block);
    b.setSource(phi.source);
    function_.erase(&phi);
    const auto more = Operand::immediate(static_cast<std::int32_t>(*number));
    b.emit(Op::IADD3, {self, Operand::pt(), Operand::pt(), kept.phi->op_(0).value(), more, Operand::rz()});
    return true;
  }

  /// Whether this computes the phi's next value in one instruction and has no other use.
  bool isStepOf(const Instr& instr, const Instr& phi) const {
    if (instr.op != Op::IADD3 || instr.isGuarded()) return false;
    const Operand result = instr.op_(0).value();
    if (!result.isVirtual() || !rewriter_.isSingle(result.reg) || !rewriter_.hasOneUse(result)) return false;
    for (unsigned i = 1; i + 1 < phi.operandCount; i += 2)
      if (phi.op_(i).value() == result) return true;
    return false;
  }

  bool isSteppedForItself(const Instr& phi) const {
    for (unsigned i = 1; i + 1 < phi.operandCount; i += 2) {
      const Definition def = rewriter_.definition(phi.op_(i).value());
      if (!def || def.instr == &phi) continue;
      bool readsPhi = false;
      for (const ori::Operand& o : def.instr->ops())
        readsPhi |= !o.isDef && o.value() == phi.op_(0).value();
      if (readsPhi && !isStepOf(*def.instr, phi)) return false;
    }
    return true;
  }

  /// Whether the use is a one-word address with an offset.
  bool hasRoom(ori::Ref use) const {
    const Instr& user = *use.owner;
    const isa::InstrDesc& row = isa::desc(user.op);
    if (use->width != 1 || row.isPseudo() || !(row.has(Flag::Load) || row.has(Flag::Store))) return false;
    const int address = row.slotIndex(isa::SlotId::Ra), offset = row.slotIndex(isa::SlotId::offset);
    if (address < 0 || offset < 0 || use.index() != static_cast<unsigned>(address)) return false;
    if (row.modIndex(isa::Mod::E) >= 0) return false;
    return isa::getMod(user.op, user.mods, isa::Mod::AddrScale) == 0;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const Rewriter rewriter_;
  LinearForms forms_;
};

} // namespace

bool mergeInductionVariables(ori::Function& function, PhaseContext& context) {
  return Counters(function, context).run();
}

} // namespace orias::phases
