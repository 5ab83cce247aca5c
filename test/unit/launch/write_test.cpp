#include "support/check.h"
#include "tools/launch/launch.h"
#include "tools/launch/write.h"

#include <doctest/doctest.h>

using namespace orias;
using namespace orias::launch;

TEST_CASE("a launch that was written reads as the same launch") {
  const Launch launch = parseLaunch(R"({
    "name": "n", "file": "f.ptx", "kernel": "k", "grid": [2, 3, 1], "block": 32, "dynamicShared": 64,
    "buffers": [
      {"name": "u", "type": "u32", "count": 3, "init": [1, "0xffffffff", 7], "print": 2},
      {"name": "s", "type": "s16", "count": 3, "init": [-1, -32768, 5], "expected": [-1, 2]},
      {"name": "c", "type": "u64", "count": 40, "init": 9},
      {"name": "f", "type": "f32", "count": 4, "init": [0.5, "nan", "-inf", "0x00000001"],
       "tolerance": {"absolute": 0.25, "relative": 0.5}},
      {"name": "h", "type": "bf16", "count": 2, "init": ["0x8000", "0x7fc1"]},
      {"name": "nothing", "type": "f64", "count": 2}
    ],
    "arguments": [{"buffer": "f"}, {"buffer": "u", "offset": 4}, {"name": "x", "type": "s8", "value": -3},
                  {"bytes": "00ff10"}]})",
                                    ".");
  const Launch again = parseLaunch(writeLaunch(launch), ".");
  CHECK(again.name == launch.name);
  CHECK(again.file == launch.file);
  CHECK(again.kernel == launch.kernel);
  CHECK(again.grid == launch.grid);
  CHECK(again.block == launch.block);
  CHECK(again.dynamicShared == launch.dynamicShared);
  REQUIRE(again.buffers.size() == launch.buffers.size());
  for (std::size_t i = 0; i < launch.buffers.size(); ++i) {
    const Buffer &got = again.buffers[i], &wanted = launch.buffers[i];
    CAPTURE(wanted.name);
    CHECK(got.name == wanted.name);
    CHECK(got.type == wanted.type);
    CHECK(got.elements == wanted.elements);
    CHECK(got.initial == wanted.initial);
    CHECK(got.print == wanted.print);
    CHECK(got.tolerance.absolute == wanted.tolerance.absolute);
    CHECK(got.tolerance.relative == wanted.tolerance.relative);
    REQUIRE(got.expected.has_value() == wanted.expected.has_value());
    if (wanted.expected) CHECK(got.expected->bytes == wanted.expected->bytes);
  }
  REQUIRE(again.arguments.size() == launch.arguments.size());
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    CHECK(again.arguments[i].buffer == launch.arguments[i].buffer);
    CHECK(again.arguments[i].offset == launch.arguments[i].offset);
    CHECK(again.arguments[i].bytes == launch.arguments[i].bytes);
  }
}

TEST_CASE("an argument with pointers in it was not written") {
  const Launch launch = parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1,
    "buffers": [{"name": "a", "type": "u32", "count": 4}, {"name": "b", "type": "u32", "count": 4}],
    "arguments": [{"fields": [{"type": "u32", "value": 7}, {"buffer": "a", "offset": -4}, {"buffer": "b"},
                              {"type": "u16", "value": 9}], "size": 40}]})",
                                    ".");
  const Launch again = parseLaunch(writeLaunch(launch), ".");
  REQUIRE(again.arguments.size() == 1);
  const Argument &got = again.arguments[0], &wanted = launch.arguments[0];
  CHECK(got.bytes == wanted.bytes);
  REQUIRE(got.pointers.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(got.pointers[i].at == wanted.pointers[i].at);
    CHECK(got.pointers[i].buffer == wanted.pointers[i].buffer);
    CHECK(got.pointers[i].offset == wanted.pointers[i].offset);
  }
}

TEST_CASE("a launch with pointers in a buffer is not written") {
  const Launch launch = parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1, "buffers": [
    {"name": "p", "type": "u64", "count": 1, "init": {"generator": "pointers", "targets": [{"buffer": "p"}]}}]})",
                                    ".");
  CHECK_THROWS_AS(writeLaunch(launch), Error);
}
