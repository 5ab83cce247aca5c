#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "ori/module.h"
#include "phases/address_flow.h"
#include "phases/memory_access.h"
#include "phases/optimize/rewriter.h"
#include "phases/phases.h"
#include "support/diagnostics.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr std::uint16_t kWindows =
    AddressWord::kWindow | AddressWord::kWindow << 1 | AddressWord::kWindow << 2; // shared, constant, local

/// The space that QSPC tests for.
enum class Asked { Global, Local, Shared, Distributed };

bool isGenericAtomic(Op op) {
  return op == Op::ATOM || op == Op::ATOM_FLOAT || op == Op::ATOM_CAS;
}

bool isAbsent(const Instr& instr, isa::SlotId name) {
  const int slot = isa::desc(instr.op).slotIndex(name);
  return slot < 0 || instr.op_(static_cast<unsigned>(slot)).isNone() ||
         instr.op_(static_cast<unsigned>(slot)).isZeroReg();
}

bool mayFollow(const ori::Instr& instr) {
  return instr.op == Op::LD || instr.op == Op::ST || isGenericAtomic(instr.op) || instr.op == Op::QSPC;
}

/// Whether the instruction subtracts the window of a space from an address.
bool leavesSpace(const ori::Function& function, const Instr& instr) {
  if (instr.op != Op::IADD64 || !instr.op_(2).neg() || !instr.op_(2).isVirtual()) return false;
  const Instr* window = function.singleDef(instr.op_(2).reg);
  return window && window->op == Op::LDC && window->op_(1).isImm() && window->op_(1).imm == 0;
}

std::string_view nameOf(SpaceSet space) {
  switch (space) {
  case kInGlobal: return "global";
  case kInShared: return "shared";
  case kInConst: return "const";
  default: return "local";
  }
}

/// The modifiers of one instruction that another one has, too.
std::vector<isa::ModValue> commonMods(const Instr& from, Op to) {
  std::vector<isa::ModValue> mods;
  const isa::InstrDesc& row = isa::desc(to);
  for (const isa::ModDesc& mod : isa::desc(from.op).mods)
    if (mod.kind != Mod::None && row.modIndex(mod.kind) >= 0)
      mods.push_back({mod.kind, isa::getMod(from.op, from.mods, mod.kind)});
  return mods;
}

class SpaceResolver {
 public:
  SpaceResolver(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), flow_(function, addressAssumptions(context.knobs)), rw_(function),
        cfg_(function.analyses().cfg()), tree_(function.analyses().dominators()), target_(function.module().target()) {}

  bool run() {
    if (context_.knobs.enabled(Knob::ProcessBuiltinAssume))
      for (ori::Block* block : function_.layout())
        findAnswers(*block);
    std::vector<Instr*> work;
    for (ori::Block* block : function_.layout())
      for (Instr& instr : *block)
        if (mayFollow(instr) || instr.op == Op::IADD64) work.push_back(&instr);
    for (Instr* instr : work)
      visit(*instr);
    for (Instr* instr : doomed_)
      function_.erase(instr);
    if (hasAnswered_) decideBranches(function_);
    return isChanged_;
  }

 private:
  // --- known spaces of addresses

  /// Records the known answer in the successors of a branch on QSPC.
  void findAnswers(ori::Block& block) {
    const Instr* branch = ori::plainBranch(block);
    if (!branch || !branch->isGuarded() || block.fallthrough == ori::kNoId) return;
    const Operand guard = branch->guard().value();
    const Instr* question = guard.isVirtual() ? rw_.producer(guard, Op::QSPC) : nullptr;
    if (!question || question->isGuarded() || slotOf(*question, isa::SlotId::offset).imm != 0) return;
    const auto asked = static_cast<Asked>(isa::getMod(question->op, question->mods, Mod::Sub));
    if (asked != Asked::Local && asked != Asked::Shared) return;
    ori::BlockId to = block.fallthrough;
    for (const ori::Operand& o : branch->ops())
      if (o.isLabel() && !guard.inverted()) to = o.reg;
    if (to == cfg_.entry() || cfg_.predecessors(to).size() != 1) return;
    const Operand address = slotOf(*question, isa::SlotId::Ra).value();
    if (!address.isVirtual() || !rw_.isSingle(address.reg)) return;
    answers_[{address.reg, address.sub}].push_back({to, asked == Asked::Local ? kInLocal : kInShared});
  }

  /// The space of an access through `address` in a block, as far as a QSPC answer tells.
  SpaceSet answeredSpace(Operand address, ori::BlockId block) const {
    constexpr unsigned kMaxSteps = 8;
    for (unsigned step = 0; step < kMaxSteps && address.isVirtual(); ++step) {
      if (const auto known = answers_.find({address.reg, address.sub}); known != answers_.end())
        for (const auto& [at, space] : known->second)
          if (tree_.dominates(at, block)) return space;
      const Instr* sum = rw_.producer(address, Op::IADD64);
      if (!sum || sum->op_(1).neg() || sum->op_(2).neg()) break;
      const bool isFirst = isNumber(sum->op_(2).value());
      if (!isFirst && !isNumber(sum->op_(1).value())) break;
      address = sum->op_(isFirst ? 1 : 2).value();
    }
    return kElsewhere;
  }

  bool isNumber(const Operand& pair) const {
    return flow_.wordOf(pair, 0).bits == AddressWord::kNumber && flow_.wordOf(pair, 1).bits == AddressWord::kNumber;
  }

  static std::uint16_t windowBit(SpaceSet space) {
    return static_cast<std::uint16_t>(AddressWord::kWindow << (space == kInShared ? 0 : space == kInConst ? 1 : 2));
  }

  bool isWindow(const Operand& pair) const {
    const std::uint16_t bits = flow_.wordOf(pair, 0).bits;
    return bits != 0 && (bits & ~kWindows) == 0;
  }

  SpaceSet spacesAt(const Instr& instr) const {
    const Operand address = slotOf(instr, isa::SlotId::Ra).value();
    const SpaceSet spaces = flow_.spacesOf(address);
    return spaces & kElsewhere ? answeredSpace(address, instr.block->id) : spaces;
  }

  // --- addresses within their space

  std::uint32_t windowOffset(SpaceSet space) const {
    return space == kInLocal    ? target_.localWindowOffset()
           : space == kInShared ? target_.sharedWindowOffset()
                                : target_.constWindowOffset();
  }

  ori::Builder builderAfter(Instr* instr) {
    while (instr->op == Op::PHI && instr->next && instr->next->op == Op::PHI)
      instr = instr->next;
    ori::Builder b = ori::Builder::after(function_, instr);
    b.setSource(instr->source);
    return b;
  }

  Operand sum(ori::Builder& b, Operand base, const Operand& more) {
    if (!base.isReg()) {
      const Operand r = b.newR();
      b.emit(Op::MOV, {r, base});
      base = r;
    }
    const Operand r = b.newR();
    b.emit(Op::IADD3, {r, Operand::pt(), Operand::pt(), base, more, Operand::rz()});
    return r;
  }

  /// Returns the one-word address within its space for a generic address in two words. It is computed at the generic
  /// address's definition, or at `user`.
  Operand addressIn(SpaceSet space, const Operand& lo, const Operand& hi, ori::Builder user) {
    if (space == kInShared && target_.has(isa::Capability::AlignedWindows)) return lo;
    if (flow_.wordOf(lo).bits == windowBit(space)) return Operand::rz();
    if (!lo.isReg()) return sum(user, lo, windowWord(space));
    const auto key = std::tuple(lo.reg, lo.sub, space);
    if (const auto known = narrow_.find(key); known != narrow_.end()) return known->second;
    const Definition low = rw_.definition(lo), high = hi.isReg() ? rw_.definition(hi) : Definition{};
    if (!low) return sum(user, lo, windowWord(space));
    Instr& made = *low.instr;
    if (high && made.op == Op::PHI && high.instr->op == Op::PHI && high.instr->block == made.block) {
      const Operand r = function_.use(function_.newVReg(File::R, 1));
      narrow_.emplace(key, r);
      std::vector<Operand> operands{r};
      for (unsigned i = 1; i + 1 < made.operandCount; i += 2) {
        const ori::BlockId from = made.op_(i + 1).reg;
        const Operand* other = ori::phiValueFrom(*high.instr, from);
        const bool isUndefined = made.op_(i).isNone() || !other || other->isNone();
        Operand value;
        if (!isUndefined) {
          const Operand word = ori::component(made.op_(i).value(), low.index);
          const bool isNull = word.isImm() || word.isZeroReg();
          value =
              isNull ? word
                     : addressIn(space, word, ori::component(*other, high.index), builderAtEnd(*function_.block(from)));
        }
        operands.push_back(value);
        operands.push_back(made.op_(i + 1).value());
      }
      Instr* phi = function_.create(Op::PHI, operands, made.source);
      function_.insertBefore(&made, phi);
      return r;
    }
    Operand result;
    ori::Builder b = builderAfter(&made);
    if (high && high.instr == &made && made.op == Op::IADD64 && low.index == 0) {
      const Operand x = made.op_(1).value(), y = made.op_(2).value();
      for (const auto& [address, other] : {std::pair(x, y), std::pair(y, x)}) {
        const Operand word = ori::component(address, 0);
        if (!result.isNone() || !address.isReg() || address.neg()) continue;
        if (isWindow(other) && !other.neg() && word.isReg())
          result = word;
        else if (flow_.spacesOf(address) == space && isNumber(other))
          result = sum(b, addressIn(space, word, ori::component(address, 1), b), numberWord(other));
      }
    }
    if (high && high.instr == &made && made.op == Op::IMAD_WIDE && low.index == 0) {
      const Operand addend = slotOf(made, isa::SlotId::Rc).value(), once = slotOf(made, isa::SlotId::Rb).value();
      if (isWindow(addend) && !addend.neg() && once.isImm() && once.imm == 1 && slotOf(made, isa::SlotId::Ra).isReg())
        result = slotOf(made, isa::SlotId::Ra).value();
      else if (addend.isReg() && !addend.neg() && flow_.spacesOf(addend) == space) {
        const Operand base = addressIn(space, ori::component(addend, 0), ori::component(addend, 1), b);
        result = b.newR();
        b.emit(Op::IMAD,
               std::array{result, slotOf(made, isa::SlotId::Ra).value(), slotOf(made, isa::SlotId::Rb).value(), base},
               std::array{isa::ModValue{Mod::Type, isa::getMod(made.op, made.mods, Mod::Type)}});
      }
    }
    if (result.isNone()) result = sum(b, lo, windowWord(space));
    narrow_.emplace(key, result);
    return result;
  }

  ori::Builder builderAtEnd(ori::Block& block) {
    if (block.last && ori::isTerminator(block.last->op)) return ori::Builder::before(function_, block.last);
    return ori::Builder(function_, &block);
  }

  Operand windowWord(SpaceSet space) const {
    return Operand::constant(0, static_cast<std::int32_t>(windowOffset(space))).negated();
  }

  static Operand numberWord(const Operand& pair) {
    if (pair.isImm()) return pair;
    const Operand word = ori::component(pair, 0);
    return word;
  }

  // --- instructions

  void visit(Instr& instr) {
    if (!cfg_.isReachable(instr.block->id)) return;
    if (instr.op == Op::IADD64) return leaveSpace(instr);
    if (!slotOf(instr, isa::SlotId::Ra).isVirtual()) return;
    if (instr.op == Op::QSPC) return answer(instr);
    const SpaceSet space = spacesAt(instr);
    if (space != kInGlobal && space != kInShared && space != kInConst && space != kInLocal) return;
    if (warnIllegal(instr, space) && space == kInConst) return;
    const bool isDone = isGenericAtomic(instr.op) ? resolveAtomic(instr, space) : resolveAccess(instr, space);
    if (!isDone) return;
    isChanged_ = true;
    context_.remarks.applied(&instr, fmt::format("{} works on {} memory", isa::desc(instr.op).mnemonic, nameOf(space)));
    doomed_.push_back(&instr);
  }

  /// Replaces cvta.to of an address that was made generic by the original address.
  void leaveSpace(Instr& instr) {
    const Operand from = instr.op_(1).value(), window = instr.op_(2).value();
    if (instr.isGuarded() || !window.neg() || from.neg() || !isWindow(window) || !from.isReg()) return;
    const SpaceSet space = flow_.spacesOf(from);
    if ((space != kInLocal && space != kInShared && space != kInConst) || flow_.mayBeNull(from)) return;
    if (flow_.wordOf(window, 0).bits != windowBit(space)) return;
    if (space == kInShared && target_.has(isa::Capability::AlignedWindows)) return;
    const Operand result = instr.op_(0).value(),
                  word = addressIn(space, ori::component(from, 0), ori::component(from, 1), unguardedBuilderAt(instr));
    ori::Builder b = ori::Builder::before(function_, &instr);
    b.setSource(instr.source);
    b.copy(ori::component(result, 0), word);
    b.copy(ori::component(result, 1), Operand::rz());
    doomed_.push_back(&instr);
    isChanged_ = true;
  }

  void answer(Instr& instr) {
    const auto asked = static_cast<Asked>(isa::getMod(instr.op, instr.mods, Mod::Sub));
    const Operand address = slotOf(instr, isa::SlotId::Ra).value();
    const SpaceSet spaces = flow_.spacesOf(address);
    if ((spaces & kElsewhere) || flow_.mayBeNull(address) || !isAbsent(instr, isa::SlotId::Rd)) return;
    std::optional<bool> isIn;
    switch (asked) {
    // The constant window counts as global here.
    case Asked::Global:
      if (!(spaces & (kInLocal | kInShared))) isIn = true;
      if (!(spaces & (kInGlobal | kInConst))) isIn = false;
      break;
    case Asked::Local:
      if (spaces == kInLocal) isIn = true;
      if (!(spaces & kInLocal)) isIn = false;
      break;
    case Asked::Shared:
      if (spaces == kInShared) isIn = true;
      [[fallthrough]];
    case Asked::Distributed:
      if (!(spaces & kInShared)) isIn = false;
      break;
    }
    if (!isIn) return;
    setPredicate(instr, *isIn);
    context_.remarks.applied(&instr, fmt::format("QSPC is {}", *isIn ? "true" : "false"));
    doomed_.push_back(&instr);
    isChanged_ = true;
  }

  /// Sets the predicate that the instruction defines to a known value.
  void setPredicate(Instr& instr, bool value) {
    const Operand result = instr.op_(0).value();
    if (!result.isVirtual()) return;
    ori::Builder b = ori::Builder::before(function_, &instr);
    b.setSource(instr.source);
    b.setGuard(instr.guard().value());
    b.copy(result, value ? Operand::pt() : Operand::pt().notted());
    hasAnswered_ = true;
  }

  ori::Builder unguardedBuilderAt(Instr& instr) {
    ori::Builder b = ori::Builder::before(function_, &instr);
    b.setSource(instr.source);
    return b;
  }
  ori::Builder builderAt(Instr& instr) {
    ori::Builder b = ori::Builder::before(function_, &instr);
    b.setSource(instr.source);
    b.setGuard(instr.guard().value());
    return b;
  }

  Instr* emit(ori::Builder& b, Instr& from, Op op, std::vector<Operand> operands) {
    const std::vector<isa::ModValue> mods = commonMods(from, op);
    return b.emit(op, operands, mods);
  }

  bool resolveAccess(Instr& instr, SpaceSet space) {
    const bool isLoad = instr.op == Op::LD;
    const int predicate = isa::desc(instr.op).slotIndex(isa::SlotId::Pp);
    if (predicate >= 0 && instr.op_(static_cast<unsigned>(predicate)).isVirtual()) return false;
    const Operand address = slotOf(instr, isa::SlotId::Ra).value(), offset = slotOf(instr, isa::SlotId::offset).value();
    const Operand data = slotOf(instr, isLoad ? isa::SlotId::Rd : isa::SlotId::Rb).value();
    const bool isWeak = isa::modAs<isa::MemOrder>(instr, Mod::Order) == isa::MemOrder::Weak;
    if (space == kInGlobal) {
      const Operand descriptor = slotOf(instr, isa::SlotId::desc).value(),
                    uniform = slotOf(instr, isa::SlotId::URb).value();
      ori::Builder b = builderAt(instr);
      if (isLoad)
        emit(b, instr, Op::LDG, {Operand::pt(), data, descriptor, address, uniform, offset});
      else
        emit(b, instr, Op::STG, {descriptor, address, uniform, offset, data});
      return true;
    }
    if (!isAbsent(instr, isa::SlotId::URb) || !(offset.isImm() || offset.isNone())) return false;
    if (!isWeak && space != kInShared) return false;
    const auto size = isa::modAs<isa::MemSize>(instr, Mod::Size);
    constexpr std::int32_t kMaxConstOffset = 0x7fff;
    if (space == kInConst && (!isLoad || size == isa::MemSize::B128 || offset.imm < 0 || offset.imm > kMaxConstOffset))
      return false;
    const Operand base =
        addressIn(space, ori::component(address, 0), ori::component(address, 1), unguardedBuilderAt(instr));
    ori::Builder b = builderAt(instr);
    Instr* made = nullptr;
    if (space == kInConst)
      made = emit(b, instr, Op::LDC, {data, Operand::immediate(3), base, offset});
    else if (isLoad)
      made = emit(b, instr, space == kInLocal ? Op::LDL : Op::LDS, {data, base, Operand(), offset});
    else
      made = emit(b, instr, space == kInLocal ? Op::STL : Op::STS, {base, Operand(), offset, data});
    made->mayContract = space == kInShared && isWeak;
    return true;
  }

  bool resolveAtomic(Instr& instr, SpaceSet space) {
    const Operand did = instr.op_(0).value(), result = slotOf(instr, isa::SlotId::Rd).value();
    const Operand address = slotOf(instr, isa::SlotId::Ra).value(), offset = slotOf(instr, isa::SlotId::offset).value();
    const Operand value = slotOf(instr, isa::SlotId::Rb).value();
    const bool isCas = instr.op == Op::ATOM_CAS, isFloat = instr.op == Op::ATOM_FLOAT;
    const bool hasOtherWay = did.isVirtual();
    // One iteration of a loop whose memory space is known.
    if (isCas && isa::getMod(instr.op, instr.mods, Mod::Sub) != 0) return false;
    const auto type = isFloat ? isa::AtomType::U32 : isa::modAs<isa::AtomType>(instr, Mod::AtomType);
    if (space == kInGlobal) {
      ori::Builder b = builderAt(instr);
      const bool isExchange = !isFloat && !isCas && isa::modAs<isa::AtomOp>(instr, Mod::AtomOp) == isa::AtomOp::EXCH;
      if (isCas) {
        emit(b, instr, Op::ATOMG_CAS,
             {Operand::pt(), result, address, offset, value, slotOf(instr, isa::SlotId::Rc).value()});
      } else {
        const Operand descriptor = slotOf(instr, isa::SlotId::desc).value(),
                      uniform = slotOf(instr, isa::SlotId::URb).value();
        if (isUnused(result) && !isExchange)
          emit(b, instr, isFloat ? Op::REDG_FLOAT : Op::REDG, {descriptor, address, uniform, offset, value});
        else
          emit(b, instr, isFloat ? Op::ATOMG_FLOAT : Op::ATOMG,
               {Operand::pt(), result, descriptor, address, uniform, offset, value});
      }
      setPredicate(instr, true);
      return true;
    }
    if (!isAbsent(instr, isa::SlotId::URb)) return false;
    const bool isExchange = !isFloat && !isCas && isa::modAs<isa::AtomOp>(instr, Mod::AtomOp) == isa::AtomOp::EXCH;
    const bool isWord = type == isa::AtomType::U32 || type == isa::AtomType::S32;
    const bool isLong = type == isa::AtomType::U64 || type == isa::AtomType::S64;
    if (space == kInShared && !isFloat && (isWord || (isLong && (isCas || isExchange)))) {
      const Operand base =
          addressIn(space, ori::component(address, 0), ori::component(address, 1), unguardedBuilderAt(instr));
      ori::Builder b = builderAt(instr);
      if (isCas)
        b.emit(Op::ATOMS_CAS, std::array{result, base, offset, value, slotOf(instr, isa::SlotId::Rc).value()},
               std::array{isa::ModValue{Mod::AtomType, type}});
      else
        emit(b, instr, Op::ATOMS, {result, base, Operand(), offset, value});
      setPredicate(instr, true);
      return true;
    }
    if (!hasOtherWay) return false;
    // The instruction would report failure: the fallback path after it does the access.
    setPredicate(instr, false);
    if (result.isVirtual()) ori::Builder::before(function_, &instr).emit(Op::UNDEF, {result});
    return true;
  }

  /// Warns in the words of the literature. Returns whether the operation cannot work.
  bool warnIllegal(const Instr& instr, SpaceSet space) {
    std::string_view text;
    const bool isConst = space == kInConst, isLocal = space == kInLocal;
    if (isGenericAtomic(instr.op) && isVector(instr))
      text = isConst              ? "Cannot to vector atomic on const memory"
             : isLocal            ? "Cannot to vector atomic on local memory"
             : space == kInShared ? "Cannot to vector atomic on shared memory"
                                  : "";
    else if (isGenericAtomic(instr.op))
      text = isConst ? "Cannot do atomic operation on const memory" : isLocal ? "Cannot do atomic on local memory" : "";
    else if (instr.op == Op::ST && isConst)
      text = "Cannot do store on const memory";
    if (text.empty()) return false;
    // Once per line: one PTX instruction may be several here, and M8b sees the accesses of M8 again.
    const bool isSaid = std::ranges::any_of(context_.diagnostics.all(), [&](const Diagnostic& d) {
      return d.loc.line == instr.source.ptxLine && d.message == text;
    });
    if (!isSaid) context_.diagnostics.warning({instr.source.ptxLine, 1}, std::string(text));
    return true;
  }

  static bool isVector(const Instr& instr) {
    if (instr.op != Op::ATOM_FLOAT) return false;
    const auto type = isa::modAs<isa::AtomFloat>(instr, Mod::AtomFloat);
    return slotOf(instr, isa::SlotId::Rb).width > (type == isa::AtomFloat::F64 ? 2 : 1);
  }

  struct Answer {
    ori::BlockId block;
    SpaceSet space;
  };

  ori::Function& function_;
  PhaseContext& context_;
  const AddressFlow flow_;
  const Rewriter rw_;
  const ori::Cfg& cfg_;
  const ori::DomTree& tree_;
  const isa::Target& target_;
  std::map<std::pair<ori::VRegId, unsigned>, std::vector<Answer>> answers_;
  std::map<std::tuple<ori::VRegId, unsigned, SpaceSet>, Operand> narrow_;
  std::vector<Instr*> doomed_;
  bool isChanged_ = false, hasAnswered_ = false;
};

} // namespace

/// Phase M8, MemorySpaceOpt (second time), on one function in SSA form, after inlining, and again after 37b, when more
/// addresses are in registers. Generic accesses and atomic operations get the space of their address where AddressFlow
/// proves it, or where QSPC has answered. QSPC with a known answer is folded, and the branches on it too. An address
/// that was made generic and converted back is replaced by the original one. Addresses in a 32-bit space are computed
/// in 32 bits. Accesses without a proof stay generic. Operations that a space does not have get a warning.
bool memorySpaceOptSecondTime(ori::Function& function, PhaseContext& context) {
  bool hasGeneric = false;
  for (ori::Block* block : function.layout())
    for (const Instr& instr : *block)
      hasGeneric |= mayFollow(instr) || leavesSpace(function, instr);
  return hasGeneric && SpaceResolver(function, context).run();
}

} // namespace orias::phases
