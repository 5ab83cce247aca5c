// Which values a word can have, as one unsigned interval.

#include "encoder/isa/desc.h"
#include "phases/optimize/known_bits.h"

#include <algorithm>
#include <limits>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr unsigned kDepth = 4; ///< definitions that are looked through, one behind the other
constexpr std::int32_t kLaneId = 0, kThreadX = 33;
/// The most threads of a block along x, y and z (CUDA C++ Programming Guide, compute capabilities).
constexpr std::uint32_t kMostThreads[]{1024, 1024, 64};

Range rangeOf(const Rewriter& rw, const Operand& operand, unsigned depth);

Range rangeOfSpecial(const ori::Function& function, std::int32_t number) {
  if (number == kLaneId) return {0, 31};
  const std::int32_t axis = number - kThreadX;
  if (axis < 0 || axis > 2) return {};
  if (function.bounds.reqntid[axis] != 0) return {0, function.bounds.reqntid[axis] - 1};
  return {0, kMostThreads[axis] - 1};
}

/// The sum of the addends, unless it can wrap or one of them is negated.
Range rangeOfSum(const Rewriter& rw, const Instr& instr, unsigned depth) {
  std::uint64_t least = 0, most = 0;
  for (unsigned slot = 3; slot < 6; ++slot) {
    const Range term = rangeOf(rw, instr.op_(slot).value(), depth);
    least += term.least, most += term.most;
  }
  if (most > std::numeric_limits<std::uint32_t>::max()) return {};
  return {static_cast<std::uint32_t>(least), static_cast<std::uint32_t>(most)};
}

Range rangeOfProduct(const Rewriter& rw, const Instr& instr, unsigned depth) {
  const Range a = rangeOf(rw, instr.op_(1).value(), depth), b = rangeOf(rw, instr.op_(2).value(), depth),
              c = rangeOf(rw, instr.op_(3).value(), depth);
  const std::uint64_t most = std::uint64_t{a.most} * b.most;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (most > kMost || most + c.most > kMost) return {};
  return {a.least * b.least + c.least, static_cast<std::uint32_t>(most + c.most)};
}

Range rangeOfDefinition(const Rewriter& rw, const Definition& def, unsigned depth) {
  const Instr& instr = *def.instr;
  if (def.slot != 0) return {};
  switch (instr.op) {
  case Op::COPY: return rangeOf(rw, instr.op_(1).value(), depth);
  case Op::S2R: return rangeOfSpecial(rw.function(), instr.op_(1).imm);
  case Op::SEL: {
    const Range a = rangeOf(rw, instr.op_(1).value(), depth), b = rangeOf(rw, instr.op_(2).value(), depth);
    return {std::min(a.least, b.least), std::max(a.most, b.most)};
  }
  case Op::IADD3: return rangeOfSum(rw, instr, depth);
  case Op::IMAD: return rangeOfProduct(rw, instr, depth);
  case Op::POPC: return {0, 32};
  default: return {};
  }
}

Range rangeOf(const Rewriter& rw, const Operand& operand, unsigned depth) {
  const Bits bits = knownBits(rw, operand);
  Range range{bits.mustBeOne(), bits.canBeOne};
  if (depth == 0 || operand.width != 1 || !operand.isReg(File::R)) return range;
  if (operand.neg() || operand.abs() || operand.inverted() || operand.half != Operand::Half::None) return range;
  const Definition def = rw.definition(operand);
  if (!def || def.instr->op_(def.slot).width != 1) return range;
  const Range more = rangeOfDefinition(rw, def, depth - 1);
  return {std::max(range.least, more.least), std::min(range.most, more.most)};
}

} // namespace

Range knownRange(const Rewriter& rw, const Operand& operand) {
  return rangeOf(rw, operand, kDepth);
}

} // namespace orias::phases
