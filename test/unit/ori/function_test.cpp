#include "ori/function.h"

#include <doctest/doctest.h>

using namespace orias::ori;

TEST_CASE("the threads of a CTA follow from the exact bounds, or else from the maximum") {
  LaunchBounds bounds;
  CHECK(bounds.threads() == 0);
  bounds.maxntid[0] = 64;
  CHECK(bounds.threads() == 64);
  bounds.maxntid[1] = 3;
  bounds.maxntid[2] = 2;
  CHECK(bounds.threads() == 384);
  bounds.reqntid[0] = 32;
  CHECK(bounds.threads() == 32);
}
