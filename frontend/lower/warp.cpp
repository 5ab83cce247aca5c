// Operations in which the lanes of a warp exchange values.

#include "frontend/lower/families.h"
#include "frontend/lower/sync.h"

#include <fmt/format.h>

namespace orias::ptx {

using isa::VoteMode;
using IsaOperand = isa::Operand;

namespace {

/// Common to all operations here: a guarded operation is branched around, because the participating lanes must be
/// converged. Then the lanes of the mask are converged. Without a mask (older PTX without `.sync`) the active lanes
/// participate, as in ptxas' code.
class WarpRegion {
 public:
  WarpRegion(FunctionLowering& f, const Operand* mask, bool exclusive) : f_(f), join_(f.beginUnguarded()) {
    if (mask) synchronizeWarp(f, f.source(*mask, Type::B32), exclusive);
  }
  ~WarpRegion() { f_.endUnguarded(join_); }
  WarpRegion(const WarpRegion&) = delete;
  WarpRegion& operator=(const WarpRegion&) = delete;

 private:
  FunctionLowering& f_;
  ori::Block* join_;
};

/// The destination d of `d|p`, as one register.
IsaOperand firstOf(FunctionLowering& f, const Operand& pair) {
  if (!pair.is(OperandKind::Pair)) return f.dest(pair);
  return pair.registerId() == RegisterId::None ? IsaOperand::rz() : f.dest(Operand::reg(pair.registerId()));
}

IsaOperand secondOf(FunctionLowering& f, const Operand& pair) {
  return pair.is(OperandKind::Pair) ? f.destPredicate(pair, 1) : IsaOperand::pt();
}

} // namespace

void lowerShfl(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const isa::ShflMode mode = form.mode() == Mod::Up     ? isa::ShflMode::UP
                             : form.mode() == Mod::Down ? isa::ShflMode::DOWN
                             : form.mode() == Mod::Bfly ? isa::ShflMode::BFLY
                                                        : isa::ShflMode::IDX;
  WarpRegion region(f, form.has(Mod::Sync) ? &ops[4] : nullptr, false);
  // Only these bits of lane and clamp are significant, and immediates have no room for others.
  auto limited = [&](const Operand& o, std::uint32_t mask) {
    const Value v = f.source(o, Type::B32);
    return v.isConstant() ? f.imm(v.bits() & mask) : v.word(0);
  };
  f.emit(IsaOp::SHFL,
         {secondOf(f, ops[0]), firstOf(f, ops[0]), f.sourceReg(ops[1], Type::B32), limited(ops[2], 0x1f),
          limited(ops[3], 0x1f1f)},
         {{IsaMod::ShflMode, mode}});
}

void lowerVote(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  WarpRegion region(f, form.has(Mod::Sync) ? &ops[2] : nullptr, true);
  const IsaOperand p = f.predicate(ops[1]);
  if (form.mode() == Mod::Ballot) {
    f.emit(IsaOp::VOTE, {f.dest(ops[0]), IsaOperand::pt(), p}, {{IsaMod::VoteMode, VoteMode::ANY}});
    return;
  }
  const VoteMode mode = form.mode() == Mod::All   ? VoteMode::ALL
                        : form.mode() == Mod::Any ? VoteMode::ANY
                                                  : VoteMode::EQ;
  f.emit(IsaOp::VOTE, {IsaOperand::rz(), f.destPredicate(ops[0]), p}, {{IsaMod::VoteMode, mode}});
}

void lowerMatch(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  WarpRegion region(f, &ops[2], true);
  const isa::ModValue size{IsaMod::Size, bitWidth(type) == 64 ? 1 : 0};
  const IsaOperand value = f.sourceReg(ops[1], type);
  if (form.mode() == Mod::All)
    f.emit(IsaOp::MATCH_ALL, {secondOf(f, ops[0]), firstOf(f, ops[0]), value}, {size});
  else
    f.emit(IsaOp::MATCH_ANY, {f.dest(ops[0]), value}, {size});
}

void lowerRedux(FunctionLowering& f, const Instruction& i, const Form& form) {
  enum { And, Or, Xor, Sum, Min, Max };
  const Type type = form.type();
  const bool isFloat = typeClass(type) == TypeClass::Float;
  if (isFloat && !f.target().has(isa::Capability::MinMaxReduction)) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  auto ops = f.operands(i);
  WarpRegion region(f, &ops[2], true);
  const int func = [&] {
    switch (form.action()) {
    case Mod::And: return And;
    case Mod::Or: return Or;
    case Mod::Xor: return Xor;
    case Mod::Add: return Sum;
    case Mod::Min: return Min;
    default: return Max;
    }
  }();
  const IsaOperand result = f.b().newUR();
  if (isFloat) {
    const bool isMin = form.action() == Mod::Min, ofMagnitudes = form.has(Mod::Abs);
    constexpr int kFloat = 2;
    f.emit(IsaOp::CREDUX, {result, f.sourceReg(ops[1], type)},
           {{IsaMod::Func, (isMin ? 2 : 0) | (ofMagnitudes ? 1 : 0)},
            {IsaMod::Type, kFloat},
            {IsaMod::Nan, form.has(Mod::NaN) ? 1 : 0}});
    const IsaOperand d = f.dest(ops[0]);
    if (!d.isZeroReg()) f.emit(IsaOp::MOV, {d, result});
    return;
  }
  f.emit(IsaOp::REDUX, {result, f.sourceReg(ops[1], type)},
         {{IsaMod::Func, func}, {IsaMod::Type, typeClass(type) == TypeClass::Signed ? 1 : 0}});
  const IsaOperand d = f.dest(ops[0]);
  if (!d.isZeroReg()) f.emit(IsaOp::MOV, {d, result});
}

void lowerActivemask(FunctionLowering& f, const Instruction& i, const Form&) {
  ori::Block* join = f.beginUnguarded();
  f.emit(IsaOp::VOTE, {f.dest(f.operands(i)[0]), IsaOperand::pt(), IsaOperand::pt()},
         {{IsaMod::VoteMode, VoteMode::ANY}});
  f.endUnguarded(join);
}

void lowerElect(FunctionLowering& f, const Instruction& i, const Form&) {
  auto ops = f.operands(i);
  WarpRegion region(f, &ops[1], true);
  const IsaOperand d = firstOf(f, ops[0]);
  const IsaOperand lane = f.b().newUR();
  f.emit(IsaOp::ELECT, {secondOf(f, ops[0]), lane, IsaOperand::pt()});
  if (!d.isZeroReg()) f.emit(IsaOp::MOV, {d, lane});
}

} // namespace orias::ptx
