#include "tools/emulator/operation.h"

#include "encoder/isa/desc.h"
#include "support/check.h"

#include <algorithm>

namespace orias::emu {

using isa::File;
using isa::Op;
using isa::Operand;
using isa::Role;

namespace {

From fromOf(File file) {
  switch (file) {
  case File::UR: return From::Uniform;
  case File::P: return From::Predicate;
  case File::UP: return From::UniformPredicate;
  default: return From::Lane;
  }
}

unsigned bytesOf(isa::MemSize size) {
  switch (size) {
  case isa::MemSize::U8:
  case isa::MemSize::S8: return 1;
  case isa::MemSize::U16:
  case isa::MemSize::S16: return 2;
  case isa::MemSize::B32: return 4;
  case isa::MemSize::B64: return 8;
  case isa::MemSize::B128:
  case isa::MemSize::UB128: return 16;
  }
  return 4;
}

} // namespace

namespace {

/// Whether the address is a 32-bit register plus a uniform pair.
bool isIndexed(isa::Op op) {
  switch (op) {
  case isa::Op::LDG_INDEXED:
  case isa::Op::LD_INDEXED:
  case isa::Op::STG_INDEXED:
  case isa::Op::ST_INDEXED:
  case isa::Op::ATOM_INDEXED:
  case isa::Op::ATOM_FLOAT_INDEXED:
  case isa::Op::REDG_INDEXED:
  case isa::Op::QSPC_INDEXED: return true;
  default: return false;
  }
}

} // namespace

Code::Code(const Program& program, const Constants& constants) : program_(program), constants_(constants) {
  rows_ = {0, 0, 8, 8, 16}; // PT and UPT are rows that are always true
  operations_.resize(program.code.size());
  for (std::size_t i = 0; i < operations_.size(); ++i)
    bind(program.code[i], operations_[i]);
  for (const Relocation& r : program.codeRelocations) {
    Operation& op = operations_.at(r.offset / 16);
    for (unsigned s = 0; s < op.inst.operandCount; ++s)
      if (op.inst.operands[s].isImm())
        op.preset[s] = isa::LaneValue::of(static_cast<std::uint32_t>(constants.valueOf(r) >> (r.isHigh ? 32 : 0)));
      else if (op.inst.operands[s].kind == Operand::Kind::Label)
        op.preset[s] = isa::LaneValue::of64(constants.valueOf(r));
  }
  findAtomics();
  // Virtual registers that only phis use.
  for (std::size_t f = 0; f < rows_.size(); ++f)
    if (program.isOri) rows_[f] = std::max(rows_[f], program.rows[f]);
}

/// Floating-point additions in shared memory are loops: LDS, the addition, ATOMS.CAST.SPIN with the loaded value; in
/// that of another CTA LD and ATOM.CAST.SPIN.
void Code::findAtomics() {
  constexpr std::size_t kReach = 16; // words from the load to the swap
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    Operation& load = operations_[i];
    const isa::InstrDesc& row = isa::desc(load.inst.op);
    if (row.modIndex(isa::Mod::Order) >= 0) {
      const auto order = isa::modAs<isa::MemOrder>(load.inst, isa::Mod::Order);
      load.isStrong =
          order == isa::MemOrder::StrongSm || order == isa::MemOrder::StrongGpu || order == isa::MemOrder::StrongSys;
    }
    if ((load.inst.op != isa::Op::LDS && load.inst.op != isa::Op::LD) || load.result < 0) continue;
    const Operand& loaded = load.inst.operands[static_cast<std::size_t>(load.result)];
    for (std::size_t k = i + 1; k < std::min(i + kReach, operations_.size()); ++k) {
      const Operation& swap = operations_[k];
      if ((swap.inst.op != isa::Op::ATOMS_CAS && swap.inst.op != isa::Op::ATOM_CAS) || swap.data < 0) continue;
      const Operand& compared = swap.inst.operands[static_cast<std::size_t>(swap.data)];
      load.isStrong |= compared.isReg(File::R) && compared.reg == loaded.reg;
    }
  }
}

Code::Place Code::place(const Operand& operand) const {
  Place p;
  switch (operand.kind) {
  case Operand::Kind::Reg:
    p.isRegister = true;
    p.file = operand.file;
    p.isZero = operand.isZeroReg();
    p.row = operand.isVirtual() ? program_.rowOfVReg[operand.reg] + operand.sub : operand.reg;
    if (p.isZero && (operand.file == File::P || operand.file == File::UP)) p.constant = operand.inverted() ? 0 : 1;
    break;
  case Operand::Kind::Imm: p.constant = static_cast<std::uint64_t>(std::int64_t{operand.imm}); break;
  case Operand::Kind::Const:
    p.constant = constants_.read(operand.bank, operand.imm, operand.width >= 2 ? 8 : 4).value_or(0);
    break;
  default: break;
  }
  return p;
}

void Code::addRead(Operation& to, unsigned slot, const Operand& operand, unsigned width, bool isLate) {
  const Place p = place(operand);
  const isa::InstrDesc& row = isa::desc(to.inst.op);
  if (p.isZero) {
    const bool isPredicate = operand.file == File::P || operand.file == File::UP;
    if (isPredicate) to.preset[slot] = isa::LaneValue::of(1);
    return;
  }
  to.firstRead[slot] = static_cast<std::int8_t>(to.readCount);
  for (unsigned w = 0; w < width; ++w) {
    ORIAS_CHECK(to.reads.size() < kMaxReads, "too many registers are read");
    Read& read = to.reads.emplace_back();
    ++to.readCount;
    read.slot = static_cast<std::uint8_t>(slot);
    read.word = static_cast<std::uint8_t>(w);
    read.from = fromOf(operand.file);
    read.row = p.row + w;
    read.isLate = isLate && operand.file == File::R;
    if (slot < row.slotCount && row.slotIds[slot] == isa::SlotId::Rc)
      read.port = w == 1 ? isa::Access::Port::High : isa::Access::Port::Addend;
    std::uint32_t& rows = rows_[static_cast<std::size_t>(operand.file)];
    rows = std::max(rows, read.row + 1);
  }
}

void Code::bindSlot(Operation& to, unsigned slot) {
  const isa::InstrDesc& row = isa::desc(to.inst.op);
  const Operand& operand = to.inst.operands[slot];
  to.firstRead[slot] = to.firstWrite[slot] = -1;
  if (slot >= row.slotCount) return;
  const isa::SlotDesc& desc = row.slots[slot];
  unsigned width = isa::operandWidth(to.inst, slot);
  if (width == 0) width = operand.width;
  switch (operand.kind) {
  case Operand::Kind::Reg:
    if (operand.file == File::B) {
      to.barrier = place(operand).row;
      rows_[static_cast<std::size_t>(File::B)] = std::max(rows_[static_cast<std::size_t>(File::B)], to.barrier + 1);
      break;
    }
    if (row.latencyClass == isa::LatencyClass::Gmma && (desc.name == "Rd" || desc.name == "Rc")) {
      // Too many to be resolved individually: the handler resolves them.
      std::uint32_t& rows = rows_[static_cast<std::size_t>(operand.file)];
      if (!operand.isZeroReg()) rows = std::max(rows, place(operand).row + width);
    } else if (desc.role == Role::Use) {
      addRead(to, slot, operand, width, desc.readLate);
    } else if (!operand.isZeroReg()) {
      to.firstWrite[slot] = static_cast<std::int8_t>(to.writeCount);
      const std::uint32_t first = place(operand).row;
      for (unsigned w = 0; w < width; ++w) {
        to.writes.push_back({static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(w), fromOf(operand.file),
                             w == 1 ? isa::Access::Port::High : isa::Access::Port::Main, first + w});
        ++to.writeCount;
        std::uint32_t& rows = rows_[static_cast<std::size_t>(operand.file)];
        rows = std::max(rows, first + w + 1);
      }
    }
    break;
  case Operand::Kind::Imm: to.preset[slot] = isa::immediateValue(to.inst, slot); break;
  case Operand::Kind::Const:
    if (operand.reg != Operand::kNoReg) {
      to.isUnknown = true; // a bindless bank
      break;
    }
    {
      const unsigned bytes = width >= 2 ? 8 : 4;
      const auto value = constants_.read(operand.bank, operand.imm & 0xffff, bytes);
      // ULDC and LDC read the constant themselves.
      if (!value && !row.has(isa::Flag::ConstLoad)) to.isUnknown = true;
      if (value) to.preset[slot] = isa::LaneValue::of64(*value);
    }
    break;
  case Operand::Kind::Label: to.target = operand.reg; break;
  case Operand::Kind::None: break;
  case Operand::Kind::Symbol:
    if (operand.reg < program_.symbols.size() && !program_.symbols[operand.reg].symbol.empty()) {
      Relocation symbol = program_.symbols[operand.reg];
      symbol.addend += operand.imm;
      to.preset[slot] = isa::LaneValue::of64(constants_.valueOf(symbol) >> (operand.sub == 1 ? 32 : 0));
      break;
    }
    to.isUnknown = true;
    break;
  case Operand::Kind::Frame: to.isUnknown = true; break;
  }
}

void Code::bind(const Instruction& from, Operation& to) {
  to.inst = from.inst;
  to.block = from.block;
  to.startsBlock = from.startsBlock;
  to.phis = from.phis;
  to.targets = from.targets;
  hasPhis_ |= from.phis >= 0;
  to.leavesRestUndefined = from.leavesRestUndefined;
  to.isUnknown = !from.isKnown;
  if (to.isUnknown) return;
  const isa::InstrDesc& row = isa::desc(to.inst.op);

  const Operand& guard = to.inst.guard;
  to.isGuarded = !(guard.isZeroReg() && !guard.inverted());
  to.guardFrom = fromOf(guard.file);
  to.guardIsInverted = guard.inverted();
  to.guardRow = place(guard).row;
  std::uint32_t& guardRows = rows_[static_cast<std::size_t>(guard.file)];
  guardRows = std::max(guardRows, to.guardRow + 1);

  for (unsigned slot = 0; slot < isa::kMaxOperands; ++slot) {
    if (slot < to.inst.operandCount)
      bindSlot(to, slot);
    else
      to.firstRead[slot] = to.firstWrite[slot] = -1;
  }

  const auto slotOf = [&](isa::SlotId name) { return static_cast<std::int8_t>(row.slotIndex(name)); };
  to.base = slotOf(to.inst.op == isa::Op::BRXU ? isa::SlotId::URa : isa::SlotId::Ra);
  to.uniform = slotOf(isa::SlotId::URb);
  to.data = slotOf(isa::SlotId::Rb);
  to.data2 = slotOf(isa::SlotId::Rc);
  to.result = slotOf(isa::SlotId::Rd) >= 0 ? slotOf(isa::SlotId::Rd) : slotOf(isa::SlotId::URd);
  to.predicate = slotOf(isa::SlotId::Pp);
  if (const int s = row.slotIndex(isa::SlotId::offset); s >= 0 && to.inst.operands[static_cast<unsigned>(s)].isImm())
    to.offset = to.inst.operands[static_cast<unsigned>(s)].imm;
  if (row.modIndex(isa::Mod::Size) >= 0) {
    const auto size = isa::modAs<isa::MemSize>(to.inst, isa::Mod::Size);
    to.size = static_cast<std::uint8_t>(bytesOf(size));
    to.isSigned = size == isa::MemSize::S8 || size == isa::MemSize::S16;
  }
  if (const unsigned scale = isa::getMod(to.inst, isa::Mod::AddrScale); scale != 0)
    to.scale = static_cast<std::uint8_t>(scale + 1);
  to.isWideAddress = isa::getMod(to.inst, isa::Mod::E) != 0;

  to.isIndexed = isIndexed(to.inst.op);
  to.isUniform = row.has(isa::Flag::Uniform);
  to.isFlow = isFlow(to.inst.op);
  if (const int quad = row.slotIndex(isa::SlotId::quad); quad >= 0 && quad < to.inst.operandCount)
    if (const Operand& mask = to.inst.operands[static_cast<unsigned>(quad)]; mask.isImm())
      to.quadLanes = 0x11111111u * (static_cast<std::uint32_t>(mask.imm) & 0xf);
  to.handler = handlerOf(to.inst.op);
  if (to.handler) return;
  to.lane = isa::laneFunction(to.inst.op);
  if (!to.lane) to.warp = isa::warpFunction(to.inst.op);
}

} // namespace orias::emu
