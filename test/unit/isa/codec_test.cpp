#include "encoder/isa/codec.h"
#include "encoder/isa/parse.h"
#include "encoder/isa/print.h"

#include <doctest/doctest.h>

#include <string>

using namespace orias::isa;

namespace {

struct Vector {
  Word word;
  const char* text;
};

constexpr Vector kVectors[] = {
#define VECTOR(lo, hi, text) {{lo, hi}, text},
#include "vectors.inc"
#undef VECTOR
};

} // namespace

TEST_CASE("words that ptxas emits decode, encode again, print as nvdisasm does, and parse") {
  for (const Vector& v : kVectors) {
    const std::string text = v.text;
    CAPTURE(text);
    const auto inst = decode(v.word);
    CHECK(inst.has_value());
    if (!inst) continue;
    const EncodeResult again = encode(*inst);
    CHECK(again.error == "");
    CHECK(again.word.lo == v.word.lo);
    CHECK(again.word.hi == v.word.hi);
    CHECK(print(*inst) == v.text);
    const ParseResult parsed = parse(v.text);
    CHECK(parsed.error == "");
    CHECK(print(parsed.inst) == v.text);
  }
}

TEST_CASE("ARRIVES.LDGSTSBAR takes its address from a uniform register only") {
  const Word uniform{0x00000000ff0079b0, 0x000fe20008000a84};
  REQUIRE(decode(uniform));
  const Word inRegister{0x00000000070079b0, uniform.hi};
  CHECK_FALSE(decode(inRegister));
  CHECK(parse("ARRIVES.LDGSTSBAR.64.TRANSCNT [UR4]").error == "");
  CHECK(parse("ARRIVES.LDGSTSBAR.64.TRANSCNT [R7+URZ]").error != "");
}

TEST_CASE("words without a row do not decode") {
  CHECK_FALSE(decode({0, 0}));
  CHECK_FALSE(decode({0xffffffffffffffff, 0xffffffffffffffff}));
  // NOP with a stray bit in its body.
  const Word nop = encode(makeInst(Op::NOP)).word;
  CHECK(decode(nop));
  CHECK_FALSE(decode({nop.lo | std::uint64_t{1} << 33, nop.hi}));
}

TEST_CASE("what does not fit is an error that names the operand") {
  Inst add = makeInst(Op::IADD3);
  add.operands[3] = Operand::constant(0, 0x210);
  EncodeResult r = encode(add);
  CHECK_FALSE(r);
  CHECK(r.error.find("Ra") != std::string::npos);
  CHECK(r.error.find("c[0x0][0x210]") != std::string::npos);

  add = makeInst(Op::IADD3);
  add.operands[4] = Operand::constant(0, 0x210);
  CHECK(encode(add));
  add.operands[5] = Operand::immediate(4);
  CHECK_FALSE(encode(add)); // one of B and C only
  CHECK_FALSE(fits(add));

  Inst logic = makeInst(Op::LOP3);
  logic.operands[2] = Operand::rz().negated();
  CHECK_FALSE(encode(logic)); // LOP3 has no negation
  CHECK_FALSE(accepts(Op::LOP3, logic.mods, 2, logic.operands[2]));

  Inst mov = makeInst(Op::MOV);
  mov.operands[1] = Operand::virt(File::R, 3);
  CHECK_FALSE(encode(mov));
  CHECK_FALSE(encode(makeInst(Op::PHI)));
}
