#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/analysis/divergence.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "ori/ssa.h"
#include "phases/optimize/rewriter.h"
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

constexpr std::uint32_t kStackPointer = 1;
constexpr std::uint32_t kWordBytes = 4;
/// Words of a function that become registers: more would come back as spill code.
constexpr std::size_t kMostWords = 64;

/// One load or store whose place in its object is known.
struct Access {
  Instr* instr = nullptr;
  std::uint32_t offset = 0, bytes = 0;
  std::uint32_t firstWord() const { return offset / kWordBytes; }
  std::uint32_t lastWord() const { return (offset + bytes - 1) / kWordBytes; }
};

/// Parts of words are promotable when all accesses name the same part; this is the part.
struct Word {
  bool stays = false;
  bool isPart = false;
  std::uint32_t offset = 0, bytes = 0; ///< of the part
  VRegId reg = ori::kNoId;
};

/// An object of the frame, as far as its addresses could be followed.
struct Variable {
  std::uint32_t object = 0;
  const char* obstacle = nullptr;
  const Instr* where = nullptr; ///< of the obstacle
  std::vector<Access> accesses;
  std::vector<Instr*> addresses; ///< what computes its addresses, in the order in which they were met
  std::map<std::uint32_t, Word> words;
};

bool isStackPointer(const Operand& o) {
  return o.isReg(File::R) && !o.isVirtual() && o.reg == kStackPointer;
}

bool isAccess(const Instr& instr) {
  return instr.op == Op::LDL || instr.op == Op::STL;
}

/// By a generic address. Strong ones are left alone.
bool isGenericAccess(const Instr& instr) {
  if (instr.op != Op::LD && instr.op != Op::ST) return false;
  const int predicate = isa::desc(instr.op).slotIndex("Pp"); // false: it would bring zeros
  if (predicate >= 0 && instr.op_(static_cast<unsigned>(predicate)).isVirtual()) return false;
  return isa::modAs<isa::MemOrder>(instr, isa::Mod::Order) == isa::MemOrder::Weak;
}

/// Follows the addresses of frame objects forward, from where they are named to where they are used.
class AddressWalk {
 public:
  AddressWalk(ori::Function& function, const Rewriter& rw) : function_(function), rw_(rw) {
    variables_.resize(function.frame.size());
    for (std::uint32_t i = 0; i < variables_.size(); ++i)
      variables_[i].object = i;
  }

  std::vector<Variable> run() {
    for (ori::Block* block : function_.layout())
      for (Instr& instr : *block)
        for (unsigned i = 0; i < instr.operandCount; ++i)
          if (instr.op_(i).kind == Operand::Kind::Frame) named(instr, instr.op_(i).value());
    return std::move(variables_);
  }

 private:
  static void refuse(Variable& variable, const Instr& where, const char* why) {
    if (variable.obstacle) return;
    variable.obstacle = why;
    variable.where = &where;
  }

  void named(Instr& instr, const Operand& frame) {
    Variable& variable = variables_[frame.reg];
    if (function_.frame[frame.reg].isIncoming) refuse(variable, instr, "the caller writes it");
    if (isAccess(instr) && isStackPointer(addressOf(instr)) && !hasUniformPart(instr)) {
      access(variable, instr, frame.imm);
      return;
    }
    const bool isSum = instr.op == Op::IADD3 && isStackPointer(instr.op_(3).value()) &&
                       instr.op_(4).kind == Operand::Kind::Frame && instr.op_(5).isZeroReg();
    if (!isSum || !isPlainSum(instr))
      refuse(variable, instr, "its address escapes");
    else
      derived(variable, instr, 0, frame.imm, Window::Local);
  }

  /// What an address counts from: the start of local memory, or, in a pair of registers, that of generic addresses.
  enum class Window { Local, Generic };

  static const ori::Operand& addressOf(const Instr& instr) {
    return instr.op_(static_cast<unsigned>(isa::desc(instr.op).slotIndex("Ra")));
  }
  static bool hasUniformPart(const Instr& instr) {
    const ori::Operand& o = instr.op_(static_cast<unsigned>(isa::desc(instr.op).slotIndex("URb")));
    return !o.isNone() && !o.isZeroReg();
  }

  /// A sum without a guard, carries, or signs that change anything.
  bool isPlainSum(const Instr& instr) const {
    if (instr.isGuarded() || !isUnused(instr.op_(1).value()) || !isUnused(instr.op_(2).value())) return false;
    return std::none_of(instr.ops().begin(), instr.ops().end(),
                        [](const ori::Operand& o) { return !o.isDef && (o.neg() || o.inverted()); });
  }

  /// Component `index` of the first result of `instr` is the address of the object plus `offset`.
  void derived(Variable& variable, Instr& instr, unsigned index, std::int64_t offset, Window window) {
    const Operand result = instr.op_(0).value();
    if (!result.isVirtual() || !rw_.isSingle(result.reg)) {
      refuse(variable, instr, "its address is in a register with several definitions");
      return;
    }
    variable.addresses.push_back(&instr);
    const unsigned component = result.sub + index;
    function_.forEachUse(result.reg, [&](ori::Operand& use) {
      if (component < use.sub || component >= unsigned(use.sub) + use.width) return;
      read(variable, use, component - use.sub, offset, window);
    });
  }

  void read(Variable& variable, const ori::Operand& use, unsigned index, std::int64_t offset, Window window) {
    Instr& user = *use.owner;
    const char* kLost = "its address escapes";
    // Half of a generic address is none.
    if (window == Window::Generic && (use.width != 2 || index != 0)) return refuse(variable, user, kLost);
    if (window == Window::Local ? isAccess(user) : isGenericAccess(user)) {
      const ori::Operand& at = user.op_(static_cast<unsigned>(isa::desc(user.op).slotIndex("offset")));
      if (&use != &addressOf(user) || hasUniformPart(user) || !(at.isImm() || at.isNone()))
        refuse(variable, user, kLost);
      else
        access(variable, user, offset + (at.isNone() ? 0 : at.imm));
      return;
    }
    if (user.isGuarded() || use.neg() || use.inverted()) {
      refuse(variable, user, kLost);
    } else if (isa::desc(user.op).has(isa::Flag::Copy)) {
      derived(variable, user, index, offset, window);
    } else if (user.op == Op::IADD3 && window == Window::Local && isPlainSum(user)) {
      std::int64_t sum = offset;
      for (unsigned i = 3; i < 6; ++i) {
        if (&user.op_(i) == &use) continue;
        const auto term = rw_.constantOf(user.op_(i).value());
        if (!term) return refuse(variable, user, "it is indexed");
        sum += static_cast<std::int32_t>(*term);
      }
      derived(variable, user, 0, sum, window);
    } else if (user.op == Op::IADD64 && index == 0) {
      const Operand other = (&user.op_(1) == &use ? user.op_(2) : user.op_(1)).value();
      if (window == Window::Local && isWindow(other) && hasNoUpperHalf(use))
        return derived(variable, user, 0, offset, Window::Generic);
      const bool isNumber = !other.neg() && (other.isReg() || other.isImm());
      const auto term = isNumber ? rw_.constantOf(ori::component(other, 0)) : std::nullopt;
      if (!term || (window == Window::Generic && !extendsSign(other, *term)))
        return refuse(variable, user, "it is indexed, or its generic address is taken");
      derived(variable, user, 0, offset + static_cast<std::int32_t>(*term), window);
    } else {
      refuse(variable, user, kLost);
    }
  }

  /// The generic address of local address 0.
  bool isWindow(const Operand& o) const {
    const Instr* load = o.isReg() && o.isVirtual() && !o.neg() ? rw_.producer(o, Op::LDC) : nullptr;
    if (!load || load->isGuarded() || isa::modAs<isa::MemSize>(*load, isa::Mod::Size) != isa::MemSize::B64)
      return false;
    const ori::Operand &bank = load->op_(1), &index = load->op_(2), &at = load->op_(3);
    return bank.isImm() && bank.imm == 0 && (index.isNone() || index.isZeroReg()) && at.isImm() &&
           at.imm == static_cast<std::int32_t>(function_.module().target().localWindowOffset());
  }

  bool hasNoUpperHalf(const ori::Operand& pair) const {
    return pair.width == 2 && rw_.constantOf(ori::component(pair.value(), 1)) == 0;
  }

  bool extendsSign(const Operand& o, std::uint32_t low) const {
    if (o.isImm()) return true;
    const auto high = rw_.constantOf(ori::component(o, 1));
    return high && static_cast<std::int32_t>(*high) == (static_cast<std::int32_t>(low) < 0 ? -1 : 0);
  }

  void access(Variable& variable, Instr& instr, std::int64_t offset) {
    constexpr std::array<std::uint32_t, 7> kBytes = {1, 1, 2, 2, 4, 8, 16}; // by MemSize
    const std::uint32_t bytes = kBytes[isa::getMod(instr.op, instr.mods, isa::Mod::Size)];
    if (offset < 0 || offset + bytes > function_.frame[variable.object].size)
      refuse(variable, instr, "it is accessed outside its bounds");
    else
      variable.accesses.push_back({&instr, static_cast<std::uint32_t>(offset), bytes});
  }

  ori::Function& function_;
  const Rewriter& rw_;
  std::vector<Variable> variables_;
};

class Promoter {
 public:
  Promoter(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), firstNew_(static_cast<VRegId>(function.vregCount())) {}

  bool run() {
    const Rewriter rw(function_);
    std::vector<Variable> variables = AddressWalk(function_, rw).run();
    std::size_t words = 0;
    for (Variable& variable : variables) {
      const std::string name(function_.frame[variable.object].name);
      if (!variable.obstacle && !findWords(variable)) continue;
      if (!variable.obstacle && words + variable.words.size() > kMostWords)
        variable.obstacle = "it would take too many registers";
      if (variable.obstacle) {
        context_.remarks.refused(variable.where,
                                 fmt::format("local variable {} not promoted: {}", name, variable.obstacle));
        continue;
      }
      words += variable.words.size();
      convert(variable);
      converted_.push_back(std::move(variable));
    }
    const bool hasDropped = dropUnnamedObjects();
    if (converted_.empty()) return hasDropped;
    function_.ssa = false; // the new registers have several definitions
    ori::buildSsa(function_);
    tell();
    return true;
  }

 private:
  /// Which words become registers; false when none does.
  bool findWords(Variable& variable) {
    for (const Access& a : variable.accesses)
      for (std::uint32_t w = a.firstWord(); w <= a.lastWord(); ++w) {
        const bool isPart = a.bytes < kWordBytes;
        const auto [at, isNew] = variable.words.try_emplace(w, Word{false, isPart, a.offset, a.bytes, ori::kNoId});
        Word& word = at->second;
        word.stays |= a.offset % std::min(a.bytes, kWordBytes) != 0 || word.isPart != isPart ||
                      (isPart && (word.offset != a.offset || word.bytes != a.bytes));
      }
    // An access is replaced as a whole.
    for (bool changed = true; changed;) {
      changed = false;
      for (const Access& a : variable.accesses) {
        const bool stays = anyWord(variable, a, [](const Word& w) { return w.stays; });
        if (!stays || !anyWord(variable, a, [](const Word& w) { return !w.stays; })) continue;
        for (std::uint32_t w = a.firstWord(); w <= a.lastWord(); ++w)
          variable.words[w].stays = true;
        changed = true;
      }
    }
    std::erase_if(variable.words, [](const auto& entry) { return entry.second.stays; });
    if (variable.words.empty() && !variable.accesses.empty()) {
      variable.obstacle = "its parts overlap";
      variable.where = variable.accesses.front().instr;
    }
    return !variable.words.empty() || variable.obstacle;
  }

  template <typename F> static bool anyWord(const Variable& variable, const Access& a, F&& f) {
    for (std::uint32_t w = a.firstWord(); w <= a.lastWord(); ++w)
      if (f(variable.words.at(w))) return true;
    return false;
  }

  void convert(Variable& variable) {
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
    // Readers of addresses were met behind their writers.
    for (std::size_t i = variable.addresses.size(); i-- > 0;) {
      Instr* address = variable.addresses[i];
      if (address->block && !function_.hasUses(address->op_(0).reg)) function_.erase(address);
    }
  }

  ori::Builder builderAt(const Access& a) {
    ori::Builder b = ori::Builder::before(function_, a.instr);
    b.setSource(a.instr->source);
    b.setGuard(a.instr->guard().value());
    return b;
  }

  void load(const Variable& variable, const Access& a) {
    ori::Builder b = builderAt(a);
    const Operand to = a.instr->op_(static_cast<unsigned>(isa::desc(a.instr->op).slotIndex("Rd"))).value();
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
    const Operand from = a.instr->op_(static_cast<unsigned>(isa::desc(a.instr->op).slotIndex("Rb"))).value();
    const unsigned words = std::max(1u, a.bytes / kWordBytes);
    for (unsigned i = 0; i < words; ++i)
      b.copy(function_.use(variable.words.at(a.firstWord() + i).reg), ori::component(from, i));
  }

  /// Objects that nobody names leave the frame; the others get new numbers.
  bool dropUnnamedObjects() {
    std::vector<bool> isNamed(function_.frame.size(), false);
    const auto forEachName = [&](auto&& f) {
      for (ori::Block* block : function_.layout())
        for (Instr& instr : *block)
          for (unsigned i = 0; i < instr.operandCount; ++i)
            if (instr.op_(i).kind == Operand::Kind::Frame) f(instr, i);
    };
    forEachName([&](const Instr& instr, unsigned i) { isNamed[instr.op_(i).reg] = true; });
    std::vector<std::uint32_t> number(isNamed.size(), 0);
    std::vector<ori::FrameObject> left;
    for (std::uint32_t id = 0; id < isNamed.size(); ++id) {
      number[id] = static_cast<std::uint32_t>(left.size());
      if (isNamed[id]) left.push_back(function_.frame[id]);
    }
    if (left.size() == function_.frame.size()) return false;
    forEachName([&](Instr& instr, unsigned i) {
      Operand o = instr.op_(i).value();
      o.reg = number[o.reg];
      function_.setOperand(&instr, i, o);
    });
    function_.frame = std::move(left);
    return true;
  }

  /// Uniform values are left to phase 74, which weighs their consumers, bridges and the pressure of UR as a whole.
  void tell() {
    if (!context_.remarks.wanted()) return;
    const ori::Cfg cfg(function_);
    const ori::Divergence divergence(cfg);
    for (const Variable& variable : converted_) {
      // SSA form has given each value a register of its own, under the same name.
      const std::string_view name = function_.vreg(variable.words.begin()->second.reg).name;
      bool isUniform = true;
      for (VRegId v = firstNew_; v < function_.vregCount(); ++v)
        isUniform &= function_.vreg(v).name != name || !divergence.isDivergent(v);
      context_.remarks.did(
          nullptr,
          fmt::format("promoted local variable {} to {} register{}{}", name, variable.words.size(),
                      variable.words.size() == 1 ? "" : "s",
                      isUniform ? ", warp-uniform: a candidate for phase 74" : ", not the same in all lanes: R"),
          static_cast<std::int64_t>(variable.words.size()));
    }
  }

  ori::Function& function_;
  PhaseContext& context_;
  const VRegId firstNew_;
  std::vector<Variable> converted_;
};

} // namespace

/// Phase 37b. Words of local variables whose every access is known become registers, uniform ones where all lanes store
/// the same: those are phase 74's to move to UR. The tests: the address of the variable goes to loads and stores of
/// known offsets only (local ones, or generic ones when it was made generic here), within its bounds, and accesses of a
/// word agree on which bytes of it they mean. Variables that are in nobody's way leave the frame. Knob
/// GeneralOptimizationGate (487): 0 leaves them in memory.
bool convertMemoryToRegisterOrUniform(ori::Function& function, PhaseContext& context) {
  if (function.frame.empty() || !context.knobs.enabled(Knob::GeneralOptimizationGate)) return false;
  return Promoter(function, context).run();
}

} // namespace orias::phases
