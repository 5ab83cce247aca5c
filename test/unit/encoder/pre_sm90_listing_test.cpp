#include "encoder/control_flow.h"
#include "encoder/isa/target.h"
#include "encoder/listing_rows.h"
#include "encoder/word_liveness.h"

#include <doctest/doctest.h>

#include <vector>

// A loop from ptxas for sm_80, where branch distances and types of atomics have other fields than on sm_90.

using namespace orias;
using namespace orias::encoder;

namespace {

const std::vector<isa::Word> kLoop = {
    {0x00000003060979a8, 0x000ea200081ee1c4}, // ATOMG.E.ADD.STRONG.GPU PT, R9, desc[UR4][R6.64], R3
    {0xffffffe000000947, 0x000fea000383ffff}, // @P0 BRA to the first
    {0x000000000000794d, 0x000fea0003800000}, // EXIT
    {0xfffffff000007947, 0x000fc0000383ffff}  // BRA to itself
};

const isa::Target& chip(const char* name) {
  return *isa::Target::find(name);
}

} // namespace

TEST_CASE("control flow of words of sm_80 is read as sm_80 has it") {
  const std::vector<Flow> flows = flowsOf(kLoop, chip("sm_80"));
  CHECK(flows[1].target == 0u);
  CHECK(flows[1].fallsThrough);
  CHECK(flows[3].target == 3u);
  CHECK(flowsOf(kLoop, chip("sm_90"))[1].target != 0u); // the same bits have another meaning there
}

TEST_CASE("listings of words of sm_80 are read as sm_80 has them") {
  const std::vector<ListingRow> rows = listingRows(kLoop, {}, chip("sm_80"));
  CHECK(rows[0].label == ".L_x_0");
  CHECK(rows[0].text == "ATOMG.E.ADD.STRONG.GPU PT, R9, [R6.64], R3");
  CHECK(rows[1].text == "@P0 BRA .L_x_0");
  CHECK(rows[3].text == "BRA .L_x_1");
}

TEST_CASE("liveness of words of sm_80 follows their branches") {
  const WordLiveness liveness = livenessOf(kLoop, {}, chip("sm_80"));
  // R9 is written in each iteration and never read. The loop does not write the registers that it reads.
  CHECK(liveness.used[static_cast<unsigned>(isa::File::R)] == 10);
  CHECK(liveness.used[static_cast<unsigned>(isa::File::P)] == 1);
}
