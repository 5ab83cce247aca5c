#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace orias::launch {

/// A value in a JSON file that knows its location, for messages: "saxpy.json: buffers[1].type: ...".
class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, const std::string& file, std::string path = {})
      : value_(&value), file_(&file), path_(std::move(path)) {}

  const nlohmann::json& value() const { return *value_; }
  const std::string& path() const { return path_; }
  [[noreturn]] void fail(const std::string& message) const;

  /// Throws unless this is an object with no other keys.
  void allowKeys(std::span<const std::string_view> keys) const;
  bool has(std::string_view key) const;
  /// A required member.
  JsonNode at(std::string_view key) const;
  std::optional<JsonNode> find(std::string_view key) const;

  /// The size of an array; throws for anything else.
  std::size_t size() const;
  JsonNode item(std::size_t index) const;

  bool isObject() const;
  bool isArray() const;
  bool isString() const;
  std::string text() const;
  bool boolean() const;
  /// An unsigned integer in [least, most].
  std::uint64_t count(std::uint64_t least, std::uint64_t most) const;
  double real() const;

 private:
  const nlohmann::json* value_;
  const std::string* file_;
  std::string path_;
};

/// Reads JSON. Throws orias::Error with line and column, also if an object has a duplicate key.
nlohmann::json parseJson(std::string_view text, const std::string& file);

} // namespace orias::launch
