#pragma once

// Evaluates instructions from SASS text on given values.

#include "encoder/isa/desc.h"
#include "encoder/isa/parse.h"
#include "encoder/isa/semantics/semantics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>

namespace orias::test {

inline std::uint32_t bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
inline std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

/// The rows whose functions the tests of this program have executed.
inline std::set<isa::Op>& rowsTested() {
  static std::set<isa::Op> rows;
  return rows;
}

/// Registers by number, predicates by 1000 + number. Pairs are two registers.
struct Machine {
  std::map<unsigned, std::uint32_t> registers;

  static constexpr unsigned kPredicate = 1000;

  std::uint32_t r(unsigned number) { return registers[number]; }
  std::uint64_t r64(unsigned number) {
    return registers[number] | static_cast<std::uint64_t>(registers[number + 1]) << 32;
  }
  bool p(unsigned number) { return registers[kPredicate + number] != 0; }
  Machine& set(unsigned number, std::uint32_t value) {
    registers[number] = value;
    return *this;
  }
  Machine& set64(unsigned number, std::uint64_t value) {
    registers[number] = static_cast<std::uint32_t>(value);
    registers[number + 1] = static_cast<std::uint32_t>(value >> 32);
    return *this;
  }
  Machine& setP(unsigned number, bool value) { return set(kPredicate + number, value ? 1 : 0); }

  isa::LaneValue read(const isa::Inst& inst, unsigned slot) {
    const isa::Operand& o = inst.operands[slot];
    if (o.isImm()) return isa::immediateValue(inst, slot);
    if (!o.isReg()) return {};
    const bool isPredicate = o.file == isa::File::P || o.file == isa::File::UP;
    if (o.isZeroReg()) return isa::LaneValue::of(isPredicate ? 1 : 0);
    isa::LaneValue v;
    const unsigned width = std::max(1u, isa::operandWidth(inst, slot));
    for (unsigned i = 0; i < width; ++i)
      v.w[i] = registers[(isPredicate ? kPredicate : 0) + o.reg + i];
    return v;
  }

  /// Executes one instruction, as `IADD3 R0, P0, PT, R1, R2, R3`.
  Machine& run(const std::string& text) {
    CAPTURE(text);
    const isa::Inst inst = parse(text);
    const isa::LaneFunction function = isa::laneFunction(inst.op);
    rowsTested().insert(inst.op);
    REQUIRE((function != nullptr));
    isa::LaneValues values{};
    const auto slots = isa::desc(inst.op).slotList();
    for (unsigned i = 0; i < slots.size(); ++i)
      if (slots[i].role == isa::Role::Use) values[i] = read(inst, i);
    function(inst, values);
    for (unsigned i = 0; i < slots.size(); ++i) {
      const isa::Operand& o = inst.operands[i];
      if (slots[i].role != isa::Role::Def || !o.isReg() || o.isZeroReg()) continue;
      const bool isPredicate = o.file == isa::File::P || o.file == isa::File::UP;
      const unsigned width = std::max(1u, isa::operandWidth(inst, i));
      for (unsigned k = 0; k < width; ++k)
        registers[(isPredicate ? kPredicate : 0) + o.reg + k] = values[i].w[k];
    }
    return *this;
  }

  static isa::Inst parse(const std::string& text) {
    const isa::ParseResult result = isa::parse(text);
    REQUIRE_MESSAGE(static_cast<bool>(result), text << ": " << result.error);
    return result.inst;
  }
};

} // namespace orias::test
