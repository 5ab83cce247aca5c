#include "ptx_test.h"

#include <doctest/doctest.h>
#include <string>

// The parser and the checks terminate on any text, with or without errors.

using namespace orias;
using namespace orias::ptx;

namespace {

constexpr std::string_view kProgram = R"(.version 9.0
.target sm_90
.address_size 64
.global .align 8 .u64 table[2] = {generic(data)+4, data};
.extern .shared .align 16 .b8 dynamic[];
.func (.param .b32 r) f(.param .b32 x, .param .align 4 .b8 y[8]) { .reg .b32 %r<4>; ld.param.u32 %r1, [x]; st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 .ptr .global .align 8 p, .param .u32 n) .maxntid 128, 1, 1 {
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .v4 .f32 v;
  .loc 1 2 3
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;
  setp.lt.and.u32 %p1|%p2, %r1, 1?2:(3+4)*5, !%p2;
L: @!%p1 bra M;
  { .reg .b32 t; .param .b32 a0; call (a0), f, (t, 7); }
  ld.global.v4.f32 {%r1, %r2, _, %r3}, [%rd1+-16];
  mov.f32 v.x, 0f3F800000; P: .callprototype (.param .b32 _) _ (.param .b32 _); T: .branchtargets L, M;
M: ret;
}
.section .debug_str { info: .b8 1, 2 .b64 k-info+4 }
)";

} // namespace

TEST_CASE("every prefix of a program") {
  for (std::size_t n = 0; n <= kProgram.size(); ++n) {
    Parsed p{std::string(kProgram.substr(0, n))};
    p.checked();
    CHECK(p.diags.render().size() < 100000);
  }
}

TEST_CASE("programs with a piece removed, doubled, moved or spoilt") {
  std::uint64_t state = 1;
  const auto random = [&](std::size_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  for (int round = 0; round < 3000; ++round) {
    std::string text(kProgram);
    for (std::size_t changes = 1 + random(3); changes > 0; --changes) {
      const std::size_t at = random(text.size());
      const std::size_t length = std::min(1 + random(12), text.size() - at);
      switch (random(4)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, text.substr(at, length)); break;
      case 2: text.insert(random(text.size()), text.substr(at, length)); break;
      default: text[at] = static_cast<char>(random(256)); break;
      }
    }
    Parsed p{text};
    p.checked();
    CHECK(p.diags.render().size() < 1000000);
  }
}
