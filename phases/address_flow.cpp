#include "phases/address_flow.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/call_abi.h"
#include "ori/module.h"
#include "phases/memory_access.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::Instr;
using W = AddressWord;

namespace {

constexpr std::uint32_t kWordBytes = 4;
/// Special registers, by their numbers in the ISA table.
constexpr std::int32_t kSharedWindowHigh = 47, kCtaRank = 136;
/// A CTA's rank shifted left by this is the start of its shared window (frontend/lower/addresses.cpp).
constexpr std::int64_t kRankShift = 24;
constexpr std::int64_t kMaxAlignment = 4096;

enum Space : unsigned { kGlobal, kShared, kConst, kLocal, kSpaces };
constexpr std::uint16_t low(unsigned space) {
  return static_cast<std::uint16_t>(W::kLow << space);
}
constexpr std::uint16_t high(unsigned space) {
  return static_cast<std::uint16_t>(W::kHigh << space);
}
constexpr std::uint16_t window(unsigned space) {
  return static_cast<std::uint16_t>(W::kWindow << (space - kShared));
}
constexpr std::uint16_t kWindows = window(kShared) | window(kConst) | window(kLocal);
constexpr std::uint16_t kHighs = high(kGlobal) | high(kShared) | high(kConst) | high(kLocal);
/// Bits of words that are addresses in a 32-bit space.
constexpr std::uint16_t kNarrow = W::kFrame | W::kShared | low(kShared);
constexpr std::uint16_t kPlain = W::kNumber | W::kUnknown;

W of(std::uint16_t bits) {
  W w;
  w.bits = bits;
  return w;
}

W number(std::int64_t value) {
  W w = of(W::kNumber);
  w.isExact = true;
  w.offset = value;
  return w;
}

/// Smaller numbers are not addresses: no variable begins there, and none is reached by adding them to a null pointer.
constexpr std::int64_t kFirstAddress = 4096;

bool isNull(const W& w) {
  return w.bits == W::kNumber && w.isExact && w.offset >= 0 && w.offset < kFirstAddress;
}

/// Represents a word that may be null as an address or an unknown number.
W withNumber(W w) {
  if (!w.mayBeNull) return w;
  w.bits |= W::kNumber;
  w.mayBeNull = w.isExact = false;
  w.offset = 0;
  return w;
}

W anything() {
  return of(W::kDifference | W::kUnknown);
}

bool hasObject(const W& w) {
  return w.object != W::kNoObject && w.object != W::kSeveralObjects;
}

/// Whether a word may be an address; it may also be a number.
bool isAddress(const W& w) {
  return (w.bits & ~kPlain) != 0 || hasObject(w);
}

std::uint32_t bytesOf(const Instr& instr) {
  constexpr std::array<std::uint32_t, 8> kBytes = {1, 1, 2, 2, 4, 8, 16, 16}; // by MemSize, in bytes
  return kBytes[isa::getMod(instr.op, instr.mods, isa::Mod::Size) & 7];
}

bool isStackPointer(const Operand& o) {
  return o.isReg(File::R) && !o.isVirtual() && o.reg == ori::kStackPointer;
}

/// What two words say about the pair that they form.
struct PairKind {
  bool isUndefined = false;
  SpaceSet spaces = 0;
  std::uint16_t windows = 0;
  bool isNumber = false, isUnknown = false, isDifference = false;

  bool isOnlyNumber() const { return isNumber && !spaces && !windows && !isUnknown && !isDifference; }
  bool isOnlyWindow(unsigned space) const {
    return windows == window(space) && !spaces && !isNumber && !isUnknown && !isDifference;
  }
  bool isOnlyIn(unsigned space) const {
    return spaces == 1U << space && !windows && !isNumber && !isUnknown && !isDifference;
  }
};

PairKind kindOf(const W& lo, const W& hi) {
  PairKind kind;
  kind.isUndefined = !lo.bits || !hi.bits;
  std::uint16_t restLow = lo.bits, restHigh = hi.bits;
  for (unsigned s = kGlobal; s < kSpaces; ++s) {
    // The window of shared memory is aligned, so a shared address is the low word of its generic one.
    const std::uint16_t lows = s == kShared ? low(s) | W::kShared : low(s);
    if (!(lo.bits & lows) || !(hi.bits & high(s))) continue;
    kind.spaces |= static_cast<SpaceSet>(1U << s);
    restLow &= static_cast<std::uint16_t>(~lows);
    restHigh &= static_cast<std::uint16_t>(~high(s));
  }
  kind.windows = lo.bits & hi.bits & kWindows;
  restLow &= static_cast<std::uint16_t>(~kind.windows);
  restHigh &= static_cast<std::uint16_t>(~kind.windows);
  kind.isNumber = restHigh == W::kNumber && (restLow & (kNarrow | kPlain)) != 0;
  kind.isUnknown = !kind.isNumber && ((restLow | restHigh) & W::kUnknown) != 0;
  kind.isDifference = ((restLow | restHigh) & W::kDifference) != 0 || (restLow != 0) != (restHigh != 0) ||
                      (restLow & ~(kNarrow | kPlain)) != 0 || (restHigh & ~kPlain) != 0;
  return kind;
}

/// Floating-point arithmetic does not compute addresses.
bool isFloatArithmetic(const isa::InstrDesc& row) {
  constexpr std::array<std::string_view, 13> kNames = {"FADD",  "FMUL",  "FFMA", "DADD", "DMUL", "DFMA", "HADD2",
                                                       "HMUL2", "HFMA2", "MUFU", "I2F",  "F2I",  "F2F"};
  return std::ranges::find(kNames, row.mnemonic.substr(0, row.mnemonic.find('.'))) != kNames.end();
}

} // namespace

bool isFrameAccess(const Instr& instr) {
  if (instr.op == Op::LDL || instr.op == Op::STL) return true;
  if (instr.op != Op::LD && instr.op != Op::ST) return false;
  const int predicate = isa::desc(instr.op).slotIndex(isa::SlotId::Pp); // if false, the load returns zeros
  if (predicate >= 0 && instr.op_(static_cast<unsigned>(predicate)).isVirtual()) return false;
  return isa::modAs<isa::MemOrder>(instr, isa::Mod::Order) == isa::MemOrder::Weak;
}

AddressFlow::Assumptions addressAssumptions(const Knobs& knobs) {
  return {.tracksMemory = knobs.enabled(Knob::TrackIndirLoad),
          .paramsAreGlobal = knobs.enabled(Knob::ParamAlwaysPointToGlobal),
          .constPointersAreGlobal = knobs.enabled(Knob::StrongGlobalAssumptions)};
}

AddressFlow::AddressFlow(ori::Function& function, const Assumptions& assumptions)
    : function_(function), assumptions_(assumptions) {
  std::uint32_t count = 0;
  first_.reserve(function.vregCount() + 1);
  for (ori::VRegId id = 0; id < function.vregCount(); ++id) {
    first_.push_back(count);
    count += function.vreg(id).width;
  }
  first_.push_back(count);
  loadsDifferences_ = !function.isKernel();
  if (function.everHad(Op::CALL_EXTERN) || function.everHad(Op::CALL_FUNCTION))
    for (ori::Block* block : function.layout())
      for (Instr& instr : *block)
        loadsDifferences_ |= instr.op == Op::CALL_EXTERN || instr.op == Op::CALL_FUNCTION;
  for (bool hadDifferences = !loadsDifferences_; hadDifferences != loadsDifferences_;) {
    hadDifferences = loadsDifferences_;
    words_.assign(count, {});
    objects_.assign(function.frame.size(), {});
    solve();
  }
  findAccesses();
}

void AddressFlow::solve() {
  isInWork_.assign(function_.instrIdCount(), false);
  hasLooked_.assign(function_.instrIdCount(), false);
  work_.clear();
  for (std::uint32_t i = 0; i < objects_.size(); ++i) {
    const ori::FrameObject& object = function_.frame[i];
    if (object.isIncoming) objects_[i].obstacle = "the caller writes it";
    if (object.isOutgoing || object.isSpill) objects_[i].obstacle = "it is not a variable";
  }
  for (ori::Block* block : function_.layout())
    for (Instr& instr : *block)
      enqueue(&instr);
  for (std::size_t at = 0; at < work_.size(); ++at) {
    Instr* instr = work_[at];
    isInWork_[instr->id] = false;
    current_ = instr;
    visit(*instr);
  }
}

void AddressFlow::enqueue(Instr* instr) {
  if (isInWork_[instr->id]) return;
  isInWork_[instr->id] = true;
  work_.push_back(instr);
}

// --- values

AddressWord AddressFlow::unknown() const {
  return of(W::kUnknown);
}

/// The unknown word of a 64-bit value, which may be an address difference; 32-bit values may not.
AddressWord AddressFlow::unknownPairWord() const {
  return loadsDifferences_ ? anything() : unknown();
}

AddressWord AddressFlow::symbolWord(std::uint32_t symbol, unsigned index) const {
  const ori::Module& module = function_.module();
  const ori::Symbol& s = module.symbols[symbol];
  if (s.kind != ori::Symbol::Kind::Variable || s.index >= module.variables.size()) return unknown();
  switch (module.variables[s.index].space) {
  case ori::Space::Global: return of(index ? high(kGlobal) : low(kGlobal));
  case ori::Space::Shared: return of(W::kNumber);
  default: return unknown();
  }
}

AddressWord AddressFlow::fromConstantBank(std::int64_t bank, std::int64_t offset, unsigned index) const {
  const isa::Target& target = function_.module().target();
  const auto isAt = [&](std::uint32_t place) { return offset == place; };
  const auto half = [&](unsigned space) { return of(index ? high(space) : low(space)); };
  if (bank == 0) {
    if (isAt(target.sharedWindowOffset())) return of(window(kShared));
    if (isAt(target.localWindowOffset())) return of(window(kLocal));
    if (isAt(target.constWindowOffset())) return of(window(kConst));
    const std::int64_t first = target.paramBase(), end = first + function_.paramBytes;
    if (assumptions_.paramsAreGlobal && offset >= first && offset < end) return half(kGlobal);
  }
  if (bank == 3 && assumptions_.constPointersAreGlobal) return half(kGlobal);
  const auto& slots = function_.module().addressSlots;
  if (bank == 4 && offset >= 0 && offset % 8 == 0 && static_cast<std::size_t>(offset / 8) < slots.size())
    return symbolWord(slots[static_cast<std::size_t>(offset / 8)], index);
  return unknownPairWord();
}

AddressWord AddressFlow::wordOf(const Operand& o, unsigned index) const {
  if (o.kind == Operand::Kind::None || o.isZeroReg()) return number(0);
  if (o.isImm()) return number(index ? (o.imm < 0 ? -1 : 0) : o.imm);
  if (o.kind == Operand::Kind::Frame) {
    W w = number(o.imm);
    w.bits = W::kFrame;
    w.object = o.reg;
    return w;
  }
  if (o.kind == Operand::Kind::Symbol) return symbolWord(o.reg, index);
  if (o.isConst()) {
    if (o.reg != Operand::kNoReg) return unknown();
    const W word = fromConstantBank(o.bank, o.imm, index);
    // A single word from a parameter may be either half of an address.
    return o.width == 1 && !(word.bits & kWindows) ? unknown() : word;
  }
  if (!o.isReg() || !o.isVirtual()) return unknown();
  const std::uint32_t at = first_[o.reg] + o.sub + index;
  return at < words_.size() ? words_[at] : unknown();
}

AddressFlow::Pair AddressFlow::pairOf(const Operand& o) const {
  return {wordOf(o, 0), wordOf(o, 1)};
}

SpaceSet AddressFlow::spacesOf(const Operand& pair) const {
  const PairKind kind = kindOf(wordOf(pair, 0), wordOf(pair, 1));
  if (kind.isUndefined) return kElsewhere;
  // The window base is itself the address of the first byte of the space.
  for (unsigned s = kShared; s < kSpaces; ++s)
    if (kind.isOnlyWindow(s)) return static_cast<SpaceSet>(1U << s);
  const bool isOther = kind.isNumber || kind.isUnknown || kind.isDifference || kind.windows;
  return static_cast<SpaceSet>(kind.spaces | (isOther ? kElsewhere : 0));
}

bool AddressFlow::join(AddressWord& known, const AddressWord& more, const Instr& where) {
  if (!more.bits) return false;
  if (!known.bits) {
    known = more;
    return true;
  }
  W joined = known;
  if (isNull(known) != isNull(more) && isAddress(known) != isAddress(more)) {
    joined = isNull(known) ? more : known;
    joined.mayBeNull = true;
    if (joined == known) return false;
    known = joined;
    return true;
  }
  joined.bits |= more.bits;
  joined.mayBeNull |= more.mayBeNull;
  joined.isExact = known.isExact && more.isExact && known.bits == more.bits && known.object == more.object &&
                   known.offset == more.offset;
  if (!joined.isExact) joined.offset = 0;
  if (known.object != more.object) {
    if (known.object == W::kNoObject) {
      joined.object = more.object;
    } else if (more.object != W::kNoObject) {
      publish(known, where, "an address may point to one of several variables");
      publish(more, where, "an address may point to one of several variables");
      joined.object = W::kSeveralObjects;
    }
  }
  if (joined == known) return false;
  known = joined;
  return true;
}

void AddressFlow::setWord(const Operand& result, unsigned index, const AddressWord& value) {
  if (!result.isReg() || result.isZeroReg()) return;
  if (!result.isVirtual()) return publish(value, *current_, "its address escapes");
  W& known = words_[first_[result.reg] + result.sub + index];
  if (!join(known, value, *current_)) return;
  function_.forEachUse(result.reg, [&](ori::Ref use) { enqueue(use.owner); });
}

void AddressFlow::setPair(const Operand& result, const Pair& value) {
  setWord(result, 0, value.low);
  if (result.width > 1) setWord(result, 1, value.high);
}

/// Gives up on the object: the value leaves the code that can be followed.
void AddressFlow::publish(const AddressWord& value, const Instr& where, const char* why) {
  if (hasObject(value)) escape(value.object, where, why);
}

void AddressFlow::escape(std::uint32_t id, const Instr& where, const char* why) {
  Object& object = objects_[id];
  if (object.obstacle) return;
  object.obstacle = why;
  object.at = &where;
  for (const auto& [offset, word] : object.words)
    publish(word, where, why);
  publish(object.anywhere, where, why);
  for (Instr* load : object.loads)
    enqueue(load);
}

// --- sums

AddressWord AddressFlow::sumOfWords(const Instr& where, std::span<const AddressWord> given,
                                    std::span<const bool> negative) {
  std::vector<W> terms(given.begin(), given.end());
  // Conversions into and out of a space, and the address of a structure's field: made from null, they give no address
  // either. So null may remain null in a sum with one other kind of term.
  unsigned others = 0;
  bool staysNull = true;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if ((terms[i].bits & ~kWindows) == 0) continue;
    others += !isNull(terms[i]);
    staysNull &= !negative[i];
  }
  staysNull &= others == 1;
  if (!staysNull)
    for (W& w : terms)
      w = withNumber(w);
  const W* address = nullptr;
  bool hasSeveral = false, isExact = true, isUnknown = false, isDifference = false;
  std::uint16_t added = 0, takenOff = 0; // bits of windows
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const W& t = terms[i];
    if (!t.bits) return {};
    if ((t.bits & ~kWindows) == 0) {
      std::uint16_t& windows = negative[i] ? takenOff : added;
      hasSeveral |= windows != 0;
      windows |= t.bits;
      continue;
    }
    isUnknown |= (t.bits & W::kUnknown) != 0;
    isDifference |= (t.bits & W::kDifference) != 0;
    isExact &= t.isExact;
    offset += negative[i] ? -t.offset : t.offset;
    if (!isAddress(t)) continue;
    hasSeveral |= address != nullptr || negative[i];
    address = &t;
  }
  if (added == takenOff) added = takenOff = 0;
  if (!hasSeveral && !isDifference) {
    W sum = address ? *address : of(isUnknown ? W::kUnknown : W::kNumber);
    sum.isExact = isExact && (address || !isUnknown);
    sum.offset = sum.isExact ? offset : 0;
    if (!address) sum.offset = static_cast<std::int32_t>(sum.offset);
    if (!added && !takenOff && !(sum.bits & (kWindows | kHighs | W::kDifference))) return sum;
    for (unsigned s = kShared; s < kSpaces; ++s) {
      // Conversion into the space, and out of it.
      const std::uint16_t inSpace = s == kLocal && hasObject(sum) ? W::kFrame : W::kNumber;
      const bool isNumber = (sum.bits & ~kPlain) == 0;
      if (added == window(s) && !takenOff && (isNumber || sum.bits == inSpace)) {
        sum.bits = low(s);
        sum.isExact &= hasObject(sum);
        if (!sum.isExact) sum.offset = 0;
        return sum;
      }
      if (takenOff == window(s) && !added && sum.bits == low(s)) {
        sum.bits = inSpace;
        sum.isExact &= hasObject(sum);
        if (!sum.isExact) sum.offset = 0;
        return sum;
      }
    }
    // An unknown address becomes one in its 32-bit space; null remains null.
    if (takenOff && !added && !address) return isNull(sum) ? sum : of(W::kNumber);
  }
  for (const W& t : terms)
    publish(t, where, "its address escapes");
  return anything();
}

AddressFlow::Pair AddressFlow::sumOfPairs(const Instr& where, Pair a, bool isANegative, Pair b, bool isBNegative) {
  if (isANegative && !isBNegative) {
    std::swap(a, b);
    std::swap(isANegative, isBNegative);
  }
  const auto isNullPair = [](const Pair& p) { return isNull(p.low) && isNull(p.high); };
  const auto isWindowPair = [](const Pair& p) { return p.low.bits != 0 && (p.low.bits & ~kWindows) == 0; };
  if (!isNullPair(a) && !isWindowPair(a)) b = {withNumber(b.low), withNumber(b.high)};
  if (!isNullPair(b) && !isWindowPair(b)) a = {withNumber(a.low), withNumber(a.high)};
  const bool isNullable = a.low.mayBeNull || b.low.mayBeNull;
  const PairKind x = kindOf(a.low, a.high), y = kindOf(b.low, b.high);
  if (x.isUndefined || y.isUndefined) return {};
  const auto give = [&](std::uint16_t lowBits, std::uint16_t highBits, const W& from, bool isExact,
                        std::int64_t offset) {
    Pair pair{of(lowBits), of(highBits)};
    pair.low.mayBeNull = pair.high.mayBeNull = isNullable;
    pair.low.object = from.object;
    pair.low.isExact = isExact;
    pair.low.offset = isExact ? offset : 0;
    return pair;
  };
  const auto giveUp = [&] {
    for (const W* w : {&a.low, &a.high, &b.low, &b.high})
      publish(*w, where, "its address escapes");
    return Pair{anything(), anything()};
  };
  if (isANegative) return giveUp();
  for (unsigned s = kShared; s < kSpaces; ++s) {
    // Conversion into the space, and out of it.
    for (const bool isSwapped : {false, true}) {
      const PairKind &w = isSwapped ? x : y, &other = isSwapped ? y : x;
      const W& address = isSwapped ? b.low : a.low;
      if (!w.isOnlyWindow(s)) continue;
      if (!isBNegative) {
        if (other.spaces || other.windows || other.isDifference) return giveUp();
        return give(low(s), high(s), address, hasObject(address) && address.isExact, address.offset);
      }
      if (isSwapped) return giveUp();
      if (other.isOnlyIn(s)) {
        const bool isFrame = hasObject(address);
        Pair pair =
            give(isFrame ? W::kFrame : W::kNumber, W::kNumber, address, isFrame && address.isExact, address.offset);
        pair.high = number(0);
        return pair;
      }
      publish(address, where, "its address escapes");
      if (isNullPair(a)) return a;
      return {of(W::kNumber), number(0)};
    }
  }
  if (x.windows || y.windows || x.isDifference || y.isDifference) return giveUp();
  if (isBNegative && (!y.isOnlyNumber() || isAddress(b.low))) return giveUp();
  if (!x.spaces && !y.spaces) {
    Pair sum{sumOfWords(where, std::array{a.low, b.low}, std::array{false, isBNegative}), of(W::kUnknown)};
    if (x.isOnlyNumber() && y.isOnlyNumber()) {
      sum.high = of(W::kNumber);
      if (sum.low.isExact && a.high.isExact && b.high.isExact) sum.high = number(sum.low.offset < 0 ? -1 : 0);
    }
    return sum;
  }
  // The sum of two addresses is not an address.
  if (x.spaces && y.spaces) return giveUp();
  const bool isFirst = x.spaces != 0;
  const PairKind& kind = isFirst ? x : y;
  const PairKind& term = isFirst ? y : x;
  const Pair &address = isFirst ? a : b, &more = isFirst ? b : a;
  if (hasObject(more.low)) {
    // The window base plus a number, to which an address in the space is added.
    if (hasObject(address.low) || !kind.isOnlyIn(kLocal)) return giveUp();
    return give(low(kLocal), high(kLocal), more.low, false, 0);
  }
  std::uint16_t lows = 0, highs = 0;
  for (unsigned s = kGlobal; s < kSpaces; ++s)
    if (kind.spaces & (1U << s)) lows |= low(s), highs |= high(s);
  if (kind.isNumber) lows |= W::kNumber, highs |= W::kNumber;
  if (kind.isUnknown) lows |= W::kUnknown, highs |= W::kUnknown;
  const bool isExact = kind.isOnlyIn(kLocal) && hasObject(address.low) && address.low.isExact && term.isOnlyNumber() &&
                       more.low.isExact && more.high.isExact &&
                       more.high.offset == (static_cast<std::int32_t>(more.low.offset) < 0 ? -1 : 0);
  const std::int64_t step = static_cast<std::int32_t>(more.low.offset);
  return give(lows, highs, address.low, isExact, address.low.offset + (isBNegative ? -step : step));
}

// --- instructions

void AddressFlow::visit(Instr& instr) {
  if (visitKnown(instr)) return;
  if (isFrameAccess(instr)) return isa::desc(instr.op).has(Flag::Load) ? visitLoad(instr) : visitStore(instr);
  visitOther(instr);
}

/// Handles operations whose effect on addresses is known; false for all others.
bool AddressFlow::visitKnown(Instr& instr) {
  if (instr.op == Op::PHI) {
    visitPhi(instr);
    return true;
  }
  const bool isChangedSource = std::any_of(instr.ops().begin(), instr.ops().end(), [](const ori::Operand& o) {
    return !o.isDef && (o.neg() || o.inverted() || o.abs()) && o.file != File::P;
  });
  if (isa::desc(instr.op).has(Flag::Copy) && !isChangedSource && instr.op_(0).isReg() &&
      (instr.op_(0).file == File::R || instr.op_(0).file == File::UR)) {
    const Operand result = instr.op_(0).value(), from = instr.op_(1).value();
    for (unsigned k = 0; k < result.width; ++k)
      setWord(result, k, wordOf(from, k));
    return true;
  }
  switch (instr.op) {
  case Op::UNDEF: return true;
  case Op::SEL:
  case Op::USEL:
    if (isChangedSource) return false;
    setWord(instr.op_(0).value(), 0, wordOf(instr.op_(1).value()));
    setWord(instr.op_(0).value(), 0, wordOf(instr.op_(2).value()));
    return true;
  case Op::IADD3: visitSum(instr); return true;
  case Op::IADD64:
    setPair(instr.op_(0).value(), sumOfPairs(instr, pairOf(instr.op_(1).value()), instr.op_(1).neg(),
                                             pairOf(instr.op_(2).value()), instr.op_(2).neg()));
    return true;
  case Op::IMAD:
  case Op::IMAD_WIDE:
  case Op::IMAD64:
  case Op::LEA: return visitProduct(instr);
  case Op::LOP3: return !isChangedSource && visitAlignment(instr);
  case Op::S2R:
    if (!instr.op_(1).isImm() || instr.op_(1).imm != kSharedWindowHigh) return false;
    setWord(instr.op_(0).value(), 0, of(high(kShared)));
    return true;
  case Op::ULEA: {
    const Instr* rank = instr.op_(2).isVirtual() ? function_.singleDef(instr.op_(2).reg) : nullptr;
    const ori::Operand& shift = slotOf(instr, isa::SlotId::shift);
    if (!rank || rank->op != Op::S2UR || rank->op_(1).imm != kCtaRank || shift.imm != kRankShift) return false;
    setWord(instr.op_(0).value(), 0, of(W::kShared));
    return true;
  }
  case Op::ADDRESS: {
    const Operand result = instr.op_(0).value(), symbol = instr.op_(1).value();
    if (symbol.kind != Operand::Kind::Symbol) return false;
    for (unsigned k = 0; k < result.width; ++k)
      setWord(result, k, result.width == 2 ? symbolWord(symbol.reg, k) : of(W::kNumber));
    return true;
  }
  case Op::LDC: {
    const Operand result = slotOf(instr, isa::SlotId::Rd).value();
    const ori::Operand &bank = instr.op_(1), &index = instr.op_(2), &at = instr.op_(3);
    if (result.width != 2 || !bank.isImm() || !at.isImm() || !(index.isNone() || index.isZeroReg())) return false;
    for (unsigned k = 0; k < 2; ++k)
      setWord(result, k, fromConstantBank(bank.imm, at.imm, k));
    return true;
  }
  default: return false;
  }
}

void AddressFlow::visitPhi(Instr& phi) {
  const Operand result = phi.op_(0).value();
  for (unsigned i = 1; i + 1 < phi.operandCount; i += 2)
    for (unsigned k = 0; k < result.width && phi.op_(i).kind != Operand::Kind::None; ++k)
      setWord(result, k, wordOf(phi.op_(i).value(), k));
}

void AddressFlow::visitSum(Instr& sum) {
  std::array<W, 3> terms;
  std::array<bool, 3> negative{};
  bool isFrame = false;
  for (unsigned i = 3; i < 6; ++i)
    isFrame |= sum.op_(i).kind == Operand::Kind::Frame;
  for (unsigned i = 3; i < 6; ++i) {
    const Operand o = sum.op_(i).value();
    terms[i - 3] = isFrame && isStackPointer(o) ? number(0) : wordOf(o);
    negative[i - 3] = o.neg();
  }
  setWord(sum.op_(0).value(), 0, sumOfWords(sum, terms, negative));
}

/// A product or a shifted value, plus an addend.
bool AddressFlow::visitProduct(Instr& instr) {
  const Operand a = slotOf(instr, isa::SlotId::Ra).value(), b = slotOf(instr, isa::SlotId::Rb).value();
  const Operand addend = instr.op == Op::LEA ? b : slotOf(instr, isa::SlotId::Rc).value();
  // The optimizer extends addresses to 64 bits by a multiplication by 1.
  const W first = wordOf(a), second = wordOf(b);
  const bool isOnce = instr.op != Op::LEA && instr.op != Op::IMAD64 && second == number(1);
  W product = isOnce ? first : of(W::kNumber);
  bool isPlain = !addend.neg();
  const auto look = [&](const Operand& o) {
    for (unsigned k = 0; k < (o.isReg() ? o.width : 1U); ++k)
      isPlain &= !isAddress(wordOf(o, k));
  };
  if (!isOnce) look(a);
  if (!isOnce && instr.op != Op::LEA) look(b);
  if (!first.bits || !second.bits) return true;
  if (!isPlain) return false;
  const Operand result = instr.op_(0).value();
  if (result.width == 1) {
    setWord(result, 0, sumOfWords(instr, std::array{product, wordOf(addend)}, std::array{false, false}));
  } else {
    setPair(result, sumOfPairs(instr, {product, isOnce ? number(0) : of(W::kNumber)}, false, pairOf(addend), false));
  }
  return true;
}

/// Aligning an address keeps it in its window.
bool AddressFlow::visitAlignment(Instr& instr) {
  const auto lut = slotOf(instr, isa::SlotId::lut).imm;
  const W a = wordOf(slotOf(instr, isa::SlotId::Ra).value()), b = wordOf(slotOf(instr, isa::SlotId::Rb).value());
  const W c = wordOf(slotOf(instr, isa::SlotId::Rc).value());
  const bool isAligned = b.bits == W::kNumber && b.isExact && c.isExact &&
                         ((lut == 0xc0 && static_cast<std::int32_t>(b.offset) < 0 && -b.offset <= kMaxAlignment) ||
                          (lut == 0xfc && b.offset >= 0 && b.offset < kMaxAlignment && c.offset == 0));
  if (!isAligned || !isAddress(a)) return false;
  W aligned = a;
  aligned.isExact = false, aligned.offset = 0;
  setWord(slotOf(instr, isa::SlotId::Rd).value(), 0, aligned);
  return true;
}

void AddressFlow::visitOther(Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  bool definesWords = false;
  for (const ori::Operand& o : instr.ops())
    definesWords |= o.isDef && o.isReg() && (o.file == File::R || o.file == File::UR);
  const bool isStore = row.has(Flag::Store) || row.has(Flag::Atomic);
  // The result of a comparison is not an address.
  const bool isFloat = isFloatArithmetic(row);
  const bool passesOn = !isFloat && (definesWords || isStore || row.has(Flag::SideEffect));
  std::uint16_t bits = 0;
  for (const ori::Operand& o : instr.ops()) {
    if (o.isDef || !o.isReg() || !o.isVirtual() || (o.file != File::R && o.file != File::UR)) continue;
    for (unsigned k = 0; k < o.width; ++k) {
      const W w = wordOf(o.value(), k);
      bits |= w.bits;
      if (passesOn) publish(w, instr, "its address escapes");
      if (isStore && (w.bits & W::kDifference)) loadsDifferences_ = true;
    }
  }
  for (const ori::Operand& o : instr.ops())
    if (!o.isDef && o.kind == Operand::Kind::Frame) publish(wordOf(o.value()), instr, "its address escapes");
  const bool isLoad = row.has(Flag::Load) || row.has(Flag::ConstLoad);
  const bool isCall = row.has(Flag::SideEffect) && !isStore && !isLoad;
  for (const ori::Operand& o : instr.ops()) {
    if (!o.isDef || !o.isReg() || (o.file != File::R && o.file != File::UR)) continue;
    W value = of(W::kNumber);
    if (isLoad || isCall)
      value = o.width > 1 || isCall ? unknownPairWord() : unknown();
    else if (isFloat)
      value = of(W::kNumber);
    else if (bits & ~kPlain)
      value = anything();
    else if (bits & W::kUnknown)
      value = unknown();
    for (unsigned k = 0; k < o.width; ++k)
      setWord(o.value(), k, value);
  }
}

AddressFlow::Target AddressFlow::targetOf(const Instr& instr) const {
  Target target;
  const Operand base = slotOf(instr, isa::SlotId::Ra).value();
  const ori::Operand& at = slotOf(instr, isa::SlotId::offset);
  const int uniform = isa::desc(instr.op).slotIndex(isa::SlotId::URb);
  const bool isIndexed = uniform >= 0 && !instr.op_(static_cast<unsigned>(uniform)).isNone() &&
                         !instr.op_(static_cast<unsigned>(uniform)).isZeroReg();
  if (at.kind == Operand::Kind::Frame)
    return {true, at.reg, isStackPointer(base), !isIndexed && isStackPointer(base), at.imm};
  const bool isLocal = instr.op == Op::LDL || instr.op == Op::STL;
  W address = wordOf(base);
  if (isNull(address) && (isLocal || isNull(wordOf(base, 1)))) return target;
  if (isLocal) {
    target.isReached = address.bits != 0;
    target.isSure = address.bits == W::kFrame;
  } else {
    const PairKind kind = kindOf(address, wordOf(base, 1));
    target.isReached = !kind.isUndefined;
    target.isSure = kind.isOnlyIn(kLocal);
  }
  target.object = hasObject(address) ? address.object : W::kNoObject;
  target.isExact = target.isSure && address.isExact && !isIndexed && (at.isImm() || at.isNone());
  if (target.isExact) target.offset = address.offset + (at.isImm() ? at.imm : 0);
  return target;
}

void AddressFlow::visitLoad(Instr& instr) {
  const Operand result = slotOf(instr, isa::SlotId::Rd).value();
  const std::uint32_t bytes = bytesOf(instr);
  const auto setAll = [&](const W& value) {
    for (unsigned k = 0; k < result.width; ++k)
      setWord(result, k, value);
  };
  const Target target = targetOf(instr);
  if (!target.isReached) return;
  const W other = bytes < kWordBytes ? of(W::kNumber) : bytes == kWordBytes ? unknown() : unknownPairWord();
  if (target.object == W::kNoObject) return setAll(other);
  Object& object = objects_[target.object];
  if (!hasLooked_[instr.id]) object.loads.push_back(&instr);
  hasLooked_[instr.id] = true; // if it reads another object later, both are given up
  const bool isInside =
      !target.isExact || (target.offset >= 0 && target.offset + bytes <= function_.frame[target.object].size);
  if (!isInside) escape(target.object, instr, "it is accessed outside its bounds");
  if (object.obstacle || !assumptions_.tracksMemory) return setAll(other);
  if (!target.isSure) setAll(other);
  const bool isWhole = target.isExact && target.offset % kWordBytes == 0 && bytes >= kWordBytes;
  if (isWhole) {
    for (unsigned k = 0; k < bytes / kWordBytes; ++k) {
      setWord(result, k, object.anywhere);
      const auto word = object.words.find(target.offset + k * kWordBytes);
      if (word != object.words.end()) setWord(result, k, word->second);
    }
    return;
  }
  // Loads some bytes of a word, or at an unknown offset.
  const auto pass = [&](const W& word) {
    if (bytes < kWordBytes || target.isExact)
      publish(word, instr, "part of its address is loaded");
    else
      setAll(word);
  };
  if (bytes < kWordBytes || target.isExact) setAll(other);
  pass(W(object.anywhere));
  if (object.obstacle) return setAll(other);
  for (const auto& [offset, word] : std::map(object.words))
    if (!target.isExact || (offset < target.offset + bytes && target.offset < offset + kWordBytes)) pass(word);
}

void AddressFlow::visitStore(Instr& instr) {
  const Operand data = slotOf(instr, isa::SlotId::Rb).value();
  const std::uint32_t bytes = bytesOf(instr);
  const Target target = targetOf(instr);
  if (!target.isReached) return;
  const unsigned words = std::max(1U, bytes / kWordBytes);
  const auto publishAll = [&] {
    for (unsigned k = 0; k < words; ++k) {
      const W w = wordOf(data, k);
      publish(w, instr, "its address is stored in memory");
      if (w.bits & W::kDifference) loadsDifferences_ = true;
    }
  };
  if (target.object == W::kNoObject) return publishAll();
  Object& object = objects_[target.object];
  if (target.isExact && (target.offset < 0 || target.offset + bytes > function_.frame[target.object].size))
    escape(target.object, instr, "it is accessed outside its bounds");
  if (object.obstacle || !assumptions_.tracksMemory) return publishAll();
  if (!target.isSure) publishAll();
  bool isChanged = false;
  const bool isWhole = target.offset % kWordBytes == 0 && bytes >= kWordBytes;
  if (!isWhole) publishAll();
  if (object.obstacle) return;
  for (unsigned k = 0; k < words; ++k) {
    const W value = isWhole ? wordOf(data, k) : unknown();
    if (!target.isExact) {
      isChanged |= join(object.anywhere, value, instr);
    } else if (isWhole) {
      isChanged |= join(object.words[target.offset + k * kWordBytes], value, instr);
    } else {
      const std::int64_t last = target.offset + bytes - 1;
      for (std::int64_t at = target.offset & ~std::int64_t{kWordBytes - 1}; at <= last; at += kWordBytes)
        isChanged |= join(object.words[at], value, instr);
    }
  }
  if (!isChanged) return;
  for (Instr* load : object.loads)
    enqueue(load);
}

void AddressFlow::findAccesses() {
  for (ori::Block* block : function_.layout())
    for (Instr& instr : *block) {
      if (!isFrameAccess(instr)) continue;
      const Target target = targetOf(instr);
      if (target.object == W::kNoObject || objects_[target.object].obstacle) continue;
      accesses_.push_back({&instr, target.object, target.offset, bytesOf(instr), isa::desc(instr.op).has(Flag::Store),
                           target.isExact, target.isSure});
    }
}

} // namespace orias::phases
