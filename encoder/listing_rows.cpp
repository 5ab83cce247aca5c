#include "encoder/listing_rows.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "encoder/isa/print.h"
#include "encoder/isa/target.h"

#include <fmt/format.h>

namespace orias::encoder {

namespace {

/// The byte offset that the label operand of the word at `offset` refers to; -1 without a label.
std::int64_t labelTarget(const isa::Inst& inst, std::uint32_t offset) {
  for (unsigned i = 0; i < inst.operandCount; ++i)
    if (inst.operands[i].kind == isa::Operand::Kind::Label && isa::styleOf(inst, i) != isa::Style::SignedHex)
      return static_cast<std::int64_t>(offset) + kWordBytes + inst.operands[i].imm;
  return -1;
}

std::string reuseText(const isa::Inst& inst) {
  std::string out = "---";
  const isa::InstrDesc& row = isa::desc(inst.op);
  unsigned source = 0;
  for (unsigned i = 0; i < inst.operandCount; ++i) {
    if (row.slots[i].role != isa::Role::Use || row.slots[i].file != isa::File::R || source >= 3) continue;
    if (inst.operands[i].reuse()) out[source] = static_cast<char>('A' + source);
    ++source;
  }
  return out;
}

} // namespace

std::vector<ListingRow> listingRows(std::span<const isa::Word> words, const std::map<std::uint32_t, std::string>& names,
                                    const isa::Target& target) {
  std::vector<std::optional<isa::Inst>> decoded;
  std::map<std::int64_t, std::string> labels(names.begin(), names.end());
  for (std::size_t i = 0; i < words.size(); ++i) {
    decoded.push_back(isa::decodeFor(target, words[i]));
    if (!decoded.back()) continue;
    const std::int64_t target = labelTarget(*decoded.back(), static_cast<std::uint32_t>(i) * kWordBytes);
    if (target >= 0) labels[target];
  }
  unsigned count = 0;
  for (auto& [offset, name] : labels)
    if (name.empty()) name = fmt::format(".L_x_{}", count++);

  std::vector<ListingRow> rows;
  rows.reserve(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    ListingRow row;
    row.offset = static_cast<std::uint32_t>(i) * kWordBytes;
    row.word = words[i];
    if (auto label = labels.find(row.offset); label != labels.end()) row.label = label->second;
    if (decoded[i]) {
      isa::PrintOptions options;
      options.address = row.offset;
      options.labelName = [&](std::uint64_t target) {
        auto label = labels.find(static_cast<std::int64_t>(target));
        return label == labels.end() ? std::string() : label->second;
      };
      row.text = isa::printFor(target, *decoded[i], options);
      row.reuse = reuseText(*decoded[i]);
      row.uniform = isa::desc(decoded[i]->op).has(isa::Flag::Uniform);
    } else {
      row.text = fmt::format(".word 0x{:016x}, 0x{:016x}", words[i].lo, words[i].hi);
      row.reuse = "---";
      row.data = true;
    }
    row.control = isa::controlOf(words[i]);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string placeName(std::string_view path, std::uint32_t line) {
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), line);
}

void setOccupancy(ListingHeader& header, unsigned threadsPerBlock, const isa::Target& target) {
  constexpr unsigned kUsualBlock = 256;
  header.threadsPerBlock = threadsPerBlock != 0 ? threadsPerBlock : kUsualBlock;
  const isa::Occupancy occupancy = target.occupancy(header.threadsPerBlock, header.registers, header.sharedBytes);
  header.warpsPerSm = occupancy.warpsPerSm;
  header.maxWarpsPerSm = target.maxWarpsPerSm();
  switch (occupancy.limit) {
  case isa::Occupancy::Limit::Warps: header.occupancyLimit = "warps"; break;
  case isa::Occupancy::Limit::Blocks: header.occupancyLimit = "blocks"; break;
  case isa::Occupancy::Limit::Registers: header.occupancyLimit = "registers"; break;
  case isa::Occupancy::Limit::SharedMemory: header.occupancyLimit = "shared memory"; break;
  case isa::Occupancy::Limit::Impossible: header.occupancyLimit = "no block fits"; break;
  }
}

} // namespace orias::encoder
