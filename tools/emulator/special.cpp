// Special registers, and moves between register files.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/print.h"
#include "encoder/isa/target.h"

#include <bit>
#include <fmt/format.h>

namespace orias::emu {

namespace {

/// Predicates that P2R and R2P can access.
constexpr std::uint32_t kPredicates = 0x7f;

} // namespace

/// Numbers: encoder/isa/special_registers.inc. Registers whose value a program cannot predict (multiprocessor, time)
/// have a simple value.
std::uint64_t Machine::specialRegister(unsigned number, unsigned lane) {
  const launch::Dim3 block = device_.launch.block;
  const std::uint32_t thread = warp().firstThread + lane;
  const std::uint32_t bit = 1u << lane;
  const bool isAligned = program_.target->has(isa::Capability::AlignedWindows);
  const std::uint64_t sharedWindow = isAligned ? kSharedWindow : kOlderSharedWindow;
  const std::uint64_t localWindow = isAligned ? kLocalWindow : kOlderLocalWindow;
  constexpr unsigned kFirstCounter = 100, kLastCounter = 131; // PM0 and the others: they count nothing
  if (number >= kFirstCounter && number <= kLastCounter) return 0;
  switch (number) {
  case 0: return lane;                             // LANEID
  case 2: return std::uint64_t{warpCount_} << 8;   // VIRTCFG: warps of the multiprocessor in bits 8..15
  case 3: return std::uint64_t{warp().index} << 8; // VIRTID: the warp in bits 8..14
  case 32: return thread % block.x | (thread / block.x % block.y) << 16 | (thread / block.x / block.y) << 26; // TID
  case 33: return thread % block.x;
  case 34: return thread / block.x % block.y;
  case 35: return thread / block.x / block.y;
  case 37: return cta_->id.x;
  case 38: return cta_->id.y;
  case 39: return cta_->id.z;
  case 46: return localWindow >> 32;  // LWINHI
  case 47: return sharedWindow >> 32; // SWINHI
  case 48: return sharedWindow & 0xffffffff;
  case 50: return program_.target->sharedBase() + cta_->shared.size(); // SMEMSZ
  case 52: return localWindow & 0xffffffff;
  case 55: return 0; // LMEMHIOFF: lower bound of the stack. There is none; memcheck detects invalid memory
  case 56: return bit;
  case 57: return bit - 1;
  case 58: return bit | (bit - 1);
  case 59: return ~(bit | (bit - 1));
  case 60: return ~(bit - 1);
  case 67: return 0; // VIRTUALSMID
  case 80:
  case 82: return result_.warpInstructions; // CLOCK, GLOBALTIMER: 64 bits
  case 81:
  case 83: return result_.warpInstructions >> 32;
  case 136: return cta_->rank; // CgaCtaId
  case 138: return 0;          // CgaSize: the record of the constant bank to use; the emulator fills the first one
  case 255: return 0;
  default: stop("unsupported", fmt::format("the special register {}", isa::specialRegisterName(number))); return 0;
  }
}

void Machine::readSpecial(const Operation& op, std::uint32_t lanes) {
  const auto number = static_cast<unsigned>(op.inst.operands[1].imm);
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t value = specialRegister(number, lane);
    setWord(op, op.result, 0, lane, static_cast<std::uint32_t>(value));
    setWord(op, op.result, 1, lane, static_cast<std::uint32_t>(value >> 32));
  }
}

void Machine::putIntoRpc(const Operation& op, std::uint32_t lanes) {
  const unsigned shift = op.inst.operands[0].imm != 0 ? 32 : 0;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::uint64_t& rpc = warp().rpc[lane];
    rpc = (rpc & ~(std::uint64_t{0xffffffff} << shift)) | std::uint64_t{word(op, op.base, 0, lane)} << shift;
  }
}

void Machine::getFromRpc(const Operation& op, std::uint32_t lanes) {
  const unsigned shift = op.inst.operands[1].imm != 0 ? 32 : 0;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    setWord(op, op.result, 0, lane, static_cast<std::uint32_t>(warp().rpc[lane] >> shift));
  }
}

void Machine::readSpecialUniform(const Operation& op, std::uint32_t lanes) {
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const std::uint64_t value = specialRegister(static_cast<unsigned>(op.inst.operands[1].imm), lane);
  setWord(op, op.result, 0, lane, static_cast<std::uint32_t>(value));
  setWord(op, op.result, 1, lane, static_cast<std::uint32_t>(value >> 32));
}

/// R2UR: the value of the first active lane.
void Machine::toUniform(const Operation& op, std::uint32_t lanes) {
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  const std::uint32_t value = word(op, op.base, 0, first);
  setWord(op, op.result, 0, first, value);
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    setWord(op, 0, 0, lane, word(op, op.base, 0, lane) != value ? 1 : 0);
  }
}

/// R2UR.OR: likewise, but lanes already in the predicate remain in it. ptxas uses it for the second half of a pair, in
/// loops over the different pairs of the lanes.
void Machine::orToUniform(const Operation& op, std::uint32_t lanes) {
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  const std::uint32_t value = word(op, op.base, 0, first);
  setWord(op, op.result, 0, first, value);
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    if (word(op, op.base, 0, lane) != value) setWord(op, 0, 0, lane, 1);
  }
}

/// P2R: Ra with one byte replaced by the predicates of the mask.
void Machine::predicatesToRegister(const Operation& op, std::uint32_t lanes) {
  const unsigned shift = 8 * isa::getMod(op.inst, isa::Mod::Byte);
  const std::uint32_t named = op.preset[static_cast<std::size_t>(op.data)].w[0];
  std::array<std::uint32_t, isa::kPT> predicates{};
  for (unsigned p = 0; p < isa::kPT; ++p) {
    predicates[p] = warp().p[p];
    if (timing_ && !isReplaying_ && (named >> p & 1) != 0)
      predicates[p] = timing_->predicateBits(p, predicates[p], lanes);
  }
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint32_t mask = word(op, op.data, 0, lane) & kPredicates;
    std::uint32_t bits = 0;
    for (unsigned p = 0; p < isa::kPT; ++p)
      bits |= (predicates[p] >> lane & 1) << p;
    const std::uint32_t other = word(op, op.base, 0, lane) & ~(0xffu << shift);
    setWord(op, op.result, 0, lane, other | (bits & mask) << shift);
  }
}

/// UP2UR: likewise for the uniform predicates.
void Machine::uniformPredicatesToRegister(const Operation& op, std::uint32_t lanes) {
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const unsigned shift = 8 * isa::getMod(op.inst, isa::Mod::Byte);
  std::uint32_t bits = 0;
  for (unsigned p = 0; p < isa::kUPT && p < warp().up.size(); ++p)
    bits |= (warp().up[p] & 1) << p;
  const std::uint32_t mask = uniformWord(op, op.uniform, 0) & kPredicates;
  const int base = isa::desc(op.inst.op).slotIndex(isa::SlotId::URa);
  const std::uint32_t other = uniformWord(op, base, 0) & ~(0xffu << shift);
  setWord(op, op.result, 0, lane, other | (bits & mask) << shift);
}

/// UR2UP: the uniform predicates of the mask from one byte of URa.
void Machine::registerToUniformPredicates(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const std::uint32_t bits = word(op, 0, 0, lane) >> 8 * isa::getMod(op.inst, isa::Mod::Byte);
  const auto mask = static_cast<std::uint32_t>(op.inst.operands[1].imm) & kPredicates;
  for (unsigned p = 0; p < isa::kPT; ++p)
    if ((mask >> p & 1) != 0) store({0, 0, From::UniformPredicate, isa::Access::Port::Main, p}, lane, bits >> p & 1);
}

/// R2P: the predicates of the mask from one byte of Ra.
void Machine::registerToPredicates(const Operation& op, std::uint32_t lanes) {
  const unsigned shift = 8 * isa::getMod(op.inst, isa::Mod::Byte);
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint32_t mask = word(op, op.data, 0, lane) & kPredicates;
    const std::uint32_t bits = word(op, op.base, 0, lane) >> shift;
    for (unsigned p = 0; p < isa::kPT; ++p)
      if ((mask >> p & 1) != 0) store({0, 0, From::Predicate, isa::Access::Port::Main, p}, lane, bits >> p & 1);
  }
}

/// COPY: between registers of any file, a predicate also as 0 or 1 (UNDEF has no source and does not change its
/// register).
void Machine::copy(const Operation& op, std::uint32_t lanes) {
  if (op.inst.operandCount < 2) return;
  const isa::Operand& from = op.inst.operands[1];
  const bool isPredicate = from.isReg(isa::File::P) || from.isReg(isa::File::UP);
  for (unsigned i = 0; i < op.writeCount; ++i) {
    const Write& write = op.writes[i];
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      std::uint32_t value = word(op, 1, write.word, lane);
      if (isPredicate && from.inverted()) value ^= 1;
      store(write, lane, value);
    }
  }
}

/// LEPC: the address of the instruction, relative to a code start of 0.
void Machine::codeAddress(const Operation& op, std::uint32_t lanes) {
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    setWord(op, op.result, 0, lane, op.target * 16);
    setWord(op, op.result, 1, lane, 0);
  }
}

void Machine::setRegisters(const Operation& op, std::uint32_t) {
  const bool isAsking = op.inst.op == isa::Op::USETMAXREG_ALLOC;
  if (isAsking && op.firstWrite[0] >= 0) store(op.writes[static_cast<unsigned>(op.firstWrite[0])], 0, 1);
  if (!changesRegisters_) return;
  const auto count = static_cast<std::uint32_t>(op.inst.operands[isAsking ? 1 : 0].imm);
  std::uint32_t& has = warp().registers;
  if (isAsking ? count < has : count > has)
    return stop("registers", fmt::format("a warp of {} registers {} {}", has,
                                         isAsking ? "requests at most" : "releases all but", count));
  has = count;
}

void Machine::checkRegisters(const Operation& op) {
  const std::uint32_t has = warp().registers;
  const auto check = [&](From where, std::uint32_t row) {
    if (where == From::Lane && row >= has && row < isa::kRZ)
      stop("registers", fmt::format("R{} in a warp that has {} registers", row, has));
  };
  for (unsigned i = 0; i < op.readCount; ++i)
    check(op.reads[i].from, op.reads[i].row);
  for (unsigned i = 0; i < op.writeCount; ++i)
    check(op.writes[i].to, op.writes[i].row);
}

void Machine::nothing(const Operation&, std::uint32_t) {}

} // namespace orias::emu
