#include "support/check.h"
#include "tools/launch/launch.h"

#include <bit>
#include <doctest/doctest.h>
#include <string>

// Textures of launch files, and what is read from them.

using namespace orias;
using namespace orias::launch;

namespace {

/// Four texels 0, 10, 20, 30 in a line, or two by two.
Launch launchWith(const std::string& texture, const std::string& type = "f32") {
  return parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1, "buffers": [{"name": "b", "type": ")" + type +
                         R"(", "init": [0, 10, 20, 30]}], "textures": [{"name": "t", "buffer": "b", )" + texture +
                         "}]}",
                     ".");
}

float sampled(const std::string& texture, float x, float y = 0) {
  const Launch launch = launchWith(texture);
  const Device device(launch);
  return std::bit_cast<float>(device.texels(1)->sample({x, y, 0}, 0, {})[0]);
}

std::string errorOf(const std::string& texture, const std::string& type = "f32") {
  try {
    launchWith(texture, type);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

const std::string kLine = R"("shape": "1d", "size": [4])";
const std::string kUnit = kLine + R"(, "normalizedCoordinates": true)";

} // namespace

TEST_CASE("the nearest texel, and what stands outside") {
  CHECK(sampled(kLine, 1.75f) == 10);
  CHECK(sampled(kLine, -3) == 0);
  CHECK(sampled(kLine, 9) == 30);
  CHECK(sampled(kLine + R"(, "address": "border")", 9) == 0);
  CHECK(sampled(kLine + R"(, "address": "wrap")", 5) == 30); // clamped: only coordinates from 0 to 1 wrap
  CHECK(sampled(kUnit + R"(, "address": "wrap")", 1.3f) == 10);
  CHECK(sampled(kUnit + R"(, "address": "wrap")", -0.1f) == 30);
  CHECK(sampled(kUnit + R"(, "address": "mirror")", 1.3f) == 20);
  CHECK(sampled(kUnit + R"(, "address": ["mirror"])", -0.3f) == 10);
  CHECK(sampled(kLine, std::bit_cast<float>(0x7fc00000u)) == 0);
}

TEST_CASE("filters weigh neighbours in 256 steps") {
  const std::string linear = R"(, "filter": "linear")";
  CHECK(sampled(kLine + linear, 1.5f) == 10);
  CHECK(sampled(kLine + linear, 1.75f) == 12.5f);
  CHECK(sampled(kLine + linear, 1.5f + 1 / 1024.f) == 10); // less than half a step
  CHECK(sampled(kLine + linear, 1.5f + 1 / 256.f) == 10 + 10 / 256.f);
  CHECK(sampled(kLine + linear + R"(, "address": "border")", 0) == 0);
  CHECK(sampled(kLine + linear + R"(, "address": "border")", 4) == 15);
  CHECK(sampled(R"("shape": "2d", "size": [2, 2])" + linear, 1, 1) == 15);
}

TEST_CASE("integers are read as they are or as fractions; components that are not there are 0, 0 and 1") {
  const Launch whole = launchWith(R"("shape": "2d", "size": [1, 2], "channels": 2)", "s16");
  const Device wholeDevice(whole);
  CHECK(wholeDevice.texels(1)->fetch({0, 1, 0}, 0) == Texel{20, 30, 0, 1});
  CHECK(wholeDevice.texels(1)->fetch({0, 2, 0}, 0) == Texel{});
  const Launch unit = launchWith(kLine + R"(, "normalizedValues": true)", "u8");
  const Device unitDevice(unit);
  CHECK(unitDevice.texels(1)->fetch({3, 0, 0}, 0) == Texel{std::bit_cast<std::uint32_t>(30 / 255.f), 0, 0, 0x3f800000});
}

TEST_CASE("handles name textures in order; other numbers name none") {
  const Launch launch = launchWith(kLine);
  const Device device(launch);
  CHECK(device.texels(1).has_value());
  CHECK_FALSE(device.texels(0).has_value());
  CHECK_FALSE(device.texels(2).has_value());
}

TEST_CASE("errors in textures name the place") {
  CHECK(errorOf(R"("shape": "1d", "size": [5])").find("textures[0]: the texture takes 20 bytes") != std::string::npos);
  CHECK(errorOf(R"("shape": "2d", "size": [4])").find("textures[0].size") != std::string::npos);
  CHECK(errorOf(R"("shape": "cube", "size": [1, 1])").find("\"cube\" is none of 1d, 2d") != std::string::npos);
  CHECK(errorOf(kLine + R"(, "filter": "linear")", "u8").find("not filtered") != std::string::npos);
  CHECK(errorOf(kLine, "f64").find("textures[0].buffer") != std::string::npos);
  CHECK(errorOf(kLine + R"(, "channels": 3)").find("1, 2 or 4") != std::string::npos);
}
