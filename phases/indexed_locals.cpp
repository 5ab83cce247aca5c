#include "phases/indexed_locals.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"

#include <algorithm>
#include <set>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr std::uint32_t kWordBytes = 4;
/// Observed with ptxas 13.0: variables of 32 words become registers if they are indexed a few times, but not always. In
/// orias, kernels with more than 8 words lose more by lower occupancy than they gain.
constexpr std::uint32_t kMaxWords = 8;
/// The limit for variables with accesses in loops, by uniform indices.
constexpr std::uint32_t kMaxInLoops = 5;

Operand slotOf(const Instr& instr, isa::SlotId name) {
  return instr.op_(isa::desc(instr.op).slot(name)).value();
}

/// The table of LOP3 for `a & b`.
constexpr std::int32_t kAnd = 0xc0;

/// How many elements of the access's size the object has.
std::uint32_t places(std::uint32_t words, const FrameAccess& a) {
  return words / (a.bytes / kWordBytes);
}

} // namespace

bool IndexedLocals::isAddressOf(std::uint32_t object, const Operand& operand, unsigned index) const {
  if (operand.isNone() || (operand.isReg() && !operand.isVirtual())) return false;
  return flow_.wordOf(operand, index).object == object;
}

/// Whether the instruction does no more with an address in the object than compute local addresses from it, compare it
/// for equality, or access the object.
bool IndexedLocals::passesOnly(std::uint32_t object, const Instr& instr, bool isAccess) const {
  const auto isAddress = [&](const ori::Operand& o) {
    bool found = false;
    for (unsigned k = 0; k < (o.isReg() ? o.width : 1U); ++k)
      found |= isAddressOf(object, o.value(), k);
    return found;
  };
  unsigned uses = 0;
  bool makesLocal = false;
  for (const ori::Operand& o : instr.ops()) {
    if (!o.isReg() || !o.isVirtual()) continue;
    if (!o.isDef) {
      uses += isAddress(o);
      continue;
    }
    for (unsigned k = 0; k < o.width; ++k)
      makesLocal |= isAddressOf(object, o.value(), k) && flow_.wordOf(o.value(), k).bits == AddressWord::kFrame;
  }
  if (uses == 0) return true;
  // The address itself must not be stored.
  if (isAccess) return uses == 1 && isAddress(instr.op_(isa::desc(instr.op).slot(isa::SlotId::Ra)));
  if (makesLocal) return true;
  // An order of two addresses depends on where the variable begins: the program may compute an address before its
  // start.
  if (instr.op != Op::ISETP || uses != 2) return false;
  const auto comparison = isa::modAs<isa::ICmp>(instr, Mod::Cmp);
  return comparison == isa::ICmp::EQ || comparison == isa::ICmp::NE;
}

/// Whether all lanes have the same local address, judging by its sums and phis: the frame is at the same local address
/// in all lanes.
bool IndexedLocals::isShared(const Operand& address) const {
  constexpr std::size_t kMaxLooks = 64;
  const ori::Divergence& divergence = function_.analyses().divergence();
  std::vector<ori::VRegId> seen;
  const auto take = [&](const Operand& o) {
    if (divergence.isUniform(o)) return true;
    if (!o.isVirtual()) return o.file == File::R; // the stack pointer
    if (std::ranges::find(seen, o.reg) == seen.end()) seen.push_back(o.reg);
    return seen.size() <= kMaxLooks;
  };
  if (!take(address)) return false;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    bool isSum = true;
    function_.forEachDef(seen[i], [&](ori::Ref def) {
      const Instr& instr = *def.owner;
      const isa::InstrDesc& row = isa::desc(instr.op);
      isSum &=
          instr.op == Op::PHI || row.pipe == isa::Pipe::Alu || row.pipe == isa::Pipe::Fma || row.has(isa::Flag::Copy);
      for (const ori::Operand& o : instr.ops())
        isSum &= o.isDef || take(o.value());
    });
    if (!isSum) return false;
  }
  return true;
}

const char* IndexedLocals::obstacle(std::uint32_t object, std::span<const FrameAccess> accesses) const {
  constexpr const char* kIndexed = "it is indexed";
  const ori::FrameObject& frame = function_.frame[object];
  const std::uint32_t words = frame.size / kWordBytes;
  if (words == 0 || words > kMaxWords || frame.size % kWordBytes != 0) return kIndexed;
  std::int64_t halfChoices = 0;
  std::set<const Instr*> known;
  for (const FrameAccess& a : accesses) {
    known.insert(a.instr);
    if (a.bytes < kWordBytes || (a.isExact && a.offset % kWordBytes != 0)) return kIndexed;
    if (a.isExact) continue;
    const ori::Operand& at = a.instr->op_(isa::desc(a.instr->op).slot(isa::SlotId::offset));
    const bool isPlain = (a.instr->op == Op::LDL || a.instr->op == Op::STL) && (at.isImm() || at.isNone());
    if (!a.isSure || !isPlain || frame.align % a.bytes != 0 || frame.size % a.bytes != 0) return kIndexed;
    const bool sharesIndex = isShared(slotOf(*a.instr, isa::SlotId::Ra));
    // In loops with divergent indices, the selects and the registers for the words cost more than local memory.
    if (a.instr->block->loopDepth > 0 && (words > kMaxInLoops || !sharesIndex)) return "it is indexed in a loop";
    // For uniform indices, uniform instructions do the comparisons.
    halfChoices += std::int64_t{places(words, a)} * (a.isStore ? 2 : 1) * (sharesIndex ? 1 : 2);
  }
  if (halfChoices > 2 * mostChoices_) return "it is indexed, and selecting a register takes too many instructions";
  for (ori::Block* block : function_.layout())
    for (Instr& instr : *block) {
      const bool isAccess = known.contains(&instr);
      if (!passesOnly(object, instr, isAccess)) return "its address is used as a value";
      for (const ori::Operand& o : instr.ops())
        if (o.kind == Operand::Kind::Frame && o.reg == object && !isAccess && instr.op != Op::IADD3)
          return "its address is used as a value";
    }
  return nullptr;
}

/// The words that a load reads: the lowest significant bit of the index selects one word of each pair, the next bit one
/// of each pair of the remaining words, and so on. No access leaves its variable, so the result for an index past the
/// end does not matter.
std::vector<Operand> IndexedLocals::chosen(ori::Builder& b, const Operand& index, const FrameAccess& access,
                                           std::span<const ori::VRegId> words) {
  const std::uint32_t width = access.bytes / kWordBytes;
  std::vector<Operand> left;
  for (const ori::VRegId word : words)
    left.push_back(function_.use(word));
  for (std::uint32_t bit = access.bytes; left.size() > width; bit *= 2) {
    const Operand masked = b.newR(), isOdd = b.newP();
    b.emit(Op::LOP3, {Operand::pt(), masked, index, Operand::immediate(static_cast<std::int32_t>(bit)), Operand::rz(),
                      Operand::immediate(kAnd), Operand::pt().notted()});
    b.emit(Op::ISETP, {isOdd, Operand::pt(), masked, Operand::rz(), Operand::pt()},
           {{Mod::Cmp, isa::ICmp::NE}, {Mod::Type, isa::IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
    std::vector<Operand> half;
    for (std::size_t i = 0; i < left.size(); i += 2 * width)
      for (std::size_t k = 0; k < width; ++k) {
        if (i + width + k >= left.size()) {
          half.push_back(left[i + k]);
          continue;
        }
        half.push_back(b.newR());
        b.emit(Op::SEL, {half.back(), left[i + width + k], left[i + k], isOdd});
      }
    left = std::move(half);
  }
  return left;
}

void IndexedLocals::emit(const FrameAccess& access, std::span<const ori::VRegId> words) {
  Instr* instr = access.instr;
  ori::Builder b = ori::Builder::before(function_, instr);
  b.setSource(instr->source);
  Operand index = slotOf(*instr, isa::SlotId::Ra);
  if (const Operand offset = slotOf(*instr, isa::SlotId::offset); offset.isImm() && offset.imm != 0) {
    const Operand sum = b.newR();
    b.emit(Op::IADD3, {sum, Operand::pt(), Operand::pt(), index, offset, Operand::rz()});
    index = sum;
  }
  const std::uint32_t width = access.bytes / kWordBytes;
  if (!access.isStore) {
    const std::vector<Operand> found = chosen(b, index, access, words);
    b.setGuard(instr->guard().value());
    for (unsigned k = 0; k < width; ++k)
      b.copy(ori::component(slotOf(*instr, isa::SlotId::Rd), k), found[k]);
    return;
  }
  const Operand from = slotOf(*instr, isa::SlotId::Rb);
  for (std::uint32_t place = 0; place < places(static_cast<std::uint32_t>(words.size()), access); ++place) {
    const Operand isHere = b.newP();
    b.setGuard(Operand::pt());
    b.emit(Op::ISETP,
           {isHere, Operand::pt(), index, Operand::immediate(static_cast<std::int32_t>(place * access.bytes)),
            Operand::pt()},
           {{Mod::Cmp, isa::ICmp::EQ}, {Mod::Type, isa::IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
    b.setGuard(instr->guard().value());
    for (unsigned k = 0; k < width; ++k) {
      const Operand word = function_.use(words[place * width + k]);
      b.emit(Op::SEL, {word, ori::component(from, k), word, isHere});
    }
  }
}

void IndexedLocals::dropBase(std::uint32_t object) {
  for (ori::Block* block : function_.layout())
    for (Instr& instr : *block)
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        if (instr.op_(i).kind != Operand::Kind::Frame || instr.op_(i).reg != object) continue;
        const std::int32_t offset = instr.op_(i).imm;
        for (unsigned k = 0; k < instr.operandCount; ++k)
          if (instr.op_(k).isReg(File::R) && !instr.op_(k).isVirtual() && !instr.op_(k).isDef &&
              !instr.op_(k).isZeroReg())
            function_.setOperand(&instr, k, Operand::rz());
        function_.setOperand(&instr, i, Operand::immediate(offset));
      }
}

} // namespace orias::phases
