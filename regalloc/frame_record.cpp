#include "regalloc/frame_record.h"

#include "regalloc/frame_lives.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::regalloc {

namespace {

/// The smallest size of a large array in bytes, by the public description of stack protection.
constexpr std::uint32_t kLargeArray = 8;

} // namespace

std::vector<ori::FrameCategory> frameCategories(const ori::Function& function, const Assignment& assignment) {
  std::vector<ori::FrameCategory> categories(function.frame.size(), ori::FrameCategory::Named);
  const FrameAddresses addresses = frameAddresses(function, assignment);
  for (std::size_t id = 0; id < categories.size(); ++id) {
    const ori::FrameObject& object = function.frame[id];
    if (object.isSpill || object.isIncoming || object.isOutgoing) continue;
    if (addresses.escapes[id])
      categories[id] = ori::FrameCategory::AddressTaken;
    else if (addresses.isInRegister[id])
      categories[id] = object.size < kLargeArray ? ori::FrameCategory::SmallArray : ori::FrameCategory::LargeArray;
  }
  return categories;
}

std::vector<bool> unnamedObjects(const ori::Function& function) {
  std::vector<bool> unnamed(function.frame.size(), true);
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block)
      for (const ori::Operand& o : instr.ops())
        if (o.kind == isa::Operand::Kind::Frame) unnamed[o.reg] = false;
  return unnamed;
}

std::vector<ori::FrameRecord> frameRecords(const ori::Function& function, const std::vector<bool>& dead,
                                           const std::vector<ori::FrameCategory>& categories) {
  std::vector<ori::FrameRecord> records;
  for (std::size_t id = 0; id < function.frame.size(); ++id) {
    const ori::FrameObject& object = function.frame[id];
    if (object.isOutgoing) continue;
    ori::FrameRecord record;
    record.name = object.name;
    record.size = object.size;
    record.log2Align = static_cast<std::uint8_t>(std::countr_zero(std::max(object.align, 1u)));
    record.isDead = id < dead.size() && dead[id];
    record.isSpillSlot = object.isSpill;
    record.isFixed = object.isIncoming;
    record.offset = record.isDead && !record.isFixed ? 0 : object.offset;
    if (id < categories.size()) record.category = categories[id];
    records.push_back(std::move(record));
  }
  std::ranges::stable_sort(records, {}, &ori::FrameRecord::offset);
  return records;
}

std::string frameTable(const ori::Function& function, const std::vector<ori::FrameRecord>& records) {
  std::string text =
      fmt::format("// frame of {}: {} bytes, {} objects\n", function.name(), function.stats.frameBytes, records.size());
  if (records.empty()) return text;
  text += fmt::format("// {:>6} {:>6} {:>5} {:>4} {:>5} {:>8}  {}\n", "offset", "size", "align", "dead", "spill",
                      "category", "object");
  for (const ori::FrameRecord& r : records)
    text += fmt::format("// {:>6} {:>6} {:>5} {:>4} {:>5} {:>8}  {}{}\n", r.isDead ? "-" : std::to_string(r.offset),
                        r.size, 1u << r.log2Align, int{r.isDead}, int{r.isSpillSlot}, static_cast<int>(r.category),
                        r.name, r.isFixed ? " (fixed)" : "");
  return text;
}

} // namespace orias::regalloc
