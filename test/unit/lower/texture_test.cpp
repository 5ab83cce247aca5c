#include "lowered.h"

#include <doctest/doctest.h>

using namespace orias::ptx;

// The last but one of the modifiers is the geometry: 0 a line, 1 a plane, 4 an array of lines.
TEST_CASE("a line is sampled as the first row of a plane, and fetched as a line") {
  const std::string sampled = lowered("tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5}];");
  CAPTURE(sampled);
  CHECK(inOrder(sampled, {"TEX<0,3,0,0,0,1,0,1,15>"}));
  const std::string fetched = lowered("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r5}];");
  CAPTURE(fetched);
  CHECK(inOrder(fetched, {"TLD<0,1,0,0,0,1,0,0,15>"}));
  const std::string layered = lowered("tex.a1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%r5, %f5}];");
  CAPTURE(layered);
  CHECK(inOrder(layered, {"TEX<0,3,0,0,0,1,0,4,15>"}));
}
