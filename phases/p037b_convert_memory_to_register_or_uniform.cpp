#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/ssa.h"
#include "phases/address_flow.h"
#include "phases/frame_objects.h"
#include "phases/indexed_locals.h"
#include "phases/phases.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;
using ori::VRegId;

namespace {

constexpr std::uint32_t kWordBytes = 4;
/// The most words that are live at the same time: more would be spilled again.
constexpr unsigned kMaxWords = 64;

/// One load or store with a known offset in its object.
struct Access {
  Instr* instr = nullptr;
  std::uint32_t offset = 0, bytes = 0;
  bool isStore = false;
  std::uint32_t firstWord() const { return offset / kWordBytes; }
  std::uint32_t lastWord() const { return (offset + bytes - 1) / kWordBytes; }
};

/// Parts of words are promotable when all accesses use the same part; this is the part.
struct Word {
  bool stays = false;
  bool isPart = false;
  std::uint32_t offset = 0, bytes = 0; ///< of the part
  VRegId reg = ori::kNoId;
  std::uint32_t number = 0;  ///< among all words of the function
  std::int64_t accesses = 0; ///< weighted by loops
};

/// An object of the frame.
struct Variable {
  std::uint32_t object = 0;
  const char* obstacle = nullptr;
  const Instr* where = nullptr; ///< of the obstacle
  std::vector<Access> accesses;
  std::vector<FrameAccess> all; ///< of a variable with indexed accesses
  bool isIndexed = false;
  std::map<std::uint32_t, Word> words;
};

/// A set of words.
class WordSet {
 public:
  explicit WordSet(std::size_t words = 0) : bits_((words + 63) / 64) {}
  bool has(std::uint32_t word) const { return (bits_[word / 64] >> (word % 64) & 1) != 0; }
  void add(std::uint32_t word) { bits_[word / 64] |= std::uint64_t{1} << (word % 64); }
  /// Adds the others, except for `without`. Returns whether any are new.
  bool add(const WordSet& others, const WordSet* without = nullptr) {
    bool isMore = false;
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      const std::uint64_t joined = bits_[i] | (others.bits_[i] & (without ? ~without->bits_[i] : ~std::uint64_t{0}));
      isMore |= joined != bits_[i];
      bits_[i] = joined;
    }
    return isMore;
  }

 private:
  std::vector<std::uint64_t> bits_;
};

/// The liveness of words by block.
class WordLiveness {
 public:
  WordLiveness(const ori::Cfg& cfg, std::size_t words)
      : cfg_(cfg), defined_(cfg.idCount(), WordSet(words)), liveIn_(defined_), liveOut_(defined_) {}
  /// Records an access; called in code order within each block.
  void access(ori::BlockId block, std::uint32_t word, bool isStore, bool isGuarded) {
    if (!isStore && !defined_[block].has(word)) liveIn_[block].add(word);
    if (isStore && !isGuarded) defined_[block].add(word);
  }
  void solve() {
    const auto order = cfg_.reversePostOrder();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = order.size(); i-- > 0;) {
        for (const ori::BlockId to : cfg_.successors(order[i]))
          liveOut_[order[i]].add(liveIn_[to]);
        changed |= liveIn_[order[i]].add(liveOut_[order[i]], &defined_[order[i]]);
      }
    }
  }
  bool isLive(ori::BlockId block, std::uint32_t word) const {
    return liveIn_[block].has(word) || liveOut_[block].has(word);
  }

 private:
  const ori::Cfg& cfg_;
  std::vector<WordSet> defined_, liveIn_, liveOut_; // by block
};

class Promoter {
 public:
  Promoter(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), firstNew_(static_cast<VRegId>(function.vregCount())) {}

  bool run() {
    const AddressFlow flow(function_, addressAssumptions(context_.knobs));
    std::vector<Variable> variables(function_.frame.size());
    for (std::uint32_t i = 0; i < variables.size(); ++i) {
      variables[i].object = i;
      variables[i].obstacle = flow.obstacle(i);
      variables[i].where = flow.obstacleAt(i);
    }
    IndexedLocals indexed(function_, flow, context_.knobs);
    for (const FrameAccess& a : flow.accesses()) {
      Variable& variable = variables[a.object];
      variable.all.push_back(a);
      if (a.isExact)
        variable.accesses.push_back({a.instr, static_cast<std::uint32_t>(a.offset), a.bytes, a.isStore});
      else if (!variable.isIndexed)
        variable.isIndexed = true, variable.where = a.instr;
    }
    for (Variable& variable : variables)
      if (!variable.obstacle && !variable.isIndexed) findWords(variable);
    takeIndexed(variables, indexed);
    chooseWords(variables);
    for (Variable& variable : variables) {
      if (variable.obstacle) {
        context_.remarks.missed(variable.where, fmt::format("local variable {} not promoted: {}",
                                                            function_.frame[variable.object].name, variable.obstacle));
        continue;
      }
      if (variable.words.empty()) continue;
      convert(variable, indexed);
      converted_.push_back(std::move(variable));
    }
    if (converted_.empty()) return dropUnnamedObjects(function_);
    function_.ssa = false; // the new registers have several definitions
    function_.noteCodeChange();
    ori::buildSsa(function_);
    oriPerformLiveDead(function_, context_); // the address computations
    dropUnnamedObjects(function_);
    tell();
    return true;
  }

 private:
  /// Which words may become registers.
  void findWords(Variable& variable) {
    for (const Access& a : variable.accesses)
      for (std::uint32_t w = a.firstWord(); w <= a.lastWord(); ++w) {
        const bool isPart = a.bytes < kWordBytes;
        const auto [at, isNew] = variable.words.try_emplace(w, Word{false, isPart, a.offset, a.bytes, ori::kNoId});
        Word& word = at->second;
        word.stays |= a.offset % std::min(a.bytes, kWordBytes) != 0 || word.isPart != isPart ||
                      (isPart && (word.offset != a.offset || word.bytes != a.bytes));
      }
    keepWholeAccesses(variable);
    if (variable.words.empty() && !variable.accesses.empty()) {
      variable.obstacle = "its components overlap";
      variable.where = variable.accesses.front().instr;
    }
  }

  /// Promotes a variable with indexed accesses as a whole, if registers suffice for all of its words.
  void takeIndexed(std::vector<Variable>& variables, const IndexedLocals& indexed) {
    std::size_t words = 0;
    for (const Variable& variable : variables)
      words += variable.words.size();
    for (Variable& variable : variables) {
      if (variable.obstacle || !variable.isIndexed) continue;
      const std::uint32_t more = function_.frame[variable.object].size / kWordBytes;
      variable.obstacle = words + more > kMaxWords ? "it is indexed" : indexed.obstacle(variable.object, variable.all);
      if (variable.obstacle) continue;
      words += more;
      for (std::uint32_t w = 0; w < more; ++w)
        variable.words.try_emplace(w);
    }
  }

  /// Leaves words in memory where too many would be live at the same time: first those with long live ranges and few
  /// accesses.
  void chooseWords(std::vector<Variable>& variables) {
    std::uint32_t count = 0;
    for (Variable& variable : variables)
      for (auto& [at, word] : variable.words)
        word.number = count++;
    if (count <= kMaxWords) return;
    const ori::Cfg& cfg = function_.analyses().cfg();
    WordLiveness liveness(cfg, count);
    std::map<const Instr*, std::size_t> order;
    for (ori::Block* block : function_.layout())
      for (Instr& instr : *block)
        order.emplace(&instr, order.size());
    std::vector<std::pair<const Access*, Variable*>> accesses;
    for (Variable& variable : variables)
      for (const Access& a : variable.accesses)
        accesses.emplace_back(&a, &variable);
    std::ranges::sort(accesses, {}, [&](const auto& entry) { return order.at(entry.first->instr); });
    for (const auto& [a, variable] : accesses) {
      const ori::BlockId block = a->instr->block->id;
      for (std::uint32_t w = a->firstWord(); w <= a->lastWord(); ++w) {
        const auto at = variable->words.find(w);
        if (at == variable->words.end()) continue;
        liveness.access(block, at->second.number, a->isStore, a->instr->isGuarded());
        constexpr unsigned kDeepest = 6, kTimesForLoop = 3; // eight times for each enclosing loop
        at->second.accesses += std::int64_t{1}
                               << (kTimesForLoop * std::min<unsigned>(a->instr->block->loopDepth, kDeepest));
      }
    }
    liveness.solve();
    struct Candidate {
      Variable* variable;
      std::uint32_t word;
      std::vector<ori::BlockId> blocks;
      std::int64_t accesses;
    };
    std::vector<Candidate> candidates;
    for (Variable& variable : variables)
      for (const auto& [at, word] : variable.words) {
        Candidate c{&variable, at, {}, word.accesses};
        for (const ori::BlockId id : cfg.reversePostOrder())
          if (liveness.isLive(id, word.number)) c.blocks.push_back(id);
        candidates.push_back(std::move(c));
      }
    std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
      return a.accesses * static_cast<std::int64_t>(b.blocks.size() + 1) >
             b.accesses * static_cast<std::int64_t>(a.blocks.size() + 1);
    });
    std::vector<unsigned> live(cfg.idCount(), 0);
    for (const Candidate& c : candidates) {
      if (std::ranges::any_of(c.blocks, [&](ori::BlockId id) { return live[id] >= kMaxWords; })) {
        c.variable->words.at(c.word).stays = true;
        continue;
      }
      for (const ori::BlockId id : c.blocks)
        ++live[id];
    }
    for (Variable& variable : variables) {
      const bool hadWords = !variable.words.empty();
      keepWholeAccesses(variable);
      if (hadWords && variable.words.empty()) variable.obstacle = "it needs too many registers";
    }
  }

  /// An access is replaced as a whole or not at all.
  void keepWholeAccesses(Variable& variable) {
    const auto staysAt = [&](std::uint32_t w) {
      const auto word = variable.words.find(w);
      return word == variable.words.end() || word->second.stays;
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (const Access& a : variable.accesses) {
        bool someStay = false, someLeave = false;
        for (std::uint32_t w = a.firstWord(); w <= a.lastWord(); ++w)
          (staysAt(w) ? someStay : someLeave) = true;
        if (!someStay || !someLeave) continue;
        for (std::uint32_t w = a.firstWord(); w <= a.lastWord(); ++w)
          if (const auto word = variable.words.find(w); word != variable.words.end()) word->second.stays = true;
        changed = true;
      }
    }
    std::erase_if(variable.words, [](const auto& entry) { return entry.second.stays; });
  }

  void convert(Variable& variable, IndexedLocals& indexed) {
    const std::string_view name = function_.frame[variable.object].name;
    for (auto& [at, word] : variable.words)
      word.reg = function_.newVReg(File::R, 1, name);
    for (const Access& a : variable.accesses) {
      if (!variable.words.contains(a.firstWord())) continue;
      if (isa::desc(a.instr->op).has(isa::Flag::Load))
        load(variable, a);
      else
        store(variable, a);
      function_.erase(a.instr);
    }
    if (!variable.isIndexed) return;
    std::vector<VRegId> registers;
    for (const auto& [at, word] : variable.words)
      registers.push_back(word.reg);
    for (const FrameAccess& a : variable.all) {
      if (a.isExact) continue;
      indexed.emit(a, registers);
      function_.erase(a.instr);
    }
    indexed.dropBase(variable.object);
  }

  ori::Builder builderAt(const Access& a) {
    ori::Builder b = ori::Builder::before(function_, a.instr);
    b.setSource(a.instr->source);
    b.setGuard(a.instr->guard().value());
    return b;
  }

  void load(const Variable& variable, const Access& a) {
    ori::Builder b = builderAt(a);
    const Operand to = a.instr->op_(isa::desc(a.instr->op).slot(isa::SlotId::Rd)).value();
    const Word& first = variable.words.at(a.firstWord());
    if (first.isPart) {
      const auto size = isa::modAs<isa::MemSize>(*a.instr, isa::Mod::Size);
      const bool isSigned = size == isa::MemSize::S8 || size == isa::MemSize::S16;
      // Bytes of the register, then zeros (4 is the first byte of RZ) or the sign (8 and more: of that byte).
      const std::int32_t selector = a.bytes == 1 ? (isSigned ? 0x8880 : 0x4440) : (isSigned ? 0x9910 : 0x4410);
      b.emit(Op::PRMT, {to, function_.use(first.reg), Operand::immediate(selector), Operand::rz()});
      return;
    }
    for (unsigned i = 0; i < a.bytes / kWordBytes; ++i)
      b.copy(ori::component(to, i), function_.use(variable.words.at(a.firstWord() + i).reg));
  }

  void store(const Variable& variable, const Access& a) {
    ori::Builder b = builderAt(a);
    const Operand from = a.instr->op_(isa::desc(a.instr->op).slot(isa::SlotId::Rb)).value();
    const unsigned words = std::max(1u, a.bytes / kWordBytes);
    for (unsigned i = 0; i < words; ++i)
      b.copy(function_.use(variable.words.at(a.firstWord() + i).reg), ori::component(from, i));
  }

  /// Uniform values are left to phase 74, which weighs their consumers, cross-file copies and the UR pressure as a
  /// whole.
  void tell() {
    if (!context_.remarks.wanted()) return;
    const ori::Divergence& divergence = function_.analyses().divergence();
    for (const Variable& variable : converted_) {
      // SSA form has given each value a separate register with the same name.
      const std::string_view name = function_.vreg(variable.words.begin()->second.reg).name;
      bool isUniform = true;
      for (VRegId v = firstNew_; v < function_.vregCount(); ++v)
        isUniform &= function_.vreg(v).name != name || !divergence.isDivergent(v);
      context_.remarks.applied(nullptr,
                               fmt::format("promoted local variable {} to {} register{}{}", name, variable.words.size(),
                                           variable.words.size() == 1 ? "" : "s",
                                           isUniform ? ", warp-uniform: a candidate for phase 74" : ", divergent: R"),
                               static_cast<std::int64_t>(variable.words.size()));
    }
  }

  ori::Function& function_;
  PhaseContext& context_;
  const VRegId firstNew_;
  std::vector<Variable> converted_;
};

} // namespace

/// Phase 37b. Promotes words of local variables to registers if every access is known. Values that are uniform over the
/// lanes are left to phase 74, which moves them to UR. The conditions: The address of the variable can be followed to
/// all its uses (AddressFlow), and is used only by loads and stores of known offsets (local or generic ones) within its
/// bounds, or, for small variables that are seldom accessed, of any offsets (IndexedLocals). All accesses of a word
/// agree on which bytes of it they mean. Not too many words are live at the same time. If one of the last two
/// conditions fails, only the words concerned stay in memory. Unused variables leave the frame. Knob
/// GeneralOptimizationGate (487): 0 disables the phase.
bool convertMemoryToRegisterOrUniform(ori::Function& function, PhaseContext& context) {
  if (function.frame.empty() || !context.knobs.enabled(Knob::GeneralOptimizationGate)) return false;
  return Promoter(function, context).run();
}

} // namespace orias::phases
