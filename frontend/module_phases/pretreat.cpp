#include "frontend/module_phases/pretreat.h"

#include "frontend/check_instr_operand.h"
#include "frontend/module_phases/instruction_results.h"
#include "frontend/module_phases/known_signs.h"
#include "frontend/module_phases/ptx_editor.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace orias::ptx {

namespace {

constexpr unsigned kCleanups = 19;
constexpr std::array<std::string_view, kCleanups> kNames = {
    "consumed annotations", "bitcast chains",      "round-trip conversions", "lifetimes",          "empty copies",
    "casts of constants",   "zero indices",        "integer extensions",     "convergent",         "special registers",
    "debug declarations",   "select of constants", "decided guards",         "undefined operands", "NaN and infinity",
    "unread pragmas",       "launch bounds",       "unreachable code",       "constructors",
};

/// The pragmas in bodies that a phase reads. The manual's other pragmas are hints that have no effect.
constexpr std::string_view kReadPragmas[] = {"nounroll", "enable_smem_spilling"};

bool isInteger(Type t) {
  return typeClass(t) == TypeClass::Unsigned || typeClass(t) == TypeClass::Signed;
}

std::uint64_t truncated(std::uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

std::uint64_t extended(std::uint64_t value, Type from) {
  const unsigned bits = bitWidth(from);
  value = truncated(value, bits);
  const bool isNegative = typeClass(from) == TypeClass::Signed && (value >> (bits - 1) & 1) != 0;
  return isNegative && bits < 64 ? value | ~std::uint64_t{0} << bits : value;
}

bool isPlain(const Operand& o) {
  return o.is(OperandKind::Register) && o.component() == Component::None;
}

/// The comparison with the inverse result; None if there is none.
Mod opposite(Mod compare, bool isFloat) {
  static const std::map<Mod, Mod> kIntegers = {{Mod::Eq, Mod::Ne}, {Mod::Ne, Mod::Eq}, {Mod::Lt, Mod::Ge},
                                               {Mod::Ge, Mod::Lt}, {Mod::Gt, Mod::Le}, {Mod::Le, Mod::Gt}};
  static const std::map<Mod, Mod> kFloats = {
      {Mod::Eq, Mod::Neu}, {Mod::Neu, Mod::Eq}, {Mod::Ne, Mod::Equ},  {Mod::Equ, Mod::Ne}, {Mod::Lt, Mod::Geu},
      {Mod::Geu, Mod::Lt}, {Mod::Le, Mod::Gtu}, {Mod::Gtu, Mod::Le},  {Mod::Gt, Mod::Leu}, {Mod::Leu, Mod::Gt},
      {Mod::Ge, Mod::Ltu}, {Mod::Ltu, Mod::Ge}, {Mod::Num, Mod::Nan}, {Mod::Nan, Mod::Num}};
  const auto& table = isFloat ? kFloats : kIntegers;
  const auto at = table.find(compare);
  return at == table.end() ? Mod::None : at->second;
}

/// The result of setp for two numbers; nothing for comparisons that integers do not have.
std::optional<bool> compared(Mod compare, Type type, std::uint64_t a, std::uint64_t b) {
  a = extended(a, type);
  b = extended(b, type);
  const bool isLess =
      typeClass(type) == TypeClass::Signed ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
  switch (compare) {
  case Mod::Eq: return a == b;
  case Mod::Ne: return a != b;
  case Mod::Lt: return isLess;
  case Mod::Ge: return !isLess;
  case Mod::Le: return isLess || a == b;
  case Mod::Gt: return !isLess && a != b;
  default: return std::nullopt;
  }
}

/// One iteration over one function.
class Round {
 public:
  Round(Module& module, Function& function, GrowingForms& forms, PtxEditor& editor,
        std::array<unsigned, kCleanups>& counts)
      : module_(module), f_(function), forms_(forms), editor_(editor), counts_(counts) {}

  /// Returns whether something has changed.
  bool run() {
    readDefinitions();
    KnownSigns signs(f_, forms_.table());
    signs_ = &signs;
    for (std::uint32_t s = 0; s < f_.statements.size(); ++s) {
      const Statement statement = f_.statements[s];
      if (statement.kind == StatementKind::Label) forget();
      if (statement.kind == StatementKind::Pragma) stripPragma(s);
      if (statement.kind == StatementKind::Instruction && visit(s, statement.index)) learn(statement.index);
    }
    editor_.finish(f_);
    liftLaunchBounds();
    removeUnreachable();
    editor_.finish(f_);
    return hasChanged_;
  }

 private:
  struct Cast {
    RegisterId from = RegisterId::None;
    Mod space = Mod::None;
    bool isTo = false;
  };

  void done(unsigned cleanup) {
    ++counts_[cleanup - 1];
    hasChanged_ = true;
  }

  unsigned widthOf(RegisterId reg) const { return bitWidth(f_.registers[index(reg)].type); }

  OpcodeId move(unsigned bits) { return editor_.opcode("mov", {fmt::format("b{}", bits)}); }

  void makeMove(Instruction& i, const Operand& to, const Operand& from) {
    const std::array operands{to, from};
    editor_.rewrite(f_, i, move(widthOf(to.registerId())), operands);
  }

  void makeConstant(Instruction& i, const Operand& to, std::uint64_t value) {
    makeMove(i, to, Operand::integer(truncated(value, widthOf(to.registerId())), false));
  }

  static bool isMovable(unsigned bits) { return bits == 16 || bits == 32 || bits == 64; }

  // --- known values

  void readDefinitions() {
    isDefined_.assign(f_.registers.size(), false);
    uses_.assign(f_.registers.size(), 0);
    predicates_.assign(f_.registers.size(), {});
    for (const Parameter& p : f_.params)
      if (p.reg != RegisterId::None) isDefined_[index(p.reg)] = true;
    const FormTable& forms = forms_.table();
    std::vector<bool> isOther(f_.registers.size(), false);
    for (const Statement& s : f_.statements) {
      if (s.kind != StatementKind::Instruction) continue;
      const Instruction& i = f_.instructions[s.index];
      if (i.guard != RegisterId::None) ++uses_[index(i.guard)];
      countUses(f_.operandsOf(i));
      const std::optional<bool> constant = predicateOf(i, forms.form(i));
      forEachResult(f_, forms, i, [&](const Operand& o) {
        const std::uint32_t reg = index(o.registerId());
        const bool isAgain = isDefined_[reg] && predicates_[reg] != constant;
        isOther[reg] = isOther[reg] || !constant || isAgain;
        isDefined_[reg] = true;
        predicates_[reg] = constant;
        definition_[o.registerId()] = s.index;
        ++definitions_[o.registerId()];
      });
    }
    for (std::size_t r = 0; r < isOther.size(); ++r)
      if (isOther[r]) predicates_[r].reset();
  }

  void countUses(std::span<const Operand> operands) {
    for (const Operand& o : operands) {
      if (o.is(OperandKind::Register) || (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Register))
        ++uses_[index(o.registerId())];
      if (o.is(OperandKind::Pair))
        for (const RegisterId reg : {o.registerId(), o.secondRegister()})
          if (reg != RegisterId::None) ++uses_[index(reg)];
      if (o.isGroup()) countUses(f_.parts(o));
    }
  }

  /// The constant value of the instruction's predicate result, if known.
  std::optional<bool> predicateOf(const Instruction& i, const Form& form) const {
    const auto ops = f_.operandsOf(i);
    if (form.op == Op::Mov && form.type() == Type::Pred && ops[1].is(OperandKind::Int)) return ops[1].intValue() != 0;
    const bool isPlainCompare = form.op == Op::Setp && ops.size() == 3 && ops[0].is(OperandKind::Register);
    if (!isPlainCompare || !ops[1].is(OperandKind::Int) || !ops[2].is(OperandKind::Int)) return std::nullopt;
    if (!isInteger(form.type()) && typeClass(form.type()) != TypeClass::Bits) return std::nullopt;
    return compared(form.compare(), form.type(), ops[1].bits(), ops[2].bits());
  }

  void forget() {
    copies_.clear();
    casts_.clear();
    constants_.clear();
  }

  void learn(std::uint32_t number) {
    const FormTable& forms = forms_.table();
    const Instruction& i = f_.instructions[number];
    const Form& form = forms.form(i);
    const auto ops = f_.operandsOf(i);
    forEachResult(f_, forms, i, [&](const Operand& o) {
      const RegisterId reg = o.registerId();
      copies_.erase(reg);
      casts_.erase(reg);
      constants_.erase(reg);
      std::erase_if(copies_, [&](const auto& entry) { return entry.second == reg; });
      std::erase_if(casts_, [&](const auto& entry) { return entry.second.from == reg; });
    });
    if (i.guard != RegisterId::None || ops.size() != 2 || !isPlain(ops[0])) return;
    const RegisterId to = ops[0].registerId();
    if (form.op == Op::Cvta && isPlain(ops[1]) && to != ops[1].registerId() && bitWidth(form.type()) == 64)
      casts_[to] = {ops[1].registerId(), form.get(Slot::Space), form.has(Mod::To)};
    if (form.op != Op::Mov || form.get(Slot::Vector) != Mod::None) return;
    if (form.type() == Type::Pred || bitWidth(form.type()) != widthOf(to)) return;
    if (isPlain(ops[1]) && to != ops[1].registerId() && widthOf(ops[1].registerId()) == widthOf(to))
      copies_[to] = ops[1].registerId();
    if (ops[1].is(OperandKind::Int)) constants_[to] = truncated(ops[1].bits(), widthOf(to));
    if (ops[1].is(OperandKind::Float32) && widthOf(to) == 32) constants_[to] = ops[1].bits();
    if (ops[1].is(OperandKind::Float64) && widthOf(to) == 64) constants_[to] = ops[1].bits();
  }

  std::optional<std::uint64_t> constantOf(const Operand& o) const {
    if (o.is(OperandKind::Int)) return o.bits();
    if (!isPlain(o)) return std::nullopt;
    const auto known = constants_.find(o.registerId());
    if (known == constants_.end()) return std::nullopt;
    return known->second;
  }

  // --- the clean-ups

  /// Returns whether the instruction still exists.
  bool visit(std::uint32_t statement, std::uint32_t number) {
    Instruction& i = f_.instructions[number];
    if (!settleGuard(statement, i)) return false;
    const Form form = forms_.table().form(i);
    const auto ops = f_.operandsOf(i);
    switch (form.op) {
    case Op::Mov:
      if (form.type() != Type::Pred && !canonicalMove(statement, number, form)) return false;
      break;
    case Op::Cvta: dropCastPair(i, form); break;
    case Op::Cvt: canonicalConversion(i, form); break;
    case Op::Add:
    case Op::Sub: {
      const bool isPlainSum = isInteger(form.type()) && !form.sat() && !form.has(Mod::Cc) && isPlain(ops[0]) &&
                              isPlain(ops[1]) && ops[2].is(OperandKind::Int) && ops[2].intValue() == 0;
      if (!isPlainSum || !isMovable(widthOf(ops[0].registerId()))) break;
      makeMove(i, ops[0], ops[1]);
      done(7);
      break;
    }
    case Op::Selp: canonicalSelect(i, form); break;
    default: break;
    }
    readZeros(number);
    return true;
  }

  // 13
  bool settleGuard(std::uint32_t statement, Instruction& i) {
    if (i.guard == RegisterId::None) return true;
    const std::optional<bool> value = predicates_[index(i.guard)];
    if (!value) return true;
    done(13);
    if (*value == i.guardNegated) {
      editor_.erase(statement);
      return false;
    }
    i.guard = RegisterId::None;
    i.guardNegated = false;
    return true;
  }

  // 2, 6, 10
  bool canonicalMove(std::uint32_t statement, std::uint32_t number, const Form& form) {
    Instruction& i = f_.instructions[number];
    const auto ops = f_.operandsOf(i);
    if (ops.size() != 2) return true;
    if (ops[0].is(OperandKind::Vector)) return readVector(statement, number);
    if (!isPlain(ops[0]) || form.get(Slot::Vector) != Mod::None) return true;
    const Operand to = ops[0];
    const unsigned bits = widthOf(to.registerId());
    if (!isMovable(bits) || bits != bitWidth(form.type())) return true;
    if (ops[1].is(OperandKind::Vector)) {
      packConstants(i, to);
      return true;
    }
    if (!isPlain(ops[1])) return true;
    if (const auto copy = copies_.find(ops[1].registerId()); copy != copies_.end()) {
      makeMove(i, to, Operand::reg(copy->second));
      done(2);
    }
    const RegisterId from = f_.operandsOf(i)[1].registerId();
    if (from == to.registerId()) {
      editor_.erase(statement);
      done(2);
      return false;
    }
    const auto isFloat = [&](RegisterId reg) { return typeClass(f_.registers[index(reg)].type) == TypeClass::Float; };
    if (const auto known = constants_.find(from);
        known != constants_.end() && isFloat(from) != isFloat(to.registerId())) {
      makeConstant(i, to, known->second);
      done(6);
    }
    return true;
  }

  void packConstants(Instruction& i, const Operand& to) {
    const auto parts = f_.parts(f_.operandsOf(i)[1]);
    const unsigned bits = widthOf(to.registerId()), part = bits / static_cast<unsigned>(parts.size());
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const std::optional<std::uint64_t> known = constantOf(parts[k]);
      if (!known || part > 32) return;
      value |= truncated(*known, part) << (k * part);
    }
    makeConstant(i, to, value);
    done(6);
  }

  bool readVector(std::uint32_t statement, std::uint32_t number) {
    const Instruction i = f_.instructions[number];
    const auto ops = f_.operandsOf(i);
    if (!ops[1].is(OperandKind::Vector) || i.guard != RegisterId::None) return true;
    const std::vector<Operand> to(f_.parts(ops[0]).begin(), f_.parts(ops[0]).end());
    const std::vector<Operand> from(f_.parts(ops[1]).begin(), f_.parts(ops[1]).end());
    const auto isRead = [&](const Operand& o) { return o.is(OperandKind::Special); };
    const auto isWord = [&](const Operand& o) {
      return o.is(OperandKind::Sink) || (o.is(OperandKind::Register) && widthOf(o.registerId()) == 32);
    };
    if (to.size() != from.size() || !std::ranges::all_of(from, isRead) || !std::ranges::all_of(to, isWord)) return true;
    const OpcodeId opcode = editor_.opcode("mov", {"u32"});
    for (std::size_t k = 0; k < to.size(); ++k) {
      if (to[k].is(OperandKind::Sink)) continue;
      const std::array operands{to[k], from[k]};
      editor_.insertBefore(f_, statement, opcode, operands, i);
      forgetRegister(to[k].registerId());
    }
    editor_.erase(statement);
    done(10);
    return false;
  }

  void forgetRegister(RegisterId reg) {
    copies_.erase(reg);
    casts_.erase(reg);
    constants_.erase(reg);
    std::erase_if(copies_, [&](const auto& entry) { return entry.second == reg; });
    std::erase_if(casts_, [&](const auto& entry) { return entry.second.from == reg; });
  }

  // 3
  void dropCastPair(Instruction& i, const Form& form) {
    const auto ops = f_.operandsOf(i);
    if (!isPlain(ops[0]) || !isPlain(ops[1]) || bitWidth(form.type()) != 64) return;
    const auto before = casts_.find(ops[1].registerId());
    if (before == casts_.end()) return;
    const Cast& cast = before->second;
    if (cast.space != form.get(Slot::Space) || cast.isTo || !form.has(Mod::To)) return;
    makeMove(i, ops[0], Operand::reg(cast.from));
    done(3);
  }

  // 6, 8, 10
  void canonicalConversion(Instruction& i, const Form& form) {
    const Type to = form.type(0), from = form.type(1);
    const auto ops = f_.operandsOf(i);
    if (!isInteger(to) || !isInteger(from) || form.sat() || form.typeCount() != 2 || !isPlain(ops[0])) return;
    const unsigned bits = widthOf(ops[0].registerId());
    if (bits != bitWidth(to) || !isMovable(bits)) return;
    if (const std::optional<std::uint64_t> value = constantOf(ops[1])) {
      makeConstant(i, ops[0], extended(*value, from));
      return done(6);
    }
    if (ops[1].is(OperandKind::Special) && bits == 32 && bitWidth(from) == 32 &&
        specialRegisterInfo(ops[1].specialRegister()).type == Type::U32) {
      const std::array operands{ops[0], ops[1]};
      editor_.rewrite(f_, i, editor_.opcode("mov", {"u32"}), operands);
      return done(10);
    }
    if (typeClass(from) != TypeClass::Signed || bitWidth(from) >= bits) return;
    if (!signs_->isNonNegative(ops[1], bitWidth(from))) return;
    i.opcode = editor_.opcode("cvt", {fmt::format("u{}", bits), fmt::format("u{}", bitWidth(from))});
    done(8);
  }

  // 12
  void canonicalSelect(Instruction& i, const Form& form) {
    const auto ops = f_.operandsOf(i);
    if (ops.size() != 4 || !isPlain(ops[0]) || !isMovable(widthOf(ops[0].registerId()))) return;
    if (!ops[1].is(OperandKind::Int) || !ops[2].is(OperandKind::Int)) return;
    const unsigned bits = bitWidth(form.type());
    const std::uint64_t a = truncated(ops[1].bits(), bits), b = truncated(ops[2].bits(), bits);
    if (bits != widthOf(ops[0].registerId())) return;
    if (a == b) {
      makeConstant(i, ops[0], a);
      return done(12);
    }
    if (a != 0 || !isPlain(ops[3])) return;
    const RegisterId predicate = ops[3].registerId();
    if (definitions_[predicate] != 1 || uses_[index(predicate)] != 2) return;
    Instruction& compare = f_.instructions[definition_[predicate]];
    const Form compareForm = forms_.table().form(compare);
    if (compareForm.op != Op::Setp || compare.operandCount != 3 || !isPlain(f_.operandsOf(compare)[0])) return;
    const Mod other = opposite(compareForm.compare(), typeClass(compareForm.type()) == TypeClass::Float);
    if (other == Mod::None) return;
    std::vector<std::string> words;
    for (const NameId word : module_.opcode(compare).modifiers)
      words.emplace_back(module_.text(word) == modName(compareForm.compare()) ? modName(other) : module_.text(word));
    compare.opcode = editor_.opcode("setp", words);
    std::swap(f_.operands[i.firstOperand + 1], f_.operands[i.firstOperand + 2]);
    done(12);
  }

  // 14
  void readZeros(std::uint32_t number) {
    const FormTable& forms = forms_.table();
    const Instruction& i = f_.instructions[number];
    const Form& form = forms.form(i);
    const auto& patterns = forms.entry(i.opcode).patterns;
    if (form.op == Op::Call || patterns.size() != 1 || patterns[0].size() != i.operandCount) return;
    const OperandChecker checker(module_, f_);
    for (std::size_t k = 0; k < patterns[0].size(); ++k) {
      const OperandSpec& spec = patterns[0][k];
      Operand& o = f_.operands[i.firstOperand + k];
      if (spec.dest || spec.want != Want::Value || !isPlain(o) || isDefined_[index(o.registerId())]) continue;
      const Type type = f_.registers[index(o.registerId())].type;
      if (type == Type::Pred || o.isNegated() || o.isMinus()) continue;
      const bool isFloat = typeClass(spec.fixedType) == TypeClass::Float;
      const Operand zero = !isFloat                         ? Operand::integer(0, false)
                           : bitWidth(spec.fixedType) == 64 ? Operand::float64(0, false)
                                                            : Operand::float32(0);
      if (!checker.fits(spec, form, zero, nullptr)) continue;
      o = zero;
      done(14);
    }
  }

  // 16
  void stripPragma(std::uint32_t statement) {
    const Pragma& pragma = module_.pragmas[f_.statements[statement].index];
    if (std::ranges::find(kReadPragmas, module_.text(pragma.text)) != std::end(kReadPragmas)) return;
    editor_.erase(statement);
    done(16);
  }

  // 17
  void liftLaunchBounds() {
    PerformanceDirectives& p = f_.performance;
    if (p.maxnctapersm == 0) return;
    if (p.minnctapersm == 0) p.minnctapersm = p.maxnctapersm;
    p.maxnctapersm = 0;
    done(17);
  }

  // 18
  void removeUnreachable() {
    const FormTable& forms = forms_.table();
    std::vector<bool> isReached(f_.statements.size(), false);
    std::vector<std::uint32_t> work{0};
    const auto target = [&](std::uint32_t label) { work.push_back(f_.labels[label].statement); };
    while (!work.empty()) {
      std::uint32_t s = work.back();
      work.pop_back();
      for (; s < f_.statements.size() && !isReached[s]; ++s) {
        isReached[s] = true;
        if (f_.statements[s].kind != StatementKind::Instruction) continue;
        const Instruction& i = f_.instructions[f_.statements[s].index];
        for (const Operand& o : f_.operandsOf(i)) {
          if (o.is(OperandKind::Label)) target(index(o.labelId()));
          if (!o.is(OperandKind::TargetList)) continue;
          const TargetList& list = module_.targetLists[index(o.targetListId())];
          if (!list.isCall) std::ranges::for_each(list.targets, target);
        }
        const Op op = forms.form(i).op;
        const bool isEnd = op == Op::Bra || op == Op::BrxIdx || op == Op::Ret || op == Op::Exit;
        if (isEnd && i.guard == RegisterId::None) break;
      }
    }
    for (std::uint32_t s = 0; s < f_.statements.size(); ++s)
      if (!isReached[s] && f_.statements[s].kind == StatementKind::Instruction) {
        editor_.erase(s);
        done(18);
      }
  }

  Module& module_;
  Function& f_;
  GrowingForms& forms_;
  PtxEditor& editor_;
  std::array<unsigned, kCleanups>& counts_;
  bool hasChanged_ = false;
  KnownSigns* signs_ = nullptr;
  std::vector<bool> isDefined_;                 // by RegisterId
  std::vector<unsigned> uses_;                  // by RegisterId: operands and guards that use it, definitions included
  std::vector<std::optional<bool>> predicates_; // by RegisterId: the value that all definitions give
  std::map<RegisterId, std::uint32_t> definition_; // index of the last defining instruction
  std::map<RegisterId, unsigned> definitions_;
  // Since the last label.
  std::map<RegisterId, RegisterId> copies_;
  std::map<RegisterId, Cast> casts_;
  std::map<RegisterId, std::uint64_t> constants_;
};

} // namespace

ModulePhaseResult pretreat(Module& module, GrowingForms& forms, bool wantRemarks) {
  ModulePhaseResult result;
  PtxEditor editor(module);
  for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
    Function& function = module.functions[f];
    if (!function.hasBody) continue;
    std::array<unsigned, kCleanups> counts{};
    while (Round(module, function, forms, editor, counts).run())
      result.hasChanged = true;
    for (unsigned k = 0; wantRemarks && k < kCleanups; ++k)
      if (counts[k] != 0)
        result.remarks.push_back(
            {FunctionId(f), function.loc.line, true, fmt::format("clean-up {}, {}: {}", k + 1, kNames[k], counts[k])});
  }
  return result;
}

} // namespace orias::ptx
