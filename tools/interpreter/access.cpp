#include "tools/interpreter/access.h"

#include <fmt/format.h>

#include <algorithm>

namespace orias::interp {

namespace {

std::string_view spaceText(Space space) {
  switch (space) {
  case Space::Shared: return "shared";
  case Space::Local: return "local";
  case Space::Param: return "parameter";
  default: return "global";
  }
}

[[noreturn]] void misaligned(Space space, std::uint64_t address, std::uint64_t size) {
  throw Stop{"memcheck", fmt::format("access of {} bytes to {} address {:#x}, which is not a multiple of it", size,
                                     spaceText(space), address)};
}

[[noreturn]] void outOfBounds(Thread& t, Space space, std::uint64_t address, std::uint64_t size, std::uint64_t end) {
  std::string near;
  if (space == Space::Global) {
    if (const launch::Allocation* below = t.machine->device.global.nearest(address))
      near = fmt::format("; the nearest below is '{}', {} bytes at {:#x}", below->name, below->size, below->address);
  } else {
    near = fmt::format("; there are {} bytes", end);
  }
  throw Stop{"memcheck", fmt::format("access of {} bytes to {} address {:#x}, which is out of bounds{}", size,
                                     spaceText(space), address, near)};
}

void uninitialised(Thread& t, Space space, std::uint64_t address, std::uint64_t size) {
  t.machine->report(
      t, "memcheck",
      fmt::format("reads {} bytes at {} address {:#x} that nobody wrote", size, spaceText(space), address));
}

/// The bytes of shared, local or parameter memory, checked.
std::byte* ownBytes(Thread& t, Space space, std::uint64_t address, std::uint64_t size) {
  std::vector<std::byte>& bytes = space == Space::Shared  ? t.cta->shared.bytes
                                  : space == Space::Local ? t.local.bytes
                                                          : t.machine->params;
  const std::uint64_t end = space == Space::Local ? t.localTop : bytes.size();
  if (address > end || size > end - address) outOfBounds(t, space, address, size, end);
  if (address % size != 0) misaligned(space, address, size);
  return bytes.data() + address;
}

OwnMemory* tracked(Thread& t, Space space) {
  if (!t.machine->options.memcheck) return nullptr;
  return space == Space::Shared ? &t.cta->shared : space == Space::Local ? &t.local : nullptr;
}

void check(Thread& t, launch::Fault fault, std::uint64_t address, std::uint64_t size) {
  switch (fault) {
  case launch::Fault::None: return;
  case launch::Fault::Misaligned: misaligned(Space::Global, address, size);
  case launch::Fault::OutOfBounds: outOfBounds(t, Space::Global, address, size, 0);
  case launch::Fault::Uninitialised: return uninitialised(t, Space::Global, address, size);
  }
}

/// Racecheck: looks at an access that went well. `data`: what is written, empty for a read.
void watch(Thread& t, Space space, std::uint64_t address, std::size_t size, std::span<const std::byte> data) {
  Races& races = *t.cta->races;
  const bool isWrite = !data.empty();
  const Races::Strength strength = t.machine->strengthOf(t);
  const auto report = [&](std::uint64_t at, const std::string& other, bool withWrite) {
    t.machine->report(t, "racecheck",
                      fmt::format("{} {} address {:#x}, which {} {} and nothing orders the two,",
                                  isWrite ? "writes" : "reads", spaceText(space), at, other,
                                  withWrite ? "wrote" : "read"));
  };
  const auto memory = space == Space::Shared ? Races::Memory::Shared : Races::Memory::Global;
  if (const auto other = races.note(t.index, memory, address, size, data, strength)) {
    const launch::Dim3 at = t.cta->threads[other->thread].tid;
    report(other->offset, fmt::format("thread ({},{},{})", at.x, at.y, at.z), other->withWrite);
  }
  if (space == Space::Global) {
    BlockRaces& blocks = *t.machine->blockRaces;
    if (strength.acquires) blocks.fence(t.cta->number);
    if (const auto other = blocks.note(t.cta->number, address, size, data, strength.isStrong))
      report(other->address, fmt::format("block {}", other->block), other->withWrite);
  }
  if (!strength.isStrong) return;
  const std::uint64_t place = space == Space::Shared ? kSharedWindow + address : address;
  if (isWrite)
    races.strongWrite(t.index, place, strength);
  else
    races.strongRead(t.index, place, strength);
}

} // namespace

Location locate(Space space, std::uint64_t address) {
  if (space != Space::Generic) return {space, address};
  if (address - kSharedWindow < kWindowBytes) return {Space::Shared, address - kSharedWindow};
  if (address - kLocalWindow < kWindowBytes) return {Space::Local, address - kLocalWindow};
  if (address - kParamWindow < kWindowBytes) return {Space::Param, address - kParamWindow};
  return {Space::Global, address};
}

void load(Thread& t, Space from, std::uint64_t generic, std::span<std::byte> out) {
  const auto [space, address] = locate(from, generic);
  if (space == Space::Global) {
    check(t, t.machine->device.global.read(address, out), address, out.size());
    if (t.cta->races) watch(t, space, address, out.size(), {});
    return;
  }
  std::memcpy(out.data(), ownBytes(t, space, address, out.size()), out.size());
  if (const OwnMemory* memory = tracked(t, space)) {
    const auto from = memory->written.begin() + static_cast<std::ptrdiff_t>(address);
    if (std::find(from, from + static_cast<std::ptrdiff_t>(out.size()), false) !=
        from + static_cast<std::ptrdiff_t>(out.size()))
      uninitialised(t, space, address, out.size());
  }
  if (t.cta->races && space == Space::Shared) watch(t, space, address, out.size(), {});
}

void store(Thread& t, Space to, std::uint64_t generic, std::span<const std::byte> in) {
  const auto [space, address] = locate(to, generic);
  if (space == Space::Global) {
    check(t, t.machine->device.global.write(address, in), address, in.size());
    if (t.cta->races) watch(t, space, address, in.size(), in);
    return;
  }
  if (space == Space::Param) throw Stop{"memcheck", "write to a kernel parameter"};
  std::memcpy(ownBytes(t, space, address, in.size()), in.data(), in.size());
  if (OwnMemory* memory = tracked(t, space)) {
    const auto from = memory->written.begin() + static_cast<std::ptrdiff_t>(address);
    std::fill(from, from + static_cast<std::ptrdiff_t>(in.size()), true);
  }
  if (t.cta->races && space == Space::Shared) watch(t, space, address, in.size(), in);
}

} // namespace orias::interp
