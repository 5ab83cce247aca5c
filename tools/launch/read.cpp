#include "support/check.h"
#include "tools/launch/cluster.h"
#include "tools/launch/generate.h"
#include "tools/launch/keys.h"
#include "tools/launch/read_objects.h"
#include "tools/launch/read_texture.h"
#include "tools/launch/tensor_map.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <list>
#include <nlohmann/json.hpp>
#include <set>

namespace orias::launch {

namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30; ///< all buffers together
constexpr std::uint64_t kMaxParameterBytes = 32764;         ///< the limit of sm_90
constexpr std::uint64_t kMaxSharedBytes = 227 * 1024;
constexpr std::size_t kHandleBytes = 8; ///< of a texture or surface

/// Reads one launch. Buffers and arguments first get their names and shapes, then their contents, because formulas may
/// use any scalar and any earlier buffer. Expectations come last and may use all of them.
class Reader {
 public:
  Reader(const JsonNode& root, const std::string& folder) : root_(root) { context_.folder = folder; }

  Launch run() {
    root_.allowKeys(keysOf("launch"));
    if (const auto name = root_.find("name")) launch_.name = name->text();
    if (const auto description = root_.find("description")) description->text();
    if (const auto file = root_.find("file")) launch_.file = file->text();
    launch_.kernel = root_.at("kernel").text();
    launch_.grid = dimensions("grid", {0x7fffffff, 0xffff, 0xffff});
    launch_.block = dimensions("block", {1024, 1024, 64});
    if (launch_.block.count() > 1024) root_.at("block").fail("a block has at most 1024 threads");
    if (root_.has("cluster")) readCluster();
    if (const auto shared = root_.find("dynamicShared"))
      launch_.dynamicShared = static_cast<std::uint32_t>(shared->count(0, kMaxSharedBytes));
    const auto buffers = root_.find("buffers");
    const auto arguments = root_.find("arguments");
    for (std::size_t i = 0; buffers && i < buffers->size(); ++i)
      declareBuffer(buffers->item(i));
    const auto textures = root_.find("textures");
    for (std::size_t i = 0; textures && i < textures->size(); ++i) {
      newName(textures->item(i).at("name"));
      launch_.textures.push_back(readTexture(textures->item(i), launch_));
    }
    const auto samplers = root_.find("samplers");
    for (std::size_t i = 0; samplers && i < samplers->size(); ++i) {
      newName(samplers->item(i).at("name"));
      launch_.samplers.push_back(readSampler(samplers->item(i)));
    }
    const auto multicasts = root_.find("multicasts");
    for (std::size_t i = 0; multicasts && i < multicasts->size(); ++i) {
      newName(multicasts->item(i).at("name"));
      launch_.multicasts.push_back(readMulticast(multicasts->item(i), launch_));
    }
    for (std::size_t i = 0; arguments && i < arguments->size(); ++i)
      readArgument(arguments->item(i));
    for (std::size_t i = 0; buffers && i < buffers->size(); ++i)
      fillBuffer(buffers->item(i), i);
    for (std::size_t i = 0; buffers && i < buffers->size(); ++i)
      expect(buffers->item(i), launch_.buffers[i]);
    if (const auto stops = root_.find("stops")) {
      launch_.stops = stops->text();
      constexpr std::string_view kKinds[] = {"trap", "memcheck", "budget", "deadlock"};
      if (std::find(std::begin(kKinds), std::end(kKinds), launch_.stops) == std::end(kKinds))
        stops->fail("expected trap, memcheck, budget or deadlock");
    }
    const auto variables = root_.find("variables");
    for (std::size_t i = 0; variables && i < variables->size(); ++i)
      readVariable(variables->item(i));
    return std::move(launch_);
  }

 private:
  Dim3 dimensions(std::string_view key, Dim3 most) const {
    const JsonNode node = root_.at(key);
    if (!node.isArray()) return {static_cast<std::uint32_t>(node.count(1, most.x)), 1, 1};
    if (node.size() < 1 || node.size() > 3) node.fail("expected one, two or three numbers");
    const auto part = [&](std::size_t i, std::uint32_t limit) {
      return i < node.size() ? static_cast<std::uint32_t>(node.item(i).count(1, limit)) : 1;
    };
    return {part(0, most.x), part(1, most.y), part(2, most.z)};
  }

  void readCluster() {
    launch_.cluster = dimensions("cluster", {kMaxClusterBlocks, kMaxClusterBlocks, kMaxClusterBlocks});
    if (launch_.cluster->count() > kMaxClusterBlocks)
      root_.at("cluster").fail(fmt::format("a cluster has at most {} blocks", kMaxClusterBlocks));
  }

  static ElementType elementType(const JsonNode& node) {
    const std::string name = node.text();
    if (const auto type = findElementType(name)) return *type;
    std::string known;
    for (const ElementType type : elementTypes())
      known += fmt::format("{}{}", known.empty() ? "" : ", ", elementName(type));
    node.fail(fmt::format("unknown type \"{}\"; expected one of {}", name, known));
  }

  void newName(const JsonNode& node) {
    const std::string name = node.text();
    const auto inWord = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
        !std::all_of(name.begin(), name.end(), inWord))
      node.fail(fmt::format("\"{}\" is not a name: use letters, digits and _", name));
    if (name == "i") node.fail("\"i\" is the element's index in formulas");
    if (!names_.insert(name).second) node.fail(fmt::format("duplicate name \"{}\"", name));
  }

  /// The number of elements of a list when it is not specified otherwise.
  static std::optional<std::uint64_t> listedElements(const std::optional<JsonNode>& init) {
    if (!init) return std::nullopt;
    if (init->isArray()) return init->size();
    if (const auto values = init->find("values"); values && !init->has("repeat")) return values->size();
    if (const auto targets = init->find("targets")) return targets->size();
    return std::nullopt;
  }

  static std::uint64_t elementCount(const JsonNode& node, ElementType type, std::uint64_t mostBytes) {
    if (const auto count = node.find("count")) return count->count(0, mostBytes / elementBytes(type));
    if (const auto listed = listedElements(node.find("init"))) return *listed;
    node.fail("missing \"count\"");
  }

  static Tolerance tolerance(const JsonNode& of) {
    Tolerance result;
    if (const auto node = of.find("tolerance")) {
      node->allowKeys(keysOf("tolerance"));
      if (const auto absolute = node->find("absolute")) result.absolute = absolute->real();
      if (const auto relative = node->find("relative")) result.relative = relative->real();
    }
    return result;
  }

  /// Only a list or one value, because the number of elements is not specified otherwise.
  void readVariable(const JsonNode& node) {
    node.allowKeys(keysOf("variable"));
    VariableExpectation variable;
    variable.name = node.at("name").text();
    variable.type = elementType(node.at("type"));
    const JsonNode expected = node.at("expected");
    const std::size_t count = expected.isArray() ? expected.size() : 1;
    variable.expected = {generate(expected, variable.type, count, true, context_), tolerance(node)};
    launch_.variables.push_back(std::move(variable));
  }

  void declareBuffer(const JsonNode& node) {
    node.allowKeys(keysOf("buffer"));
    Buffer buffer;
    newName(node.at("name"));
    buffer.name = node.at("name").text();
    buffer.type = elementType(node.at("type"));
    buffer.elements = elementCount(node, buffer.type, kMaxBufferBytes);
    totalBytes_ += buffer.elements * elementBytes(buffer.type);
    if (totalBytes_ > kMaxBytes) node.fail("the buffers take more than 4 GiB");
    buffer.tolerance = tolerance(node);
    if (const auto print = node.find("print"))
      buffer.print =
          print->value().is_boolean() ? (print->boolean() ? buffer.elements : 0) : print->count(0, ~std::uint64_t{0});
    launch_.buffers.push_back(std::move(buffer));
  }

  Pointer pointer(const JsonNode& node, std::uint64_t at) const {
    const JsonNode nameNode = node.at("buffer");
    const std::string name = nameNode.text();
    const auto found =
        std::find_if(launch_.buffers.begin(), launch_.buffers.end(), [&](const Buffer& b) { return b.name == name; });
    if (found == launch_.buffers.end()) nameNode.fail(fmt::format("unknown buffer \"{}\"", name));
    Pointer pointer{at, static_cast<int>(found - launch_.buffers.begin()), 0};
    if (const auto offset = node.find("offset")) {
      std::byte bytes[8];
      readElement(*offset, ElementType::S64, bytes);
      std::memcpy(&pointer.offset, bytes, sizeof bytes);
    }
    return pointer;
  }

  std::uint64_t handleOf(const JsonNode& node) const {
    const std::string name = node.text();
    for (std::size_t i = 0; i < launch_.textures.size(); ++i)
      if (launch_.textures[i].name == name) return textureHandle(i);
    node.fail(fmt::format("unknown texture \"{}\"", name));
  }

  std::uint64_t samplerNamed(const JsonNode& node) const {
    const std::string name = node.text();
    for (std::size_t i = 0; i < launch_.samplers.size(); ++i)
      if (launch_.samplers[i].name == name) return textureHandle(i);
    node.fail(fmt::format("unknown sampler \"{}\"", name));
  }

  std::uint64_t multicastNamed(const JsonNode& node) const {
    const std::string name = node.text();
    for (std::size_t i = 0; i < launch_.multicasts.size(); ++i)
      if (launch_.multicasts[i].name == name) return multicastAddress(i);
    node.fail(fmt::format("unknown multicast object \"{}\"", name));
  }

  static std::vector<std::byte> hexBytes(const JsonNode& node) {
    std::vector<std::byte> bytes;
    const std::string text = node.text();
    std::string digits;
    std::copy_if(text.begin(), text.end(), std::back_inserter(digits), [](char c) { return c != ' '; });
    const auto isHex = [](unsigned char c) { return std::isxdigit(c) != 0; };
    if (digits.size() % 2 || !std::all_of(digits.begin(), digits.end(), isHex))
      node.fail("expected pairs of hexadecimal digits");
    for (std::size_t i = 0; i < digits.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    return bytes;
  }

  /// A value, an array of values or raw bytes, or a struct of them: appends its bytes at its natural alignment.
  std::size_t appendPart(const JsonNode& node, Argument& into) {
    node.allowKeys(keysOf("argument"));
    const auto forms = {"buffer", "bytes", "fields", "value", "init", "texture", "sampler", "multicast", "tensorMap"};
    if (std::count_if(forms.begin(), forms.end(), [&](const char* key) { return node.has(key); }) != 1)
      node.fail("expected one of buffer, texture, sampler, multicast, tensorMap, value, init, bytes and fields");
    const auto align = [&](std::size_t alignment) {
      into.bytes.resize((into.bytes.size() + alignment - 1) / alignment * alignment);
    };
    const auto append = [&](std::span<const std::byte> bytes) {
      into.bytes.insert(into.bytes.end(), bytes.begin(), bytes.end());
    };
    std::size_t alignment = 1;
    if (node.has("buffer")) {
      alignment = kPointerBytes;
      align(alignment);
      into.pointers.push_back(pointer(node, into.bytes.size()));
      into.bytes.resize(into.bytes.size() + kPointerBytes);
    } else if (const auto texture = node.find("texture")) {
      alignment = kHandleBytes;
      align(alignment);
      const std::uint64_t handle = handleOf(*texture);
      append(std::as_bytes(std::span(&handle, 1)));
    } else if (const auto sampler = node.find("sampler")) {
      alignment = kHandleBytes;
      align(alignment);
      const std::uint64_t handle = samplerNamed(*sampler);
      append(std::as_bytes(std::span(&handle, 1)));
    } else if (const auto multicast = node.find("multicast")) {
      alignment = kPointerBytes;
      align(alignment);
      const std::uint64_t address = multicastNamed(*multicast);
      append(std::as_bytes(std::span(&address, 1)));
    } else if (const auto map = node.find("tensorMap")) {
      alignment = TensorMap::kBytes;
      align(alignment);
      Argument made = readTensorMap(*map, launch_);
      made.pointers[0].at = into.bytes.size();
      into.pointers.push_back(made.pointers[0]);
      append(made.bytes);
    } else if (const auto bytes = node.find("bytes")) {
      append(hexBytes(*bytes));
    } else if (const auto fields = node.find("fields")) {
      Argument part;
      for (std::size_t i = 0; i < fields->size(); ++i)
        alignment = std::max(alignment, appendPart(fields->item(i), part));
      if (const auto size = node.find("size")) {
        const auto wanted = size->count(0, kMaxParameterBytes);
        if (wanted < part.bytes.size()) size->fail(fmt::format("the fields take {} bytes", part.bytes.size()));
        part.bytes.resize(wanted);
      } else {
        part.bytes.resize((part.bytes.size() + alignment - 1) / alignment * alignment);
      }
      align(alignment);
      for (Pointer inner : part.pointers) {
        inner.at += into.bytes.size();
        into.pointers.push_back(inner);
      }
      append(part.bytes);
    } else {
      const ElementType type = elementType(node.at("type"));
      alignment = elementBytes(type);
      align(alignment);
      append(elements(node, type));
    }
    if (into.bytes.size() > kMaxParameterBytes) node.fail("more bytes than a kernel's parameters can have");
    return alignment;
  }

  std::vector<std::byte> elements(const JsonNode& node, ElementType type) const {
    if (const auto init = node.find("init"))
      return generate(*init, type, elementCount(node, type, kMaxParameterBytes), false, context_);
    const JsonNode value = node.at("value");
    if (value.isArray()) return generate(value, type, value.size(), false, context_);
    std::vector<std::byte> bytes(elementBytes(type));
    readElement(value, type, bytes.data());
    return bytes;
  }

  void readArgument(const JsonNode& node) {
    Argument argument;
    appendPart(node, argument);
    if (node.has("buffer")) {
      argument.buffer = argument.pointers[0].buffer;
      argument.offset = argument.pointers[0].offset;
      argument.bytes.clear();
      argument.pointers.clear();
    }
    if (const auto name = node.find("name")) {
      newName(*name);
      argument.name = name->text();
    }
    launch_.arguments.push_back(std::move(argument));
    const Argument& kept = launch_.arguments.back();
    if (kept.name.empty() || !node.has("value") || node.at("value").isArray()) return;
    // The list of arguments may be reallocated, but not the bytes that it owns.
    formulaNames_.push_back({scalarNames_.emplace_back(kept.name), elementType(node.at("type")), kept.bytes, false});
    context_.names = formulaNames_;
  }

  void fillBuffer(const JsonNode& node, std::size_t index) {
    Buffer& buffer = launch_.buffers[index];
    if (const auto init = node.find("init")) {
      if (init->has("generator") && init->at("generator").isString() && init->at("generator").text() == "pointers")
        fillPointers(*init, buffer);
      else
        buffer.initial = generate(*init, buffer.type, buffer.elements, false, context_);
    }
    formulaNames_.push_back({buffer.name, buffer.type, buffer.initial, true});
    context_.names = formulaNames_;
  }

  void fillPointers(const JsonNode& init, Buffer& buffer) const {
    init.allowKeys(keysOf("pointers"));
    if (buffer.type != ElementType::U64) init.fail("pointers need the type u64");
    const JsonNode targets = init.at("targets");
    if (targets.size() > buffer.elements)
      targets.fail(fmt::format("{} pointers for {} elements", targets.size(), buffer.elements));
    buffer.initial.resize(buffer.elements * kPointerBytes);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets.item(i).allowKeys(keysOf("pointer"));
      buffer.pointers.push_back(pointer(targets.item(i), i * kPointerBytes));
    }
  }

  void expect(const JsonNode& node, Buffer& buffer) const {
    const auto expected = node.find("expected");
    if (!expected) return;
    buffer.expected = Expectation{generate(*expected, buffer.type, buffer.elements, true, context_), buffer.tolerance};
  }

  const JsonNode& root_;
  Launch launch_;
  GenerateContext context_;
  std::vector<FormulaName> formulaNames_;
  std::list<std::string> scalarNames_; ///< a list, because its elements do not move
  std::set<std::string> names_;
  std::uint64_t totalBytes_ = 0;
};

Launch parse(std::string_view text, const std::string& folder, const std::string& file) {
  const nlohmann::json json = parseJson(text, file);
  return Reader(JsonNode(json, file), folder).run();
}

} // namespace

Launch parseLaunch(std::string_view json, const std::string& folder) {
  return parse(json, folder, "launch");
}

Launch readLaunchFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(fmt::format("'{}' cannot be read", path));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::filesystem::path name(path);
  Launch launch = parse(text, name.parent_path().string(), path);
  if (launch.name.empty()) launch.name = name.stem().string();
  return launch;
}

std::string programPath(const Launch& launch, const std::string& launchFile) {
  if (launch.file.empty()) return {};
  return (std::filesystem::path(launchFile).parent_path() / launch.file).string();
}

} // namespace orias::launch
