// Phase M12: stack memory of a constant size becomes variables of the frame.

#include "frontend/module_phases/alloca_hoisting.h"

#include "frontend/print.h"
#include "test/unit/module_phases/checked.h"

#include <doctest/doctest.h>
#include <string>

using namespace orias;
using namespace orias::ptx;

namespace {

std::string after(const std::string& body) {
  const Checked checked(".version 8.7\n.target sm_90\n.address_size 64\n"
                        ".visible .entry k(.param .u64 out, .param .u64 n)\n{\n"
                        ".reg .b64 %a<9>; .reg .b32 %r<19>; .reg .pred %p<9>;\nld.param.u64 %a8, [n];\n" +
                        body + " ret;\n}\n");
  GrowingForms forms(*checked.module);
  hoistAllocas(*checked.module, forms, false);
  return print(*checked.module, checked.module->functions.back());
}

/// Whether no alloca remains.
bool isHoisted(const std::string& body) {
  return after(body).find("alloca.") == std::string::npos;
}

} // namespace

TEST_CASE("an alloca of a constant size is a variable of the frame") {
  const std::string text = after("alloca.u64 %a1, 24, 16; st.local.u32 [%a1+4], 7;");
  CAPTURE(text);
  CHECK(text.find(".local .align 16 .b8 __alloca0[24];") != std::string::npos);
  CHECK(text.find("mov.u64 %a1, __alloca0;") != std::string::npos);
  CHECK(after("alloca.u32 %r1, 8;").find("mov.u32 %r1, __alloca0;") != std::string::npos);
  CHECK(isHoisted("mov.u64 %a2, 40; alloca.u64 %a1, %a2;"));
  // Not in the entry block, under a guard, between two labels.
  CHECK(isHoisted("setp.gt.u64 %p1, %a8, 3; @%p1 bra L; alloca.u64 %a1, 24; L: st.global.u32 [%a8], 1;"));
  CHECK(isHoisted("setp.gt.u64 %p1, %a8, 3; @%p1 alloca.u64 %a1, 24;"));
  // A loop before it, and one after it.
  CHECK(isHoisted("A: setp.gt.u64 %p1, %a8, 3; @%p1 bra A; alloca.u64 %a1, 24; B: @%p1 bra B;"));
}

TEST_CASE("an alloca stays whose size is not known, or that may run again") {
  CHECK_FALSE(isHoisted("alloca.u64 %a1, %a8;"));
  CHECK_FALSE(isHoisted("mov.u64 %a2, 40; add.u64 %a2, %a2, 8; alloca.u64 %a1, %a2;"));
  CHECK_FALSE(isHoisted("setp.gt.u64 %p1, %a8, 3; @%p1 mov.u64 %a2, 40; alloca.u64 %a1, %a2;"));
  CHECK_FALSE(isHoisted("L: alloca.u64 %a1, 24; setp.gt.u64 %p1, %a8, 3; @%p1 bra L;"));
  CHECK_FALSE(isHoisted("ts: .branchtargets A, B; A: alloca.u64 %a1, 24; B: brx.idx %r1, ts;"));
  CHECK_FALSE(isHoisted("alloca.u64 %a1, 1000000;"));
  CHECK_FALSE(isHoisted("alloca.u64 %a1, 24, 64;"));
}

TEST_CASE("what is taken after the stack went back lies where it lay before, if the program can tell") {
  const std::string taken = "stacksave.u64 %a3; alloca.u64 %a1, 24; st.local.u64 [%a1], %a8; stackrestore.u64 %a3; "
                            "alloca.u64 %a2, 24; st.local.u64 [%a2], %a8;";
  CHECK(isHoisted(taken));
  // There is nothing to save.
  CHECK(after(taken).find("stack") == std::string::npos);
  CHECK_FALSE(isHoisted(taken + " setp.eq.u64 %p1, %a1, %a2;"));
  CHECK_FALSE(isHoisted(taken + " st.global.u64 [%a8], %a1;"));
  // The saved value has another use.
  CHECK(after(taken + " st.global.u64 [%a8], %a3;").find("stacksave") != std::string::npos);
  // Memory of unknown size is still released.
  CHECK(after(taken + " alloca.u64 %a4, %a8;").find("stackrestore") != std::string::npos);
}
