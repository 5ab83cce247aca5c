#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/expansion.h"
#include "phases/local_scan.h"
#include "phases/optimize/shifted_sums.h"
#include "phases/phases.h"

#include <unordered_map>
#include <vector>

namespace orias::phases {

using isa::Op;
using isa::Operand;
using ori::component;
using ori::Instr;

namespace {

const Operand kFalse = Operand::pt().notted();

/// The 64-bit sums with one shifted term.
std::unordered_map<const Instr*, ShiftedSum> shiftedSums(ori::Function& function) {
  std::unordered_map<const Instr*, ShiftedSum> sums;
  const Rewriter rw(function);
  for (ori::Block* block : function.layout())
    for (const Instr& instr : *block) {
      const auto sum = shiftedSum(rw, instr);
      if (sum) sums.emplace(&instr, *sum);
    }
  return sums;
}

/// The instructions that compute the high half of a product of pairs, up to the carry into the last step: a1 b0, a0 b1
/// + a1 b0, a0 b0, and the sum of the words in the middle.
struct WholeProduct {
  Instr *cross, *middle, *product, *sum;
};

/// Whether the factor is the word, or its constant value.
bool isWgmmaInput(const Rewriter& rw, const Operand& factor, const Operand& word) {
  return factor == word || (factor.isImm() && rw.constantOf(factor) == rw.constantOf(word));
}

bool isProductOf(const Rewriter& rw, const Instr& instr, const Operand& a, const Operand& b) {
  if (instr.op != Op::IMAD_WIDE || instr.isGuarded()) return false;
  if (isa::modAs<isa::IntType>(instr, isa::Mod::Type) != isa::IntType::U32) return false;
  const Operand x = instr.op_(2).value(), y = instr.op_(3).value();
  return (isWgmmaInput(rw, x, a) && isWgmmaInput(rw, y, b)) || (isWgmmaInput(rw, x, b) && isWgmmaInput(rw, y, a));
}

/// The intermediate words of the high half of the same product a * b, computed in the same block.
std::optional<WholeProduct> wholeProduct(const Rewriter& rw, Instr& low) {
  Operand a = low.op_(1).value(), b = low.op_(2).value();
  for (const Operand& o : {a, b})
    if (!o.isReg(isa::File::R) || !o.isVirtual() || !rw.isStable(o) || o.neg()) return std::nullopt;
  // The products use immediates, not registers, for the words of a number.
  if (rw.constantOf(component(a, 0)) && rw.constantOf(component(a, 1))) std::swap(a, b);
  std::optional<WholeProduct> found;
  rw.function().forEachUse(a.reg, [&](ori::Ref use) {
    Instr& middle = *use.owner;
    if (found || middle.block != low.block || middle.op != Op::IMAD_WIDE || isUnused(middle.op_(1).value())) return;
    // in either order of the factors
    for (const auto& [x, y] : {std::pair{a, b}, std::pair{b, a}}) {
      if (!isProductOf(rw, middle, component(x, 0), component(y, 1))) continue;
      Instr* cross = rw.producer(middle.op_(4).value(), Op::IMAD_WIDE);
      if (!cross || cross->block != low.block || !isProductOf(rw, *cross, component(x, 1), component(y, 0))) continue;
      if (!cross->op_(4).isZeroReg()) continue;
      rw.function().forEachUse(middle.op_(0).reg, [&](ori::Ref read) {
        Instr& sum = *read.owner;
        if (sum.op != Op::IADD3 || sum.block != low.block || sum.isGuarded() || !sum.op_(5).isZeroReg()) return;
        if (!sum.op_(0).isVirtual() || sum.op_(4).value() != component(middle.op_(0).value(), 0)) return;
        const Definition product = rw.definition(sum.op_(3).value());
        if (!product || product.slot != 0 || product.index != 1 || product.instr->block != low.block) return;
        if (sum.op_(3).neg() || !isProductOf(rw, *product.instr, component(x, 0), component(y, 0))) return;
        if (product.instr->op_(4).isZeroReg()) found = WholeProduct{cross, &middle, product.instr, &sum};
      });
    }
  });
  return found;
}

/// Maps the instructions that compute a low half to the product.
std::unordered_map<const Instr*, WholeProduct> wholeProducts(ori::Function& function) {
  std::unordered_map<const Instr*, WholeProduct> wholes;
  if (!function.ssa || !function.everHad(Op::IMUL64)) return wholes;
  std::vector<Instr*> products;
  for (ori::Block* block : function.layout())
    for (Instr& instr : *block)
      if (instr.op == Op::IMUL64 && !instr.isGuarded()) products.push_back(&instr);
  if (products.empty()) return wholes;
  const Rewriter rw(function);
  for (Instr* product : products)
    if (const auto whole = wholeProduct(rw, *product)) wholes.emplace(product, *whole);
  return wholes;
}

/// Replaces pseudo instructions on pairs by the machine's instructions on their words. Where a source may be the
/// destination, the results go to a fresh pair first, since the high word is read after the low one is written.
class PairExpander {
 public:
  explicit PairExpander(ori::Function& function)
      : function_(function), shifted_(shiftedSums(function)), wholeProducts_(wholeProducts(function)) {
    if (function.ssa) joinProducts();
  }

  bool run() {
    bool changed = false;
    for (ori::Block* block : function_.layout())
      for (Instr *instr = block->first, *next; instr; instr = next) {
        next = instr->next;
        switch (instr->op) {
        case Op::IADD64: expandAdd(instr); break;
        case Op::IMUL64:
          if (!readLowHalf(instr)) expandMultiply(instr, Operand::rz(2));
          break;
        case Op::IMAD64: expandMultiply(instr, instr->op_(3).value()); break;
        default: continue;
        }
        changed = true;
      }
    return changed;
  }

 private:
  /// Fuses a product into the sum that is its only user: the first multiplication adds the low words of the other term.
  /// (Products of 32 bits have been fused before.)
  void joinProducts() {
    const Rewriter rw(function_);
    // A uniform product, computed once per warp, is not fused with a divergent term.
    const ori::Divergence& divergence = function_.analyses().divergence();
    for (ori::Block* block : function_.layout())
      for (Instr& sum : *block) {
        if (sum.op != Op::IADD64 || sum.isGuarded() || shifted_.contains(&sum)) continue;
        for (const unsigned slot : {1u, 2u}) {
          const Operand product = sum.op_(slot).value(), other = sum.op_(3 - slot).value();
          if (product.neg() || !isPair(product) || other.neg() || !isPair(other)) continue;
          Instr* from = rw.producer(product, Op::IMUL64);
          if (!from || from->isGuarded() || wholeProducts_.contains(from)) continue;
          if (from->block->loopDepth != block->loopDepth) continue; // it would be multiplied in each iteration
          if (divergence.isDivergent(other.reg) && !divergence.isDivergent(product.reg)) continue;
          if (!rw.hasOneUse(product) || !rw.isStable(from->op_(1).value()) || !rw.isStable(from->op_(2).value()))
            continue;
          const Operand operands[] = {sum.op_(0).value(), from->op_(1).value(), from->op_(2).value(), other};
          function_.rewrite(&sum, Op::IMAD64, operands);
          function_.erase(from);
          break;
        }
      }
  }

  bool isPair(const Operand& o) const {
    return o.isReg(isa::File::R) && o.isVirtual() && o.width == 2 && o.sub % 2 == 0 &&
           function_.vreg(o.reg).align % 2 == 0;
  }

  void finish(Instr* instr, ori::Builder& b, const Operand& result) {
    // The copy is coalesced when result and destination can share a register.
    b.setGuard(instr->guard().value());
    b.emit(Op::COPY, {instr->op_(0).value(), result});
    function_.erase(instr);
  }

  void expandAdd(Instr* instr) {
    ori::Builder b = ori::Builder::before(function_, instr);
    if (const auto shifted = shifted_.find(instr); shifted != shifted_.end())
      return finish(instr, b, shiftAndAdd(b, shifted->second));
    Operand a = instr->op_(1).value(), c = instr->op_(2).value();
    // The machine can negate one of the two.
    if (a.neg() && c.neg()) a = addWithCarry(b, Operand::rz(2), a);
    if (a.neg()) std::swap(a, c);
    finish(instr, b, addWithCarry(b, a, c));
  }

  /// Adds the low words with a carry, and the high words, whose shift takes bits of both words.
  static Operand shiftAndAdd(ori::Builder& b, const ShiftedSum& s) {
    const Operand sum = b.newR(2), carry = b.newP(), count = Operand::immediate(s.count);
    b.emit(Op::LEA, {component(sum, 0), carry, s.low, component(s.other, 0), count});
    b.emit(Op::LEA_HI_X, {component(sum, 1), Operand::pt(), s.low, component(s.other, 1), s.high, count, carry});
    return sum;
  }

  /// lo(a0 b0) + (a1 b0 + a0 b1) 2^32 + c
  void expandMultiply(Instr* instr, const Operand& addend) {
    ori::Builder b = ori::Builder::before(function_, instr);
    const Operand a = instr->op_(1).value(), c = instr->op_(2).value();
    const isa::ModValue u32{isa::Mod::Type, isa::IntType::U32};
    Operand product = b.newR(2), cross = b.newR(), high = b.newR(), result = b.newR(2);
    b.emit(Op::IMAD_WIDE, {product, Operand::pt(), component(a, 0), component(c, 0), addend}, {u32});
    b.emit(Op::IMAD, {cross, component(a, 1), component(c, 0), component(product, 1)}, {u32});
    b.emit(Op::IMAD, {high, component(a, 0), component(c, 1), cross}, {u32});
    b.emit(Op::COPY, {component(result, 0), component(product, 0)});
    b.emit(Op::COPY, {component(result, 1), high});
    finish(instr, b, result);
  }

  /// Uses the intermediate words of the high half for the low half: the low word of a0 b0, and the sum of its high word
  /// with the low word of a1 b0 + a0 b1.
  bool readLowHalf(Instr* instr) {
    const auto found = wholeProducts_.find(instr);
    if (found == wholeProducts_.end()) return false;
    const WholeProduct& whole = found->second;
    if (isBefore(*instr, *whole.sum))
      for (Instr* part : {whole.cross, whole.middle, whole.product, whole.sum}) {
        function_.unlink(part);
        function_.insertBefore(instr, part);
      }
    ori::Builder b = ori::Builder::before(function_, instr);
    const Operand result = b.newR(2);
    b.emit(Op::COPY, {component(result, 0), component(whole.product->op_(0).value(), 0)});
    b.emit(Op::COPY, {component(result, 1), whole.sum->op_(0).value()});
    finish(instr, b, result);
    return true;
  }

  ori::Function& function_;
  std::unordered_map<const Instr*, ShiftedSum> shifted_;
  std::unordered_map<const Instr*, WholeProduct> wholeProducts_;
};

} // namespace

/// Phase 45. Expands 64-bit integer arithmetic, single operations for the optimizer so far, into chains of 32-bit
/// instructions.
bool midExpansion(ori::Function& function, PhaseContext&) {
  return PairExpander(function).run();
}

} // namespace orias::phases
