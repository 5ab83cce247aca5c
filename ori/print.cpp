#include "ori/print.h"

#include "encoder/isa/print.h"
#include "encoder/isa/target.h"
#include "ori/text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

namespace orias::ori {

namespace {

using Out = fmt::memory_buffer;
template <typename... Args> void put(Out& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}
void put(Out& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

void putQuoted(Out& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      put(out, "\\{}", c);
    else if (byte < 0x20 || byte == 0x7f)
      put(out, "\\x{:02x}", byte);
    else
      out.push_back(c);
  }
  out.push_back('"');
}

constexpr std::string_view kVirtualPrefix[] = {"%r", "%ur", "%p", "%up", "%b"};

/// The shortest readable text of a number that parses to the same value.
void putNumber(Out& out, std::int64_t value) {
  if (value > -10 && value < 10)
    put(out, "{}", value);
  else if (value < 0 && value > -65536)
    put(out, "-0x{:x}", -value);
  else
    put(out, "0x{:x}", static_cast<std::uint32_t>(value));
}

template <typename T> void putReal(Out& out, T value, char suffix) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  put(out, "{}{}", text, suffix);
}

/// Writes "1.5f" if that denotes exactly the bits; else returns false.
bool putFloat(Out& out, std::uint32_t bits, isa::Style style) {
  if (style == isa::Style::F32) {
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) return false;
    putReal(out, value, 'f');
    return true;
  }
  if (style == isa::Style::F64) {
    const double value = std::bit_cast<double>(static_cast<std::uint64_t>(bits) << 32);
    if (!std::isfinite(value)) return false;
    putReal(out, value, 'd');
    return true;
  }
  return false;
}

void putRegister(Out& out, const Function* function, const isa::Operand& o) {
  const auto file = static_cast<unsigned>(o.file);
  if (o.isVirtual()) {
    put(out, "{}{}", kVirtualPrefix[file], o.reg);
    const bool isPart = function && o.reg < function->vregCount() && function->vreg(o.reg).width != o.width;
    if (o.sub != 0 || isPart) put(out, ".{}", o.sub);
  } else if (o.reg == isa::zeroRegister(o.file)) {
    put(out, "{}{}", isa::fileName(o.file), o.file == File::R || o.file == File::UR ? "Z" : "T");
  } else {
    put(out, "{}{}", isa::fileName(o.file), o.reg);
  }
}

void putOperand(Out& out, const Function* function, const isa::Operand& o, isa::Style style = isa::Style::Hex) {
  const bool isNumber = o.isImm();
  if (o.neg()) out.push_back('-');
  if (o.inverted()) out.push_back(o.isReg(File::P) || o.isReg(File::UP) ? '!' : '~');
  if (o.abs()) out.push_back('|');
  // The sign of a number is part of it; a modifier is not.
  const bool inParens = isNumber && (o.neg() || o.inverted() || o.abs());
  if (inParens) out.push_back('(');
  switch (o.kind) {
  case isa::Operand::Kind::None: out.push_back('_'); break;
  case isa::Operand::Kind::Reg: putRegister(out, function, o); break;
  case isa::Operand::Kind::Imm:
    if (style == isa::Style::SpecialReg && o.imm >= 0 &&
        isa::specialRegisterNumber(isa::specialRegisterName(static_cast<unsigned>(o.imm))) == o.imm)
      put(out, isa::specialRegisterName(static_cast<unsigned>(o.imm)));
    else if (!putFloat(out, static_cast<std::uint32_t>(o.imm), style))
      putNumber(out, o.imm);
    break;
  case isa::Operand::Kind::Const:
    if (o.reg != isa::Operand::kNoReg) {
      put(out, "cx[");
      putRegister(out, nullptr, o);
    } else {
      put(out, "c[0x{:x}", o.bank);
    }
    put(out, "][0x{:x}]", static_cast<std::uint32_t>(o.imm));
    break;
  case isa::Operand::Kind::Label: put(out, ".L{}", o.reg); break;
  case isa::Operand::Kind::Symbol:
  case isa::Operand::Kind::Frame:
    put(out, "{}[{}]", o.kind == isa::Operand::Kind::Symbol ? "symbol" : "frame", o.reg);
    if (o.imm != 0) {
      out.push_back('+');
      putNumber(out, o.imm);
    }
    break;
  }
  if (inParens) out.push_back(')');
  if (o.width != 1) put(out, ":{}", o.width);
  if (o.abs()) out.push_back('|');
  switch (o.half) {
  case isa::Operand::Half::None: break;
  case isa::Operand::Half::H0H0: put(out, ".H0_H0"); break;
  case isa::Operand::Half::H1H1: put(out, ".H1_H1"); break;
  case isa::Operand::Half::H1H0: put(out, ".H1_H0"); break;
  case isa::Operand::Half::F32: put(out, ".F32"); break;
  }
  if (o.reuse()) put(out, ".reuse");
}

/// Writes the mnemonic. If its text would be parsed as another instruction, or is not a single word, writes the name of
/// the row with the modifiers as numbers.
void putMnemonic(Out& out, const Instr& instr) {
  const std::string name = text::mnemonic(instr.op, instr.mods);
  const std::vector<text::Resolved> meanings = text::resolve(name);
  if (name.find(',') == std::string::npos && meanings.size() == 1 && meanings[0].op == instr.op &&
      meanings[0].mods == instr.mods) {
    put(out, name);
    return;
  }
  const isa::InstrDesc& desc = isa::desc(instr.op);
  put(out, "{}<", desc.name);
  for (unsigned i = 0; i < desc.modCount; ++i)
    put(out, "{}{}", i ? "," : "", instr.mods[i]);
  out.push_back('>');
}

bool equalsDefault(const isa::Operand& operand, const isa::Operand& theDefault) {
  isa::Operand o = operand;
  o.flags = static_cast<std::uint8_t>(o.flags & ~isa::Operand::kLastUse);
  return o == theDefault;
}

/// The slots whose operands are written: all except operands with their default value that the parser can restore.
std::vector<unsigned> writtenSlots(const Instr& instr) {
  const isa::InstrDesc& desc = isa::desc(instr.op);
  const bool isComplete = instr.operandCount >= desc.slotCount;
  std::vector<unsigned> slots;
  std::vector<text::Written> written;
  bool isOpen = false; // in an address in brackets, which must not be empty
  for (unsigned i = 0; i < instr.operandCount; ++i) {
    const bool isSlot = i < desc.slotCount;
    const isa::Bracket bracket = isSlot ? desc.texts[i].bracket : isa::Bracket::None;
    const bool closes = isSlot && (i + 1 == desc.slotCount || desc.texts[i + 1].bracket != bracket);
    const bool mustStand = bracket != isa::Bracket::None && closes && !isOpen;
    if (isComplete && isSlot && text::isOmittable(desc, i) && equalsDefault(instr.op_(i), desc.defaults[i]) &&
        !mustStand)
      continue;
    isOpen = bracket != isa::Bracket::None && !closes;
    slots.push_back(i);
    written.push_back({instr.op_(i).value(), bracket});
  }
  const auto matched = text::matchSlots(instr.op, written);
  if (matched && *matched == slots) return slots;
  slots.resize(instr.operandCount);
  for (unsigned i = 0; i < instr.operandCount; ++i)
    slots[i] = i;
  return slots;
}

void putOperands(Out& out, const Function* function, const Instr& instr) {
  const isa::InstrDesc& desc = isa::desc(instr.op);
  isa::Bracket open = isa::Bracket::None;
  std::string_view separator = " ";
  for (unsigned i : writtenSlots(instr)) {
    const bool isSlot = i < desc.slotCount;
    const isa::Bracket bracket = isSlot ? desc.texts[i].bracket : isa::Bracket::None;
    if (bracket != open || bracket == isa::Bracket::None) {
      if (open != isa::Bracket::None) out.push_back(']');
      // A descriptor or a bank is followed by the address in it.
      const bool continues = bracket == isa::Bracket::Address && open != isa::Bracket::None;
      if (!continues) put(out, separator);
      separator = ", ";
      if (bracket == isa::Bracket::Descriptor) put(out, "desc");
      if (bracket == isa::Bracket::Bank) put(out, "bank");
      if (bracket == isa::Bracket::MatrixDescriptor) put(out, "gdesc");
      if (bracket != isa::Bracket::None) out.push_back('[');
    } else {
      out.push_back('+');
    }
    open = bracket;
    const isa::Operand& operand = instr.op_(i);
    putOperand(out, function, operand, isSlot ? desc.texts[i].style : isa::Style::Hex);
  }
  if (open != isa::Bracket::None) out.push_back(']');
}

/// PHI %r4, [.L1: %r2], [.L3: 5]
void putPhi(Out& out, const Function* function, const Instr& phi) {
  for (unsigned i = 0; i < phi.operandCount; ++i) {
    const bool isPair = i % 2 == 1 && i + 1 < phi.operandCount && phi.op_(i + 1).isLabel();
    put(out, i == 0 ? " " : ", ");
    if (!isPair) {
      putOperand(out, function, phi.op_(i));
      continue;
    }
    put(out, "[.L{}: ", phi.op_(i + 1).reg);
    putOperand(out, function, phi.op_(i));
    out.push_back(']');
    ++i;
  }
}

void putControl(Out& out, const Instr& instr) {
  const isa::Control& control = instr.control;
  const bool isControlled = control != isa::Control{};
  if (!isControlled && !instr.mayContract && !instr.hasUndefinedRest) return;
  put(out, " {");
  std::string_view between;
  const auto flag = [&](std::string_view name) {
    put(out, "{}{}", between, name);
    between = " ";
  };
  if (instr.mayContract) flag("contract");
  if (instr.hasUndefinedRest) flag("undef");
  if (isControlled) put(out, "{}stall={}", between, control.stall);
  if (control.yield) put(out, " yield");
  if (control.writeBarrier != isa::Control::kNoBarrier) put(out, " wr={}", control.writeBarrier);
  if (control.readBarrier != isa::Control::kNoBarrier) put(out, " rd={}", control.readBarrier);
  if (control.waitMask != 0) put(out, " wait=0x{:x}", control.waitMask);
  out.push_back('}');
}

/// The default guard of an instruction.
bool isDefaultGuard(const Instr& instr) {
  const bool isUniform = isa::desc(instr.op).has(isa::Flag::Uniform);
  return equalsDefault(instr.guard(), isa::Operand::zero(isUniform ? File::UP : File::P));
}

void putInstr(Out& out, const Function* function, const Instr& instr) {
  if (!isDefaultGuard(instr)) {
    out.push_back('@');
    putOperand(out, function, instr.guard());
    out.push_back(' ');
  }
  putMnemonic(out, instr);
  if (instr.op == Op::PHI)
    putPhi(out, function, instr);
  else
    putOperands(out, function, instr);
  putControl(out, instr);
}

void putNotes(Out& out, const Function& function, const Instr& instr) {
  put(out, "  #");
  if (instr.source.ptxLine) put(out, " line {}", instr.source.ptxLine);
  if (instr.source.loc) put(out, " loc {}", instr.source.loc);
  put(out, " by {}", instr.createdBy);
  std::vector<std::uint16_t> phases;
  function.forEachChange(instr, [&](std::uint16_t phase) { phases.push_back(phase); });
  for (auto phase = phases.rbegin(); phase != phases.rend(); ++phase)
    put(out, "<{}", *phase);
}

bool hasNotes(const Instr& instr) {
  return instr.source.ptxLine || instr.source.loc || instr.createdBy || instr.lastChange;
}

void putTriple(Out& out, std::string_view name, const std::uint32_t (&values)[3]) {
  if (values[0] || values[1] || values[2]) put(out, "  {} {} {} {};\n", name, values[0], values[1], values[2]);
}
void putValue(Out& out, std::string_view name, std::uint64_t value) {
  if (value) put(out, "  {} {};\n", name, value);
}

/// Declarations of registers with properties that their uses do not show; several to a line.
void putRegisters(Out& out, const Function& function) {
  constexpr std::size_t kLineLength = 100;
  std::size_t lineStart = out.size();
  bool any = false;
  for (VRegId id = 0; id < function.vregCount(); ++id) {
    const VReg& reg = function.vreg(id);
    if (!reg.hasRefs()) continue;
    const bool isPlain = reg.width == 1 && reg.align == 1 && reg.name.empty() && reg.divergent && !reg.multiDef;
    if (isPlain) continue;
    if (any && out.size() - lineStart < kLineLength) {
      put(out, ", ");
    } else {
      if (any) put(out, ";\n");
      lineStart = out.size();
      put(out, "  reg ");
    }
    any = true;
    put(out, "{}{}", kVirtualPrefix[static_cast<unsigned>(reg.file)], id);
    if (reg.width != 1) put(out, ":{}", reg.width);
    if (reg.align != defaultAlign(reg.width)) put(out, " align {}", reg.align);
    if (!reg.divergent) put(out, " uniform");
    if (reg.multiDef) put(out, " multidef");
    if (!reg.name.empty()) {
      out.push_back(' ');
      putQuoted(out, reg.name);
    }
  }
  if (any) put(out, ";\n");
}

void putHeader(Out& out, const Function& function) {
  put(out, "{} ", function.isKernel() ? "kernel" : "function");
  putQuoted(out, function.name());
  put(out, " {\n");
  for (const KernelParam& param : function.params) {
    put(out, "  param ");
    putQuoted(out, param.name);
    put(out, " offset {} size {}", param.offset, param.size);
    if (param.pointerSpace != 0) put(out, " pointer {} align {}", param.pointerSpace, param.pointerAlign);
    if (param.handle) put(out, " handle {}", *param.handle);
    put(out, ";\n");
  }
  putValue(out, "parambytes", function.paramBytes);
  for (const TextureHandleSlot& handle : function.handles)
    put(out, "  handle {} offset {};\n", handle.symbol, handle.offset);
  putTriple(out, "reqntid", function.bounds.reqntid);
  putTriple(out, "maxntid", function.bounds.maxntid);
  putValue(out, "minnctapersm", function.bounds.minnctapersm);
  putValue(out, "maxnreg", function.bounds.maxnreg);
  putTriple(out, "reqnctapercluster", function.bounds.reqnctapercluster);
  putValue(out, "maxclusterrank", function.bounds.maxclusterrank);
  if (function.bounds.explicitcluster) put(out, "  explicitcluster;\n");
  if (function.sharedBytes || function.sharedAlign != 1)
    put(out, "  shared {} align {};\n", function.sharedBytes, function.sharedAlign);
  if (function.usesDynamicShared) put(out, "  dynamicshared;\n");
  if (function.spillsToShared) put(out, "  spillstoshared;\n");
  if (function.usesReservedShared) put(out, "  reservedshared;\n");
  if (function.growsStack) put(out, "  growsstack;\n");
  if (function.hasFramePointer) put(out, "  framepointer;\n");
  if (function.usesWmma) put(out, "  wmma;\n");
  const FunctionStats& s = function.stats;
  if (s.registers || s.uniformRegisters || s.predicates || s.barriers || s.frameBytes || s.spillStoreBytes ||
      s.spillLoadBytes)
    put(out, "  stats {} {} {} {} {} {} {};\n", s.registers, s.uniformRegisters, s.predicates, s.barriers, s.frameBytes,
        s.spillStoreBytes, s.spillLoadBytes);
  if (function.ssa) put(out, "  ssa;\n");
  if (function.allocated) put(out, "  allocated;\n");
  for (const FrameObject& object : function.frame) {
    put(out, "  frame ");
    putQuoted(out, object.name);
    put(out, " size {} align {}", object.size, object.align);
    if (object.offset != -1) put(out, " offset {}", object.offset);
    if (object.isSpill) put(out, " spill");
    put(out, ";\n");
  }
  putRegisters(out, function);
}

void putFunction(Out& out, const Function& function, const PrintOptions& options) {
  putHeader(out, function);
  for (const Block* block : function.layout()) {
    put(out, ".L{}", block->id);
    if (!block->name.empty()) {
      out.push_back(' ');
      putQuoted(out, block->name);
    }
    if (block->loopDepth) put(out, " depth {}", block->loopDepth);
    if (block->isCold) put(out, " cold");
    put(out, ":\n");
    for (const Instr& instr : *block) {
      const std::size_t start = out.size();
      put(out, "  ");
      putInstr(out, &function, instr);
      out.push_back(';');
      if (options.notes && hasNotes(instr)) {
        constexpr std::size_t kNotesColumn = 64;
        while (out.size() - start < kNotesColumn)
          out.push_back(' ');
        putNotes(out, function, instr);
      }
      out.push_back('\n');
    }
    if (block->fallthrough != kNoId) put(out, "  -> .L{};\n", block->fallthrough);
  }
  put(out, "}\n");
}

constexpr std::string_view kLinkage[] = {"local", "global", "weak", "common", "external"};
constexpr std::string_view kSymbolKind[] = {"variable", "function", "extern", "driverword",
                                            "texture",  "sampler",  "surface"};

void putVariable(Out& out, const Variable& variable) {
  put(out, "variable ");
  putQuoted(out, variable.name);
  put(out, " {} {} size {} align {}", kLinkage[static_cast<unsigned>(variable.linkage)],
      variable.space == Space::Global ? "global" : "const", variable.size, variable.align);
  if (variable.managed) put(out, " managed");
  if (variable.constOffset != -1) put(out, " offset {}", variable.constOffset);
  if (!variable.init.empty()) {
    put(out, " init \"");
    for (const std::uint8_t byte : variable.init)
      put(out, "{:02x}", byte);
    out.push_back('"');
  }
  for (const DataRelocation& r : variable.relocations)
    put(out, " relocation {} {} {} {} {}", r.offset, r.size, r.symbol, r.addend, r.generic ? "generic" : "plain");
  put(out, ";\n");
}

} // namespace

std::string print(const Module& module, const PrintOptions& options) {
  Out out;
  put(out, "module {} ptx {} {};\n", module.target().name(), module.ptxVersionMajor, module.ptxVersionMinor);
  for (const std::string& file : module.files) {
    put(out, "file ");
    putQuoted(out, file);
    put(out, ";\n");
  }
  for (const LocEntry& loc : module.locs)
    put(out, "loc {} {} {};\n", loc.file, loc.line, loc.column);
  for (const Variable& variable : module.variables)
    putVariable(out, variable);
  for (const Symbol& symbol : module.symbols) {
    put(out, "symbol {} ", kSymbolKind[static_cast<unsigned>(symbol.kind)]);
    putQuoted(out, symbol.name);
    put(out, " {};\n", symbol.index);
  }
  for (const std::uint32_t slot : module.addressSlots)
    put(out, "addressslot {};\n", slot);
  if (module.hasIndependentSamplers) put(out, "independentsamplers;\n");
  for (const SamplerStart& s : module.samplers) {
    put(out, "sampler {} modes {} {} {} filter {}", s.symbol, s.addressModes[0], s.addressModes[1], s.addressModes[2],
        s.filter);
    if (s.forcesUnnormalized) put(out, " unnormalized {}", *s.forcesUnnormalized ? 1 : 0);
    put(out, ";\n");
  }
  for (const auto& function : module.functions) {
    put(out, "\n");
    putFunction(out, *function, options);
  }
  return fmt::to_string(out);
}

std::string print(const Function& function, const PrintOptions& options) {
  Out out;
  putFunction(out, function, options);
  return fmt::to_string(out);
}

std::string print(const Function& function, const Instr& instr) {
  Out out;
  putInstr(out, &function, instr);
  return fmt::to_string(out);
}

std::string printOperand(const Function& function, const isa::Operand& operand) {
  Out out;
  putOperand(out, &function, operand);
  return fmt::to_string(out);
}

} // namespace orias::ori
