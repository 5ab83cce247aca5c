#include "test/differential/generator/function_writer.h"
#include "test/differential/generator/layout.h"

// Tensor memory. A thread stores to and loads from the lanes of its warp. One thread starts the operations of the
// block's unit (products, copies, shifts) between barriers, and all wait for them. There is at most one warp for each
// 32 lanes. Shared memory has matrices of halves whose sums are exact: 1 to 2 with three fraction bits; as bytes they
// have any value. A product of bytes adds to any value, a product of halves only to a product of halves.

namespace orias::generator {

namespace {

constexpr unsigned kHalfLanes = 16 << 16; ///< the upper half of a warp's lanes, in an address

struct Shape {
  const char* name;
  unsigned registers, columns; ///< of one repetition
};
constexpr Shape kShapes[] = {{"32x32b", 1, 1},  {"32x32b", 1, 1},  {"16x64b", 1, 2},
                             {"16x128b", 2, 4}, {"16x256b", 4, 8}, {"16x32bx2", 1, 1}};

} // namespace

/// Stores, loads or both, in any shape.
void FunctionWriter::tensorAccess() {
  const bool stores = random_.percent(50), loads = !stores || random_.percent(50);
  for (const bool isStore : {true, false}) {
    if (isStore ? !stores : !loads) continue;
    const Shape& shape = random_.pick(kShapes);
    const bool isSplit = std::string_view(shape.name) == "16x32bx2",
               hasAllLanes = shape.columns == shape.registers && !isSplit;
    const unsigned repetitions = 1u << random_.below(shape.registers == 4 ? 2 : shape.registers == 2 ? 3 : 4);
    // A load may use halves of words. The manual does not specify the remaining bits after a store of halves.
    const bool areHalves = !isStore && random_.percent(20);
    const unsigned count = shape.registers * repetitions, width = shape.columns * repetitions * (areHalves ? 2 : 1);
    const unsigned column = random_.below(kTensorColumns - width + 1);
    std::string address = fresh(Kind::B32), registers, half;
    emit("add.u32 {}, %tlanes, {:#x}", address, column + (hasAllLanes || random_.percent(50) ? 0 : kHalfLanes));
    if (isSplit) half = fmt::format(", {}", random_.below(kTensorColumns - width - column + 1));
    std::vector<std::string> names;
    for (unsigned i = 0; i < count; ++i) {
      names.push_back(isStore ? readRegister(Kind::B32) : fresh(Kind::B32));
      registers += (i == 0 ? "" : ", ") + names.back();
    }
    if (isStore) {
      emit("tcgen05.st.sync.aligned.{}.x{}.b32 [{}]{}, {{{}}}", shape.name, repetitions, address, half, registers);
      emit("tcgen05.wait::st.sync.aligned");
      continue;
    }
    emit("tcgen05.ld.sync.aligned.{}.x{}{}.b32 {{{}}}, [{}]{}", shape.name, repetitions, areHalves ? ".pack::16b" : "",
         registers, address, half);
    emit("tcgen05.wait::ld.sync.aligned");
    for (const std::string& name : names)
      addValue(Kind::B32, name, false);
  }
}

/// A descriptor of a matrix in shared memory with `rows` rows of 32 bytes, in groups of eight. It starts at a multiple
/// of eight rows.
std::string FunctionWriter::matrixDescriptor(unsigned rows) {
  constexpr unsigned kRowBytes = 32, kGroupBytes = 8 * kRowBytes;
  std::string low = fresh(Kind::B32), all = fresh(Kind::B64);
  emit("mov.u32 {}, tmx{}", low, module_.suffix);
  emit("add.u32 {}, {}, {}", low, low,
       random_.below((kMatrixBytes - rows * kRowBytes) / kGroupBytes + 1) * kGroupBytes);
  emit("shr.u32 {}, {}, 4", low, low);
  emit("or.b32 {}, {}, 0x80000", low, low);
  emit("mov.b64 {}, {{{}, 0x4010}}", all, low);
  return all;
}

void FunctionWriter::tensorProduct(bool isFirst, bool ofBytes) {
  constexpr unsigned kRows = 128, kSumColumns = 64;
  const bool isStationary = ofBytes && random_.percent(25);
  const unsigned columns = isStationary ? 64 : 16u << random_.below(3);
  const unsigned shape = (ofBytes ? 2u << 4 | random_.below(2) << 7 | random_.below(2) << 10 : 1u << 4) |
                         columns / 8 << 17 | kRows / 16 << 24;
  std::string a = "%tmem", adds = fresh(Kind::Pred), sum = fresh(Kind::B32), more;
  const bool isInTensor = ofBytes && random_.percent(40);
  if (isInTensor) {
    a = fresh(Kind::B32);
    emit("add.u32 {}, %tmem, {}", a, random_.below(kTensorColumns / 2 - 8));
    a = "[" + a + "]";
  } else {
    a = matrixDescriptor(kRows);
  }
  const std::string b = matrixDescriptor(columns + (isStationary ? 8 : 0)); // a mask may shift columns
  // A product of halves replaces the old sum, and the next product of halves adds to it.
  emit("setp.{}.u32 {}, {}, 0", ofBytes ? "ne" : isFirst ? "lt" : "ge", adds, ofBytes ? read(Kind::B32) : "%ltid");
  emit("add.u32 {}, %tmem, {}", sum,
       kTensorColumns / 2 + (ofBytes ? random_.below(kSumColumns / columns) * columns : 0));
  if (isStationary) {
    // Columns that count as zeros: a start in the first span, two spans. It is a literal, because for a mask in a
    // register ptxas 13.0 uses the low half twice.
    if (random_.percent(40)) {
      const std::uint64_t zeros = 1 + random_.below(12), used = 1 + random_.below(12),
                          startsWithZeros = random_.below(2);
      const std::string mask = fresh(Kind::B64);
      emit("mov.b64 {}, {:#x}", mask,
           random_.below(startsWithZeros ? zeros : used) | startsWithZeros << 32 | std::uint64_t{1} << 39 |
               (zeros - 1) << 40 | (used - 1) << 48 | std::uint64_t{random_.below(9)} << 56);
      more = ", " + mask;
    }
    emit("tcgen05.mma.ws.cta_group::1.kind::i8 [{}], {}, {}, {:#x}, {}{}", sum, a, b, shape, adds, more);
    return;
  }
  if (random_.percent(25)) {
    more = " {" + readRegister(Kind::B32);
    for (unsigned i = 1; i < kRows / 32; ++i)
      more += ", " + readRegister(Kind::B32);
    more += "},";
  }
  emit("tcgen05.mma.cta_group::1.kind::{} [{}], {}, {}, {:#x},{} {}", ofBytes ? "i8" : "f16", sum, a, b, shape, more,
       adds);
}

void FunctionWriter::tensorCopy() {
  constexpr std::pair<const char*, unsigned> kCopies[] = {
      {"128x256b", 8},      {"128x128b", 4}, {"4x256b", 8}, {"64x128b.warpx2::02_13", 4}, {"64x128b.warpx2::01_23", 4},
      {"32x128b.warpx4", 4}};
  const auto [name, columns] = random_.pick(kCopies);
  std::string address = fresh(Kind::B32);
  emit("add.u32 {}, %tmem, {}", address, random_.below(kTensorColumns / 2 - columns + 1));
  const std::string from = matrixDescriptor(128);
  emit("tcgen05.cp.cta_group::1.{} [{}], {}", name, address, from);
}

void FunctionWriter::tensorShift() {
  std::string address = fresh(Kind::B32);
  emit("add.u32 {}, %tmem, {}", address, random_.below(kTensorColumns - 7));
  emit("tcgen05.shift.cta_group::1.down [{}]", address);
}

/// Each thread changes matrices, one starts the unit, and all wait for it. A statement only contains operations that
/// are ordered according to the PTX manual: a copy or shift, products, a shift.
void FunctionWriter::tensorUnit() {
  for (unsigned i = random_.below(3); i != 0; --i) {
    std::string word = fresh(Kind::B32), place = fresh(Kind::B32);
    emit("and.b32 {}, {}, {:#x}", word, readRegister(Kind::B32), kMatrixBits);
    emit("or.b32 {}, {}, {:#x}", word, word, kMatrixOnes);
    emit("mov.u32 {}, tmx{}", place, module_.suffix);
    emit("mad.lo.u32 {}, %ltid, 16, {}", place, place);
    emit("st.shared.b32 [{}+{}], {}", place, random_.below(4) * 4 + random_.below(kMatrixBytes / 2048) * 2048, word);
  }
  emit("fence.proxy.async");
  emit("tcgen05.fence::before_thread_sync");
  emit("bar.sync 0");
  emit("tcgen05.fence::after_thread_sync");
  std::string asks = fresh(Kind::Pred), isDone = fresh(Kind::Pred);
  const std::string others = newLabel(), wait = newLabel();
  emit("setp.ne.u32 {}, %ltid, {}", asks, random_.percent(60) ? 0 : random_.below(module_.threads));
  emit("@{} bra {}", asks, others);
  const unsigned before = random_.below(3), products = random_.below(before == 0 ? 2 : 3) + (before == 0 ? 1 : 0);
  if (before == 1) tensorCopy();
  if (before == 2) tensorShift();
  const bool ofBytes = random_.percent(60);
  for (unsigned i = 0; i < products; ++i)
    tensorProduct(i == 0, ofBytes);
  if (products != 0 && random_.percent(25)) tensorShift();
  emit("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [tbar{}]", module_.suffix);
  label(others);
  label(wait);
  emit("mbarrier.try_wait.parity.shared.b64 {}, [tbar{}], {}", isDone, module_.suffix, module_.tensorCommits++ % 2);
  emit("@!{} bra {}", isDone, wait);
  emit("tcgen05.fence::after_thread_sync");
}

/// Allocates and fills tensor memory and the matrices.
std::string FunctionWriter::tensorAllocation() const {
  if (!profile_.hasTensorMemory()) return "";
  return fmt::format(
      "  .shared .align 1024 .b8 tmx{0}[{1}];\n  .shared .align 8 .b64 tbar{0};\n  .shared .align 4 .b32 tslot{0};\n"
      "  .reg .b32 %tmem, %tlanes, %tat, %tw;\n  .reg .pred %tmore;\n"
      "  setp.gt.u32 %tmore, %ltid, 31;\n  @%tmore bra TENSOR;\n"
      "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tslot{0}], {2};\nTENSOR:\n"
      "  setp.ne.u32 %tmore, %ltid, 0;\n  @%tmore bra MATRIX;\n  mbarrier.init.shared.b64 [tbar{0}], 1;\nMATRIX:\n"
      "  mov.u32 %tat, tmx{0};\n  mad.lo.u32 %tat, %ltid, 4, %tat;\n  mov.u32 %t, 0;\nWORD:\n"
      "  mad.lo.u32 %tw, %t, 0x9e3779b1, %gtid;\n  mul.lo.u32 %tw, %tw, 0x85ebca6b;\n"
      "  and.b32 %tw, %tw, {3:#x};\n  or.b32 %tw, %tw, {4:#x};\n  st.shared.b32 [%tat], %tw;\n"
      "  add.u32 %tat, %tat, {5};\n  add.u32 %t, %t, {5};\n  setp.lt.u32 %tmore, %t, {1};\n  @%tmore bra WORD;\n"
      "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n"
      "  ld.shared.b32 %tmem, [tslot{0}];\n  shr.u32 %tlanes, %ltid, 5;\n  shl.b32 %tlanes, %tlanes, 21;\n"
      "  add.u32 %tlanes, %tlanes, %tmem;\n  mov.u32 %t, 0;\nCOLUMN:\n  add.u32 %tat, %tlanes, %t;\n"
      "  mad.lo.u32 %tw, %gtid, 0x9e3779b1, %t;\n"
      "  tcgen05.st.sync.aligned.32x32b.x4.b32 [%tat], {{%tw, %gtid, %t, %tat}};\n"
      "  add.u32 %t, %t, 4;\n  setp.lt.u32 %tmore, %t, {2};\n  @%tmore bra COLUMN;\n"
      "  tcgen05.wait::st.sync.aligned;\n",
      module_.suffix, kMatrixBytes, kTensorColumns, kMatrixBits, kMatrixOnes, module_.threads * 4);
}

void FunctionWriter::tensorRelease() {
  const std::string others = newLabel();
  std::string isOther = fresh(Kind::Pred);
  emit("tcgen05.fence::before_thread_sync");
  emit("bar.sync 0");
  emit("setp.gt.u32 {}, %ltid, 31", isOther);
  emit("@{} bra {}", isOther, others);
  emit("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, {}", kTensorColumns);
  label(others);
}

} // namespace orias::generator
