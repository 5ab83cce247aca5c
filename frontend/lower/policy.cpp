// L2 policies: createpolicy, and instructions that are only cache hints.
//
// A policy is a descriptor of a memory access. Its high word holds (observed) a kind in bits 24 to 28 and fields below
// it. For a fraction of the accesses, the field is the number of sixteenths that get the primary priority, minus one.
// For a range of addresses, the fields are the block size, the first block and the number of further blocks.

#include "frontend/lower/policy.h"
#include "frontend/lower/addresses.h"

#include "frontend/lower/families.h"

#include <string_view>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

const IsaOperand kNone = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

/// The primary priority in bits 5 and 6. Bit 4 tells whether the secondary one is evict_first; evict_unchanged is 0.
std::uint32_t priorities(std::string_view opcode) {
  constexpr std::string_view kPriority = ".L2::evict_";
  const std::size_t first = opcode.find(kPriority), second = opcode.find(kPriority, first + 1);
  const auto is = [&](std::size_t at, std::string_view name) {
    return at != std::string_view::npos && opcode.substr(at + kPriority.size()).starts_with(name);
  };
  const std::uint32_t primary = is(first, "first") ? 0x20 : is(first, "last") ? 0x40 : is(first, "normal") ? 0x60 : 0;
  return primary | (is(second, "first") ? 0x10 : 0);
}

/// word | (value & mask) << by
IsaOperand field(FunctionLowering& f, IsaOperand word, IsaOperand value, std::uint32_t mask, unsigned by) {
  const IsaOperand masked = f.newR(), shifted = f.newR(), r = f.newR();
  f.emit(IsaOp::LOP3, {kNone, masked, f.inReg(value), f.imm(mask), IsaOperand::rz(), f.imm(0xc0), kFalse});
  f.emit(IsaOp::SHF, {shifted, masked, f.imm(by), IsaOperand::rz()},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
  f.emit(IsaOp::LOP3, {kNone, r, shifted, word, IsaOperand::rz(), f.imm(0xfc), kFalse});
  return r;
}

IsaOperand sum(FunctionLowering& f, IsaOperand a, IsaOperand b, IsaOperand c) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::IADD3, {r, kNone, kNone, f.inReg(a), b, c});
  return r;
}

/// The pair shifted right by a count below 32.
IsaOperand shiftedRight(FunctionLowering& f, IsaOperand pair, IsaOperand by) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::SHF, {r, ori::component(pair, 0), by, ori::component(pair, 1)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U64}});
  return r;
}

IsaOperand limited(FunctionLowering& f, IsaOperand a, std::int32_t limit, bool fromBelow) {
  const IsaOperand r = f.newR();
  f.emit(f.target().has(isa::Capability::VectorMinMax) ? IsaOp::VIMNMX : IsaOp::IMNMX,
         {r, a, f.imm(limit), fromBelow ? kFalse : kNone}, {{IsaMod::Type, isa::IntType::S32}});
  return r;
}

/// Blocks of at least 4 KB, large enough for 128 of them to cover the range. The primary priority applies from the
/// first block to the last.
IsaOperand rangePolicy(FunctionLowering& f, const Instruction& i) {
  auto ops = f.operands(i);
  constexpr std::uint32_t kRange = 0x180;
  constexpr int kMinBits = 12, kBlocksLog = 7, kMaxBlocks = 127;
  const IsaOperand base = wholeAddress(f, addressOf(f, ops[1], StateSpace::Global));
  const IsaOperand primary = f.sourceReg(ops[2], Type::U32), total = f.sourceReg(ops[3], Type::U32);
  // The logarithm of the block size: that of the range, rounded up, minus that of the number of blocks.
  const IsaOperand top = f.newR();
  f.emit(IsaOp::FLO, {top, kNone, sum(f, total, f.imm(-1), IsaOperand::rz())}, {{IsaMod::Type, isa::IntType::U32}});
  const IsaOperand log = limited(f, sum(f, top, f.imm(1 - kBlocksLog), IsaOperand::rz()), kMinBits, true);
  const IsaOperand block = f.newR(), reach = f.newR(2), end = f.newR(2);
  f.emit(IsaOp::SHF, {block, f.inReg(f.imm(1)), log, IsaOperand::rz()},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
  f.copy(ori::component(reach, 0), Value::of(sum(f, primary, f.imm(-1), block)));
  f.copy(ori::component(reach, 1), Value::constant(0, 1));
  f.emit(IsaOp::IADD64, {end, base, reach});
  const IsaOperand first = shiftedRight(f, base, log), last = shiftedRight(f, end, log);
  const IsaOperand count = limited(f, sum(f, last, first.negated(), IsaOperand::rz()), kMaxBlocks, false);

  IsaOperand policy = f.imm(static_cast<std::int64_t>(kRange | priorities(f.opcodeText())) << 20);
  policy = field(f, policy, sum(f, log, f.imm(-kMinBits), IsaOperand::rz()), 15, 20);
  policy = field(f, policy, first, kMaxBlocks, 12);
  policy = field(f, policy, count, kMaxBlocks, 5);
  // A size of 0 means no range.
  const IsaOperand isEmpty = f.newP(), r = f.newR();
  f.emit(IsaOp::ISETP, {isEmpty, kNone, total, IsaOperand::rz(), IsaOperand::pt()},
         {{IsaMod::Cmp, isa::ICmp::EQ}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  f.emit(IsaOp::SEL, {r, policy, f.imm(std::int64_t{kRange} << 20), isEmpty.notted()});
  return r;
}

} // namespace

isa::Operand accessDescriptor(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (!form.has(Mod::L2CacheHint)) return f.globalDescriptor();
  const Value policy = f.source(f.operands(i).back(), Type::B64);
  const IsaOperand descriptor = f.out().use(f.out().newVReg(File::UR, 2));
  for (unsigned w = 0; w < 2; ++w)
    f.emit(IsaOp::R2UR, {kNone, ori::component(descriptor, w), f.inReg(policy.word(w))});
  return descriptor;
}

void lowerCreatepolicy(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const IsaOperand d = f.dest(ops[0]);
  if (form.mode() == Mod::Cvt) {
    f.copy(d, f.source(ops[1], Type::B64));
    return;
  }
  if (form.mode() == Mod::Range) {
    const IsaOperand high = rangePolicy(f, i);
    f.copy(ori::component(d, 0), Value::constant(0, 1));
    f.copy(ori::component(d, 1), Value::of(high));
    return;
  }
  constexpr std::uint32_t kFractional = 0x100, kAll = 15;
  const std::uint32_t kind = kFractional | priorities(f.opcodeText());
  if (ops.size() < 2) {
    f.copy(d, Value::constant(std::uint64_t{kind | kAll} << 52, 2));
    return;
  }
  const IsaOperand scaled = f.newR(), sixteenths = f.newR();
  constexpr std::int32_t kAlmostSixteen = 0x417fd70a; // 15.99
  f.emit(IsaOp::FMUL, {scaled, f.sourceReg(ops[1], Type::F32), f.imm(kAlmostSixteen)});
  f.emit(IsaOp::F2I, {sixteenths, scaled},
         {{IsaMod::DstFmt, isa::IntFmt::U32},
          {IsaMod::SrcFmt, isa::Fmt::F32},
          {IsaMod::Round, isa::RoundInt::Trunc},
          {IsaMod::Ntz, 1}});
  const IsaOperand high = field(f, f.imm(std::int64_t{kind} << 20), sixteenths, kAll, 20);
  f.copy(ori::component(d, 0), Value::constant(0, 1));
  f.copy(ori::component(d, 1), Value::of(high));
}

} // namespace orias::ptx
