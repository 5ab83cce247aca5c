#include "ptx_test.h"

#include <doctest/doctest.h>
#include <vector>

using namespace orias;
using namespace orias::ptx;

namespace {

std::vector<int> bytesOf(const Variable& v) {
  return {v.init.begin(), v.init.end()};
}

} // namespace

TEST_CASE("shapes of variables") {
  Parsed p =
      parseModule(".visible .global .align 16 .v4 .f32 v;\n.const .b32 c[2][3];\n.extern .shared .align 8 .b8 s[];\n"
                  ".global .attribute(.managed) .u8 m;\n.weak .global .u64 a, b[2*2];");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  CHECK(p.variable("v").align == 16);
  CHECK(p.variable("v").byteSize() == 16);
  CHECK(p.variable("c").byteSize() == 24);
  CHECK(p.variable("c").align == 4);
  CHECK(p.variable("s").incomplete);
  CHECK(p.variable("s").byteSize() == 0);
  CHECK(p.variable("m").attributes.managed);
  CHECK(p.variable("b").byteSize() == 32);
  CHECK(p.variable("b").linkage == Linkage::Weak);
}

TEST_CASE("initial values: integers wrap, rows are filled up, vectors have braces") {
  Parsed p = parseModule(
      ".global .b8 a = 300;\n.global .u16 b[2][2] = {{1}, {2, -1}};\n.global .v2 .b8 c[2] = {{1, 2}, {3}};\n"
      ".global .s32 d[] = {1, 1+2*3};\n.global .b32 e[4] = {};\n.global .b64 f = 0xFFFFFFFFFFFFFFFF;");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  CHECK(bytesOf(p.variable("a")) == std::vector<int>{44});
  CHECK(bytesOf(p.variable("b")) == std::vector<int>{1, 0, 0, 0, 2, 0, 0xff, 0xff});
  CHECK(bytesOf(p.variable("c")) == std::vector<int>{1, 2, 3});
  CHECK(bytesOf(p.variable("d")) == std::vector<int>{1, 0, 0, 0, 7, 0, 0, 0});
  CHECK(p.variable("d").byteSize() == 8);
  CHECK(!p.variable("d").incomplete);
  CHECK(p.variable("e").hasInitializer);
  CHECK(p.variable("e").init.empty());
  CHECK(bytesOf(p.variable("f")) == std::vector<int>(8, 0xff));
}

TEST_CASE("initial values: floats") {
  Parsed p = parseModule(".global .f32 a = 1.0;\n.global .f64 b = 0f3f800000;\n.global .b32 c = 0f40000000;\n.global "
                         ".f32 d = 0d3ff0000000000000;\n"
                         ".const .f64 e = -0d4000000000000000;");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  CHECK(bytesOf(p.variable("a")) == std::vector<int>{0, 0, 0x80, 0x3f});
  CHECK(bytesOf(p.variable("b")) == std::vector<int>{0, 0, 0, 0, 0, 0, 0xf0, 0x3f});
  CHECK(bytesOf(p.variable("c")) == std::vector<int>{0, 0, 0, 0x40});
  CHECK(bytesOf(p.variable("d")) == std::vector<int>{0, 0, 0x80, 0x3f});
  CHECK(bytesOf(p.variable("e")) == std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0xc0});
}

TEST_CASE("initial values: addresses") {
  Parsed p = parseModule(".global .b32 y[4];\n.func f() { ret; }\n.global .u64 a[3] = {y+4, generic(y)+8, f};\n"
                         ".global .u8 b[2] = {0xFF(y), 0xFF00(generic(y)+4)};");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  const Variable& a = p.variable("a");
  REQUIRE(a.initAddresses.size() == 3);
  CHECK(a.initAddresses[0].addend == 4);
  CHECK(!a.initAddresses[0].generic);
  CHECK(a.initAddresses[1].at == 8);
  CHECK(a.initAddresses[1].generic);
  CHECK(a.initAddresses[2].function != FunctionId::None);
  const Variable& b = p.variable("b");
  CHECK(b.initAddresses[0].mask == 1);
  CHECK(b.initAddresses[1].mask == 2);
  CHECK(b.initAddresses[1].addend == 4);
  CHECK(b.initAddresses[1].size == 1);
}

TEST_CASE("initial values that do not fit") {
  CHECK(parseModule(".global .b32 x[2] = {1, 2, 3};").errors() == "4:28 too many initial values\n");
  CHECK(parseModule(".global .b32 x[2] = 1;").errors() == "4:21 an array needs braces around its initial values\n");
  CHECK(parseModule(".global .b32 x = {1};").errors() == "4:18 a scalar takes a single value, not a list\n");
  CHECK(parseModule(".global .b32 x[2][2] = {1, 2, 3, 4};").errors() ==
        "4:25 an array needs braces around its initial values\n");
  CHECK(parseModule(".global .u32 x = 1.5;").errors() == "4:18 a floating-point value for a .u32\n");
  CHECK(parseModule(".global .f32 x = 1;").errors() == "4:18 an integer value for a .f32\n");
  CHECK(parseModule(".global .b32 y; .global .b64 x = y;").errors() == "4:34 an address for a .b64\n");
  CHECK(parseModule(".global .b32 y; .global .u8 x = 0xFFFF(y);").errors() ==
        "4:40 0xffff is not a mask of one byte\n");
  CHECK(parseModule(".global .u64 x = zz;").errors() == "4:18 'zz' is not a variable or function with an address\n");
  CHECK(parseModule(".global .u64 x = x;").errors() == "4:18 'x' is not known in its own initial value\n");
  CHECK(parseModule(".shared .b32 x = 1;").errors() == "4:18 a .shared variable cannot have an initial value\n");
  CHECK(parseModule(".extern .global .b32 x = 1;").errors() ==
        "4:26 'x' is .extern and cannot have an initial value here\n");
}

TEST_CASE("properties of samplers and textures") {
  Parsed p(".version 9.0\n.target sm_90, texmode_independent\n.global .samplerref s = {addr_mode_0 = wrap, "
           "force_unnormalized_coords = 1};");
  REQUIRE_MESSAGE(p.ok(), p.diags.render());
  REQUIRE(p.module->objectProperties.size() == 2);
  CHECK(p.module->text(p.module->objectProperties[0].word) == "wrap");
  CHECK(p.module->objectProperties[1].value == 1);
  CHECK(parseModule(".global .texref t = {foo = 4};").errors() == "4:22 unknown property 'foo'\n");
  CHECK(parseModule(".global .b32 t[2] = {width = 4};").errors() ==
        "4:22 only a texture, sampler or surface has named properties\n");
}

TEST_CASE("a variable may be declared again if one of the declarations is .extern") {
  CHECK(parseModule(".global .b32 x; .extern .global .b32 x;").ok());
  CHECK(parseModule(".extern .global .b32 x[]; .visible .global .b32 x[4];").ok());
  CHECK(parseModule(".extern .global .b32 x; .global .b32 x;").errors() ==
        "4:38 'x' is .extern before, but this definition is not visible outside\n");
  CHECK(parseModule(".extern .global .b32 x; .visible .global .f32 x;").errors() ==
        "4:47 'x' was declared differently before\n");
  CHECK(parseModule(".weak .global .b32 x; .weak .global .b32 x;").errors() ==
        "4:42 'x' is declared twice in this scope\n");
}

TEST_CASE("what cannot be declared") {
  CHECK(parseModule(".reg .b32 x;").errors() == "4:11 a register can only be declared in a function\n");
  CHECK(parseModule(".local .b32 x;").errors() == "4:13 a .local variable can only be declared in a function\n");
  CHECK(parseModule(".param .b32 x;").errors() == "4:13 a parameter cannot be declared at module scope\n");
  CHECK(parseModule(".global .pred x;").errors() == "4:15 'x': a predicate is a scalar in .reg\n");
  CHECK(parseModule(".global .v4 .f64 x;").errors() ==
        "4:18 'x': a vector has 2 or 4 components and at most 128 bits\n");
  CHECK(parseModule(".global .align 3 .b8 x;").errors() == "4:16 an alignment is a power of two\n");
  CHECK(parseModule(".global .e4m3 x;").errors() == "4:9 .e4m3 is a type of instructions, not of variables\n");
  CHECK(parseModule(".global .u33 x;").errors() == "4:9 unknown type '.u33'\n");
  CHECK(parseModule(".global .b32 x[2][];").errors().starts_with("4:18 only the first dimension"));
  CHECK(parseModule(".global .b32 x[1000000000][1000000000];").errors() == "4:14 'x' is too large\n");
  CHECK(parseBody(".reg .b32 x[4];").errors() == "6:11 'x' cannot be a register\n");
  CHECK(parseBody(".reg .b32 %x<4000000000>;").errors() == "6:11 a family has at most 2147483648 registers\n");
  CHECK(parseBody(".local .b32 x<100000>;").errors() == "6:13 a family has at most 4096 variables\n");
  CHECK(parseModule(".entry k(.param .v4 .f32 a) { ret; }").errors() == "4:26 'a': a parameter cannot be a vector\n");
  CHECK(parseModule(".func f(.param .b32 _);").errors() == "4:21 a parameter needs a name\n");
}

TEST_CASE("a huge family costs only what is used of it") {
  Parsed p = parseBody(".reg .b32 %x<2147483647>; mov.b32 %x2147483646, 1;");
  CHECK(p.ok());
  CHECK(p.function("k").registers.size() == 1);
}
