#include "tools/launch/launch.h"
#include "tools/launch/tensor_map.h"

#include "support/check.h"

#include <doctest/doctest.h>

#include <cstring>

namespace orias::launch {

namespace {

TensorMap plane() {
  TensorMap map;
  map.address = 0x1000;
  map.rank = 2;
  map.size = {10, 4, 1, 1, 1};
  map.stride = {48, 0, 0, 0};
  map.box = {4, 3, 1, 1, 1};
  return map;
}

} // namespace

TEST_CASE("a tensor's map survives its bytes") {
  TensorMap map = plane();
  map.type = TensorMap::Type::TF32Ftz;
  map.stride = {48, 0x123456780, 16, 0xf00000010};
  map.elementStride = {1, 8, 3, 2, 5};
  map.box = {256, 1, 2, 3, 255};
  map.swizzle = 3;
  map.fillsNan = true;
  map.mode = TensorMap::Mode::Width128;
  map.lower = {-1, 2, -3};
  map.upper = {4, -5, 6};
  map.channels = 64;
  map.pixels = 1024;
  const auto bytes = map.encode();
  const TensorMap back = TensorMap::decode(bytes);
  CHECK(back.encode() == bytes);
  CHECK(back.type == map.type);
  CHECK(back.stride == map.stride);
  CHECK(back.box == map.box);
  CHECK(back.elementStride == map.elementStride);
  CHECK(back.lower == map.lower);
  CHECK(back.pixels == map.pixels);
  CHECK(back.mode == map.mode);
}

TEST_CASE("fields of a map lie where ptxas' code for tensormap.replace writes them") {
  TensorMap map = plane();
  map.rank = 3;
  map.type = TensorMap::Type::F16;
  map.box[0] = 17;
  const auto bytes = map.encode();
  std::uint32_t kind = 0;
  std::memcpy(&kind, bytes.data() + 8, 4);
  CHECK(kind == (2u << 4 | 6u << 7));
  CHECK(bytes[0x20] == std::byte{9});  // size minus one
  CHECK(bytes[0x0c] == std::byte{3});  // stride, in units of 16
  CHECK(bytes[0x37] == std::byte{16}); // box minus one
}

TEST_CASE("the elements of a box, inside and outside of the tensor") {
  const std::int64_t at[] = {8, -1};
  const auto elements = plane().elements(TensorMap::Mode::Box, at, {}, 0x80);
  REQUIRE(elements.size() == 12);
  CHECK_FALSE(elements[0].global); // above the first row
  CHECK(elements[4].global == 0x1000 + 8 * 4);
  CHECK(elements[5].global == 0x1000 + 9 * 4);
  CHECK_FALSE(elements[6].global); // after the row's end
  CHECK(elements[8].global == 0x1000 + 48 + 8 * 4);
  CHECK(elements[8].shared == 0x80 + 8 * 4);
}

TEST_CASE("a stride between elements, and a swizzle") {
  TensorMap map = plane();
  map.elementStride = {2, 1, 1, 1, 1};
  map.swizzle = 1; // 32 bytes: bit 7 changes bit 4
  const std::int64_t at[] = {0, 0};
  const auto elements = map.elements(TensorMap::Mode::Box, at, {}, 0x80);
  REQUIRE(elements.size() == 6);
  CHECK(elements[1].global == 0x1000 + 2 * 4);
  CHECK(elements[1].shared == (0x84 ^ 0x10));
}

TEST_CASE("pixels of an image go along the bounding box and on into the next row") {
  TensorMap map;
  map.rank = 3; // channels, width, images
  map.size = {8, 5, 2, 1, 1};
  map.stride = {32, 160, 0, 0};
  map.mode = TensorMap::Mode::Image;
  map.lower = {-1, 0, 0};
  map.upper = {-1, 0, 0};
  map.channels = 2;
  map.pixels = 3;
  const std::int64_t at[] = {0, 2, 0};
  const unsigned offsets[] = {1};
  const auto elements = map.elements(TensorMap::Mode::Image, at, offsets, 0);
  REQUIRE(elements.size() == 6);
  CHECK(elements[0].global == 3 * 32);     // 2, moved by 1
  CHECK(elements[1].global == 3 * 32 + 4); // its next channel
  CHECK(elements[2].global == 4 * 32);     // 3 is the box's last
  CHECK(elements[4].global == 160);        // -1 of the next image, moved by 1
}

TEST_CASE("pixels along the width stay in their row, and go on in the next image") {
  using Mode = TensorMap::Mode;
  TensorMap map;
  map.rank = 4; // channels, width, height, images
  map.size = {64, 5, 3, 40, 1};
  map.stride = {64, 320, 960, 0};
  map.type = TensorMap::Type::U8;
  map.mode = Mode::Width;
  map.swizzle = 2;
  map.elementStride = {1, 2, 3, 1, 1}; // that of the height has no effect
  map.lower = {-1, -7, 0};
  map.upper = {-1, -7, 0};
  map.channels = 1;
  map.pixels = 4;
  const std::int64_t at[] = {5, 0, 2, 0};
  const unsigned offsets[] = {0, 1}; // wHalo, wOffset
  CHECK_FALSE(map.fault(Mode::Width, 4, offsets));
  const auto elements = map.elements(Mode::Width, at, offsets, 0);
  REQUIRE(elements.size() == 4);
  const auto pixel = [](unsigned w, unsigned image) { return 5u + 64 * w + 320 * 2 + 960 * image; };
  CHECK(elements[0].global == pixel(1, 0)); // 0, moved by 1
  CHECK(elements[1].global == pixel(3, 0)); // 2, and 4 is outside the box
  CHECK(elements[2].global == pixel(0, 1)); // -1 of the next image, in the same row
  CHECK(elements[3].global == pixel(2, 1));
  CHECK(elements[3].shared == 3);
  map.mode = Mode::Width128;
  CHECK(map.elements(Mode::Width128, at, offsets, 0).size() == 128);

  const unsigned halo[] = {2, 0};
  CHECK(map.fault(Mode::Width128, 4, halo)->kind == "unsupported");
  CHECK(map.fault(Mode::Width, 4, offsets)->kind == "memcheck");    // the map is for the other mode
  CHECK(map.fault(Mode::Width128, 5, offsets)->kind == "memcheck"); // and has four dimensions
  CHECK(map.fault(Mode::Image, 4, offsets)->kind == "memcheck");
  map.swizzle = 0;
  CHECK(map.fault(Mode::Width128, 4, offsets)->kind == "memcheck");
}

TEST_CASE("types that change what is loaded, and what is outside") {
  TensorMap map = plane();
  CHECK(map.outside() == 0);
  map.type = TensorMap::Type::F32Ftz;
  CHECK(map.loaded(0x00000001) == 0);
  map.type = TensorMap::Type::TF32;
  CHECK(map.loaded(0x3f800fff) == 0x3f800000);
  map.fillsNan = true;
  CHECK((map.outside() & 0x7f800000) == 0x7f800000);
}

TEST_CASE("maps and multicast objects in launch files") {
  const Launch launch = parseLaunch(R"({"kernel": "k", "grid": 1, "block": 32,
      "buffers": [{"name": "x", "type": "f16", "count": 128}, {"name": "y", "type": "f16", "count": 128}],
      "multicasts": [{"name": "both", "buffers": ["x", "y"]}],
      "arguments": [{"tensorMap": {"buffer": "y", "size": [16, 8], "box": [8, 2], "swizzle": "32B", "fill": "nan"}},
                    {"multicast": "both"}]})",
                                    ".");
  const Device device(launch);
  const ParameterPlace places[] = {{0, 128}, {128, 8}};
  const std::vector<std::byte> bytes = device.parameterBytes(places);
  const TensorMap map = TensorMap::decode(std::span<const std::byte, 128>(bytes.data(), 128));
  const std::uint64_t x = device.address({0, 0, 0}), y = device.address({0, 1, 0});
  CHECK(map.address == y);
  CHECK(map.type == TensorMap::Type::F16);
  CHECK(map.stride[0] == 32);
  CHECK(map.box[1] == 2);
  CHECK(map.fillsNan);
  std::uint64_t both = 0;
  std::memcpy(&both, bytes.data() + 128, 8);
  CHECK(device.replicas(both + 4) == std::vector<std::uint64_t>{x + 4, y + 4});
  CHECK(device.replicas(both + 256).empty());
  CHECK(device.replicas(x).empty());
}

TEST_CASE("objects that make no sense are errors with their place") {
  const auto parse = [](const std::string& rest) {
    parseLaunch(R"({"kernel": "k", "grid": 1, "block": 1, "buffers": [{"name": "x", "type": "u32", "count": 8},
        {"name": "y", "type": "u32", "count": 4}], )" +
                    rest + "}",
                ".");
  };
  CHECK_THROWS_AS(parse(R"("multicasts": [{"name": "m", "buffers": ["x", "y"]}])"), Error);
  CHECK_THROWS_AS(parse(R"("arguments": [{"multicast": "m"}])"), Error);
  CHECK_THROWS_AS(parse(R"("arguments": [{"tensorMap": {"buffer": "z", "size": [4]}}])"), Error);
  CHECK_THROWS_AS(parse(R"("arguments": [{"tensorMap": {"buffer": "x", "size": [3, 2]}}])"), Error); // stride of 12
  CHECK_THROWS_AS(parse(R"("arguments": [{"tensorMap": {"buffer": "x", "size": [4], "swizzle": "256B"}}])"), Error);
  CHECK_THROWS_AS(
      parse(R"("arguments": [{"tensorMap": {"buffer": "x", "size": [4], "image": {"channels": 1, "pixels": 1}}}])"),
      Error);
}

} // namespace orias::launch
