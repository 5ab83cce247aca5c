#include "frontend/check.h"
#include "frontend/parse.h"

#include <doctest/doctest.h>
#include <string>

using namespace orias::ptx;

namespace {

/// Whether the statement is accepted, in a kernel with a texture, a sampler and a surface.
bool isRight(const std::string& statement, bool hasSamplers) {
  const std::string text = ".version 8.5\n.target sm_90" + std::string(hasSamplers ? ", texmode_independent" : "") +
                           "\n.address_size 64\n.global .texref t; .global .texref many[2]; .global .surfref f;\n" +
                           (hasSamplers ? ".global .samplerref s;\n" : "") +
                           ".entry k(.param .texref p) { .reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %d<3>;\n" +
                           statement + "\nret; }";
  orias::Diagnostics diagnostics("t.ptx", text);
  const auto module = parse(text, diagnostics);
  REQUIRE_MESSAGE(!diagnostics.hasErrors(), diagnostics.render());
  check(*module, {}, diagnostics);
  return !diagnostics.hasErrors();
}

constexpr const char* kRead = "tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, ";
bool reads(const std::string& place, bool hasSamplers) {
  return isRight(kRead + place + ";", hasSamplers);
}

} // namespace

TEST_CASE("textures have a sampler beside them where the target says so, and only there") {
  CHECK(reads("[t, {%f4,%f5}]", false));
  CHECK(reads("[p, {%f4,%f5}]", false));
  CHECK(reads("[%d0, {%f4,%f5}]", false));
  CHECK_FALSE(reads("[t, %d0, {%f4,%f5}]", false));
  CHECK(reads("[t, s, {%f4,%f5}]", true));
  CHECK(reads("[%d0, s, {%f4,%f5}]", true));
  CHECK(reads("[p, %d1, {%f4,%f5}]", true));
  CHECK_FALSE(reads("[t, {%f4,%f5}]", true));
}

TEST_CASE("what a texture is read by is a texture, and a single one") {
  CHECK_FALSE(reads("[f, {%f4,%f5}]", false));
  CHECK_FALSE(reads("[many, {%f4,%f5}]", false));
  CHECK_FALSE(reads("[%r0, {%f4,%f5}]", false));
  CHECK_FALSE(reads("[s, t, {%f4,%f5}]", true));
  CHECK_FALSE(isRight("suld.b.1d.b32.trap %r0, [t, {%r1}];", false));
  CHECK(isRight("suld.b.1d.b32.trap %r0, [f, {%r1}];", true));
}

TEST_CASE("modes and filters are asked of the sampler where there is one") {
  CHECK(isRight("txq.filter_mode.b32 %r0, [t];", false));
  CHECK_FALSE(isRight("txq.filter_mode.b32 %r0, [t];", true));
  CHECK(isRight("txq.filter_mode.b32 %r0, [s];", true));
  CHECK(isRight("txq.width.b32 %r0, [t];", true));
  CHECK_FALSE(isRight("txq.width.b32 %r0, [s];", true));
  CHECK_FALSE(isRight("suq.width.b32 %r0, [t];", false));
}
