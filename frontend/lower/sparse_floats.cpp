// Sparse products of 8-bit floating-point numbers by two products of halves, on chips that have none of bytes.
//
// Of four lanes, lane j holds in a register of A the elements of chunks 2j and 2j + 1 of a row, lower bytes first. A
// chunk is four columns, two of which are stored. So the lower halves of all registers are the even chunks of A, and
// the upper halves the odd chunks: each makes a product of 32 columns. B and the metadata are rearranged accordingly:
// B's rows of a chunk are the four bytes of a register; in a product of halves they are in the registers of two lanes.

#include "frontend/lower/matrix_helpers.h"
#include "frontend/lower/special.h"

#include <array>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

const IsaOperand kNone = IsaOperand::pt();
const IsaOperand kFalse = IsaOperand::pt().notted();

class SparseByteProduct {
 public:
  explicit SparseByteProduct(FunctionLowering& f) : f_(f), twice_(f.newR()), isEven_(f.newP()) {
    const IsaOperand lane = f.newR();
    f.emit(IsaOp::S2R, {lane, IsaOperand::immediate(kSrLaneId)});
    f.emit(IsaOp::SHF, {twice_, lane, f.imm(1), IsaOperand::rz()},
           {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
    f.emit(IsaOp::ISETP, {isEven_, kNone, masked(lane, 1), IsaOperand::rz(), IsaOperand::pt()},
           {{IsaMod::Cmp, isa::ICmp::EQ}, {IsaMod::Type, isa::IntType::U32}, {IsaMod::Bool, isa::BoolOp::AND}});
  }

  /// Each lane of a pair requires two bytes of the other's registers: the even lane the lower ones, for the odd chunk,
  /// the odd lane the upper ones, for the even chunk. Two registers share a word. `even` and `odd` receive the bytes
  /// for the products of those chunks, beginning with those of the first register.
  void splitB(IsaOperand first, IsaOperand second, IsaOperand even, IsaOperand odd) {
    const IsaOperand lower = f_.newR(), upper = f_.newR(), kept = f_.newR(), sent = f_.newR(), got = f_.newR();
    f_.emit(IsaOp::PRMT, {lower, first, f_.imm(0x5410), second});
    f_.emit(IsaOp::PRMT, {upper, first, f_.imm(0x7632), second});
    f_.emit(IsaOp::SEL, {kept, lower, upper, isEven_});
    f_.emit(IsaOp::SEL, {sent, upper, lower, isEven_});
    f_.emit(IsaOp::SHFL, {kNone, got, sent, f_.imm(1), f_.imm(0x1c1f)}, {{IsaMod::ShflMode, isa::ShflMode::BFLY}});
    f_.emit(IsaOp::SEL, {even, kept, got, isEven_});
    f_.emit(IsaOp::SEL, {odd, got, kept, isEven_});
  }

  /// The metadata of both products: that of the even chunks in the first two of four lanes, which selector 0 uses, that
  /// of the odd chunks in the other two. The metadata of bytes has one word for eight chunks of a row, and the next
  /// lane's word for the row eight below. The metadata of halves has four chunks of each row in a word.
  IsaOperand places(IsaOperand ofBytes) {
    const IsaOperand from = masked(twice_, 2), next = f_.newR(), shift = masked(twice_, 4);
    f_.emit(IsaOp::IADD3, {next, kNone, kNone, from, f_.imm(1), IsaOperand::rz()});
    const IsaOperand packed = f_.newR();
    f_.emit(IsaOp::PRMT, {packed, everyOther(ofBytes, from, shift), f_.imm(0x6420), everyOther(ofBytes, next, shift)});
    return packed;
  }

 private:
  IsaOperand masked(IsaOperand word, std::int64_t mask) {
    const IsaOperand r = f_.newR();
    f_.emit(IsaOp::LOP3, {kNone, r, word, f_.imm(mask), IsaOperand::rz(), f_.imm(0xc0), kFalse});
    return r;
  }

  IsaOperand shifted(IsaOperand word, IsaOperand by) {
    const IsaOperand r = f_.newR();
    f_.emit(IsaOp::SHF, {r, IsaOperand::rz(), by, word},
            {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
    return r;
  }

  /// Every other four bits of the word of lane `from` of four, starting at bit `shift`, in bytes 0 and 2.
  IsaOperand everyOther(IsaOperand word, IsaOperand from, IsaOperand shift) {
    const IsaOperand got = f_.newR(), joined = f_.newR();
    f_.emit(IsaOp::SHFL, {kNone, got, word, from, f_.imm(0x1c03)}, {{IsaMod::ShflMode, isa::ShflMode::IDX}});
    const IsaOperand some = masked(shifted(got, shift), 0x0f0f0f0f);
    constexpr int kOr = 0xfc;
    f_.emit(IsaOp::LOP3, {kNone, joined, some, shifted(some, f_.imm(4)), IsaOperand::rz(), f_.imm(kOr), kFalse});
    return joined;
  }

  FunctionLowering& f_;
  IsaOperand twice_, isEven_;
};

} // namespace

void unpackHalves(FunctionLowering& f, IsaOperand d, IsaOperand word, Type type, bool isUpper) {
  f.emit(IsaOp::F2FP_UNPACK, {d, word},
         {{IsaMod::SrcFmt, type == Type::E4M3 ? 1 : 0}, {IsaMod::Byte, isUpper ? 1 : 0}});
}

IsaOperand addSums(FunctionLowering& f, IsaOperand a, IsaOperand b, bool isFloat) {
  const IsaOperand d = f.newR(a.width);
  for (unsigned w = 0; w < a.width; ++w)
    f.emit(isFloat ? IsaOp::FADD : IsaOp::HADD2, {ori::component(d, w), ori::component(a, w), ori::component(b, w)});
  return d;
}

IsaOperand sparseByteFloatProduct(FunctionLowering& f, const Form& form, IsaOperand a, IsaOperand b, IsaOperand c,
                                  IsaOperand places) {
  const bool isFloat = form.type(0) == Type::F32;
  constexpr unsigned kRegisters = 4; // of A and of B
  SparseByteProduct product(f);
  const IsaOperand metadata = product.places(places);
  const std::array<IsaOperand, 2> columns{f.newR(kRegisters / 2), f.newR(kRegisters / 2)};
  for (unsigned pair = 0; pair < kRegisters / 2; ++pair)
    product.splitB(ori::component(b, 2 * pair), ori::component(b, 2 * pair + 1), ori::component(columns[0], pair),
                   ori::component(columns[1], pair));
  IsaOperand sum = IsaOperand::rz(c.width);
  for (const bool isOdd : {false, true}) {
    const IsaOperand left = f.newR(kRegisters), right = f.newR(kRegisters), next = f.newR(c.width);
    for (unsigned r = 0; r < kRegisters; ++r) {
      unpackHalves(f, ori::component(left, r), ori::component(a, r), form.type(1), isOdd);
      unpackHalves(f, ori::component(right, r), ori::component(columns[isOdd ? 1 : 0], r / 2), form.type(2),
                   r % 2 != 0);
    }
    f.emit(IsaOp::HMMA_SP_16832, {next, left, right, sum, metadata, IsaOperand::immediate(isOdd ? 1 : 0)},
           {{IsaMod::DstFmt, isFloat ? 1 : 0}, {IsaMod::SrcFmt, 0}});
    sum = next;
  }
  return addSums(f, sum, c, isFloat);
}

} // namespace orias::ptx
