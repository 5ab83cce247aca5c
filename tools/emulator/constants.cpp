#include "tools/emulator/constants.h"

#include "encoder/isa/target.h"
#include "encoder/isa/texture_table.h"
#include "support/check.h"
#include "tools/launch/texture_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace orias::emu {

namespace {

void put32(std::vector<std::byte>& bank, std::size_t offset, std::uint32_t value) {
  if (bank.size() < offset + 4) bank.resize(offset + 4);
  std::memcpy(bank.data() + offset, &value, 4);
}
void put64(std::vector<std::byte>& bank, std::size_t offset, std::uint64_t value) {
  put32(bank, offset, static_cast<std::uint32_t>(value));
  put32(bank, offset + 4, static_cast<std::uint32_t>(value >> 32));
}

/// Adding it to an address gives an invalid address.
constexpr std::uint64_t kMemoryDescriptor = 0x0010'0000'0000'0000;

/// Programs multiply by this reciprocal and truncate, so it must not be too small.
float notBelowReciprocal(std::uint32_t value) {
  const float nearest = 1.0f / static_cast<float>(value);
  return static_cast<double>(nearest) * value < 1 ? std::nextafter(nearest, 1.0f) : nearest;
}

} // namespace

std::uint32_t sharedBytes(const Program& program, const launch::Launch& launch) {
  // No rounding: the cubin must specify where the dynamic part begins.
  return program.target->sharedBase() + program.staticShared + launch.dynamicShared;
}

Constants::Constants(const Program& program, launch::Device& device, const launch::Clusters& clusters)
    : device_(device), program_(program) {
  placeVariables(program);
  std::vector<std::byte>& bank3 = banks_[3];
  for (const Variable& v : program.variables) {
    std::vector<std::byte> bytes = v.init;
    bytes.resize(v.size);
    apply(bytes, v.relocations);
    if (v.isConstant) {
      bank3.resize(std::max<std::size_t>(bank3.size(), v.offset + v.size));
      std::copy(bytes.begin(), bytes.end(), bank3.begin() + static_cast<std::ptrdiff_t>(v.offset));
    } else if (v.size != 0 && device.level == 0) { // the variables of the parent grid already exist
      const std::uint64_t address = device.variable(v.name)->address;
      std::copy(bytes.begin(), bytes.end(), device.global.at(address, v.size));
      device.global.initialise(address, v.size);
      for (const Relocation& r : v.relocations)
        device.global.noteAddress(address + r.offset, r.bytes);
    }
  }
  banks_[2] = program.constants2;
  apply(banks_[2], program.constants2Relocations);
  banks_[4].resize(8 * program.addressTable.size());
  apply(banks_[4], program.addressTable);
  fillSystemBank(program, clusters);
}

void Constants::placeVariables(const Program& program) {
  for (const Variable& v : program.variables)
    if (!v.isConstant && !device_.variable(v.name))
      device_.global.allocate(v.name, v.size, std::max<std::uint64_t>(v.alignment, 16));
}

std::uint64_t Constants::valueOf(const Relocation& relocation) const {
  const auto plus = [&](std::uint64_t address) { return address + static_cast<std::uint64_t>(relocation.addend); };
  if (relocation.isDescriptor && program_.kernels)
    if (const auto index = program_.kernels->indexOf(relocation.symbol))
      return plus(kKernelDescriptors + *index * kDriverFunctionBytes);
  for (const std::string_view size : {isa::kTextureEntry.sizeSymbol, isa::kIndependentTextureEntry.sizeSymbol,
                                      isa::kSamplerEntry.sizeSymbol, isa::kSurfaceEntry.sizeSymbol})
    if (relocation.symbol == size) return plus(launch::kTextureEntryBytes);
  for (const auto& [name, start] : program_.functions)
    if (name == relocation.symbol) return plus(start);
  if (const auto shared = program_.sharedVariables.find(relocation.symbol); shared != program_.sharedVariables.end())
    return plus(shared->second);
  if (const launch::Allocation* found = device_.variable(relocation.symbol)) return plus(found->address);
  for (const Variable& v : program_.variables)
    if (v.isConstant && v.name == relocation.symbol) return plus(kConstantWindow + v.offset);
  // In the initial value of a variable: as in code, but without the mark of older chips. A launch need not have objects
  // that no code uses.
  if (const auto kind = program_.handleKinds.find(relocation.symbol); kind != program_.handleKinds.end())
    return plus(std::uint64_t{kind->second} << 32 | device_.findHandle(relocation.symbol).value_or(0));
  // A function of the driver, or an unknown symbol: identified by its first entry in the table.
  for (std::size_t i = 0; i < program_.addressTable.size(); ++i)
    if (program_.addressTable[i].symbol == relocation.symbol) return plus(kDriverFunctions + i * kDriverFunctionBytes);
  return plus(kDriverFunctions + program_.addressTable.size() * kDriverFunctionBytes);
}

void Constants::apply(std::vector<std::byte>& bytes, const std::vector<Relocation>& relocations) const {
  for (const Relocation& r : relocations) {
    ORIAS_CHECK(r.offset + r.bytes <= bytes.size());
    const std::uint64_t value = valueOf(r) >> (r.isHigh ? 32 : 0);
    std::memcpy(bytes.data() + r.offset, &value, r.bytes);
  }
}

/// Bank 0: the driver's values for a kernel (offsets: isa::ConstantBank), then the parameters.
void Constants::fillSystemBank(const Program& program, const launch::Clusters& clusters) {
  const isa::Target& target = *program.target;
  const launch::Launch& launch = device_.launch;
  std::vector<std::byte>& bank = banks_[0];
  bank.resize(target.paramBase());
  const std::uint32_t block[3] = {launch.block.x, launch.block.y, launch.block.z};
  const std::uint32_t grid[3] = {launch.grid.x, launch.grid.y, launch.grid.z};
  for (unsigned axis = 0; axis < 3; ++axis) {
    put32(bank, target.ntidOffset(axis), block[axis]);
    put32(bank, target.nctaidOffset(axis), grid[axis]);
  }
  const isa::ConstantBank& at = target.bank0();
  const bool isAligned = target.has(isa::Capability::AlignedWindows);
  if (at.sharedWindow != 0) put64(bank, at.sharedWindow, isAligned ? kSharedWindow : kOlderSharedWindow);
  put64(bank, at.localWindow, isAligned ? kLocalWindow : kOlderLocalWindow);
  put64(bank, at.constWindow, kConstantWindow);
  put32(bank, at.stackPointer, kLocalTop);
  put32(bank, at.dynamicSharedSize, launch.dynamicShared);
  if (const auto descriptor = target.globalDescriptorOffset()) put64(bank, *descriptor, kMemoryDescriptor);
  // The window of parameters is empty, but addresses are compared with its bounds.
  put64(bank, at.paramWindow, kParameterWindow);
  if (target.has(isa::Capability::ParamWindowStart))
    put64(bank, at.paramEnd, kParameterWindow);
  else
    put32(bank, at.paramEnd, target.paramBase());
  if (target.has(isa::Capability::SystemSharedFirst)) put32(bank, at.systemSharedSize, target.sharedBase());
  if (target.has(isa::Capability::Clusters)) {
    const std::uint32_t shape[3] = {clusters.shape.x, clusters.shape.y, clusters.shape.z};
    const std::uint32_t count[3] = {clusters.count.x, clusters.count.y, clusters.count.z};
    put32(bank, at.smCount, kProcessors);
    put32(bank, at.largestShared, sharedBytes(program, launch));
    for (unsigned axis = 0; axis < 3; ++axis) {
      put32(bank, at.clusterShape + 4 * axis, shape[axis]);
      put32(bank, at.clusterReciprocal + 4 * axis, std::bit_cast<std::uint32_t>(notBelowReciprocal(shape[axis])));
      put32(bank, at.clusters + 4 * axis, count[axis]);
    }
    put32(bank, at.explicitCluster, clusters.isExplicit ? 1 : 0);
    put32(bank, at.clusterSize, clusters.blocks());
  }
  if (target.textureTableOffset() != 0) {
    put64(bank, target.textureTableOffset(), device_.textureTableAddress);
    put64(bank, target.samplerTableOffset(), device_.samplerTableAddress);
    put64(bank, target.surfaceTableOffset(), device_.surfaceTableAddress);
  }
  const std::vector<std::byte> parameters = device_.parameterBytes(program.parameters);
  bank.insert(bank.end(), parameters.begin(), parameters.end());
  for (const Program::TextureHandleSlot& word : program.handles) {
    // Linkers also create words for unused objects. An object that the launch does not have has no handle.
    const auto handle = static_cast<std::uint32_t>(word.argument ? device_.handleArgument(*word.argument)
                                                                 : device_.findHandle(word.name).value_or(0));
    // A sampler may share its word with a texture.
    const bool isUpper = word.isSampler && target.has(isa::Capability::JoinedSamplers);
    const std::size_t place = target.paramBase() + word.offset;
    std::uint32_t before = 0;
    if (bank.size() >= place + sizeof before) std::memcpy(&before, bank.data() + place, sizeof before);
    put32(bank, place, before | handle << (isUpper ? isa::Target::kSamplerShift : 0));
  }
}

std::optional<std::uint64_t> Constants::read(unsigned number, std::int64_t offset, unsigned bytes) const {
  const std::vector<std::byte>& bank = banks_[number];
  // The last word of a bank may be read as a whole.
  const std::size_t size = (bank.size() + 7) / 8 * 8;
  if (offset < 0 || static_cast<std::uint64_t>(offset) + bytes > size || offset % bytes != 0) return std::nullopt;
  std::uint64_t value = 0;
  const auto at = static_cast<std::size_t>(offset);
  if (at < bank.size()) std::memcpy(&value, bank.data() + at, std::min<std::size_t>(bytes, bank.size() - at));
  return value;
}

} // namespace orias::emu
