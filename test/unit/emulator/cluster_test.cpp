#include "sass.h"

#include "support/check.h"

// Two CTAs of a cluster. Their shared memory begins at 0x400 + (rank << 24).

namespace orias::emu {

namespace {

/// R0: the rank; R2: the address of a word in the CTA's own memory, R4 in the other's; R5 its upper half.
Program twoCtas(std::initializer_list<const char*> lines) {
  static const std::initializer_list<const char*> kStart = {"S2R R0, SR_CgaCtaId ;",
                                                            "MOV R1, 0x400 ;",
                                                            "LEA R2, R0, R1, 0x18 ;",
                                                            "LOP3.LUT R3, R0, 0x1, RZ, 0x3c, !PT ;",
                                                            "LEA R4, R3, R1, 0x18 ;",
                                                            "S2R R5, SR_SWINHI ;",
                                                            "LDC.64 R6, c[0x0][0x210] ;",
                                                            "S2R R8, SR_TID.X ;",
                                                            "ISETP.NE.AND P0, PT, R8, RZ, PT ;",
                                                            "MOV R9, 0x7 ;",
                                                            "IADD3 R9, R9, R0, RZ ;"};
  std::vector<const char*> all(kStart);
  all.insert(all.end(), lines);
  Program p = program(all);
  p.clusters.shape = {2, 1, 1};
  return p;
}

launch::RunOptions checked() {
  launch::RunOptions options;
  options.racecheck = options.memcheck = true;
  return options;
}

} // namespace

TEST_CASE("emulator, cluster: the other CTA's memory by generic addresses") {
  const Program p = twoCtas({"@!P0 ST.E [R4], R9 ;", "UCGABAR_ARV ;", "UCGABAR_WAIT ;", "LDS R10, [R2] ;",
                             "IMAD.WIDE.U32 R6, R0, 0x4, R6 ;", "@!P0 ST.E [R6], R10 ;", "EXIT ;"});
  const Ran ran = run(p, checked());
  CHECK(ran.result.completed);
  CHECK(ran.kind() == "");
  CHECK(ran.out[0] == 8);
  CHECK(ran.out[1] == 7);
}

TEST_CASE("emulator, cluster: without its barrier there is a race") {
  const Ran ran = run(twoCtas({"@!P0 ST.E [R4], R9 ;", "BAR.SYNC 0x0 ;", "LDS R10, [R2] ;", "EXIT ;"}), checked());
  CHECK(ran.kind() == "memcheck"); // CTA 0 reads before CTA 1 has written
  const Ran written = run(twoCtas({"@!P0 STS [R2], R9 ;", "@!P0 ST.E [R4], R9 ;", "EXIT ;"}), checked());
  CHECK(written.kind() == "racecheck");
}

TEST_CASE("emulator, cluster: faults") {
  // Shared instructions only access their CTA; there is no third CTA; a CTA that has exited is not accessible.
  CHECK(run(twoCtas({"STS [R4], R9 ;", "EXIT ;"})).kind() == "memcheck");
  CHECK(run(twoCtas({"IADD3 R4, R4, 0x2000000, RZ ;", "ST.E [R4], R9 ;", "EXIT ;"})).kind() == "memcheck");
  const Ran late = run(twoCtas({"ISETP.EQ.AND P1, PT, R0, 0x1, PT ;", "@P1 EXIT ;", "UCGABAR_ARV ;", "UCGABAR_WAIT ;",
                                "ST.E [R4], R9 ;", "EXIT ;"}));
  CHECK(late.kind() == "memcheck");
  REQUIRE(!late.result.reports.empty());
  CHECK(late.result.reports[0].text.find("CTA (1, 0, 0) has exited") != std::string::npos);
}

TEST_CASE("emulator, cluster: its barrier") {
  // One CTA waits for another one that waits for itself.
  const Ran ran = run(twoCtas(
      {"ISETP.EQ.AND P1, PT, R0, 0x1, PT ;", "@P1 BAR.SYNC 0x1, 0x60 ;", "UCGABAR_ARV ;", "UCGABAR_WAIT ;", "EXIT ;"}));
  CHECK(ran.kind() == "deadlock");
  CHECK(run(twoCtas({"UCGABAR_ARV ;", "UCGABAR_ARV ;", "EXIT ;"})).kind() == "memcheck");
  CHECK(run(twoCtas({"UCGABAR_WAIT ;", "EXIT ;"})).kind() == "memcheck");
  // Warps that have exited are not waited for, whether they have arrived or not.
  CHECK(run(twoCtas({"ISETP.LT.AND P1, PT, R8, 0x20, PT ;", "UCGABAR_ARV ;", "@P1 EXIT ;", "UCGABAR_WAIT ;",
                     "UCGABAR_ARV ;", "UCGABAR_WAIT ;", "EXIT ;"}))
            .result.completed);
}

TEST_CASE("emulator, cluster: older chips have none") {
  Program p = program({"EXIT ;"});
  p.target = isa::Target::find("sm_80");
  p.clusters.shape = {2, 1, 1};
  CHECK_THROWS_AS(run(p), Error);
}

} // namespace orias::emu
