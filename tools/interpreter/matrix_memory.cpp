#include "tools/interpreter/access.h"
#include "tools/interpreter/fragment.h"

// Loads and stores of matrices: ldmatrix, stmatrix, wmma.load, wmma.store; and movmatrix, which transposes.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::Type;

void meetAll(Thread& t, const Inst& i) {
  meetLanes(t, i, ~0u);
}

void needAll(Lanes lanes) {
  for (const Thread* t : lanes)
    if (!t) throw Stop{"unsupported", "a matrix instruction with inactive lanes"};
}

// ---- 8x8 matrices of 16 bits: lane l holds elements 2 (l % 4) and the next of row l / 4. imm: offset of the address;
// width: number of matrices; option: the space and kTransposed.

constexpr std::uint16_t kTransposed = 0x100;

struct Small {
  std::uint16_t at[8][8];
};

std::uint32_t pairOf(const Small& m, unsigned lane, bool isTransposed) {
  const unsigned row = lane / 4, column = lane % 4 * 2;
  const auto element = [&](unsigned c) -> std::uint32_t { return isTransposed ? m.at[c][row] : m.at[row][c]; };
  return element(column) | element(column + 1) << 16;
}

void setPair(Small& m, unsigned lane, bool isTransposed, std::uint32_t pair) {
  const unsigned row = lane / 4, column = lane % 4 * 2;
  for (unsigned k = 0; k < 2; ++k)
    (isTransposed ? m.at[column + k][row] : m.at[row][column + k]) = static_cast<std::uint16_t>(pair >> (16 * k));
}

std::uint64_t addressIn(const Thread& t) {
  return t.r[t.inst->a] + static_cast<std::uint64_t>(t.inst->imm);
}

/// Lane 8 m + r gives the address of row r of matrix m.
void loadSmall(Lanes lanes) {
  needAll(lanes);
  const Inst& first = *lanes[0]->inst;
  // All rows are read before the first result is written, because a result may overwrite the address register.
  Small matrices[4];
  for (unsigned row = 0; row < 8u * first.width; ++row) {
    Thread& t = *lanes[row];
    load(t, static_cast<Space>(first.option & 0xff), addressIn(t),
         std::as_writable_bytes(std::span(matrices[row / 8].at[row % 8])));
  }
  for (unsigned m = 0; m < first.width; ++m)
    for (Thread* t : lanes)
      t->r[t->inst->list[m]] = pairOf(matrices[m], t->lane, (first.option & kTransposed) != 0);
}

void storeSmall(Lanes lanes) {
  needAll(lanes);
  const Inst& first = *lanes[0]->inst;
  for (unsigned m = 0; m < first.width; ++m) {
    Small matrix;
    for (const Thread* t : lanes)
      setPair(matrix, t->lane, (first.option & kTransposed) != 0, get<std::uint32_t>(*t, t->inst->list[m]));
    for (unsigned r = 0; r < 8; ++r) {
      Thread& t = *lanes[8 * m + r];
      store(t, static_cast<Space>(first.option & 0xff), addressIn(t), std::as_bytes(std::span(matrix.at[r])));
    }
  }
}

void transposeSmall(Lanes lanes) {
  needAll(lanes);
  Small matrix;
  for (const Thread* t : lanes)
    setPair(matrix, t->lane, false, get<std::uint32_t>(*t, t->inst->a));
  for (Thread* t : lanes)
    t->r[t->inst->d] = pairOf(matrix, t->lane, true);
}

// ---- Matrices of bytes. A row is 16 bytes; lane n gives the address of row n. Without .trans, lane l holds four
// neighbors of row l / 4. With .trans, register k of lane l has columns l / 4 and l / 4 + 8 of two rows: rows
// 4 (l % 4) + 2 (k % 2) and the next for ldmatrix, 2 (l % 4) and the next of eight for stmatrix. Source: CUTLASS'
// traits of these instructions. width: registers; option: the space, kTransposed; imm: the offset; b: bits of a number
// in memory

struct Bytes {
  std::array<std::array<std::uint8_t, 16>, 32> row{};
};

void loadBytes(Lanes lanes) {
  needAll(lanes);
  const Inst& first = *lanes[0]->inst;
  const unsigned bits = first.b;
  Bytes bytes;
  for (unsigned row = 0; row < 8u * first.width; ++row) {
    Thread& t = *lanes[row];
    std::array<std::uint8_t, 16> packed{};
    load(t, static_cast<Space>(first.option & 0xff), addressIn(t), std::as_writable_bytes(std::span(packed)));
    for (unsigned k = 0; k < packed.size(); ++k)
      for (unsigned bit = 0; bit < bits; ++bit) {
        const unsigned at = k * bits + bit;
        bytes.row[row][k] |= static_cast<std::uint8_t>((packed[at / 8] >> at % 8 & 1) << bit);
      }
  }
  const bool isTransposed = (first.option & kTransposed) != 0;
  for (Thread* t : lanes)
    for (unsigned k = 0; k < first.width; ++k) {
      std::uint32_t value = 0;
      for (unsigned n = 0; n < 4; ++n) {
        const unsigned row =
            isTransposed ? 16 * (k / 2) + 4 * (t->lane % 4) + 2 * (k % 2) + n % 2 : 8 * k + t->lane / 4;
        const unsigned column = isTransposed ? t->lane / 4 + 8 * (n / 2) : 4 * (t->lane % 4) + n;
        value |= std::uint32_t{bytes.row[row][column]} << 8 * n;
      }
      t->r[t->inst->list[k]] = value;
    }
}

void storeBytes(Lanes lanes) {
  needAll(lanes);
  const Inst& first = *lanes[0]->inst;
  Bytes bytes;
  for (const Thread* t : lanes)
    for (unsigned k = 0; k < first.width; ++k)
      for (unsigned n = 0; n < 4; ++n)
        bytes.row[8 * k + 2 * (t->lane % 4) + n % 2][t->lane / 4 + 8 * (n / 2)] =
            static_cast<std::uint8_t>(t->r[t->inst->list[k]] >> 8 * n);
  for (unsigned row = 0; row < 8u * first.width; ++row)
    store(*lanes[row], static_cast<Space>(first.option & 0xff), addressIn(*lanes[row]),
          std::as_bytes(std::span(bytes.row[row])));
}

bool translateSmall(FunctionTranslator& t, bool isLoad) {
  const Form& f = t.form();
  const bool areBytes = f.shape != ptx::MatrixShape{8, 8, 0};
  const Address at = t.address(isLoad ? 1 : 0, f.space());
  const auto words = isLoad ? t.defs(0, Type::B32) : t.uses(1, Type::B32);
  Inst& inst = t.emit(&meetAll);
  inst.group = areBytes ? (isLoad ? &loadBytes : &storeBytes) : isLoad ? &loadSmall : &storeSmall;
  inst.b = f.has(Mod::B4x16P64) ? 4 : f.has(Mod::B6x16P32) ? 6 : 8;
  inst.a = at.slot;
  inst.imm = at.offset;
  inst.option = static_cast<std::uint16_t>(static_cast<unsigned>(at.space) | (f.has(Mod::Trans) ? kTransposed : 0));
  inst.width = static_cast<std::uint8_t>(words.size());
  inst.list = words;
  return true;
}

// ---- wmma.load, wmma.store. a: the address; b: elements from one row (column) to the next; option: the space

/// Inst::detail.
struct Transfer {
  Fragment fragment;
  bool byRows = true;
};

/// Calls visit(fragment, value, address of the element, first bit in its byte) for each value of a lane.
template <typename F> void forValues(const Thread& t, F visit) {
  const auto& transfer = *static_cast<const Transfer*>(t.inst->detail);
  const Fragment& f = transfer.fragment;
  const std::uint64_t stride = get<std::uint32_t>(t, t.inst->b);
  for (unsigned v = 0; v < f.values(); ++v) {
    const unsigned element = f.element(t.lane, v), row = element / f.columns(), column = element % f.columns();
    const std::uint64_t bit = (transfer.byRows ? row * stride + column : column * stride + row) * f.bits();
    visit(f, v, addressIn(t) + bit / 8, static_cast<unsigned>(bit % 8));
  }
}

void loadFragment(Thread& t) {
  forValues(t, [&](const Fragment& f, unsigned value, std::uint64_t address, unsigned firstBit) {
    std::uint64_t bits = 0;
    const unsigned bytes = std::max(1u, f.bits() / 8);
    load(t, static_cast<Space>(t.inst->option), address, std::as_writable_bytes(std::span(&bits, 1)).first(bytes));
    f.put(t, value, bits >> firstBit);
  });
}

void storeFragment(Thread& t) {
  forValues(t, [&](const Fragment& f, unsigned value, std::uint64_t address, unsigned) {
    const std::uint64_t bits = f.get(t, value);
    store(t, static_cast<Space>(t.inst->option), address, std::as_bytes(std::span(&bits, 1)).first(f.bits() / 8));
  });
}

template <void Transfer(Thread&)> void forAll(Lanes lanes) {
  needAll(lanes);
  for (Thread* t : lanes)
    Transfer(*t);
}

bool translateTransfer(FunctionTranslator& t, bool isLoad) {
  const Form& f = t.form();
  const Part part = f.get(Slot::Part) == Mod::A ? Part::A : f.get(Slot::Part) == Mod::B ? Part::B : Part::C;
  const Address at = t.address(isLoad ? 1 : 0, f.space());
  Transfer transfer;
  transfer.fragment = fragmentOperand(t, isLoad ? 0 : 1, part, f.type(), isLoad);
  transfer.byRows = f.get(Slot::Layout) == Mod::Row;
  const unsigned width = transfer.byRows ? transfer.fragment.columns() : transfer.fragment.rows();
  const std::uint32_t stride = t.operandCount() > 2 ? t.use(2, Type::U32) : t.constant(width);
  Inst& inst = t.emit(&meetAll);
  inst.group = isLoad ? &forAll<loadFragment> : &forAll<storeFragment>;
  inst.a = at.slot;
  inst.imm = at.offset;
  inst.b = stride;
  inst.option = static_cast<std::uint16_t>(at.space);
  inst.detail = t.keep(std::move(transfer));
  return true;
}

} // namespace

bool translateMatrixMemory(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::Ldmatrix: return translateSmall(t, true);
  case Op::Stmatrix: return translateSmall(t, false);
  case Op::WmmaLoad: return translateTransfer(t, true);
  case Op::WmmaStore: return translateTransfer(t, false);
  case Op::Movmatrix: {
    const std::uint32_t a = t.use(1, Type::B32);
    Inst& inst = t.emit(&meetAll);
    inst.group = &transposeSmall;
    inst.d = t.def(0);
    inst.a = a;
    return true;
  }
  default: return false;
  }
}

} // namespace orias::interp
