#include "encoder/isa/codec.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/latency/tables.h"
#include "support/check.h"

#include <doctest/doctest.h>

using namespace orias;
using namespace orias::isa;
using Port = Access::Port;

namespace {

unsigned raw(const Target& target, File file, Access writer, Access reader) {
  return target.rawLatency(file, writer, reader).cycles;
}

constexpr const char* kSmall = R"([sets]
Both,Alu Fma
[classes]
class,kind,stall,pipe,busy,expected,done,read,evidence
Alu,fixed,1,int,2,4,,,observed
Load,variable,1,lsu,4,200,,lsu,assumed
[raw R]
writer,Both,Load,*:Guard,evidence
Alu,4,5t,13,observed
*,9a,-,9,table
)";

} // namespace

TEST_CASE("a latency file: sets, ports, wildcards, evidence") {
  const LatencyTables tables = LatencyTables::parse(kSmall);
  const LatencyMatrix& m = tables.raw[0];
  CHECK(m.at({LatencyClass::Alu}, {LatencyClass::Fma}).cycles == 4);
  CHECK(m.at({LatencyClass::Alu}, {LatencyClass::Fma}).evidence == Evidence::Observed);
  CHECK(m.at({LatencyClass::Alu}, {LatencyClass::Load}).cycles == 5);
  CHECK(m.at({LatencyClass::Alu}, {LatencyClass::Load}).evidence == Evidence::Table);
  CHECK(m.at({LatencyClass::Alu}, {LatencyClass::Fp64, Port::Guard}).cycles == 13);
  CHECK(m.at({LatencyClass::Fp64}, {LatencyClass::Alu}).evidence == Evidence::Assumed);
  SUBCASE("a pair that is not listed gets the largest entry") {
    CHECK(m.at({LatencyClass::Alu}, {LatencyClass::Fp64}).cycles == 13);
  }
  SUBCASE("an illegal pair traps") {
    CHECK_THROWS_AS(m.at({LatencyClass::Fp64}, {LatencyClass::Load}), InternalError);
  }
  CHECK(tables.classes[static_cast<unsigned>(LatencyClass::Load)].isVariable);
  CHECK(tables.largestFixed == 13);
}

TEST_CASE("mistakes in a latency file are found") {
  const auto broken = [](std::string_view from, std::string_view to) {
    std::string text = kSmall;
    text.replace(text.find(from), from.size(), to);
    CHECK_THROWS_AS(LatencyTables::parse(text), InternalError);
  };
  broken("Alu Fma", "Alu Foo");
  broken("fixed", "maybe");
  broken("4,5t,13", "4,5t");
  broken("4,5t,13", "4,5x,13");
  broken("4,5t,13", "4,,13");
  broken("[raw R]", "[raw Q]");
  broken("*:Guard", "*:Gard");
}

// The latencies that schedules depend on.
TEST_CASE("sm_90: distances between arithmetic instructions") {
  const Target& sm90 = *Target::find("sm_90");
  const Access alu{LatencyClass::Alu}, fma{LatencyClass::Fma}, imad{LatencyClass::Imad}, fp64{LatencyClass::Fp64};
  CHECK(raw(sm90, File::R, alu, alu) == 4);
  CHECK(raw(sm90, File::R, alu, fma) == 5);
  CHECK(raw(sm90, File::R, fma, alu) == 5);
  CHECK(raw(sm90, File::R, fma, fma) == 4);
  CHECK(raw(sm90, File::R, imad, fma) == 4);
  CHECK(raw(sm90, File::R, fp64, fp64) == 8);
  CHECK(raw(sm90, File::R, fp64, alu) == 10);
  CHECK(raw(sm90, File::R, alu, {LatencyClass::Load}) == 5);
  CHECK(raw(sm90, File::R, alu, {LatencyClass::Xu}) == 4);
  CHECK(raw(sm90, File::R, {LatencyClass::Hmma}, {LatencyClass::Hmma, Port::Addend}) == 24);
  CHECK(raw(sm90, File::R, {LatencyClass::Hmma}, {LatencyClass::Store}) == 23);
  CHECK(raw(sm90, File::R, alu, {LatencyClass::R2ur}) == 4);
  CHECK(raw(sm90, File::R, imad, {LatencyClass::R2ur}) == 5);
  CHECK(raw(sm90, File::R, {LatencyClass::ImadWide, Port::High}, {LatencyClass::R2ur}) == 5);
  CHECK(raw(sm90, File::R, fp64, {LatencyClass::R2ur}) == 8);
  CHECK(raw(sm90, File::R, {LatencyClass::ImadWide}, alu) == 3);
  CHECK(raw(sm90, File::R, {LatencyClass::ImadWide, Port::High}, alu) == 5);
}

TEST_CASE("a predicate takes longer to guard than to be data") {
  const Target& sm90 = *Target::find("sm_90");
  CHECK(raw(sm90, File::P, {LatencyClass::Alu}, {LatencyClass::Alu}) == 4);
  for (LatencyClass reader : {LatencyClass::Alu, LatencyClass::Branch, LatencyClass::Load, LatencyClass::Udp})
    CHECK(raw(sm90, File::P, {LatencyClass::Alu}, {reader, Port::Guard}) == 13);
  CHECK(raw(sm90, File::P, {LatencyClass::Fp64}, {LatencyClass::Branch, Port::Guard}) == 14);
  CHECK(raw(sm90, File::UP, {LatencyClass::Udp}, {LatencyClass::Udp, Port::Guard}) == 11);
}

TEST_CASE("every chip has figures for every class") {
  for (const Target& target : Target::all()) {
    for (unsigned c = 1; c < kLatencyClassCount; ++c) {
      const auto latencyClass = static_cast<LatencyClass>(c);
      CAPTURE(target.name());
      CAPTURE(nameOf(latencyClass));
      CHECK(target.expectedLatency(latencyClass) > 0);
      CHECK(target.issueCycles(latencyClass) > 0);
    }
    CHECK(target.maxFixedLatency() >= 13);
    CHECK(target.maxFixedLatency() < 64);
    CHECK(target.isScoreboarded(LatencyClass::Load));
    CHECK_FALSE(target.isScoreboarded(LatencyClass::Alu));
  }
  CHECK(Target::find("sm_80")->isScoreboarded(LatencyClass::Fp64));
  CHECK_FALSE(Target::find("sm_90")->isScoreboarded(LatencyClass::Fp64));
}

TEST_CASE("the converting unit and LDC read their registers late") {
  // Observed on an H100: if the register is overwritten in the next cycles, the results are wrong. ptxas sets read
  // scoreboards.
  for (const char* name :
       {"MUFU", "F2I", "F2I_64", "F2F_64", "I2F", "I2F_64", "FRND", "POPC", "FLO", "BREV", "FCHK", "LDC"}) {
    CAPTURE(name);
    for (const SlotDesc& slot : findByName(name)->slotList())
      if (slot.role == Role::Use && slot.file == File::R && (slot.accepts & kAcceptsReg) != 0) {
        CHECK(slot.readLate);
      }
  }
}

TEST_CASE("whatever waits in a queue reads its registers late") {
  for (const InstrDesc& row : allInstrs()) {
    CAPTURE(row.name);
    if (row.isPseudo() || !Target::find("sm_90a")->isScoreboarded(row.latencyClass)) continue;
    if (row.op == Op::LDTM || row.op == Op::LDTM_STAT) continue; // its kept registers are not read
    for (const SlotDesc& slot : row.slotList()) {
      CAPTURE(slot.name);
      if (slot.role == Role::Use && slot.file == File::R && (slot.accepts & kAcceptsReg) != 0) {
        CHECK(slot.readLate);
      }
    }
  }
}

TEST_CASE("a latency file may take over another one") {
  const LatencyTables tables = LatencyTables::parse(R"([like]
sm_90
[classes]
class,kind,stall,pipe,busy,expected,done,read,evidence
Uldc,variable,1,,1,30,,,observed
[raw P]
writer,*,*:Guard,evidence
*,7,20,observed
)");
  const Target& sm90 = *Target::find("sm_90");
  const Access alu{LatencyClass::Alu};
  CHECK(tables.raw[static_cast<unsigned>(File::R)].at(alu, alu).cycles == raw(sm90, File::R, alu, alu));
  CHECK(tables.classes[static_cast<unsigned>(LatencyClass::Uldc)].isVariable);
  CHECK_FALSE(sm90.isScoreboarded(LatencyClass::Uldc));
  CHECK(tables.raw[static_cast<unsigned>(File::P)].at(alu, alu).cycles == 7);
  CHECK_THROWS_AS(LatencyTables::parse("[like]\nsm_1\n"), InternalError);
}

// Observed in ptxas' code: encoder/isa/latency/sm_100.csv, sm_120.csv.
TEST_CASE("latencies from sm_100 on") {
  const Target &sm100 = *Target::find("sm_100"), &sm103 = *Target::find("sm_103"), &sm120 = *Target::find("sm_120");
  CHECK(raw(sm100, File::UP, {LatencyClass::Voteu}, {LatencyClass::Tma}) == 5);
  CHECK(raw(sm100, File::UP, {LatencyClass::Udp}, {LatencyClass::Tma}) == 11);
  CHECK(raw(sm120, File::R, {LatencyClass::Alu64}, {LatencyClass::R2ur}) == 5);
  CHECK(sm100.completionQueue(LatencyClass::TensorLoad) != 0);
  CHECK(sm100.completionQueue(LatencyClass::Load) == 0);
  const Access alu{LatencyClass::Alu}, select{LatencyClass::Select}, hmma{LatencyClass::Hmma};
  for (const Target* target : {&sm100, &sm103, &sm120})
    CHECK(target->isScoreboarded(LatencyClass::Uldc));
  CHECK(raw(sm100, File::R, select, select) == 4);
  CHECK(raw(sm120, File::R, alu, alu) == 4);
  CHECK(raw(sm120, File::R, alu, select) == 5);
  CHECK(raw(sm120, File::R, select, alu) == 5);
  CHECK(raw(sm120, File::P, select, select) == 5);
  CHECK(raw(sm100, File::R, hmma, {LatencyClass::Hmma, Port::Addend}) == 20);
  CHECK(raw(sm120, File::R, hmma, {LatencyClass::Hmma, Port::Addend}) == 29);
  CHECK_FALSE(sm100.isScoreboarded(LatencyClass::Fp64));
  CHECK(sm103.isScoreboarded(LatencyClass::Fp64));
  const std::array<std::uint8_t, kMaxMods> none{};
  for (const Op product : {Op::IMMA_16816, Op::IMMA_16832, Op::IMMA_SP_16832}) { // 16816 had a fixed latency
    CHECK(sm103.isScoreboarded(latencyClassOf(product, none)));
    CHECK_FALSE(sm100.isScoreboarded(latencyClassOf(product, none)));
  }
  CHECK_FALSE(sm103.isScoreboarded(latencyClassOf(Op::HMMA_1688, none)));
  CHECK(sm120.isScoreboarded(LatencyClass::Fp64));
}
