// mma.m8n8k4 of halves: four products of 8x8x4, each held by eight lanes. No chip after sm_70 has this instruction.
// Here each product is moved to the fragments of HMMA.1688, with zeros in the other rows and columns, multiplied, and
// moved back. In HMMA's fragments, lane 4 g + t has row (column) g.

#include "frontend/lower/matrix_helpers.h"
#include "frontend/lower/special.h"

#include <array>
#include <map>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

const IsaOperand kNone = IsaOperand::pt();
constexpr unsigned kProducts = 4;
constexpr unsigned kUpperLanes = 16; ///< distance from the first four lanes of a product to its other lanes

class QuadProduct {
 public:
  QuadProduct(FunctionLowering& f, const Form& form) : f_(f), form_(form) {
    lane_ = f.newR();
    f.emit(IsaOp::S2R, {lane_, IsaOperand::immediate(kSrLaneId)});
    isOddColumn_ = bitOf(1);
    isUpperColumn_ = bitOf(2);
    isOddRow_ = bitOf(4);
    isUpperRow_ = bitOf(8);
    // Row (column) g of a product is in lane g % 4, plus 16 from the fourth row on.
    lineOf_ = bits({{4, 1}, {8, 2}, {16, kUpperLanes}});
    depthOf_ = bits({{1, 2}, {16, kUpperLanes}});
    sumOf_ = bits({{4, 1}, {1, 2}, {16, kUpperLanes}});
    // The location of a lane's sums in HMMA's fragment.
    halfBack_ = bits({{1, 4}, {2, 8}, {16, 16}});
    singleBack_ = bits({{1, 4}, {2, 1}, {16, 16}});
  }

  IsaOperand multiply(IsaOperand a, IsaOperand b, IsaOperand c) {
    const bool isSingle = form_.type(0) == Type::F32;
    std::array<IsaOperand, kProducts> products;
    for (unsigned p = 0; p < kProducts; ++p) {
      const IsaOperand left = f_.newR(2);
      f_.copy(ori::component(left, 0), Value::of(factor(a, form_.get(Slot::Layout) == Mod::Row, p)));
      f_.copy(ori::component(left, 1), Value::constant(0, 1));
      const IsaOperand right = factor(b, form_.get(Slot::LayoutB) == Mod::Col, p);
      products[p] = f_.newR(isSingle ? 4 : 2);
      f_.emit(IsaOp::HMMA_1688, {products[p], left, right, sum(c, p)},
              {{IsaMod::DstFmt, isSingle ? 1 : 0}, {IsaMod::SrcFmt, 0}});
    }
    const IsaOperand d = f_.newR(isSingle ? 8 : 4);
    for (unsigned r = 0; r < d.width; ++r) {
      std::array<IsaOperand, kProducts> found;
      for (unsigned p = 0; p < kProducts; ++p)
        found[p] = isSingle ? shuffled(ori::component(products[p], r & 1), singleBack_, 4 * (r & 2) + (r & 4) / 2)
                            : shuffled(ori::component(products[p], 0), halfBack_, r);
      f_.copy(ori::component(d, r), Value::of(oneOf(found, isOddRow_, isUpperRow_)));
    }
    return d;
  }

 private:
  struct Bit {
    unsigned from, to;
  };

  IsaOperand bitOf(unsigned mask) {
    const IsaOperand p = f_.newP();
    f_.emit(IsaOp::LOP3, {p, IsaOperand::rz(), lane_, f_.imm(mask), IsaOperand::rz(), f_.imm(0xc0), kNone.notted()});
    return p;
  }
  /// Moves bits of the lane number to other positions.
  IsaOperand bits(std::initializer_list<Bit> moved) {
    IsaOperand sum = IsaOperand::rz();
    for (const Bit& bit : moved) {
      const IsaOperand only = f_.newR(), next = f_.newR();
      f_.emit(IsaOp::SEL, {only, f_.inReg(f_.imm(bit.to)), IsaOperand::rz(), bitOf(bit.from)});
      f_.emit(IsaOp::IADD3, {next, kNone, kNone, sum, only, IsaOperand::rz()});
      sum = next;
    }
    return sum;
  }
  /// The value of lane `from` + `more`.
  IsaOperand shuffled(IsaOperand value, IsaOperand from, unsigned more) {
    IsaOperand& at = lanes_[{from.reg, more}];
    if (at.isNone()) {
      at = f_.newR();
      f_.emit(IsaOp::IADD3, {at, kNone, kNone, from, f_.imm(more), IsaOperand::rz()});
    }
    const IsaOperand r = f_.newR();
    f_.emit(IsaOp::SHFL, {kNone, r, value, at, f_.imm(0x1f)}, {{IsaMod::ShflMode, isa::ShflMode::IDX}});
    return r;
  }
  IsaOperand chosen(IsaOperand condition, IsaOperand yes, IsaOperand no) {
    const IsaOperand r = f_.newR();
    f_.emit(IsaOp::SEL, {r, yes, no, condition});
    return r;
  }
  IsaOperand oneOf(const std::array<IsaOperand, 4>& values, IsaOperand low, IsaOperand high) {
    return chosen(high, chosen(low, values[3], values[2]), chosen(low, values[1], values[0]));
  }

  /// The elements of A or B of product `p` that HMMA expects in this lane: those of row (column) g at depths 2 t and 2
  /// t + 1, of four. `isLine`: a lane holds a row of A, or a column of B.
  IsaOperand factor(IsaOperand in, bool isLine, unsigned p) {
    IsaOperand pair;
    if (isLine) {
      pair = chosen(isOddColumn_, shuffled(ori::component(in, 1), lineOf_, 4 * p),
                    shuffled(ori::component(in, 0), lineOf_, 4 * p));
    } else {
      std::array<IsaOperand, 2> words;
      for (unsigned e = 0; e < 2; ++e)
        words[e] = chosen(isUpperRow_, shuffled(ori::component(in, 1), depthOf_, 4 * p + e),
                          shuffled(ori::component(in, 0), depthOf_, 4 * p + e));
      constexpr std::int64_t kLowHalves = 0x5410, kHighHalves = 0x7632;
      const auto together = [&](std::int64_t selector) {
        const IsaOperand r = f_.newR();
        f_.emit(IsaOp::PRMT, {r, words[0], f_.imm(selector), words[1]});
        return r;
      };
      pair = chosen(isOddRow_, together(kHighHalves), together(kLowHalves));
    }
    return chosen(isUpperColumn_, IsaOperand::rz(), pair);
  }

  /// C of product `p`: elements 2 t and 2 t + 1 of row g.
  IsaOperand sum(IsaOperand in, unsigned p) {
    const bool isSingle = form_.type(0) == Type::F32;
    const IsaOperand run = f_.newR(isSingle ? 4 : 2);
    for (unsigned r = isSingle ? 2 : 1; r < run.width; ++r)
      f_.copy(ori::component(run, r), Value::constant(0, 1));
    if (form_.type(3) == Type::F32) {
      for (unsigned e = 0; e < 2; ++e) {
        std::array<IsaOperand, 4> found;
        for (unsigned k = 0; k < 4; ++k)
          found[k] = shuffled(ori::component(in, 2 * k + e), sumOf_, 4 * p);
        f_.copy(ori::component(run, e), Value::of(oneOf(found, isUpperRow_, isUpperColumn_)));
      }
      return run;
    }
    std::array<IsaOperand, 4> found;
    for (unsigned k = 0; k < 4; ++k)
      found[k] = shuffled(ori::component(in, k), lineOf_, 4 * p);
    const IsaOperand pair = oneOf(found, isOddColumn_, isUpperColumn_);
    if (isSingle)
      singleFromHalves(f_, ori::component(run, 0, 2), pair);
    else
      f_.copy(ori::component(run, 0), Value::of(pair));
    return run;
  }

  FunctionLowering& f_;
  const Form& form_;
  IsaOperand lane_, lineOf_, depthOf_, sumOf_, halfBack_, singleBack_;
  IsaOperand isOddColumn_, isUpperColumn_, isOddRow_, isUpperRow_;
  std::map<std::pair<std::uint32_t, unsigned>, IsaOperand> lanes_;
};

} // namespace

void singleFromHalves(FunctionLowering& f, IsaOperand d, IsaOperand halves) {
  for (unsigned e = 0; e < 2; ++e) {
    IsaOperand half = halves;
    half.half = e == 0 ? IsaOperand::Half::H0H0 : IsaOperand::Half::H1H1;
    f.emit(IsaOp::HADD2_F32, {ori::component(d, e), IsaOperand::rz().negated(), half});
  }
}

std::optional<IsaOperand> quadProduct(FunctionLowering& f, const Form& form, IsaOperand a, IsaOperand b, IsaOperand c) {
  if (form.shape != MatrixShape{8, 8, 4} || form.type(1) != Type::F16 || form.type(2) != Type::F16) return std::nullopt;
  if (form.type(0) == Type::F16 && form.type(3) != Type::F16) return std::nullopt;
  return QuadProduct(f, form).multiply(a, b, c);
}

} // namespace orias::ptx
