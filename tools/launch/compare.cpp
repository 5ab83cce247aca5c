#include "tools/launch/element.h"
#include "tools/launch/launch.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::launch {

namespace {

/// Collects the differences between two ranges of the same memory.
void compareElements(std::string_view name, ElementType type, std::span<const std::byte> got,
                     std::span<const std::byte> wanted, const Tolerance& tolerance, std::vector<Mismatch>& into) {
  const std::size_t width = elementBytes(type);
  const std::size_t count = std::min(got.size(), wanted.size()) / width;
  Mismatch mismatch{std::string(name), 0, 0, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* a = got.data() + i * width;
    const std::byte* b = wanted.data() + i * width;
    if (elementsAgree(type, a, b, tolerance)) continue;
    if (mismatch.count++ == 0) {
      mismatch.index = i;
      mismatch.got = elementText(type, a);
      mismatch.wanted = elementText(type, b);
    }
  }
  if (mismatch.count) into.push_back(std::move(mismatch));
}

std::span<const std::byte> bytesOf(const Device& device, const Allocation& allocation) {
  return {device.global.at(allocation.address, allocation.size), static_cast<std::size_t>(allocation.size)};
}

/// Returns whether these bytes are an address that is unchanged since the engine of the device wrote it, or no known
/// address. Where one engine has an address, another may have a number, an offset in a constant bank.
bool isUnchanged(const Allocation& allocation, std::span<const std::byte> bytes, std::uint64_t offset) {
  const auto at = std::ranges::find(allocation.addresses, offset, &Allocation::Address::offset);
  return at == allocation.addresses.end() || std::ranges::equal(bytes.subspan(offset, at->bytes.size()), at->bytes);
}

/// The bytes of a module variable. Addresses that neither engine has changed are replaced by those of `other`.
std::vector<std::byte> withAddressesOf(const Allocation& allocation, std::span<const std::byte> bytes,
                                       const Allocation& other, std::span<const std::byte> otherBytes) {
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  for (const std::vector<Allocation::Address>* addresses : {&allocation.addresses, &other.addresses})
    for (const auto& [offset, initial] : *addresses)
      if (offset + initial.size() <= std::min(out.size(), otherBytes.size()) &&
          isUnchanged(allocation, bytes, offset) && isUnchanged(other, otherBytes, offset))
        std::ranges::copy(otherBytes.subspan(offset, initial.size()),
                          out.begin() + static_cast<std::ptrdiff_t>(offset));
  return out;
}

} // namespace

bool endedAsExpected(const Launch& launch, const RunResult& result) {
  if (launch.stops.empty()) return result.completed;
  return !result.completed && !result.reports.empty() && result.reports[0].kind == launch.stops;
}

std::vector<Mismatch> checkExpected(const Device& device) {
  std::vector<Mismatch> found;
  for (std::size_t i = 0; i < device.launch.buffers.size(); ++i) {
    const Buffer& buffer = device.launch.buffers[i];
    if (!buffer.expected) continue;
    compareElements(buffer.name, buffer.type, device.bufferBytes(i), buffer.expected->bytes, buffer.expected->tolerance,
                    found);
  }
  for (const VariableExpectation& wanted : device.launch.variables) {
    const Allocation* variable = device.variable(wanted.name);
    if (!variable || variable->size < wanted.expected.bytes.size())
      found.push_back({wanted.name, 0, 1, variable ? fmt::format("{} bytes", variable->size) : "not there",
                       fmt::format("{} bytes", wanted.expected.bytes.size())});
    else
      compareElements(wanted.name, wanted.type, bytesOf(device, *variable), wanted.expected.bytes,
                      wanted.expected.tolerance, found);
  }
  return found;
}

std::vector<Mismatch> compare(const Device& got, const Device& wanted) {
  std::vector<Mismatch> found;
  const auto& buffers = got.launch.buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    compareElements(buffers[i].name, buffers[i].type, got.bufferBytes(i), wanted.bufferBytes(i), buffers[i].tolerance,
                    found);
  // The module variables follow the buffers. An engine may have them in another order, or not have them.
  for (std::size_t i = buffers.size(); i < got.global.allocations().size(); ++i) {
    const Allocation& allocation = got.global.allocations()[i];
    const Allocation* other = wanted.variable(allocation.name);
    if (!other) continue;
    const std::span<const std::byte> wantedBytes = bytesOf(wanted, *other);
    compareElements(allocation.name, ElementType::U8,
                    withAddressesOf(allocation, bytesOf(got, allocation), *other, wantedBytes), wantedBytes, {}, found);
  }
  return found;
}

std::string elementsText(ElementType type, std::span<const std::byte> bytes, std::uint64_t count) {
  const std::size_t width = elementBytes(type);
  count = std::min<std::uint64_t>(count, bytes.size() / width);
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i) text += ' ';
    text += elementText(type, bytes.data() + i * width);
  }
  return text;
}

} // namespace orias::launch
