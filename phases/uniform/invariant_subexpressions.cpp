#include "phases/uniform/invariant_subexpressions.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/local_scan.h"

#include <fmt/format.h>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::component;
using ori::Instr;

namespace {

const Operand kNo = Operand::pt().notted();

class PartHoister {
 public:
  explicit PartHoister(ori::Function& function)
      : function_(function), divergence_(function.analyses().divergence()), loops_(function.analyses().loops()),
        dominators_(function.analyses().dominators()) {}

  /// Where to compute a function of the sources: after the later definition. Null unless all registers among them are
  /// uniform and loop-invariant, and at least two are different.
  Instr* placeFor(const Instr& instr, std::initializer_list<unsigned> sources) const {
    const ori::LoopId loop = loops_.innermost(instr.block->id);
    if (loop == ori::kNoId) return nullptr;
    Instr* last = nullptr;
    const Operand* first = nullptr;
    bool areDifferent = false;
    for (const unsigned slot : sources) {
      const ori::Operand& o = instr.op_(slot);
      if (o.isNone() || o.isZeroReg() || o.isImm()) continue;
      if (!o.isVirtual() || (o.file != File::R && o.file != File::UR) || !divergence_.isUniform(o.value()))
        return nullptr;
      Instr* def = function_.singleDef(o.reg);
      if (!def || def->isGuarded() || loops_.contains(loop, def->block->id)) return nullptr;
      if (!divergence_.isUniformBlock(def->block->id)) return nullptr;
      if (!first)
        first = &o.value();
      else
        areDifferent = areDifferent || o.reg != first->reg || o.sub != first->sub;
      if (!last || isAfter(*def, *last)) last = def;
    }
    return areDifferent ? last : nullptr;
  }

 private:
  bool isAfter(const Instr& a, const Instr& b) const {
    return a.block == b.block ? isBefore(b, a) : dominators_.dominates(b.block->id, a.block->id);
  }

  ori::Function& function_;
  const ori::Divergence& divergence_;
  const ori::Loops& loops_;
  const ori::DomTree& dominators_;
};

/// Whether the instruction is a LOP3 that only tests whether the result is zero.
bool isTest(const Instr& instr) {
  return instr.op == Op::LOP3 && instr.op_(0).isVirtual() && !instr.op_(1).isVirtual() && instr.op_(6).value() == kNo &&
         isa::getMod(instr.op, instr.mods, Mod::Pand) == 0;
}

/// Whether the instruction adds a product and a register, without carries.
bool isSumWithProduct(const Instr& instr) {
  return instr.op == Op::IMAD_WIDE && !instr.op_(1).isVirtual() && instr.op_(4).isVirtual() && !instr.op_(4).neg() &&
         instr.op_(4).file == File::R;
}

/// The product of a sum, if it is computed after `place`, in the same block, where both factors are defined; else none.
Operand computedProduct(const ori::Function& function, const Instr& place, const Instr& sum) {
  const Operand a = sum.op_(2).value(), b = sum.op_(3).value();
  for (const Instr* instr = place.next; instr; instr = instr->next) {
    if (instr->op != Op::IMAD_WIDE || instr->isGuarded() || !instr->op_(4).isZeroReg()) continue;
    if (instr->op_(1).isVirtual() || instr->mods != sum.mods) continue;
    const Operand c = instr->op_(2).value(), d = instr->op_(3).value(), result = instr->op_(0).value();
    const bool isEqual = (a == c && b == d) || (a == d && b == c);
    if (isEqual && result.isVirtual() && function.singleDef(result.reg) == instr) return result;
  }
  return {};
}

} // namespace

unsigned hoistInvariantSubexpressions(ori::Function& function, const PhaseContext& context) {
  struct Split {
    Instr *instr, *place;
  };
  std::vector<Split> splits;
  const PartHoister hoister(function);
  for (ori::Block* block : function.layout()) {
    if (block->isCold) continue;
    for (Instr& instr : *block)
      if (Instr* place = isTest(instr)             ? hoister.placeFor(instr, {2, 3, 4})
                         : isSumWithProduct(instr) ? hoister.placeFor(instr, {2, 3})
                                                   : nullptr)
        splits.push_back({&instr, place});
  }
  for (const auto& [instr, place] : splits) {
    ori::Builder outside = ori::Builder::after(function, place), inside = ori::Builder::before(function, instr);
    outside.setSource(instr->source);
    inside.setSource(instr->source);
    inside.setGuard(instr->guard().value());
    context.remarks.applied(instr, fmt::format("computed in part before the loop: {} takes one uniform register",
                                               isa::desc(instr->op).mnemonic));
    if (instr->op == Op::LOP3) {
      const Operand bits = outside.newR();
      outside.emit(Op::LOP3, {Operand::pt(), bits, instr->op_(2).value(), instr->op_(3).value(), instr->op_(4).value(),
                              instr->op_(5).value(), kNo});
      inside.emit(Op::ISETP, {instr->op_(0).value(), Operand::pt(), bits, Operand::rz(), Operand::pt()},
                  {{Mod::Cmp, isa::ICmp::NE}, {Mod::Type, isa::IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
    } else {
      const Operand sum = instr->op_(0).value(), addend = instr->op_(4).value(), carry = inside.newP();
      Operand product = computedProduct(function, *place, *instr);
      if (product.isNone()) {
        product = outside.newR(2);
        outside.emit(Op::IMAD_WIDE,
                     {product, Operand::pt(), instr->op_(2).value(), instr->op_(3).value(), Operand::rz()},
                     {{Mod::Type, isa::getMod(instr->op, instr->mods, Mod::Type)}});
      }
      inside.emit(Op::IADD3, {component(sum, 0), carry, Operand::pt(), component(addend, 0), component(product, 0),
                              Operand::rz()});
      inside.emit(Op::IADD3_X, {component(sum, 1), Operand::pt(), Operand::pt(), component(addend, 1),
                                component(product, 1), Operand::rz(), carry, kNo});
    }
    function.erase(instr);
  }
  return static_cast<unsigned>(splits.size());
}

} // namespace orias::phases
