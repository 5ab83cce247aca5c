#include "frontend/check_instr.h"

#include "frontend/check_instr_operand.h"
#include "frontend/check_instr_rules.h"
#include "frontend/instr_form_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace orias::ptx {

namespace {

/// Targets with the features of the first, architecture-specific target.
bool sameFamily(unsigned wanted, unsigned actual) {
  static constexpr unsigned kFamilies[][4] = {{100, 102, 103, 0}, {101, 110, 0, 0}, {120, 121, 0, 0}};
  if (wanted == actual) return true;
  for (const auto& family : kFamilies) {
    const bool hasWanted = std::find(std::begin(family), std::end(family), wanted) != std::end(family);
    const bool hasActual = std::find(std::begin(family), std::end(family), actual) != std::end(family);
    if (hasWanted && hasActual && actual > wanted) return true;
  }
  return false;
}

bool hasDoubles(const Form& form) {
  for (unsigned i = 0; i < form.typeCount(); ++i)
    if (form.type(i) == Type::F64) return true;
  return false;
}

class InstructionChecker {
 public:
  InstructionChecker(const Module& module, const FormTable& forms, const CheckOptions& options, Diagnostics& diags)
      : module_(module), options_(options), diags_(diags), table_(forms), opcodeChecks_(module.opcodes.size()) {}

  void checkFunction(const Function& function) {
    OperandChecker operands(module_, function);
    for (const Instruction& instruction : function.instructions)
      check(function, instruction, operands);
  }

 private:
  /// The error of an opcode in this module, independent of its operands.
  struct OpcodeCheck {
    bool done = false;
    std::vector<std::string> problems;
  };

  void check(const Function& function, const Instruction& instruction, const OperandChecker& checker) {
    const FormTable::Entry& entry = table_.entry(instruction.opcode);
    if (!entry.row) {
      diags_.error(instruction.loc, entry.problem, entry.hint);
      return;
    }
    for (const std::string& problem : opcodeProblems(instruction.opcode))
      diags_.error(instruction.loc, problem);
    if (options_.warnDouble && hasDoubles(entry.form))
      diags_.warning(instruction.loc, "Program is doing double precision computations.");
    if (entry.form.op == Op::Call) {
      report(instruction, checkCall(module_, function, instruction));
      return;
    }
    const std::span<const Operand> operands = function.operandsOf(instruction);
    for (const Operand& operand : operands)
      if (operand.is(OperandKind::Special)) checkSpecial(instruction, operand.specialRegister());
    if (isPackingMov(entry.form, operands)) {
      report(instruction, checkPackingMov(function, entry.form, operands));
      return;
    }
    for (std::size_t k = 0; k < entry.patterns.size(); ++k)
      if (matches(entry.patterns[k], entry.form, operands, checker)) {
        checkPatternSince(instruction, entry, k);
        report(instruction, checkOperandRules(module_, options_.arch, function, entry.form, operands));
        return;
      }
    explain(instruction, entry, operands, checker);
  }

  void checkSpecial(const Instruction& instruction, SpecialRegister reg) {
    const SpecialRegisterInfo& info = specialRegisterInfo(reg);
    if (module_.version < Version{info.major, info.minor})
      report(instruction,
             fmt::format("Feature '{}' requires PTX ISA .version {}.{} or later", info.name, info.major, info.minor));
    if (module_.target.arch.number < info.sm)
      report(instruction, fmt::format("Feature '{}' requires .target sm_{} or higher", info.name, info.sm));
  }

  void report(const Instruction& instruction, std::string problem) {
    if (!problem.empty()) diags_.error(instruction.loc, std::move(problem));
  }

  /// Matches the operands with a pattern. Optional operands are skipped only if nothing else matches.
  static bool matches(const OperandPattern& pattern, const Form& form, std::span<const Operand> operands,
                      const OperandChecker& checker) {
    if (operands.size() > pattern.size()) return false;
    std::size_t missing = pattern.size() - operands.size();
    std::size_t at = 0;
    for (const OperandSpec& spec : pattern) {
      if (at < operands.size() && checker.fits(spec, form, operands[at], nullptr)) {
        ++at;
        continue;
      }
      if (!spec.optional || missing == 0) return false;
      --missing;
    }
    return at == operands.size();
  }

  const std::vector<std::string>& opcodeProblems(OpcodeId id) {
    OpcodeCheck& known = opcodeChecks_[index(id)];
    if (known.done) return known.problems;
    known.done = true;
    const FormTable::Entry& entry = table_.entry(id);
    checkSince(entry, known.problems);
    if (std::string problem = checkFormRules(module_, entry.form); !problem.empty())
      known.problems.push_back(std::move(problem));
    if (std::string problem = checkFormVersion(module_, entry.form); !problem.empty())
      known.problems.push_back(std::move(problem));
    return known.problems;
  }

  void checkVersionAndTarget(const Since& since, std::string_view what, std::vector<std::string>& problems) const {
    if (module_.version < since.version)
      problems.push_back(fmt::format("Feature '{}' requires PTX ISA .version {}.{} or later", what, since.version.major,
                                     since.version.minor));
    if (module_.target.arch.number < since.sm)
      problems.push_back(fmt::format("Feature '{}' requires .target sm_{} or higher", what, since.sm));
  }

  /// The requirements of these operands beyond those of the opcode.
  void checkPatternSince(const Instruction& instruction, const FormTable::Entry& entry, std::size_t pattern) {
    if (entry.patternSince.empty()) return;
    const Form& form = entry.form;
    std::vector<std::string> problems;
    checkVersionAndTarget(entry.patternSince[pattern],
                          fmt::format("{}.{} with {} input operands", opName(form.op), typeName(form.type()),
                                      entry.patterns[pattern].size() - 1),
                          problems);
    for (std::string& problem : problems)
      report(instruction, std::move(problem));
  }

  void checkSince(const FormTable::Entry& entry, std::vector<std::string>& problems) const {
    const Since& since = entry.since;
    const Arch target = module_.target.arch;
    checkVersionAndTarget(since, entry.sinceWhat.empty() ? std::string(opName(entry.form.op)) : "." + entry.sinceWhat,
                          problems);
    if (since.only.empty()) return;
    const bool has = target.suffix != 0 && std::any_of(since.only.begin(), since.only.end(), [&](const Arch& arch) {
                       return sameFamily(arch.number, target.number);
                     });
    if (has) return;
    const std::string suffix = target.suffix ? std::string(1, target.suffix) : "";
    problems.push_back(fmt::format("Instruction '{}' not supported on .target 'sm_{}{}'", opName(entry.form.op),
                                   target.number, suffix));
  }

  /// Reports why no pattern matches, using the pattern with the longest match.
  void explain(const Instruction& instruction, const FormTable::Entry& entry, std::span<const Operand> operands,
               const OperandChecker& checker) {
    const std::string_view name = opName(entry.form.op);
    std::string why;
    std::size_t furthest = 0;
    bool found = false;
    for (const OperandPattern& pattern : entry.patterns) {
      const auto needed = static_cast<std::size_t>(
          std::count_if(pattern.begin(), pattern.end(), [](const OperandSpec& spec) { return !spec.optional; }));
      if (operands.size() < needed || operands.size() > pattern.size()) continue;
      for (std::size_t i = 0; i < operands.size(); ++i) {
        std::string reason;
        if (checker.fits(pattern[i], entry.form, operands[i], &reason)) continue;
        if (!found || i > furthest) {
          furthest = i;
          why = std::move(reason);
        }
        found = true;
        break;
      }
    }
    const std::string hint = fmt::format("the form is {} {}", entry.row->opcode, entry.row->operands);
    if (!found) {
      diags_.error(instruction.loc, fmt::format("Arguments mismatch for instruction '{}'", name), hint);
    } else if (why.empty()) {
      diags_.error(instruction.loc,
                   fmt::format("Arguments mismatch for instruction '{}': operand {}", name, furthest + 1), hint);
    } else {
      diags_.error(instruction.loc,
                   fmt::format("Arguments mismatch for instruction '{}': operand {}: {}", name, furthest + 1, why),
                   hint);
    }
  }

  const Module& module_;
  const CheckOptions& options_;
  Diagnostics& diags_;
  const FormTable& table_;
  std::vector<OpcodeCheck> opcodeChecks_;
};

} // namespace

void checkInstructions(const Module& module, const FormTable& forms, const CheckOptions& options, Diagnostics& diags) {
  InstructionChecker checker(module, forms, options, diags);
  for (const Function& function : module.functions)
    checker.checkFunction(function);
}

} // namespace orias::ptx
