#include "tools/launch/write.h"

#include "support/check.h"
#include "tools/launch/element.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orias::launch {

namespace {

using Json = nlohmann::ordered_json;

/// Elements as numbers, or as bits where a number would be ambiguous.
Json elements(ElementType type, std::span<const std::byte> bytes) {
  const unsigned width = elementBytes(type);
  Json list = Json::array();
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < width; ++i)
      bits |= std::to_integer<std::uint64_t>(bytes[at + i]) << 8 * i;
    list.push_back(fmt::format("{:#x}", bits));
  }
  return list;
}

/// A list, or one value when all elements are the same.
Json content(const Buffer& buffer) {
  const unsigned width = elementBytes(buffer.type);
  const std::vector<std::byte>& bytes = buffer.initial;
  const bool allSame =
      bytes.size() > width && std::equal(bytes.begin() + width, bytes.end(), bytes.begin(), bytes.end() - width);
  if (!allSame) return elements(buffer.type, bytes);
  return {{"generator", "constant"}, {"value", elements(buffer.type, std::span(bytes).first(width)).front()}};
}

Json dimensions(const Dim3& size) {
  return Json::array({size.x, size.y, size.z});
}

Json describe(const Tolerance& tolerance) {
  return {{"absolute", tolerance.absolute}, {"relative", tolerance.relative}};
}

Json describe(const Buffer& buffer) {
  if (!buffer.pointers.empty()) throw Error("a buffer with pointers in it cannot be written to a launch file");
  Json json = {{"name", buffer.name}, {"type", elementName(buffer.type)}, {"count", buffer.elements}};
  if (!buffer.initial.empty()) json["init"] = content(buffer);
  const Tolerance tolerance = buffer.expected ? buffer.expected->tolerance : buffer.tolerance;
  if (buffer.expected) json["expected"] = elements(buffer.type, buffer.expected->bytes);
  if (tolerance.absolute != 0 || tolerance.relative != 0) json["tolerance"] = describe(tolerance);
  if (buffer.print != 0) json["print"] = buffer.print;
  return json;
}

std::string hexDigits(std::span<const std::byte> bytes) {
  std::string digits;
  for (std::byte byte : bytes)
    digits += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return digits;
}

Json addressOf(int buffer, std::int64_t offset, const Launch& launch) {
  Json json = {{"buffer", launch.buffers[static_cast<std::size_t>(buffer)].name}};
  if (offset != 0) json["offset"] = offset;
  return json;
}

/// The pointers of an argument, and the bytes between them.
Json fieldsOf(const Argument& argument, const Launch& launch) {
  const std::span<const std::byte> bytes = argument.bytes;
  std::vector<Pointer> pointers = argument.pointers;
  std::ranges::sort(pointers, {}, &Pointer::at);
  Json fields = Json::array();
  std::size_t done = 0;
  const auto addBytes = [&](std::size_t end) {
    if (end > done) fields.push_back({{"bytes", hexDigits(bytes.subspan(done, end - done))}});
    done = end;
  };
  for (const Pointer& pointer : pointers) {
    if (pointer.at % kPointerBytes != 0 || pointer.at < done) throw Error("the pointers of an argument overlap");
    addBytes(pointer.at);
    fields.push_back(addressOf(pointer.buffer, pointer.offset, launch));
    done += kPointerBytes;
  }
  addBytes(bytes.size());
  return fields;
}

Json describe(const Argument& argument, const Launch& launch) {
  Json json;
  if (!argument.name.empty()) json["name"] = argument.name;
  if (argument.buffer >= 0)
    json.update(addressOf(argument.buffer, argument.offset, launch));
  else if (argument.pointers.empty())
    json["bytes"] = hexDigits(argument.bytes);
  else
    json.update({{"fields", fieldsOf(argument, launch)}, {"size", argument.bytes.size()}});
  return json;
}

} // namespace

std::string writeLaunch(const Launch& launch) {
  if (!launch.samplers.empty()) throw Error("samplers cannot be written to a launch file");
  if (!launch.textures.empty()) throw Error("textures cannot be written to a launch file");
  if (!launch.multicasts.empty()) throw Error("multicast objects cannot be written to a launch file");
  Json json;
  if (!launch.name.empty()) json["name"] = launch.name;
  if (!launch.file.empty()) json["file"] = launch.file;
  json["kernel"] = launch.kernel;
  json["grid"] = dimensions(launch.grid);
  json["block"] = dimensions(launch.block);
  if (launch.cluster) json["cluster"] = dimensions(*launch.cluster);
  if (launch.dynamicShared != 0) json["dynamicShared"] = launch.dynamicShared;
  json["buffers"] = Json::array();
  for (const Buffer& buffer : launch.buffers)
    json["buffers"].push_back(describe(buffer));
  json["arguments"] = Json::array();
  for (const Argument& argument : launch.arguments)
    json["arguments"].push_back(describe(argument, launch));
  // One key per line, so that files can be compared; lists of elements are on one line.
  std::string text = "{\n";
  for (auto item = json.begin(); item != json.end(); ++item) {
    text += fmt::format("  \"{}\": ", item.key());
    const bool isList = item->is_array() && !item->empty() && item->front().is_object();
    if (isList) text += "[\n";
    for (std::size_t i = 0; isList && i < item->size(); ++i)
      text += fmt::format("    {}{}\n", (*item)[i].dump(), i + 1 < item->size() ? "," : "");
    text += isList ? "  ]" : item->dump();
    text += std::next(item) == json.end() ? "\n" : ",\n";
  }
  return text + "}\n";
}

} // namespace orias::launch
