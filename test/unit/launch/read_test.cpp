#include "support/check.h"
#include "tools/launch/formula.h"
#include "tools/launch/keys.h"
#include "tools/launch/launch.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

using namespace orias;
using namespace orias::launch;

namespace {

std::string text(const Buffer& buffer) {
  return elementsText(buffer.type, buffer.initial, buffer.elements);
}

/// A launch whose only buffer `b` has this description after its name.
Launch withBuffer(const std::string& rest) {
  return parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1, "buffers": [{"name": "b", )" + rest + "}]}", ".");
}

std::string generated(const std::string& rest) {
  return text(withBuffer(rest).buffers[0]);
}

std::string errorOf(const std::string& json) {
  try {
    parseLaunch(json, ".");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string bufferError(const std::string& rest) {
  return errorOf(R"({"kernel": "k", "grid": 1, "block": 1, "buffers": [{"name": "b", )" + rest + "}]}");
}

/// A launch with these arguments.
Launch withArguments(const std::string& arguments) {
  return parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1, "buffers": [{"name": "b", "type": "u32", "count": 4}],
                         "arguments": [)" +
                         arguments + "]}",
                     ".");
}

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte b : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned>(b));
  return text;
}

Number evaluate(const std::string& formula, std::uint64_t i = 0, std::span<const FormulaName> names = {}) {
  return Formula(formula, names).evaluate(i);
}

} // namespace

TEST_CASE("a launch file says everything about a launch") {
  const Launch launch = parseLaunch(R"({
    "name": "n", "description": "d", "file": "f.ptx", "kernel": "k", "grid": [2, 3], "block": 64, "dynamicShared": 128,
    "buffers": [{"name": "x", "type": "s16", "count": 3, "print": 2, "tolerance": {"absolute": 1, "relative": 0.5}},
                {"name": "y", "type": "f32", "init": [1, 2.5, "inf"], "expected": [7], "print": true}],
    "arguments": [{"buffer": "y", "offset": 4}] // a comment
  })",
                                    ".");
  CHECK(launch.name == "n");
  CHECK(launch.file == "f.ptx");
  CHECK(launch.grid == Dim3{2, 3, 1});
  CHECK(launch.block == Dim3{64, 1, 1});
  CHECK(launch.dynamicShared == 128);
  REQUIRE(launch.buffers.size() == 2);
  CHECK(launch.buffers[0].initial.empty());
  CHECK(launch.buffers[0].print == 2);
  CHECK(launch.buffers[0].tolerance.relative == 0.5);
  CHECK(text(launch.buffers[1]) == "1 2.5 inf");
  CHECK(launch.buffers[1].print == 3);
  REQUIRE(launch.buffers[1].expected);
  CHECK(launch.buffers[1].expected->bytes.size() == 4);
  CHECK(launch.arguments[0].buffer == 1);
  CHECK(launch.arguments[0].offset == 4);
}

TEST_CASE("generators fill buffers") {
  CHECK(generated(R"("type": "u8", "count": 3, "init": {"generator": "zeros"})") == "0 0 0");
  CHECK(generated(R"("type": "f64", "count": 2, "init": 0.1)") == "0.1 0.1");
  CHECK(generated(R"("type": "s32", "count": 2, "init": {"generator": "constant", "value": -7})") == "-7 -7");
  CHECK(generated(R"("type": "u32", "count": 4, "init": {"generator": "ramp", "start": 5, "step": -2})") ==
        "5 3 1 4294967295");
  CHECK(generated(R"("type": "f32", "count": 5, "init": {"generator": "ramp", "step": 0.5, "period": 3})") ==
        "0 0.5 1 0 0.5");
  CHECK(generated(R"("type": "u32", "count": 5, "init": {"generator": "values", "values": [1, 2], "repeat": true})") ==
        "1 2 1 2 1");
  CHECK(generated(R"("type": "u64", "init": ["0xffffffffffffffff", 18446744073709551615])") ==
        "18446744073709551615 18446744073709551615");
  CHECK(generated(R"("type": "f32", "init": ["0x3f800000", "-inf", "nan", 16777217])") == "1 -inf nan 16777216");
  CHECK(generated(R"("type": "s8", "init": ["0xff", -128])") == "-1 -128");
  CHECK(generated(R"("type": "u16", "count": 4, "init": "i*i + 1")") == "1 2 5 10");
}

TEST_CASE("random contents are the same everywhere and stay in their range") {
  // Fixed: a change would change the meaning of every launch file.
  CHECK(generated(R"("type": "u32", "count": 4, "init": {"generator": "bits", "seed": 1})") ==
        "2298633409 1703865447 4214379870 3997354251");
  const Launch small =
      withBuffer(R"("type": "s8", "count": 200, "init": {"generator": "random", "low": -2, "high": 1})");
  std::set<int> seen;
  for (const std::byte b : small.buffers[0].initial)
    seen.insert(static_cast<std::int8_t>(b));
  CHECK(seen == std::set<int>{-2, -1, 0, 1});
  const Launch real = withBuffer(R"("type": "f64", "count": 99, "init": {"generator": "random", "low": 3, "high": 4})");
  for (std::size_t i = 0; i < 99; ++i) {
    double value;
    std::memcpy(&value, real.buffers[0].initial.data() + i * 8, 8);
    CHECK(value >= 3);
    CHECK(value < 4);
  }
  CHECK(generated(
            R"("type": "u64", "count": 2, "init": {"generator": "random", "low": 0, "high": "0xffffffffffffffff"})") !=
        "0 0");
}

TEST_CASE("a permutation has each index once") {
  const Launch launch = withBuffer(R"("type": "u8", "count": 100, "init": {"generator": "permutation", "seed": 3})");
  std::vector<std::byte> sorted = launch.buffers[0].initial;
  CHECK_FALSE(std::is_sorted(sorted.begin(), sorted.end()));
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < 100; ++i)
    CHECK(sorted[i] == static_cast<std::byte>(i));
}

TEST_CASE("edges have the limits of the type") {
  const auto has = [](const std::string& type, const std::string& value) {
    const std::string all =
        " " + generated(R"("type": ")" + type + R"(", "count": 30, "init": {"generator": "edges"})") + " ";
    return all.find(" " + value + " ") != std::string::npos;
  };
  CHECK(has("s32", "-2147483648"));
  CHECK(has("s32", "2147483647"));
  CHECK(has("u8", "255"));
  CHECK(has("u64", "18446744073709551615"));
  CHECK(has("f32", "inf"));
  CHECK(has("f32", "nan"));
  CHECK(has("f32", "1"));
  CHECK(has("f32", "-0"));
  CHECK(has("f32", "1e-45"));
  CHECK(has("f16", "65504"));
  CHECK(has("f64", "5e-324"));
}

TEST_CASE("contents come from raw files, relative to the launch file") {
  const std::string folder = ".";
  {
    std::ofstream file("launch_raw.bin", std::ios::binary);
    file << "abcdefgh";
  }
  const auto read = [&](const std::string& more) {
    return generated(R"("type": "u8", "count": 3, "init": {"generator": "file", "path": "launch_raw.bin")" + more +
                     "}");
  };
  CHECK(read("") == "97 98 99");
  CHECK(read(R"(, "offset": 5)") == "102 103 104");
  CHECK_THROWS_WITH_AS(read(R"(, "offset": 6)"),
                       "launch: buffers[0].init.path: './launch_raw.bin' has 2 bytes, expected 3", Error);
  std::remove("launch_raw.bin");
}

TEST_CASE("what is expected may be any generator, and name what was before") {
  const Launch launch = parseLaunch(R"json({"kernel": "k", "grid": 1, "block": 1,
    "buffers": [{"name": "out", "type": "f32", "count": 3, "expected": "a * x[i] + sum(k, 0, 3, x[k])"},
                {"name": "x", "type": "s32", "init": [1, 2, 4]}],
    "arguments": [{"buffer": "out"}, {"name": "a", "type": "f32", "value": 0.5}]
})json",
                                    ".");
  REQUIRE(launch.buffers[0].expected);
  CHECK(elementsText(ElementType::F32, launch.buffers[0].expected->bytes, 9) == "7.5 8 9");
}

TEST_CASE("arguments are scalars, arrays, structs and bytes") {
  CHECK(hex(withArguments(R"({"type": "u16", "value": 258})").arguments[0].bytes) == "0201");
  CHECK(hex(withArguments(R"({"type": "f32", "value": -2})").arguments[0].bytes) == "000000c0");
  CHECK(hex(withArguments(R"({"type": "bf16", "value": 1})").arguments[0].bytes) == "803f");
  CHECK(hex(withArguments(R"({"type": "s8", "value": [1, -1]})").arguments[0].bytes) == "01ff");
  CHECK(hex(withArguments(R"({"type": "u8", "count": 3, "init": "i + 1"})").arguments[0].bytes) == "010203");
  CHECK(hex(withArguments(R"({"bytes": "0aFF 00"})").arguments[0].bytes) == "0aff00");
  const Launch launch = withArguments(R"({"fields": [{"type": "u8", "value": 1}, {"type": "u32", "value": 2},
      {"fields": [{"type": "u16", "value": 3}, {"buffer": "b", "offset": 8}]}, {"type": "u8", "value": 4}]})");
  const Argument& argument = launch.arguments[0];
  CHECK(hex(argument.bytes) == "0100000002000000"
                               "0300000000000000"
                               "0000000000000000"
                               "0400000000000000");
  REQUIRE(argument.pointers.size() == 1);
  CHECK(argument.pointers[0].at == 16);
  CHECK(argument.pointers[0].offset == 8);
  CHECK(withArguments(R"({"fields": [{"type": "u8", "value": 1}], "size": 12})").arguments[0].bytes.size() == 12);
}

TEST_CASE("buffers may hold pointers") {
  const Launch launch = withBuffer(R"("type": "u64", "count": 3,
      "init": {"generator": "pointers", "targets": [{"buffer": "b", "offset": 8}]})");
  REQUIRE(launch.buffers[0].pointers.size() == 1);
  CHECK(launch.buffers[0].pointers[0].offset == 8);
  CHECK(launch.buffers[0].initial.size() == 24);
}

TEST_CASE("formulas compute like C") {
  CHECK(evaluate("1 + 2 * 3").integer == 7);
  CHECK(evaluate("(1 + 2) * 3").integer == 9);
  CHECK(evaluate("7 - 2 - 1").integer == 4);
  CHECK(evaluate("-7 / 2").integer == -3);
  CHECK(evaluate("-7 % 3").integer == -1);
  CHECK(evaluate("1 << 4 | 3 & 2").integer == 18);
  CHECK(evaluate("5 > 3 == 1 && !0").integer == 1);
  CHECK(evaluate("i < 2 ? 10 : i < 4 ? 20 : 30", 3).integer == 20);
  CHECK(evaluate("~0 & 0xff").integer == 255);
  CHECK(evaluate("1.5e2 / 4").real == 37.5);
  CHECK(evaluate("u32(-1) >> 4").integer == 0xfffffff);
  CHECK(evaluate("s8(200)").integer == -56);
  CHECK(evaluate("s32(-2.9)").integer == -2);
  CHECK(evaluate("(0xffffffffffffffff * 0xffffffffffffffff) >> 64 & 0xff").integer == 0xfe);
  CHECK(evaluate("f32(0.1)").real == static_cast<double>(0.1f));
  CHECK(evaluate("max(2, 1.5)").isReal == false);
  CHECK(evaluate("abs(-3) + popc(255)").integer == 11);
  CHECK(evaluate("sum(a, 0, 3, sum(b, 0, a, a * 10 + b))").integer == 10 + 20 + 21);
  CHECK(evaluate("most(k, 0, 5, k * (4 - k)) * 10 + least(k, 1, 5, 9 - k)").integer == 45);
  CHECK(evaluate("sqrt(2) * sqrt(2)").real == doctest::Approx(2));
}

TEST_CASE("formulas say what is wrong and where") {
  const auto fails = [](const std::string& formula, const std::string& with) {
    try {
      evaluate(formula, 3);
    } catch (const Error& error) {
      CHECK(error.what() == with);
      return;
    }
    FAIL(formula);
  };
  fails("1 +", "formula \"1 +\", column 4: expected a value");
  fails("(1", "formula \"(1\", column 3: expected ')'");
  fails("1 2", "formula \"1 2\", column 3: expected an operator");
  fails("sqr(2)", "formula \"sqr(2)\", column 1: unknown function 'sqr'; did you mean 'sqrt'?");
  fails("y", "formula \"y\", column 1: unknown value 'y'");
  fails("min(1)", "formula \"min(1)\", column 1: 'min' takes 2 operands");
  fails("1 / (i - 3)", "formula \"1 / (i - 3)\", element 3: division by zero");
  fails("1 << 200", "formula \"1 << 200\", element 3: a shift by less than 0 or more than 127");
  fails("1.5 & 1",
        "formula \"1.5 & 1\", element 3: expected an integer, got a real; convert it by u32(...), s64(...), ...");
  fails("sum(k, 0, 1000000000000, k)",
        "formula \"sum(k, 0, 1000000000000, k)\", element 3: the formula needs too many steps");
  CHECK_THROWS_AS(evaluate(std::string(5000, '(')), Error);
  CHECK_THROWS_AS(evaluate(std::string(5000, '-') + "1"), Error);
  const std::byte bytes[8] = {};
  const FormulaName names[] = {{"x", ElementType::U32, bytes, true}};
  CHECK_THROWS_WITH_AS(evaluate("x[2]", 0, names),
                       "formula \"x[2]\", element 0: x[2] is outside the buffer of 2 elements", Error);
}

TEST_CASE("errors name the place") {
  CHECK(errorOf("{\n  \"kernel\": }").substr(0, 11) == "launch:2:13");
  CHECK(errorOf(R"({"kernel": "k", "kernel": "l"})") == "launch: duplicate key \"kernel\"");
  CHECK(errorOf("[]") == "launch: expected an object");
  CHECK(errorOf("{}") == "launch: missing \"kernel\"");
  CHECK(errorOf(R"({"kernle": "k"})") == "launch: unknown key \"kernle\"; did you mean \"kernel\"?");
  CHECK(errorOf(R"({"kernel": "k", "grid": 0, "block": 1})") == "launch: grid: 0 is not between 1 and 2147483647");
  CHECK(errorOf(R"({"kernel": "k", "grid": [1, 2, 3, 4], "block": 1})") ==
        "launch: grid: expected one, two or three numbers");
  CHECK(errorOf(R"({"kernel": "k", "grid": [1, 70000], "block": 1})") ==
        "launch: grid[1]: 70000 is not between 1 and 65535");
  CHECK(errorOf(R"({"kernel": "k", "grid": 1, "block": [64, 32]})") ==
        "launch: block: a block has at most 1024 threads");
  CHECK(bufferError(R"("type": "f31")") ==
        "launch: buffers[0].type: unknown type \"f31\"; expected one of u8, s8, u16, "
        "s16, u32, s32, u64, s64, f16, bf16, f32, "
        "f64");
  CHECK(bufferError(R"("type": "u8")") == "launch: buffers[0]: missing \"count\"");
  CHECK(bufferError(R"("type": "u8", "count": 2000000000)") ==
        "launch: buffers[0].count: 2000000000 is not between 0 and 1073741824");
  CHECK(bufferError(R"("type": "u8", "init": [1, 256])") ==
        "launch: buffers[0].init[1]: the value does not fit into u8");
  CHECK(bufferError(R"("type": "u8", "init": [1.5])") == "launch: buffers[0].init[0]: expected an integer for u8");
  CHECK(bufferError(R"("type": "u8", "count": 3, "init": [1])") == "launch: buffers[0].init: 1 values for 3 elements");
  CHECK(bufferError(R"("type": "u8", "count": 1, "expected": [1, 2])") ==
        "launch: buffers[0].expected: 2 values for 1 elements");
  CHECK(
      bufferError(R"("type": "u8", "count": 1, "init": {"generator": "rampe"})") ==
      "launch: buffers[0].init.generator: unknown generator \"rampe\"; expected one of zeros, constant, ramp, random, "
      "bits, "
      "permutation, edges, values, file, formula, pointers");
  CHECK(bufferError(R"("type": "u8", "count": 1, "init": {"generator": "ramp", "stop": 1})") ==
        "launch: buffers[0].init: unknown key \"stop\"; did you mean \"step\"?");
  CHECK(bufferError(R"("type": "u8", "count": 1, "init": "1 +")") ==
        "launch: buffers[0].init: formula \"1 +\", column 4: expected a value");
  CHECK(bufferError(R"("type": "u8", "count": 1, "init": "1e30")") ==
        "launch: buffers[0].init: formula \"1e30\", element 0: 1e+30 does not fit into an integer");
  CHECK_THROWS_WITH_AS(withArguments(R"({"buffer": "c"})"), "launch: arguments[0].buffer: unknown buffer \"c\"", Error);
  CHECK_THROWS_WITH_AS(withArguments(R"({"type": "u8"})"),
                       "launch: arguments[0]: expected one of buffer, texture, sampler, multicast, tensorMap, value, "
                       "init, bytes and fields",
                       Error);
  CHECK_THROWS_WITH_AS(withArguments(R"({"name": "b", "type": "u8", "value": 1})"),
                       "launch: arguments[0].name: duplicate name \"b\"", Error);
  CHECK_THROWS_WITH_AS(withArguments(R"({"bytes": "abc"})"),
                       "launch: arguments[0].bytes: expected pairs of hexadecimal digits", Error);
  CHECK_THROWS_WITH_AS(readLaunchFile("no_such_file.json"), "'no_such_file.json' cannot be read", Error);
}

TEST_CASE("the launch files of the examples can be read, and say what to expect") {
  for (const std::string name : {"saxpy", "transpose", "reduction", "histogram", "stencil", "collatz"}) {
    CAPTURE(name);
    const Launch launch = readLaunchFile(ORIAS_SOURCE_DIR "/examples/" + name + ".json");
    CHECK(launch.name == name);
    CHECK(launch.file == name + ".ptx");
    const auto expects = [](const Buffer& buffer) { return buffer.expected.has_value(); };
    CHECK(std::any_of(launch.buffers.begin(), launch.buffers.end(), expects));
  }
  // 0 + 1 + ... + 12 is 78: 384 times, followed by 0 7 1 8 2 9 3 10.
  const Launch sum = readLaunchFile(ORIAS_SOURCE_DIR "/examples/reduction.json");
  CHECK(elementsText(ElementType::F32, sum.buffers[1].expected->bytes, 1) == "29992");
}

TEST_CASE("the schema describes exactly the keys that the reader knows") {
  std::ifstream file(ORIAS_SOURCE_DIR "/tools/launch/launch.schema.json");
  const auto schema = nlohmann::json::parse(file);
  const auto& definitions = schema.at("$defs");
  for (const ObjectKeys& object : objectKeys()) {
    CAPTURE(object.object);
    REQUIRE(definitions.contains(std::string(object.object)));
    const auto& definition = definitions.at(std::string(object.object));
    CHECK(definition.at("additionalProperties") == false);
    std::set<std::string> described;
    for (const auto& [key, unused] : definition.at("properties").items())
      described.insert(key);
    CHECK(described == std::set<std::string>(object.keys.begin(), object.keys.end()));
    if (object.keys[0] == "generator") {
      CHECK(definition.at("properties").at("generator").at("const") == object.object);
      const std::string reference = "#/$defs/" + std::string(object.object);
      const auto& all = definitions.at("generator").at("oneOf");
      CHECK(std::any_of(all.begin(), all.end(), [&](const auto& entry) { return entry.at("$ref") == reference; }));
    }
  }
}

TEST_CASE("what a launch leaves in variables, and how it stops") {
  const Launch launch = parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1, "stops": "trap", "variables": [
      {"name": "table", "type": "s16", "expected": [1, -2]}, {"name": "x", "type": "f32", "expected": 2.5}]})",
                                    ".");
  CHECK(launch.stops == "trap");
  REQUIRE(launch.variables.size() == 2);
  CHECK(hex(launch.variables[0].expected.bytes) == "0100feff");
  CHECK(hex(launch.variables[1].expected.bytes) == "00002040");
  CHECK(errorOf(R"({"kernel": "k", "grid": 1, "block": 1, "stops": "never"})").find("trap, memcheck") !=
        std::string::npos);
}
