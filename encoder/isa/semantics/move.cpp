// Moves, selections and permutations; predicate logic.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

namespace orias::isa::semantics {

namespace {

/// One byte of {b:a}; with `sign`, eight copies of its sign bit.
std::uint32_t pickByte(std::uint64_t bytes, unsigned index, bool sign) {
  const auto byte = static_cast<std::uint32_t>(bytes >> (8 * index) & 0xff);
  return sign ? ((byte & 0x80) != 0 ? 0xff : 0) : byte;
}

/// The results of PLOP3 from its two tables.
void lookUp(Lane& lane, bool a, bool b, bool c) {
  const unsigned index = (a ? 4u : 0u) | (b ? 2u : 0u) | (c ? 1u : 0u);
  lane.setPred(0, (lane.raw(5) >> index & 1) != 0);
  lane.setPred(1, (lane.raw(6) >> index & 1) != 0);
}

} // namespace

void mov(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, lane.raw(1));
}

void copy(const Inst& inst, LaneValues& values) {
  const Operand& from = inst.operands[1];
  values[0] = values[1];
  if (from.isReg(File::P) || from.isReg(File::UP)) values[0] = LaneValue::of(Lane(inst, values).pred(1) ? 1 : 0);
}

void undefined(const Inst&, LaneValues& values) {
  values[0] = {};
}

void sel(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lane.set(0, lane.pred(3) ? lane.raw(1) : lane.raw(2));
}

void prmt(const Inst& inst, LaneValues& values) {
  // PTX prmt; Rb selects from {Rc:Ra}.
  Lane lane(inst, values);
  const std::uint64_t bytes = std::uint64_t{lane.raw(3)} << 32 | lane.raw(1);
  const std::uint32_t selector = lane.raw(2);
  const unsigned start = selector & 3;
  std::uint32_t result = 0;
  // The uniform form has no modes.
  const auto mode = lane.modAs<PrmtMode>(Mod::PrmtMode);
  for (unsigned i = 0; i < 4; ++i) {
    unsigned index = 0;
    bool sign = false;
    switch (mode) {
    case PrmtMode::Index:
      index = selector >> (4 * i) & 7;
      sign = (selector >> (4 * i) & 8) != 0;
      break;
    case PrmtMode::F4E: index = start + i; break;
    case PrmtMode::B4E: index = (start - i) & 7; break;
    case PrmtMode::RC8: index = start; break;
    case PrmtMode::ECL: index = i > start ? i : start; break;
    case PrmtMode::ECR: index = i < start ? i : start; break;
    case PrmtMode::RC16: index = (start & 1) * 2 + (i & 1); break;
    }
    result |= pickByte(bytes, index, sign) << (8 * i);
  }
  lane.set(0, result);
}

void plop3(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lookUp(lane, lane.pred(2), lane.pred(3), lane.pred(4));
}

void plop3Sign(const Inst& inst, LaneValues& values) {
  Lane lane(inst, values);
  lookUp(lane, lane.s32(2) < 0, lane.s32(3) < 0, lane.s32(4) < 0);
}

} // namespace orias::isa::semantics
