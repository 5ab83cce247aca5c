#include "frontend/module_phases/ptx_editor.h"

#include "frontend/module_phases/generic_access.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace orias::ptx {

namespace {

/// Words that precede the space in the manual's notation.
bool isBeforeSpace(std::string_view word) {
  static const std::set<std::string_view> kWords = {
      "weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "sc",      "mmio", "cta", "cluster", "gpu",
      "sys",  "a",        "b",       "c",       "d",       "sync",    "aligned", "row",  "col", "load",    "store"};
  return kWords.contains(word) || (word.size() > 1 && word[0] == 'm' && word[1] >= '0' && word[1] <= '9');
}

std::string textOf(std::string_view base, const std::vector<std::string>& modifiers) {
  std::string text(base);
  for (const std::string& word : modifiers)
    text += '.' + word;
  return text;
}

} // namespace

OpcodeId PtxEditor::opcode(std::string_view base, const std::vector<std::string>& modifiers) {
  const std::string text = textOf(base, modifiers);
  const auto [at, isNew] = made_.try_emplace(text, OpcodeId::None);
  if (!isNew) return at->second;
  std::vector<NameId> words;
  for (const std::string& word : modifiers)
    words.push_back(module_.names.intern(word));
  Opcode made;
  made.text = module_.names.intern(text);
  made.base = module_.names.intern(base);
  made.modifiers = module_.arena.copyArray<NameId>(words);
  at->second = OpcodeId(static_cast<std::uint32_t>(module_.opcodes.size()));
  module_.opcodes.push_back(made);
  return at->second;
}

namespace {

/// The words of an opcode with a state space inserted.
std::vector<std::string> withSpaceWord(const Module& module, const Opcode& opcode, StateSpace space) {
  std::vector<std::string> words;
  for (const NameId word : opcode.modifiers)
    words.emplace_back(module.text(word));
  const auto place = std::find_if_not(words.begin(), words.end(), isBeforeSpace);
  words.insert(place, std::string(spaceName(space)));
  return words;
}

} // namespace

/// Queries the table for all opcodes at once, because a table query costs more than a check of an opcode.
std::set<OpcodeId> PtxEditor::opcodesThatTake(StateSpace space) const {
  Module probe;
  probe.version = module_.version;
  probe.target = module_.target;
  PtxEditor made(probe);
  std::vector<std::pair<OpcodeId, OpcodeId>> probes; // opcodes of the module, and of `probe`
  for (std::uint32_t o = 0; o < module_.opcodes.size(); ++o) {
    const Opcode& opcode = module_.opcodes[o];
    const std::string_view base = module_.text(opcode.base);
    if (std::ranges::find(kAccessWords, base) != std::end(kAccessWords))
      probes.emplace_back(OpcodeId(o), made.opcode(base, withSpaceWord(module_, opcode, space)));
  }
  const FormTable forms(probe);
  std::set<OpcodeId> take;
  for (const auto& [opcode, id] : probes)
    if (forms.entry(id).problem.empty()) take.insert(opcode);
  return take;
}

OpcodeId PtxEditor::withSpace(OpcodeId generic, StateSpace space) {
  const auto [made, isNew] = withSpace_.try_emplace({generic, space}, OpcodeId::None);
  if (!isNew) return made->second;
  const auto [take, isFirst] = takeSpace_.try_emplace(space);
  if (isFirst) take->second = opcodesThatTake(space);
  if (!take->second.contains(generic)) return OpcodeId::None;
  const Opcode from = module_.opcodes[index(generic)];
  return made->second = opcode(std::string(module_.text(from.base)), withSpaceWord(module_, from, space));
}

std::uint32_t PtxEditor::addOperands(Function& function, std::span<const Operand> operands) {
  const auto first = static_cast<std::uint32_t>(function.operands.size());
  function.operands.insert(function.operands.end(), operands.begin(), operands.end());
  return first;
}

void PtxEditor::rewrite(Function& function, Instruction& instruction, OpcodeId opcode,
                        std::span<const Operand> operands) {
  instruction.opcode = opcode;
  instruction.firstOperand = addOperands(function, operands);
  instruction.operandCount = static_cast<std::uint16_t>(operands.size());
}

RegisterId PtxEditor::addRegister(Function& function, Type type, SourceLoc loc) {
  while (module_.names.find(fmt::format("%space{}", registers_)) != NameId::None)
    ++registers_;
  Register made;
  made.name = module_.names.intern(fmt::format("%space{}", registers_));
  made.loc = loc;
  made.type = type;
  function.registers.push_back(made);
  return RegisterId(static_cast<std::uint32_t>(function.registers.size() - 1));
}

void PtxEditor::insertBefore(Function& function, std::uint32_t before, OpcodeId opcode,
                             std::span<const Operand> operands, const Instruction& like) {
  Instruction made = like;
  made.guard = RegisterId::None;
  made.guardNegated = false;
  rewrite(function, made, opcode, operands);
  inserted_.emplace_back(
      before, Statement{StatementKind::Instruction, static_cast<std::uint32_t>(function.instructions.size())});
  function.instructions.push_back(made);
}

void PtxEditor::finish(Function& function) {
  if (inserted_.empty() && erased_.empty()) return;
  std::stable_sort(inserted_.begin(), inserted_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Statement> statements;
  std::vector<std::uint32_t> moved(function.statements.size());
  auto next = inserted_.begin();
  for (std::uint32_t s = 0; s < function.statements.size(); ++s) {
    for (; next != inserted_.end() && next->first == s; ++next)
      statements.push_back(next->second);
    moved[s] = static_cast<std::uint32_t>(statements.size());
    if (!erased_.contains(s)) statements.push_back(function.statements[s]);
  }
  for (Label& label : function.labels)
    if (label.statement < moved.size()) label.statement = moved[label.statement];
  function.statements = std::move(statements);
  inserted_.clear();
  erased_.clear();
}

} // namespace orias::ptx
