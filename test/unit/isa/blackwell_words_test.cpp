#include "encoder/isa/print.h"
#include "test/unit/isa/words_on_chip.h"

#include <doctest/doctest.h>

#include <string>

// Words that ptxas emits for sm_100 and sm_120, and what nvdisasm prints for them there.

using namespace orias;
using namespace orias::isa;

namespace {

std::string textOn(const char* chip, std::uint64_t lo, std::uint64_t hi) {
  const Target& target = *Target::find(chip);
  const auto inst = decodedOn(target, lo, hi);
  return inst ? printFor(target, *inst, {0x100, {}}) : "";
}

} // namespace

TEST_CASE("from sm_100 on uniform registers have 8 bits, and all ones are URZ") {
  for (const char* chip : {"sm_100", "sm_120"}) {
    CHECK(textOn(chip, 0x00000008ff057290, 0x000fe400087fe4ff) == "UIADD3.X UR5, UPT, UPT, URZ, UR8, URZ, UP0, !UPT");
    CHECK(textOn(chip, 0x0000003f04047290, 0x000fe2000fffe0ff) == "UIADD3 UR4, UPT, UPT, UR4, UR63, URZ");
    CHECK(textOn(chip, 0x0000004f04047290, 0x000fe2000fffe0ff) == "UIADD3 UR4, UPT, UPT, UR4, UR79, URZ");
  }
  CHECK(textOn("sm_90", 0x00000000000d7805, 0x000fca0000008a00) == "CS2R.32 R13, SR138");
  // On sm_90 63 is URZ.
  CHECK(textOn("sm_90", 0x0000003f04047290, 0x000fe2000fffe03f) == "UIADD3 UR4, UR4, URZ, URZ");
  // A register that its field cannot hold is no URZ.
  Inst inst = makeInst(Op::UMOV);
  inst.operands = {Operand::physical(File::UR, 63), Operand::zero(File::UR)};
  inst.operandCount = 2;
  CHECK_FALSE(encode(inst, *Target::find("sm_90")));
  CHECK(encode(inst, *Target::find("sm_100")));
}

TEST_CASE("from sm_100 on LDCU loads constants into uniform registers") {
  for (const char* chip : {"sm_100", "sm_103", "sm_110", "sm_120", "sm_121"}) {
    CHECK(textOn(chip, 0x00006b00ff0477ac, 0x000e6e0008000a00) == "LDCU.64 UR4, c[0x0][0x358]");
    CHECK(textOn(chip, 0x00005580080877ac, 0x000ee20008000800) == "LDCU UR8, c[0x0][UR8+0x2ac]");
    CHECK(textOn(chip, 0x00007200ff0c77ac, 0x000e220008000c00) == "LDCU.128 UR12, c[0x0][0x390]");
  }
  CHECK(textOn("sm_90", 0x00006b00ff0477ac, 0x000e6e0008000a00).empty());
  // ULDC is gone.
  CHECK(textOn("sm_90", 0x0000820000047ab9, 0x000fe20000000a00) == "ULDC.64 UR4, c[0x0][0x208]");
  CHECK(textOn("sm_100", 0x0000820000047ab9, 0x000fe20000000a00).empty());
}

TEST_CASE("words of sm_100: atomics, copies and barriers have moved flags") {
  for (const char* chip : {"sm_100", "sm_120"}) {
    CHECK(textOn(chip, 0x800000ff02ff79a8, 0x000fe2000c1ef106) ==
          "ATOMG.E.EXCH.STRONG.GPU PT, RZ, desc[UR6][R2.64], RZ");
    CHECK(textOn(chip, 0x000000110400798e, 0x0011e2000c12e106) == "REDG.E.ADD.STRONG.GPU desc[UR6][R4.64], R17");
    CHECK(textOn(chip, 0x00000005020079a6, 0x001fe2000c12f30e) ==
          "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR14][R2.64], R5");
    CHECK(textOn(chip, 0x80001005060579a3, 0x000e28000c1ef306) ==
          "ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R5, desc[UR6][R6.64+0x10], R5");
    CHECK(textOn(chip, 0x80001005060579a3, 0x000e2800081ef306) ==
          "ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R5, [R6.64+UR6+0x10], R5");
    CHECK(textOn(chip, 0x80001005060579a3, 0x000e28000c1ee306) ==
          "ATOMG.E.ADD.F16x4.RN.STRONG.GPU PT, R5, desc[UR6][R6.64+0x10], R5");
    CHECK(textOn(chip, 0x80000004020579a2, 0x004362000c10f304) ==
          "ATOM.E.ADD.F32.FTZ.RN.STRONG.GPU P0, R5, desc[UR4][R2.64], R4");
    CHECK(textOn(chip, 0x0000000002097fae, 0x0003e2000818180a) == "LDGSTS.E.BYPASS.128 [R9], desc[UR10][R2.64], P0");
    CHECK(textOn(chip, 0x000000000c257fae, 0x000fe200081a1008) == "LDGSTS.E [R37], desc[UR8][R12.64], P0");
    CHECK(textOn(chip, 0x00200004ff0075a7, 0x000e240008001108) ==
          "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR8+0x2000], R4");
    CHECK(textOn(chip, 0x000000060400758d, 0x000e240001800007) == "ATOMS.CAST.SPIN P0, [R4], R6, R7");
    CHECK(textOn(chip, 0x0000000000007941, 0x000fea0003800200) == "BSYNC.RECONVERGENT B0");
    CHECK(textOn(chip, 0x0000000000008942, 0x000fea0003800100) == "@!P0 BREAK.RELIABLE B0");
    CHECK(textOn(chip, 0x00000000000d7805, 0x000fca0000008a00) == "CS2R.32 R13, SR_CgaSize");
    CHECK(textOn(chip, 0x0000000108147547, 0x000fea000b800000) == "BRA.U !UP0, 0x160");
  }
}

TEST_CASE("words of sm_100: the largest of three") {
  CHECK(textOn("sm_100", 0x0000000409057276, 0x001fca0007800000) == "FMNMX3 R5, R9, R4, R0, !PT");
  CHECK(textOn("sm_103", 0x0000001514147276, 0x000fc80007820017) == "FMNMX3.NAN R20, R20, R21, R23, !PT");
  CHECK(textOn("sm_120", 0x0000000409057276, 0x001fca0007800000).empty());
  CHECK(textOn("sm_100", 0x00000002ff007248, 0x004fc80007fe0100) == "VIMNMX R0, PT, PT, RZ, R2, !PT");
  CHECK(textOn("sm_120", 0x00000002ff007248, 0x004fc80007fe0100) == "VIMNMX.S32 R0, RZ, R2, !PT");
}

TEST_CASE("words of sm_100: minima and maxima of the lanes") {
  CHECK(textOn("sm_100", 0x00000000000772cc, 0x000fe20000008200) == "CREDUX.MIN.S32 UR7, R0");
  CHECK(textOn("sm_103", 0x00000000000a72cc, 0x000fe20000000000) == "CREDUX.MAX UR10, R0");
  CHECK(textOn("sm_100", 0x00000000000672cc, 0x000e24000000e400) == "CREDUX.MINABS.F32.NAN UR6, R0");
  CHECK(textOn("sm_120", 0x00000000000a72cc, 0x000fe20000000000).empty());
}

TEST_CASE("words of sm_120: 64 bits at once, and uniform floating point") {
  const auto text = [](std::uint64_t lo, std::uint64_t hi) { return textOn("sm_120", lo, hi); };
  CHECK(text(0x0000000102020835, 0x000fe400078e0200) == "@P0 IADD.64 R2, R2, 0x1");
  CHECK(text(0x0000000402027c35, 0x000fc6000f8e0200) == "IADD.64 R2, R2, UR4");
  CHECK(text(0x0000000200047202, 0x000fe40000010f00) == "MOV.64 R4, R2");
  CHECK(text(0x0000000200047202, 0x080fe40000010f00) == "MOV.64 R4, R2.reuse");
  CHECK(text(0x47652b82fe127402, 0x000fe400003ff715) == "MOV.64 R18, 0x3ff71547652b82fe");
  CHECK(text(0x0000000000047482, 0x000fc80008800000) == "UMOV.64 UR4, 0x8000000000000000");
  CHECK(text(0x000000ff0c047607, 0x040fe40001000000) == "SEL.64 R4, R12.reuse, RZ, P2");
  CHECK(text(0xffffffff02027407, 0x000fe40000000001) == "SEL.64 R2, R2, -0x1, P0");
  CHECK(text(0xffffffff02027407, 0x000fe40000000000).empty()); // no number of 32 bits says that
  CHECK(text(0x0000000206067607, 0x000fca0004800000) == "SEL.64 R6, R6, R2, !P1");
  CHECK(text(0x000000ff04087c87, 0x000fe20008000000) == "USEL.64 UR8, UR4, URZ, UP0");
  CHECK(text(0x000000020400720c, 0x000fdc0003f16070) == "ISETP.GE.U64.AND P0, PT, R4, R2, PT");
  CHECK(text(0x000000ff0400728c, 0x000fc8000bf14270) == "UISETP.GT.S64.AND UP0, UPT, UR4, URZ, UPT");
  CHECK(text(0xffffffff08087817, 0x000fcc0007ffe600) == "IMNMX.S64 PT, PT, R8, R8, -0x1, !PT, !PT");
  CHECK(text(0xffffffff04107885, 0x000fc6000fffe600) == "UIMNMX.S64 UPT, UPT, UR16, UR4, -0x1, !UPT, !UPT");
  CHECK(text(0x32a5706008047855, 0x000fe20008000104) == "UFFMA UR4, -UR8, 1.925963033500011079e-08, UR4");
  CHECK(text(0x3f00000008047455, 0x000fe20008002104) == "UFFMA.SAT UR4, -UR8, UR4, 0.5");
  CHECK(text(0x0000000504067256, 0x002fe20008400000) == "UFMUL UR6, UR4, UR5");
  CHECK(text(0xcb40007f05047454, 0x000fe20008000000) == "UFADD UR4, UR5, -12583039");
  CHECK(text(0x000000050004725a, 0x001fe40008209000) == "UI2F.U32.RP UR4, UR5");
  CHECK(text(0x000000040004725e, 0x000fd20008201400) == "UI2FP.F32.S32 UR4, UR4");
  CHECK(text(0x000000040005725c, 0x000fcc000821f000) == "UF2I.FTZ.U32.TRUNC.NTZ UR5, UR4");
  CHECK(text(0x00000004ff04724a, 0x001fcc000ffe0100) == "UVIMNMX.S32 UR4, URZ, UR4, !UPT");
  CHECK(text(0x0000000b050472a6, 0x000fcc000f8e0004) == "UIMAD.HI.U32 UR4, UR5, UR11, UR4");
  CHECK(textOn("sm_100", 0x0000000102020835, 0x000fe400078e0200).empty());
  CHECK(textOn("sm_100", 0xcb40007f05047454, 0x000fe20008000000).empty());
}
