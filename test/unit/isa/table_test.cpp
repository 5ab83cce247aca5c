#include "encoder/isa/codec.h"
#include "encoder/isa/float_text.h"
#include "encoder/isa/print.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace orias::isa;

TEST_CASE("rows are well formed") {
  std::set<std::string> names;
  for (const InstrDesc& d : allInstrs()) {
    CAPTURE(d.name);
    CHECK(&d == &desc(d.op));
    CHECK(findByName(d.name) == &d);
    CHECK(names.insert(std::string(d.name)).second);
    CHECK(d.isPseudo() == (d.formCount == 0));
    CHECK(d.isPseudo() == (d.latencyClass == LatencyClass::None));
    for (const SlotDesc& s : d.slotList()) {
      CHECK(!s.name.empty());
      CHECK(s.accepts != 0);
    }
    for (const ModDesc& m : d.modList()) {
      CHECK(m.isLegal(m.defaultValue));
      if (m.width != 0) CHECK(m.valueCount() - m.bias <= 1u << (m.width + m.width2));
    }
  }
}

namespace {

void checkOverlaps(WordFormat format) {
  CAPTURE(static_cast<int>(format));
  for (const InstrDesc& row : allInstrs()) {
    const InstrDesc& d = desc(row.op, format);
    // The table does not contain the texture words from sm_100 on.
    if (format >= WordFormat::Sm100 && d.pipe == Pipe::Tex) continue;
    for (const Form& f : d.formList()) {
      CAPTURE(d.name);
      CAPTURE(f.opcode);
      std::array<unsigned, 128> owner{};
      const auto own = [&](unsigned pos, unsigned width) {
        for (unsigned b = pos; b < pos + width; ++b)
          ++owner[b];
      };
      own(0, 12);
      own(12, 4);
      own(105, 17);
      for (unsigned i = 0; i < d.slotCount; ++i) {
        const FieldEnc& e = d.field(f, i);
        if (e.kind == Enc::None) continue;
        // The kept values of a tensor memory load are in the registers of its result.
        if ((row.op == Op::LDTM || row.op == Op::LDTM_STAT) && d.slots[i].name == "Rc") continue;
        own(e.pos, e.width);
        own(e.pos2, e.width2);
        if (e.neg != 0) own(e.neg, 1);
        if (e.abs != 0) own(e.abs, 1);
        if (e.inv != 0 && e.inv != e.neg) own(e.inv, 1);
        if (e.reuse != 0) own(e.reuse, 1);
        if (e.half != 0) own(e.half, 2);
        if (e.kind == Enc::Const) own(e.ur, 6), own(91, 1);
      }
      for (const ModDesc& m : d.modList())
        own(m.pos, m.width), own(m.pos2, m.width2);
      for (unsigned b = 0; b < 128; ++b) {
        CAPTURE(b);
        CHECK(owner[b] <= 1);
        const std::uint64_t set = b < 64 ? f.value.lo >> b : f.value.hi >> (b - 64);
        // The opcode is also set.
        if (b >= 12 && (set & 1) != 0) CHECK(owner[b] == 0);
      }
    }
  }
}

} // namespace

TEST_CASE("the fields of a form do not overlap, nor do they with its fixed bits") {
  for (WordFormat format : {WordFormat::Sm75, WordFormat::Sm80, WordFormat::Sm90, WordFormat::Sm100, WordFormat::Sm120})
    checkOverlaps(format);
}

TEST_CASE("the enums of modifier values agree with the names in the table") {
  const auto check = [](Op op, Mod kind, auto value, std::string_view name) {
    const int index = desc(op).modIndex(kind);
    REQUIRE(index >= 0);
    CHECK(desc(op).mods[static_cast<std::size_t>(index)].name(static_cast<unsigned>(value)) == name);
  };
  check(Op::ISETP, Mod::Cmp, ICmp::LT, "LT");
  check(Op::ISETP, Mod::Cmp, ICmp::GE, "GE");
  check(Op::ISETP, Mod::Bool, BoolOp::XOR, "XOR");
  check(Op::ISETP, Mod::Type, IntType::U32, "U32");
  check(Op::FSETP, Mod::Cmp, FCmp::NAN_, "NAN");
  check(Op::FSETP, Mod::Cmp, FCmp::GEU, "GEU");
  check(Op::FADD, Mod::Rnd, Rnd::RZ, "RZ");
  check(Op::FADD, Mod::Ftz, Ftz::FTZ, "FTZ");
  check(Op::FFMA, Mod::Ftz, Ftz::FMZ, "FMZ");
  check(Op::MUFU, Mod::Func, Mufu::RSQ64H, "RSQ64H");
  check(Op::MUFU, Mod::Func, Mufu::TANH, "TANH");
  check(Op::SHF, Mod::ShiftDir, ShiftDir::R, "R");
  check(Op::SHF, Mod::ShiftType, ShiftType::U64, "U64");
  check(Op::PRMT, Mod::PrmtMode, PrmtMode::RC16, "RC16");
  check(Op::LDG, Mod::Size, MemSize::B128, "128");
  check(Op::LDG, Mod::Size, MemSize::S16, "S16");
  check(Op::LDG, Mod::Evict, Evict::LU, "LU");
  check(Op::ATOMG, Mod::AtomOp, AtomOp::EXCH, "EXCH");
  check(Op::ATOMG, Mod::AtomType, AtomType::S64, "S64");
  check(Op::ATOMG_FLOAT, Mod::AtomFloat, AtomFloat::F32Ftz, "F32.FTZ.RN");
  check(Op::ATOMG_FLOAT, Mod::AtomFloat, AtomFloat::F64, "F64.RN");
  check(Op::SHFL, Mod::ShflMode, ShflMode::BFLY, "BFLY");
  check(Op::VOTE, Mod::VoteMode, VoteMode::EQ, "EQ");
  check(Op::F2F_64, Mod::SrcFmt, Fmt::F64, "F64");
  check(Op::F2I_64, Mod::DstFmt, IntFmt::U64, "U64");
  check(Op::F2I, Mod::Round, RoundInt::Trunc, "TRUNC");
  check(Op::I2F_64, Mod::SrcFmt, IntFmt::S64, "S64");
  check(Op::IDIV, Mod::MacroType, MacroType::S64, "S64");
  check(Op::FDIV, Mod::MacroKind, MacroKind::Full, "FULL");
}

TEST_CASE("results come first, but for the barrier of BSSY") { // ori::resultSlots
  for (unsigned n = 0; n < static_cast<unsigned>(Op::kCount); ++n) {
    const InstrDesc& row = desc(static_cast<Op>(n));
    CAPTURE(row.name);
    bool isAfterSource = false;
    for (unsigned slot = 0; slot < row.slotCount; ++slot) {
      CHECK((row.roles[slot] != Role::Def || !isAfterSource || static_cast<Op>(n) == Op::BSSY));
      isAfterSource |= row.roles[slot] == Role::Use;
    }
  }
}

TEST_CASE("widths follow modifiers") {
  Inst load = makeInst(Op::LDG);
  CHECK(operandWidth(load, 1) == 1);
  CHECK(operandWidth(load, 3) == 2);
  REQUIRE(setMod(load, {Mod::Size, MemSize::B128}));
  CHECK(operandWidth(load, 1) == 4);
  CHECK_FALSE(setMod(load, {Mod::Size, 7}));
  CHECK_FALSE(setMod(load, {Mod::Cmp, ICmp::LT}));
  Inst convert = makeInst(Op::F2F_64);
  setMod(convert, {Mod::DstFmt, Fmt::F64});
  setMod(convert, {Mod::SrcFmt, Fmt::F32});
  CHECK(operandWidth(convert, 0) == 2);
  CHECK(operandWidth(convert, 1) == 1);
}

TEST_CASE("what a slot accepts") {
  const Inst add = makeInst(Op::IADD3);
  CHECK(accepts(Op::IADD3, add.mods, 4, Operand::immediate(1 << 31)));
  CHECK(accepts(Op::IADD3, add.mods, 4, Operand::constant(0, 0x210).negated()));
  CHECK(accepts(Op::IADD3, add.mods, 4, Operand::virt(File::UR, 7)));
  CHECK_FALSE(accepts(Op::IADD3, add.mods, 3, Operand::virt(File::UR, 7)));
  CHECK_FALSE(accepts(Op::IADD3, add.mods, 4, Operand::constant(0, 0x211))); // words only
  CHECK_FALSE(accepts(Op::IADD3, add.mods, 4, Operand::immediate(1).negated()));
  const Inst load = makeInst(Op::LDS);
  CHECK(accepts(Op::LDS, load.mods, 3, Operand::immediate(-0x800000)));
  CHECK_FALSE(accepts(Op::LDS, load.mods, 3, Operand::immediate(0x800000)));
}

TEST_CASE("an absent operand chooses the form without it") {
  Inst load = makeInst(Op::LDS);
  load.operands[1] = Operand::physical(File::R, 2);
  CHECK(print(load) == "LDS RZ, [R2]");
  CHECK((encode(load).word.hi >> 27 & 1) == 0);
  load.operands[2] = Operand::physical(File::UR, 4);
  CHECK(print(load) == "LDS RZ, [R2+UR4]");
  CHECK((encode(load).word.hi >> 27 & 1) == 1);
}

TEST_CASE("floating-point immediates") {
  CHECK(floatText(0x3f000000, FloatFormat::F32) == "0.5");
  CHECK(floatText(0x80000000, FloatFormat::F32) == "-0.0");
  CHECK(floatText(0x7f800000, FloatFormat::F32) == "+INF");
  CHECK(floatText(0xffc00000, FloatFormat::F32) == "-QNAN");
  CHECK(floatText(0x4e800000, FloatFormat::F32) == "1.07374182400000000000e+09");
  CHECK(floatText(0x0001, FloatFormat::F16) == "5.9604644775390625e-08");
  CHECK(floatText(0x3f80, FloatFormat::Bf16) == "1");
  for (const std::uint64_t bits : {0x3f9d70a4u, 0x00000001u, 0x7f7fffffu, 0x00800000u, 0xc2c80000u})
    CHECK(parseFloat(floatText(bits, FloatFormat::F32), FloatFormat::F32) == bits);
  for (std::uint64_t bits = 0; bits < 0x7c00; bits += 7)
    CHECK(parseFloat(floatText(bits, FloatFormat::F16), FloatFormat::F16) == bits);
  CHECK_FALSE(parseFloat("0.5x", FloatFormat::F32));
}

TEST_CASE("slots are found by their names") {
  for (const InstrDesc& d : allInstrs())
    for (unsigned i = 0; i < d.slotCount; ++i) {
      CAPTURE(d.name);
      CHECK(d.slotIds[i] == slotIdOf(d.slots[i].name));
      CHECK(d.slot(d.slotIds[i]) <= i); // another slot may have the same name
    }
  CHECK(desc(Op::IADD3).slotIndex(SlotId::offset) == -1);
  CHECK_THROWS(desc(Op::IADD3).slot(SlotId::offset));
}
