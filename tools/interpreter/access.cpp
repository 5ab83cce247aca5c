#include "tools/interpreter/access.h"

#include <fmt/format.h>

#include <algorithm>

namespace orias::interp {

namespace {

std::string_view spaceText(Space space) {
  switch (space) {
  case Space::Shared:
  case Space::Cluster: return "shared";
  case Space::Local: return "local";
  case Space::Param: return "parameter";
  default: return "global";
  }
}

[[noreturn]] void misaligned(Space space, std::uint64_t address, std::uint64_t size) {
  throw Stop{"memcheck",
             fmt::format("misaligned access of {} bytes to {} address {:#x}", size, spaceText(space), address)};
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
  t.machine->report(t, "memcheck",
                    fmt::format("reads {} uninitialized bytes at {} address {:#x}", size, spaceText(space), address));
}

/// The block whose shared memory contains an address. Removes the rank from the address.
Cta& ownerOf(Thread& t, Space space, std::uint64_t& address) {
  std::vector<Cta>& ctas = t.cta->cluster->ctas;
  const std::uint64_t rank = address >> kRankBit;
  const auto stop = [&](std::string why) {
    throw Stop{"memcheck", fmt::format("access to shared address {:#x}, which {}", address, why)};
  };
  if (rank != t.cta->rank) {
    if (rank >= ctas.size()) stop(fmt::format("is out of bounds; the cluster has {} blocks", ctas.size()));
    if (space == Space::Shared) stop("is in the shared memory of another block");
    if (ctas[rank].live == 0) stop("is in the shared memory of a block that has exited");
  }
  address = inRank(0, address);
  return ctas[rank];
}

/// The bytes of shared, local or parameter memory, after checks.
std::byte* ownBytes(Thread& t, OwnMemory& memory, Space space, std::uint64_t address, std::uint64_t size) {
  std::vector<std::byte>& bytes = space == Space::Param ? t.machine->params : memory.bytes;
  const std::uint64_t end = space == Space::Local ? t.localTop : bytes.size();
  if (address > end || size > end - address) outOfBounds(t, space, address, size, end);
  if (address % size != 0) misaligned(space, address, size);
  return bytes.data() + address;
}

void check(Thread& t, launch::Fault fault, std::uint64_t address, std::uint64_t size) {
  switch (fault) {
  case launch::Fault::None: return;
  case launch::Fault::Misaligned: misaligned(Space::Global, address, size);
  case launch::Fault::OutOfBounds: outOfBounds(t, Space::Global, address, size, 0);
  case launch::Fault::Uninitialised: return uninitialised(t, Space::Global, address, size);
  }
}

/// "thread (1,0,0) of block (2,0,0)": another one of the cluster.
std::string nameOf(const Thread& t, std::uint32_t number) {
  const Cluster& cluster = *t.cta->cluster;
  const auto each = static_cast<std::uint32_t>(cluster.ctas[0].warps.size()) * 32;
  const Cta& cta = cluster.ctas[number / each];
  const launch::Dim3 at = cta.threads[number % each].tid;
  std::string name = fmt::format("thread ({},{},{})", at.x, at.y, at.z);
  if (&cta != t.cta) name += fmt::format(" of block ({},{},{})", cta.id.x, cta.id.y, cta.id.z);
  return name;
}

/// Racecheck: records a successful access. `data`: the written bytes, empty for a read.
void watch(Thread& t, Space space, std::uint64_t address, std::size_t size, std::span<const std::byte> data) {
  Races& races = *t.cta->cluster->races;
  const bool isWrite = !data.empty(), isShared = space != Space::Global;
  const Races::Strength strength = t.machine->strengthOf(t);
  const auto report = [&](std::uint64_t at, const std::string& other, bool withWrite) {
    t.machine->report(t, "racecheck",
                      fmt::format("{} {} address {:#x}, which {} {} without synchronization between them,",
                                  isWrite ? "writes" : "reads", spaceText(space), at, other,
                                  withWrite ? "wrote" : "read"));
  };
  if (isShared && address >> kRankBit != t.cta->rank &&
      !races.noteRemote(t.number, static_cast<std::uint32_t>(address >> kRankBit)))
    t.machine->report(t, "racecheck",
                      fmt::format("{} shared address {:#x} of another block, which may not have started,",
                                  isWrite ? "writes" : "reads", address));
  const auto memory = isShared ? Races::Memory::Shared : Races::Memory::Global;
  if (const auto other = races.note(t.number, memory, address, size, data, strength))
    report(other->offset, nameOf(t, other->thread), other->withWrite);
  if (!isShared) {
    BlockRaces& blocks = *t.machine->blockRaces;
    const std::uint64_t cluster = t.cta->cluster->number;
    if (strength.acquires) blocks.fence(cluster);
    if (const auto other = blocks.note(cluster, address, size, data, strength.isStrong))
      report(other->address,
             fmt::format("{} {}", t.machine->clusters.blocks() == 1 ? "block" : "cluster", other->block),
             other->withWrite);
  }
  if (!strength.isStrong) return;
  const std::uint64_t place = isShared ? kSharedWindow + address : address;
  if (isWrite)
    races.strongWrite(t.number, place, strength);
  else
    races.strongRead(t.number, place, strength);
}

/// The memory of a block or a thread that contains an address; the address becomes relative to it.
OwnMemory& memoryOf(Thread& t, Space space, std::uint64_t& address) {
  return space == Space::Shared || space == Space::Cluster ? ownerOf(t, space, address).shared : t.local;
}

} // namespace

Location locate(Space space, std::uint64_t address) {
  if (space != Space::Generic) return {space, address};
  if (address - kSharedWindow < kWindowBytes) return {Space::Cluster, address - kSharedWindow};
  if (address - kLocalWindow < kWindowBytes) return {Space::Local, address - kLocalWindow};
  if (address - kParamWindow < kWindowBytes) return {Space::Param, address - kParamWindow};
  return {Space::Global, address};
}

void load(Thread& t, Space from, std::uint64_t generic, std::span<std::byte> out) {
  const auto [space, address] = locate(from, generic);
  if (space == Space::Global) {
    check(t, t.machine->device.global.read(address, out), address, out.size());
    if (t.cta->cluster->races) watch(t, space, address, out.size(), {});
    return;
  }
  std::uint64_t at = address;
  OwnMemory& memory = memoryOf(t, space, at);
  std::memcpy(out.data(), ownBytes(t, memory, space, at, out.size()), out.size());
  if (t.machine->options.memcheck && space != Space::Param) {
    const auto from = memory.written.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = from + static_cast<std::ptrdiff_t>(out.size());
    if (std::find(from, to, false) != to) uninitialised(t, space, address, out.size());
  }
  if (t.cta->cluster->races && space != Space::Local && space != Space::Param) watch(t, space, address, out.size(), {});
}

void store(Thread& t, Space to, std::uint64_t generic, std::span<const std::byte> in) {
  const auto [space, address] = locate(to, generic);
  if (space == Space::Global) {
    check(t, t.machine->device.global.write(address, in), address, in.size());
    if (t.cta->cluster->races) watch(t, space, address, in.size(), in);
    return;
  }
  if (space == Space::Param) throw Stop{"memcheck", "write to a kernel parameter"};
  std::uint64_t at = address;
  OwnMemory& memory = memoryOf(t, space, at);
  std::memcpy(ownBytes(t, memory, space, at, in.size()), in.data(), in.size());
  if (t.machine->options.memcheck) {
    const auto from = memory.written.begin() + static_cast<std::ptrdiff_t>(at);
    std::fill(from, from + static_cast<std::ptrdiff_t>(in.size()), true);
  }
  if (t.cta->cluster->races && space != Space::Local) watch(t, space, address, in.size(), in);
}

} // namespace orias::interp
