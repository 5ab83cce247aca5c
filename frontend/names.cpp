#include "frontend/names.h"

#include "support/check.h"

#include <cstring>

namespace orias::ptx {

namespace {
constexpr std::size_t kFirstSlots = 256;
} // namespace

NameTable::NameTable() : slots_(kFirstSlots) {}

std::uint32_t NameTable::hash(std::string_view text) {
  // Names are short: eight bytes at a time are multiplied and folded.
  std::uint64_t h = text.size() * 0x9e3779b97f4a7c15ull;
  const char* p = text.data();
  std::size_t left = text.size();
  while (left >= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    h = (h ^ word) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
    p += 8;
    left -= 8;
  }
  std::uint64_t word = 0;
  if (left != 0) std::memcpy(&word, p, left);
  h = (h ^ word) * 0xff51afd7ed558ccdull;
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}

NameId NameTable::intern(std::string_view text) {
  const std::uint32_t h = hash(text);
  std::size_t mask = slots_.size() - 1;
  std::size_t at = h & mask;
  for (; slots_[at].id != kNoId; at = (at + 1) & mask) {
    if (slots_[at].hash == h && texts_[slots_[at].id] == text) return NameId(slots_[at].id);
  }
  ORIAS_CHECK(texts_.size() < kNoId);
  if ((texts_.size() + 1) * 2 > slots_.size()) {
    grow();
    mask = slots_.size() - 1;
    for (at = h & mask; slots_[at].id != kNoId;)
      at = (at + 1) & mask;
  }
  const auto id = static_cast<std::uint32_t>(texts_.size());
  slots_[at] = {id, h};
  texts_.push_back(arena_.copyString(text));
  return NameId(id);
}

NameId NameTable::find(std::string_view text) const {
  const std::uint32_t h = hash(text);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = h & mask; slots_[at].id != kNoId; at = (at + 1) & mask) {
    if (slots_[at].hash == h && texts_[slots_[at].id] == text) return NameId(slots_[at].id);
  }
  return NameId::None;
}

void NameTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNoId) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].id != kNoId)
      at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

} // namespace orias::ptx
