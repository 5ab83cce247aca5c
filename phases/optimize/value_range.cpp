// The possible values of a word, as one unsigned interval.

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/module.h"
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

constexpr unsigned kDepth = 4; ///< how many definitions in sequence are followed

// Numbers of special registers (encoder/isa/special_registers.inc); y and z follow x.
constexpr std::int32_t kLaneId = 0, kThreadX = 33, kBlockX = 37;
// The limits of a launch on all chips (CUDA C++ Programming Guide, technical specifications per compute capability; PTX
// ISA, %ntid and %nctaid): threads of a block, in total and along x, y and z, and blocks of a grid.
constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::uint32_t kMaxThreadsAlong[]{1024, 1024, 64};
constexpr std::uint32_t kMaxBlocksAlong[]{0x7fffffff, 0xffff, 0xffff};

/// How many threads a block can have along an axis: `.maxntid` bounds the product of the three, not each.
std::uint32_t mostThreads(const ori::LaunchBounds& bounds, unsigned axis) {
  if (bounds.reqntid[axis] != 0) return bounds.reqntid[axis];
  std::uint64_t most = kMaxThreads;
  if (const std::uint32_t* size = bounds.maxntid; size[0] != 0)
    most = std::min(most, std::uint64_t{size[0]} * std::max(size[1], 1u) * std::max(size[2], 1u));
  return std::min(static_cast<std::uint32_t>(most), kMaxThreadsAlong[axis]);
}

Range rangeOf(const Rewriter& rw, const Operand& operand, unsigned depth);

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
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  if (most > kMax || most + c.most > kMax) return {};
  return {a.least * b.least + c.least, static_cast<std::uint32_t>(most + c.most)};
}

/// The range of a word of a constant bank at a fixed address.
Range rangeOfLoad(const Rewriter& rw, const Instr& load) {
  const Operand bank = load.op_(1).value(), index = load.op_(2).value(), offset = load.op_(3).value();
  if (!bank.isImm() || !offset.isImm() || !(index.isNone() || index.isZeroReg())) return {};
  if (isa::modAs<isa::MemSize>(load, Mod::Size) != isa::MemSize::B32) return {};
  return rangeOfConstant(rw.function(), static_cast<unsigned>(bank.imm), offset.imm);
}

Range rangeOfDefinition(const Rewriter& rw, const Definition& def, unsigned depth) {
  const Instr& instr = *def.instr;
  if (def.slot != 0) return {};
  switch (instr.op) {
  case Op::COPY: return rangeOf(rw, instr.op_(1).value(), depth);
  case Op::S2R: return rangeOfSpecial(rw.function(), instr.op_(1).imm);
  case Op::LDC: return rangeOfLoad(rw, instr);
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
  if (isPlainConstant(operand)) {
    const Range more = rangeOfConstant(rw.function(), operand.bank, operand.imm);
    return {std::max(range.least, more.least), std::min(range.most, more.most)};
  }
  if (depth == 0 || operand.width != 1 || !operand.isReg(File::R)) return range;
  if (operand.neg() || operand.abs() || operand.inverted() || operand.half != Operand::Half::None) return range;
  const Definition def = rw.definition(operand);
  if (!def || def.instr->op_(def.slot).width != 1) return range;
  const Range more = rangeOfDefinition(rw, def, depth - 1);
  return {std::max(range.least, more.least), std::min(range.most, more.most)};
}

} // namespace

Range rangeOfSpecial(const ori::Function& function, std::int32_t number) {
  if (number == kLaneId) return {0, 31};
  if (number >= kThreadX && number < kThreadX + 3)
    return {0, mostThreads(function.bounds, static_cast<unsigned>(number - kThreadX)) - 1};
  if (number >= kBlockX && number < kBlockX + 3) return {0, kMaxBlocksAlong[number - kBlockX] - 1};
  return {};
}

Range rangeOfConstant(const ori::Function& function, unsigned bank, std::int32_t offset) {
  if (bank != 0) return {};
  const isa::Target& target = function.module().target();
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (offset == static_cast<std::int32_t>(target.ntidOffset(axis))) return {1, mostThreads(function.bounds, axis)};
    if (offset == static_cast<std::int32_t>(target.nctaidOffset(axis))) return {1, kMaxBlocksAlong[axis]};
  }
  return {};
}

Range knownRange(const Rewriter& rw, const Operand& operand) {
  return rangeOf(rw, operand, kDepth);
}

} // namespace orias::phases
