#include "regalloc/spilled_predicates.h"

#include "ori/builder.h"

#include <array>
#include <unordered_map>
#include <vector>

namespace orias::regalloc {

using isa::File;
using isa::Op;
using ori::Instr;
using ori::Operand;
using ori::VRegId;
using IsaOperand = isa::Operand;

namespace {

/// Operands of PLOP3, and of the ISETP and SEL of spill code.
constexpr unsigned kFirstSource = 2, kSources = 3, kLut = 5, kReloadedWord = 2;

class PredicateCombiner {
 public:
  PredicateCombiner(ori::Function& function, SpillState& state) : function_(function), state_(state) {}

  bool run() {
    findWords();
    if (predicateOf_.empty()) return false;
    std::vector<Instr*> candidates;
    for (const ori::Block* block : function_.layout())
      for (Instr* at = block->first; at; at = at->next)
        if (at->op == Op::PLOP3) candidates.push_back(at);
    bool changed = false;
    for (Instr* plop : candidates)
      changed |= combine(*plop);
    return changed;
  }

 private:
  /// A source of a PLOP3: a predicate, or the word that it is reloaded from.
  struct Source {
    IsaOperand predicate;
    Instr* reload = nullptr;
    VRegId word = ori::kNoId;
  };

  /// Finds the words that predicates are spilled to. A word that several predicates share represents none of them.
  void findWords() {
    for (const ori::Block* block : function_.layout())
      for (Instr* at = block->first; at; at = at->next) {
        const SpillMove* move = state_.assignment.fileMove(*at);
        if (!move) continue;
        const Operand &to = at->op_(move->reg), &from = at->op_(move->from);
        const Operand* word = to.file == File::R && from.file == File::P   ? &to
                              : to.file == File::P && from.file == File::R ? &from
                                                                           : nullptr;
        if (!word || !word->isVirtual()) continue;
        const Operand& predicate = word == &to ? from : to;
        const VRegId original = predicate.isVirtual() && word->width == 1 && function_.vreg(word->reg).width == 1
                                    ? state_.assignment.standsFor[predicate.reg]
                                    : ori::kNoId;
        const auto [known, isNew] = predicateOf_.emplace(word->reg, original);
        if (!isNew && known->second != original) known->second = ori::kNoId;
      }
  }

  /// The predicate that is spilled to a word; kNoId if there is none, or several.
  VRegId predicateIn(VRegId word) const {
    const auto found = predicateOf_.find(word);
    return found == predicateOf_.end() ? ori::kNoId : found->second;
  }

  /// The only use of a register; null if there are others.
  Instr* onlyUse(VRegId v) const {
    Instr* only = nullptr;
    unsigned count = 0;
    function_.forEachUse(v, [&](ori::Ref use) {
      only = use.owner;
      ++count;
    });
    return count == 1 ? only : nullptr;
  }

  /// The reload of a predicate before the instruction, if nothing else uses its result.
  Source sourceOf(const Instr& reader, const Operand& o) const {
    Source source{o.value()};
    if (!o.isVirtual() || o.file != File::P) return source;
    Instr* def = function_.singleDef(o.reg);
    if (!def || def->op != Op::ISETP || def->block != reader.block || def->isGuarded() ||
        !state_.assignment.fileMove(*def) || onlyUse(o.reg) != &reader)
      return source;
    const Operand& word = def->op_(kReloadedWord);
    if (predicateIn(word.reg) == ori::kNoId) return source;
    source.reload = def;
    source.word = word.reg;
    return source;
  }

  /// Bit 4a + 2b + c of the result: the function of the PLOP3 on its sources without their negations. The bit of a
  /// source that is PT makes no difference.
  static unsigned truthTable(const Instr& plop) {
    const auto lut = static_cast<unsigned>(plop.op_(kLut).imm);
    unsigned table = 0;
    for (unsigned row = 0; row < 8; ++row) {
      unsigned read = 0;
      for (unsigned i = 0; i < kSources; ++i) {
        const Operand& o = plop.op_(kFirstSource + i);
        const bool value = o.isZeroReg() || (row >> (2 - i) & 1) != 0;
        read |= static_cast<unsigned>(value != ((o.flags & IsaOperand::kNot) != 0)) << (2 - i);
      }
      table |= (lut >> read & 1) << row;
    }
    return table;
  }

  bool combine(Instr& plop) {
    const Operand& result = plop.op_(0);
    if (plop.isGuarded() || !result.isVirtual() || !plop.op_(1).isZeroReg() || state_.assignment.fileMove(plop))
      return false;
    std::array<Source, kSources> sources;
    unsigned reloads = 0, predicates = 0;
    for (unsigned i = 0; i < kSources; ++i) {
      const Operand& o = plop.op_(kFirstSource + i);
      sources[i] = sourceOf(plop, o);
      reloads += sources[i].reload != nullptr;
      predicates += !o.isZeroReg();
    }
    if (reloads == 0) return false;
    const unsigned table = truthTable(plop);
    if (reloads == predicates) return combineWords(plop, sources, table);
    return reloads == 1 && predicates == 2 && combineWithReload(plop, sources, table);
  }

  /// Tells the checker which predicate the word represents, now that instructions other than spill code use it.
  void represent(VRegId word) { state_.assignment.standsFor[word] = predicateOf_.at(word); }

  /// All sources are words. Their high bits are zero, and so must be those of the result.
  bool combineWords(Instr& plop, const std::array<Source, kSources>& sources, unsigned table) {
    if (table & 1) return false;
    const VRegId result = plop.op_(0).reg;
    Instr* store = onlyUse(result);
    if (store && (store->op != Op::SEL || !state_.assignment.fileMove(*store) || store->isGuarded() ||
                  store->block != plop.block || function_.singleDef(result) != &plop))
      store = nullptr;
    VRegId word = ori::kNoId;
    if (store) {
      word = store->op_(0).reg;
      if (predicateIn(word) != state_.assignment.standsFor[result]) store = nullptr;
    }
    ori::Builder b = ori::Builder::before(function_, &plop);
    b.setSource(plop.source);
    std::array<IsaOperand, kSources> words;
    for (unsigned i = 0; i < kSources; ++i)
      words[i] = sources[i].reload ? function_.use(sources[i].word) : IsaOperand::rz();
    b.emit(Op::LOP3,
           {store ? IsaOperand::pt() : plop.op_(0).value(), store ? function_.use(word) : IsaOperand::rz(), words[0],
            words[1], words[2], IsaOperand::immediate(static_cast<std::int32_t>(table)), IsaOperand::pt().notted()});
    for (const Source& source : sources)
      if (source.reload) {
        represent(source.word);
        function_.erase(source.reload);
      }
    if (store) {
      represent(word);
      function_.erase(store);
    }
    function_.erase(&plop);
    return true;
  }

  /// One source is a word and another one a predicate.
  bool combineWithReload(Instr& plop, const std::array<Source, kSources>& sources, unsigned table) {
    const Source *word = nullptr, *other = nullptr;
    unsigned wordBit = 0, otherBit = 0;
    for (unsigned i = 0; i < kSources; ++i)
      if (sources[i].reload) {
        word = &sources[i];
        wordBit = 4u >> i;
      } else if (!plop.op_(kFirstSource + i).isZeroReg()) {
        other = &sources[i];
        otherBit = 4u >> i;
      }
    // The function of both: bit 2 * word + other.
    unsigned both = 0;
    for (unsigned row = 0; row < 4; ++row) {
      const unsigned read = ((row & 2) != 0 ? wordBit : 0) | ((row & 1) != 0 ? otherBit : 0);
      both |= (table >> read & 1) << row;
    }
    for (const bool isZero : {false, true})
      for (const bool isNotted : {false, true})
        for (const isa::BoolOp op : {isa::BoolOp::AND, isa::BoolOp::OR, isa::BoolOp::XOR}) {
          unsigned made = 0;
          for (unsigned row = 0; row < 4; ++row) {
            const bool w = ((row & 2) != 0) != isZero, o = ((row & 1) != 0) != isNotted;
            const bool value = op == isa::BoolOp::AND ? w && o : op == isa::BoolOp::OR ? w || o : w != o;
            made |= static_cast<unsigned>(value) << row;
          }
          if (made != both) continue;
          IsaOperand predicate = other->predicate;
          predicate.flags =
              static_cast<std::uint8_t>((predicate.flags & ~IsaOperand::kNot) | (isNotted ? IsaOperand::kNot : 0));
          ori::Builder b = ori::Builder::before(function_, &plop);
          b.setSource(plop.source);
          b.emit(Op::ISETP,
                 {plop.op_(0).value(), IsaOperand::pt(), function_.use(word->word), IsaOperand::rz(), predicate},
                 {{isa::Mod::Cmp, isZero ? isa::ICmp::EQ : isa::ICmp::NE},
                  {isa::Mod::Type, isa::IntType::U32},
                  {isa::Mod::Bool, op}});
          represent(word->word);
          function_.erase(word->reload);
          function_.erase(&plop);
          return true;
        }
    return false;
  }

  ori::Function& function_;
  SpillState& state_;
  std::unordered_map<VRegId, VRegId> predicateOf_; // by word; kNoId: several. Looked up only
};

} // namespace

bool combineSpilledPredicates(ori::Function& function, SpillState& state) {
  return PredicateCombiner(function, state).run();
}

} // namespace orias::regalloc
