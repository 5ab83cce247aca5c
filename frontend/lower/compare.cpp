// setp, set, selp, slct.

#include "frontend/lower/families.h"
#include "frontend/lower/integer_helpers.h"

#include <utility>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

isa::ICmp integerComparison(Mod m) {
  switch (m) {
  case Mod::Eq: return isa::ICmp::EQ;
  case Mod::Ne: return isa::ICmp::NE;
  case Mod::Lt:
  case Mod::Lo: return isa::ICmp::LT;
  case Mod::Le:
  case Mod::Ls: return isa::ICmp::LE;
  case Mod::Gt:
  case Mod::Hi: return isa::ICmp::GT;
  default: return isa::ICmp::GE;
  }
}

isa::FCmp floatComparison(Mod m) {
  switch (m) {
  case Mod::Eq: return isa::FCmp::EQ;
  case Mod::Ne: return isa::FCmp::NE;
  case Mod::Lt: return isa::FCmp::LT;
  case Mod::Le: return isa::FCmp::LE;
  case Mod::Gt: return isa::FCmp::GT;
  case Mod::Ge: return isa::FCmp::GE;
  case Mod::Equ: return isa::FCmp::EQU;
  case Mod::Neu: return isa::FCmp::NEU;
  case Mod::Ltu: return isa::FCmp::LTU;
  case Mod::Leu: return isa::FCmp::LEU;
  case Mod::Gtu: return isa::FCmp::GTU;
  case Mod::Geu: return isa::FCmp::GEU;
  case Mod::Num: return isa::FCmp::NUM;
  default: return isa::FCmp::NAN_;
  }
}

isa::BoolOp boolOp(Mod m) {
  return m == Mod::Or ? isa::BoolOp::OR : m == Mod::Xor ? isa::BoolOp::XOR : isa::BoolOp::AND;
}

bool isPacked(Type type) {
  return type == Type::F16x2 || type == Type::BF16x2;
}

/// The value that set writes for true: 1.0, or all ones.
std::int32_t truthOf(Type type) {
  switch (type) {
  case Type::F16: return 0x3c00;
  case Type::BF16: return 0x3f80;
  case Type::F32: return 0x3f800000;
  default: return bitWidth(type) == 16 ? 0xffff : -1;
  }
}

/// Predicates p and q of `a cmp b`, each combined with c: p = cmp op c, q = !cmp op c. Returns false if the type is not
/// supported.
bool compare(FunctionLowering& f, Type type, Mod cmp, const Operand& aOp, const Operand& bOp, bool ftz, IsaOperand p,
             IsaOperand q, Mod combine, IsaOperand c) {
  const ModValue boolean{IsaMod::Bool, boolOp(combine)};
  const unsigned bits = bitWidth(type);
  const TypeClass cls = typeClass(type);
  if (cls == TypeClass::Float) {
    const ModValue comparison{IsaMod::Cmp, floatComparison(cmp)};
    if (bits == 16) {
      IsaOperand left = f.sourceReg(aOp, Type::B16), right = f.sourceReg(bOp, Type::B16);
      left.half = right.half = IsaOperand::Half::H0H0;
      f.emit(IsaOp::HSETP2, {p, q, left, right, c},
             {comparison, boolean, {IsaMod::Bf16, type == Type::BF16 ? 2 : 0}, {IsaMod::Ftz, ftz ? 1 : 0}});
      return true;
    }
    if (isPacked(type)) { // p belongs to the low halves, q to the high ones
      f.emit(IsaOp::HSETP2, {p, q, f.sourceReg(aOp, Type::B32), f.sourceReg(bOp, Type::B32), c},
             {comparison, boolean, {IsaMod::Bf16, type == Type::BF16x2 ? 2 : 0}, {IsaMod::Ftz, ftz ? 1 : 0}});
      return true;
    }
    Value a = f.source(aOp, type), b = f.source(bOp, type);
    if (type == Type::F32)
      f.emit(IsaOp::FSETP, {p, q, f.inReg(a.word(0)), b.word(0), c}, {comparison, boolean, {IsaMod::Ftz, ftz ? 1 : 0}});
    else if (type == Type::F64)
      f.emit(IsaOp::DSETP, {p, q, f.inReg(a), f.inReg(b), c}, {comparison, boolean});
    else
      return false;
    return true;
  }
  const isa::IntType sign = cls == TypeClass::Signed ? isa::IntType::S32 : isa::IntType::U32;
  const ModValue comparison{IsaMod::Cmp, integerComparison(cmp)};
  Value a = f.source(aOp, type), b = f.source(bOp, type);
  if (bits == 64) {
    IsaOperand left = f.inReg(a), low = f.newP();
    f.emit(IsaOp::ISETP, {low, IsaOperand::pt(), ori::component(left, 0), b.word(0), IsaOperand::pt()},
           {comparison, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
    f.emit(IsaOp::ISETP_EX, {p, q, ori::component(left, 1), b.word(1), c, low},
           {comparison, {IsaMod::Type, sign}, boolean});
    return true;
  }
  f.emit(IsaOp::ISETP,
         {p, q, f.inReg(f.extended(a, bits == 16 && cls == TypeClass::Bits ? Type::U16 : type)),
          f.extended(b, bits == 16 && cls == TypeClass::Bits ? Type::U16 : type), c},
         {comparison, {IsaMod::Type, sign}, boolean});
  return true;
}

} // namespace

void lowerSetp(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool combined = ops.size() > 3;
  IsaOperand c = combined ? f.predicate(ops[3]) : IsaOperand::pt();
  IsaOperand p = f.destPredicate(ops[0], 0), q = f.destPredicate(ops[0], 1);
  if (!compare(f, form.type(), form.compare(), ops[1], ops[2], form.ftz(), p, q, combined ? form.boolOp() : Mod::And,
               c))
    f.unsupported(std::string(f.opcodeText()));
}

/// set of packed halves: a result in each half.
void lowerSetPacked(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool combined = ops.size() > 3, isBrain = form.type(1) == Type::BF16x2;
  f.emit(IsaOp::HSET2,
         {f.dest(ops[0]), f.sourceReg(ops[1], Type::B32), f.sourceReg(ops[2], Type::B32),
          combined ? f.predicate(ops[3]) : IsaOperand::pt()},
         {{IsaMod::Cmp, floatComparison(form.compare())},
          {IsaMod::Bool, boolOp(combined ? form.boolOp() : Mod::And)},
          {IsaMod::Bf16, isBrain ? 2 : 0},
          {IsaMod::BoolF, isPacked(form.type(0)) ? 1 : 0},
          {IsaMod::Ftz, form.ftz() ? 1 : 0}});
}

void lowerSet(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (isPacked(form.type(1))) return lowerSetPacked(f, i, form);
  auto ops = f.operands(i);
  const bool combined = ops.size() > 3;
  IsaOperand c = combined ? f.predicate(ops[3]) : IsaOperand::pt();
  IsaOperand p = f.newP(), d = f.dest(ops[0]);
  const Type to = form.type(0), from = form.type(1);
  if (bitWidth(to) > 32 || !compare(f, from, form.compare(), ops[1], ops[2], form.ftz(), p, IsaOperand::pt(),
                                    combined ? form.boolOp() : Mod::And, c)) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  f.emit(IsaOp::SEL, {d, IsaOperand::rz(), f.imm(truthOf(to)), p.notted()});
}

void lowerSelp(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type();
  Value a = f.source(ops[1], type), b = f.source(ops[2], type);
  IsaOperand p = f.predicate(ops[3]), d = f.dest(ops[0]);
  const unsigned words = FunctionLowering::wordsOf(type);
  // The destination may be one of the sources, whose second word is still to be read.
  IsaOperand result = words > 1 ? f.newR(words) : d;
  for (unsigned w = 0; w < words; ++w) {
    IsaOperand left = a.word(w), right = b.word(w);
    // Only the second source may be an immediate. Swap the sources if that helps.
    if (!left.isReg() && right.isReg())
      f.emit(IsaOp::SEL, {ori::component(result, w), right, left, p.notted()});
    else
      f.emit(IsaOp::SEL, {ori::component(result, w), f.inReg(left), right, p});
  }
  if (words > 1) f.copy(d, Value::of(result));
}

/// slct: a where c >= 0, else b. Minus zero counts as zero, NaN as negative.
void lowerSlct(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Type type = form.type(0), choice = form.type(1);
  IsaOperand p = f.newP();
  if (choice == Type::F32)
    f.emit(IsaOp::FSETP,
           {p, IsaOperand::pt(), f.inReg(f.source(ops[3], choice).word(0)), IsaOperand::rz(), IsaOperand::pt()},
           {{IsaMod::Cmp, isa::FCmp::GE}, {IsaMod::Bool, isa::BoolOp::AND}, {IsaMod::Ftz, form.ftz() ? 1 : 0}});
  else
    f.emit(IsaOp::ISETP,
           {p, IsaOperand::pt(), f.inReg(f.source(ops[3], choice).word(0)), IsaOperand::rz(), IsaOperand::pt()},
           {{IsaMod::Cmp, isa::ICmp::GE}, {IsaMod::Type, isa::IntType::S32}, {IsaMod::Bool, isa::BoolOp::AND}});
  Value a = f.source(ops[1], type), b = f.source(ops[2], type);
  IsaOperand d = f.dest(ops[0]);
  const unsigned words = FunctionLowering::wordsOf(type);
  IsaOperand result = words > 1 ? f.newR(words) : d;
  for (unsigned w = 0; w < words; ++w)
    f.emit(IsaOp::SEL, {ori::component(result, w), f.inReg(a.word(w)), b.word(w), p});
  if (words > 1) f.copy(d, Value::of(result));
}

} // namespace orias::ptx
