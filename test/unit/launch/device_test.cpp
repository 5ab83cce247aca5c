#include "support/check.h"
#include "tools/launch/element.h"
#include "tools/launch/launch.h"

#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <limits>

using namespace orias;
using namespace orias::launch;

namespace {

template <typename T> std::vector<std::byte> bytesOf(std::initializer_list<T> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

Launch twoBuffers() {
  Launch launch;
  launch.kernel = "k";
  Buffer a, b;
  a.name = "a";
  a.elements = 4;
  a.initial = bytesOf<std::uint32_t>({1, 2, 3, 4});
  b.name = "b";
  b.type = ElementType::F32;
  b.elements = 2;
  b.initial = bytesOf<float>({1.5f, -0.0f});
  launch.buffers = {a, b};
  return launch;
}

template <typename T> void put(Device& device, std::size_t buffer, std::size_t index, T value) {
  const std::uint64_t address = device.global.allocations()[buffer].address + index * sizeof(T);
  REQUIRE(device.global.write(address, std::as_bytes(std::span(&value, 1))) == Fault::None);
}

std::string halfText(ElementType type, double value) {
  std::byte bytes[2];
  storeFloat(type, value, bytes);
  return elementText(type, bytes);
}

} // namespace

TEST_CASE("a device holds the buffers of its launch at the same addresses each time") {
  const Launch launch = twoBuffers();
  const Device one(launch), two(launch);
  CHECK(one.global.allocations()[0].address == Device::kGlobalBase);
  CHECK(one.global.allocations()[1].address == two.global.allocations()[1].address);
  CHECK(elementsText(ElementType::U32, one.bufferBytes(0), 3) == "1 2 3");
  CHECK(elementsText(ElementType::F32, one.bufferBytes(1), 99) == "1.5 -0");
}

TEST_CASE("uninitialised buffers are known as such when tracking") {
  Launch launch = twoBuffers();
  launch.buffers[1].initial.clear();
  Device device(launch, true);
  std::uint32_t word = 0;
  const auto read = [&](std::size_t buffer) {
    return device.global.read(device.global.allocations()[buffer].address, std::as_writable_bytes(std::span(&word, 1)));
  };
  CHECK(read(0) == Fault::None);
  CHECK(read(1) == Fault::Uninitialised);
}

TEST_CASE("parameters get values, addresses, and addresses inside of structs") {
  Launch launch = twoBuffers();
  launch.arguments.resize(3);
  launch.arguments[0].bytes = bytesOf<std::uint32_t>({7});
  launch.arguments[1].buffer = 1;
  launch.arguments[1].offset = 4;
  launch.arguments[2].bytes = bytesOf<std::uint64_t>({9, 0});
  launch.arguments[2].pointers = {{8, 0, 0}};
  const Device device(launch);
  const ParameterPlace places[] = {{0, 4}, {8, 8}, {16, 16}};
  const auto bytes = device.parameterBytes(places);
  REQUIRE(bytes.size() == 32);
  std::uint64_t words[4];
  std::memcpy(words, bytes.data(), sizeof words);
  CHECK(words[0] == 7);
  CHECK(words[1] == device.global.find("b")->address + 4);
  CHECK(words[2] == 9);
  CHECK(words[3] == Device::kGlobalBase);

  const ParameterPlace wrongSize[] = {{0, 8}, {8, 8}, {16, 16}};
  CHECK_THROWS_WITH_AS(device.parameterBytes(wrongSize), "argument 0 of kernel 'k' has 8 bytes; the launch gives 4",
                       Error);
  CHECK_THROWS_WITH_AS(device.parameterBytes(std::span(places, 2)), "kernel 'k' takes 2 arguments; the launch gives 3",
                       Error);
}

TEST_CASE("buffers can hold pointers to buffers") {
  Launch launch = twoBuffers();
  launch.buffers[0].pointers = {{8, 1, 4}};
  const Device device(launch);
  std::uint64_t words[2];
  std::memcpy(words, device.bufferBytes(0).data(), sizeof words);
  CHECK(words[0] == (2ull << 32 | 1));
  CHECK(words[1] == device.global.allocations()[1].address + 4);
}

TEST_CASE("expectations and comparisons name the first element that differs") {
  Launch launch = twoBuffers();
  launch.buffers[0].expected = Expectation{bytesOf<std::uint32_t>({1, 2, 3}), {}};
  launch.buffers[1].expected = Expectation{bytesOf<float>({1.5f, 0.0f}), {}};
  Device device(launch);
  // Zeros with different signs are different bits.
  auto wrong = checkExpected(device);
  REQUIRE(wrong.size() == 1);
  CHECK(wrong[0].buffer == "b");
  CHECK(wrong[0].index == 1);
  CHECK(wrong[0].got == "-0");
  CHECK(wrong[0].wanted == "0");

  put(device, 1, 1, 0.0f);
  put(device, 0, 3, 99u); // after the expected elements
  CHECK(checkExpected(device).empty());
  put(device, 0, 1, 5u);
  put(device, 0, 2, 6u);
  wrong = checkExpected(device);
  REQUIRE(wrong.size() == 1);
  CHECK(wrong[0].index == 1);
  CHECK(wrong[0].count == 2);

  Device other(launch);
  CHECK(compare(other, Device(launch)).empty());
  CHECK(compare(device, other).size() == 2);
}

TEST_CASE("module variables are compared by name") {
  const Launch launch = twoBuffers();
  Device one(launch), two(launch);
  one.global.allocate("x", 4);
  one.global.allocate("y", 4);
  two.global.allocate("y", 4);
  CHECK(compare(one, two).empty());
  *two.global.at(two.global.find("y")->address + 2, 1) = std::byte{8};
  const auto found = compare(one, two);
  REQUIRE(found.size() == 1);
  CHECK(found[0].buffer == "y");
  CHECK(found[0].index == 2);
  CHECK(found[0].wanted == "8");
}

TEST_CASE("an address in the initial value may be another one in each engine, until somebody writes there") {
  const Launch launch = twoBuffers();
  Device one(launch), two(launch);
  for (Device* device : {&one, &two}) {
    device->global.allocate("filler", device == &one ? 16 : 512);
    const std::uint64_t at = device->global.allocate("table", 16);
    std::memcpy(device->global.at(at + 8, 8), &at, 8);
    device->global.noteAddress(at + 8, 8);
  }
  const auto bytesOfTable = [](Device& device) { return device.global.at(device.global.find("table")->address, 16); };
  CHECK(compare(one, two).empty());
  bytesOfTable(one)[0] = std::byte{1}; // before the address
  CHECK(compare(one, two).size() == 1);
  bytesOfTable(two)[0] = std::byte{1};
  CHECK(compare(one, two).empty());
  bytesOfTable(one)[9] = std::byte{0x77};
  CHECK(compare(one, two).size() == 1);
}

TEST_CASE("elements agree within their tolerance") {
  const auto agree = [](float got, float wanted, Tolerance tolerance) {
    return elementsAgree(ElementType::F32, reinterpret_cast<std::byte*>(&got), reinterpret_cast<std::byte*>(&wanted),
                         tolerance);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  CHECK(agree(nan, -nan, {}));
  CHECK_FALSE(agree(nan, 1, {1e9, 1}));
  CHECK_FALSE(agree(1, nan, {1e9, 1}));
  CHECK_FALSE(agree(inf, 1e30f, {1, 1}));
  CHECK(agree(inf, inf, {1, 1}));
  CHECK_FALSE(agree(inf, -inf, {1, 1}));
  CHECK(agree(0.0f, -0.0f, {1e-30, 0}));
  CHECK(agree(100.5f, 100, {0, 0.006}));
  CHECK_FALSE(agree(101, 100, {0, 0.006}));
  const std::uint32_t a = 5, b = 0xffffffff;
  CHECK_FALSE(elementsAgree(ElementType::U32, reinterpret_cast<const std::byte*>(&a),
                            reinterpret_cast<const std::byte*>(&b), {6, 0}));
  CHECK(elementsAgree(ElementType::S32, reinterpret_cast<const std::byte*>(&a), reinterpret_cast<const std::byte*>(&b),
                      {6, 0}));
}

TEST_CASE("16-bit floats round to nearest even and saturate to infinity") {
  CHECK(halfText(ElementType::F16, 1) == "1");
  CHECK(halfText(ElementType::F16, -2.5) == "-2.5");
  CHECK(halfText(ElementType::F16, 65504) == "65504");
  CHECK(halfText(ElementType::F16, 65519) == "65504");
  CHECK(halfText(ElementType::F16, 65520) == "inf");
  CHECK(halfText(ElementType::F16, 1e30) == "inf");
  CHECK(halfText(ElementType::F16, 2049) == "2048");
  CHECK(halfText(ElementType::F16, 2051) == "2052");
  CHECK(halfText(ElementType::F16, 0x1p-24) == fmt::format("{}", 0x1p-24f));
  CHECK(halfText(ElementType::F16, 0x1p-25) == "0");
  CHECK(halfText(ElementType::F16, 0x1.8p-25) == fmt::format("{}", 0x1p-24f));
  CHECK(halfText(ElementType::F16, 0x1.ffcp-15) == fmt::format("{}", 0x1p-14f)); // out of the subnormals
  CHECK(halfText(ElementType::BF16, 257) == "256");
  CHECK(halfText(ElementType::BF16, 3.4e38) == "inf");
  CHECK(halfText(ElementType::BF16, -0.0) == "-0");
  CHECK(halfText(ElementType::F16, std::nan("")) == "nan");
}

TEST_CASE("module variables are found after the buffers, even under a buffer's name") {
  Launch launch = twoBuffers();
  launch.variables = {{"a", ElementType::U32, {bytesOf<std::uint32_t>({7}), {}}}};
  Device device(launch);
  CHECK(device.variable("a") == nullptr);
  REQUIRE(checkExpected(device).size() == 1);
  CHECK(checkExpected(device)[0].got == "not there");
  const std::uint64_t address = device.global.allocate("a", 8);
  REQUIRE(device.variable("a") != nullptr);
  CHECK(device.variable("a")->address == address);
  CHECK(checkExpected(device)[0].wanted == "7");
  const std::uint32_t seven = 7;
  std::memcpy(device.global.at(address, 4), &seven, 4);
  CHECK(checkExpected(device).empty());
}

TEST_CASE("a launch that must stop is not well when it completes") {
  Launch launch;
  RunResult result;
  result.completed = true;
  CHECK(endedAsExpected(launch, result));
  launch.stops = "trap";
  CHECK(!endedAsExpected(launch, result));
  result.completed = false;
  result.reports = {{"memcheck", "", ""}};
  CHECK(!endedAsExpected(launch, result));
  result.reports[0].kind = "trap";
  CHECK(endedAsExpected(launch, result));
  launch.stops.clear();
  CHECK(!endedAsExpected(launch, result));
}
