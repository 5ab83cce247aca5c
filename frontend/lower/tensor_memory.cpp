// Loads, stores and copies of tensor memory, and the completion signals of products (tcgen05). Everything follows ptxas
// for sm_100a. Fences between threads need no instruction, because all of these execute in order. A load is complete
// for a wait when its result is available; every effect that another thread could observe waits for that
// (phases/scoreboards.cpp).

#include "frontend/lower/addresses.h"
#include "frontend/lower/families.h"
#include "frontend/lower/special.h"
#include "frontend/lower/sync.h"
#include "frontend/lower/uniform_loop.h"

#include <array>
#include <bit>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// Values of Mod::Geometry of LDTM and STTM.
enum TensorGeometry { k16dp128bit, k16dp256bit, k32dp32bit, k16dp64bit, kLowerLanes, kUpperLanes };

int geometryOf(Mod shape) {
  switch (shape) {
  case Mod::Shape16x64b: return k16dp64bit;
  case Mod::Shape16x128b: return k16dp128bit;
  case Mod::Shape16x256b: return k16dp256bit;
  default: return k32dp32bit;
  }
}

/// An address in tensor memory: a register with the lane and the column, and an offset in columns.
Address tensorAddress(FunctionLowering& f, const Operand& operand) {
  return addressOf(f, operand, StateSpace::Shared);
}

std::span<const Operand> elementsOf(FunctionLowering& f, const Operand& operand) {
  return operand.is(OperandKind::Vector) ? f.parts(operand) : std::span(&operand, 1);
}

IsaOperand offsetOf(std::int64_t offset) {
  return IsaOperand::immediate(static_cast<std::int32_t>(offset));
}

/// The base of an address that is uniform in the warp.
IsaOperand uniformBase(FunctionLowering& f, const Address& a) {
  const IsaOperand uniform = f.out().use(f.out().newVReg(File::UR));
  if (a.base.isZeroReg())
    f.emit(IsaOp::UMOV, {uniform, IsaOperand::zero(File::UR)});
  else
    f.emit(IsaOp::R2UR, {IsaOperand::pt(), uniform, a.base});
  return uniform;
}

int repetitions(const Form& form) {
  static constexpr std::array kCounts{Mod::X1, Mod::X2, Mod::X4, Mod::X8, Mod::X16, Mod::X32, Mod::X64, Mod::X128};
  for (std::size_t k = 0; k < kCounts.size(); ++k)
    if (form.has(kCounts[k])) return static_cast<int>(k);
  return 0;
}

bool is2Cta(const Form& form) {
  return form.get(Slot::CtaGroup) == Mod::CtaGroup2;
}

/// The registers of a load; for tcgen05.ld.red also the minimum or maximum of them.
struct TensorWords {
  IsaOperand words, extremum;
};

TensorWords load(FunctionLowering& f, const Form& form, unsigned words, int geometry, IsaOperand base,
                 std::int64_t offset, IsaOperand kept = {}) {
  TensorWords loaded{f.newR(words), {}};
  const ModValue shape{IsaMod::Geometry, geometry}, size{IsaMod::Size, repetitions(form)};
  if (form.op != Op::Tcgen05LdRed) {
    f.emit(IsaOp::LDTM, {loaded.words, base, offsetOf(offset), kept},
           {shape, size, {IsaMod::Sub, form.has(Mod::Pack16b) ? 1 : 0}});
    return loaded;
  }
  enum { Max, MaxAbs, Min, MinAbs };
  enum { Unsigned, Signed, Float };
  const bool isMin = form.has(Mod::Min), isAbs = form.has(Mod::Abs);
  loaded.extremum = f.newR();
  f.emit(IsaOp::LDTM_STAT, {loaded.extremum, loaded.words, base, offsetOf(offset), kept},
         {shape,
          size,
          {IsaMod::Func, isMin ? (isAbs ? MinAbs : Min) : (isAbs ? MaxAbs : Max)},
          {IsaMod::Type, form.type() == Type::F32   ? Float
                         : form.type() == Type::S32 ? Signed
                                                    : Unsigned},
          {IsaMod::Nan, form.has(Mod::NaN) ? 1 : 0}});
  return loaded;
}

} // namespace

void lowerTensorLoad(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Mod shape = form.get(Slot::TmemShape);
  auto parts = elementsOf(f, ops[0]);
  const unsigned words = static_cast<unsigned>(parts.size());
  const bool isReduced = form.op == Op::Tcgen05LdRed;
  const auto sources = ops.subspan(isReduced ? 2 : 1);
  ori::Block* join = f.beginUnguarded();
  const Address a = tensorAddress(f, sources[0]);
  const IsaOperand base = uniformBase(f, a);
  TensorWords result;
  if (shape != Mod::Shape16x32bx2) {
    result = load(f, form, words, geometryOf(shape), base, a.offset);
  } else {
    // Each half of the threads uses the registers of one of the two loads.
    const TensorWords lower = load(f, form, words, kLowerLanes, base, a.offset);
    const std::int64_t offset = a.offset + static_cast<std::int64_t>(sources[1].bits());
    result = load(f, form, words, kUpperLanes, base, offset, lower.words);
    if (isReduced) {
      constexpr int kLowerThreads = 16;
      const IsaOperand lane = f.newR(), extremum = f.newR();
      f.emit(IsaOp::S2R, {lane, IsaOperand::immediate(kSrLaneId)});
      f.emit(IsaOp::SEL, {extremum, lower.extremum, result.extremum, f.compared(lane, isa::ICmp::LT, kLowerThreads)});
      result.extremum = extremum;
    }
  }
  for (unsigned k = 0; k < words; ++k)
    f.copy(f.dest(parts[k]), Value::of(ori::component(result.words, k)));
  if (isReduced) f.copy(f.dest(elementsOf(f, ops[1]).front()), Value::of(result.extremum));
  f.endUnguarded(join);
}

void lowerTensorStore(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Mod shape = form.get(Slot::TmemShape);
  const bool isSplit = shape == Mod::Shape16x32bx2;
  auto parts = elementsOf(f, ops[isSplit ? 2 : 1]);
  const unsigned words = static_cast<unsigned>(parts.size());
  ori::Block* join = f.beginUnguarded();
  const Address a = tensorAddress(f, ops[0]);
  const IsaOperand base = uniformBase(f, a), data = f.newR(words);
  for (unsigned k = 0; k < words; ++k)
    f.copy(ori::component(data, k), f.source(parts[k], Type::B32));
  const auto store = [&](int geometry, std::int64_t offset) {
    f.emit(IsaOp::STTM, {base, offsetOf(offset), data},
           {{IsaMod::Geometry, geometry},
            {IsaMod::Size, repetitions(form)},
            {IsaMod::Sub, form.has(Mod::Unpack16b) ? 1 : 0}});
  };
  if (!isSplit) {
    store(geometryOf(shape), a.offset);
  } else {
    store(kLowerLanes, a.offset);
    store(kUpperLanes, a.offset + static_cast<std::int64_t>(ops[1].bits()));
  }
  f.endUnguarded(join);
}

void lowerTensorWait(FunctionLowering& f, const Instruction&, const Form& form) {
  if (form.op != Op::Tcgen05WaitSt) return;
  enum { TensorMemory = 2 };
  ori::Block* join = f.beginUnguarded();
  f.emit(IsaOp::FENCE_VIEW_ASYNC, {}, {{IsaMod::Sub, TensorMemory}});
  f.endUnguarded(join);
}

/// tcgen05.commit: signals a barrier when the operations issued by this thread are complete.
void lowerTensorCommit(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  LaneRegion region(f);
  const Address bar = sharedAddress(f, ops[0], form.space());
  const bool isMulticast = form.get(Slot::Multicast) != Mod::None;
  const IsaOperand at = uniformRun(f, 1), mask = isMulticast ? uniformRun(f, 1) : IsaOperand();
  std::vector<LaneWord> words{{at, sharedWord(f, bar)}};
  if (isMulticast) words.push_back({mask, f.extended(f.source(ops[1], Type::U16), Type::U16)});
  const std::vector<ModValue> mods{{IsaMod::Sub4, is2Cta(form) ? 1 : 0}, {IsaMod::Sub2, isMulticast ? 1 : 0}};
  const IsaOperand none = IsaOperand::zero(File::UR);
  region.forEachLane(
      words, [] {},
      [&] {
        if (isMulticast)
          f.emit(IsaOp::UTCBAR_MULTICAST, {at, none, mask}, mods);
        else
          f.emit(IsaOp::UTCBAR, {at, none}, std::span(mods).first(1));
      });
  region.end();
}

/// tcgen05.cp, from shared memory.
void lowerTensorUnitCopy(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  enum { Rows128Bits256, Rows4Bits256 = 2, Rows128Bits128, Rows64Warps02, Rows64Warps01, Rows32 };
  int shape = Rows128Bits256;
  switch (form.get(Slot::TmemShape)) {
  case Mod::Shape4x256b: shape = Rows4Bits256; break;
  case Mod::Shape128x128b: shape = Rows128Bits128; break;
  case Mod::Shape64x128b: shape = form.has(Mod::Warpx2_02_13) ? Rows64Warps02 : Rows64Warps01; break;
  case Mod::Shape32x128b: shape = Rows32; break;
  default: break;
  }
  LaneRegion region(f);
  const Address to = tensorAddress(f, ops[0]);
  const IsaOperand from = f.sourceReg(ops[1], Type::B64), at = uniformRun(f, 1), matrix = uniformRun(f, 2);
  const std::array<LaneWord, 3> words{LaneWord{at, f.inReg(to.base)},
                                      LaneWord{ori::component(matrix, 0), ori::component(from, 0)},
                                      LaneWord{ori::component(matrix, 1), ori::component(from, 1)}};
  const std::array<ModValue, 3> mods{ModValue{IsaMod::Geometry, shape},
                                     ModValue{IsaMod::SrcFmt, form.has(Mod::B4x16P64)   ? 1
                                                              : form.has(Mod::B6x16P32) ? 2
                                                                                        : 0},
                                     ModValue{IsaMod::Sub4, is2Cta(form) ? 1 : 0}};
  region.forEachLane(
      words, [] {},
      [&] {
        f.emit(IsaOp::UTCCP, {at, offsetOf(to.offset), matrix}, mods);
      });
  region.end();
}

/// tcgen05.shift.
void lowerTensorShift(FunctionLowering& f, const Instruction& i, const Form& form) {
  LaneRegion region(f);
  const Address a = tensorAddress(f, f.operands(i)[0]);
  const IsaOperand at = uniformRun(f, 1);
  const std::array<LaneWord, 1> words{LaneWord{at, f.inReg(a.base)}};
  const std::array<ModValue, 2> mods{ModValue{IsaMod::Sub, 1}, ModValue{IsaMod::Sub4, is2Cta(form) ? 1 : 0}};
  region.forEachLane(
      words, [] {},
      [&] {
        f.emit(IsaOp::UTCSHIFT, {at, offsetOf(a.offset)}, mods);
      });
  region.end();
}

} // namespace orias::ptx
