// wmma: matrices as values of a warp. PTX leaves the assignment of elements to lanes open. Here it is that of mma's
// fragments, so a product is one or two hardware products, and loads and stores are plain. A product of 8 rows is
// computed transposed, because the hardware's left operand has 16 rows. PTX fragments of f16 have more registers than
// necessary: the rest repeat the first.

#include "frontend/lower/addresses.h"
#include "frontend/lower/families.h"
#include "frontend/lower/matrix_helpers.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/special.h"
#include "frontend/lower/sync.h"

#include <algorithm>
#include <map>

namespace orias::ptx {

using isa::MemSize;
using IsaOperand = isa::Operand;

namespace {

enum class Part { A, B, Sum };

/// The layout of a matrix in the registers of the lanes. In lane 4 g + t, g gives one coordinate of an element, and t
/// the other, along which neighbors share a register.
class Fragment {
 public:
  Fragment(Part part, Type element, MatrixShape shape) : part_(part), bits_(bitWidth(element)), shape_(shape) {}

  /// 8 x 8 sums: one product with its operands in order.
  bool isSmall() const { return shape_.m == 8 && shape_.n == 8; }
  bool isTransposed() const { return shape_.m == 8 && !isSmall(); }
  bool isLeft() const { return part_ == (isTransposed() ? Part::B : Part::A); }
  /// Whether g is the row and t the column.
  bool groupIsRow() const { return part_ == Part::A || (part_ == Part::Sum && !isTransposed()); }
  unsigned elementBits() const { return bits_; }
  /// For smaller elements the unit is a byte, also in steps over whole rows.
  unsigned elementBytes() const { return std::max(1u, bits_ / 8); }
  unsigned laneBytes() const { return perLane() * bits_ / 8; }
  /// Elements next to each other in one unit: a register, or a pair for f64.
  unsigned perUnit() const { return bits_ >= 32 ? 1 : 32 / bits_; }
  unsigned wordsPerUnit() const { return bits_ == 64 ? 2 : 1; }
  /// Consecutive elements that a lane holds along t. The next lane's elements follow.
  unsigned perLane() const { return part_ == Part::Sum ? 2 : perUnit(); }
  /// Tiles of 16 along g for the left operand and sums, of 8 for the right one.
  unsigned tiles() const {
    if (isSmall()) return 1;
    if (part_ == Part::Sum) return 2;
    const unsigned extent = part_ == Part::A ? shape_.m : shape_.n;
    return extent / (isLeft() ? 16 : 8);
  }
  unsigned unitsPerTile() const {
    constexpr unsigned kLanes = 32;
    return rows() * columns() / tiles() / kLanes / perUnit();
  }
  unsigned rows() const { return part_ == Part::B ? shape_.k : shape_.m; }
  unsigned columns() const { return part_ == Part::A ? shape_.k : shape_.n; }

  /// The start of unit `u`, without the lane's offset.
  struct Place {
    unsigned g, t;
  };
  Place place(unsigned u) const {
    const unsigned tile = u / unitsPerTile(), w = u % unitsPerTile();
    if (isSmall()) return {0, part_ == Part::Sum ? w : 0};
    if (part_ == Part::Sum) {
      // Rows g and g + 8, neighbors along t. For 16 x 16, tiles are consecutive along t, else along g.
      const unsigned along = w * perUnit();
      const bool tilesAlongT = shape_.m == 16 && shape_.n == 16;
      return {8 * (along / 2) + (tilesAlongT ? 0 : 16 * tile), along % 2 + (tilesAlongT ? 8 * tile : 0)};
    }
    if (isLeft()) return {16 * tile + 8 * (w % 2), 4 * perUnit() * (w / 2)};
    return {8 * tile, 4 * perUnit() * w};
  }
  unsigned units() const { return tiles() * unitsPerTile(); }

 private:
  Part part_;
  unsigned bits_;
  MatrixShape shape_;
};

std::span<const Operand> elementsOf(FunctionLowering& f, const Operand& operand) {
  return operand.is(OperandKind::Vector) ? f.parts(operand) : std::span(&operand, 1);
}

bool isSupported(Type type) {
  switch (type) {
  case Type::F16:
  case Type::BF16:
  case Type::TF32:
  case Type::F32:
  case Type::F64:
  case Type::S8:
  case Type::U8:
  case Type::S4:
  case Type::U4:
  case Type::B1:
  case Type::S32: return true;
  default: return false;
  }
}

/// Addresses of the elements of a matrix in memory, lane by lane.
class Walker {
 public:
  Walker(FunctionLowering& f, const Fragment& fragment, const Operand& address, StateSpace space, bool byRows,
         const Value& stride)
      : f_(f), space_(space), isNarrow_(space == StateSpace::Shared), bytes_(fragment.elementBytes()),
        groupStrides_(fragment.groupIsRow() == byRows), stride_(stride) {
    const Address at = addressOf(f, address, space);
    offset_ = at.offset;
    const IsaOperand lane = f.newR(), id = f.newR(), group = f.newR(), inGroup = f.newR();
    f.emit(IsaOp::S2R, {id, IsaOperand::immediate(kSrLaneId)});
    f.emit(IsaOp::SHF, {group, IsaOperand::rz(), f.imm(2), id},
           {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
    f.emit(IsaOp::LOP3,
           {IsaOperand::pt(), inGroup, id, f.imm(3), IsaOperand::rz(), f.imm(0xc0), IsaOperand::pt().notted()});
    // bytes = strided * stride * size + neighbors * size
    const IsaOperand near = f.newR(), product = f.newR();
    const unsigned groupStep = bytes_, laneStep = fragment.laneBytes();
    const ModValue isUnsigned{IsaMod::Type, isa::IntType::U32};
    if (groupStrides_) {
      f.emit(IsaOp::IMAD, {near, inGroup, f.imm(laneStep), IsaOperand::rz()}, {isUnsigned});
      f.emit(IsaOp::IMAD, {product, group, f.imm(groupStep), IsaOperand::rz()}, {isUnsigned});
    } else {
      f.emit(IsaOp::IMAD, {near, group, f.imm(groupStep), IsaOperand::rz()}, {isUnsigned});
      f.emit(IsaOp::IMAD, {product, inGroup, f.imm(laneStep), IsaOperand::rz()}, {isUnsigned});
    }
    f.emit(IsaOp::IMAD, {lane, product, f.inReg(stride.word(0)), near}, {isUnsigned});
    if (isNarrow_) {
      base_ = f.newR();
      f.emit(IsaOp::IADD3, {base_, IsaOperand::pt(), IsaOperand::pt(), at.base, lane,
                            at.uniform.isNone() ? IsaOperand::rz() : at.uniform});
    } else {
      base_ = f.newR(2);
      const IsaOperand wide = f.newR(2);
      f.copy(ori::component(wide, 0), Value::of(lane));
      f.copy(ori::component(wide, 1), Value::constant(0, 1));
      f.emit(IsaOp::IADD64, {base_, f.inReg(Value::of(at.base)), wide});
    }
  }

  /// Whether neighbors along t are contiguous.
  bool isContiguous() const { return groupStrides_; }

  /// The element `extra` positions further along t.
  struct At {
    IsaOperand base;
    IsaOperand offset;
  };
  At at(Fragment::Place place, unsigned extra = 0) {
    const unsigned t = place.t + extra;
    const unsigned strides = groupStrides_ ? place.g : t, neighbors = groupStrides_ ? t : place.g;
    std::int64_t offset = offset_ + static_cast<std::int64_t>(neighbors * bytes_);
    if (stride_.isConstant()) {
      offset += static_cast<std::int64_t>(strides * stride_.bits() * bytes_);
      return {base_, IsaOperand::immediate(static_cast<std::int32_t>(offset))};
    }
    return {rowBase(strides), IsaOperand::immediate(static_cast<std::int32_t>(offset))};
  }

  void load(IsaOperand d, const At& at, MemSize size) {
    const ModValue mod{IsaMod::Size, size};
    if (isNarrow_)
      f_.emit(IsaOp::LDS, {d, at.base, IsaOperand(), at.offset}, {mod})->mayContract = true;
    else if (space_ == StateSpace::Global)
      f_.emit(IsaOp::LDG, {IsaOperand::pt(), d, f_.globalDescriptor(), at.base, IsaOperand(), at.offset}, {mod});
    else
      f_.emit(IsaOp::LD, {d, f_.globalDescriptor(), at.base, IsaOperand(), at.offset}, {mod});
  }
  void store(IsaOperand data, const At& at, MemSize size) {
    const ModValue mod{IsaMod::Size, size};
    if (isNarrow_)
      f_.emit(IsaOp::STS, {at.base, IsaOperand(), at.offset, data}, {mod})->mayContract = true;
    else
      f_.emit(space_ == StateSpace::Global ? IsaOp::STG : IsaOp::ST,
              {f_.globalDescriptor(), at.base, IsaOperand(), at.offset, data}, {mod});
  }

  /// Whether two neighbors that begin at an even position are aligned to their combined size. PTX requires aligned
  /// matrices and strides; for shared memory phase 41b determines it.
  bool alignsPairs() const { return !isNarrow_ && groupStrides_ && (!stride_.isConstant() || stride_.bits() % 2 == 0); }

 private:
  IsaOperand rowBase(unsigned strides) {
    if (strides == 0) return base_;
    IsaOperand& known = rows_[strides];
    if (!known.isNone()) return known;
    known = f_.newR(isNarrow_ ? 1 : 2);
    const IsaOperand step = f_.imm(strides * bytes_), stride = f_.inReg(stride_.word(0));
    if (isNarrow_)
      f_.emit(IsaOp::IMAD, {known, stride, step, base_}, {{IsaMod::Type, isa::IntType::U32}});
    else
      f_.emit(IsaOp::IMAD_WIDE, {known, IsaOperand::pt(), stride, step, base_}, {{IsaMod::Type, isa::IntType::U32}});
    return known;
  }

  FunctionLowering& f_;
  StateSpace space_;
  bool isNarrow_;
  unsigned bytes_;
  bool groupStrides_; ///< g steps over whole rows (columns), t over neighbors; or vice versa
  Value stride_;
  IsaOperand base_;
  std::int64_t offset_ = 0;
  std::map<unsigned, IsaOperand> rows_;
};

Part partOf(const Form& form) {
  return form.get(Slot::Part) == Mod::A ? Part::A : form.get(Slot::Part) == Mod::B ? Part::B : Part::Sum;
}

/// The fragment of a load or store. Returns nothing, and reports an error, if the form is not supported.
std::optional<Fragment> fragmentOf(FunctionLowering& f, const Form& form) {
  const bool isKnown =
      isSupported(form.type()) &&
      (form.space() == StateSpace::None || form.space() == StateSpace::Global || form.space() == StateSpace::Shared) &&
      form.get(Slot::Space) != Mod::SharedCluster;
  if (!isKnown) {
    f.unsupported(std::string(f.opcodeText()));
    return std::nullopt;
  }
  return Fragment(partOf(form), form.type(), form.shape);
}

/// The stride in elements; in bytes if elements are smaller than a byte.
Value strideOf(FunctionLowering& f, std::span<const Operand> ops, const Form& form, const Fragment& fragment) {
  const unsigned perByte = std::max(1u, 8 / fragment.elementBits());
  if (ops.size() <= 2)
    return Value::constant((form.get(Slot::Layout) == Mod::Row ? fragment.columns() : fragment.rows()) / perByte, 1);
  const Value given = f.source(ops[2], Type::U32);
  if (perByte == 1) return given;
  if (given.isConstant()) return Value::constant(given.bits() / perByte, 1);
  const IsaOperand bytes = f.newR();
  f.emit(IsaOp::SHF, {bytes, IsaOperand::rz(), f.imm(perByte == 2 ? 1 : 3), given.word(0)},
         {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
  return Value::of(bytes);
}

MemSize sizeOf(unsigned bytes) {
  switch (bytes) {
  case 1: return MemSize::U8;
  case 2: return MemSize::U16;
  case 4: return MemSize::B32;
  case 8: return MemSize::B64;
  default: return MemSize::B128;
  }
}

/// Whether `u` and the next unit are 32-bit neighbors that one access can cover.
bool isPair(const Walker& walker, const Fragment& fragment, unsigned u) {
  if (fragment.elementBits() != 32 || !walker.alignsPairs() || u + 1 >= fragment.units()) return false;
  const Fragment::Place first = fragment.place(u), second = fragment.place(u + 1);
  return first.g == second.g && first.t % 2 == 0 && first.t + 1 == second.t;
}

void wholeWarp(FunctionLowering& f) {
  synchronizeWarp(f, Value::constant(0xffffffffu, 1), false);
}

/// Packs elements of less than 32 bits into one word, the first one lowest.
IsaOperand packed(FunctionLowering& f, std::span<const IsaOperand> in) {
  const auto pair = [&](IsaOperand a, IsaOperand b, std::int64_t selector) {
    const IsaOperand d = f.newR();
    f.emit(IsaOp::PRMT, {d, a, f.imm(selector), b});
    return d;
  };
  if (in.size() == 2) return pair(in[0], in[1], 0x5410);
  return pair(pair(in[0], in[1], 0x7640), pair(in[2], in[3], 0x7640), 0x5410);
}

} // namespace

void lowerWmmaLoad(FunctionLowering& f, const Instruction& i, const Form& form) {
  f.out().usesWmma = true;
  const auto fragment = fragmentOf(f, form);
  if (!fragment) return;
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  wholeWarp(f);
  Walker walker(f, *fragment, ops[1], form.space(), form.get(Slot::Layout) == Mod::Row,
                strideOf(f, ops, form, *fragment));
  std::vector<IsaOperand> units;
  for (unsigned u = 0; u < fragment->units(); ++u) {
    const Fragment::Place place = fragment->place(u);
    const unsigned count = fragment->perUnit();
    if (isPair(walker, *fragment, u)) {
      const IsaOperand d = f.newR(2);
      walker.load(d, walker.at(place), MemSize::B64);
      units.insert(units.end(), {ori::component(d, 0), ori::component(d, 1)});
      ++u;
      continue;
    }
    if (walker.isContiguous() || count == 1) {
      const IsaOperand d = f.newR(fragment->wordsPerUnit());
      walker.load(d, walker.at(place), sizeOf(count * fragment->elementBits() / 8));
      units.push_back(d);
      continue;
    }
    std::vector<IsaOperand> elements;
    for (unsigned e = 0; e < count; ++e) {
      elements.push_back(f.newR());
      walker.load(elements.back(), walker.at(place, e), sizeOf(fragment->elementBytes()));
    }
    units.push_back(packed(f, elements));
  }
  auto results = elementsOf(f, ops[0]);
  for (unsigned r = 0; r < results.size(); ++r)
    if (!results[r].is(OperandKind::Sink)) f.copy(f.dest(results[r]), Value::of(units[r % units.size()]));
  f.endUnguarded(join);
}

void lowerWmmaStore(FunctionLowering& f, const Instruction& i, const Form& form) {
  f.out().usesWmma = true;
  const auto fragment = fragmentOf(f, form);
  if (!fragment) return;
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  wholeWarp(f);
  Walker walker(f, *fragment, ops[0], form.space(), form.get(Slot::Layout) == Mod::Row,
                strideOf(f, ops, form, *fragment));
  auto values = elementsOf(f, ops[1]);
  const Type word = fragment->wordsPerUnit() == 2 ? Type::F64 : Type::B32;
  for (unsigned u = 0; u < fragment->units(); ++u) {
    const Fragment::Place place = fragment->place(u);
    if (isPair(walker, *fragment, u)) {
      const IsaOperand pair = f.newR(2);
      for (unsigned k = 0; k < 2; ++k)
        f.copy(ori::component(pair, k), f.source(values[u + k], word));
      walker.store(pair, walker.at(place), MemSize::B64);
      ++u;
      continue;
    }
    const IsaOperand data = f.sourceReg(values[u], word);
    const unsigned count = fragment->perUnit();
    if (walker.isContiguous() || count == 1) {
      walker.store(data, walker.at(place), sizeOf(count * fragment->elementBytes()));
      continue;
    }
    for (unsigned e = 0; e < count; ++e) {
      IsaOperand part = data;
      if (e != 0) {
        part = f.newR();
        f.emit(IsaOp::SHF, {part, IsaOperand::rz(), f.imm(e * fragment->elementBits()), data},
               {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
      }
      walker.store(part, walker.at(place, e), sizeOf(fragment->elementBytes()));
    }
  }
  f.endUnguarded(join);
}

namespace {

/// Converts halves to f32, in twice as many registers, and back.
IsaOperand singlesOf(FunctionLowering& f, IsaOperand halves) {
  const IsaOperand r = f.newR(2 * halves.width);
  for (unsigned w = 0; w < halves.width; ++w)
    singleFromHalves(f, ori::component(r, 2 * w, 2), ori::component(halves, w));
  return r;
}
IsaOperand halvesOf(FunctionLowering& f, IsaOperand singles) {
  const IsaOperand r = f.newR(singles.width / 2);
  for (unsigned w = 0; w < r.width; ++w)
    f.emit(IsaOp::F2FP, {ori::component(r, w), ori::component(singles, 2 * w + 1), ori::component(singles, 2 * w)},
           {{IsaMod::DstFmt, 0}});
  return r;
}

/// Four-bit or one-bit elements: the fragments are those of mma, one register of each factor.
void lowerNarrow(FunctionLowering& f, std::span<const Operand> ops, const Form& form) {
  ori::Block* join = f.beginUnguarded();
  wholeWarp(f);
  const auto words = [&](const Operand& operand) {
    auto elements = elementsOf(f, operand);
    const IsaOperand run = f.newR(static_cast<unsigned>(elements.size()));
    for (unsigned e = 0; e < elements.size(); ++e)
      f.copy(ori::component(run, e), f.source(elements[e], Type::B32));
    return run;
  };
  const IsaOperand a = words(ops[1]), b = words(ops[2]), c = words(ops[3]);
  auto d = fourBitProduct(f, form, a, b, c);
  if (!d) d = bitProduct(f, form, a, b, c);
  if (!d) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  auto results = elementsOf(f, ops[0]);
  for (unsigned k = 0; k < results.size(); ++k)
    if (!results[k].is(OperandKind::Sink)) f.copy(f.dest(results[k]), Value::of(ori::component(*d, k)));
  f.endUnguarded(join);
}

} // namespace

void lowerWmmaMma(FunctionLowering& f, const Instruction& i, const Form& form) {
  f.out().usesWmma = true;
  const bool isShort = form.typeCount() == 2; // D and C: A and B are f16
  const Type typeD = form.type(0), typeC = isShort ? form.type(1) : form.type(3),
             typeA = isShort ? Type::F16 : form.type(1);
  // A mix of f16 and f32 accumulates in f32.
  const bool isMixed = (typeC == Type::F16 && typeD == Type::F32) || (typeC == Type::F32 && typeD == Type::F16);
  const Type typeSum = isMixed ? Type::F32 : typeD;
  if (!isSupported(typeA) || (typeC != typeD && !isMixed) ||
      (typeD != Type::F32 && typeD != Type::F16 && typeD != Type::S32 && typeD != Type::F64)) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  IsaOp op = IsaOp::HMMA_16816;
  std::vector<ModValue> mods;
  switch (typeA) {
  case Type::F64:
    op = IsaOp::DMMA_884;
    mods = {{IsaMod::Rnd, rounding(form)}};
    break;
  case Type::S8:
  case Type::U8:
    op = IsaOp::IMMA_16816;
    mods = {{IsaMod::SrcFmt, typeA == Type::S8 ? 1 : 0},
            {IsaMod::DstFmt, typeA == Type::S8 ? 1 : 0},
            {IsaMod::Sat, form.has(Mod::Satfinite) ? 1 : 0}};
    break;
  default:
    if (typeA == Type::TF32) op = IsaOp::HMMA_1688;
    mods = {{IsaMod::DstFmt, typeSum == Type::F32 ? 1 : 0},
            {IsaMod::SrcFmt, typeA == Type::BF16   ? 1
                             : typeA == Type::TF32 ? 2
                                                   : 0}};
  }
  auto ops = f.operands(i);
  if (bitWidth(typeA) < 8) {
    lowerNarrow(f, ops, form);
    return;
  }
  const Fragment a(Part::A, typeA, form.shape), b(Part::B, typeA, form.shape);
  const Fragment addend(Part::Sum, typeC, form.shape), sum(Part::Sum, typeD, form.shape);
  ori::Block* join = f.beginUnguarded();
  wholeWarp(f);
  const auto tile = [&](const Operand& operand, const Fragment& fragment, unsigned index) {
    auto values = elementsOf(f, operand);
    const unsigned units = fragment.unitsPerTile(), words = fragment.wordsPerUnit();
    const IsaOperand run = f.newR(units * words);
    for (unsigned u = 0; u < units; ++u)
      f.copy(ori::component(run, u * words, words),
             f.source(values[index * units + u], words == 2 ? Type::F64 : Type::B32));
    return run;
  };
  const Operand &left = a.isTransposed() ? ops[2] : ops[1], &right = a.isTransposed() ? ops[1] : ops[2];
  const Fragment &leftFragment = a.isTransposed() ? b : a, &rightFragment = a.isTransposed() ? a : b;
  std::vector<IsaOperand> sums;
  for (unsigned l = 0; l < leftFragment.tiles(); ++l)
    for (unsigned r = 0; r < rightFragment.tiles(); ++r) {
      IsaOperand c = tile(ops[3], addend, l * rightFragment.tiles() + r);
      if (isMixed && typeC == Type::F16) c = singlesOf(f, c);
      const IsaOperand d = f.newR(c.width);
      f.emit(op, {d, tile(left, leftFragment, l), tile(right, rightFragment, r), c}, mods);
      sums.push_back(isMixed && typeD == Type::F16 ? halvesOf(f, d) : d);
    }
  auto results = elementsOf(f, ops[0]);
  const unsigned units = sum.unitsPerTile(), words = sum.wordsPerUnit();
  for (unsigned k = 0; k < results.size(); ++k)
    if (!results[k].is(OperandKind::Sink))
      f.copy(f.dest(results[k]), Value::of(ori::component(sums[k / units], k % units * words, words)));
  f.endUnguarded(join);
}

} // namespace orias::ptx
