#include "tools/reduce/analysis.h"

#include "frontend/check.h"
#include "frontend/instr_form_table.h"
#include "frontend/parse.h"
#include "support/diagnostics.h"

#include <algorithm>
#include <memory>

namespace orias::reduce {

using namespace ptx;

namespace {

/// The registers that one instruction writes and reads, as ids.
struct Access {
  std::vector<RegisterId> writes, reads;
};

/// One function: what each statement reads and writes, and whether some register is read before it is written.
class FunctionAnalysis {
 public:
  FunctionAnalysis(const Module& module, const Function& function, const FormTable& forms)
      : module_(module), function_(function), forms_(forms) {}

  bool readsOnlyWritten() {
    const std::size_t count = function_.statements.size(), width = function_.registers.size();
    std::vector<std::vector<bool>> before(count + 1); // empty: not reached yet
    if (count == 0) return true;
    before[0].assign(width, false);
    for (const Parameter& parameter : function_.params)
      if (parameter.reg != RegisterId::None) before[0][index(parameter.reg)] = true;
    // The registers that have a value on every path to the statement. The sets shrink until nothing changes.
    std::vector<std::size_t> work = {0};
    while (!work.empty()) {
      const std::size_t at = work.back();
      work.pop_back();
      std::vector<bool> after = before[at];
      if (const Instruction* instruction = instructionAt(at))
        if (instruction->guard == RegisterId::None)
          for (RegisterId id : accessOf(*instruction).writes)
            after[index(id)] = true;
      for (std::size_t next : successors(at))
        if (meet(before[next], after) && next < count) work.push_back(next);
    }
    for (std::size_t at = 0; at < count; ++at) {
      const Instruction* instruction = instructionAt(at);
      if (!instruction || before[at].empty()) continue;
      for (RegisterId id : accessOf(*instruction).reads)
        if (!before[at][index(id)]) return false;
    }
    return true;
  }

  void collect(std::vector<Facts>& facts) const {
    for (const Statement& statement : function_.statements) {
      if (statement.kind != StatementKind::Instruction) continue;
      const Instruction& instruction = function_.instructions[statement.index];
      const Access access = accessOf(instruction);
      Facts& made = facts.emplace_back();
      made.piece = instruction.loc.line - 1;
      made.isGuarded = instruction.guard != RegisterId::None;
      for (RegisterId id : access.writes)
        made.definitions.push_back({nameOf(id), function_.registers[index(id)].type});
      for (RegisterId id : access.reads)
        made.reads.push_back(nameOf(id));
    }
  }

 private:
  std::string nameOf(RegisterId id) const { return std::string(module_.text(function_.registers[index(id)].name)); }

  const Instruction* instructionAt(std::size_t statement) const {
    const Statement& at = function_.statements[statement];
    return at.kind == StatementKind::Instruction ? &function_.instructions[at.index] : nullptr;
  }

  static bool meet(std::vector<bool>& into, const std::vector<bool>& from) {
    if (into.empty()) {
      into = from;
      return true;
    }
    bool changed = false;
    for (std::size_t i = 0; i < into.size(); ++i) {
      if (!into[i] || from[i]) continue;
      into[i] = false;
      changed = true;
    }
    return changed;
  }

  std::vector<std::size_t> successors(std::size_t at) const {
    const Instruction* instruction = instructionAt(at);
    if (!instruction) return {at + 1};
    const Op op = forms_.form(*instruction).op;
    std::vector<std::size_t> next;
    const bool leaves = op == Op::Bra || op == Op::BrxIdx || op == Op::Ret || op == Op::Exit || op == Op::Trap;
    if (!leaves || instruction->guard != RegisterId::None) next.push_back(at + 1);
    for (const Operand& operand : function_.operandsOf(*instruction)) {
      if (operand.is(OperandKind::Label)) next.push_back(function_.labels[index(operand.labelId())].statement);
      if (!operand.is(OperandKind::TargetList)) continue;
      const TargetList& list = module_.targetLists[index(operand.targetListId())];
      for (std::uint32_t label : list.targets)
        if (!list.isCall) next.push_back(function_.labels[label].statement);
    }
    return next;
  }

  /// The register operands of a group or a single operand.
  void registersOf(const Operand& operand, std::vector<RegisterId>& out) const {
    const auto add = [&](RegisterId id) {
      if (id != RegisterId::None) out.push_back(id);
    };
    if (operand.isGroup()) {
      for (const Operand& part : function_.parts(operand))
        registersOf(part, out);
      if (operand.is(OperandKind::Vector)) add(operand.vectorPair());
    } else if (operand.is(OperandKind::Register)) {
      add(operand.registerId());
    } else if (operand.is(OperandKind::Pair)) {
      add(operand.registerId());
      add(operand.secondRegister());
    } else if (operand.is(OperandKind::Address) && operand.addressBase() == OperandKind::Register) {
      add(operand.registerId());
    }
  }

  Access accessOf(const Instruction& instruction) const {
    Access access;
    if (instruction.guard != RegisterId::None) access.reads.push_back(instruction.guard);
    const auto operands = function_.operandsOf(instruction);
    const FormTable::Entry& entry = forms_.entry(instruction.opcode);
    if (entry.form.op == Op::Call) {
      const CallParts parts = callParts(function_, instruction);
      for (const Operand& operand : operands)
        registersOf(operand, &operand == parts.returns ? access.writes : access.reads);
      return access;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const bool isWritten = std::any_of(entry.patterns.begin(), entry.patterns.end(),
                                         [&](const OperandPattern& p) { return i < p.size() && p[i].dest; });
      registersOf(operands[i], isWritten ? access.writes : access.reads);
    }
    return access;
  }

  const Module& module_;
  const Function& function_;
  const FormTable& forms_;
};

} // namespace

std::optional<std::vector<Facts>> analyse(std::string_view text) {
  Diagnostics diagnostics("input.ptx", text);
  const auto module = parse(text, diagnostics);
  if (diagnostics.hasErrors()) return std::nullopt;
  check(*module, {}, diagnostics);
  if (diagnostics.hasErrors()) return std::nullopt;
  const FormTable forms(*module);
  std::vector<Facts> facts;
  for (const Function& function : module->functions) {
    if (!function.hasBody) continue;
    FunctionAnalysis analysis(*module, function, forms);
    if (!analysis.readsOnlyWritten()) return std::nullopt;
    analysis.collect(facts);
  }
  return facts;
}

} // namespace orias::reduce
