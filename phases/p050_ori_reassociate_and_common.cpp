#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/optimize/linear_form.h"
#include "phases/phases.h"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;

namespace {

/// The most instructions that a sum is decomposed into.
constexpr unsigned kMaxNodes = 8;
/// The most earlier sums of the same terms that are examined.
constexpr std::size_t kMaxEarlier = 4;

class Reassociation {
 public:
  Reassociation(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), rewriter_(function), forms_(rewriter_), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()) {}

  bool run() {
    bool changed = false;
    for (BlockId id : dominators_.preorder())
      function_.forEachSafe(*function_.block(id), [&](Instr& instr) { changed |= visit(instr); });
    return changed;
  }

 private:
  /// A sum that was computed before.
  struct Earlier {
    Instr* instr;
    std::uint32_t number;
  };

  bool visit(Instr& instr) {
    const std::optional<LinearForm> form = forms_.show(instr);
    if (!form || isa::desc(instr.op).has(isa::Flag::Copy) || instr.op == Op::MOV) return false;
    const unsigned work = workOf(instr);
    const bool changed = useEarlier(instr, *form, work) || (work > 1 && partInvariants(instr));
    if (form->terms.size() > 1 || (form->terms.size() == 1 && form->terms[0].factor != 1))
      known_[form->terms].push_back({&instr, form->number});
    return changed;
  }

  // --- terms of a sum

  /// The sum that defines an operand of another sum, if it has no other users and runs as often.
  Instr* partOf(const Operand& operand, const Instr& reader) const {
    if (!operand.isReg(File::R) || !operand.isVirtual() || operand.width != 1 || !rewriter_.hasOneUse(operand))
      return nullptr;
    const Definition def = rewriter_.definition(operand);
    if (!def || def.slot != 0 || function_.vreg(operand.reg).width != 1) return nullptr;
    if (loops_.innermost(def.instr->block->id) != loops_.innermost(reader.block->id)) return nullptr;
    return forms_.forEachAddend(*def.instr, [](const Operand&, std::uint32_t) {}) ? def.instr : nullptr;
  }

  /// The number of instructions that become dead when the sum is replaced.
  unsigned workOf(const Instr& root) const {
    std::vector<const Instr*> nodes{&root};
    unsigned work = 0;
    for (std::size_t i = 0; i < nodes.size() && nodes.size() < kMaxNodes; ++i) {
      work += !isa::desc(nodes[i]->op).has(isa::Flag::Copy) && nodes[i]->op != Op::MOV;
      forms_.forEachAddend(*nodes[i], [&](const Operand& operand, std::uint32_t) {
        if (const Instr* part = partOf(operand, root)) nodes.push_back(part);
      });
    }
    return work;
  }

  // --- earlier sums

  /// The available sum of the given terms; null where there is none.
  const Earlier* find(const Terms& terms, const Instr& where, std::uint32_t wanted) {
    const auto at = known_.find(terms);
    if (at == known_.end()) return nullptr;
    std::vector<Earlier>& all = at->second;
    while (!all.empty() &&
           (!all.back().instr->block || !dominators_.dominates(all.back().instr->block->id, where.block->id)))
      all.pop_back();
    if (all.empty()) return nullptr;
    const std::size_t first = all.size() - std::min(all.size(), kMaxEarlier);
    for (std::size_t i = all.size(); i-- > first;)
      if (all[i].number == wanted) return &all[i];
    return &all.back();
  }

  bool useEarlier(Instr& instr, const LinearForm& form, unsigned work) {
    const std::size_t count = form.terms.size();
    if (count == 0) return false;
    if (const Earlier* whole = find(form.terms, instr, form.number)) {
      if (whole->number == form.number) {
        context_.remarks.applied(&instr, "reused an equal sum", work);
        rewriter_.becomeCopy(instr, whole->instr->op_(0).value());
        return true;
      }
      if (work > 1 && isNear(*whole->instr, instr) && becomeRest(instr, *whole, {}, form.number)) {
        context_.remarks.applied(&instr, "reused a sum that differs by a constant", work - 1);
        return true;
      }
    }
    if (work < 2) return false;
    // All but one or two of the terms.
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i; j < count; ++j) {
        Terms part, rest;
        for (std::size_t k = 0; k < count; ++k)
          if (k == i || k == j)
            rest.push_back(form.terms[k]);
          else
            part.push_back(form.terms[k]);
        if (part.empty() || (part.size() == 1 && part[0].factor == 1)) continue;
        const Earlier* earlier = find(part, instr, form.number);
        if (!earlier || !isNear(*earlier->instr, instr) || isPartOf(*earlier->instr, instr)) continue;
        if (!becomeRest(instr, *earlier, rest, form.number)) continue;
        context_.remarks.applied(&instr, "reused most of a sum", work - 1);
        return true;
      }
    return false;
  }

  /// Whether the earlier sum is used by this sum only: it would not become dead.
  bool isPartOf(const Instr& earlier, const Instr& root) const {
    std::vector<const Instr*> nodes{&root};
    for (std::size_t i = 0; i < nodes.size() && nodes.size() < kMaxNodes; ++i) {
      if (nodes[i] == &earlier) return true;
      forms_.forEachAddend(*nodes[i], [&](const Operand& operand, std::uint32_t) {
        if (const Instr* part = partOf(operand, root)) nodes.push_back(part);
      });
    }
    return std::find(nodes.begin(), nodes.end(), &earlier) != nodes.end();
  }

  /// Whether both are close enough. A value that is kept from one block to another takes a register on the way.
  bool isNear(const Instr& earlier, const Instr& instr) {
    if (earlier.block == instr.block) return true;
    context_.remarks.missed(&instr, "equal sum not reused: its live range would be long");
    return false;
  }

  /// Replaces the sum by one instruction: the earlier sum, the remaining terms, and the difference of the constants.
  bool becomeRest(Instr& instr, const Earlier& earlier, const Terms& rest, std::uint32_t number) {
    const Operand base = earlier.instr->op_(0).value();
    const std::uint32_t lacking = number - earlier.number;
    if (rest.size() == 1 && lacking == 0 && rest[0].factor != 1 && rest[0].factor != ~0u) {
      const std::uint32_t factor = rest[0].factor;
      if (!rest[0].value.isReg(File::R)) return false;
      const Operand result = instr.op_(0).value(), value = rest[0].value;
      if (std::has_single_bit(factor)) {
        const Operand shift = Operand::immediate(std::countr_zero(factor));
        rewriter_.rewrite(instr, Op::LEA, {result, Operand::pt(), value, base, shift});
      } else {
        const Operand times = Operand::immediate(static_cast<std::int32_t>(factor));
        rewriter_.rewrite(instr, Op::IMAD, {result, value, times, base});
      }
      return true;
    }
    std::vector<Operand> terms{base};
    for (const Term& term : rest) {
      if (term.factor != 1 && term.factor != ~0u) return false;
      terms.push_back(term.factor == 1 ? term.value : term.value.negated());
    }
    if (lacking != 0) terms.push_back(Operand::immediate(static_cast<std::int32_t>(lacking)));
    return becomeSum(instr, terms);
  }

  bool becomeSum(Instr& instr, std::vector<Operand> terms) {
    const std::optional<SumOperands> o = sumOf(instr.op_(0).value(), std::move(terms));
    if (o) rewriter_.rewrite(instr, Op::IADD3, {(*o)[0], (*o)[1], (*o)[2], (*o)[3], (*o)[4], (*o)[5]});
    return o.has_value();
  }

  using SumOperands = std::array<Operand, 6>;

  /// The operands of a sum of up to three terms, in an order that the machine accepts.
  static std::optional<SumOperands> sumOf(const Operand& result, std::vector<Operand> terms) {
    if (terms.size() > 3) return std::nullopt;
    terms.resize(3, Operand::rz());
    unsigned others = 0, negated = 0;
    for (const Operand& o : terms) {
      others += !o.isReg(File::R);
      negated += o.neg();
    }
    if (others > 1 || negated > 1) return std::nullopt;
    for (unsigned i = 0; i < 3; ++i)
      if (!terms[i].isReg(File::R)) std::swap(terms[i], terms[1]);
    const SumOperands operands{result, Operand::pt(), Operand::pt(), terms[0], terms[1], terms[2]};
    if (!isa::fits(Op::IADD3, isa::makeInst(Op::IADD3).mods, operands)) return std::nullopt;
    return operands;
  }

  // --- loops

  bool comesFromOutside(LoopId loop, const Operand& value) const {
    if (!value.isReg()) return true;
    const Definition def = rewriter_.definition(value);
    return def && !loops_.contains(loop, def.instr->block->id);
  }

  /// Whether the sum is not loop-invariant.
  bool varies(LoopId loop, const Instr& sum) const {
    const std::optional<LinearForm> form = forms_.of(sum.op_(0).value());
    return form && std::any_of(form->terms.begin(), form->terms.end(),
                               [&](const Term& term) { return !comesFromOutside(loop, term.value); });
  }

  /// Computes the loop-invariant terms in a separate sum, which phase 66 hoists out of the loop.
  bool partInvariants(Instr& root) {
    const LoopId loop = loops_.innermost(root.block->id);
    if (loop == ori::kNoId) return false;
    LinearForm leaves;
    unsigned varying = 0; // instructions that run in each iteration in any case
    bool isKnown = true;
    std::vector<std::pair<const Instr*, std::uint32_t>> nodes{{&root, 1}};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto [node, times] = nodes[i];
      forms_.forEachAddend(*node, [&, times = times](const Operand& operand, std::uint32_t factor) {
        const Instr* part = nodes.size() < kMaxNodes ? partOf(operand, root) : nullptr;
        const std::uint32_t signedFactor = operand.neg() ? 0u - factor : factor;
        if (part) {
          nodes.emplace_back(part, times * signedFactor);
          return;
        }
        Operand plain = operand;
        plain.flags = static_cast<std::uint8_t>(plain.flags & ~Operand::kNeg);
        if (const auto number = rewriter_.constantOf(plain)) {
          leaves.number += *number * times * signedFactor;
          return;
        }
        isKnown &= plain.isReg() ? plain.isVirtual() && rewriter_.isStable(plain) : plain.isConst();
        if (!isKnown) return;
        leaves.add({plain, times * signedFactor});
      });
      if (!isKnown) return false;
      varying += varies(loop, *node);
    }
    std::vector<Operand> inside, outside;
    for (const Term& term : leaves.terms) {
      if (term.factor != 1 && term.factor != ~0u) return false;
      const Operand value = term.factor == 1 ? term.value : term.value.negated();
      (comesFromOutside(loop, term.value) ? outside : inside).push_back(value);
    }
    if (leaves.number != 0) outside.push_back(Operand::immediate(static_cast<std::int32_t>(leaves.number)));
    if (varying < 2 || outside.size() < 2 || inside.empty()) return false;
    const Operand kept = function_.use(function_.newVReg(File::R));
    const auto invariant = sumOf(kept, outside);
    inside.push_back(kept);
    if (!invariant || !sumOf(root.op_(0).value(), inside)) {
      context_.remarks.missed(&root,
                              "not reassociated: the loop-invariant or the varying part needs several additions");
      return false;
    }
    ori::Builder b = ori::Builder::before(function_, &root);
    b.setSource(root.source);
    b.emit(Op::IADD3, *invariant);
    context_.remarks.applied(&root, "reassociated: the loop-invariant operands are added first", varying - 1);
    return becomeSum(root, inside);
  }

  ori::Function& function_;
  PhaseContext& context_;
  Rewriter rewriter_;
  LinearForms forms_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  std::unordered_map<Terms, std::vector<Earlier>, TermsHash> known_; // by terms
};

} // namespace

/// Phase 50. Sums of words are equal when their terms are, in any association. A sum that is already available is
/// reused: whole, with a number, or with the one or two terms that it lacks. In a loop, the loop-invariant terms are
/// summed separately. Computations that have become equal are then commoned.
bool oriReassociateAndCommon(ori::Function& function, PhaseContext& context) {
  if (!Reassociation(function, context).run()) return false;
  numberValues(function);
  return true;
}

} // namespace orias::phases
