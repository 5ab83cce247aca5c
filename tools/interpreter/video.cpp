#include "tools/interpreter/handlers.h"

#include <algorithm>
#include <optional>

// Video instructions: an operation on parts of words, then a second one with c, or the insertion of the result into c;
// also the same on two halves or four bytes at once.

namespace orias::interp {

namespace {

using ptx::Component;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Operand;
using ptx::Type;

/// Exact for every shift and product of words.
__extension__ using Wide = __int128;

enum class Action : std::uint8_t { Add, Sub, Average, Difference, Min, Max, Shl, Shr, Compare };

/// A range of bits of a word.
struct Part {
  std::uint8_t position = 0, width = 32;

  std::int64_t of(std::uint32_t word, bool isSigned) const {
    const std::uint64_t field = word >> position & mask();
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    return isSigned ? static_cast<std::int64_t>((field ^ sign) - sign) : static_cast<std::int64_t>(field);
  }
  std::uint32_t put(std::int64_t value, std::uint32_t around) const {
    const auto field = static_cast<std::uint32_t>(mask() << position);
    return (around & ~field) | (static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) << position) & field);
  }

 private:
  std::uint64_t mask() const { return (std::uint64_t{1} << width) - 1; }
};

/// Inst::detail. Lane k takes parts `a[k]` and `b[k]` of the 64 bits {b, a} (in scalar instructions: of a, and of b).
struct Video {
  Action action = Action::Add;
  Mod compare = Mod::None, second = Mod::None;
  bool isSignedA = false, isSignedB = false, isSignedD = false;
  bool saturates = false, wraps = false;
  unsigned lanes = 1, bits = 32;
  Part a, b, d;                                 ///< scalar
  bool merges = false;                          ///< scalar: the result is inserted into c
  std::array<std::uint8_t, 4> laneA{}, laneB{}; ///< SIMD: the selected parts
  std::uint8_t mask = 0;                        ///< SIMD: lanes that are written, or summed

  // vmad
  bool negatesProduct = false, negatesC = false, plusOne = false;
  unsigned shift = 0;
};

const Video& videoOf(const Inst& inst) {
  return *static_cast<const Video*>(inst.detail);
}

std::int64_t clamp(Wide value, unsigned bits, bool isSigned) {
  const Wide top = Wide{1} << (isSigned ? bits - 1 : bits);
  return static_cast<std::int64_t>(std::clamp(value, isSigned ? -top : Wide{0}, top - 1));
}

bool compares(Mod compare, std::int64_t a, std::int64_t b) {
  switch (compare) {
  case Mod::Eq: return a == b;
  case Mod::Ne: return a != b;
  case Mod::Lt: return a < b;
  case Mod::Le: return a <= b;
  case Mod::Gt: return a > b;
  default: return a >= b;
  }
}

Wide compute(const Video& v, std::int64_t a, std::int64_t b) {
  switch (v.action) {
  case Action::Add: return a + b;
  case Action::Sub: return a - b;
  case Action::Average: return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
  case Action::Difference: return a < b ? b - a : a - b;
  case Action::Min: return std::min(a, b);
  case Action::Max: return std::max(a, b);
  case Action::Shl: return a * (Wide{1} << b);
  case Action::Shr: return a >> b;
  case Action::Compare: break;
  }
  return compares(v.compare, a, b) ? 1 : 0;
}

void scalar(Thread& t, const Inst& i) {
  const Video& v = videoOf(i);
  const std::int64_t a = v.a.of(get<std::uint32_t>(t, i.a), v.isSignedA);
  std::int64_t b = v.b.of(get<std::uint32_t>(t, i.b), v.isSignedB);
  if (v.action == Action::Shl || v.action == Action::Shr) b = v.wraps ? b & 31 : std::min<std::int64_t>(b, 32);
  const Wide exact = compute(v, a, b);
  auto result = v.saturates ? clamp(exact, v.d.width, v.isSignedD) : static_cast<std::int64_t>(exact);
  const auto c = get<std::uint32_t>(t, i.c);
  if (v.merges) return put<std::uint32_t>(t, i.d, v.d.put(result, c));
  // The second operation has the type of the destination.
  const std::int64_t word = Part{}.of(static_cast<std::uint32_t>(result), v.isSignedD),
                     other = Part{}.of(c, v.isSignedD);
  switch (v.second) {
  case Mod::Add: result += other; break;
  case Mod::Min: result = std::min(word, other); break;
  case Mod::Max: result = std::max(word, other); break;
  default: break;
  }
  put<std::uint32_t>(t, i.d, static_cast<std::uint32_t>(result));
}

void parallel(Thread& t, const Inst& i) {
  const Video& v = videoOf(i);
  const std::uint32_t words[2] = {get<std::uint32_t>(t, i.a), get<std::uint32_t>(t, i.b)};
  const auto select = [&](unsigned part, bool isSigned) {
    const Part at{static_cast<std::uint8_t>(part % v.lanes * v.bits), static_cast<std::uint8_t>(v.bits)};
    return at.of(words[part / v.lanes], isSigned);
  };
  auto result = get<std::uint32_t>(t, i.c);
  for (unsigned k = 0; k < v.lanes; ++k) {
    if ((v.mask >> k & 1) == 0) continue;
    const Wide exact = compute(v, select(v.laneA[k], v.isSignedA), select(v.laneB[k], v.isSignedB));
    const auto lane = v.saturates ? clamp(exact, v.bits, v.isSignedD) : static_cast<std::int64_t>(exact);
    if (v.second == Mod::Add)
      result += static_cast<std::uint32_t>(lane);
    else
      result = Part{static_cast<std::uint8_t>(k * v.bits), static_cast<std::uint8_t>(v.bits)}.put(lane, result);
  }
  put<std::uint32_t>(t, i.d, result);
}

/// vmad: c has the signedness of the product, the result that of both.
void multiplyAdd(Thread& t, const Inst& i) {
  const Video& v = videoOf(i);
  const bool isSignedProduct = v.isSignedA || v.isSignedB || v.negatesProduct;
  Wide product =
      Wide{v.a.of(get<std::uint32_t>(t, i.a), v.isSignedA)} * v.b.of(get<std::uint32_t>(t, i.b), v.isSignedB);
  if (v.negatesProduct) product = -product;
  const std::int64_t c = Part{}.of(get<std::uint32_t>(t, i.c), isSignedProduct);
  const Wide sum = product + (v.negatesC ? -c : c) + (v.plusOne ? 1 : 0);
  const Wide scaled = sum >> v.shift;
  const bool isSignedResult = isSignedProduct || v.negatesC;
  const std::int64_t result = v.saturates ? clamp(scaled, 32, isSignedResult) : static_cast<std::int64_t>(scaled);
  put<std::uint32_t>(t, i.d, static_cast<std::uint32_t>(result));
}

struct Named {
  Action action;
  unsigned lanes;
};

std::optional<Named> nameOf(Op op) {
  switch (op) {
  case Op::Vadd: return Named{Action::Add, 1};
  case Op::Vsub: return Named{Action::Sub, 1};
  case Op::Vabsdiff: return Named{Action::Difference, 1};
  case Op::Vmin: return Named{Action::Min, 1};
  case Op::Vmax: return Named{Action::Max, 1};
  case Op::Vshl: return Named{Action::Shl, 1};
  case Op::Vshr: return Named{Action::Shr, 1};
  case Op::Vset: return Named{Action::Compare, 1};
  case Op::Vmad: return Named{Action::Add, 1};
  case Op::Vadd2: return Named{Action::Add, 2};
  case Op::Vsub2: return Named{Action::Sub, 2};
  case Op::Vavrg2: return Named{Action::Average, 2};
  case Op::Vabsdiff2: return Named{Action::Difference, 2};
  case Op::Vmin2: return Named{Action::Min, 2};
  case Op::Vmax2: return Named{Action::Max, 2};
  case Op::Vset2: return Named{Action::Compare, 2};
  case Op::Vadd4: return Named{Action::Add, 4};
  case Op::Vsub4: return Named{Action::Sub, 4};
  case Op::Vavrg4: return Named{Action::Average, 4};
  case Op::Vabsdiff4: return Named{Action::Difference, 4};
  case Op::Vmin4: return Named{Action::Min, 4};
  case Op::Vmax4: return Named{Action::Max, 4};
  case Op::Vset4: return Named{Action::Compare, 4};
  default: return std::nullopt;
  }
}

/// `.b2`, `.h1`; without a selector the whole word.
Part partOf(const Operand& operand) {
  if (!operand.is(ptx::OperandKind::Register)) return {};
  const Component c = operand.component();
  const auto from = [&](Component first) { return static_cast<unsigned>(c) - static_cast<unsigned>(first); };
  if (c >= Component::B0 && c <= Component::B3) return {static_cast<std::uint8_t>(8 * from(Component::B0)), 8};
  if (c == Component::H0 || c == Component::H1) return {static_cast<std::uint8_t>(16 * from(Component::H0)), 16};
  return {};
}

/// The digits of a selection as written: `.b7031` is {7, 0, 3, 1}. Empty without one.
std::vector<unsigned> digitsOf(const Operand& operand, unsigned lanes) {
  if (!operand.is(ptx::OperandKind::Register)) return {};
  const Component c = operand.component();
  if (c == Component::None) return {};
  if (c != Component::Bytes && c != Component::Halves) return {partOf(operand).position / (32 / lanes)};
  // Leading zeros are not kept, so a mask has at most as many digits as its highest lane.
  std::vector<unsigned> digits;
  for (std::uint32_t rest = operand.selection(); rest != 0 || digits.size() < 2; rest >>= 4)
    digits.insert(digits.begin(), rest & 15);
  return digits;
}

void selectLanes(std::array<std::uint8_t, 4>& lanes, const Operand& operand, unsigned count, unsigned first) {
  std::vector<unsigned> digits = digitsOf(operand, count);
  const bool isGiven = !digits.empty();
  while (isGiven && digits.size() < count)
    digits.insert(digits.begin(), 0); // leading zeros
  for (unsigned k = 0; k < count; ++k)
    lanes[k] = static_cast<std::uint8_t>(isGiven ? digits[count - 1 - k] : first + k);
}

/// The slot of the whole source; the handlers extract its parts.
std::uint32_t wholeSlot(FunctionTranslator& t, unsigned operand, Type type) {
  const Operand& o = t.operand(operand);
  return o.is(ptx::OperandKind::Register) ? t.registerSlot(o.registerId()) : t.use(operand, type);
}

} // namespace

bool translateVideo(FunctionTranslator& t) {
  const Form& f = t.form();
  const auto named = nameOf(f.op);
  if (!named) return false;
  // vset has no result type; its result is unsigned.
  const bool isComparison = named->action == Action::Compare;
  const Type typeD = isComparison ? Type::U32 : f.type(0);
  const Type typeA = f.type(isComparison ? 0 : 1), typeB = f.type(isComparison ? 1 : 2);

  Video v;
  v.action = named->action;
  v.compare = f.compare();
  v.second = f.action();
  v.isSignedD = typeD == Type::S32;
  v.isSignedA = typeA == Type::S32;
  v.isSignedB = typeB == Type::S32;
  v.saturates = f.sat();
  v.wraps = f.mode() == Mod::Wrap;
  v.lanes = named->lanes;
  v.bits = 32 / v.lanes;

  const bool isMad = f.op == Op::Vmad;
  if (v.lanes == 1) {
    v.d = partOf(t.operand(0));
    v.a = partOf(t.operand(1));
    v.b = partOf(t.operand(2));
    v.merges = v.d.width != 32;
  } else {
    selectLanes(v.laneA, t.operand(1), v.lanes, 0);
    selectLanes(v.laneB, t.operand(2), v.lanes, v.lanes);
    for (unsigned lane : digitsOf(t.operand(0), v.lanes))
      v.mask = static_cast<std::uint8_t>(v.mask | 1u << lane);
    if (v.mask == 0) v.mask = static_cast<std::uint8_t>((1u << v.lanes) - 1);
  }
  if (isMad) {
    v.negatesProduct = t.operand(1).isMinus() != t.operand(2).isMinus();
    v.negatesC = t.operand(3).isMinus();
    v.plusOne = f.has(Mod::Po);
    v.shift = f.has(Mod::Shr7) ? 7 : f.has(Mod::Shr15) ? 15 : 0;
  }

  const std::uint32_t a = wholeSlot(t, 1, typeA), b = wholeSlot(t, 2, typeB);
  const std::uint32_t c = t.operandCount() > 3 ? wholeSlot(t, 3, typeD) : t.constant(0);
  Inst& inst = t.emit(isMad ? &multiplyAdd : v.lanes == 1 ? &scalar : &parallel);
  inst.d = t.registerSlot(t.operand(0).registerId());
  inst.a = a;
  inst.b = b;
  inst.c = c;
  inst.detail = t.keep(v);
  return true;
}

} // namespace orias::interp
