#include "tools/gpu/suite/case.h"

#include "support/check.h"
#include "tools/launch/element.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <zlib.h>

// A file of cases is CBOR (RFC 8949), compressed by zlib: a list of unique byte strings, and the cases, which refer to
// them by index. Many cases start from the same contents.

namespace orias::gpu {

namespace {

using Json = nlohmann::json;
using Bytes = std::vector<std::byte>;

/// The byte strings of a file being written.
class ByteStrings {
 public:
  std::size_t add(const Bytes& bytes) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
    const auto [found, isNew] = numbers_.emplace(std::string(begin, begin + bytes.size()), list_.size());
    if (isNew) {
      list_.push_back(Json::binary(std::vector<std::uint8_t>(begin, begin + bytes.size())));
    }
    return found->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::map<std::string, std::size_t> numbers_;
  Json list_ = Json::array();
};

/// The byte strings of a file being read; an invalid index throws Json's exception.
class Strings {
 public:
  explicit Strings(const Json& list) : list_(list) {}
  Bytes operator[](const Json& number) const {
    const auto& binary = list_.at(number.get<std::size_t>()).get_binary();
    const auto* begin = reinterpret_cast<const std::byte*>(binary.data());
    return {begin, begin + binary.size()};
  }

 private:
  const Json& list_;
};

Json toJson(const launch::Dim3& size) {
  return Json::array({size.x, size.y, size.z});
}

launch::Dim3 sizeOf(const Json& json) {
  return {json[0], json[1], json[2]};
}

Json toJson(const launch::Tolerance& tolerance) {
  return Json::array({tolerance.absolute, tolerance.relative});
}

launch::Tolerance toleranceOf(const Json& json) {
  return {json[0], json[1]};
}

Json toJson(const std::vector<launch::Pointer>& pointers) {
  Json list = Json::array();
  for (const launch::Pointer& p : pointers)
    list.push_back({p.at, p.buffer, p.offset});
  return list;
}

std::vector<launch::Pointer> pointersOf(const Json& json) {
  std::vector<launch::Pointer> pointers;
  for (const Json& p : json)
    pointers.push_back({p[0], p[1], p[2]});
  return pointers;
}

Json toJson(const launch::Expectation& expected, ByteStrings& strings) {
  return {{"bytes", strings.add(expected.bytes)}, {"tolerance", toJson(expected.tolerance)}};
}

launch::Expectation expectationOf(const Json& json, const Strings& strings) {
  return {strings[json.at("bytes")], toleranceOf(json.at("tolerance"))};
}

launch::ElementType typeOf(const Json& json) {
  const auto type = launch::findElementType(json.get<std::string>());
  if (!type) throw Error("unknown element type");
  return *type;
}

Json toJson(const launch::Buffer& buffer, ByteStrings& strings) {
  Json json = {{"name", buffer.name},
               {"type", launch::elementName(buffer.type)},
               {"elements", buffer.elements},
               {"initial", strings.add(buffer.initial)},
               {"pointers", toJson(buffer.pointers)},
               {"tolerance", toJson(buffer.tolerance)}};
  if (buffer.expected) json["expected"] = toJson(*buffer.expected, strings);
  return json;
}

launch::Buffer bufferOf(const Json& json, const Strings& strings) {
  launch::Buffer buffer;
  buffer.name = json.at("name");
  buffer.type = typeOf(json.at("type"));
  buffer.elements = json.at("elements");
  buffer.initial = strings[json.at("initial")];
  buffer.pointers = pointersOf(json.at("pointers"));
  buffer.tolerance = toleranceOf(json.at("tolerance"));
  if (json.contains("expected")) buffer.expected = expectationOf(json["expected"], strings);
  return buffer;
}

Json toJson(const launch::Launch& launch, ByteStrings& strings) {
  if (!launch.textures.empty() || !launch.samplers.empty() || !launch.multicasts.empty())
    throw Error("textures, samplers and multicast objects cannot be written to a file of cases");
  Json json = {{"name", launch.name},
               {"kernel", launch.kernel},
               {"grid", toJson(launch.grid)},
               {"block", toJson(launch.block)},
               {"dynamicShared", launch.dynamicShared},
               {"stops", launch.stops},
               {"buffers", Json::array()},
               {"arguments", Json::array()},
               {"variables", Json::array()}};
  if (launch.cluster) json["cluster"] = toJson(*launch.cluster);
  for (const launch::Buffer& buffer : launch.buffers)
    json["buffers"].push_back(toJson(buffer, strings));
  for (const launch::Argument& argument : launch.arguments)
    json["arguments"].push_back({{"buffer", argument.buffer},
                                 {"offset", argument.offset},
                                 {"bytes", strings.add(argument.bytes)},
                                 {"pointers", toJson(argument.pointers)}});
  for (const launch::VariableExpectation& variable : launch.variables)
    json["variables"].push_back({{"name", variable.name},
                                 {"type", launch::elementName(variable.type)},
                                 {"expected", toJson(variable.expected, strings)}});
  return json;
}

launch::Launch launchOf(const Json& json, const Strings& strings) {
  launch::Launch launch;
  launch.name = json.at("name");
  launch.kernel = json.at("kernel");
  launch.grid = sizeOf(json.at("grid"));
  launch.block = sizeOf(json.at("block"));
  launch.dynamicShared = json.at("dynamicShared");
  launch.stops = json.at("stops");
  if (json.contains("cluster")) launch.cluster = sizeOf(json["cluster"]);
  for (const Json& buffer : json.at("buffers"))
    launch.buffers.push_back(bufferOf(buffer, strings));
  for (const Json& a : json.at("arguments"))
    launch.arguments.push_back(
        {a.at("buffer"), a.at("offset"), strings[a.at("bytes")], pointersOf(a.at("pointers")), ""});
  for (const Json& v : json.at("variables"))
    launch.variables.push_back({v.at("name"), typeOf(v.at("type")), expectationOf(v.at("expected"), strings)});
  return launch;
}

Json toJson(const Case& c, ByteStrings& strings) {
  Json json = {{"group", c.group},           {"name", c.name},
               {"family", c.family},         {"text", c.text},
               {"cycles", c.cycles},         {"repetitions", c.repetitions},
               {"gridCopies", c.gridCopies}, {"launch", toJson(c.launch, strings)}};
  for (const Candidate& candidate : c.candidates)
    json["candidates"].push_back({{"name", candidate.name}, {"cubin", strings.add(candidate.cubin)}});
  for (const Bytes& bytes : c.memory)
    json["memory"].push_back(strings.add(bytes));
  if (c.probe)
    json["probe"] = {c.probe->what, static_cast<unsigned>(c.probe->kind), c.probe->stall, c.probe->table,
                     c.probe->steps};
  return json;
}

Case caseOf(const Json& json, const Strings& strings) {
  Case c;
  c.group = json.at("group");
  c.name = json.at("name");
  c.family = json.at("family");
  c.text = json.at("text");
  c.cycles = json.at("cycles");
  c.repetitions = json.at("repetitions");
  c.gridCopies = json.at("gridCopies");
  c.launch = launchOf(json.at("launch"), strings);
  for (const Json& candidate : json.at("candidates"))
    c.candidates.push_back({candidate.at("name"), strings[candidate.at("cubin")]});
  if (json.contains("memory"))
    for (const Json& bytes : json["memory"])
      c.memory.push_back(strings[bytes]);
  if (json.contains("probe")) {
    const Json& p = json["probe"];
    c.probe = Probe{p[0], static_cast<Probe::Kind>(p[1].get<unsigned>()), p[2], p[3], p[4]};
  }
  return c;
}

} // namespace

std::optional<launch::Device> referenceOf(const Case& c) {
  if (c.memory.empty()) return std::nullopt;
  std::optional<launch::Device> device(std::in_place, c.launch);
  for (std::size_t i = 0; i < c.memory.size() && i < c.launch.buffers.size(); ++i) {
    const launch::Allocation& to = device->global.allocations()[i];
    std::copy_n(c.memory[i].begin(), std::min<std::size_t>(to.size, c.memory[i].size()),
                device->global.at(to.address, to.size));
  }
  return device;
}

const char* kindName(Probe::Kind kind) {
  switch (kind) {
  case Probe::Kind::Stall: return "stall";
  case Probe::Kind::Latency: return "latency";
  case Probe::Kind::Issue: return "issue";
  }
  return "";
}

void writeCases(const std::string& path, const std::vector<Case>& cases) {
  ByteStrings strings;
  Json list = Json::array();
  for (const Case& c : cases)
    list.push_back(toJson(c, strings));
  const std::vector<std::uint8_t> bytes = Json::to_cbor(Json{{"strings", strings.take()}, {"cases", std::move(list)}});
  gzFile file = gzopen(path.c_str(), "wb9");
  const bool isWritten =
      file && gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size());
  if (!file || (gzclose(file) != Z_OK) || !isWritten) throw Error(fmt::format("cannot write '{}'", path));
}

std::vector<Case> readCases(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) throw Error(fmt::format("cannot read '{}'", path));
  std::vector<std::uint8_t> bytes;
  constexpr unsigned kPiece = 1 << 20;
  int got = 0;
  do {
    const std::size_t at = bytes.size();
    bytes.resize(at + kPiece);
    got = gzread(file, bytes.data() + at, kPiece);
    bytes.resize(at + static_cast<std::size_t>(std::max(got, 0)));
  } while (got > 0);
  if (gzclose(file) != Z_OK || got < 0) throw Error(fmt::format("'{}' is corrupt", path));
  try {
    std::vector<Case> cases;
    const Json json = Json::from_cbor(bytes);
    const Strings strings(json.at("strings"));
    for (const Json& c : json.at("cases"))
      cases.push_back(caseOf(c, strings));
    return cases;
  } catch (const Json::exception& error) {
    throw Error(fmt::format("'{}' is corrupt: {}", path, error.what()));
  }
}

} // namespace orias::gpu
