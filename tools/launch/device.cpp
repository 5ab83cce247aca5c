#include "support/check.h"
#include "tools/launch/launch.h"
#include "tools/launch/texture_table.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace orias::launch {

Device::Device(const Launch& launch, bool trackInitialised)
    : launch(launch), memory_(std::make_shared<Memory>(kGlobalBase, trackInitialised)), global(*memory_),
      buffers_(launch.buffers.size()) {
  for (const Buffer& buffer : launch.buffers) {
    const std::uint64_t size = buffer.elements * elementBytes(buffer.type);
    ORIAS_CHECK(buffer.initial.empty() || buffer.initial.size() == size,
                "the contents of a buffer have a different size");
    const std::uint64_t address = global.allocate(buffer.name, size);
    if (buffer.initial.empty()) continue;
    std::memcpy(global.at(address, size), buffer.initial.data(), size);
    global.initialise(address, size);
  }
  // After all of them have addresses.
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    const Allocation& allocation = global.allocations()[i];
    putPointers(launch.buffers[i].pointers, global.at(allocation.address, allocation.size));
    for (const Pointer& pointer : launch.buffers[i].pointers)
      global.initialise(allocation.address + pointer.at, kPointerBytes);
  }
  for (const Texture& texture : launch.textures)
    for (const Sampler& sampler : launch.samplers)
      sampled_.push_back(texture.with(sampler));
  if (!launch.textures.empty() || !launch.samplers.empty()) describeTextures();
}

Device::Device(const Launch& launch, Device& parent, std::string_view grid)
    : launch(launch), memory_(parent.memory_), global(*memory_), level(parent.level + 1),
      grid(fmt::format(" of {}", grid)), textureTableAddress(parent.textureTableAddress),
      samplerTableAddress(parent.samplerTableAddress), surfaceTableAddress(parent.surfaceTableAddress),
      buffers_(parent.buffers_), sampled_(parent.sampled_) {}

void Device::describeTextures() {
  const auto place = [&](const char* name, std::span<const std::byte> bytes) {
    const std::uint64_t address = global.allocate(name, bytes.size());
    std::memcpy(global.at(address, bytes.size()), bytes.data(), bytes.size());
    global.initialise(address, bytes.size());
    return address;
  };
  const bool areApart = !launch.samplers.empty();
  textureTableAddress = place("the driver's texture table",
                              areApart ? independentTextureTable(launch.textures) : textureTable(launch.textures));
  if (areApart) samplerTableAddress = place("the driver's sampler table", samplerTable(launch.samplers));
  surfaceTableAddress = place("the driver's surface table", surfaceTable(launch.textures));
}

const Allocation* Device::variable(std::string_view name) const {
  const auto& all = global.allocations();
  const auto found = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(buffers_), all.end(),
                                  [&](const Allocation& a) { return a.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::optional<Texels> Device::texels(std::uint32_t handle, std::uint32_t sampler) const {
  if (handle < textureHandle(0) || handle >= textureHandle(launch.textures.size())) return std::nullopt;
  if (sampler >= textureHandle(launch.samplers.size())) return std::nullopt;
  const std::size_t number = handle - textureHandle(0);
  const Texture& texture =
      sampler == 0 ? launch.textures[number] : sampled_[number * launch.samplers.size() + (sampler - textureHandle(0))];
  const Allocation& data = global.allocations()[static_cast<std::size_t>(texture.buffer)];
  return Texels(texture, global, data.address + texture.offset);
}

const Sampler* Device::sampler(std::uint32_t handle) const {
  if (handle < textureHandle(0) || handle >= textureHandle(launch.samplers.size())) return nullptr;
  return &launch.samplers[handle - textureHandle(0)];
}

std::uint64_t Device::handleArgument(std::size_t number) const {
  std::uint64_t handle = 0;
  if (number >= launch.arguments.size() || launch.arguments[number].bytes.size() != sizeof handle)
    throw Error(fmt::format("argument {} of kernel '{}' is the handle of a texture, sampler or surface", number,
                            launch.kernel));
  std::memcpy(&handle, launch.arguments[number].bytes.data(), sizeof handle);
  return handle;
}

std::optional<std::uint64_t> Device::findHandle(std::string_view variable) const {
  for (std::size_t i = 0; i < launch.samplers.size(); ++i)
    if (launch.samplers[i].name == variable) return textureHandle(i);
  for (std::size_t i = 0; i < launch.textures.size(); ++i)
    if (launch.textures[i].name == variable) return textureHandle(i);
  return std::nullopt;
}

std::uint64_t Device::handleOf(std::string_view variable) const {
  if (const auto handle = findHandle(variable)) return *handle;
  throw Error(fmt::format("the launch does not define texture, sampler or surface '{}' of the module", variable));
}

std::vector<std::uint64_t> Device::replicas(std::uint64_t address) const {
  std::vector<std::uint64_t> places;
  for (std::size_t i = 0; i < launch.multicasts.size(); ++i) {
    const std::uint64_t offset = address - multicastAddress(i);
    for (const int buffer : launch.multicasts[i].buffers) {
      const Allocation& data = global.allocations()[static_cast<std::size_t>(buffer)];
      if (offset < data.size) places.push_back(data.address + offset);
    }
  }
  return places;
}

std::uint64_t Device::address(const Pointer& pointer) const {
  const Allocation& target = global.allocations()[static_cast<std::size_t>(pointer.buffer)];
  return target.address + static_cast<std::uint64_t>(pointer.offset);
}

void Device::putPointers(std::span<const Pointer> pointers, std::byte* bytes) const {
  for (const Pointer& pointer : pointers) {
    const std::uint64_t value = address(pointer);
    std::memcpy(bytes + pointer.at, &value, kPointerBytes);
  }
}

std::vector<std::byte> Device::parameterBytes(std::span<const ParameterPlace> places) const {
  const auto& arguments = launch.arguments;
  if (arguments.size() != places.size())
    throw Error(fmt::format("kernel '{}' takes {} arguments; the launch gives {}", launch.kernel, places.size(),
                            arguments.size()));
  std::size_t size = 0;
  for (const ParameterPlace& place : places)
    size = std::max<std::size_t>(size, std::size_t{place.offset} + place.size);
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Argument& argument = arguments[i];
    const ParameterPlace& place = places[i];
    if (place.isHandle) {
      handleArgument(i);
      continue;
    }
    const std::size_t given = argument.buffer >= 0 ? kPointerBytes : argument.bytes.size();
    if (given != place.size)
      throw Error(fmt::format("argument {} of kernel '{}' has {} bytes; the launch gives {}", i, launch.kernel,
                              place.size, given));
    std::byte* at = bytes.data() + place.offset;
    if (argument.buffer >= 0) {
      const Pointer pointer{0, argument.buffer, argument.offset};
      putPointers({&pointer, 1}, at);
      continue;
    }
    std::copy(argument.bytes.begin(), argument.bytes.end(), at);
    putPointers(argument.pointers, at);
  }
  return bytes;
}

std::span<const std::byte> Device::bufferBytes(std::size_t buffer) const {
  const Allocation& allocation = global.allocations()[buffer];
  return {global.at(allocation.address, allocation.size), static_cast<std::size_t>(allocation.size)};
}

} // namespace orias::launch
