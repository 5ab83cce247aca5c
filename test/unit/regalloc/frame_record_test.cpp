// The layout of frame objects: regalloc/frame_record.h.

#include "allocation.h"

#include <algorithm>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;

namespace {

/// The records of a function with objects of these sizes, by name.
std::vector<ori::FrameRecord> recordsOf(const std::string& objects, const std::string& body, unsigned* bytes = nullptr,
                                        unsigned registers = 255) {
  auto module = ori::test::kernel(objects + body);
  AllocationOptions options;
  std::vector<ori::FrameRecord> records;
  options.frame = &records;
  options.maxRegisters = registers;
  CHECK(allocate(*module->functions.front(), options) == "");
  if (bytes) *bytes = module->functions.front()->stats.frameBytes;
  CHECK(std::ranges::is_sorted(records, {}, &ori::FrameRecord::offset));
  return records;
}

const ori::FrameRecord& named(const std::vector<ori::FrameRecord>& records, const std::string& name) {
  const auto at = std::ranges::find(records, name, &ori::FrameRecord::name);
  REQUIRE(at != records.end());
  return *at;
}

} // namespace

TEST_CASE("objects are laid out by category: large and small arrays, addresses that are taken, the others") {
  unsigned bytes = 0;
  const auto records = recordsOf(
      "  frame \"direct\" size 8 align 8;\n  frame \"taken\" size 16 align 8;\n"
      "  frame \"small\" size 4 align 4;\n  frame \"large\" size 64 align 4;\n  frame \"unused\" size 4096 align 8;\n",
      ".L0:\n  S2R %r0, SR_TID.X;\n  STL [R1+frame[0]], %r0;\n  IADD3 %r1, R1, frame[1], RZ;\n"
      "  STS [%r0], %r1;\n  LDL %r2, [%r1];\n  IADD3 %r3, R1, frame[2], RZ;\n  IADD3 %r4, %r3, %r0, RZ;\n"
      "  STL [%r4], %r2;\n  IADD3 %r5, R1, frame[3], RZ;\n  IADD3 %r6, %r5, %r0, RZ;\n  STL [%r6], %r2;\n"
      "  LDL %r7, [%r4];\n  LDL %r8, [%r6];\n  LDL %r9, [R1+frame[0]];\n  STS [%r0], %r7;\n  STS [%r0], %r8;\n"
      "  STS [%r0], %r9;\n  EXIT;\n",
      &bytes);
  CHECK(named(records, "large").category == ori::FrameCategory::LargeArray);
  CHECK(named(records, "small").category == ori::FrameCategory::SmallArray);
  CHECK(named(records, "taken").category == ori::FrameCategory::AddressTaken);
  CHECK(named(records, "direct").category == ori::FrameCategory::Named);
  CHECK(named(records, "large").offset < named(records, "small").offset);
  CHECK(named(records, "small").offset < named(records, "taken").offset);
  CHECK(named(records, "taken").offset < named(records, "direct").offset);
  CHECK(named(records, "direct").log2Align == 3);
  // Unused objects have no bytes.
  CHECK(named(records, "unused").isDead);
  CHECK_FALSE(named(records, "direct").isDead);
  CHECK(bytes == 96);
}

TEST_CASE("spill slots are after the objects of the program") {
  std::string body = ".L0:\n  S2R %r0, SR_TID.X;\n  STL [R1+frame[0]], %r0;\n";
  for (int i = 1; i < 30; ++i)
    body += "  LDS %r" + std::to_string(i) + ", [%r0+" + std::to_string(4 * i) + "];\n";
  for (int i = 1; i < 30; ++i)
    body += "  STS [%r0], %r" + std::to_string(i) + ";\n";
  const auto records = recordsOf("  frame \"own\" size 4 align 4;\n",
                                 body + "  LDL %r40, [R1+frame[0]];\n  STS [%r0], %r40;\n  EXIT;\n", nullptr, 24);
  CHECK(std::ranges::any_of(records, &ori::FrameRecord::isSpillSlot));
  CHECK(records.front().name == "own");
  for (const ori::FrameRecord& record : records)
    CHECK(record.isSpillSlot == (record.name == "spill"));
}
