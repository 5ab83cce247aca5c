#include "test/differential/generator/function_writer.h"
#include "test/differential/generator/instruction_table.h"

namespace orias::generator {

void FunctionWriter::carryChain() {
  // Only adjacent instructions read and write the condition code. Results are new registers, so a chain cannot
  // overwrite its later operands.
  struct Form {
    const char *first, *middle, *last;
    int operands;
  };
  constexpr Form kForms[] = {
      {"add.cc.u32", "addc.cc.u32", "addc.u32", 2},       {"add.cc.s32", "addc.cc.s32", "addc.s32", 2},
      {"sub.cc.u32", "subc.cc.u32", "subc.u32", 2},       {"mad.lo.cc.u32", "madc.lo.cc.u32", "madc.hi.u32", 3},
      {"mad.lo.cc.s32", "madc.hi.cc.s32", "addc.s32", 3}, {"add.cc.u64", "addc.cc.u64", "addc.u64", 2},
      {"sub.cc.u64", "subc.cc.u64", "subc.u64", 2},       {"mad.hi.cc.u32", "madc.lo.cc.u32", "madc.hi.u32", 3},
  };
  const Form& form = random_.pick(kForms);
  const Kind kind = std::string_view(form.first).ends_with("64") ? Kind::B64 : Kind::B32;
  const unsigned middles = random_.below(3);
  std::vector<std::string> results;
  bool uniform = context().blockUniform;
  readUniform_ = true;
  for (unsigned i = 0; i < middles + 2; ++i) {
    const std::string_view opcode = i == 0 ? form.first : i <= middles ? form.middle : form.last;
    const int operands = opcode.starts_with("addc") || opcode.starts_with("add.") ? 2 : form.operands;
    std::string text;
    for (int o = 0; o < operands; ++o)
      text += ", " + read(kind);
    results.push_back(fresh(kind));
    emit("{} {}{}", opcode, results.back(), text);
  }
  uniform &= readUniform_;
  for (std::string& name : results)
    addValue(kind, name, uniform);
}

void FunctionWriter::pack() {
  switch (random_.below(8)) {
  case 0: {
    std::string low = readRegister(Kind::B32), high = readRegister(Kind::B32);
    emit("mov.b64 {}, {{{}, {}}}", result(Kind::B64), low, high);
    break;
  }
  case 1: {
    std::string from = readRegister(Kind::B64), low = fresh(Kind::B32), high = fresh(Kind::B32);
    emit("mov.b64 {{{}, {}}}, {}", low, high, from);
    addValue(Kind::B32, low, false);
    addValue(Kind::B32, high, false);
    break;
  }
  case 2: {
    std::string low = readRegister(Kind::B16), high = readRegister(Kind::B16);
    emit("mov.b32 {}, {{{}, {}}}", result(Kind::B32), low, high);
    break;
  }
  case 3: {
    std::string from = readRegister(Kind::B32), low = fresh(Kind::B16), high = fresh(Kind::B16);
    emit("mov.b32 {{{}, {}}}, {}", low, high, from);
    addValue(Kind::B16, low, false);
    addValue(Kind::B16, high, false);
    break;
  }
  case 4: {
    std::string parts[4];
    for (std::string& part : parts)
      part = readRegister(Kind::B16);
    emit("mov.b64 {}, {{{}, {}, {}, {}}}", result(Kind::B64), parts[0], parts[1], parts[2], parts[3]);
    break;
  }
  case 5: {
    std::string from = readRegister(Kind::B64), parts[4];
    for (std::string& part : parts)
      part = fresh(Kind::B16);
    emit("mov.b64 {{{}, {}, {}, {}}}, {}", parts[0], parts[1], parts[2], parts[3], from);
    for (std::string& part : parts)
      addValue(Kind::B16, part, false);
    break;
  }
  default: {
    Kind kind = kKinds[random_.below(5)];
    std::string from = read(kind);
    auto [prefix, name] = guard(kind);
    if (name.empty()) name = result(kind);
    emit("{}mov.{} {}, {}", prefix, info(kind).type, name, from);
    break;
  }
  }
}

// The bits of a NaN depend on the hardware (and on the compiler that folds it). Before its bits are used, every NaN is
// replaced with the same one.
std::string FunctionWriter::canonicalBits(Kind kind, const std::string& value) {
  const bool isDouble = kind == Kind::F64;
  const Kind bitsKind = isDouble ? Kind::B64 : Kind::B32;
  std::string isNan = fresh(Kind::Pred), raw = fresh(bitsKind), canonical = fresh(bitsKind);
  if (random_.percent(70))
    emit("setp.nan.{} {}, {}, {}", info(kind).type, isNan, value, value);
  else
    emit("testp.notanumber.{} {}, {}", info(kind).type, isNan, value);
  emit("mov.{} {}, {}", info(bitsKind).type, raw, value);
  emit("selp.{} {}, {}, {}, {}", info(bitsKind).type, canonical, isDouble ? "0x7ff8000000000000" : "0x7fffffff", raw,
       isNan);
  return canonical;
}

void FunctionWriter::bits() {
  const bool isDouble = random_.percent(30);
  const Kind floatKind = isDouble ? Kind::F64 : Kind::F32, bitsKind = isDouble ? Kind::B64 : Kind::B32;
  if (random_.percent(50)) {
    std::string from = readRegister(bitsKind);
    emit("mov.{} {}, {}", info(bitsKind).type, result(floatKind), from);
  } else {
    std::string canonical = canonicalBits(floatKind, readRegister(floatKind));
    addValue(bitsKind, canonical, false);
  }
}

/// Replaces every NaN in a register with one or two halves with the same NaN.
void FunctionWriter::canonicalHalves(const Row& row, const std::string& value) {
  const char* type = row.opcode.find("bf16") != std::string::npos ? "bf16" : "f16";
  const auto canonical = [&](const std::string& half) {
    std::string isNan = fresh(Kind::Pred);
    emit("setp.nan.{} {}, {}, {}", type, isNan, half, half);
    emit("selp.b16 {}, 0x7fff, {}, {}", half, half, isNan);
  };
  if (row.opcode.find("x2") == std::string::npos) return canonical(value);
  std::string low = fresh(Kind::B16), high = fresh(Kind::B16);
  emit("mov.b32 {{{}, {}}}, {}", low, high, value);
  canonical(low);
  canonical(high);
  emit("mov.b32 {}, {{{}, {}}}", value, low, high);
}

/// The value as 64 bits.
std::string FunctionWriter::wide(Kind kind, const std::string& value) {
  std::string made = fresh(Kind::B64);
  switch (kind) {
  case Kind::B16: emit("cvt.u64.u16 {}, {}", made, value); break;
  case Kind::B32: emit("cvt.u64.u32 {}, {}", made, value); break;
  case Kind::B64: return value;
  case Kind::F32: return wide(Kind::B32, canonicalBits(kind, value));
  case Kind::F64: return canonicalBits(kind, value);
  case Kind::Pred: emit("selp.b64 {}, {:#x}, {:#x}, {}", made, random_.next(), random_.below(1000), value); break;
  }
  return made;
}

void FunctionWriter::fold() {
  const Kind kind = random_.pick(kKinds);
  foldValue(kind, readRegister(kind));
}

void FunctionWriter::foldValue(Kind kind, const std::string& value) {
  if (kind == Kind::B32) {
    emit("xor.b32 %sum, %sum, {}", value);
    emit("shf.l.wrap.b32 %sum, %sum, %sum, {}", random_.between(1, 31));
  } else {
    std::string bits = wide(kind, value);
    emit("mad.lo.u64 %hash, %hash, {:#x}, {}", random_.next() | 1, bits);
  }
}

} // namespace orias::generator
