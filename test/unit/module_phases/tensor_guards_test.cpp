// --g-tensor-memory-access-check: the checks before each instruction, and their arguments.

#include "frontend/module_phases/tensor_guards.h"

#include "frontend/growing_forms.h"
#include "frontend/print.h"
#include "test/unit/module_phases/checked.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <string>
#include <vector>

using namespace orias;
using namespace orias::ptx;

namespace {

constexpr std::uint32_t kRecords = 0x40;

struct Guarded {
  std::string text;                ///< of the kernel
  std::vector<std::string> called; ///< in the order of their first calls
  bool hasChecked = false;
  bool has(std::string_view part) const { return text.find(part) != std::string::npos; }
};

Guarded guarded(const std::string& body, std::string_view arch = "sm_100a") {
  const std::string text = fmt::format(".version 9.0\n.target {}\n.address_size 64\n.visible .entry k()\n{{\n"
                                       ".reg .b64 %d<9>; .reg .b32 %r<40>; .reg .pred %p<9>; .shared .b32 slot;\n{} "
                                       "ret;\n}}\n",
                                       arch, body);
  const Checked checked(text);
  Module& module = *checked.module;
  GrowingForms forms(module);
  Guarded result;
  result.hasChecked = guardTensorMemory(module, forms.table(), kRecords);
  for (std::uint32_t o = 0; o < module.opcodes.size(); ++o)
    CHECK(forms.table().entry(OpcodeId(o)).problem == "");
  result.text = print(module, module.functions.front());
  constexpr std::string_view kPrefix = "__cuda_sm10x_tcgen05_guardrail_trap_";
  for (std::size_t f = 1; f < module.functions.size(); ++f) {
    const std::string_view name = module.text(module.functions[f].name);
    REQUIRE(name.starts_with(kPrefix));
    CHECK(module.functions[f].linkage == Linkage::Weak);
    result.called.emplace_back(name.substr(kPrefix.size()));
  }
  return result;
}

using Names = std::vector<std::string>;
const std::string kOutside = "access_out_of_physical_bounds", kUnallocated = "unallocated_columns_access",
                  kOtherWarp = "current_warp_owner_invalid", kMisaligned = "invalid_datapath_alignment",
                  kMismatch = "sparse_mismatch_between_idesc_mod";

} // namespace

TEST_CASE("guards of tensor memory: what is checked of each instruction") {
  CHECK(guarded("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3+4];").called ==
        Names{kOutside, kUnallocated, kOtherWarp});
  CHECK(guarded("tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r1, %r2}, %r4, [%r3];", "sm_103a").called ==
        Names{kOutside, kUnallocated, kOtherWarp});
  CHECK(guarded("tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r3], 8, {%r1};").called ==
        Names{kOutside, kUnallocated, kOtherWarp});
  CHECK(guarded("tcgen05.cp.cta_group::1.128x256b [%r1], %d1;").called == Names{kOutside, kUnallocated});
  CHECK(guarded("tcgen05.shift.cta_group::2.down [%r1];").called == Names{kOutside, kUnallocated});
  CHECK(guarded("tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1;").called ==
        Names{kOutside, kUnallocated, kMisaligned, kMismatch});
  CHECK(guarded("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], %r1;").called ==
        Names{"phase_invalid_during_alloc", kOutside, "allocation_granularity_invalid"});
  CHECK(guarded("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;").called ==
        Names{kOutside, "unallocated_columns_being_dealloced", "col_being_dealloced_not_returned_by_alloc"});
}

TEST_CASE("guards of tensor memory: what reaches no columns is not checked") {
  for (const char* body : {"tcgen05.wait::ld.sync.aligned;", "tcgen05.fence::before_thread_sync;",
                           "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
                           "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];"}) {
    const Guarded plain = guarded(body);
    CHECK_FALSE(plain.hasChecked);
    CHECK(plain.called.empty());
    CHECK_FALSE(plain.has("call"));
  }
}

TEST_CASE("guards of tensor memory: how many columns") {
  // The last column is compared with 512.
  const auto last = [](const std::string& instruction, unsigned columns) {
    const Guarded code = guarded(instruction);
    CAPTURE(code.text);
    CHECK(code.has(fmt::format(", {};", columns - 1)));
    CHECK(code.has("512"));
  };
  last("tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r1, %r2, %r3, %r4}, [%r5];", 4);
  last("tcgen05.ld.sync.aligned.16x64b.x4.pack::16b.b32 {%r1, %r2, %r3, %r4}, [%r5];", 16);
  last("tcgen05.st.sync.aligned.16x128b.x2.b32 [%r5], {%r1, %r2, %r3, %r4};", 8);
  last("tcgen05.st.sync.aligned.16x256b.x1.unpack::16b.b32 [%r5], {%r1, %r2, %r3, %r4};", 16);
  last("tcgen05.cp.cta_group::1.4x256b [%r1], %d1;", 8);
  last("tcgen05.cp.cta_group::1.32x128b.warpx4 [%r1], %d1;", 4);
}

TEST_CASE("guards of tensor memory: matrices and scales of a product in tensor memory, each") {
  const auto count = [](const std::string& instruction) {
    const std::string text = guarded(instruction).text;
    unsigned n = 0;
    for (std::size_t at = text.find("trap_invalid_datapath"); at != std::string::npos;
         at = text.find("trap_invalid_datapath", at + 1))
      ++n;
    return n;
  };
  CHECK(count("tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d2, %r2, %p1;") == 1);
  CHECK(count("tcgen05.mma.cta_group::1.kind::f16 [%r1], [%r4], %d2, %r2, %p1;") == 2);
  CHECK(count("tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], [%r4], %d2, [%r5], %r2, %p1;") == 3);
  CHECK(count("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r1], %d1, %d2, %r2, [%r4], [%r5], %p1;") == 3);
  CHECK(count("tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale [%r1], [%r3], %d2, [%r6], %r2, [%r4], [%r5], "
              "%p1;") == 5);
}

TEST_CASE("guards of tensor memory: an instruction that is not executed is not checked") {
  const Guarded code = guarded("@!%p1 tcgen05.shift.cta_group::1.down [%r1];");
  CHECK(code.has("not.pred"));
  CHECK(code.has("and.pred"));
  CHECK_FALSE(guarded("tcgen05.shift.cta_group::1.down [%r1];").has("and.pred"));
}
