// Options::threads: the result does not depend on it, and functions that are compiled take no memory.

#include "ori/function.h"
#include "orias/compilation.h"
#include "orias/function_job.h"
#include "orias/orias.h"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace orias;

namespace {

constexpr std::string_view kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";

/// Functions that call one another, shared and global variables, and a texture.
constexpr std::string_view kProgram = R"(
.global .texref picture;
.global .align 4 .u32 total = 5;
.shared .align 4 .b8 common[512];
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.func (.param .b32 r) leaf(.param .b32 a) {
  .reg .b32 %r<4>;
  ld.param.b32 %r1, [a];
  mad.lo.s32 %r2, %r1, %r1, 7;
  st.param.b32 [r], %r2;
  ret;
}
.func (.param .b32 r) middle(.param .b32 a) {
  .reg .b32 %r<4>;
  ld.param.b32 %r1, [a];
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), leaf, (x); ld.param.b32 %r2, [y]; }
  add.u32 %r2, %r2, %r1;
  st.param.b32 [r], %r2;
  ret;
}
.visible .entry shares(.param .u64 p) {
  .reg .b32 %r<8>; .reg .b64 %p;
  .shared .align 4 .b8 own[256];
  ld.param.u64 %p, [p];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, common;
  mov.u32 %r3, own;
  mad.lo.u32 %r4, %r1, 4, %r2;
  mad.lo.u32 %r5, %r1, 4, %r3;
  st.shared.u32 [%r4], %r1;
  st.shared.u32 [%r5], %r1;
  bar.sync 0;
  ld.shared.u32 %r6, [%r4+4];
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r6; call.uni (y), middle, (x); ld.param.b32 %r7, [y]; }
  st.global.u32 [%p], %r7;
  ret;
}
.visible .entry reads(.param .u64 p, .param .b32 n) {
  .reg .b32 %r<8>; .reg .b64 %p, %q; .reg .f32 %f<5>; .reg .pred %again;
  ld.param.u64 %p, [p];
  ld.param.u32 %r1, [n];
LOOP:
  tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [picture, {%r1}];
  st.global.f32 [%p], %f1;
  red.global.add.u32 [total], %r1;
  { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), leaf, (x); ld.param.b32 %r2, [y]; }
  st.global.u32 [%p+4], %r2;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %again, %r1, 0;
  @%again bra LOOP;
  ret;
}
.visible .entry prints(.param .u64 p) {
  .reg .b32 %r; .reg .b64 %p;
  ld.param.u64 %p, [p];
  { .param .b64 f; .param .b64 a; .param .b32 y; st.param.b64 [f], %p; st.param.b64 [a], 0;
    call.uni (y), vprintf, (f, a); ld.param.b32 %r, [y]; }
  st.global.u32 [%p], %r;
  ret;
}
)";

/// The same with 1, 2 and 8 threads.
void checkSame(const std::string& text, Options options, Status status) {
  options.wantListing = options.wantRemarks = true;
  const Result one = assemble(text, options);
  REQUIRE_MESSAGE(one.status == status, one.diagnostics);
  for (const unsigned threads : {2U, 8U}) {
    options.threads = threads;
    const Result more = assemble(text, options);
    CHECK(more.status == status);
    CHECK(more.cubin == one.cubin);
    CHECK(more.listing == one.listing);
    CHECK(more.remarks == one.remarks);
    CHECK(more.diagnostics == one.diagnostics);
  }
}

} // namespace

TEST_CASE("calls, shared variables and textures: the same for any number of threads") {
  const std::string text = std::string(kHead) + std::string(kProgram);
  checkSame(text, {}, Status::Ok);
  Options relocatable;
  relocatable.relocatable = true;
  relocatable.lineInfo = true;
  relocatable.knobs = {"InlineInObjects=0"};
  checkSame(text, relocatable, Status::Ok);
  Options dumped;
  dumped.phases.dumpAfter = {"M5", "101"};
  const Result one = assemble(text, dumped);
  dumped.threads = 8;
  CHECK(assemble(text, dumped).phaseText == one.phaseText);
}

TEST_CASE("errors in two functions: the same messages for any number of threads") {
  const std::string text = std::string(kHead) + ".visible .entry a() { .reg .b32 %r; bogus.u32 %r; ret; }\n"
                                                ".visible .entry fine() { ret; }\n"
                                                ".visible .entry b() { .reg .b64 %d; add.u32 %d, %d, 1; ret; }\n";
  checkSame(text, {}, Status::InputErrors);
}

TEST_CASE("a compiled function keeps no instructions, so that one function at a time takes memory") {
  const std::string text = std::string(kHead) + std::string(kProgram);
  for (const bool isKept : {false, true}) {
    const Input input{"k.ptx", text};
    Options options;
    options.relocatable = true;
    options.knobs = {"InlineInObjects=0"};
    Compilation compilation(std::span(&input, 1), options);
    if (isKept) compilation.keepCode();
    std::vector<const ori::Function*> begun; // in the order of their phases
    compilation.observePhases([&](const phases::PhaseInfo&, ori::Function& function, bool) {
      if (begun.empty() || begun.back() != &function) begun.push_back(&function);
      for (std::size_t i = 0; i + 1 < begun.size(); ++i)
        CHECK(begun[i]->layout().empty() != isKept);
    });
    const Result result = compilation.run();
    REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
    CHECK(begun.size() == 5);
    for (const auto& job : compilation.jobs()) {
      CHECK((job->function().instrIdCount() == 0) != isKept);
      CHECK(job->code().origin.empty() != isKept);
    }
  }
}
