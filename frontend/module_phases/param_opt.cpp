#include "frontend/module_phases/param_opt.h"

#include "frontend/module_phases/instruction_results.h"
#include "frontend/module_phases/ptx_editor.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace orias::ptx {

namespace {

/// The value that a load of a parameter writes to a register: variable, offset, type of the load, bits of the register.
using LoadedValue = std::tuple<VariableId, std::int64_t, Type, unsigned>;

class KernelParameters {
 public:
  KernelParameters(Module& module, FunctionId id, const FormTable& forms, PtxEditor& editor, bool wantRemarks,
                   ModulePhaseResult& result)
      : module_(module), id_(id), f_(module.functions[index(id)]), forms_(forms), editor_(editor),
        wantRemarks_(wantRemarks), result_(result) {}

  void shareLoads() {
    const std::vector<unsigned> definitions = countDefinitions();
    std::map<LoadedValue, RegisterId> everywhere, here;
    bool isFirst = true; // no label and no branch yet
    for (const Statement& s : f_.statements) {
      if (s.kind == StatementKind::Label) {
        here.clear();
        isFirst = false;
      }
      if (s.kind != StatementKind::Instruction) continue;
      Instruction& i = f_.instructions[s.index];
      const Form& form = forms_.form(i);
      isFirst &= !mayLeave(form.op);
      const bool isRead = isLoad(i, form);
      LoadedValue value;
      if (isRead) {
        const auto ops = f_.operandsOf(i);
        const unsigned bits = bitWidth(f_.registers[index(ops[0].registerId())].type);
        value = {ops[1].variableId(), ops[1].offset(), form.type(), bits};
        // The type determines how a narrow value is extended. It is irrelevant for a full register.
        if (bitWidth(form.type()) == bits) std::get<Type>(value) = Type::None;
        const auto known = here.find(value);
        const auto always = everywhere.find(value);
        const RegisterId from = known != here.end()          ? known->second
                                : always != everywhere.end() ? always->second
                                                             : RegisterId::None;
        const Operand to = ops[0];
        if (from == to.registerId()) continue; // the recorded value remains valid
        if (from != RegisterId::None && bits >= 16 && bits <= 64) {
          share(i, to, from, bits);
          std::erase_if(here, [&](const auto& entry) { return entry.second == to.registerId(); });
          continue;
        }
      }
      forEachResult(f_, forms_, i, [&](const Operand& o) {
        std::erase_if(here, [&](const auto& entry) { return entry.second == o.registerId(); });
      });
      if (!isRead || i.guard != RegisterId::None) continue;
      const RegisterId reg = f_.operandsOf(i)[0].registerId();
      here[value] = reg;
      if (isFirst && definitions[index(reg)] == 1) everywhere.try_emplace(value, reg);
    }
  }

  void dropUnused() {
    std::vector<unsigned> reads = countReads();
    std::set<std::uint32_t> dropped;
    for (bool isMore = true; isMore;) {
      isMore = false;
      for (std::uint32_t s = 0; s < f_.statements.size(); ++s) {
        if (f_.statements[s].kind != StatementKind::Instruction || dropped.contains(s)) continue;
        const Instruction& i = f_.instructions[f_.statements[s].index];
        const bool isRead = isLoad(i, forms_.form(i));
        if (!isRead && !comesFromParameter(i)) continue;
        const auto ops = f_.operandsOf(i);
        if (reads[index(ops[0].registerId())] != 0) continue;
        if (ops[1].is(OperandKind::Register)) --reads[index(ops[1].registerId())];
        if (i.guard != RegisterId::None) --reads[index(i.guard)];
        if (isRead) done(i, fmt::format("parameter '{}' is not read", nameOf(ops[1].variableId())));
        editor_.erase(s);
        dropped.insert(s);
        isMore = true;
      }
    }
    editor_.finish(f_);
    if (wantRemarks_) reportUnused();
  }

 private:
  bool isParameter(VariableId id) const {
    return std::ranges::any_of(f_.params, [&](const Parameter& p) { return p.variable == id; });
  }

  /// Whether this is a load of a scalar at an offset in a parameter.
  bool isLoad(const Instruction& i, const Form& form) const {
    const auto ops = f_.operandsOf(i);
    return form.op == Op::Ld && form.space() == StateSpace::Param && form.vectorSize() == 1 && ops.size() == 2 &&
           ops[0].is(OperandKind::Register) && ops[0].component() == Component::None &&
           ops[1].addressBase() == OperandKind::Variable && isParameter(ops[1].variableId());
  }

  static bool mayLeave(Op op) { return op == Op::Bra || op == Op::BrxIdx || op == Op::Ret || op == Op::Exit; }

  std::vector<unsigned> countDefinitions() const {
    std::vector<unsigned> count(f_.registers.size(), 0);
    for (const Statement& s : f_.statements)
      if (s.kind == StatementKind::Instruction)
        forEachResult(f_, forms_, f_.instructions[s.index], [&](const Operand& o) { ++count[index(o.registerId())]; });
    return count;
  }

  void share(Instruction& i, const Operand& to, RegisterId from, unsigned bits) {
    const VariableId parameter = f_.operandsOf(i)[1].variableId();
    const std::array operands{to, Operand::reg(from)};
    editor_.rewrite(f_, i, editor_.opcode("mov", {fmt::format("b{}", bits)}), operands);
    done(i, fmt::format("redundant load of parameter '{}'", nameOf(parameter)));
  }

  /// Counts the reads of registers, guards included.
  std::vector<unsigned> countReads() const {
    std::vector<unsigned> reads(f_.registers.size(), 0);
    const auto read = [&](RegisterId reg) {
      if (reg != RegisterId::None) ++reads[index(reg)];
    };
    // Results count as reads here and are subtracted later, because a register may be both in one instruction.
    const auto readAll = [&](const auto& self, const Operand& o) -> void {
      if (o.is(OperandKind::Register) || (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Register))
        read(o.registerId());
      if (o.is(OperandKind::Pair)) {
        read(o.registerId());
        read(o.secondRegister());
      }
      if (!o.isGroup()) return;
      if (o.is(OperandKind::Vector)) read(o.vectorPair());
      for (const Operand& part : f_.parts(o))
        self(self, part);
    };
    for (const Statement& s : f_.statements) {
      if (s.kind != StatementKind::Instruction) continue;
      const Instruction& i = f_.instructions[s.index];
      read(i.guard);
      for (const Operand& o : f_.operandsOf(i))
        readAll(readAll, o);
      forEachResult(f_, forms_, i, [&](const Operand& o) {
        if (o.component() == Component::None) --reads[index(o.registerId())];
      });
    }
    return reads;
  }

  bool isCopy(const Instruction& i) const {
    const Form& form = forms_.form(i);
    const auto ops = f_.operandsOf(i);
    return (form.op == Op::Mov || form.op == Op::Cvta) && ops.size() == 2 && ops[0].is(OperandKind::Register) &&
           ops[0].component() == Component::None && ops[1].is(OperandKind::Register);
  }

  /// Whether this copies a register that is loaded only from parameters.
  bool comesFromParameter(const Instruction& i) {
    if (!isCopy(i)) return false;
    if (fromParameter_.empty()) findFromParameters();
    return fromParameter_[index(f_.operandsOf(i)[1].registerId())];
  }

  void findFromParameters() {
    fromParameter_.assign(f_.registers.size(), true);
    for (bool isMore = true; isMore;) {
      isMore = false;
      for (const Statement& s : f_.statements) {
        if (s.kind != StatementKind::Instruction) continue;
        const Instruction& i = f_.instructions[s.index];
        if (isLoad(i, forms_.form(i))) continue;
        if (isCopy(i) && fromParameter_[index(f_.operandsOf(i)[1].registerId())]) continue;
        forEachResult(f_, forms_, i, [&](const Operand& o) {
          isMore |= fromParameter_[index(o.registerId())];
          fromParameter_[index(o.registerId())] = false;
        });
      }
    }
  }

  void reportUnused() {
    for (const Parameter& p : f_.params) {
      const auto names = [&](const Operand& o) {
        const bool isNamed =
            o.is(OperandKind::Variable) || (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Variable);
        return isNamed && o.variableId() == p.variable;
      };
      const auto isNamed = [&](const auto& self, std::span<const Operand> list) -> bool {
        return std::ranges::any_of(
            list, [&](const Operand& o) { return names(o) || (o.isGroup() && self(self, f_.parts(o))); });
      };
      const bool isUsed = std::ranges::any_of(f_.statements, [&](const Statement& s) {
        return s.kind == StatementKind::Instruction && isNamed(isNamed, f_.operandsOf(f_.instructions[s.index]));
      });
      if (isUsed) continue;
      const Variable& v = module_.variable(p.variable);
      result_.remarks.push_back({id_, v.loc.line, false,
                                 fmt::format("parameter '{}' is not used; its {} bytes remain reserved",
                                             module_.text(v.name), v.byteSize())});
    }
  }

  std::string_view nameOf(VariableId id) const { return module_.text(module_.variable(id).name); }

  void done(const Instruction& i, std::string what) {
    result_.hasChanged = true;
    if (wantRemarks_) result_.remarks.push_back({id_, i.loc.line, true, std::move(what)});
  }

  Module& module_;
  const FunctionId id_;
  Function& f_;
  const FormTable& forms_;
  PtxEditor& editor_;
  const bool wantRemarks_;
  ModulePhaseResult& result_;
  std::vector<bool> fromParameter_; // by RegisterId
};

} // namespace

ModulePhaseResult paramOpt(Module& module, GrowingForms& forms, bool wantRemarks) {
  ModulePhaseResult result;
  PtxEditor editor(module);
  const auto forKernels = [&](void (KernelParameters::*step)()) {
    const FormTable& table = forms.table();
    for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
      if (!module.functions[f].hasBody || !module.functions[f].isEntry || module.functions[f].params.empty()) continue;
      KernelParameters kernel(module, FunctionId(f), table, editor, wantRemarks, result);
      (kernel.*step)();
    }
  };
  forKernels(&KernelParameters::shareLoads);
  forKernels(&KernelParameters::dropUnused);
  return result;
}

} // namespace orias::ptx
