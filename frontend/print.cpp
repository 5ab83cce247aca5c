#include "frontend/print.h"

#include "frontend/special_registers.h"

#include <fmt/format.h>

namespace orias::ptx {

namespace {

class Printer {
 public:
  Printer(const Module& module, const Function& function) : module_(module), f_(function) {}

  std::string run() {
    std::string out = f_.isEntry ? ".entry " : ".func ";
    if (!f_.returns.empty()) out += parameters(f_.returns) + ' ';
    out += fmt::format("{}{}\n{{\n", module_.text(f_.name), parameters(f_.params));
    for (const Register& r : f_.registers)
      out += fmt::format("  .reg {}.{} {};\n", r.vectorSize > 1 ? fmt::format(".v{} ", r.vectorSize) : "",
                         typeName(r.type), module_.text(r.name));
    for (const Statement& s : f_.statements)
      out += statement(s);
    return out + "}\n";
  }

 private:
  std::string parameters(const std::vector<Parameter>& list) const {
    std::string out;
    for (const Parameter& p : list)
      out += (out.empty() ? "" : ", ") + declaration(module_.variable(p.variable));
    return '(' + out + ')';
  }

  std::string declaration(const Variable& v) const {
    std::string out = fmt::format(".{}", spaceName(v.space));
    if (v.align > 1) out += fmt::format(" .align {}", v.align);
    if (v.vectorSize > 1) out += fmt::format(" .v{}", v.vectorSize);
    out += fmt::format(" .{}", typeName(v.type));
    if (v.isPointer) {
      out += " .ptr";
      if (v.pointerSpace != StateSpace::None) out += fmt::format(" .{}", spaceName(v.pointerSpace));
    }
    out += fmt::format(" {}", module_.text(v.name));
    if (v.isArray) out += v.incomplete ? "[]" : fmt::format("[{}]", v.elements);
    return out;
  }

  std::string statement(const Statement& s) const {
    switch (s.kind) {
    case StatementKind::Instruction: return "  " + instruction(f_.instructions[s.index]);
    case StatementKind::Label: return fmt::format("{}:\n", module_.text(f_.labels[s.index].name));
    case StatementKind::ScopeBegin: return "  {\n";
    case StatementKind::ScopeEnd: return "  }\n";
    case StatementKind::Variable: return fmt::format("  {};\n", declaration(module_.variables[s.index]));
    case StatementKind::Pragma: return fmt::format("  .pragma \"{}\";\n", module_.text(module_.pragmas[s.index].text));
    }
    return {};
  }

  std::string instruction(const Instruction& i) const {
    std::string out;
    if (i.guard != RegisterId::None) out += fmt::format("@{}{} ", i.guardNegated ? "!" : "", name(i.guard));
    out += module_.text(module_.opcode(i).text);
    const char* separator = " ";
    for (const Operand& o : f_.operandsOf(i)) {
      out += separator + operand(o);
      separator = ", ";
    }
    return out + ";\n";
  }

  std::string name(RegisterId reg) const {
    return reg == RegisterId::None ? "_" : std::string(module_.text(f_.registers[index(reg)].name));
  }

  static std::string withOffset(std::string text, std::int64_t offset) {
    return offset == 0 ? text : text + fmt::format("{:+}", offset);
  }

  std::string list(const Operand& group, const char* open, const char* close) const {
    std::string out;
    for (const Operand& part : f_.parts(group))
      out += (out.empty() ? "" : ", ") + operand(part);
    return open + out + close;
  }

  std::string selected(const Operand& o) const {
    const Component part = o.component();
    if (part == Component::None) return {};
    if (part != Component::Bytes && part != Component::Halves) return fmt::format(".{}", componentName(part));
    return fmt::format(".{}{:x}", part == Component::Bytes ? 'b' : 'h', o.selection());
  }

  static std::string special(SpecialRegister reg) {
    const SpecialRegisterInfo& info = specialRegisterInfo(reg);
    if (info.count == 1) return std::string(info.name);
    // Members of a family follow one another.
    unsigned member = 0;
    while (member < static_cast<unsigned>(reg) &&
           &specialRegisterInfo(static_cast<SpecialRegister>(static_cast<unsigned>(reg) - member - 1)) == &info)
      ++member;
    return fmt::format("{}{}", info.name, member);
  }

  std::string operand(const Operand& o) const {
    switch (o.kind()) {
    case OperandKind::Sink: return "_";
    case OperandKind::Register:
      return fmt::format("{}{}{}", o.isNegated() ? "!" : o.isMinus() ? "-" : "", name(o.registerId()), selected(o));
    case OperandKind::Pair: return name(o.registerId()) + '|' + name(o.secondRegister());
    case OperandKind::Special: return special(o.specialRegister()) + selected(o);
    case OperandKind::Int: return fmt::format("{}{}", o.intValue(), o.isUnsignedInt() ? "U" : "");
    case OperandKind::Float32: return fmt::format("0f{:08X}", o.bits());
    case OperandKind::Float64: return fmt::format("0d{:016X}", o.bits());
    case OperandKind::Address:
      switch (o.addressBase()) {
      case OperandKind::Register: return '[' + withOffset(name(o.registerId()), o.offset()) + ']';
      case OperandKind::Variable: return '[' + withOffset(variable(o), o.offset()) + ']';
      default: return fmt::format("[{}]", o.offset());
      }
    case OperandKind::Variable: return withOffset(variable(o), o.offset());
    case OperandKind::Function: return std::string(module_.text(module_.function(o.functionId()).name));
    case OperandKind::Label: return std::string(module_.text(f_.labels[index(o.labelId())].name));
    case OperandKind::Prototype: return std::string(module_.text(module_.prototypes[index(o.prototypeId())].name));
    case OperandKind::TargetList: return std::string(module_.text(module_.targetLists[index(o.targetListId())].name));
    case OperandKind::Vector: return list(o, "{", "}");
    case OperandKind::List: return list(o, "(", ")");
    case OperandKind::Bracket: return list(o, "[", "]");
    }
    return {};
  }

  std::string variable(const Operand& o) const {
    return std::string(module_.text(module_.variable(o.variableId()).name));
  }

  const Module& module_;
  const Function& f_;
};

} // namespace

std::string print(const Module& module, const Function& function) {
  return Printer(module, function).run();
}

} // namespace orias::ptx
