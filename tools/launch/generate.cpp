#include "tools/launch/generate.h"

#include "support/check.h"
#include "tools/launch/keys.h"
#include "tools/launch/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

namespace orias::launch {

namespace {

/// The input of every generator.
struct Job {
  const JsonNode& node;
  ElementType type;
  std::uint64_t elements;
  bool allowFewer;
  const GenerateContext& context;

  std::size_t width() const { return elementBytes(type); }
  std::vector<std::byte> room() const { return std::vector<std::byte>(elements * width()); }
};

using Bytes = std::vector<std::byte>;

Number readNumber(const JsonNode& node, ElementType type) {
  std::byte bytes[8] = {};
  readElement(node, type, bytes);
  return isFloat(type) ? Number::of(loadFloat(type, bytes)) : Number::of(loadInteger(type, bytes));
}

Number optionalNumber(const Job& job, std::string_view key, double otherwise) {
  if (const auto node = job.node.find(key)) return readNumber(*node, job.type);
  return isFloat(job.type) ? Number::of(otherwise) : Number::of(static_cast<Integer>(otherwise));
}

Random seeded(const Job& job) {
  const auto seed = job.node.find("seed");
  return Random(seed ? seed->count(0, ~std::uint64_t{0}) : 1);
}

void store(const Number& number, ElementType type, std::byte* at) {
  if (number.isReal)
    storeFloat(type, number.real, at);
  else
    storeInteger(type, number.integer, at);
}

Bytes zeros(const Job& job) {
  return job.room();
}

Bytes repeated(const JsonNode& value, const Job& job) {
  Bytes bytes = job.room();
  std::byte element[8] = {};
  readElement(value, job.type, element);
  for (std::uint64_t i = 0; i < job.elements; ++i)
    std::memcpy(bytes.data() + i * job.width(), element, job.width());
  return bytes;
}

Bytes constant(const Job& job) {
  return repeated(job.node.at("value"), job);
}

/// start, start + step, ...; from the start again after each `period` elements.
Bytes ramp(const Job& job) {
  Bytes bytes = job.room();
  const Number start = optionalNumber(job, "start", 0), step = optionalNumber(job, "step", 1);
  const auto given = job.node.find("period");
  const std::uint64_t period = given ? given->count(1, ~std::uint64_t{0}) : ~std::uint64_t{0};
  for (std::uint64_t i = 0; i < job.elements; ++i) {
    const std::uint64_t k = i % period;
    const Number value = start.isReal ? Number::of(start.real + step.real * static_cast<double>(k))
                                      : Number::of(start.integer + step.integer * static_cast<Integer>(k));
    store(value, job.type, bytes.data() + i * job.width());
  }
  return bytes;
}

/// Integers in [low, high], reals in [low, high).
Bytes random(const Job& job) {
  Bytes bytes = job.room();
  const Number low = optionalNumber(job, "low", 0), high = optionalNumber(job, "high", isFloat(job.type) ? 1 : 100);
  if (low.isReal ? !(low.real < high.real) : low.integer > high.integer) job.node.fail("low is above high");
  Random generator = seeded(job);
  const auto span = static_cast<std::uint64_t>(high.integer - low.integer);
  for (std::uint64_t i = 0; i < job.elements; ++i) {
    std::byte* at = bytes.data() + i * job.width();
    if (low.isReal) {
      storeFloat(job.type, low.real + (high.real - low.real) * generator.unit(), at);
      continue;
    }
    const std::uint64_t step = span == ~std::uint64_t{0} ? generator.bits() : generator.below(span + 1);
    storeInteger(job.type, low.integer + static_cast<Integer>(step), at);
  }
  return bytes;
}

void fillBits(Random& generator, std::byte* at, std::size_t width) {
  const std::uint64_t word = generator.bits();
  std::memcpy(at, &word, width);
}

Bytes bits(const Job& job) {
  Bytes bytes = job.room();
  Random generator = seeded(job);
  for (std::uint64_t i = 0; i < job.elements; ++i)
    fillBits(generator, bytes.data() + i * job.width(), job.width());
  return bytes;
}

/// 0 ... elements - 1 in a random order (Fisher and Yates).
Bytes permutation(const Job& job) {
  if (isFloat(job.type)) job.node.fail("a permutation needs an integer type");
  std::vector<std::uint64_t> order(job.elements);
  std::iota(order.begin(), order.end(), 0);
  Random generator = seeded(job);
  for (std::uint64_t i = job.elements; i > 1; --i)
    std::swap(order[i - 1], order[generator.below(i)]);
  Bytes bytes = job.room();
  for (std::uint64_t i = 0; i < job.elements; ++i)
    storeInteger(job.type, static_cast<Integer>(order[i]), bytes.data() + i * job.width());
  return bytes;
}

/// Repeats the values that most often break arithmetic; every second iteration is followed by as many random values.
Bytes edges(const Job& job) {
  const std::size_t width = job.width();
  std::vector<std::uint64_t> list;
  const unsigned top = static_cast<unsigned>(width * 8 - 1);
  if (isFloat(job.type)) {
    const unsigned fraction = job.type == ElementType::F64    ? 52
                              : job.type == ElementType::F32  ? 23
                              : job.type == ElementType::BF16 ? 7
                                                              : 10;
    const std::uint64_t infinity = ((std::uint64_t{1} << (top - fraction)) - 1) << fraction;
    const std::uint64_t one = ((std::uint64_t{1} << (top - fraction - 1)) - 1) << fraction;
    const std::uint64_t smallestNormal = std::uint64_t{1} << fraction;
    for (const std::uint64_t magnitude :
         {std::uint64_t{0}, one, infinity, infinity - 1, smallestNormal, smallestNormal - 1, std::uint64_t{1}, one + 1,
          one - 1, infinity + (smallestNormal >> 1)})
      for (const std::uint64_t sign : {0u, 1u})
        list.push_back(magnitude | sign << top);
  } else {
    for (const unsigned bit : {0u, 7u, 8u, 15u, 16u, 31u, 32u, 63u})
      for (const int around : {-1, 0, 1})
        if (bit <= top) list.push_back((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(around));
    for (const std::uint64_t small : {std::uint64_t{3}, std::uint64_t{10}, ~std::uint64_t{0}, ~std::uint64_t{9}})
      list.push_back(small);
  }
  Bytes bytes = job.room();
  Random generator = seeded(job);
  for (std::uint64_t i = 0; i < job.elements; ++i) {
    std::byte* at = bytes.data() + i * width;
    const std::uint64_t word = i / list.size() % 2 ? generator.bits() : list[i % list.size()];
    std::memcpy(at, &word, width);
  }
  return bytes;
}

Bytes listed(const JsonNode& list, const Job& job, bool repeat) {
  const std::size_t given = list.size();
  if (given == 0 && job.elements) list.fail("no values");
  if (given > job.elements || (given < job.elements && !repeat && !job.allowFewer))
    list.fail(fmt::format("{} values for {} elements", given, job.elements));
  Bytes bytes((repeat ? job.elements : given) * job.width());
  for (std::size_t i = 0; i < given; ++i)
    readElement(list.item(i), job.type, bytes.data() + i * job.width());
  for (std::size_t i = given * job.width(); i < bytes.size(); ++i)
    bytes[i] = bytes[i - given * job.width()];
  return bytes;
}

Bytes values(const Job& job) {
  const auto repeat = job.node.find("repeat");
  return listed(job.node.at("values"), job, repeat && repeat->boolean());
}

Bytes file(const Job& job) {
  const JsonNode pathNode = job.node.at("path");
  const std::filesystem::path path = std::filesystem::path(job.context.folder) / pathNode.text();
  std::ifstream stream(path, std::ios::binary);
  if (!stream) pathNode.fail(fmt::format("'{}' cannot be read", path.string()));
  if (const auto offset = job.node.find("offset"))
    stream.seekg(static_cast<std::streamoff>(offset->count(0, std::uint64_t{1} << 62)));
  Bytes bytes = job.room();
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::size_t>(stream.gcount()) != bytes.size())
    pathNode.fail(fmt::format("'{}' has {} bytes, expected {}", path.string(), stream.gcount(), bytes.size()));
  return bytes;
}

Bytes computed(const JsonNode& node, const Job& job) {
  Bytes bytes = job.room();
  const std::string text = node.text();
  try {
    Formula formula(text, job.context.names);
    for (std::uint64_t i = 0; i < job.elements; ++i) {
      const Number value = formula.evaluate(i);
      if (value.isReal && !isFloat(job.type) && !(std::fabs(value.real) < 0x1p63))
        throw Error(fmt::format("formula \"{}\", element {}: {} does not fit into an integer", text, i, value.real));
      store(value, job.type, bytes.data() + i * job.width());
    }
  } catch (const Error& error) {
    node.fail(error.what());
  }
  return bytes;
}

Bytes formula(const Job& job) {
  return computed(job.node.at("formula"), job);
}

struct Generator {
  std::string_view name;
  Bytes (*run)(const Job&);
};

constexpr Generator kGenerators[] = {{"zeros", zeros},    {"constant", constant}, {"ramp", ramp},
                                     {"random", random},  {"bits", bits},         {"permutation", permutation},
                                     {"edges", edges},    {"values", values},     {"file", file},
                                     {"formula", formula}};

Integer readDigits(const JsonNode& node, const std::string& text) {
  std::size_t used = 0;
  const bool negative = text[0] == '-';
  const std::string digits = text.substr(negative ? 1 : 0);
  std::uint64_t magnitude = 0;
  try {
    magnitude = std::stoull(digits, &used, digits.rfind("0x", 0) == 0 ? 16 : 10);
  } catch (const std::exception&) {
    used = 0;
  }
  if (digits.empty() || used != digits.size() || !std::isxdigit(static_cast<unsigned char>(digits[0])))
    node.fail(fmt::format("\"{}\" is not a number", text));
  return negative ? -static_cast<Integer>(magnitude) : static_cast<Integer>(magnitude);
}

} // namespace

void readElement(const JsonNode& node, ElementType type, std::byte* at) {
  const auto& value = node.value();
  const unsigned bits = elementBytes(type) * 8;
  if (isFloat(type)) {
    if (value.is_number_integer())
      return storeInteger(type,
                          value.is_number_unsigned() ? static_cast<Integer>(value.get<std::uint64_t>())
                                                     : static_cast<Integer>(value.get<std::int64_t>()),
                          at);
    if (!node.isString()) return storeFloat(type, node.real(), at);
    const std::string text = node.text();
    if (text == "nan") return storeFloat(type, std::numeric_limits<double>::quiet_NaN(), at);
    if (text == "inf") return storeFloat(type, std::numeric_limits<double>::infinity(), at);
    if (text == "-inf") return storeFloat(type, -std::numeric_limits<double>::infinity(), at);
    if (text.rfind("0x", 0) != 0) node.fail("expected a number, \"nan\", \"inf\", \"-inf\" or the bits (\"0x...\")");
    const Integer pattern = readDigits(node, text);
    if (bits < 64 && pattern >> bits) node.fail(fmt::format("{} has more than {} bits", text, bits));
    const auto word = static_cast<std::uint64_t>(pattern);
    std::memcpy(at, &word, elementBytes(type));
    return;
  }
  Integer number;
  if (value.is_number_unsigned())
    number = static_cast<Integer>(value.get<std::uint64_t>());
  else if (value.is_number_integer())
    number = static_cast<Integer>(value.get<std::int64_t>());
  else if (node.isString())
    number = readDigits(node, node.text());
  else
    node.fail(fmt::format("expected an integer for {}", elementName(type)));
  // -1 for an unsigned type and 0xff for a signed one are common in launch files.
  if (number < -(Integer{1} << (bits - 1)) || number >= (Integer{1} << bits))
    node.fail(fmt::format("the value does not fit into {}", elementName(type)));
  storeInteger(type, number, at);
}

std::vector<std::byte> generate(const JsonNode& node, ElementType type, std::uint64_t elements, bool allowFewer,
                                const GenerateContext& context) {
  const Job job{node, type, elements, allowFewer, context};
  if (node.isArray()) return listed(node, job, false);
  if (node.isString()) return computed(node, job);
  if (!node.isObject()) return repeated(node, job);
  const JsonNode nameNode = node.at("generator");
  const std::string name = nameNode.text();
  const auto* found =
      std::find_if(std::begin(kGenerators), std::end(kGenerators), [&](const Generator& g) { return g.name == name; });
  if (found == std::end(kGenerators)) {
    std::string known;
    for (const Generator& g : kGenerators)
      known += (known.empty() ? "" : ", ") + std::string(g.name);
    nameNode.fail(fmt::format("unknown generator \"{}\"; expected one of {}, pointers", name, known));
  }
  node.allowKeys(keysOf(name));
  return found->run(job);
}

} // namespace orias::launch
