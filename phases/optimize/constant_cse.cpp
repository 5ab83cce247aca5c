// Shares constants: a constant that no instruction could have as an operand is put into a register once, not at each
// use. Texture handles are shared as well: words of constant memory and constants in a pair of uniform registers.

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "phases/occupancy.h"
#include "phases/optimize/rewriter.h"

#include <array>
#include <map>
#include <optional>
#include <tuple>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// The most uniform registers for constants; the others are for addresses and counters.
constexpr unsigned kMaxUniform = 40;

/// A constant, or a word at a fixed address of constant memory.
struct Word {
  int bank = -1;          ///< -1 for a constant
  std::int32_t value = 0; ///< the constant, or the offset in the bank
  auto operator<=>(const Word&) const = default;
};

/// A register of one or two words, each set once, by a move or load of a constant.
struct Constant {
  File file{};
  unsigned width = 0;
  std::array<Word, 2> words{};
  std::array<Instr*, 2> moves{};
};

/// The constant word that an unguarded instruction writes to a register of file R or UR.
std::optional<Word> constantWord(const Instr& instr) {
  if (instr.isGuarded() || instr.operandCount < 2) return std::nullopt;
  const ori::Operand& source = instr.op_(1);
  switch (instr.op) {
  case Op::MOV:
    if (!source.isImm() || !(instr.op_(2).isNone() || instr.op_(2).imm == 15)) return std::nullopt;
    return Word{-1, source.imm};
  case Op::UMOV:
    if (source.isImm()) return Word{-1, source.imm};
    return source.isZeroReg() ? std::optional(Word{}) : std::nullopt;
  case Op::ULDC:
    if (!source.isConst() || source.reg != Operand::kNoReg || instr.op_(0).width != 1 ||
        isa::modAs<isa::MemSize>(instr, isa::Mod::Size) != isa::MemSize::B32)
      return std::nullopt;
    return Word{source.bank, source.imm};
  default: return std::nullopt;
  }
}

class Sharing {
 public:
  Sharing(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), rewriter_(function), cfg_(function.analyses().cfg()),
        tree_(function.analyses().dominators()) {}

  bool run() {
    bool isChanged = false;
    // In preorder: once a subtree is left, its constants never dominate again.
    for (ori::BlockId id : tree_.preorder())
      function_.forEachSafe(*function_.block(id), [&](Instr& instr) { isChanged |= visit(instr); });
    return isChanged;
  }

 private:
  using Key = std::tuple<File, unsigned, std::array<Word, 2>>;
  struct Known {
    ori::VRegId reg;
    ori::BlockId block;
    bool isShared = false;
  };

  /// Computes how many registers are free. Called for the first pair, before anything changes.
  void measure() {
    if (isMeasured_) return;
    isMeasured_ = true;
    const unsigned live = function_.analyses().pressure().maximum()[static_cast<unsigned>(File::R)];
    const unsigned limit = registersUpToCliff(function_, live, context_);
    left_ = limit > live ? limit - live : 0;
  }

  bool visit(Instr& instr) {
    if (!constantWord(instr)) return false;
    const ori::VRegId reg = instr.op_(0).reg;
    const std::optional<Constant> constant = constantOf(instr);
    // The last of the moves completes the constant.
    if (!constant || !isComplete(*constant, instr)) return false;
    std::vector<Known>& known = known_[{constant->file, constant->width, constant->words}];
    while (!known.empty() && !tree_.dominates(known.back().block, instr.block->id))
      known.pop_back();
    if (known.empty() || !mayShare(known.back(), reg, constant->width)) {
      known.push_back({reg, instr.block->id});
      return false;
    }
    function_.forEachUse(reg, [&](ori::Ref use) {
      Operand value = use->value();
      value.reg = known.back().reg;
      function_.setOperand(use, value);
    });
    for (unsigned k = 0; k < constant->width; ++k)
      function_.erase(constant->moves[k]);
    return true;
  }

  std::optional<Constant> constantOf(const Instr& instr) const {
    const ori::Operand& result = instr.op_(0);
    if (!result.isReg() || !result.isVirtual() || !rewriter_.isSingle(result.reg)) return std::nullopt;
    const ori::VReg& reg = function_.vreg(result.reg);
    // Phase 74 shares single words of UR.
    if (reg.width > 2 || (reg.file == File::UR ? reg.width != 2 : reg.file != File::R)) return std::nullopt;
    Constant constant;
    constant.file = reg.file;
    constant.width = reg.width;
    bool isPlain = true;
    for (const ori::Ref o : function_.refs(result.reg)) {
      if (o->isDef) {
        const auto word = constantWord(*o.owner);
        if (!word || o->width != 1 || o.owner->block != instr.block) return std::nullopt;
        constant.moves[o->sub] = o.owner;
        constant.words[o->sub] = *word;
      } else {
        // A phi needs its own register anyway.
        isPlain = isPlain && !o.isGuard() && !isa::desc(o.owner->op).isPseudo();
      }
    }
    for (unsigned k = 0; k < constant.width; ++k)
      if (!constant.moves[k]) return std::nullopt;
    return isPlain ? std::optional(constant) : std::nullopt;
  }

  static bool isComplete(const Constant& constant, const Instr& last) {
    if (constant.width == 1) return true;
    const Instr* other = constant.moves[0] == &last ? constant.moves[1] : constant.moves[0];
    for (const Instr* at = last.prev; at; at = at->prev)
      if (at == other) return true;
    return false;
  }

  /// Whether a register is free for the longer live range. A register that is shared already costs nothing more.
  bool mayShare(Known& known, ori::VRegId reg, unsigned width) {
    if (function_.vreg(known.reg).align != function_.vreg(reg).align) return false;
    if (known.isShared) return true;
    measure();
    const bool isUniform = function_.vreg(reg).file == File::UR || (canBeUniform(known.reg) && canBeUniform(reg));
    unsigned& left = isUniform ? uniformLeft_ : left_;
    if (left < width) return false;
    left -= width;
    return known.isShared = true;
  }

  /// Whether all uses can have a uniform register (phase 74).
  bool canBeUniform(ori::VRegId reg) const {
    bool canBe = true;
    function_.forEachUse(reg, [&](ori::Ref use) {
      Operand uniform = use->value();
      uniform.file = File::UR;
      canBe = canBe && Rewriter::fitsWith(*use.owner, use.index(), uniform);
    });
    return canBe;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const Rewriter rewriter_;
  const ori::Cfg& cfg_;
  const ori::DomTree& tree_;
  bool isMeasured_ = false;
  unsigned left_ = 0, uniformLeft_ = kMaxUniform;
  std::map<Key, std::vector<Known>> known_;
};

} // namespace

bool shareConstants(ori::Function& function, PhaseContext& context) {
  return Sharing(function, context).run();
}

} // namespace orias::phases
