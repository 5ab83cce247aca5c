#include "tools/interpreter/text.h"

#include <fmt/format.h>

namespace orias::interp {

namespace {

using ptx::Operand;
using ptx::OperandKind;

class Printer {
 public:
  Printer(const ptx::Module& module, const ptx::Function& function) : module_(module), function_(function) {}

  std::string reg(ptx::RegisterId id) const {
    if (id == ptx::RegisterId::None) return "_";
    return std::string(module_.text(function_.registers[index(id)].name));
  }

  std::string operand(const Operand& o) const {
    switch (o.kind()) {
    case OperandKind::Sink: return "_";
    case OperandKind::Register:
      return (o.isNegated() ? "!" : o.isMinus() ? "-" : "") + reg(o.registerId()) + component(o);
    case OperandKind::Pair: return reg(o.registerId()) + "|" + reg(o.secondRegister());
    case OperandKind::Special: return std::string(ptx::specialRegisterInfo(o.specialRegister()).name) + component(o);
    case OperandKind::Int: return std::to_string(o.intValue());
    case OperandKind::Float32: return fmt::format("0f{:08x}", o.bits());
    case OperandKind::Float64: return fmt::format("0d{:016x}", o.bits());
    case OperandKind::Address: return "[" + address(o) + "]";
    case OperandKind::Variable: return withOffset(std::string(variable(o.variableId())), o.offset());
    case OperandKind::Function: return std::string(module_.text(module_.function(o.functionId()).name));
    case OperandKind::Label: return std::string(module_.text(function_.labels[index(o.labelId())].name));
    case OperandKind::Prototype: return std::string(module_.text(module_.prototypes[index(o.prototypeId())].name));
    case OperandKind::TargetList: return std::string(module_.text(module_.targetLists[index(o.targetListId())].name));
    case OperandKind::Vector: return "{" + parts(o) + "}";
    case OperandKind::List: return "(" + parts(o) + ")";
    case OperandKind::Bracket: return "[" + parts(o) + "]";
    }
    return "?";
  }

 private:
  std::string_view variable(ptx::VariableId id) const { return module_.text(module_.variable(id).name); }

  static std::string withOffset(std::string base, std::int64_t offset) {
    return offset == 0 ? base : fmt::format("{}{:+}", base, offset);
  }

  static std::string component(const Operand& o) {
    if (o.component() == ptx::Component::None) return {};
    std::string text = "." + std::string(ptx::componentName(o.component()));
    const bool bytes = o.component() == ptx::Component::Bytes;
    if (bytes || o.component() == ptx::Component::Halves)
      text += bytes ? fmt::format("{:04x}", o.selection()) : fmt::format("{:02x}", o.selection());
    return text;
  }

  std::string address(const Operand& o) const {
    switch (o.addressBase()) {
    case OperandKind::Register: return withOffset(reg(o.registerId()), o.offset());
    case OperandKind::Variable: return withOffset(std::string(variable(o.variableId())), o.offset());
    default: return std::to_string(o.offset());
    }
  }

  std::string parts(const Operand& group) const {
    std::string text;
    for (const Operand& part : function_.parts(group))
      text += (text.empty() ? "" : ", ") + operand(part);
    return text;
  }

  const ptx::Module& module_;
  const ptx::Function& function_;
};

} // namespace

std::string instructionText(const ptx::Module& module, const ptx::Function& function,
                            const ptx::Instruction& instruction) {
  const Printer printer(module, function);
  std::string text;
  if (instruction.guard != ptx::RegisterId::None)
    text = fmt::format("@{}{} ", instruction.guardNegated ? "!" : "", printer.reg(instruction.guard));
  text += module.text(module.opcode(instruction).text);
  const char* separator = " ";
  for (const Operand& operand : function.operandsOf(instruction)) {
    text += separator + printer.operand(operand);
    separator = ", ";
  }
  return text;
}

} // namespace orias::interp
