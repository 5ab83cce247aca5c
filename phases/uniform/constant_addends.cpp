#include "phases/uniform/constant_addends.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/uniform/consumers.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;

namespace {

/// A load of words at a known offset of a constant bank.
struct FixedLoad {
  Instr* instr = nullptr;
  Operand result;
  unsigned bank = 0;
  std::int32_t offset = 0;
};

std::optional<FixedLoad> fixedLoad(const ori::Function& function, Instr& instr) {
  if (instr.isGuarded() || (instr.op != Op::LDC && instr.op != Op::ULDC)) return std::nullopt;
  const auto size = isa::modAs<isa::MemSize>(instr, isa::Mod::Size);
  if (size != isa::MemSize::B32 && size != isa::MemSize::B64) return std::nullopt;
  FixedLoad load{&instr, instr.op_(0).value()};
  if (!load.result.isVirtual() || function.singleDef(load.result.reg) != &instr ||
      load.result.width != function.vreg(load.result.reg).width)
    return std::nullopt;
  if (instr.op == Op::LDC) {
    const ori::Operand &bank = instr.op_(1), &index = instr.op_(2), &offset = instr.op_(3);
    if (!bank.isImm() || !offset.isImm() || !(index.isNone() || index.isZeroReg())) return std::nullopt;
    load.bank = static_cast<unsigned>(bank.imm);
    load.offset = static_cast<std::int32_t>(offset.imm);
  } else {
    const ori::Operand& place = instr.op_(1);
    if (!place.isConst() || place.reg != Operand::kNoReg) return std::nullopt;
    load.bank = place.bank;
    load.offset = static_cast<std::int32_t>(place.imm);
  }
  if (load.offset < 0 || load.offset % 4 != 0) return std::nullopt;
  return load;
}

class ConstantNamer {
 public:
  ConstantNamer(ori::Function& function, const ori::Divergence& divergence, PhaseContext& context)
      : function_(function), divergence_(divergence), context_(context), dominators_(function.analyses().dominators()) {
  }

  unsigned run() {
    std::vector<FixedLoad> loads;
    for (Block* block : function_.layout()) {
      if (!divergence_.cfg().isReachable(block->id)) continue;
      for (Instr& instr : *block)
        if (const auto load = fixedLoad(function_, instr)) loads.push_back(*load);
    }
    std::erase_if(loads, [&](const FixedLoad& load) { return nameEverywhere(load); });
    for (const FixedLoad& load : loads)
      sink(load);
    moveFactors();
    return changed_;
  }

 private:
  /// The instruction with the constant instead of the register; nothing if no form of it allows that.
  static std::optional<InstrDraft> named(ori::Ref use, const FixedLoad& load) {
    const Instr& reader = *use.owner;
    if (use.isGuard()) return std::nullopt;
    const isa::InstrDesc& row = isa::desc(reader.op);
    if (row.has(isa::Flag::Uniform) || row.isPseudo() || (row.pipe != isa::Pipe::Alu && row.pipe != isa::Pipe::Fma))
      return std::nullopt;
    const std::int32_t offset = load.offset + 4 * (use->sub - load.result.sub);
    if (offset % (4 * use->width) != 0) return std::nullopt;
    Operand constant = Operand::constant(load.bank, offset, use->width);
    constant.flags |= static_cast<std::uint8_t>(use->flags & (Operand::kNeg | Operand::kAbs | Operand::kNot));
    constant.half = use->half;
    InstrDraft draft(reader);
    return placeUniform(draft, use.index(), constant) ? std::optional(draft) : std::nullopt;
  }

  /// The same for the addend of a product with an immediate: `factor` is a register that will hold the number.
  static std::optional<InstrDraft> namedAddend(ori::Ref use, const FixedLoad& load, std::int64_t& number) {
    constexpr unsigned kFactor = 3, kAddend = 4;
    const Instr& reader = *use.owner;
    if (reader.op != Op::IMAD_WIDE || use->width != 2 || use->neg() || load.offset % 8 != 0) return std::nullopt;
    if (use.isGuard() || use.index() != kAddend || !reader.op_(kFactor).isImm()) return std::nullopt;
    number = reader.op_(kFactor).imm;
    InstrDraft draft(reader);
    draft.operands[kFactor] = Operand::virt(File::R, 0, 1);
    draft.operands[kAddend] = Operand::constant(load.bank, load.offset, 2);
    return isa::fits(draft.op, draft.mods, draft.operands) ? std::optional(draft) : std::nullopt;
  }

  /// Replaces the load by constant operands in all its readers, or in none.
  bool nameEverywhere(const FixedLoad& load) {
    std::vector<std::pair<Instr*, InstrDraft>> drafts;
    std::vector<std::pair<std::int64_t, Instr*>> products;
    bool canAll = true;
    function_.forEachUse(load.result.reg, [&](ori::Ref use) {
      if (!canAll) return;
      Instr* reader = use.owner;
      std::int64_t number = 0;
      std::optional<InstrDraft> draft = named(use, load);
      if (!draft) {
        draft = namedAddend(use, load, number);
        if (draft) products.emplace_back(number, reader);
      }
      canAll = draft && std::none_of(drafts.begin(), drafts.end(), [&](const auto& d) { return d.first == reader; });
      if (canAll) drafts.emplace_back(reader, *draft);
    });
    if (!canAll || drafts.empty()) return false;
    // Each further number in a register costs as much as the load.
    for (const auto& [number, reader] : products)
      if (number != products.front().first) return false;
    for (const auto& [number, reader] : products)
      factors_[number].push_back(reader);
    for (auto& [reader, draft] : drafts) {
      const bool isProduct =
          std::any_of(products.begin(), products.end(), [&](const auto& product) { return product.second == reader; });
      if (isProduct) {
        // The factor is set when all its readers are known.
        addends_[reader] = draft.operands[4];
        continue;
      }
      commit(function_, *reader, draft);
    }
    context_.remarks.applied(load.instr,
                             fmt::format("{} uses name c[{:#x}][{:#x}]", drafts.size(), load.bank, load.offset));
    if (products.empty())
      function_.erase(load.instr);
    else
      doomed_.push_back(load.instr);
    ++changed_;
    return true;
  }

  /// Makes one register for each number, before all products with it.
  void moveFactors() {
    for (auto& [number, readers] : factors_) {
      BlockId at = readers.front()->block->id;
      for (const Instr* reader : readers)
        at = dominators_.commonDominator(at, reader->block->id);
      while (dominators_.idom(at) != ori::kNoId && function_.block(at)->loopDepth != 0)
        at = dominators_.idom(at);
      Block* block = function_.block(at);
      Instr* where = firstReader(*block, readers);
      const Operand factor = function_.use(function_.newVReg(File::R, 1));
      ori::Builder b = where ? ori::Builder::before(function_, where) : ori::Builder(function_, block);
      b.setSource(readers.front()->source);
      b.copy(factor, Operand::immediate(number));
      for (Instr* reader : readers) {
        InstrDraft draft(*reader);
        draft.operands[3] = factor;
        draft.operands[4] = addends_[reader];
        commit(function_, *reader, draft);
      }
    }
    for (Instr* load : doomed_)
      function_.erase(load);
  }

  /// The first of the readers in the block, else its terminator; null if it has none.
  static Instr* firstReader(Block& block, const std::vector<Instr*>& readers) {
    for (Instr& instr : block)
      if (std::ranges::find(readers, &instr) != readers.end()) return &instr;
    return block.last && ori::isTerminator(block.last->op) ? block.last : nullptr;
  }

  /// Moves a load that is read after an early exit to the blocks after it. Readers before the exit use the constant as
  /// an operand.
  void sink(const FixedLoad& load) {
    Block& from = *load.instr->block;
    if (!from.last || from.last->op != Op::EXIT || !from.last->isGuarded()) return;
    if (load.instr->op == Op::LDC && load.result.width != 1) return; // two instructions without the latency of LDC
    std::vector<std::pair<Instr*, InstrDraft>> drafts;
    std::vector<Instr*> after;
    BlockId to = ori::kNoId;
    bool canAll = true;
    function_.forEachUse(load.result.reg, [&](ori::Ref use) {
      const Block* at = use.owner->block;
      if (at != &from) {
        canAll = canAll && dominators_.strictlyDominates(from.id, at->id);
        if (!canAll) return;
        after.push_back(use.owner);
        to = to == ori::kNoId ? at->id : dominators_.commonDominator(to, at->id);
        return;
      }
      std::optional<InstrDraft> draft = named(use, load);
      canAll = canAll && draft &&
               std::none_of(drafts.begin(), drafts.end(), [&](const auto& d) { return d.first == use.owner; });
      if (canAll) drafts.emplace_back(use.owner, *draft);
    });
    if (!canAll || after.empty()) return;
    const bool isForWarp = load.result.isReg(File::UR);
    while (to != from.id &&
           (function_.block(to)->loopDepth > from.loopDepth || (isForWarp && !divergence_.isUniformBlock(to))))
      to = dominators_.idom(to);
    if (to == from.id) return;
    for (auto& [reader, draft] : drafts)
      commit(function_, *reader, draft);
    Block* block = function_.block(to);
    Instr* where = firstReader(*block, after);
    context_.remarks.applied(load.instr, fmt::format("sank {} past an exit", isa::desc(load.instr->op).mnemonic));
    ++changed_;
    if (!isForWarp) {
      ori::Builder b = where ? ori::Builder::before(function_, where) : ori::Builder(function_, block);
      b.setSource(load.instr->source);
      function_.erase(load.instr);
      b.copy(load.result, Operand::constant(load.bank, load.offset, 1));
      return;
    }
    function_.unlink(load.instr);
    if (where)
      function_.insertBefore(where, load.instr);
    else
      function_.append(block, load.instr);
  }

  ori::Function& function_;
  const ori::Divergence& divergence_;
  PhaseContext& context_;
  const ori::DomTree& dominators_;
  std::map<std::int64_t, std::vector<Instr*>> factors_; ///< products by their number
  std::map<const Instr*, Operand> addends_;             ///< their future addends
  std::vector<Instr*> doomed_;                          ///< the loads of these addends
  unsigned changed_ = 0;
};

} // namespace

unsigned nameConstantOperands(ori::Function& function, const ori::Divergence& divergence, PhaseContext& context) {
  return ConstantNamer(function, divergence, context).run();
}

} // namespace orias::phases
