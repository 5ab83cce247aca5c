#include "support/check.h"
#include "tools/launch/gradient_function.h"
#include "tools/launch/launch.h"
#include "tools/launch/texture_table.h"

#include <bit>
#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <utility>

// Textures of launch files, and the values of reads.

using namespace orias;
using namespace orias::launch;

namespace {

/// A texture with four texels 0, 10, 20, 30 in a line, or two by two.
Launch launchWith(const std::string& texture, const std::string& type = "f32") {
  return parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1, "buffers": [{"name": "b", "type": ")" + type +
                         R"(", "init": [0, 10, 20, 30]}], "textures": [{"name": "t", "buffer": "b", )" + texture +
                         "}]}",
                     ".");
}

float sampled(const std::string& texture, float x, float y = 0) {
  const Launch launch = launchWith(texture);
  const Device device(launch);
  return std::bit_cast<float>(device.texels(1)->sample({{x, y, 0}, 0, {}, 0, {}})[0]);
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

TEST_CASE("the nearest texel, and what is outside") {
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

TEST_CASE("filters weigh neighbors in 256 steps") {
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

namespace {

/// A texture of floats that count from 0.
Launch counting(const std::string& texture, unsigned count) {
  return parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1, "buffers": [{"name": "b", "type": "f32", "count": )" +
                         std::to_string(count) + R"(, "init": "i"}], "textures": [{"name": "t", "buffer": "b", )" +
                         texture + "}]}",
                     ".");
}

float firstOf(const Texel& texel) {
  return std::bit_cast<float>(texel[0]);
}

} // namespace

TEST_CASE("a direction finds its face of a cube, seen from inside") {
  const Launch launch = counting(R"("shape": "cube", "size": [2])", 24);
  const Device device(launch);
  const auto at = [&](float x, float y, float z) {
    return firstOf(device.texels(1)->sample({{x, y, z}, 0, {}, 0, {}}));
  };
  // Faces of four texels: x, -x, y, -y, z, -z. Down is -y, except on the faces of y.
  CHECK(at(2, 1, 1) == 0);
  CHECK(at(2, 1, -1) == 1);
  CHECK(at(2, -1, -1) == 3);
  CHECK(at(-2, 1, -1) == 4);
  CHECK(at(-1, 2, -1) == 8);
  CHECK(at(-1, -2, 1) == 12);
  CHECK(at(1, -1, 2) == 19);
  CHECK(at(1, 1, -2) == 20);
  CHECK(at(1, 1, 1) == 17); // equal to z
}

TEST_CASE("levels of detail follow each other, and the nearest is read") {
  const Launch launch =
      counting(R"("shape": "2d", "size": [4, 2], "levels": 3, "normalizedCoordinates": true)", 8 + 2 + 1);
  const Device device(launch);
  const auto texels = device.texels(1);
  const auto at = [&](float level) { return firstOf(texels->sample({{0.9f, 0.9f, 0}, 0, {}, level, {}})); };
  CHECK(at(-3) == 7);
  CHECK(at(0.4f) == 7);
  CHECK(at(0.5f) == 9);
  CHECK(at(2) == 10);
  CHECK(at(9) == 10);
  CHECK(firstOf(texels->fetch({0, 0, 0}, 0, 1)) == 8);
  CHECK(firstOf(texels->fetch({2, 0, 0}, 0, 1)) == 0); // outside of that level
  const float two[] = {0.5f, 0}, little[] = {0, 0.25f};
  CHECK(texels->levelFor({}, two, little) == 1);
  CHECK(texels->levelFor({}, little, two) == 1);
}

TEST_CASE("the level of detail of a cube is that of the distance on the face") {
  const Launch launch = counting(R"("shape": "cube", "size": [4], "levels": 3)", 6 * (16 + 4 + 1));
  const Device device(launch);
  const auto texels = device.texels(1);
  const float none[] = {0, 0, 0};
  // The face of x extends from -1 to 1 at the distance 1: half its side is two texels.
  const float across[] = {0, 0, 1}, longer[] = {0, 2, 0}, outwards[] = {3, 0, 0};
  CHECK(texels->levelFor({1, 0, 0}, across, none) == 1);
  CHECK(texels->levelFor({1, 0, 0}, across, longer) == 2);
  CHECK(texels->levelFor({2, 0, 0}, longer, none) == 1); // twice as far away
  CHECK(texels->levelFor({1, 0, 0}, outwards, none) < -100);
}

TEST_CASE("functions of the driver that read textures by derivatives are known by their names") {
  const auto whole = GradientFunction::named("__cuda_syscall_tex_grad_pred_a2d_v4_f16_f32_offset_depth_compare");
  REQUIRE(whole);
  CHECK(whole->shape == TextureShape::PlaneLayers);
  CHECK(whole->hasPredicate);
  CHECK(whole->givesHalves);
  CHECK(whole->hasOffset);
  CHECK(whole->hasReference);
  const auto plain = GradientFunction::named("__cuda_syscall_tex_grad_cube_v4_s32_f32");
  REQUIRE(plain);
  CHECK(plain->shape == TextureShape::Cube);
  CHECK_FALSE((plain->hasPredicate || plain->givesHalves || plain->hasOffset || plain->hasReference));
  CHECK_FALSE(GradientFunction::named("__cuda_syscall_tex_grad_cube_v4_s32_f32_later"));
  CHECK_FALSE(GradientFunction::named("vprintf"));
}

TEST_CASE("the driver's tables have an entry for each handle") {
  const Launch launch = counting(
      R"("shape": "a1d", "size": [4, 3], "channels": 2, "address": "border", "normalizedCoordinates": true)", 24);
  const Device device(launch);
  const auto word = [&](std::uint64_t table, unsigned offset) {
    std::uint32_t value = 0;
    std::memcpy(&value, device.global.at(table + kTextureEntryBytes + offset, 4), 4);
    return value;
  };
  CHECK(word(device.textureTableAddress, 0x0c) == 4);      // clamp_to_border
  CHECK(word(device.textureTableAddress, 0x1c) == 1);      // coordinates are normalized
  CHECK(word(device.textureTableAddress, 0x24) == 0x10b2); // RG
  CHECK(word(device.textureTableAddress, 0x28) == 3);      // layers
  CHECK(word(device.surfaceTableAddress, 0x1c) == 3);
  CHECK(word(device.surfaceTableAddress, 0x10) == 0x10b2);
  CHECK(device.handleOf("t") == 1);
  CHECK_THROWS_AS(device.handleOf("another"), orias::Error);
}

TEST_CASE("samples lie side by side; a value is compared before texels are filtered") {
  const Launch many = counting(R"("shape": "2dms", "size": [2, 2], "samples": 3)", 12);
  const Device device(many);
  CHECK(firstOf(device.texels(1)->fetch({1, 1, 0}, 0, 0, 2)) == 11);
  CHECK(firstOf(device.texels(1)->fetch({0, 0, 0}, 0, 0, 3)) == 0);
  const Launch line = counting(R"("shape": "1d", "size": [4], "filter": "linear", "comparison": "less")", 4);
  const Device lineDevice(line);
  const auto compared = [&](float value) {
    return firstOf(lineDevice.texels(1)->sample({{1.75f, 0, 0}, 0, {}, 0, value}));
  };
  CHECK(compared(0.5f) == 1);
  CHECK(compared(1) == 0.25f); // only 2 of 1 and 2 is greater
  CHECK(compared(2) == 0);
}

TEST_CASE("stored texels are rounded to the format and clamped to its range") {
  const auto packed = [](const std::string& type, const std::string& more, std::array<std::uint32_t, 2> values) {
    const Launch launch = launchWith(R"("shape": "1d", "size": [1], "channels": 2)" + more, type);
    const auto bytes = Device(launch).texels(1)->packed(values);
    return std::pair(std::to_integer<int>(bytes[0]), std::to_integer<int>(bytes[1]));
  };
  CHECK(packed("u8", "", {300, 7}) == std::pair(255, 7));
  CHECK(packed("s8", "", {~std::uint32_t{299}, 7}) == std::pair(0x80, 7));
  CHECK(packed("u8", R"(, "normalizedValues": true)", {0x3f800000, 0xbf800000}) == std::pair(255, 0));
  CHECK(packed("f16", "", {0x3f800000, 0}) == std::pair(0, 0x3c));
}

TEST_CASE("handles name textures in order; other numbers name none") {
  const Launch launch = launchWith(kLine);
  const Device device(launch);
  CHECK(device.texels(1).has_value());
  CHECK_FALSE(device.texels(0).has_value());
  CHECK_FALSE(device.texels(2).has_value());
}

TEST_CASE("a sampler says how a texture is filtered, whatever that says itself") {
  const Launch launch = parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1,
    "buffers": [{"name": "x", "type": "f32", "count": 4, "init": [1, 3, 5, 7]}],
    "textures": [{"name": "t", "buffer": "x", "shape": "1d", "size": [4], "normalizedCoordinates": true}],
    "samplers": [{"name": "sharp"}, {"name": "smooth", "filter": "linear", "address": "border"},
                 {"name": "whole", "forceUnnormalizedCoordinates": true}],
    "arguments": [{"sampler": "smooth"}]})",
                                    ".");
  const Device device(launch);
  const auto at = [&](std::uint32_t sampler, float x) {
    Texels::Place place;
    place.at[0] = x;
    return std::bit_cast<float>(device.texels(1, sampler)->sample(place)[0]);
  };
  CHECK(at(1, 0.5f) == 5);
  CHECK(at(2, 0.5f) == 4);
  CHECK(at(2, 1.0f) == 3.5f);
  CHECK(at(3, 2.5f) == 5);
  CHECK(device.sampler(2)->isLinear);
  CHECK(device.sampler(4) == nullptr);
  CHECK(device.sampler(0) == nullptr);
  CHECK_FALSE(device.texels(1, 4).has_value());
  CHECK(device.handleArgument(0) == 2);
  CHECK(device.findHandle("whole") == 3);
  CHECK_FALSE(device.findHandle("other").has_value());
}

TEST_CASE("errors in textures name the place") {
  CHECK(errorOf(R"("shape": "1d", "size": [5])").find("textures[0]: the texture takes 20 bytes") != std::string::npos);
  CHECK(errorOf(R"("shape": "2d", "size": [4])").find("textures[0].size") != std::string::npos);
  CHECK(errorOf(R"("shape": "round", "size": [1, 1])").find("unknown value \"round\"; expected one of 1d, 2d") !=
        std::string::npos);
  CHECK(errorOf(R"("shape": "cube", "size": [1, 1])").find("textures[0].size") != std::string::npos);
  CHECK(errorOf(kLine + R"(, "samples": 2)").find("textures[0].samples") != std::string::npos);
  CHECK(errorOf(kLine + R"(, "levels": 4)").find("textures[0].levels") != std::string::npos);
  CHECK(errorOf(kLine + R"(, "filter": "linear")", "u8").find("not filtered") != std::string::npos);
  CHECK(errorOf(kLine, "f64").find("textures[0].buffer") != std::string::npos);
  CHECK(errorOf(kLine + R"(, "channels": 3)").find("1, 2 or 4") != std::string::npos);
}
