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
  case Space::Shared:
  case Space::Cluster: return "shared";
  case Space::Local: return "local";
  case Space::Constant: return "constant";
  default: return "global";
  }
}

bool isInWindow(std::uint64_t address, std::uint64_t window, std::uint64_t bytes = kWindowBytes) {
  return address >= window && address - window < bytes;
}

/// A loaded value of 1 or 2 bytes, extended to a register.
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
  case Op::ATOMS_CAS_P:
  case Op::ATOMS_ARRIVE:
  case Op::ATOMS_POPC_INC: return Space::Shared;
  case Op::LDL:
  case Op::STL: return Space::Local;
  case Op::LD:
  case Op::LD_INDEXED:
  case Op::ST:
  case Op::ST_INDEXED:
  case Op::ATOM:
  case Op::ATOM_INDEXED:
  case Op::ATOM_ARRIVE:
  case Op::ATOM_CAS:
  case Op::ATOM_FLOAT:
  case Op::ATOM_FLOAT_INDEXED: return Space::Generic;
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

/// Returns the space of a generic address, and converts the address to that space.
Space resolveGeneric(std::uint64_t& address) {
  if (isInWindow(address, kSharedWindow, kClusterWindowBytes)) {
    address -= kSharedWindow;
    return Space::Cluster;
  }
  if (isInWindow(address, kOlderSharedWindow)) {
    address -= kOlderSharedWindow;
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
  std::string text =
      fmt::format("{} of {} bytes: {} address {:#x} {}, thread ({}, {}, {}) of CTA ({}, {}, {})",
                  isWrite ? "store" : "load", size, nameOf(space), address, what, thread % block.x,
                  thread / block.x % block.y, thread / block.x / block.y, cta_->id.x, cta_->id.y, cta_->id.z);
  if (space == Space::Global)
    if (const launch::Allocation* near = device_.global.nearest(address))
      text += fmt::format("; the nearest allocation below is '{}' at {:#x} of {} bytes", near->name, near->address,
                          near->size);
  if (const std::uint64_t rank = address >> kRankBit; space == Space::Cluster && rank < ctas_.size()) {
    const Cta& owner = ctas_[rank];
    if (!owner.isLive()) text += fmt::format("; CTA ({}, {}, {}) has exited", owner.id.x, owner.id.y, owner.id.z);
  }
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
  case Space::Cluster: {
    std::uint64_t at = address;
    const Cta* owner = ownerOf(space, at);
    result = owner ? owner->sharedAt(at).read(at, out) : launch::Fault::OutOfBounds;
    if (owner && at >= owner->shared.base()) noteShared(*owner, at, out, false, isAtomic);
    break;
  }
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
  case Space::Cluster: {
    std::uint64_t at = address;
    Cta* owner = ownerOf(space, at);
    result = owner ? owner->sharedAt(at).write(at, in) : launch::Fault::OutOfBounds;
    if (owner && at >= owner->shared.base()) noteShared(*owner, at, in, true, isAtomic);
    break;
  }
  case Space::Local: result = localOf(lane).write(address, in); break;
  case Space::Constant: result = launch::Fault::OutOfBounds; break;
  default: result = device_.global.write(address, in); break;
  }
  fault(result, space, address, lane, in.size(), true);
  return result == launch::Fault::None;
}

Cta* Machine::ownerOf(Space space, std::uint64_t& address) {
  const std::uint64_t rank = address >> kRankBit;
  const bool isOwn = rank == cta_->rank;
  if (!isOwn && (space != Space::Cluster || rank >= ctas_.size() || !ctas_[rank].isLive())) return nullptr;
  address = inRank(0, address);
  return &ctas_[rank];
}

void Machine::noteShared(const Cta& owner, std::uint64_t address, std::span<const std::byte> data, bool isWrite,
                         bool isAtomic) {
  if (!options_.racecheck) return;
  RaceCheck::Access access;
  access.cta = owner.rank;
  access.offset = address - owner.shared.base();
  access.size = data.size();
  access.warp = static_cast<std::uint16_t>(warp().number);
  access.isWrite = isWrite;
  access.isAtomic = isAtomic;
  access.instruction = result_.warpInstructions;
  access.data = isWrite ? data.data() : nullptr;
  const RaceCheck::Conflict conflict = races_.note(access);
  if (!conflict.found) return;
  std::string other = "another lane";
  if (conflict.warp != access.warp) other = fmt::format("warp {}", conflict.warp % warpCount_);
  if (conflict.warp / warpCount_ != cta_->rank) {
    const launch::Dim3& id = ctas_[conflict.warp / warpCount_].id;
    other += fmt::format(" of CTA ({}, {}, {})", id.x, id.y, id.z);
  }
  finding("racecheck",
          fmt::format(
              "{} shared address {:#x}, which {} {} without synchronization between them (warp {}, CTA ({}, {}, {}))",
              isWrite ? "writes" : "reads", inRank(owner.rank, owner.shared.base() + conflict.offset), other,
              conflict.withWrite ? "wrote" : "read", warp().index, cta_->id.x, cta_->id.y, cta_->id.z));
}

FlatMemory& Machine::localOf(unsigned lane) {
  FlatMemory& local = cta_->locals[warp().firstThread + lane];
  if (local.isEmpty()) local.reset(localBase_, program_.localBytes, options_.memcheck);
  return local;
}

void Machine::countAccess(const Operation& op, std::uint32_t lanes) {
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const bool isAtomic = row.has(isa::Flag::Atomic);
  if (op.base < 0 || (!isAtomic && !row.has(isa::Flag::Load) && !row.has(isa::Flag::Store))) return;
  unsigned size = op.size != 0 ? op.size : 4;
  // Each lane provides the address of a matrix row.
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
  if (space == Space::Cluster) space = Space::Shared;
  figures_->access(warp().number, space, size, lanes, addresses);
}

void Machine::load(const Operation& op, std::uint32_t lanes) {
  if ((op.inst.op == Op::LDG || op.inst.op == Op::LDG_INDEXED) && op.firstWrite[0] >= 0) // its meaning is not known
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
      readMemory(space, addressOf(op, lane), lane, {reinterpret_cast<std::byte*>(words), op.size}, op.isStrong);
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
      writeMemory(space, target, lane, {reinterpret_cast<const std::byte*>(words), op.size}, op.isStrong);
    });
  }
}

/// 256 bits: the words of one group of four registers, followed by those of the other.
void Machine::loadWide(const Operation& op, std::uint32_t lanes) {
  const int high = isa::desc(op.inst.op).slotIndex(isa::SlotId::Rd2),
            mask = isa::desc(op.inst.op).slotIndex(isa::SlotId::mask);
  if (op.inst.operands[static_cast<unsigned>(mask)].imm != 0xff)
    return stop("unsupported", "a load of some of eight words");
  const std::uint32_t enabled = predicateMask(op, op.predicate);
  std::array<std::uint32_t, 8> words{};
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    words = {};
    if ((enabled >> lane & 1) != 0)
      readMemory(Space::Global, addressOf(op, lane), lane, std::as_writable_bytes(std::span(words)), op.isStrong);
    for (unsigned w = 0; w < 4; ++w) {
      setWord(op, op.result, w, lane, words[w]);
      setWord(op, high, w, lane, words[4 + w]);
    }
  }
}

void Machine::storeWide(const Operation& op, std::uint32_t lanes) {
  const int high = isa::desc(op.inst.op).slotIndex(isa::SlotId::Rb2),
            mask = isa::desc(op.inst.op).slotIndex(isa::SlotId::mask);
  if (op.inst.operands[static_cast<unsigned>(mask)].imm != 0xff)
    return stop("unsupported", "a store of some of eight words");
  std::array<std::uint32_t, 8> words{};
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    for (unsigned w = 0; w < 4; ++w) {
      words[w] = word(op, op.data, w, lane);
      words[4 + w] = word(op, high, w, lane);
    }
    forTargets(Space::Global, addressOf(op, lane), [&](std::uint64_t target) {
      writeMemory(Space::Global, target, lane, std::as_bytes(std::span(words)), op.isStrong);
    });
  }
}

/// An offset in a bank is printed as a signed 16-bit number, but c[3][-0x63c0] is 40,000 bytes into the bank (observed:
/// ptxas' code for a load from there). With a register, ptxas adds 0x10000 to the register.
constexpr std::int64_t kBankMask = 0xffff;

/// LDC: c[bank][Ra + offset].
void Machine::loadConstant(const Operation& op, std::uint32_t lanes) {
  const auto bank = static_cast<unsigned>(op.inst.operands[1].imm);
  if (isa::getMod(op.inst, isa::Mod::Sub) != 0) return stop("unsupported", "an indexed constant bank");
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::int64_t offset = static_cast<std::int32_t>(word(op, op.base, 0, lane) + static_cast<std::uint32_t>(op.offset));
    if (op.inst.operands[2].isZeroReg()) offset &= kBankMask;
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
  if (op.inst.op != Op::ULDC) {
    bank = static_cast<unsigned>(op.inst.operands[1].imm);
    const int index = isa::desc(op.inst.op).slotIndex(isa::SlotId::URa);
    offset = static_cast<std::int32_t>(uniformWord(op, index, 0) + static_cast<std::uint32_t>(op.offset));
  } else {
    const isa::Operand& from = op.inst.operands[1];
    bank = from.bank;
    offset = from.imm & kBankMask;
  }
  constexpr unsigned kPair = 8;
  for (unsigned at = 0; at < op.size; at += kPair) {
    const auto value = constants_.read(bank, offset + at, std::min<unsigned>(op.size, kPair));
    if (!value || offset % op.size != 0)
      return stop("memcheck", fmt::format("c[{:#x}][{:#x}] is out of bounds or misaligned", bank, offset));
    setWord(op, op.result, at / 4, 0, extended(static_cast<std::uint32_t>(*value), op.size, op.isSigned));
    if (op.size >= kPair) setWord(op, op.result, at / 4 + 1, 0, static_cast<std::uint32_t>(*value >> 32));
  }
}

/// LDSM: lane 8 m + r gives the address of row r of matrix m. Lane l gets elements 2 (l % 4) and the next of row l / 4
/// of each matrix, or of its transpose.
void Machine::loadMatrix(const Operation& op, std::uint32_t lanes) {
  if (lanes != ~0u) return stop("unsupported", "LDSM with inactive lanes");
  const unsigned matrices = 1u << isa::getMod(op.inst, isa::Mod::Size);
  const bool isTransposed = isa::getMod(op.inst, isa::Mod::Sub) != 0;
  // All rows are read before the first result is written, because a result may overwrite the address register.
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
  if (lanes != ~0u) return stop("unsupported", "STSM with inactive lanes");
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

namespace {

/// Expands packed numbers of `bits` bits at the start of the row to sixteen bytes.
void expand(std::array<std::uint8_t, 16>& row, unsigned bits) {
  const auto packed = row;
  for (unsigned k = 0; k < row.size(); ++k) {
    const unsigned first = k * bits;
    const unsigned pair = packed[first / 8] | (first / 8 + 1 < packed.size() ? packed[first / 8 + 1] : 0u) << 8;
    row[k] = static_cast<std::uint8_t>(pair >> first % 8 & ((1u << bits) - 1));
  }
}

/// The lane whose address is that of the row with byte `byte` of register `k`, for transposed matrices of 16 x 16
/// bytes, and of 16 x 8 (CUTLASS' copy_traits_sm100: SM100_U8x16_LDSM_T, SM100_U8x16_STSM_T).
unsigned loadedRow(unsigned lane, unsigned k, unsigned byte) {
  return lane % 4 * 4 + byte % 2 + k % 2 * 2 + k / 2 * 16;
}
unsigned storedRow(unsigned lane, unsigned k, unsigned byte) {
  return lane % 4 * 2 + byte % 2 + 8 * k;
}

} // namespace

/// LDSM of bytes: rows of 16 bytes. Lane l gets four neighbors of row l / 4 of each matrix, or columns l / 4 and l / 4
/// + 8 of two rows.
void Machine::loadByteMatrix(const Operation& op, std::uint32_t lanes) {
  if (lanes != ~0u) return stop("unsupported", "LDSM with inactive lanes");
  enum { FourBits = 5, SixBits = 6, Transposed = 4 };
  const unsigned format = isa::getMod(op.inst, isa::Mod::SrcFmt);
  const bool isTransposed = isa::getMod(op.inst, isa::Mod::Sub) == Transposed;
  const unsigned words = isa::operandWidth(op.inst, isa::desc(op.inst.op).slot(isa::SlotId::Rd));
  std::array<std::array<std::uint8_t, 16>, 32> rows{};
  for (unsigned row = 0; row < 8 * words; ++row) {
    if (!readMemory(Space::Shared, addressOf(op, row), row, std::as_writable_bytes(std::span(rows[row])))) return;
    if (format == FourBits || format == SixBits) expand(rows[row], format == FourBits ? 4 : 6);
  }
  for (unsigned k = 0; k < words; ++k)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::uint32_t value = 0;
      for (unsigned byte = 0; byte < 4; ++byte) {
        const std::uint8_t at = isTransposed ? rows[loadedRow(lane, k, byte)][lane / 4 + byte / 2 * 8]
                                             : rows[8 * k + lane / 4][lane % 4 * 4 + byte];
        value |= std::uint32_t{at} << 8 * byte;
      }
      setWord(op, op.result, k, lane, value);
    }
}

void Machine::storeByteMatrix(const Operation& op, std::uint32_t lanes) {
  if (lanes != ~0u) return stop("unsupported", "STSM with inactive lanes");
  const unsigned words = 1u << isa::getMod(op.inst, isa::Mod::Size);
  std::array<std::array<std::uint8_t, 16>, 32> rows{};
  for (unsigned k = 0; k < words; ++k)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned byte = 0; byte < 4; ++byte)
        rows[storedRow(lane, k, byte)][lane / 4 + byte / 2 * 8] =
            static_cast<std::uint8_t>(word(op, op.data, k, lane) >> 8 * byte);
  for (unsigned row = 0; row < 8 * words; ++row)
    if (!writeMemory(Space::Shared, addressOf(op, row), row, std::as_bytes(std::span(rows[row])))) return;
}

/// QSPC: tests whether the generic address is in the space of the modifier.
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
    case Distributed: answer = space == Space::Cluster; break;
    default: // of the CTA itself
      answer = space == Space::Shared || (space == Space::Cluster && address >> kRankBit == cta_->rank);
      break;
    }
    setWord(op, 0, 0, lane, answer ? 1 : 0);
    setWord(op, op.result, 0, lane, answer ? 1 : 0);
  }
}

} // namespace orias::emu
