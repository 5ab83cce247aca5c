#include "phases/uniform/constants.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/occupancy.h"
#include "phases/uniform/consumers.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;

namespace {

/// Uniform registers kept free for live ranges that scheduling lengthens and for calls.
constexpr int kSpareRegisters = 8;
/// The most register pairs for words with close readers at one point, and the largest distance of such readers.
constexpr unsigned kPairsBetween = 2, kClose = 12;

/// A double word of a constant bank, and its readers.
struct DoubleWord {
  unsigned bank = 0;
  std::int32_t offset = 0; ///< of its first byte
  bool isWordRead[2] = {false, false};
  std::vector<Instr*> readers;
  std::int64_t weight = 0;        ///< readers, those in loops more
  BlockId dominator = ori::kNoId; ///< of all readers
  Operand loaded;                 ///< the register with the words that are read

  unsigned width() const { return isWordRead[0] && isWordRead[1] ? 2 : 1; }
  std::int32_t firstByte() const { return isWordRead[0] ? offset : offset + 4; }
};

class ConstantMover {
 public:
  ConstantMover(ori::Function& function, const ori::Divergence& divergence, PhaseContext& context)
      : function_(function), divergence_(divergence), context_(context), dominators_(function.analyses().dominators()) {
  }

  unsigned run() {
    for (Block* block : function_.layout()) {
      if (!divergence_.cfg().isReachable(block->id)) continue;
      for (Instr& instr : *block)
        find(instr);
    }
    for (auto& [key, word] : words_)
      std::erase_if(word.readers, [&](Instr* reader) { return loadInsteadOfCopy(*reader, word); });
    std::erase_if(words_, [](const auto& entry) { return entry.second.readers.empty(); });
    if (words_.empty()) return changed_;

    std::vector<DoubleWord*> order;
    for (auto& [key, word] : words_)
      order.push_back(&word);
    std::stable_sort(order.begin(), order.end(),
                     [](const DoubleWord* a, const DoubleWord* b) { return a->weight > b->weight; });
    const int all = static_cast<int>(context_.target.registerCount(File::UR)) - kSpareRegisters;
    int room = all - static_cast<int>(namedRegisters(function_, File::UR));
    if (room < 2 * static_cast<int>(order.size())) // the live registers decide
      room = all - static_cast<int>(function_.analyses().pressure().maximum()[static_cast<unsigned>(File::UR)]);
    for (DoubleWord* word : order) {
      if (word->readers.size() == 1 && isUniformLoad(*word->readers.front()))
        continue; // already loaded for all readers
      // Pairs are aligned, so a single word may cost the adjacent register, too.
      if (room >= 2)
        room -= 2;
      else if (!fitsBetween(*word)) {
        context_.remarks.missed(word->readers.front(),
                                fmt::format("c[{:#x}][{:#x}] not moved to a uniform register: all are in use",
                                            word->bank, word->firstByte()));
        continue;
      }
      load(*word);
      for (Instr* reader : word->readers)
        changed_ += replace(*reader, *word);
    }
    return changed_;
  }

 private:
  static bool isCandidate(const Instr& instr, unsigned slot) {
    const ori::Operand& o = instr.op_(slot);
    if (o.isDef || !o.isConst() || o.reg != Operand::kNoReg || o.imm < 0) return false;
    const unsigned width = isa::operandWidth(instr.op, instr.mods, slot);
    return (width == 1 && o.imm % 4 == 0) || (width == 2 && o.imm % 8 == 0);
  }

  /// The uniform operand that replaces the constant, with its modifiers.
  static Operand uniform(const Operand& o, Operand reg) {
    reg.flags |= static_cast<std::uint8_t>(o.flags & (Operand::kNeg | Operand::kAbs | Operand::kNot));
    reg.half = o.half;
    return reg;
  }

  void find(Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    if (isUniformLoad(instr)) { // the instruction table gives its constant no width
      const ori::Operand& from = instr.op_(1);
      return add(instr, from.bank, from.imm, instr.op_(0).width);
    }
    if (isLaneLoad(instr)) return add(instr, instr.op_(1).imm, instr.op_(3).imm, instr.op_(0).width);
    // Loads of constants and copies have separate forms, and are the cheapest path to file R.
    if (row.has(isa::Flag::Uniform) || row.has(isa::Flag::ConstLoad) || row.has(isa::Flag::Copy) || row.isPseudo())
      return;
    for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
      if (!isCandidate(instr, slot)) continue;
      const Operand& o = instr.op_(slot);
      const unsigned width = isa::operandWidth(instr.op, instr.mods, slot);
      InstrDraft draft(instr);
      if (!placeUniform(draft, slot, uniform(o, Operand::virt(File::UR, 0, width)))) {
        context_.remarks.missed(
            &instr, fmt::format("{} keeps its constant operand: no form takes a uniform register there", row.mnemonic));
        continue;
      }
      add(instr, o.bank, o.imm, width);
    }
  }

  /// The copy of a uniform register that is the instruction's other source and has no other use; null if there is none.
  Instr* copyOfUniform(const Instr& instr, const ori::Operand& source) const {
    if (!source.isReg(File::R) || !source.isVirtual() || source.width != 1 || source.isDef) return nullptr;
    Instr* copy = function_.singleDef(source.reg);
    if (!copy || copy->block != instr.block || copy->isGuarded() || !isa::desc(copy->op).has(isa::Flag::Copy))
      return nullptr;
    const ori::Operand& from = copy->op_(1);
    if (!from.isReg(File::UR) || !from.isVirtual() || from.width != 1 || !function_.singleDef(from.reg)) return nullptr;
    unsigned uses = 0;
    function_.forEachUse(source.reg, [&](ori::Ref) { ++uses; });
    return uses == 1 && function_.vreg(source.reg).width == 1 ? copy : nullptr;
  }

  /// Saves an instruction where one reads a constant and a copy of a uniform register: it reads the uniform register
  /// directly, and the constant is loaded to a vector register instead of the copy.
  bool loadInsteadOfCopy(Instr& instr, const DoubleWord& word) {
    if (instr.block->loopDepth != 0 || isUniformLoad(instr)) return false;
    std::optional<unsigned> constant;
    for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
      if (!isCandidate(instr, slot) || instr.op_(slot).bank != word.bank) continue;
      if (instr.op_(slot).imm / 8 * 8 != word.offset) continue;
      if (constant) return false;
      constant = slot;
    }
    if (!constant || isa::operandWidth(instr.op, instr.mods, *constant) != 1) return false;
    for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
      const ori::Operand& source = instr.op_(slot);
      Instr* copy = copyOfUniform(instr, source);
      if (!copy) continue;
      const Operand loaded = function_.use(function_.newVReg(File::R, 1)), place = instr.op_(*constant).value();
      InstrDraft draft(instr);
      draft.operands[*constant] = uniform(place, loaded);
      if (!placeUniform(draft, slot, uniform(source.value(), copy->op_(1).value()))) continue;
      ori::Builder b = ori::Builder::before(function_, copy);
      b.setSource(instr.source);
      b.emit(Op::LDC, {loaded, Operand::immediate(place.bank), Operand::rz(), Operand::immediate(place.imm)},
             {{isa::Mod::Size, isa::MemSize::B32}});
      commit(function_, instr, draft);
      function_.erase(copy);
      ++changed_;
      return true;
    }
    return false;
  }

  /// Whether the two words are read by close consecutive instructions, so that they need a register pair for a short
  /// time only.
  bool fitsBetween(const DoubleWord& word) {
    const Block* block = word.readers.front()->block;
    if (word.width() != 2 || word.readers.size() < 2 || !divergence_.isUniformBlock(block->id)) return false;
    if (places_.empty()) numberInstructions();
    const std::uint32_t first = places_[word.readers.front()->id], last = places_[word.readers.back()->id];
    for (const Instr* reader : word.readers)
      if (reader->block != block) return false;
    if (last - first > kClose) return false;
    for (std::uint32_t at = first; at <= last; ++at)
      if (pairsAt_[at] == kPairsBetween) return false;
    for (std::uint32_t at = first; at <= last; ++at)
      ++pairsAt_[at];
    return true;
  }

  void numberInstructions() {
    places_.assign(function_.instrIdCount(), 0);
    std::uint32_t next = 0;
    for (const Block* block : function_.layout())
      for (const Instr& instr : *block)
        places_[instr.id] = next++;
    pairsAt_.assign(next, 0);
  }

  /// Whether the instruction is a load that phase 74 has made already: its readers can use the words of a common load.
  bool isUniformLoad(const Instr& instr) const {
    if (instr.op != Op::ULDC || instr.isGuarded() || !isCandidate(instr, 1)) return false;
    const auto size = isa::modAs<isa::MemSize>(instr, isa::Mod::Size);
    const ori::Operand& to = instr.op_(0);
    if (to.width == 2 && instr.op_(1).imm % 8 != 0) return false;
    return (size == isa::MemSize::B32 || size == isa::MemSize::B64) && to.isVirtual() &&
           function_.singleDef(to.reg) == &instr && to.width == function_.vreg(to.reg).width;
  }

  /// Whether the instruction is a load to vector registers that phase 74 has kept, since only some lanes of the warp
  /// are active, and whose readers accept uniform registers.
  bool isLaneLoad(const Instr& instr) {
    if (instr.op != Op::LDC || instr.isGuarded() || divergence_.isUniformBlock(instr.block->id)) return false;
    const ori::Operand& to = instr.op_(0);
    const std::int32_t offset = instr.op_(3).imm;
    if (!instr.op_(1).isImm() || !instr.op_(2).isZeroReg() || !instr.op_(3).isImm() || offset < 0) return false;
    const auto size = isa::modAs<isa::MemSize>(instr, isa::Mod::Size);
    if (size == isa::MemSize::B32 ? offset % 4 != 0 : size != isa::MemSize::B64 || offset % 8 != 0) return false;
    return to.isReg(File::R) && to.isVirtual() && function_.singleDef(to.reg) == &instr &&
           to.width == function_.vreg(to.reg).width &&
           !readersFromUniform(instr, Operand::virt(File::UR, 0, to.width)).empty();
  }

  /// Rewrites the readers of a vector load to read the words from `loaded`; returns none if one of them has no form for
  /// that.
  std::vector<std::pair<Instr*, InstrDraft>> readersFromUniform(const Instr& load, const Operand& loaded) {
    std::vector<std::pair<Instr*, InstrDraft>> readers;
    bool fits = true;
    function_.forEachUse(load.op_(0).reg, [&](ori::Ref use) {
      Instr& reader = *use.owner;
      const isa::InstrDesc& row = isa::desc(reader.op);
      if (row.has(isa::Flag::Uniform) || row.has(isa::Flag::Copy) || row.isPseudo()) fits = false;
      if (!fits) return;
      auto known = std::ranges::find(readers, &reader, &std::pair<Instr*, InstrDraft>::first);
      if (known == readers.end()) known = readers.insert(readers.end(), {&reader, InstrDraft(reader)});
      const Operand old = use->value();
      fits = placeInstead(known->second, old,
                          uniform(old, ori::component(loaded, old.sub, std::max<unsigned>(old.width, 1))));
    });
    if (!fits) readers.clear();
    return readers;
  }

  void add(Instr& instr, unsigned bank, std::int32_t offset, unsigned width) {
    const std::int32_t start = offset / 8 * 8;
    DoubleWord& word = words_[{bank, start}];
    word.bank = bank;
    word.offset = start;
    word.isWordRead[offset % 8 / 4] = true;
    if (width == 2) word.isWordRead[1] = true;
    if (word.readers.empty() || word.readers.back() != &instr) word.readers.push_back(&instr);
    word.weight += std::int64_t{1} << 3 * std::min<unsigned>(instr.block->loopDepth, 6);
    word.dominator =
        word.dominator == ori::kNoId ? instr.block->id : dominators_.commonDominator(word.dominator, instr.block->id);
  }

  /// Places the load: in the closest convergent block outside loops that dominates all readers.
  void load(DoubleWord& word) {
    BlockId at = word.dominator;
    while (dominators_.idom(at) != ori::kNoId &&
           (!divergence_.isUniformBlock(at) || function_.block(at)->loopDepth != 0))
      at = dominators_.idom(at);
    Block* block = function_.block(at);
    Instr* where = block->last && ori::isTerminator(block->last->op) ? block->last : nullptr;
    for (Instr* reader : word.readers)
      if (reader->block == block) {
        where = reader; // readers are in instruction order within a block
        break;
      }
    word.loaded = function_.use(function_.newVReg(File::UR, word.width()));
    function_.vreg(word.loaded.reg).divergent = false;
    ori::Builder b = where ? ori::Builder::before(function_, where) : ori::Builder(function_, block);
    b.setSource(word.readers.front()->source);
    Instr* uldc = b.emit(Op::ULDC, {word.loaded, Operand::constant(word.bank, word.firstByte(), word.width())},
                         {{isa::Mod::Size, word.width() == 2 ? isa::MemSize::B64 : isa::MemSize::B32}});
    context_.remarks.applied(
        uldc, fmt::format("ULDC of c[{:#x}][{:#x}] for {} uses", word.bank, word.firstByte(), word.readers.size()));
  }

  unsigned replace(Instr& instr, const DoubleWord& word) {
    if (isUniformLoad(instr)) return replaceLoad(instr, word);
    if (instr.op == Op::LDC) return replaceLaneLoad(instr, word);
    unsigned changed = 0;
    for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
      const ori::Operand& o = instr.op_(slot);
      if (!isCandidate(instr, slot) || o.bank != word.bank || o.imm / 8 * 8 != word.offset) continue;
      const unsigned width = isa::operandWidth(instr.op, instr.mods, slot);
      const auto first = static_cast<unsigned>(o.imm - word.firstByte()) / 4;
      InstrDraft draft(instr);
      if (!placeUniform(draft, slot, uniform(o.value(), ori::component(word.loaded, first, width)))) continue;
      commit(function_, instr, draft);
      ++changed;
    }
    return changed;
  }

  /// Redirects the readers of this load to the register of the common load.
  unsigned replaceLoad(Instr& load, const DoubleWord& word) {
    const auto first = static_cast<unsigned>(load.op_(1).imm - word.firstByte()) / 4;
    function_.forEachUse(load.op_(0).reg, [&](ori::Ref use) {
      function_.setOperand(use, uniform(*use, ori::component(word.loaded, first + use->sub, use->width)));
    });
    function_.erase(&load);
    return 1;
  }

  /// The same for a vector load, unless a reader has got another uniform register meanwhile.
  unsigned replaceLaneLoad(Instr& load, const DoubleWord& word) {
    const auto first = static_cast<unsigned>(load.op_(3).imm - word.firstByte()) / 4;
    const auto readers = readersFromUniform(load, ori::component(word.loaded, first, load.op_(0).width));
    for (const auto& [reader, draft] : readers)
      commit(function_, *reader, draft);
    if (!readers.empty()) function_.erase(&load);
    return !readers.empty();
  }

  ori::Function& function_;
  const ori::Divergence& divergence_;
  PhaseContext& context_;
  const ori::DomTree& dominators_;
  std::map<std::pair<unsigned, std::int32_t>, DoubleWord> words_; // by bank and offset
  std::vector<std::uint32_t> places_;                             // by instruction id
  std::vector<std::uint8_t> pairsAt_; // by position: the pairs that fitsBetween has assigned
  unsigned changed_ = 0;
};

} // namespace

bool readsConstantsFromUniform(const PhaseContext& context) {
  const std::int64_t knob = context.knobs.get(Knob::UniformRegForConstants);
  return knob < 0 ? context.target.has(isa::Capability::UniformConstants) : knob != 0;
}

unsigned moveConstantOperands(ori::Function& function, const ori::Divergence& divergence, PhaseContext& context) {
  return ConstantMover(function, divergence, context).run();
}

} // namespace orias::phases
