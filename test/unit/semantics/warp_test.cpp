#include "evaluate.h"

using namespace orias;
using isa::WarpValues;
using test::Machine;

namespace {

/// Runs an instruction with `value(lane)` in its Use slot `slot`, and `others` in further slots.
WarpValues run(const std::string& text, std::uint32_t active, unsigned slot, std::uint32_t (*value)(unsigned)) {
  const isa::Inst inst = Machine::parse(text);
  WarpValues warp;
  warp.active = active;
  for (unsigned i = 0; i < 32; ++i) {
    for (unsigned s = 0; s < inst.operandCount; ++s)
      if (inst.operands[s].isImm()) warp.lane[i][s] = isa::immediateValue(inst, s);
    warp.lane[i][slot] = isa::LaneValue::of(value(i));
  }
  const isa::WarpFunction function = isa::warpFunction(inst.op);
  test::rowsTested().insert(inst.op);
  REQUIRE((function != nullptr));
  function(inst, warp);
  return warp;
}

std::uint32_t identity(unsigned lane) {
  return lane;
}

} // namespace

TEST_CASE("SHFL within the warp and within segments") {
  WarpValues w = run("SHFL.UP PT, R0, R1, 0x1, RZ", ~0u, 2, identity);
  CHECK(w.lane[5][1].w[0] == 4);
  CHECK(w.lane[0][1].w[0] == 0);
  CHECK(w.lane[0][0].w[0] == 0);
  w = run("SHFL.DOWN PT, R0, R1, 0x4, 0x1f", ~0u, 2, identity);
  CHECK(w.lane[5][1].w[0] == 9);
  CHECK(w.lane[30][1].w[0] == 30);
  CHECK(w.lane[30][0].w[0] == 0);
  w = run("SHFL.BFLY PT, R0, R1, 0x10, 0x1f", ~0u, 2, identity);
  CHECK(w.lane[3][1].w[0] == 19);
  w = run("SHFL.IDX PT, R0, R1, 0x2, 0x181f", ~0u, 2, identity);
  CHECK(w.lane[3][1].w[0] == 2);
  CHECK(w.lane[13][1].w[0] == 10);
}

TEST_CASE("VOTE, MATCH and REDUX see the active lanes only") {
  const auto isOdd = [](unsigned i) { return i & 1; };
  WarpValues w = run("VOTE.ANY R0, P0, P1", 0xff, 2, isOdd);
  CHECK(w.lane[0][0].w[0] == 0xaa);
  CHECK(w.lane[0][1].w[0] == 1);
  w = run("VOTE.ALL R0, P0, P1", 0xaa, 2, isOdd);
  CHECK(w.lane[1][1].w[0] == 1);
  w = run("VOTE.EQ R0, P0, !P1", 0x0f, 2, isOdd);
  CHECK(w.lane[1][1].w[0] == 0);
  CHECK(w.lane[1][0].w[0] == 0x5);
  w = run("MATCH.ANY R0, R1", 0xff, 1, isOdd);
  CHECK(w.lane[2][0].w[0] == 0x55);
  w = run("MATCH.ALL P0, R0, R1", 0xff, 2, isOdd);
  CHECK(w.lane[2][0].w[0] == 0);
  w = run("REDUX.SUM UR4, R1", 0xf0, 1, identity);
  CHECK(w.lane[4][0].w[0] == 22);
  w = run("REDUX.MIN.S32 UR4, R1", 0xff, 1, [](unsigned i) { return 0u - i; });
  CHECK(w.lane[0][0].w[0] == 0xfffffff9);
  w = run("REDUX.MIN UR4, R1", 0xfe, 1, [](unsigned i) { return 0u - i; });
  CHECK(w.lane[1][0].w[0] == 0xfffffff9);
  w = run("CREDUX.MIN.S32 UR4, R1", 0xff, 1, [](unsigned i) { return 0u - i; });
  CHECK(w.lane[0][0].w[0] == 0xfffffff9);
  w = run("CREDUX.MAX UR4, R1", 0xfe, 1, [](unsigned i) { return 0u - i; });
  CHECK(w.lane[1][0].w[0] == 0xffffffff);
  w = run("CREDUX.MAX.F32 UR4, R1", 0x7, 1, [](unsigned i) { return i == 1 ? 0x7fc00000u : 0xbf800000u + i; });
  CHECK(w.lane[0][0].w[0] == 0xbf800000);
  w = run("CREDUX.MINABS.F32.NAN UR4, R1", 0x7, 1, [](unsigned i) { return i == 1 ? 0x7fc00000u : 0xbf800000u; });
  CHECK(w.lane[0][0].w[0] == 0x7fffffff);
  w = run("REDUX UR4, R1", 0x6, 1, [](unsigned i) { return i | 8; });
  CHECK(w.lane[1][0].w[0] == 8);
}

TEST_CASE("R2UR takes the first active lane's value, and says which lanes have another one") {
  const WarpValues w = run("R2UR P0, UR4, R1", 0xf0, 2, [](unsigned i) { return i < 6 ? 3u : 7u; });
  CHECK(w.lane[4][1].w[0] == 3);
  CHECK(w.lane[4][0].w[0] == 0);
  CHECK(w.lane[5][0].w[0] == 0);
  CHECK(w.lane[6][0].w[0] == 1);
}

TEST_CASE("ELECT takes the lowest lane; MOVM transposes") {
  WarpValues w = run("ELECT P0, UR4, PT", 0xf8, 2, [](unsigned) { return 1u; });
  CHECK(w.lane[5][1].w[0] == 3);
  CHECK(w.lane[3][0].w[0] == 1);
  CHECK(w.lane[5][0].w[0] == 0);
  // Lane 4r + c/2 holds elements c and c + 1 of row r: 16r + c.
  w = run("MOVM.16.MT88 R0, R1", ~0u, 1, [](unsigned i) {
    const unsigned first = i / 4 * 16 + i % 4 * 2;
    return first | (first + 1) << 16;
  });
  CHECK(w.lane[0][0].w[0] == 0x00100000);
  CHECK(w.lane[9][0].w[0] == 0x00320022);
  // Lane 4r + c holds the nibbles 8c to 8c + 7 of row r, and gets bytes 4c to 4c + 3 and 16 + 4c to 16 + 4c + 3.
  w = run("MOVM.U4TO8.M832 R0, R2", ~0u, 1, [](unsigned i) {
    return i % 4 == 0 ? 0x76543210u : i % 4 == 2 ? 0xfedcba98u : 0;
  });
  CHECK(w.lane[4][0].w[0] == 0x03020100);
  CHECK(w.lane[5][0].w[0] == 0x07060504);
  CHECK(w.lane[6][0].w[0] == 0);
  CHECK(w.lane[4][0].w[1] == 0x0b0a0908);
  CHECK(w.lane[5][0].w[1] == 0x0f0e0d0c);
}

TEST_CASE("R2UR and R2UR.OR take the first active lane, VOTEU counts") {
  WarpValues w = run("R2UR UR0, R1", 0xfffffff0, 2, [](unsigned i) { return 100 + i; });
  CHECK(w.lane[4][1].w[0] == 104);
  CHECK(w.lane[31][1].w[0] == 104);
  w = run("R2UR.OR PT, UR0, R1", 0x6, 2, [](unsigned i) { return 1u << i; });
  CHECK(w.lane[1][1].w[0] == 2);
  w = run("VOTEU.ANY UR0, UP0, P1", 0xff, 2, [](unsigned i) { return i & 1; });
  CHECK(w.lane[0][0].w[0] == 0xaa);
  CHECK(w.lane[0][1].w[0] == 1);
}
