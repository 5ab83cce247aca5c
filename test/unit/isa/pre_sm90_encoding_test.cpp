#include "encoder/isa/print.h"
#include "test/unit/isa/words_on_chip.h"

#include <doctest/doctest.h>

#include <string>

// Words that ptxas emits for sm_80, and nvdisasm's text for them (without descriptors).

using namespace orias;
using namespace orias::isa;

namespace {

std::string textOn(const char* chip, std::uint64_t lo, std::uint64_t hi) {
  const Target& target = *Target::find(chip);
  const auto inst = decodedOn(target, lo, hi);
  return inst ? print(*inst, {0x100, {}}) : "";
}

std::string nameOn(const char* chip, std::uint64_t lo, std::uint64_t hi) {
  const Target& target = *Target::find(chip);
  const auto inst = decodeFor(target, Word{lo, hi});
  return inst ? printFor(target, *inst) : "";
}

std::string old(std::uint64_t lo, std::uint64_t hi) {
  return textOn("sm_80", lo, hi);
}

} // namespace

TEST_CASE("words of sm_80: distances of branches are in one piece") {
  CHECK(old(0xfffffff000007947, 0x000fc0000383ffff) == "BRA 0x100");
  CHECK(old(0xffffff7000000947, 0x000fea000083ffff) == "@P0 BRA P1, 0x80");
  CHECK(old(0x000002b000008947, 0x000fea0003800000) == "@!P0 BRA 0x3c0");
  CHECK(old(0x0000024206008947, 0x004fea000b800000) == "@!P0 BRA.DIV UR6, 0x350");
  CHECK(old(0x000000c000007945, 0x000fe20003800000) == "BSSY B0, 0x1d0");
}

TEST_CASE("words of sm_80: atomics number their types differently") {
  CHECK(old(0x00000003060979a8, 0x000ea200081ee1c4) == "ATOMG.E.ADD.STRONG.GPU PT, R9, desc[UR4][R6.64], R3");
  CHECK(old(0x0000000e0c0e79a8, 0x000ee200089eebc4) == "ATOMG.E.MIN.S64.STRONG.GPU PT, R14, desc[UR4][R12.64], R14");
  CHECK(old(0x00000015060679a8, 0x000e6400081ee7c4) ==
        "ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU PT, R6, desc[UR4][R6.64], R21");
  CHECK(old(0x000000120a0a79a8, 0x000ea400081eedc4) == "ATOMG.E.ADD.F64.RN.STRONG.GPU PT, R10, desc[UR4][R10.64], R18");
  CHECK(old(0x000000050200098e, 0x0001e8000c10e386) == "@P0 REDG.E.ADD.S32.STRONG.GPU desc[UR6][R2.64], R5");
  CHECK(old(0x0000000002ff7f8c, 0x0001ea000d00003f) == "ATOMS.POPC.INC.32 RZ, [R2+URZ]");
}

TEST_CASE("words of sm_80: a mask of all lanes is WARPSYNC.ALL; what sm_90 cannot say is refused") {
  CHECK(old(0xffffffff00007948, 0x000fe20003800000) == "WARPSYNC.ALL");
  CHECK(old(0x0000ffff00007948, 0x000fe20003800000).empty());
  CHECK(old(0x0000000700007348, 0x000fe80003800000) == "WARPSYNC R7");
  CHECK(old(0x0000000c00007348, 0x000fea0003c00000) == "WARPSYNC.EXCLUSIVE R12");
  CHECK(old(0x0000000007007348, 0x000fe80003800000).empty());
  CHECK(old(0x00000000000a734e, 0x002fe20000000000) == "LEPC R10, 0x100"); // its own address
}

TEST_CASE("words of sm_80: MUFU of half precision") {
  CHECK(old(0x0000000400047308, 0x000e240000000800) == "MUFU.EX2 R4, R4");
  CHECK(old(0x0000000400047308, 0x000e240000000a00) == "MUFU.EX2.F16 R4, R4");
  CHECK(old(0x0000000400047308, 0x000e240000000900).empty());
}

TEST_CASE("words of sm_75: accesses have a strength and a scope") {
  const auto on75 = [](std::uint64_t lo, std::uint64_t hi) { return nameOn("sm_75", lo, hi); };
  CHECK(on75(0x0000000002047381, 0x000ea200001ee900) == "LDG.E.SYS R4, [R2]");
  CHECK(on75(0x0000040002027381, 0x000ea600001e6900) == "LDG.E.CONSTANT.SYS R2, [R2+0x4]");
  CHECK(on75(0x0000000002057381, 0x000ea800001f0900) == "LDG.E.STRONG.CTA R5, [R2]");
  CHECK(on75(0x00001c0002137381, 0x00016800001fe900) == "LDG.E.MMIO.SYS R19, [R2+0x1c]");
  CHECK(on75(0x0000240002177381, 0x00016800001f4900) == "LDG.E.STRONG.GPU R23, [R2+0x24]");
  CHECK(on75(0x0000002c02007386, 0x0001e8000010e900) == "STG.E.SYS [R2], R44");
  CHECK(on75(0x0000005002007385, 0x0007e8000011690d) == "ST.E.STRONG.SYS [R2+0x50], R13");
  CHECK(on75(0x000000080c0c7981, 0x000ea2000c1ee100) == "LDG.E.U8.SYS R12, [R12.64+UR8]");
  CHECK(on75(0x00000004ff067981, 0x000ea2000c1ee900) == "LDG.E.SYS R6, [UR4]");
  CHECK(on75(0x00000009020273a8, 0x000ea200001f41ff) == "ATOMG.E.ADD.STRONG.GPU PT, R2, [R2], R9");
  CHECK(on75(0x00000016061373a9, 0x000ea400001f4117) == "ATOMG.E.CAS.STRONG.GPU PT, R19, [R6], R22, R23");
  CHECK(on75(0x000000110600798e, 0x0001e80000114100) == "RED.E.ADD.STRONG.GPU [R6], R17");
  CHECK(on75(0x0000000008067984, 0x000fe80000005800) == "LDS.U R6, [R8.X4]");
}

TEST_CASE("what sm_75 says becomes the same word again") {
  const Target& target = *Target::find("sm_75");
  const Word words[] = {{0x0000000002047381, 0x000ea200001ee900}, {0x000000080c0c7981, 0x000ea2000c1ee100},
                        {0x0000005002007385, 0x0007e8000011690d}, {0x00000009020273a8, 0x000ea200001f41ff},
                        {0x000000110600798e, 0x0001e80000114100}, {0x0000000008067984, 0x000fe80000005800},
                        {0xfffffffc00fc7947, 0x000fc0000383ffff}};
  for (const Word& word : words) {
    const auto inst = decodeFor(target, word);
    if (word.lo == 0xfffffffc00fc7947) { // on sm_90 the distance of BRA has other bits
      CHECK_FALSE(inst);
      continue;
    }
    REQUIRE(inst);
    const EncodeResult again = encode(*inst, target);
    REQUIRE(again);
    CHECK(again.word == word);
  }
}

TEST_CASE("words of sm_75 that are refused: a word as register address of an atomic, a descriptor, LDS in order") {
  CHECK(textOn("sm_75", 0x00000004020279a8, 0x000ea400081ee900).empty());
  CHECK(textOn("sm_75", 0x0000000402027981, 0x000ea4000c1ef900).empty());
  CHECK(textOn("sm_75", 0x0000000008067984, 0x000fe80000004800).empty());
}

TEST_CASE("each chip has its words: those of sm_90 are read as they are") {
  CHECK(textOn("sm_90", 0xfffffffc00fc7947, 0x000fc0000383ffff) == "BRA 0x100");
  CHECK(old(0xfffffffc00fc7947, 0x000fc0000383ffff).empty());
}

TEST_CASE("before sm_90 the mask of P2R is a signed number") {
  CHECK(nameOn("sm_75", 0xe266ff430c307803, 0x000fe40000000000) == "P2R R48, PR, R12, -0x1d9900bd");
  CHECK(nameOn("sm_89", 0x0000007f0c307803, 0x000fe40000000000) == "P2R R48, PR, R12, 0x7f");
  CHECK(nameOn("sm_90", 0xe266ff430c307803, 0x000fe40000000000) == "P2R R48, PR, R12, 0xe266ff43");
}

TEST_CASE("words of sm_80: I2IP saturates without saying so, and R2UR has another number") {
  CHECK(old(0x0000000500067239, 0x0c4fe400000030ff) == "I2IP.S16.S32.SAT R6, R0.reuse, R5.reuse, RZ");
  CHECK(old(0x0000000500067239, 0x004fc400000034ff).empty());
  CHECK(old(0x00000000020473c2, 0x000fc000000e0000) == "R2UR UR4, R2");
}

TEST_CASE("sm_80 has other names for some instructions, and shows no descriptors") {
  CHECK(nameOn("sm_80", 0x000000050200098e, 0x0001e8000c10e386) == "@P0 RED.E.ADD.S32.STRONG.GPU [R2.64], R5");
  CHECK(nameOn("sm_80", 0xffffffff00007948, 0x000fe20003800000) == "WARPSYNC 0xffffffff");
  CHECK(nameOn("sm_80", 0x0000000700007348, 0x000fe80003800000) == "WARPSYNC R7");
  CHECK(nameOn("sm_80", 0x0000001cff34723e, 0x000fe800000008ff) == "F2FP.RELU.PACK_AB R52, RZ, R28");
  CHECK(nameOn("sm_89", 0x0000001cff34723e, 0x000fe800000008ff) == "F2FP.RELU.F16.F32.PACK_AB R52, RZ, R28");
}

TEST_CASE("before sm_90 a constant or a register can name textures and surfaces") {
  CHECK(nameOn("sm_80", 0x2000580804047b60, 0x000f4200019e5f06) == "TEX.LL.AOFFI.DC R6, R4, R4, R8, 0x0, 0x58, 2D");
  CHECK(nameOn("sm_80", 0x3800000608087361, 0x004f4200019e0f0a) == "TEX.SCR.B.LL R10, R8, R8, R6, 2D");
  CHECK(nameOn("sm_80", 0x3000040e0c0c7f60, 0x004f4200099e0f0e) == "TEX.SCR.LL R14, R12, R12, R14, UR4, 0x0, 2D");
  CHECK(nameOn("sm_80", 0x18000005020e7367, 0x004f4200009e0f10) == "TLD.SCR.B.LZ R16, R14, R2, R5, 1D");
  CHECK(nameOn("sm_80", 0x2800000412047364, 0x010f4200011e5f12) == "TLD4.B.B.AOFFI.DC R18, R4, R18, R4, 2D");
  CHECK(nameOn("sm_75", 0x280000080c08736d, 0x004f4200001e0f0a) == "TXD.B R10, R8, R12, R8, 2D");
  CHECK(nameOn("sm_75", 0x00005a0000057b6f, 0x004f4200000001ff) ==
        "TXQ RZ, R5, R0, TEX_HEADER_DIMENSION, 0x0, 0x5a, 0x1");
  CHECK(nameOn("sm_80", 0x900000000c0d799a, 0x004f6800001ea109) ==
        "SULD.D.BA.2D_ARRAY.U8.STRONG.SM.TRAP R13, [R12], R9");
  CHECK(nameOn("sm_75", 0x700000000607799a, 0x004f6400001f0102) == "SULD.D.BA.2D.U8.STRONG.CTA.TRAP R7, [R6], R2");
  CHECK(nameOn("sm_75", 0x10005c0502007b9d, 0x004fe20000116100) ==
        "SUST.D.BA.1D.U8.STRONG.SYS.TRAP [R2], R5, 0x0, 0x5c");
  CHECK(nameOn("sm_80", 0x900000090c00799c, 0x004fe2000010a10a) == "SUST.P.2D_ARRAY.STRONG.SM.R.TRAP [R12], R9, R10");
  CHECK(nameOn("sm_80", 0xb0000002040073a0, 0x004fe20000914e0d) == "SURED.D.3D.MIN.SD64.STRONG.SYS.TRAP [R4], R2, R13");
}

TEST_CASE("marks of the operand cache in textures are not written, and stay") {
  const Target& target = *Target::find("sm_80");
  const Word word{0x3000580804087b60, 0x040fc200019e01ff};
  const auto inst = decodeFor(target, word);
  REQUIRE(inst);
  CHECK(printFor(target, *inst) == "TEX.SCR.LL RZ, R8, R4, R8, 0x0, 0x58, 2D, 0x1");
  CHECK(encode(*inst, target).word == word);
  CHECK(nameOn("sm_75", 0x000000100000399e, 0x000ff0000020ed18) == "@P3 SUST.D.BA.1D.EL.128.SYS.IGN [R0], R16, R24");
  CHECK(nameOn("sm_75", 0x500000181000599c, 0x000fe8000050ef20) == "@P5 SUST.P.1D_ARRAY.NA.SYS.TRAP [R16], R24, R32");
  CHECK(nameOn("sm_75", 0xa0005a040c047b6c, 0x000f4400001e1f06) == "TXD.AOFFI R6, R4, R12, R4, 0x0, 0x5a, ARRAY_2D");
  CHECK(nameOn("sm_75", 0x200058040e097b6c, 0x100f4200001e01ff) == "TXD RZ, R9, R14, R4, 0x0, 0x58, 2D, 0x1");
}

TEST_CASE("operands of a texture in two halves are cut in the middle, not after the coordinates") {
  const auto widths = [](Op op, std::initializer_list<ModValue> mods) {
    Inst inst = makeInst(op);
    for (const ModValue& mod : mods)
      REQUIRE(setMod(inst, mod));
    const auto of = [&](SlotId slot) { return operandWidth(inst, static_cast<unsigned>(desc(op).slotIndex(slot))); };
    return std::pair(of(SlotId::Ra), of(SlotId::Rb));
  };
  constexpr int kVolume = 2, kLevel = 3;
  CHECK(widths(Op::TLD_B, {{Mod::Geometry, 0}}) == std::pair(1u, 1u));
  CHECK(widths(Op::TLD_B, {{Mod::Geometry, kVolume}}) == std::pair(3u, 1u));
  CHECK(widths(Op::TLD_B, {{Mod::Geometry, kVolume}, {Mod::Scattered, 1}}) == std::pair(2u, 2u));
  CHECK(widths(Op::TEX_C, {{Mod::Geometry, 1}, {Mod::Sub, kLevel}, {Mod::Scattered, 1}}) == std::pair(2u, 1u));
  CHECK(widths(Op::TLD4_C, {{Mod::Geometry, 1}, {Mod::Scattered, 1}}) == std::pair(1u, 1u));
  CHECK(widths(Op::TXD_B, {{Mod::Geometry, 5}}) == std::pair(4u, 4u));
  // Offsets are in the layer's word, which is also present without a layer.
  CHECK(widths(Op::TXD_B, {{Mod::Geometry, 5}, {Mod::Sub2, 1}}) == std::pair(4u, 4u));
  CHECK(widths(Op::TXD_C, {{Mod::Geometry, 1}, {Mod::Sub2, 1}}) == std::pair(3u, 4u));
}

TEST_CASE("what a chip does not have is no word of it") {
  const auto has = [](const char* chip, Op op, std::initializer_list<ModValue> mods = {}) {
    Inst inst = makeInst(op);
    for (const ModValue& mod : mods)
      REQUIRE(setMod(inst, mod));
    return existsOn(*Target::find(chip), inst.op, inst.mods);
  };
  CHECK(has("sm_90", Op::VIMNMX));
  CHECK_FALSE(has("sm_89", Op::VIMNMX));
  CHECK(has("sm_80", Op::IMNMX));
  CHECK(has("sm_86", Op::I2FP));
  CHECK_FALSE(has("sm_80", Op::I2FP));
  CHECK(has("sm_80", Op::HADD2));
  CHECK_FALSE(has("sm_80", Op::HADD2, {{Mod::Bf16, 1}}));
  CHECK(has("sm_80", Op::ATOMG_FLOAT, {{Mod::AtomFloat, AtomFloat::F64}}));
  CHECK_FALSE(has("sm_80", Op::ATOMG_FLOAT, {{Mod::AtomFloat, AtomFloat::BF16x2}}));
  CHECK(has("sm_90", Op::ATOMG_FLOAT, {{Mod::AtomFloat, AtomFloat::BF16x2}}));
  for (const Op op : {Op::TEX, Op::TLD, Op::TLD4, Op::TXD, Op::TXQ})
    CHECK(has("sm_80", op));
  for (const Op op : {Op::SULD, Op::SUST, Op::SUST_P, Op::SURED}) {
    CHECK(has("sm_90", op));
    CHECK_FALSE(has("sm_80", op));
  }
  for (const Op op :
       {Op::TEX_C, Op::TLD_B, Op::TLD4_C, Op::TXD_B, Op::TXQ_C, Op::SULD_B, Op::SUST_C, Op::SUST_P_B, Op::SURED_C}) {
    CHECK(has("sm_75", op));
    CHECK(has("sm_89", op));
    CHECK_FALSE(has("sm_90", op));
  }
  CHECK(has("sm_75", Op::LDSM));
  CHECK(has("sm_75", Op::HMMA_1688));
  for (const Op op : {Op::HMMA_16816, Op::LDGSTS, Op::REDUX, Op::F2FP, Op::HMNMX2, Op::HFMA2_MMA, Op::DMMA_884}) {
    CHECK(has("sm_80", op));
    CHECK_FALSE(has("sm_75", op));
  }
}

TEST_CASE("before sm_90 some operands are not in the word: others have no encoding") {
  const Target& target = *Target::find("sm_80");
  Inst address = makeInst(Op::LEPC);
  Operand& label = address.operands[desc(Op::LEPC).slot(SlotId::target)];
  label = Operand::label(Operand::kNoReg);
  label.imm = -16;
  CHECK(encode(address, target));
  label.imm = 0;
  CHECK_FALSE(encode(address, target));
  CHECK(encode(address, *Target::find("sm_90")));

  Inst product = makeInst(Op::HMMA_1688);
  CHECK(encode(product, target));
  product.operands[desc(Op::HMMA_1688).slot(SlotId::UPp)] = Operand::physical(File::UP, 3);
  CHECK_FALSE(encode(product, target));
  CHECK(encode(product, *Target::find("sm_90")));
  CHECK(old(0x00000034ff34723c, 0x000ff6000200102c).empty());

  Inst wait = makeInst(Op::WARPSYNC_ALL);
  CHECK(encode(wait, target));
  wait.operands[0] = Operand::physical(File::P, 4);
  CHECK_FALSE(encode(wait, target));
  CHECK(old(0xffffffff00007948, 0x000fee0007800000).empty());
}

TEST_CASE("sm_75 never writes RZ before a uniform address, and its loads from surfaces have no constant order") {
  CHECK(nameOn("sm_75", 0x00000000ff0839aa, 0x000fe2000c060500) == "@P3 QSPC.E.S P3, R8, [UR0]");
  CHECK(textOn("sm_75", 0x000000002cff799a, 0x000fe20000006b34).empty());
  CHECK(nameOn("sm_75", 0x000000002cff799a, 0x000fe2000000eb34) == "SULD.D.BA.1D.EF.64.SYS.IGN P0, RZ, [R44], R52");
}

TEST_CASE("words of sm_75: a register of 32 bits and a uniform address") {
  CHECK(textOn("sm_75", 0x0000080407007981, 0x001ea800081ee100) == "LDG.E.U8 R0, [R7.U32+UR4+0x8]");
  CHECK(nameOn("sm_75", 0x0000000407007986, 0x004fe8000810e904) == "STG.E.SYS [R7.U32+UR4], R4");
  CHECK(textOn("sm_80", 0x0000080407007981, 0x001ea800081ee100).empty());
}

TEST_CASE("words of sm_80: arrivals at barriers in shared memory") {
  CHECK(old(0x0000080004047f8c, 0x020e68000c80043f) == "ATOMS.ARRIVE.64 R4, [R4+URZ+0x8]");
  CHECK(old(0x0000180002027f8a, 0x000ea2000c9ea57f) == "ATOM.E.ARRIVE.64.STRONG.SM PT, R2, [R2.64+URZ+0x18]");
  CHECK(old(0x00000800ff0079b0, 0x000fe20008000a3f) == "ARRIVES.LDGSTSBAR.64 [URZ+0x8]");
  CHECK(nameOn("sm_90", 0x0000080004047f8c, 0x020e68000c80043f) == "ATOMS.ARRIVE.64 R4, [R4+URZ+0x8]");
}

TEST_CASE("older chips ask whether a whole warp has come") {
  CHECK(textOn("sm_75", 0x0000003300007947, 0x000fea0003800000) == "BRA.CONV 0x140");
  CHECK(old(0x000000337f007947, 0x000fea000b800000) == "BRA.CONV ~URZ, 0x140");
}

TEST_CASE(
    "older chips: products of halves by steps, of four bits, of bits that differ, of 8-bit floating-point numbers") {
  CHECK(textOn("sm_75", 0x0000000402087236, 0x004f640000005408) == "HMMA.884.F32.F32.STEP0 R8, R2.ROW, R4.COL, R8");
  CHECK(textOn("sm_75", 0x0000000402087236, 0x000f64000001940a) == "HMMA.884.F32.F16.STEP3 R8, R2.ROW, R4.COL, R10");
  CHECK(textOn("sm_75", 0x0000000300047237, 0x004e3400003c1404) == "IMMA.8832.S4.U4.SAT R4, R0.ROW, R3.COL, R4");
  CHECK(textOn("sm_75", 0x000000030004723d, 0x004e340000010404) == "BMMA.88128.XOR.POPC R4, R0.ROW, R3.COL, R4");
  CHECK(old(0x0000000804047237, 0x004ff600007c140c) == "IMMA.16864.S4.U4.SAT R4, R4.ROW, R8.COL, R12");
  CHECK(old(0x0000000004087237, 0x004fde00005c1c08) == "IMMA.16832.S4.U4.SAT R8, R4.ROW, R0.COL, R8");
  CHECK(old(0x0000000804047237, 0x004ff60000784d0c) == "IMMA.SP.168128.U4.S4 R4, R4.ROW, R8.COL, R12, R0, 0x0");
  CHECK(old(0x0000000604047237, 0x004fde0000785508) == "IMMA.SP.16864.S4.S4 R4, R4.ROW, R6.COL, R8, R0, 0x0");
  CHECK(textOn("sm_89", 0x000000080404727a, 0x004ff6000000ac0c) == "QMMA.16832.F32.E4M3.E5M2 R4, R4.ROW, R8.COL, R12");
  CHECK(textOn("sm_89", 0x000000000404727a, 0x004fde0000004406) == "QMMA.16816.F16.E5M2.E4M3 R4, R4.ROW, R0.COL, R6");
  CHECK(textOn("sm_89", 0x000000080404727a, 0x004ff6000001b40c) ==
        "QMMA.SP.16864.F32.E4M3.E5M2 R4, R4.ROW, R8.COL, R12, R0, 0x0");
  CHECK(old(0x000000080404727a, 0x004ff6000000ac0c).empty());
}

TEST_CASE("before sm_90 local memory is fetched into caches by an instruction of its own") {
  CHECK(old(0x0000100000007990, 0x000fea0000000000) == "CCTLL.PF1 [R0+0x10]");
  CHECK(textOn("sm_75", 0x00000004ff007d90, 0x000fea0008800000) == "CCTLL.PF2 [UR4]");
}
