#include "encoder/cubin/notes.h"

#include <array>
#include <string_view>

#include "encoder/cubin/byte_io.h"

namespace orias::cubin {
namespace {

constexpr std::string_view kOwner = "NVIDIA Corp"; // the loader requires this owner
constexpr std::uint32_t kToolkitNoteType = 2000;
constexpr std::uint32_t kCudaNoteType = 1000;
constexpr std::uint16_t kNoteVersion = 2;

/// An ELF note: sizes, type, owner, description.
Bytes note(std::uint32_t type, const Bytes& description) {
  Bytes bytes;
  append(bytes, static_cast<std::uint32_t>(kOwner.size() + 1));
  append(bytes, static_cast<std::uint32_t>(description.size()));
  append(bytes, type);
  for (char c : kOwner)
    append(bytes, static_cast<std::uint8_t>(c));
  append(bytes, std::uint8_t{0});
  bytes.insert(bytes.end(), description.begin(), description.end());
  return bytes;
}

constexpr std::size_t kNoteHead = 24;    // before the description: 12 bytes of numbers, 12 of the owner
constexpr std::size_t kToolkitHead = 24; // the version and the offsets of the five strings

} // namespace

Bytes toolkitNote(const Producer& producer) {
  const std::array strings{std::string_view(producer.object), std::string_view(producer.tool),
                           std::string_view(producer.version), std::string_view(producer.branch),
                           std::string_view(producer.arguments)};
  Bytes description;
  append(description, std::uint32_t{kNoteVersion});
  std::uint32_t offset = 0;
  for (std::string_view text : strings) {
    append(description, offset);
    offset += static_cast<std::uint32_t>(text.size()) + 1;
  }
  for (std::string_view text : strings) {
    for (char c : text)
      append(description, static_cast<std::uint8_t>(c));
    append(description, std::uint8_t{0});
  }
  while (description.size() % 4 != 0)
    append(description, std::uint8_t{0});
  return note(kToolkitNoteType, description);
}

Producer readToolkitNote(std::span<const std::byte> note) {
  Producer producer{{}, {}, {}, {}, {}};
  if (note.size() < kNoteHead + kToolkitHead) return producer;
  const std::array fields{&producer.object, &producer.tool, &producer.version, &producer.branch, &producer.arguments};
  const auto strings = note.subspan(kNoteHead + kToolkitHead);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto start = load<std::uint32_t>(note, kNoteHead + 4 + 4 * i);
    for (std::size_t at = start; at < strings.size() && strings[at] != std::byte{0}; ++at)
      fields[i]->push_back(static_cast<char>(strings[at]));
  }
  return producer;
}

Bytes cudaNote(const Abi& abi, std::uint16_t virtualArch) {
  Bytes description;
  append(description, kNoteVersion);
  append(description, virtualArch);
  append(description, std::uint32_t{abi.toolkitVersion});
  return note(kCudaNoteType, description);
}

Bytes relocationActions() {
  constexpr std::array<std::uint8_t, 16> kActions{0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 0x05, 0x36};
  Bytes bytes;
  for (std::uint8_t byte : kActions)
    append(bytes, byte);
  return bytes;
}

} // namespace orias::cubin
