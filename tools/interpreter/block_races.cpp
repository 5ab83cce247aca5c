#include "tools/interpreter/block_races.h"

namespace orias::interp {

std::optional<BlockRaces::Conflict> BlockRaces::note(std::uint64_t block, std::uint64_t address, std::size_t size,
                                                     std::span<const std::byte> data, bool isStrong) {
  std::optional<Conflict> conflict;
  const auto fenced = fences_.find(block);
  const std::uint64_t since = fenced == fences_.end() ? 0 : fenced->second;
  const auto conflicts = [&](const Stamp& before) {
    return before.time > since && before.block != block && !(before.isStrong && isStrong);
  };
  const auto report = [&](const Stamp& before, bool withWrite, std::uint64_t at) {
    if (!conflict) conflict = {before.block, withWrite, at};
  };
  const Stamp now{block, now_++, isStrong};
  for (std::size_t k = 0; k < size; ++k) {
    Byte& byte = bytes_[address + k];
    const bool writesSame = !data.empty() && byte.value == data[k];
    if (conflicts(byte.write) && !writesSame) report(byte.write, true, address + k);
    if (!data.empty()) {
      for (const Stamp& read : byte.reads)
        if (conflicts(read)) report(read, false, address + k);
      byte.write = now;
      byte.value = data[k];
      continue;
    }
    auto& [last, other] = byte.reads;
    if (last.block != block) other = last;
    last = now;
  }
  return conflict;
}

} // namespace orias::interp
