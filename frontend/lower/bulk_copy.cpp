// Bulk copies and copies of tensors: cp.async.bulk, cp.reduce.async.bulk, their prefetches and groups, and operations
// on tensor maps. The copy unit takes one copy at a time, from uniform registers. Everything follows ptxas for sm_90.

#include "frontend/lower/bulk_copy.h"
#include "frontend/lower/addresses.h"

#include "encoder/isa/codec.h"

#include "frontend/lower/families.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/sync.h"
#include "frontend/lower/uniform_loop.h"

#include <algorithm>
#include <array>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

const IsaOperand kNone = IsaOperand::pt();

/// The operands of a copy, collected while they are read.
class Copy {
 public:
  explicit Copy(FunctionLowering& f) : f_(f) {}

  /// Uniform registers that hold these words.
  IsaOperand uniform(std::span<const IsaOperand> words) {
    const IsaOperand run = uniformRun(f_, static_cast<unsigned>(words.size()));
    for (unsigned i = 0; i < words.size(); ++i)
      words_.push_back({ori::component(run, i), words[i]});
    return run;
  }
  IsaOperand pair(IsaOperand value) {
    const std::array<IsaOperand, 2> words{ori::component(value, 0), ori::component(value, 1)};
    return uniform(words);
  }
  /// The L2 policy, if the form has one: the last operand.
  IsaOperand policy(const Instruction& i, const Form& form) {
    if (!form.has(Mod::L2CacheHint)) return {};
    const auto operands = f_.operands(i);
    return pair(
        f_.sourceReg(operands[operands.size() - (form.has(Mod::CpMask) ? 2 : 1)], Type::B64)); // before the mask
  }
  void emit(IsaOp op, std::initializer_list<IsaOperand> operands, std::span<const ModValue> mods) {
    const std::vector<IsaOperand> given(operands);
    forEachLane(f_, words_, [&] { f_.emit(op, given, mods); });
  }

 private:
  FunctionLowering& f_;
  std::vector<LaneWord> words_;
};

IsaOperand sharedWordOf(FunctionLowering& f, const Operand& operand) {
  return sharedWord(f, addressOf(f, operand, StateSpace::Shared));
}

IsaOperand globalPair(FunctionLowering& f, const Operand& operand) {
  return wholeAddress(f, addressOf(f, operand, StateSpace::Global));
}

IsaOperand permuted(FunctionLowering& f, IsaOperand a, std::int64_t selector, IsaOperand b) {
  const IsaOperand r = f.newR();
  f.emit(IsaOp::PRMT, {r, f.inReg(a), f.imm(selector), b});
  return r;
}

constexpr std::int64_t kLowHalves = 0x5410; ///< low halves: the first source's below, the second's above

IsaOperand shifted(FunctionLowering& f, IsaOperand word, unsigned by, isa::ShiftDir direction) {
  const IsaOperand r = f.newR();
  const bool isRight = direction == isa::ShiftDir::R;
  f.emit(IsaOp::SHF, {r, isRight ? IsaOperand::rz() : f.inReg(word), f.imm(by), isRight ? word : IsaOperand::rz()},
         {{IsaMod::ShiftDir, direction}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, isRight ? 1 : 0}});
  return r;
}

/// The size of the copy in units of 16 bytes; above it the mask of destination CTAs in the cluster.
IsaOperand unitsWord(FunctionLowering& f, const Operand& bytes, IsaOperand ctas) {
  return permuted(f, shifted(f, f.sourceReg(bytes, Type::U32), 4, isa::ShiftDir::R), kLowHalves, ctas);
}

int copyType(Type type) {
  enum { U32, S32, U64, S64, F16, F32, F64 = 7, BF16 };
  switch (type) {
  case Type::S32: return S32;
  case Type::B64:
  case Type::U64: return U64;
  case Type::S64: return S64;
  case Type::F16: return F16;
  case Type::F32: return F32;
  case Type::F64: return F64;
  case Type::BF16: return BF16;
  default: return U32;
  }
}

std::span<const Operand> elementsOf(FunctionLowering& f, const Operand& operand) {
  return operand.is(OperandKind::Vector) ? f.parts(operand) : std::span(&operand, 1);
}

/// `[map, {coordinates}]`.
struct Tensor {
  IsaOperand map;
  std::vector<IsaOperand> coordinates;
};

std::optional<Tensor> tensorOf(FunctionLowering& f, const Operand& operand) {
  auto parts = f.parts(operand);
  if (parts.size() != 2 || parts[0].is(OperandKind::Variable) ||
      (parts[0].is(OperandKind::Address) && parts[0].addressBase() == OperandKind::Variable)) {
    f.unsupported("a tensor map that is not given by its generic address");
    return std::nullopt;
  }
  Tensor t;
  t.map = parts[0].is(OperandKind::Address) ? wholeAddress(f, addressOf(f, parts[0], StateSpace::None))
                                            : f.sourceReg(parts[0], Type::U64);
  for (const Operand& c : elementsOf(f, parts[1]))
    t.coordinates.push_back(f.sourceReg(c, Type::S32));
  return t;
}

/// The offsets of an image: one of 16 bits, two of 8, or three of 5.
IsaOperand imageOffsets(FunctionLowering& f, const Operand& operand) {
  auto parts = elementsOf(f, operand);
  std::vector<IsaOperand> offsets;
  for (const Operand& part : parts)
    offsets.push_back(f.extended(f.source(part, Type::U16), Type::U16));
  if (offsets.size() == 1) return offsets[0];
  constexpr std::int64_t kTwoBytes = 0x0040;
  if (offsets.size() == 2) return permuted(f, offsets[0], kTwoBytes, offsets[1]);
  IsaOperand sum = offsets[0];
  for (unsigned k = 1; k < offsets.size(); ++k) {
    const IsaOperand next = f.newR();
    f.emit(IsaOp::IADD3, {next, kNone, kNone, sum, shifted(f, offsets[k], 5 * k, isa::ShiftDir::L), IsaOperand::rz()});
    sum = next;
  }
  return sum;
}

bool isImage(const Form& form) {
  const Mod mode = form.get(Slot::LoadMode);
  return mode == Mod::Im2col || mode == Mod::Im2colNoOffs;
}

bool isFourRows(const Form& form) {
  const Mod mode = form.get(Slot::LoadMode);
  return mode == Mod::TileGather4 || mode == Mod::TileScatter4;
}

/// An image along its width only. Its operands are the extent next to the box and the start of the box.
bool isWidth(const Form& form) {
  const Mod mode = form.get(Slot::LoadMode);
  return mode == Mod::Im2colW || mode == Mod::Im2colW128;
}

/// Images without offsets have no known encoding with the barrier of the other CTA of a pair. With .cta_group::1 the
/// barrier is the CTA's own, as it is without the modifier.
bool isKnownMode(FunctionLowering& f, const Form& form) {
  const bool isKnown = form.get(Slot::LoadMode) != Mod::Im2colNoOffs || form.get(Slot::CtaGroup) != Mod::CtaGroup2;
  if (!isKnown) f.unsupported(std::string(f.opcodeText()));
  return isKnown;
}

/// Packs the two numbers of 11 bits.
IsaOperand widthOffsets(FunctionLowering& f, const Operand& operand) {
  constexpr std::int64_t kBegin = 11;
  auto parts = f.parts(operand);
  const IsaOperand both = f.newR(), beside = f.sourceReg(parts[0], Type::B16), begin = f.sourceReg(parts[1], Type::B16);
  f.emit(IsaOp::LEA, {both, IsaOperand::pt(), begin, beside, f.imm(kBegin)});
  return both;
}

} // namespace

void lowerBulkCopy(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool reduces = form.op == Op::CpReduceAsyncBulk, toShared = form.space() == StateSpace::Shared;
  const bool fromGlobal = form.space2() == StateSpace::Global;
  ori::Block* join = f.beginUnguarded();
  Copy copy(f);
  std::vector<ModValue> mods;
  if (reduces) mods = {{IsaMod::AtomOp, atomOp(form.action())}, {IsaMod::AtomType, copyType(form.type())}};
  IsaOperand ctas = IsaOperand::rz();
  const bool isMulticast = form.get(Slot::Multicast) != Mod::None;
  if (isMulticast) {
    ctas = f.sourceReg(ops[4], Type::B16);
    mods.push_back({IsaMod::Sub2, 1});
  }
  const bool isMasked = form.has(Mod::CpMask);
  if (isMasked && !isa::isListedFor(f.target(), IsaOp::UBLKCP_MASKED)) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  if (isMasked) ctas = f.sourceReg(ops.back(), Type::B16); // the mask of bytes is in the field of the CTAs
  const std::array<IsaOperand, 1> unitsIn{unitsWord(f, ops[2], ctas)};
  const IsaOperand units = copy.uniform(unitsIn), policy = copy.policy(i, form);
  if (toShared) {
    const std::array<IsaOperand, 2> toIn{sharedWordOf(f, ops[0]), sharedWordOf(f, ops[3])};
    const IsaOperand to = copy.uniform(toIn);
    if (fromGlobal) {
      copy.emit(IsaOp::UBLKCP_S_G, {to, copy.pair(globalPair(f, ops[1])), units, policy}, mods);
    } else {
      const std::array<IsaOperand, 1> fromIn{sharedWordOf(f, ops[1])};
      copy.emit(reduces ? IsaOp::UBLKRED_S_S : IsaOp::UBLKCP_S_S, {to, copy.uniform(fromIn), units}, mods);
    }
  } else {
    const IsaOperand to = copy.pair(globalPair(f, ops[0]));
    const std::array<IsaOperand, 1> fromIn{sharedWordOf(f, ops[1])};
    copy.emit(reduces    ? IsaOp::UBLKRED_G_S
              : isMasked ? IsaOp::UBLKCP_MASKED
                         : IsaOp::UBLKCP_G_S,
              {to, copy.uniform(fromIn), units, policy}, mods);
  }
  f.endUnguarded(join);
}

void lowerBulkPrefetch(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  Copy copy(f);
  const IsaOperand from = copy.pair(globalPair(f, ops[0]));
  const std::array<IsaOperand, 1> unitsIn{unitsWord(f, ops[1], IsaOperand::rz())};
  const IsaOperand units = copy.uniform(unitsIn), policy = copy.policy(i, form);
  copy.emit(IsaOp::UBLKPF, {from, units, policy}, {});
  f.endUnguarded(join);
}

void lowerTensorCopy(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (!isKnownMode(f, form)) return;
  auto ops = f.operands(i);
  const bool prefetches = form.op == Op::CpAsyncBulkPrefetchTensor, reduces = form.op == Op::CpReduceAsyncBulkTensor;
  const bool loads = !prefetches && form.space() == StateSpace::Shared;
  ori::Block* join = f.beginUnguarded();
  const auto tensor = tensorOf(f, ops[loads ? 1 : 0]);
  if (!tensor) return;
  Copy copy(f);
  const bool hasFourRows = isFourRows(form);
  std::vector<ModValue> mods{{IsaMod::Geometry, hasFourRows ? 1 : static_cast<int>(tensor->coordinates.size()) - 1}};
  if (isImage(form)) mods.push_back({IsaMod::Sub, 1});
  const bool isPair = form.get(Slot::CtaGroup) == Mod::CtaGroup2;
  constexpr int kW128 = 2, kW = 3;
  if (isWidth(form)) mods.push_back({IsaMod::Sub, form.get(Slot::LoadMode) == Mod::Im2colW ? kW : kW128});
  std::vector<IsaOperand> box;
  if (loads)
    box = {sharedWordOf(f, ops[0]), sharedWordOf(f, ops[2])};
  else if (!prefetches)
    box = {sharedWordOf(f, ops[1])};
  box.insert(box.end(), tensor->coordinates.begin(), tensor->coordinates.end());

  // Offsets below; above them the mask of destination CTAs in the cluster.
  std::size_t next = loads ? 3 : 1;
  IsaOperand offsets = IsaOperand::rz(), ctas = IsaOperand::rz(), more;
  const bool hasOffsets = form.get(Slot::LoadMode) == Mod::Im2col || isWidth(form),
             isMulticast = form.get(Slot::Multicast) != Mod::None;
  if (hasOffsets) {
    offsets = isWidth(form) ? widthOffsets(f, ops[next]) : imageOffsets(f, ops[next]);
    ++next;
  }
  if (isMulticast) {
    ctas = f.sourceReg(ops[next++], Type::B16);
    mods.push_back({IsaMod::Sub2, 1});
  }
  if (hasOffsets || isMulticast) {
    const std::array<IsaOperand, 1> both{permuted(f, offsets, kLowHalves, ctas)};
    more = copy.uniform(both);
  }
  const IsaOperand policy = copy.policy(i, form), at = copy.uniform(box), map = copy.pair(tensor->map);
  if (loads || prefetches) {
    if (more.isNone()) {
      enum { Gather = 1, Pair = 2 };
      if (loads && (hasFourRows || isPair))
        mods.push_back({IsaMod::Sub3, (hasFourRows ? Gather : 0) | (isPair ? Pair : 0)});
      copy.emit(loads ? (hasFourRows || isPair ? IsaOp::UTMALDG_GATHER : IsaOp::UTMALDG)
                      : (hasFourRows ? IsaOp::UTMAPF_GATHER : IsaOp::UTMAPF),
                {at, map, policy}, mods);
    } else {
      if (isPair) mods.push_back({IsaMod::Sub3, 1});
      copy.emit(loads ? (hasFourRows || isWidth(form) ? IsaOp::UTMALDG_FORM
                         : isPair                     ? IsaOp::UTMALDG_PAIR
                                                      : IsaOp::UTMALDG_MORE)
                      : (isWidth(form) ? IsaOp::UTMAPF_W : IsaOp::UTMAPF_IM2COL),
                {at, map, more, policy}, mods);
    }
  } else if (reduces) {
    mods.push_back({IsaMod::AtomOp, atomOp(form.action())});
    copy.emit(IsaOp::UTMAREDG, {at, map, policy}, mods);
  } else {
    copy.emit(hasFourRows ? IsaOp::UTMASTG_SCATTER : IsaOp::UTMASTG, {at, map, policy}, mods);
  }
  f.endUnguarded(join);
}

/// st.bulk: zeros, in units of 8 bytes.
void lowerBulkStore(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  Copy copy(f);
  const IsaOperand size = f.sourceReg(ops[1], Type::U64), units = f.newR();
  f.emit(IsaOp::SHF, {units, ori::component(size, 0), f.imm(3), ori::component(size, 1)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U64}});
  // A generic address must be one of shared memory. Its low word is the shared address.
  const bool isGeneric = form.space() == StateSpace::None;
  const IsaOperand at =
      isGeneric ? ori::component(wholeAddress(f, addressOf(f, ops[0], StateSpace::None)), 0) : sharedWordOf(f, ops[0]);
  const std::array<IsaOperand, 1> atIn{at}, unitsIn{units};
  const IsaOperand to = copy.uniform(atIn), count = copy.uniform(unitsIn);
  copy.emit(IsaOp::UMEMSETS, {to, f.imm(0), count}, {});
  f.endUnguarded(join);
}

/// clusterlaunchcontrol.try_cancel.
void lowerTryCancel(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  Copy copy(f);
  const auto word = [&](const Operand& operand) {
    return form.space() == StateSpace::None
               ? ori::component(wholeAddress(f, addressOf(f, operand, StateSpace::None)), 0)
               : sharedWordOf(f, operand);
  };
  const std::array<IsaOperand, 2> pair{word(ops[0]), word(ops[1])};
  const std::array<ModValue, 1> mods{ModValue{IsaMod::Sub, form.get(Slot::Multicast) != Mod::None ? 1 : 0}};
  copy.emit(IsaOp::UGETNEXTWORKID, {copy.uniform(pair)}, mods);
  f.endUnguarded(join);
}

/// commit_group ends a group of copies from shared memory; wait_group waits by the number of unfinished groups.
void lowerBulkGroup(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (form.op == Op::CpAsyncBulkCommitGroup) {
    ori::Block* join = f.beginUnguarded();
    f.emit(IsaOp::UTMACMDFLUSH, {});
    f.endUnguarded(join);
    return;
  }
  constexpr std::uint64_t kMaxGroups = 63;
  const std::uint64_t left = f.source(f.operands(i)[0], Type::U32).bits();
  f.emit(IsaOp::DEPBAR_LE, {f.imm(0), f.imm(static_cast<std::int64_t>(std::min(left, kMaxGroups)))});
  if (!form.has(Mod::Read)) f.emit(IsaOp::CCTL_IVALL, {});
}

void controlTensorMap(FunctionLowering& f, IsaOperand address, TensorMapControl control) {
  ori::Block* join = f.beginUnguarded();
  const IsaOperand run = uniformRun(f, 2);
  const std::array<UniformWord, 2> words{UniformWord{ori::component(run, 0), Value::of(ori::component(address, 0))},
                                         UniformWord{ori::component(run, 1), Value::of(ori::component(address, 1))}};
  // Once for all lanes that use the same map.
  forEachUniform(f, words, [&] {
    f.b().setGuard(IsaOperand::pt());
    const std::array<ModValue, 1> mods{ModValue{IsaMod::Sub, control}};
    f.emit(IsaOp::UTMACCTL, {run}, mods);
  });
  f.endUnguarded(join);
}

} // namespace orias::ptx
