#include "ptx_test.h"

#include "frontend/limits.h"

#include <doctest/doctest.h>

using namespace orias;
using namespace orias::ptx;

TEST_CASE("an error is shown with its place, a caret and a hint") {
  Parsed p = parseBody("  add.u32 %r1, %r2, %r3,;");
  CHECK(p.diags.render() == "t.ptx:6:25: error: syntax error at ';'\n"
                            "    add.u32 %r1, %r2, %r3,;\n"
                            "                          ^\n");
  Parsed q = parseBody("mov.u32 %r10, 1;");
  CHECK(q.diags.render() == "t.ptx:6:9: error: undeclared name '%r10'\n"
                            "  mov.u32 %r10, 1;\n"
                            "          ^\n"
                            "t.ptx:6:9: note: %r<10> in line 5 ends before it\n");
}

TEST_CASE("all errors of a file are found, not only the first") {
  Parsed p = parseBody(
      "mov.u32 %r1 %r2;\nadd.u32 %r1, %r2, %q;\nst.global.u32 [%rd1, %r1;\nmov.u32 %r1, 08;\n)\nbra Nowhere;\nret;");
  CHECK(p.errors() == "6:13 syntax error at '%r2'\n"
                      "7:19 undeclared name '%q'\n"
                      "8:25 syntax error at ';'\n"
                      "9:15 syntax error at '8'\n"
                      "10:1 syntax error at ')'\n"
                      "11:5 undeclared name 'Nowhere'\n");
  CHECK(p.function("k").instructions.size() == 1); // only ret is kept
}

TEST_CASE("a missing semicolon is told where it should be, and costs one statement") {
  Parsed p = parseBody("mov.u32 %r1, 1\nmov.u32 %r2, 2;\nmov.u32 %r3, %q;");
  CHECK(p.errors() == "6:15 missing ';' after '1'\n8:14 undeclared name '%q'\n");
}

TEST_CASE("a missing brace does not hide the next function") {
  Parsed p = parseModule(".entry a() { ret;\n.entry b() { mov.u32 x, 1; ret; }");
  CHECK(p.errors() == "5:1 syntax error at '.entry'\n5:22 undeclared name 'x'\n");
}

TEST_CASE("an error in a header does not hide the next function") {
  Parsed p =
      parseModule(".entry a(.param .u32) { ret; }\n.global .u32 ;\n.global .u32 [3];\n.entry b() { mov.u32 x, 1; }");
  CHECK(p.errors() == "4:21 syntax error at ')'\n6:14 syntax error at '['\n7:22 undeclared name 'x'\n");
}

TEST_CASE("headers") {
  CHECK(Parsed("").errors() == "1:1 syntax error at the end of the file\n");
  CHECK(Parsed(".version 9.0\n.entry k() { ret; }").errors() == "2:1 syntax error at '.entry'\n");
  CHECK(Parsed(".version 9\n.target sm_90").errors() == "1:10 syntax error at '9'\n");
  CHECK(Parsed(".version 9.0\n.target sm_90, foo").errors() == "2:16 unknown target 'foo'\n");
  CHECK(Parsed(".version 9.0\n.target sm_90\n.address_size 48").errors() == "3:15 the address size is 32 or 64\n");
}

TEST_CASE("redeclared names") {
  CHECK(parseBody(".reg .b32 %r5;").errors() == "6:11 '%r5' is declared twice in this scope\n");
  CHECK(parseBody(".reg .b32 %r<20>;").errors() == "6:11 '%r' is declared twice in this scope\n");
  CHECK(parseBody(".reg .b32 %x3; .reg .b32 %x<4>;").errors() == "6:26 '%x' is declared twice in this scope\n");
  CHECK(parseBody(".reg .b32 %x4; .reg .b32 %x<4>;").ok());
  CHECK(parseBody(".reg .b32 a;").errors() == "6:11 'a' is declared twice in this scope\n");
  CHECK(parseBody("{ .reg .b32 a; } { .reg .b64 a; }").ok());
  CHECK(parseBody("L: L: ret;").errors() == "6:4 'L' is declared twice in this scope\n");
  CHECK(parseBody("L: { L: ret; }").ok());
  CHECK(parseModule(".func f() { ret; }\n.func f() { ret; }").errors() ==
        "5:7 'f' is redeclared after its definition\n");
  CHECK(parseModule(".func f();\n.entry f() { ret; }").errors() ==
        "5:8 'f' was declared before, as the other one of .entry and .func\n");
  CHECK(parseModule(".func f(.param .b32 a);\n.func f(.param .u32 a) { ret; }").errors() ==
        "5:7 'f' was declared with other parameters before\n");
  CHECK(parseModule(".extern .func f();\n.func f() { ret; }").errors() ==
        "5:7 'f' was declared with another linkage before\n");
  CHECK(parseModule(".func (.param .b32 r) f(.param .b32 r) { ret; }").errors() ==
        "4:37 'r' is declared twice in this scope\n");
}

TEST_CASE("names are only known in their scope") {
  CHECK(parseBody("{ .reg .b32 x; } mov.u32 x, 1;").errors() == "6:26 undeclared name 'x'\n");
  CHECK(parseBody("{ L: } bra L;").errors() == "6:12 undeclared name 'L'\n");
  CHECK(parseBody("call nofunction;").errors() == "6:6 undeclared name 'nofunction'\n");
}

TEST_CASE("operands that cannot be") {
  CHECK(parseBody("@%r1 ret;").errors() == "6:2 the guard '%r1' is not a predicate\n");
  CHECK(parseBody("mov.u32 %r1, %tid.q;").errors() == "6:14 %tid has no component '.q'\n");
  CHECK(parseBody("mov.u32 %r1, %laneid.x;").errors() == "6:14 %laneid has no components\n");
  CHECK(parseBody("mov.u32 %r1, %r2.x;").errors() == "6:14 '%r2' is not a vector\n");
  CHECK(parseBody(".reg .v2 .b32 v; mov.u32 %r1, v.z;").errors() == "6:31 'v' has 2 components\n");
  CHECK(parseBody("ld.global.u32 %r1, [%rd1-4];").errors() == "6:25 syntax error at '-'\n");
  CHECK(parseBody("ld.global.u32 %r1, [%rd1+1.0];").errors() == "6:21 an address and its offset are integers\n");
  CHECK(parseBody("mov.u32 %r1, -%q;").errors() == "6:15 undeclared name '%q'\n");
  CHECK(parseBody("mov.u32 %r1, -%tid.x;").errors() == "6:15 '-' before something that is not a register\n");
  CHECK(parseBody("mov.b64 {{%r1}, %r2}, %rd1;").errors() ==
        "6:9 the elements of a vector are registers, names and constants\n");
  CHECK(parseBody("mov.b64 %rd1, {%r2+4, %r1};").errors() ==
        "6:16 '%r2' is not a variable: only the address of one takes an offset\n");
  CHECK(parseBody(".reg .f32 %f; mov.f32 %f, %f+4;").errors() ==
        "6:27 '%f' is not an integer: no constant can be added to it\n");
  CHECK(parseBody(".shared .b32 arr[4]; .reg .f32 %f; ld.shared.b32 %r1, arr[%f];").errors() ==
        "6:59 '%f' is not an integer: it cannot be an index\n");
  CHECK(parseBody(".shared .b32 arr[4]; ld.shared.b32 %r1, arr[arr];").errors() == "6:45 'arr' is not a register\n");
  CHECK(parseBody(".reg .v2 .b32 v; mov.v2.b32 v, v+4;").errors() ==
        "6:32 'v' is not an integer: no constant can be added to it\n");
}

TEST_CASE("limits: nesting") {
  const auto repeat = [](std::string_view what, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
      all += what;
    return all;
  };
  const std::string most = repeat("{", kMaxNesting - 1) + repeat("}", kMaxNesting - 1);
  CHECK(parseBody(most).ok());
  for (std::string_view open : {"{", "mov.u32 %r1, (", "[", "1?"}) {
    Parsed p = parseBody("mov.u32 %r1, " + repeat(open, 100000));
    CHECK(!p.ok());
  }
  Parsed p = parseBody(repeat("{", 100000));
  CHECK(p.errors() == "6:256 brackets are nested more than 256 deep\n");
  // Constructs that do not nest are not recursive.
  CHECK(parseBody("mov.u32 %r1, " + repeat("- ", 100000) + "1;").ok());
  CHECK(parseBody("mov.u64 %rd1, " + repeat("(.s64)", 100000) + "1;").ok());
  CHECK(parseBody("mov.u32 %r1, " + repeat("1+", 100000) + "1;").ok());
  CHECK(parseBody("mov.u32 %r1, " + repeat("1?2:", 100000) + "1;").ok());
}

TEST_CASE("limits: operands, errors, initialisers") {
  std::string many = "bar {%r1";
  for (int i = 0; i < 100000; ++i)
    many += ",%r1";
  CHECK(parseBody(many + "};").ok());
  many = "bar %r1";
  for (int i = 0; i < 100000; ++i)
    many += ",%r1";
  CHECK(parseBody(many + ";").errors() == "6:1 an instruction has at most 65535 operands\n");
  std::string wrong;
  for (int i = 0; i < 5000; ++i)
    wrong += "mov.u32 );\n";
  CHECK(parseBody(wrong).diags.errorCount() == kMaxSyntaxErrors + 1);
  CHECK(parseModule(".global .b8 x[2][1000000000] = {{1}, {2}};").errors() ==
        "4:39 an initializer is longer than 134217728 bytes\n");
}

TEST_CASE("text that is no PTX") {
  CHECK(!Parsed(std::string(4096, '\0')).ok());
  CHECK(!Parsed("\x7f"
                "ELF\x02\x01\xff\xfe")
             .ok());
  CHECK(parseBody("mov.u32 %r1, \"never closed")
            .errors()
            .starts_with("6:14 syntax error at a string that does not end\n"));
  CHECK(parseBody("ret; /* never closed").errors().starts_with("6:6 syntax error at a comment that does not end\n"));
  CHECK(parseBody(std::string("mov.u32 %r1, \0 1;\nmov.u32 %q, 1;", 32)).errors() ==
        "6:14 syntax error at '\\x00'\n7:9 undeclared name '%q'\n");
}
