// isa_random CHIP SEED COUNT: COUNT random instructions of each row of the table that the chip has, one line each: the
// word and our text. Also checks that the word decodes to the same instruction. isa_random.py compares the text with
// that of nvdisasm.

#include "encoder/isa/codec.h"
#include "encoder/isa/print.h"
#include "encoder/isa/target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

using namespace orias::isa;

namespace {

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  /// A random instruction in one form of a row.
  Inst make(const InstrDesc& d, const Form& form) {
    Inst inst = makeInst(d.op);
    for (unsigned i = 0; i < d.modCount; ++i) {
      do
        inst.mods[i] = static_cast<std::uint8_t>(below(d.mods[i].valueCount()));
      while (!d.mods[i].isLegal(inst.mods[i]));
    }
    setMod(inst, {Mod::Byte, sourceBitsOf(d.op, inst.mods) <= 16 ? below(2) : 0});
    for (unsigned i = 0; i < d.slotCount; ++i)
      inst.operands[i] = operand(d, form, i);
    keepAbsolutePositive(d, inst);
    keepUsual(d, inst);
    inst.guard = Operand::physical(d.guardFile(), below(4) == 0 ? below(8) : 7);
    // nvdisasm decodes the reuse bits only with these stall counts.
    inst.control.stall = static_cast<std::uint8_t>(1 + below(11));
    inst.control.yield = true;
    return inst;
  }

 private:
  /// Real code has no negative address without a register. nvdisasm prints it without a sign, we do not.
  static void keepAbsolutePositive(const InstrDesc& d, Inst& inst) {
    Operand* offset = nullptr;
    for (unsigned i = 0; i < d.slotCount; ++i) {
      if (d.texts[i].bracket != Bracket::Address) continue;
      Operand& o = inst.operands[i];
      if (o.isImm())
        offset = &o;
      else if (!o.isNone() && !o.isZeroReg())
        return;
    }
    if (offset && offset->imm < 0) offset->imm = 0;
  }

  /// Real code also has no address with only a uniform register, no zero register for the threads of a barrier, and no
  /// conversion of a constant. nvdisasm's text of these depends on the chip and on the type.
  static void keepUsual(const InstrDesc& d, Inst& inst) {
    for (unsigned i = 0; i < d.slotCount; ++i) {
      Operand& o = inst.operands[i];
      const bool isAddress = d.texts[i].bracket == Bracket::Address;
      const bool isCount = d.slots[i].name == "count" && o.isReg(File::R);
      if ((isAddress || isCount) && d.slots[i].file == File::R && o.isZeroReg()) o.reg = 4;
    }
    // Real code has no buffer of B in a product that does not keep weights.
    if (d.slotIndex(SlotId::URi) >= 0 && d.modIndex(Mod::Sub3) >= 0 && getMod(inst, Mod::Sub3) == 0)
      setMod(inst, {Mod::Sub2, 0});
    if (d.op == Op::I2F_IMM || d.op == Op::I2F_64_IMM) inst.operands[1].imm &= 0x7fffffff;
  }

  unsigned below(unsigned limit) { return static_cast<unsigned>(random_()) % limit; }

  Operand operand(const InstrDesc& d, const Form& form, unsigned slot) {
    const FieldEnc& f = d.field(form, slot);
    Operand o;
    const auto reg = [&](File file, unsigned count) {
      o = below(6) == 0 ? Operand::zero(file) : Operand::physical(file, below(count));
    };
    switch (f.kind) {
    case Enc::None:
    case Enc::Implied: return o;
    case Enc::Gpr: reg(File::R, 60), o.reg = o.reg == kRZ ? kRZ : o.reg & ~3u; break;
    case Enc::Ugpr: reg(File::UR, 60), o.reg = o.reg == kURZ ? kURZ : o.reg & ~3u; break;
    case Enc::Pred:
    case Enc::PredInverted: reg(File::P, 7); break;
    case Enc::Upred:
    case Enc::UpredInverted: reg(File::UP, 7); break;
    case Enc::Bar: o = Operand::physical(File::B, below(16)); break;
    case Enc::UImm:
    case Enc::SImm: {
      const unsigned width = std::min(32u, unsigned{f.width} + f.width2);
      std::int64_t value = static_cast<std::uint32_t>(random_());
      if (width < 32) {
        value &= (std::int64_t{1} << width) - 1;
        if (f.kind == Enc::SImm && below(2) == 0)
          value -= std::int64_t{1} << (width - 1);
        else if (f.kind == Enc::SImm)
          value >>= 1;
      }
      if (below(8) == 0) value = 0;
      if (below(8) == 0) value = 1;
      o = Operand::immediate(static_cast<std::int32_t>(value * (std::int64_t{1} << f.scale)));
      break;
    }
    case Enc::Const:
      o = Operand::constant(below(8), static_cast<std::int32_t>(below(0x400) * 4));
      if (below(4) == 0) o.bank = 0, o.reg = below(60) & ~3u;
      break;
    case Enc::Label:
      o.kind = Operand::Kind::Label;
      o.imm = static_cast<std::int32_t>(below(1000) * 16) - 8000;
      break;
    }
    if (f.neg != 0 && below(3) == 0) o.flags |= Operand::kNeg;
    if (f.abs != 0 && below(3) == 0) o.flags |= Operand::kAbs;
    if (f.inv != 0 && below(3) == 0) o.flags |= Operand::kNot;
    if (f.reuse != 0 && below(4) == 0) o.flags |= Operand::kReuse;
    if (f.half != 0 && below(3) == 0) o.half = below(2) == 0 ? Operand::Half::H0H0 : Operand::Half::H1H1;
    o.width = static_cast<std::uint8_t>(0);
    return o;
  }

  std::mt19937 random_;
};

} // namespace

int main(int argc, char** argv) {
  const Target* target = Target::find(argc > 1 ? argv[1] : "sm_90");
  if (target == nullptr) {
    std::fprintf(stderr, "there is no chip %s\n", argv[1]);
    return 2;
  }
  const unsigned seed = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  const unsigned count = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 4;
  Generator generator(seed);
  int failures = 0;
  for (const InstrDesc& d : allInstrs())
    for (const Form& form : d.formList())
      for (unsigned i = 0; i < count; ++i) {
        const Inst inst = generator.make(d, form);
        const EncodeResult r = encode(inst, *target);
        if (!r && encode(inst)) continue; // not available on the chip
        if (!r) {
          std::fprintf(stderr, "%s\n", r.error.c_str());
          ++failures;
          continue;
        }
        const std::optional<Inst> back = decodeFor(*target, r.word);
        // Older chips omit modifiers that they do not have.
        const std::string text = printFor(*target, back && target->smVersion() < 90 ? *back : inst);
        if (!back || printFor(*target, *back) != text || encode(*back, *target).word != r.word) {
          std::fprintf(stderr, "%s: %s decodes to %s\n", d.name.data(), text.c_str(),
                       back ? printFor(*target, *back).c_str() : "nothing");
          ++failures;
        }
        std::printf("%016llx %016llx %.*s %s\n", static_cast<unsigned long long>(r.word.lo),
                    static_cast<unsigned long long>(r.word.hi), static_cast<int>(d.name.size()), d.name.data(),
                    text.c_str());
      }
  return failures == 0 ? 0 : 1;
}
