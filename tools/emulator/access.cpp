// Loads and stores of all spaces.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"

#include <bit>
#include <fmt/format.h>

namespace orias::emu {

using isa::Op;

namespace {

const char* nameOf(Space space) {
  switch (space) {
  case Space::Shared: return "shared";
  case Space::Local: return "local";
  case Space::Constant: return "constant";
  default: return "global";
  }
}

bool isInWindow(std::uint64_t address, std::uint64_t window) {
  return address >= window && address < window + kWindowBytes;
}

/// A loaded value of 1 or 2 bytes as a register holds it.
std::uint32_t extended(std::uint32_t value, unsigned bytes, bool isSigned) {
  if (!isSigned || bytes >= 4) return value;
  return bytes == 1 ? static_cast<std::uint32_t>(static_cast<std::int8_t>(value))
                    : static_cast<std::uint32_t>(static_cast<std::int16_t>(value));
}

} // namespace

Space Machine::spaceOf(Op op) const {
  switch (op) {
  case Op::LDS:
  case Op::STS:
  case Op::LDSM:
  case Op::STSM:
  case Op::SYNCS_ARRIVE:
  case Op::SYNCS_PHASECHK:
  case Op::ARRIVES_LDGSTSBAR:
  case Op::ATOMS:
  case Op::ATOMS_CAS:
  case Op::ATOMS_ARRIVE:
  case Op::ATOMS_POPC_INC: return Space::Shared;
  case Op::LDL:
  case Op::STL: return Space::Local;
  case Op::LD:
  case Op::LD_INDEXED:
  case Op::ST:
  case Op::ST_INDEXED:
  case Op::ATOM:
  case Op::ATOM_ARRIVE:
  case Op::ATOM_CAS:
  case Op::ATOM_FLOAT: return Space::Generic;
  default: return Space::Global;
  }
}

std::uint64_t Machine::addressOf(const Operation& op, unsigned lane) const {
  const std::uint32_t low = word(op, op.base, 0, lane);
  const std::uint32_t uniform = op.uniform >= 0 ? word(op, op.uniform, 0, lane) : 0;
  if (!op.isWideAddress) return (low << op.scale) + uniform + static_cast<std::uint32_t>(op.offset);
  const std::uint32_t high = op.isIndexed ? 0 : word(op, op.base, 1, lane);
  const std::uint64_t base = low | std::uint64_t{high} << 32;
  const std::uint64_t uniformHigh = op.uniform >= 0 ? word(op, op.uniform, 1, lane) : 0;
  return base + (uniformHigh << 32 | uniform) + static_cast<std::uint64_t>(std::int64_t{op.offset});
}

namespace {

/// Which space a generic address is in; the address becomes that of the space.
Space resolveGeneric(std::uint64_t& address) {
  for (const std::uint64_t window : {kSharedWindow, kOlderSharedWindow})
    if (isInWindow(address, window)) {
      address -= window;
      return Space::Shared;
    }
  for (const std::uint64_t window : {kLocalWindow, kOlderLocalWindow})
    if (isInWindow(address, window)) {
      address -= window;
      return Space::Local;
    }
  if (isInWindow(address, kConstantWindow)) {
    address -= kConstantWindow;
    return Space::Constant;
  }
  return Space::Global;
}

} // namespace

Space Machine::spaceOfGeneric(std::uint64_t address) {
  return resolveGeneric(address);
}

void Machine::fault(launch::Fault fault, Space space, std::uint64_t address, unsigned lane, std::size_t size,
                    bool isWrite) {
  if (fault == launch::Fault::None) return;
  if (fault == launch::Fault::Uninitialised && !options_.memcheck) return;
  const std::uint32_t thread = warp().firstThread + lane;
  const launch::Dim3 block = device_.launch.block;
  const char* what = fault == launch::Fault::Misaligned      ? "is misaligned"
                     : fault == launch::Fault::Uninitialised ? "was never written"
                                                             : "is out of bounds";
  std::string text = fmt::format("{} of {} bytes: {} address {:#x} {}, thread ({}, {}, {}) of CTA ({}, {}, {})",
                                 isWrite ? "store" : "load", size, nameOf(space), address, what, thread % block.x,
                                 thread / block.x % block.y, thread / block.x / block.y, cta_.x, cta_.y, cta_.z);
  if (space == Space::Global)
    if (const launch::Allocation* near = device_.global.nearest(address))
      text += fmt::format("; the nearest allocation below is '{}' at {:#x} of {} bytes", near->name, near->address,
                          near->size);
  if (options_.memcheck)
    finding("memcheck", std::move(text));
  else
    stop("memcheck", std::move(text));
}

bool Machine::readMemory(Space space, std::uint64_t address, unsigned lane, std::span<std::byte> out, bool isAtomic) {
  if (space == Space::Generic) space = resolveGeneric(address);
  launch::Fault result = launch::Fault::None;
  switch (space) {
  case Space::Shared:
    result = shared_.read(address, out);
    noteShared(address, out, false, isAtomic);
    break;
  case Space::Local: {
    FlatMemory& local = localOf(lane);
    result = local.read(address, out);
    break;
  }
  case Space::Constant: {
    if (address % out.size() != 0) result = launch::Fault::Misaligned;
    for (std::size_t k = 0; k < out.size() && result == launch::Fault::None; k += 8) {
      const auto bytes = std::min<std::size_t>(out.size() - k, 8);
      const auto value = constants_.read(3, static_cast<std::int64_t>(address + k), static_cast<unsigned>(bytes));
      if (value)
        std::memcpy(out.data() + k, &*value, bytes);
      else
        result = launch::Fault::OutOfBounds;
    }
    break;
  }
  default: result = device_.global.read(address, out); break;
  }
  if (result == launch::Fault::None) return true;
  if (result != launch::Fault::Uninitialised) std::fill(out.begin(), out.end(), std::byte{0});
  fault(result, space, address, lane, out.size(), false);
  return result == launch::Fault::Uninitialised;
}

bool Machine::writeMemory(Space space, std::uint64_t address, unsigned lane, std::span<const std::byte> in,
                          bool isAtomic) {
  if (space == Space::Generic) space = resolveGeneric(address);
  launch::Fault result = launch::Fault::None;
  switch (space) {
  case Space::Shared:
    result = shared_.write(address, in);
    noteShared(address, in, true, isAtomic);
    break;
  case Space::Local: result = localOf(lane).write(address, in); break;
  case Space::Constant: result = launch::Fault::OutOfBounds; break;
  default: result = device_.global.write(address, in); break;
  }
  fault(result, space, address, lane, in.size(), true);
  return result == launch::Fault::None;
}

void Machine::noteShared(std::uint64_t address, std::span<const std::byte> data, bool isWrite, bool isAtomic) {
  if (!options_.racecheck) return;
  RaceCheck::Access access;
  access.offset = address - shared_.base();
  access.size = data.size();
  access.warp = static_cast<std::uint16_t>(warp().index);
  access.isWrite = isWrite;
  access.isAtomic = isAtomic;
  access.instruction = result_.warpInstructions;
  access.data = isWrite ? data.data() : nullptr;
  const RaceCheck::Conflict conflict = races_.note(access);
  if (!conflict.found) return;
  finding("racecheck",
          fmt::format("{} shared address {:#x}, which {} {} and nothing orders the two (warp {}, CTA ({}, {}, {}))",
                      isWrite ? "writes" : "reads", shared_.base() + conflict.offset,
                      conflict.warp == access.warp ? "another lane" : fmt::format("warp {}", conflict.warp),
                      conflict.withWrite ? "wrote" : "read", access.warp, cta_.x, cta_.y, cta_.z));
}

FlatMemory& Machine::localOf(unsigned lane) {
  FlatMemory& local = locals_[warp().firstThread + lane];
  if (local.isEmpty()) local.reset(localBase_, program_.localBytes, options_.memcheck);
  return local;
}

void Machine::countAccess(const Operation& op, std::uint32_t lanes) {
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const bool isAtomic = row.has(isa::Flag::Atomic);
  if (op.base < 0 || (!isAtomic && !row.has(isa::Flag::Load) && !row.has(isa::Flag::Store))) return;
  unsigned size = op.size != 0 ? op.size : 4;
  // Each lane names a row of a matrix.
  if (op.inst.op == Op::LDSM || op.inst.op == Op::STSM) {
    size = kMaxAccess;
    lanes &= ~std::uint32_t{0} >> (32 - (8u << isa::getMod(op.inst, isa::Mod::Size)));
  }
  lanes &= predicateMask(op, op.predicate);
  if (lanes == 0) return;
  std::array<std::uint64_t, kLanes> addresses{};
  Space space = spaceOf(op.inst.op);
  const Space named = space;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    addresses[lane] = addressOf(op, lane);
    if (named == Space::Generic) space = resolveGeneric(addresses[lane]);
  }
  figures_->access(warp().index, space, size, lanes, addresses);
}

void Machine::load(const Operation& op, std::uint32_t lanes) {
  if ((op.inst.op == Op::LDG || op.inst.op == Op::LDG_INDEXED) && op.firstWrite[0] >= 0) // what it means is not known
    return stop("unsupported", "a load with a predicate result");
  const Space space = spaceOf(op.inst.op);
  // A load whose predicate is false gives zero.
  const std::uint32_t enabled = predicateMask(op, op.predicate);
  std::uint32_t words[kMaxAccess / 4] = {};
  const unsigned count = (op.size + 3u) / 4;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    words[0] = 0;
    if ((enabled >> lane & 1) != 0)
      readMemory(space, addressOf(op, lane), lane, {reinterpret_cast<std::byte*>(words), op.size}, op.beginsAtomic);
    else
      std::fill_n(words, count, 0);
    words[0] = extended(words[0], op.size, op.isSigned);
    for (unsigned w = 0; w < count; ++w)
      setWord(op, op.result, w, lane, words[w]);
  }
}

void Machine::storeMemory(const Operation& op, std::uint32_t lanes) {
  const Space space = spaceOf(op.inst.op);
  std::uint32_t words[kMaxAccess / 4] = {};
  const unsigned count = (op.size + 3u) / 4;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (unsigned w = 0; w < count; ++w)
      words[w] = word(op, op.data, w, lane);
    forTargets(space, addressOf(op, lane), [&](std::uint64_t target) {
      writeMemory(space, target, lane, {reinterpret_cast<const std::byte*>(words), op.size});
    });
  }
}

/// LDC: c[bank][Ra + offset].
void Machine::loadConstant(const Operation& op, std::uint32_t lanes) {
  const auto bank = static_cast<unsigned>(op.inst.operands[1].imm);
  if (isa::getMod(op.inst, isa::Mod::Sub) != 0) return stop("unsupported", "an indexed bank");
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::int64_t offset =
        static_cast<std::int32_t>(word(op, op.base, 0, lane) + static_cast<std::uint32_t>(op.offset));
    const auto value = constants_.read(bank, offset, op.size);
    if (!value && !options_.memcheck)
      return stop("memcheck", fmt::format("c[{:#x}][{:#x}] is out of bounds or misaligned", bank, offset));
    if (!value) finding("memcheck", fmt::format("c[{:#x}][{:#x}] is out of bounds or misaligned", bank, offset));
    const std::uint64_t bits = value.value_or(0);
    setWord(op, op.result, 0, lane, extended(static_cast<std::uint32_t>(bits), op.size, op.isSigned));
    if (op.size == 8) setWord(op, op.result, 1, lane, static_cast<std::uint32_t>(bits >> 32));
  }
}

void Machine::loadConstantUniform(const Operation& op, std::uint32_t) {
  unsigned bank = 0;
  std::int64_t offset = 0;
  if (op.inst.op == Op::ULDC_INDEXED) {
    bank = static_cast<unsigned>(op.inst.operands[1].imm);
    const int index = isa::desc(op.inst.op).slotIndex("URa");
    offset = static_cast<std::int32_t>(uniformWord(op, index, 0) + static_cast<std::uint32_t>(op.offset));
  } else {
    const isa::Operand& from = op.inst.operands[1];
    bank = from.bank;
    offset = from.imm;
  }
  const auto value = constants_.read(bank, offset, op.size);
  if (!value) return stop("memcheck", fmt::format("c[{:#x}][{:#x}] is out of bounds or misaligned", bank, offset));
  setWord(op, op.result, 0, 0, extended(static_cast<std::uint32_t>(*value), op.size, op.isSigned));
  if (op.size == 8) setWord(op, op.result, 1, 0, static_cast<std::uint32_t>(*value >> 32));
}

/// LDSM: lane 8 m + r gives the address of row r of matrix m; lane l gets elements 2 (l % 4) and the next of row l / 4
/// of each, or of its transpose.
void Machine::loadMatrix(const Operation& op, std::uint32_t lanes) {
  if (lanes != ~0u) return stop("unsupported", "LDSM with lanes missing");
  const unsigned matrices = 1u << isa::getMod(op.inst, isa::Mod::Size);
  const bool isTransposed = isa::getMod(op.inst, isa::Mod::Sub) != 0;
  // All of them before the first result, which may go to the addresses' register.
  std::uint16_t all[4][8][8];
  for (unsigned row = 0; row < 8 * matrices; ++row)
    if (!readMemory(Space::Shared, addressOf(op, row), row, std::as_writable_bytes(std::span(all[row / 8][row % 8]))))
      return;
  for (unsigned m = 0; m < matrices; ++m) {
    const auto& rows = all[m];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const unsigned r = lane / 4, c = 2 * (lane % 4);
      const std::uint32_t low = isTransposed ? rows[c][r] : rows[r][c];
      const std::uint32_t high = isTransposed ? rows[c + 1][r] : rows[r][c + 1];
      setWord(op, op.result, m, lane, low | high << 16);
    }
  }
}

void Machine::storeMatrix(const Operation& op, std::uint32_t lanes) {
  if (lanes != ~0u) return stop("unsupported", "STSM with lanes missing");
  const unsigned matrices = 1u << isa::getMod(op.inst, isa::Mod::Size);
  const bool isTransposed = isa::getMod(op.inst, isa::Mod::Sub) != 0;
  for (unsigned m = 0; m < matrices; ++m) {
    std::uint16_t rows[8][8];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const std::uint32_t pair = word(op, op.data, m, lane);
      const unsigned r = lane / 4, c = 2 * (lane % 4);
      (isTransposed ? rows[c][r] : rows[r][c]) = static_cast<std::uint16_t>(pair);
      (isTransposed ? rows[c + 1][r] : rows[r][c + 1]) = static_cast<std::uint16_t>(pair >> 16);
    }
    for (unsigned r = 0; r < 8; ++r)
      if (!writeMemory(Space::Shared, addressOf(op, 8 * m + r), 8 * m + r, std::as_bytes(std::span(rows[r])))) return;
  }
}

/// QSPC: is the generic address in the space that the modifier names?
void Machine::whichSpace(const Operation& op, std::uint32_t lanes) {
  enum { Global, Local, Shared, Distributed };
  const unsigned asked = isa::getMod(op.inst, isa::Mod::Sub);
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::uint64_t address = addressOf(op, lane);
    const Space space = resolveGeneric(address);
    bool answer = false;
    switch (asked) {
    case Global: answer = space == Space::Global || space == Space::Constant; break;
    case Local: answer = space == Space::Local; break;
    default: answer = space == Space::Shared; break; // a cluster of one: its shared memory is the CTA's
    }
    setWord(op, 0, 0, lane, answer ? 1 : 0);
    setWord(op, op.result, 0, lane, answer ? 1 : 0);
  }
}

} // namespace orias::emu
