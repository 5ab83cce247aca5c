#include "ptx_test.h"

#include <doctest/doctest.h>

using namespace orias;
using namespace orias::ptx;

namespace {

std::string check(std::string_view version, std::string_view target, std::string_view items, Arch arch = {}) {
  Parsed p(".version " + std::string(version) + "\n.target " + std::string(target) + "\n" + std::string(items));
  return p.checked({arch}).errors();
}

std::string check(std::string_view items) {
  return check("9.0", "sm_90", items);
}

} // namespace

TEST_CASE("versions and targets that exist, and which version knows which target") {
  CHECK(check("9.1", "sm_90", "") == "1:10 there is no .version 9.1\n");
  CHECK(check("3.9", "sm_90", "") == "1:10 there is no .version 3.9\n");
  CHECK(check("1.0", "sm_10", ".entry k() { ret; }").empty());
  CHECK(check("7.7", "sm_90", "").empty());
  CHECK(check("7.7", "sm_90", ".entry k() { ret; }") == "2:9 sm_90 needs .version 7.8 or later\n");
  CHECK(check("7.8", "sm_90a", ".entry k() { ret; }") == "2:9 sm_90a needs .version 8.0 or later\n");
  CHECK(check("9.0", "sm_91", "") == "2:9 there is no target sm_91\n");
  CHECK(check("9.0", "sm_90f", "") == "2:9 there is no target sm_90f\n");
  CHECK(check("9.0", "sm_99999999", "") == "2:9 there is no target sm_9999\n");
  CHECK(check("9.0", "texmode_unified", "").ends_with("the .target names no sm_N\n"));
  CHECK(check("9.0", "sm_90, map_f64_to_f32", "") == "2:9 map_f64_to_f32 is for targets before sm_13\n");
  CHECK(check("9.0", "sm_90", ".address_size 32") == "3:1 sm_90 has no 32-bit addresses\n");
}

TEST_CASE("the target must be good for the chip that is compiled for") {
  CHECK(check("9.0", "sm_80", "", {90, 0}).empty());
  CHECK(check("9.0", "sm_90a", "", {90, 'a'}).empty());
  CHECK(check("9.0", "sm_90a", "", {90, 0}) == "2:9 code for sm_90a cannot be compiled for sm_90\n");
  CHECK(check("9.0", "sm_100", "", {90, 0}) == "2:9 code for sm_100 cannot be compiled for sm_90\n");
  CHECK(check("9.0", "sm_100f", "", {103, 'a'}).empty());
  CHECK(check("9.0", "sm_100f", "", {120, 'a'}) == "2:9 code for sm_100f cannot be compiled for sm_120a\n");
}

TEST_CASE("directives that exclude or need each other") {
  CHECK(check(".entry k() .maxntid 8 .reqntid 8 { ret; }") == "3:8 .maxntid and .reqntid exclude each other\n");
  CHECK(check(".entry k() .maxclusterrank 8 .reqnctapercluster 2 { ret; }") ==
        "3:8 .reqnctapercluster and .maxclusterrank exclude each other\n");
  CHECK(check(".entry k() .blocksareclusters { ret; }") ==
        "3:8 .blocksareclusters needs .reqntid and .reqnctapercluster\n");
  CHECK(check(".entry k() .blocksareclusters .reqntid 32 .reqnctapercluster 2 { ret; }").empty());
  CHECK(check(".entry k() .maxnctapersm 3 .maxntid 4 { ret; }") == "3:8 .maxnctapersm was removed in .version 2.1\n");
  CHECK(check(".entry k() .maxntid 0 { ret; }") == "3:12 .maxntid needs numbers above 0\n");
  CHECK(check(".func (.param .b32 r) f() .noreturn { ret; }") ==
        "3:23 a .noreturn function cannot have return parameters\n");
  Parsed p = parseModule(".entry k() .minnctapersm 3 { ret; }");
  CHECK(p.checked().ok());
  CHECK(p.errors() == "4:8 .minnctapersm has no effect without .maxntid or .reqntid\n");
}

TEST_CASE("directives that need a version or a target") {
  CHECK(check("7.0", "sm_80", ".entry k() .maxclusterrank 8 { ret; }") ==
        "3:8 .maxclusterrank needs .version 7.8 or later\n3:8 .maxclusterrank needs .target sm_90 or later\n");
  CHECK(check("8.0", "sm_90", ".entry k() .blocksareclusters .reqntid 32 .reqnctapercluster 2 { ret; }") ==
        "3:8 .blocksareclusters needs .version 9.0 or later\n");
  CHECK(check("6.3", "sm_75", ".func f() .noreturn { ret; }") == "3:7 .noreturn needs .version 6.4 or later\n");
  CHECK(check("8.2", "sm_90", ".global .b128 x;") == "3:15 .b128 needs .version 8.3 or later\n");
  CHECK(check("3.0", "sm_30", ".weak .global .b32 x;") == "3:20 .weak needs .version 3.1 or later\n");
  CHECK(check(".common .shared .b32 x;") == "3:22 'x' is .common but not in .global\n");
  CHECK(check("6.2", "sm_70", ".visible .func f() { ret; }\n.visible .func g();\n.alias g, f;") ==
        "4:16 .alias needs .version 6.3 or later\n");
}

TEST_CASE("limits of entries") {
  CHECK(check(".entry k(.param .b8 a[32764]) { ret; }").empty());
  CHECK(check(".entry k(.param .b8 a[32765]) { ret; }") ==
        "3:8 the parameters of 'k' have 32765 bytes, at most 32764 fit\n");
  CHECK(check("8.0", "sm_90", ".entry k(.param .b8 a[4352]) { ret; }").empty());
  CHECK(check("8.0", "sm_90", ".entry k(.param .b8 a[4352], .param .b64 b) { ret; }") ==
        "3:8 the parameters of 'k' have 4360 bytes, at most 4352 fit\n");
  CHECK(check(".entry k(.param .b32 a[]) { ret; }") == "3:22 'a': the parameters of an entry have a size\n");
  CHECK(check(".func f(.param .b32 a[], .param .b32 b) { ret; }") ==
        "3:21 only the last parameter may be an array without a size\n");
}

TEST_CASE("arrays without a size, samplers, aliases") {
  CHECK(check(".shared .b8 x[];") == "3:13 'x' has no size\n");
  CHECK(check(".extern .shared .b8 x[];").empty());
  CHECK(check(".entry k() { .local .b32 x[0]; ret; }") == "3:26 'x' has no size\n");
  CHECK(check(".global .samplerref s;") == "3:21 the sampler 's' needs the target texmode_independent\n");
  CHECK(check(".visible .func f(.param .b32 a) { ret; }\n.visible .func g();\n.alias g, f;") ==
        "4:16 'f' and its alias 'g' have different parameters\n");
  CHECK(check(".func f() { ret; }\n.alias f, f;") == "4:8 'f' has a body and cannot be an alias\n");
  CHECK(check(".visible .func f();\n.visible .func g();\n.alias g, f;") ==
        "3:16 'f' is declared but not defined\n4:16 'g' is declared but not defined\n5:11 'f' is not defined\n");
  CHECK(check(".extern .func f();").empty());
}
