#include "tools/launch/json_node.h"

#include "support/check.h"
#include "support/nearest.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace orias::launch {

using nlohmann::json;

namespace {

std::string placeOf(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0
  return fmt::format("{}:{}", lines + 1, before.size() - lineStart + 1);
}

} // namespace

json parseJson(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw Error(fmt::format("{}: duplicate key \"{}\"", file, parsed.get<std::string>()));
    return true;
  };
  try {
    return json::parse(text, watch, true, true);
  } catch (const json::parse_error& error) {
    std::string_view what = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ...": the part with the
    // actual error.
    const std::size_t colon = what.find(": ");
    if (colon != std::string_view::npos) what.remove_prefix(colon + 2);
    throw Error(fmt::format("{}:{}: {}", file, placeOf(text, error.byte ? error.byte - 1 : 0), what));
  }
}

void JsonNode::fail(const std::string& message) const {
  throw Error(fmt::format("{}: {}{}", *file_, path_.empty() ? "" : path_ + ": ", message));
}

void JsonNode::allowKeys(std::span<const std::string_view> keys) const {
  if (!isObject()) fail("expected an object");
  for (const auto& [key, unused] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    NearestName nearest(key);
    for (const std::string_view k : keys)
      nearest.offer(k);
    if (nearest.best().empty()) fail(fmt::format("unknown key \"{}\"; expected one of {}", key, fmt::join(keys, ", ")));
    fail(fmt::format("unknown key \"{}\"; did you mean \"{}\"?", key, nearest.best()));
  }
}

bool JsonNode::has(std::string_view key) const {
  return isObject() && value_->contains(std::string(key));
}

JsonNode JsonNode::at(std::string_view key) const {
  if (!has(key)) fail(fmt::format("missing \"{}\"", key));
  return *find(key);
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  return JsonNode((*value_)[std::string(key)], *file_,
                  path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

std::size_t JsonNode::size() const {
  if (!isArray()) fail("expected an array");
  return value_->size();
}

JsonNode JsonNode::item(std::size_t index) const {
  return JsonNode((*value_)[index], *file_, fmt::format("{}[{}]", path_, index));
}

bool JsonNode::isObject() const {
  return value_->is_object();
}
bool JsonNode::isArray() const {
  return value_->is_array();
}
bool JsonNode::isString() const {
  return value_->is_string();
}

std::string JsonNode::text() const {
  if (!isString()) fail("expected a string");
  return value_->get<std::string>();
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail("expected true or false");
  return value_->get<bool>();
}

std::uint64_t JsonNode::count(std::uint64_t least, std::uint64_t most) const {
  if (!value_->is_number_unsigned()) fail("expected an unsigned integer");
  const auto number = value_->get<std::uint64_t>();
  if (number < least || number > most) fail(fmt::format("{} is not between {} and {}", number, least, most));
  return number;
}

double JsonNode::real() const {
  if (!value_->is_number()) fail("expected a number");
  return value_->get<double>();
}

} // namespace orias::launch
