#include "phases/uniform/uniform_form.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"

#include <algorithm>
#include <array>
#include <utility>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;

namespace {

/// Special registers that ptxas reads to uniform registers (observed).
constexpr std::array<std::int32_t, 4> kUniformSpecials = {37, 38, 39, 136}; // SR_CTAID.X .Y .Z, SR_CgaCtaId

/// Uniform opcodes that exist here for reading ptxas' code; their gain has not been measured.
constexpr Op kReadOnly[] = {Op::UF2F,  Op::UFRND, Op::UI2I,       Op::UI2IP,      Op::UI2IP_4,       Op::UI2IP_2,
                            Op::UF2IP, Op::UFSET, Op::UIMAD_HI_X, Op::UVIADD_SAT, Op::UF2FP_FP8_F16, Op::UF2FP_TF32};

constexpr std::string_view kRowNames[] = {
#define ORIAS_INSTR(name, ...) #name,
#include "encoder/isa/instructions.inc"
#undef ORIAS_INSTR
};
constexpr std::size_t kRows = std::size(kRowNames);
constexpr std::uint16_t kNoRow = 0xffff;

/// By opcode: those with the same name plus a U before or after it.
struct NamedRows {
  std::array<std::uint16_t, kRows> before{}, after{};
};
constexpr std::uint32_t hashOf(std::string_view name, std::uint32_t hash = 2166136261U) {
  for (const char c : name)
    hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619U; // FNV-1a
  return hash;
}
consteval NamedRows findNames() {
  std::array<std::uint32_t, kRows> hashes{};
  for (std::size_t i = 0; i < kRows; ++i)
    hashes[i] = hashOf(kRowNames[i]);
  const auto find = [&](std::uint32_t hash) {
    for (std::size_t i = 0; i < kRows; ++i)
      if (hashes[i] == hash) return static_cast<std::uint16_t>(i);
    return kNoRow;
  };
  NamedRows found;
  for (std::size_t i = 0; i < kRows; ++i) {
    found.before[i] = find(kRowNames[i] == "S2R" ? hashOf("S2UR") : hashOf(kRowNames[i], hashOf("U")));
    found.after[i] = find(hashOf("U", hashes[i]));
  }
  return found;
}
constexpr NamedRows kNamed = findNames();

/// The opcode with the same name plus a U, before it or, for votes and names with a 2, at their position of the U.
const isa::InstrDesc* counterpartRow(Op op, const isa::Target& target) {
  const auto row = [&](std::uint16_t number) -> const isa::InstrDesc* {
    if (number == kNoRow) return nullptr;
    const isa::InstrDesc& named = isa::desc(static_cast<Op>(number));
    if ((named.sms & target.instructions()) == 0 || std::ranges::find(kReadOnly, named.op) != std::end(kReadOnly))
      return nullptr;
    return &named;
  };
  const isa::InstrDesc* before = row(kNamed.before[static_cast<std::size_t>(op)]);
  if (before) return before;
  const isa::InstrDesc* after = row(kNamed.after[static_cast<std::size_t>(op)]);
  return after && after->pipe == isa::Pipe::Uniform ? after : nullptr;
}

/// The operand slot of the vector opcode that corresponds to a slot of the uniform one; -1 when there is none.
int slotOf(const isa::InstrDesc& vector, isa::SlotId slot) {
  using enum isa::SlotId;
  constexpr std::pair<isa::SlotId, isa::SlotId> kVectorSlots[] = {
      {URa, Ra}, {URb, Rb}, {URc, Rc}, {URd, Rd}, {URs, Rs}, {UPp, Pp}, {UPq, Pq}, {UPr, Pr}, {UPu, Pu}, {UPv, Pv}};
  const int exact = vector.slotIndex(slot);
  const auto* other = std::ranges::find(kVectorSlots, slot, [](const auto& pair) { return pair.first; });
  if (exact >= 0 || other == std::end(kVectorSlots)) return exact;
  // The second source of UFADD is named like the third of others.
  if (slot == URc && vector.op == Op::FADD) return vector.slotIndex(Rb);
  return vector.slotIndex(other->second);
}

Operand asUniform(Operand o) {
  if (o.isReg() && !o.isVirtual() && o.isZeroReg()) {
    if (o.file == File::R) {
      o.file = File::UR;
      o.reg = isa::kURZ;
    } else if (o.file == File::P) {
      o.file = File::UP;
      o.reg = isa::kUPT;
    }
  }
  return o;
}

std::optional<UniformForm> constantLoad(const Operand& to, const Operand& constant, isa::MemSize size) {
  if (constant.reg != Operand::kNoReg) return std::nullopt; // bindless
  UniformForm form{Op::ULDC, {}, {to, constant}, {UniformSource::Keep, UniformSource::Keep}};
  form.mods = isa::makeInst(Op::ULDC).mods;
  if (!isa::setMod(Op::ULDC, form.mods, {isa::Mod::Size, size})) return std::nullopt;
  return form;
}

/// ULDC with the offset in a uniform register.
std::optional<UniformForm> indexedLoad(const ori::Instr& instr, std::int32_t offset) {
  UniformForm form{Op::ULDC_INDEXED,
                   isa::makeInst(Op::ULDC_INDEXED).mods,
                   {instr.op_(0).value(), instr.op_(1).value(), instr.op_(2).value(), Operand::immediate(offset)},
                   {UniformSource::Keep, UniformSource::Keep, UniformSource::Register, UniformSource::Keep}};
  const auto size = isa::modAs<isa::MemSize>(instr, isa::Mod::Size);
  if (!instr.op_(2).isReg(File::R) || !isa::setMod(form.op, form.mods, {isa::Mod::Size, size})) return std::nullopt;
  return form;
}

/// LDC has bank, register and offset as separate operands, ULDC with a known offset has one operand for them.
std::optional<UniformForm> ofConstantLoad(const ori::Instr& instr) {
  const Operand &bank = instr.op_(1), &index = instr.op_(2), &offset = instr.op_(3);
  if (!bank.isImm() || !(offset.isImm() || offset.isNone())) return std::nullopt;
  if (isa::getMod(instr.op, instr.mods, isa::Mod::Sub) != 0) return std::nullopt;
  const std::int32_t at = offset.isNone() ? 0 : offset.imm;
  const bool isDirect = index.isNone() || index.isZeroReg();
  if (!isDirect) return indexedLoad(instr, at);
  if (at < 0) return std::nullopt;
  const unsigned width = isa::operandWidth(instr.op, instr.mods, 0);
  return constantLoad(instr.op_(0).value(), Operand::constant(static_cast<unsigned>(bank.imm), at, width),
                      isa::modAs<isa::MemSize>(instr, isa::Mod::Size));
}

/// Copies of a constant bank are loads. Other copies only change the register file.
std::optional<UniformForm> ofCopy(const ori::Instr& instr) {
  const ori::Operand &to = instr.op_(0), &from = instr.op_(1);
  if (from.isConst())
    return to.width > 2 ? std::nullopt
                        : constantLoad(to.value(), from.value(), to.width == 2 ? isa::MemSize::B64 : isa::MemSize::B32);
  if (instr.op != Op::COPY || from.neg() || from.abs() || from.inverted()) return std::nullopt;
  if (!from.isReg() && !from.isImm()) return std::nullopt;
  const bool isVector = from.isReg() && !from.isZeroReg() && (from.file == File::R || from.file == File::P);
  return UniformForm{Op::COPY,
                     instr.mods,
                     {to.value(), asUniform(from.value())},
                     {UniformSource::Keep, isVector ? UniformSource::Register : UniformSource::Keep}};
}

/// Fills form.sources: the change that each operand needs so that one form of the uniform opcode accepts all of them.
bool findSources(UniformForm& form) {
  const isa::InstrDesc& row = isa::desc(form.op);
  std::vector<Operand> trial = form.operands;
  form.sources.assign(form.operands.size(), UniformSource::Keep);
  for (unsigned i = 0; i < trial.size(); ++i) {
    const isa::SlotDesc& slot = row.slots[i];
    if (slot.file != File::UR && slot.file != File::UP) continue;
    const auto stand = [&](unsigned width) {
      const std::uint8_t marks = trial[i].flags & (Operand::kNeg | Operand::kAbs | Operand::kNot);
      trial[i] = Operand::virt(slot.file, 0, width);
      trial[i].flags |= marks;
    };
    if (trial[i].isReg() && trial[i].file != slot.file) {
      if (slot.role == isa::Role::Use) form.sources[i] = UniformSource::Register;
      stand(trial[i].width);
    } else if (trial[i].isConst()) {
      if (trial[i].reg != Operand::kNoReg) return false;
      const unsigned width = isa::operandWidth(form.op, form.mods, i);
      if (width > 2) return false;
      form.sources[i] = UniformSource::LoadConstant;
      stand(width);
    } else if (!trial[i].isImm() && !trial[i].isNone() && !trial[i].isReg()) {
      return false;
    }
  }
  // Numbers where only registers are possible, or where there is another number already.
  for (unsigned i = 0; !isa::fits(form.op, form.mods, trial); ++i) {
    if (i == trial.size()) return false;
    const isa::SlotDesc& slot = row.slots[i];
    if (!trial[i].isImm() || slot.file != File::UR || isa::operandWidth(form.op, form.mods, i) != 1) continue;
    if ((slot.accepts & isa::kAcceptsReg) == 0) continue;
    form.sources[i] = UniformSource::MoveImmediate;
    trial[i] = Operand::virt(File::UR, 0, 1);
  }
  return true;
}

} // namespace

std::optional<UniformForm> uniformForm(const ori::Instr& instr, const isa::Target& target) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.has(isa::Flag::ConstLoad)) return instr.op == Op::LDC ? ofConstantLoad(instr) : std::nullopt;
  if (instr.op == Op::COPY || (row.has(isa::Flag::Copy) && instr.op_(1).isConst())) return ofCopy(instr);
  const isa::InstrDesc* uniform = counterpartRow(instr.op, target);
  if (!uniform) return std::nullopt;

  UniformForm form;
  form.op = uniform->op;
  form.mods = isa::makeInst(form.op).mods;
  // Modifiers that the uniform opcode lacks must have their default value.
  for (unsigned i = 0; i < row.modCount; ++i) {
    const isa::ModDesc& mod = row.mods[i];
    const bool isSet = uniform->modIndex(mod.kind) >= 0 && isa::setMod(form.op, form.mods, {mod.kind, instr.mods[i]});
    if (!isSet && instr.mods[i] != mod.defaultValue) return std::nullopt;
  }
  std::vector<bool> isNamed(row.slotCount, false);
  for (unsigned i = 0; i < uniform->slotCount; ++i) {
    const isa::SlotDesc& slot = uniform->slots[i];
    const int from = slotOf(row, uniform->slotIds[i]);
    if (from < 0) return std::nullopt;
    isNamed[static_cast<unsigned>(from)] = true;
    form.operands.push_back(slot.file == File::R || slot.file == File::P
                                ? instr.op_(static_cast<unsigned>(from)).value()
                                : asUniform(instr.op_(static_cast<unsigned>(from)).value()));
  }
  // Immediate-only slots have file R in the table and need no change.
  for (unsigned i = 0; i < row.slotCount; ++i) {
    const Operand& o = instr.op_(i);
    if (isNamed[i] || o.isNone()) continue;
    const Operand& usual = row.defaults[i];
    if (o.kind != usual.kind || o.imm != usual.imm || o.reg != usual.reg) return std::nullopt;
  }
  for (unsigned i = 0; i < form.operands.size(); ++i) {
    const Operand& o = form.operands[i];
    const bool isSpecial = uniform->texts[i].style == isa::Style::SpecialReg;
    if (isSpecial && std::find(kUniformSpecials.begin(), kUniformSpecials.end(), o.imm) == kUniformSpecials.end())
      return std::nullopt;
  }
  if (!findSources(form)) return std::nullopt;
  return form;
}

std::optional<Operand> constantPlaceOf(const ori::Function& function, const Operand& source) {
  if (!source.isReg(File::R) || !source.isVirtual() || source.width > 2) return std::nullopt;
  const ori::Instr* def = function.singleDef(source.reg);
  if (!def || def->op != Op::LDC || def->isGuarded()) return std::nullopt;
  const Operand result = def->op_(0).value();
  const auto size = isa::modAs<isa::MemSize>(*def, isa::Mod::Size);
  if (size != (result.width == 2 ? isa::MemSize::B64 : isa::MemSize::B32)) return std::nullopt;
  if (source.sub < result.sub || source.sub + source.width > result.sub + result.width) return std::nullopt;
  const std::optional<UniformForm> form = ofConstantLoad(*def);
  if (!form || form->op != Op::ULDC) return std::nullopt;
  const std::int32_t at = form->operands[1].imm + 4 * (source.sub - result.sub);
  if (at % (4 * source.width) != 0) return std::nullopt;
  return Operand::constant(form->operands[1].bank, at, source.width);
}

} // namespace orias::phases
