#include "phases/uniform/convert.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/uniform/consumers.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;
using ori::VRegId;

namespace {

/// The most constants in loops that get a register in the preheader: each occupies it for the whole loop.
constexpr std::size_t kMaxHoisted = 8;

class Converter {
 public:
  Converter(ori::Function& function, const UniformPlan& plan, const ori::Divergence& divergence)
      : function_(function), plan_(plan), divergence_(divergence), dominators_(function.analyses().dominators()) {}

  unsigned run() {
    makeRegisters();
    for (ori::Block* block : function_.layout()) {
      function_.forEachSafe(*block, [&](Instr& instr) {
        if (instr.id < plan_.forms.size()) convert(instr);
      });
      forget();
    }
    for (ori::Block* block : function_.layout())
      for (Instr& instr : *block)
        if (isa::desc(instr.op).has(isa::Flag::Uniform)) foldNumbers(instr);
    return moved_;
  }

 private:
  void makeRegisters() {
    const auto count = static_cast<VRegId>(function_.vregCount());
    uniform_.assign(count, ori::kNoId);
    whole_.assign(count, Operand{});
    for (VRegId v = 0; v < count; ++v) {
      if (!plan_.moves[v]) continue;
      const ori::VReg reg = function_.vreg(v);
      uniform_[v] = function_.newVReg(reg.file == File::P ? File::UP : File::UR, reg.width, reg.name);
      function_.vreg(uniform_[v]).divergent = false;
      oldOf_[uniform_[v]] = v;
      if (plan_.spreadsAfterWriters[v]) whole_[v] = function_.use(function_.newVReg(reg.file, reg.width, reg.name));
    }
  }

  void convert(Instr& instr) {
    if (plan_.isMoving(instr)) {
      move(instr);
    } else {
      feed(instr);
    }
    forgetWritten(instr);
  }

  /// The operand with the uniform register of its value.
  Operand inUniform(Operand o) const {
    o.file = o.file == File::P ? File::UP : File::UR;
    o.reg = uniform_[o.reg];
    return o;
  }
  static Operand withMarksOf(Operand to, const Operand& from) {
    to.flags |= static_cast<std::uint8_t>(from.flags & (Operand::kNeg | Operand::kAbs | Operand::kNot));
    to.half = from.half;
    return to;
  }
  static Operand plain(Operand o) {
    o.flags &= static_cast<std::uint8_t>(~(Operand::kNeg | Operand::kAbs | Operand::kNot));
    o.half = Operand::Half::None;
    return o;
  }

  /// Converts the instruction to its uniform form.
  void move(Instr& instr) {
    const UniformForm& form = *plan_.forms[instr.id];
    std::vector<Operand> operands = form.operands;
    for (unsigned i = 0; i < operands.size(); ++i) {
      Operand& o = operands[i];
      switch (form.sources[i]) {
      case UniformSource::Keep:
        // VOTEU reads a vector predicate, too.
        if (plan_.isMoving(o))
          o = isa::accepts(form.op, form.mods, i, inUniform(o)) ? inUniform(o)
                                                                : withMarksOf(spread(instr, plain(o)), o);
        break;
      case UniformSource::Register: o = plan_.isMoving(o) ? inUniform(o) : bring(instr, o); break;
      case UniformSource::LoadConstant: o = loadConstant(instr, o, isa::operandWidth(form.op, form.mods, i)); break;
      case UniformSource::MoveImmediate: o = moveImmediate(instr, o); break;
      }
    }
    function_.rewrite(&instr, form.op, operands);
    instr.mods = form.mods;
    function_.setGuard(&instr, Operand::zero(isa::desc(form.op).guardFile()));
    for (const Operand& o : form.operands)
      if (plan_.isMoving(o) && !whole_[o.reg].isNone() && writes(instr, uniform_[o.reg])) {
        ori::Builder behind = ori::Builder::after(function_, &instr);
        behind.setSource(instr.source);
        behind.copy(whole_[o.reg], function_.use(uniform_[o.reg]));
      }
    ++moved_;
  }

  static bool writes(const Instr& instr, VRegId v) {
    return std::any_of(instr.ops().begin(), instr.ops().end(),
                       [&](const ori::Operand& o) { return o.isDef && o.isVirtual() && o.reg == v; });
  }

  /// Rewrites the operands of an instruction that does not move but reads values that have moved.
  void feed(Instr& instr) {
    if (isBroadcast(function_, instr) && plan_.isMoving(instr.op_(2).value())) {
      const Operand to = instr.op_(1).value(), from = inUniform(instr.op_(2).value());
      function_.rewrite(&instr, Op::COPY, std::array{to, from});
      function_.setGuard(&instr, Operand::pt());
      return;
    }
    InstrDraft draft(instr);
    bool changed = false;
    std::vector<Operand> rejected;
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      const ori::Operand& o = instr.op_(i);
      if (o.isDef || !plan_.isMoving(o.value())) continue;
      if (instr.op == Op::COPY && !o.neg() && !o.inverted()) { // copies accept any file
        draft.operands[i] = inUniform(o.value());
        changed = true;
      } else if (placeInstead(draft, o.value(), inUniform(o.value()))) {
        changed = true;
      } else {
        rejected.push_back(o.value());
      }
    }
    for (const Operand& o : rejected)
      for (unsigned slot = 0; slot < draft.operands.size(); ++slot) {
        Operand& there = draft.operands[slot];
        // When sources have been swapped, the modifiers change, too: a select inverts its predicate.
        if (!there.isReg(o.file) || !there.isVirtual() || there.reg != o.reg || there.sub != o.sub ||
            there.width != o.width)
          continue;
        there = withMarksOf(spread(instr, plain(o)), there);
        changed = true;
      }
    if (changed) commit(function_, instr, draft);
    const ori::Operand& guard = instr.guard();
    if (plan_.isMoving(guard.value()))
      function_.moveGuard(&instr, withMarksOf(spread(instr, plain(guard.value())), guard.value()));
  }

  /// Folds numbers that UMOV has put into registers into operands that accept them.
  void foldNumbers(Instr& instr) {
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      const ori::Operand& o = instr.op_(i);
      if (o.isDef || !o.isReg(File::UR) || !o.isVirtual() || o.width != 1 || o.neg() || o.abs() || o.inverted())
        continue;
      if (function_.vreg(o.reg).width != 1) continue;
      const Instr* def = function_.singleDef(o.reg);
      if (!def || def->op != Op::UMOV || def->isGuarded() || !def->op_(1).isImm()) continue;
      InstrDraft draft(instr);
      if (placeInstead(draft, o.value(), def->op_(1).value())) commit(function_, instr, draft);
    }
  }

  // --- cross-file copies; each serves the rest of its block, or is valid until its source changes

  using Key = std::tuple<VRegId, unsigned, unsigned>; // register, first component, components

  /// A cross-file copy from the uniform file to the vector file.
  Operand spread(Instr& where, const Operand& o) {
    if (!whole_[o.reg].isNone()) return ori::component(whole_[o.reg], o.sub, o.width);
    const Key key{o.reg, o.sub, o.width};
    if (auto known = spread_.find(key); known != spread_.end()) return known->second;
    const Operand to = function_.use(function_.newVReg(o.file, o.width, function_.vreg(o.reg).name));
    builder(where).copy(to, inUniform(o));
    return spread_[key] = to;
  }

  /// A cross-file copy from the vector file, for a uniform value, to the uniform file. A constant that was loaded for
  /// the lanes is loaded again.
  Operand bring(Instr& where, const Operand& o) {
    const Operand source = plain(o);
    if (const std::optional<Operand> constant = constantPlaceOf(function_, source))
      return withMarksOf(loadConstant(where, *constant, source.width), o);
    const Key key{o.reg, o.sub, o.width};
    auto known = brought_.find(key);
    if (known == brought_.end()) {
      const File file = o.file == File::P ? File::UP : File::UR;
      const Operand to = function_.use(function_.newVReg(file, o.width));
      ori::Builder b = builder(where);
      if (file == File::UP)
        b.emit(Op::VOTEU, {Operand::zero(File::UR), to, source}, {{isa::Mod::VoteMode, isa::VoteMode::ANY}});
      else
        for (unsigned c = 0; c < o.width; ++c)
          b.emit(Op::R2UR, {Operand::pt(), ori::component(to, c), ori::component(source, c)});
      known = brought_.emplace(key, to).first;
    }
    return withMarksOf(known->second, o);
  }

  Operand loadConstant(Instr& where, const Operand& o, unsigned width) {
    const Key key{o.bank, static_cast<unsigned>(o.imm), width};
    ori::BlockId above = where.block->id;
    while (function_.block(above)->loopDepth != 0 && dominators_.idom(above) != ori::kNoId)
      above = dominators_.idom(above);
    const bool isHoisted =
        above != where.block->id && divergence_.isUniformBlock(above) && hoisted_.size() < kMaxHoisted;
    Operand& loaded = isHoisted ? hoisted_[{above, key}] : constants_[key];
    if (loaded.isNone()) {
      loaded = function_.use(function_.newVReg(File::UR, width));
      ori::Builder b = isHoisted ? atEndOf(*function_.block(above)) : builder(where);
      b.setSource(where.source);
      b.emit(Op::ULDC, {loaded, Operand::constant(o.bank, o.imm, width)},
             {{isa::Mod::Size, width == 2 ? isa::MemSize::B64 : isa::MemSize::B32}});
    }
    return withMarksOf(loaded, o);
  }

  ori::Builder atEndOf(ori::Block& block) {
    return block.last && ori::isTerminator(block.last->op) ? ori::Builder::before(function_, block.last)
                                                           : ori::Builder(function_, &block);
  }

  Operand moveImmediate(Instr& where, const Operand& o) {
    const Operand to = function_.use(function_.newVReg(File::UR));
    builder(where).emit(Op::UMOV, {to, o});
    return to;
  }

  ori::Builder builder(Instr& where) {
    ori::Builder b = ori::Builder::before(function_, &where);
    b.setSource(where.source);
    return b;
  }

  void forget() {
    spread_.clear();
    brought_.clear();
    constants_.clear();
  }

  /// Forgets the cross-file copies of registers that the instruction writes. A value that moved is known by its old
  /// register.
  void forgetWritten(const Instr& instr) {
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isDef || !o.isVirtual()) continue;
      const auto drop = [&](std::map<Key, Operand>& copies, VRegId v) {
        copies.erase(copies.lower_bound({v, 0, 0}), copies.lower_bound({v + 1, 0, 0}));
      };
      drop(brought_, o.reg);
      if (o.file == File::UR || o.file == File::UP) {
        const auto old = oldOf_.find(o.reg);
        if (old != oldOf_.end()) drop(spread_, old->second);
      }
    }
  }

  ori::Function& function_;
  const UniformPlan& plan_;
  const ori::Divergence& divergence_;
  const ori::DomTree& dominators_;
  std::vector<VRegId> uniform_; // by old register
  std::vector<Operand> whole_;  // by old register: the vector copy of it, if there is one after each definition
  std::map<VRegId, VRegId> oldOf_;
  std::map<Key, Operand> spread_, brought_, constants_;
  std::map<std::pair<ori::BlockId, Key>, Operand> hoisted_; // constants that loops read
  unsigned moved_ = 0;
};

} // namespace

unsigned convertToUniform(ori::Function& function, const UniformPlan& plan, const ori::Divergence& divergence) {
  return Converter(function, plan, divergence).run();
}

} // namespace orias::phases
