#include "frontend/constant.h"
#include "ptx_test.h"

#include <doctest/doctest.h>
#include <limits>

using namespace orias;
using namespace orias::ptx;

namespace {

/// The value of an expression that is an operand.
std::int64_t value(std::string_view expression) {
  Parsed p = parseBody("mov.u64 %rd1, " + std::string(expression) + ";");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  REQUIRE(operandsAt(p)[1].is(OperandKind::Int));
  return operandsAt(p)[1].intValue();
}

std::string errors(std::string_view expression) {
  return parseBody("mov.u64 %rd1, " + std::string(expression) + ";").errors();
}

} // namespace

TEST_CASE("literals in every base") {
  CHECK(value("10") == 10);
  CHECK(value("0x1F") == 31);
  CHECK(value("0X1fU") == 31);
  CHECK(value("0b101") == 5);
  CHECK(value("017") == 15);
  CHECK(value("0") == 0);
  CHECK(value("0U") == 0);
  CHECK(value("WARP_SZ") == 32);
  CHECK(value("18446744073709551615") == -1);
}

TEST_CASE("operators have the precedence of C") {
  CHECK(value("1+2*3") == 7);
  CHECK(value("(1+2)*3") == 9);
  CHECK(value("10-4-3") == 3);
  CHECK(value("1<<2+1") == 8);
  CHECK(value("6|1&3^2") == (6 | ((1 & 3) ^ 2)));
  CHECK(value("1||0&&0") == 1);
  CHECK(value("3>2==1") == 1);
  CHECK(value("7 % 4 * 2") == 6);
  CHECK(value("-2*3") == -6);
  CHECK(value("-2+3") == 1);
  CHECK(value("- - 3") == 3);
  CHECK(value("~0&0xFF") == 255);
  CHECK(value("!3") == 0);
  CHECK(value("!(1-1)+1") == 2);
}

TEST_CASE("the conditional operator is right-associative") {
  CHECK(value("1?2:3") == 2);
  CHECK(value("0?2:0?4:5") == 5);
  CHECK(value("0?2:1?4:5") == 4);
  CHECK(value("1?0?1:2:3") == 2);
}

TEST_CASE("signedness") {
  CHECK(value("-8/2") == -4);
  CHECK(value("(.u64)-8/2") == static_cast<std::int64_t>(0xFFFFFFFFFFFFFFF8 / 2));
  CHECK(value("-8>>1") == -4);
  CHECK(value("-1<0U") == 0);
  CHECK(value("-1<0") == 1);
  CHECK(value("(.s64)0xFFFFFFFFFFFFFFFF<0") == 1);
  CHECK(value("(-9223372036854775807-1)/-1") == INT64_MIN);
  CHECK(value("(-9223372036854775807-1) % -1") == 0);
  CHECK(value("1<<64") == 0);
  CHECK(value("-1>>100") == -1);
}

TEST_CASE("what is no constant") {
  CHECK(errors("1/0") == "6:16 division by zero in a constant expression\n");
  CHECK(errors("5 % 0") == "6:17 division by zero in a constant expression\n");
  CHECK(errors("99999999999999999999") == "6:15 the constant 99999999999999999999 does not fit in 64 bits\n");
  CHECK(errors("0x1FFFFFFFFFFFFFFFF") == "6:15 the constant 0x1FFFFFFFFFFFFFFFF does not fit in 64 bits\n");
  CHECK(errors("1+1.0") == "6:16 a constant expression mixes an integer and a floating-point operand\n");
  CHECK(errors("(.f64)1") == "6:15 a constant can be cast to .s64 or .u64 only\n");
  CHECK(errors("-0f3f800000") == "6:15 a 0f constant takes no operators: it is an exact bit pattern\n");
  CHECK(errors("!1.0") == "6:15 this operator needs an integer constant\n");
  CHECK(errors("1.0?2:3") == "6:15 the parts of a conditional constant are integers\n");
}

TEST_CASE("floating-point constants") {
  CHECK(parseDecimal("1.5").asDouble() == 1.5);
  CHECK(parseDecimal(".5").asDouble() == 0.5);
  CHECK(parseDecimal("1.").asDouble() == 1);
  CHECK(parseDecimal("1E-5").asDouble() == 1e-5);
  CHECK(parseDecimal("1e400").asDouble() == std::numeric_limits<double>::infinity());
  CHECK(parseDecimal("1e-400").asDouble() == 0);
  CHECK(parseFloatBits("0f3F800000").asDouble() == 1);
  CHECK(parseFloatBits("0d4000000000000000").asDouble() == 2);
  Parsed p = parseBody("mov.f32 %f1, -1.0+2.0*3.0; mov.f32 %f1, -0d3ff0000000000000;");
  REQUIRE(p.ok());
  CHECK(operandsAt(p)[1].float64Value() == 5);
  CHECK(operandsAt(p, 1)[1].float64Value() == -1);
}
