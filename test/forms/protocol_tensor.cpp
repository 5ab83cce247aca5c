#include "test/forms/protocols.h"
#include "test/forms/values.h"
#include "tools/launch/tensor_map.h"

#include <algorithm>

// Copies of boxes of tensors, and changes of a tensor's map. A map is in a buffer. One lane copies; each block copies a
// different box, at coordinates inside and outside of the tensor.

namespace orias::forms {

using launch::ElementType;
using launch::TensorMap;
using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::StateSpace;

namespace {

constexpr unsigned kBlocks = 6, kThreads = 32, kBoxBytes = 2048, kTensorBytes = 196608;

using Mode = TensorMap::Mode;

Mode modeOf(const ptx::Form& form) {
  switch (form.get(Slot::LoadMode)) {
  case Mod::TileGather4:
  case Mod::TileScatter4: return Mode::FourRows;
  case Mod::Im2col:
  case Mod::Im2colNoOffs: return Mode::Image;
  case Mod::Im2colW: return Mode::Width;
  case Mod::Im2colW128: return Mode::Width128;
  default: return Mode::Box;
  }
}
bool isAlongWidth(const ptx::Form& form) {
  return modeOf(form) == Mode::Width || modeOf(form) == Mode::Width128;
}
bool namesFourRows(const ptx::Form& form) {
  return modeOf(form) == Mode::FourRows;
}
unsigned coordinatesOf(const ptx::Form& form, unsigned rank) {
  return namesFourRows(form) ? 5 : rank;
}

/// A tensor with as many dimensions as the statement has coordinates. The maps of the blocks differ in swizzle, type
/// and fill.
TensorMap mapOf(const ptx::Form& form, unsigned rank, unsigned number) {
  using Type = TensorMap::Type;
  constexpr std::array kTypes{Type::U32, Type::F16, Type::TF32, Type::F32Ftz, Type::U16, Type::S32};
  constexpr std::array kReduced{Type::U32, Type::S32, Type::U64, Type::S64, Type::U32, Type::S32};
  const Mod action = form.op == Op::CpReduceAsyncBulkTensor ? form.action() : Mod::None;
  const bool isCounter = action == Mod::Inc || action == Mod::Dec;
  TensorMap map;
  map.rank = rank;
  // If another type replaces tf32, ptxas' code leaves a bit set.
  const bool isReplaced = form.op == Op::TensormapReplace;
  map.type = isCounter                                                                    ? Type::U32
             : (action == Mod::None && !isReplaced) || (action == Mod::Add && number < 2) ? kTypes[number]
                                                                                          : kReduced[number];
  map.size = {40, 7, 5, 4, 3};
  std::uint64_t bytes = 48 * map.elementBytes();
  for (unsigned d = 0; d + 1 < TensorMap::kMaxDimensions; ++d) {
    map.stride[d] = bytes;
    bytes *= map.size[d + 1];
  }
  map.box = {16, 4, 2, 2, 1};
  if (rank > 1) map.elementStride[1] = 1 + number % 2;
  map.swizzle = isAlongWidth(form) ? 2 + number % 2 : number % 4;
  // A row of the box is not longer than the pattern.
  if (map.swizzle == 1) map.box[0] = 32 / map.elementBytes();
  map.fillsNan = number >= 3;
  if (namesFourRows(form)) map.box[1] = map.elementStride[1] = 1;
  if (modeOf(form) != Mode::Box && !namesFourRows(form)) {
    map.mode = modeOf(form);
    map.box[0] = 1;
    map.lower = {-1, 0, -1};
    map.upper = {0, -1, 1};
    map.channels = map.swizzle == 1 ? 32 / map.elementBytes() : 16;
    map.pixels = 9;
    if (map.mode == Mode::Width128) map.channels = 16 / map.elementBytes(); // 128 pixels fill the buffer
  }
  return map;
}

/// Adds the maps of the blocks, and the tensor that they describe; the block's map is at %x0.
void putMaps(KernelWriter& w, unsigned rank) {
  w.block = kThreads;
  w.grid = kBlocks;
  w.wholeBuffer("%x1", "tensor", reducedValues(ptx::Type::F32, kTensorBytes, w.seed() + 2000));
  std::vector<std::byte> maps;
  for (unsigned number = 0; number < kBlocks; ++number) {
    const auto bytes = mapOf(w.form(), rank, number).encode();
    maps.insert(maps.end(), bytes.begin(), bytes.end());
  }
  w.wholeBuffer("%x0", "maps", std::move(maps));
  for (unsigned number = 0; number < kBlocks; ++number)
    w.launch().buffers.back().pointers.push_back({number * TensorMap::kBytes, 0, 0});
  w.put("  mov.u32 %w0, %ctaid.x;\n  mad.wide.u32 %x0, %w0, {}, %x0;\n", TensorMap::kBytes);
}

/// Computes the number of bytes of the block's copy in %w5.
void putBytes(KernelWriter& w, unsigned rank) {
  // In clusters the other block copies.
  w.put("  mov.u32 %w0, %ctaid.x;\n{}  mov.u32 %w5, 0;\n", w.runsInClusters() ? "  xor.b32 %w0, %w0, 1;\n" : "");
  for (unsigned number = 0; number < kBlocks; ++number) {
    const TensorMap map = mapOf(w.form(), rank, number);
    const std::vector<std::int64_t> origin(coordinatesOf(w.form(), rank));
    w.put("  setp.eq.u32 %ok0, %w0, {};\n  selp.b32 %w5, {}, %w5, %ok0;\n", number,
          map.elements(modeOf(w.form()), origin, {}, 0).size() * map.elementBytes());
  }
}

unsigned rankOf(const ptx::Form& form) {
  return static_cast<unsigned>(form.get(Slot::Geometry)) - static_cast<unsigned>(Mod::Dim1d) + 1;
}

/// The address registers of the statement: those of the map and of shared memory.
struct Places {
  unsigned map, shared;
};

void writeBox(KernelWriter& w) {
  const unsigned rank = rankOf(w.form());
  const bool prefetches = w.form().op == Op::CpAsyncBulkPrefetchTensor;
  const bool loads = !prefetches && w.form().space() == StateSpace::Shared;
  const Places places = loads ? Places{1, 0} : Places{0, 1};
  putMaps(w, rank);
  // Sources without an operand name are coordinates.
  w.setSource("mask", [](unsigned lane) { return lane / kThreads % 2 == 0 ? 2 : 1; }); // the other block of the cluster
  w.setSource("im2col", [](unsigned lane) { return lane / kThreads % 3; });
  unsigned coordinate = 0;
  w.sources();
  for (const Use& use : w.statement().uses) {
    if (use.role != Role::Source || coordinate == coordinatesOf(w.form(), rank) || use.operand == "policy") continue;
    // Inside, over the far edge, before the near one.
    constexpr int kSteps[] = {0, 8, -4, 16, 32, 4};
    w.put("  mov.u32 %w0, %ctaid.x;\n  mov.s32 {}, 0;\n", use.name);
    for (unsigned number = 0; number < kBlocks; ++number)
      w.put("  setp.eq.u32 %ok0, %w0, {};\n  selp.s32 {}, {}, {}, %ok0;\n", number, use.name,
            coordinate == 0 ? kSteps[number] : kSteps[(number + coordinate) % kBlocks] / 4, use.name);
    ++coordinate;
  }
  if (isAlongWidth(w.form())) { // wHalo stays 0: the pixels that it adds are not public
    const auto halo = std::ranges::find(w.statement().uses, "im2col", &Use::operand);
    w.put("  mov.b16 {}, 0;\n", halo->name);
  }
  w.put("  mov.b64 {}, %x0;\n", w.use(Role::Address, places.map).name);
  w.declare(fmt::format("  .shared .align 1024 .b8 box[{}];\n  .shared .align 8 .b64 bar;\n", kBoxBytes));
  w.fillShared("box", "before", reducedValues(ptx::Type::F32, std::size_t{kBoxBytes} * kBlocks, w.seed() + 3000),
               kBoxBytes / kThreads);
  if (!prefetches) w.put("  mov.b32 {}, box;\n", w.use(Role::Address, places.shared).name);
  w.put("  bar.sync 0;\n  mov.b32 %w4, bar;\n  setp.eq.u32 %ok1, %lane, 0;\n");
  if (loads) w.put("  mov.b32 {}, bar;\n", w.use(Role::Address, 2).name);
  putBytes(w, rank);
  w.put("  @!%ok1 bra READY;\n  mbarrier.init.shared.b64 [%w4], 1;\n  fence.proxy.async;\n");
  if (loads) w.put("  mbarrier.arrive.expect_tx.shared.b64 %x2, [%w4], %w5;\n");
  w.put("READY:\n");
  if (w.runsInClusters()) {
    w.putOther("%w6");
    for (const unsigned k : {places.shared, 2u})
      w.put("  mapa.shared::cluster.u32 {0}, {0}, %w6;\n", w.use(Role::Address, k).name);
    w.meet();
  }
  w.put("  @!%ok1 bra DONE;\n  {}\n", w.statement().text);
  if (loads)
    w.put("WAIT:\n  mbarrier.test_wait.parity.shared.b64 %ok0, [%w4], 0;\n  @!%ok0 bra WAIT;\n");
  else if (!prefetches)
    w.put("  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n");
  w.put("DONE:\n  bar.sync 0;\n");
  w.seeShared("box", kBoxBytes / kThreads);
}

/// Changes a field of the map, copies a box with it, and shows the map.
void writeReplace(KernelWriter& w) {
  const Mod field = w.form().get(Slot::Field);
  putMaps(w, 2);
  w.declare(fmt::format("  .shared .align 128 .b8 map[{}];\n", TensorMap::kBytes));
  w.put("  mul.wide.u32 %half0, %lane, 4;\n  add.u64 %at, %x0, %half0;\n  ld.global.b32 %w0, [%at];\n"
        "  mov.b32 %w1, map;\n  mad.lo.u32 %w1, %lane, 4, %w1;\n  st.shared.b32 [%w1], %w0;\n  bar.sync 0;\n");
  w.setSource("value", [field](unsigned lane) -> std::uint64_t {
    const unsigned block = lane / kThreads;
    switch (field) {
    case Mod::GlobalAddress: return 0x7f0000001230 + block * 16;
    case Mod::GlobalStride: return (std::uint64_t{block} << 34) + 96 + 16 * block;
    case Mod::Rank: return block % 5;
    case Mod::ElementStride: return 1 + block % 8;
    default: return 1 + block * 17;
    }
  });
  w.sources();
  const Use& address = w.use(Role::Address, 0);
  const bool isShared = address.space == StateSpace::Shared;
  if (isShared)
    w.put("  mov.b32 {}, map;\n", address.name);
  else
    w.put("  mov.b64 {}, %x0;\n", address.name);
  w.put("  setp.eq.u32 %ok1, %lane, 0;\n  @!%ok1 bra DONE;\n");
  w.putStatement();
  // Literals: each value of the field.
  const std::string& text = w.statement().text;
  if (text.ends_with(", 0;")) {
    const unsigned most = field == Mod::Elemtype           ? 12
                          : field == Mod::SwizzleMode      ? 3
                          : field == Mod::InterleaveLayout ? 2
                                                           : 1;
    constexpr unsigned kKind = 8; // the word of all such fields
    for (unsigned number = 1; number <= most; ++number) {
      w.put("  {}, {};\n  ld{}.u32 %w0, [{}+{}];\n", text.substr(0, text.size() - 4), number, isShared ? ".shared" : "",
            address.name, kKind);
      w.see("%w0");
    }
  }
  // The tensor's address, which differs between runs.
  const bool isAddressKnown = isShared && field == Mod::GlobalAddress;
  w.put("DONE:\n{}  bar.sync 0;\n", isAddressKnown ? "" : "  mov.b32 %w1, map;\n  @%ok1 st.shared.b64 [%w1], 0;\n");
  w.seeShared("map", TensorMap::kBytes / kThreads);
}

/// Copies a map from shared to global memory.
void writeMapCopy(KernelWriter& w) {
  w.block = kThreads;
  w.declare(fmt::format("  .shared .align 128 .b8 map[{}];\n", TensorMap::kBytes));
  w.fillShared("map", "before", reducedValues(ptx::Type::U32, TensorMap::kBytes * w.grid, w.seed() + 2000),
               TensorMap::kBytes / kThreads);
  w.buffer("copied", ElementType::U32, {}, TensorMap::kBytes / kThreads);
  w.put("  mul.wide.u32 %half0, %lane, 4;\n  sub.u64 {}, %at, %half0;\n  mov.b32 {}, map;\n",
        w.use(Role::Address, 0).name, w.use(Role::Address, 1).name);
  w.put("  bar.sync 0;\n");
  w.putStatement();
}

} // namespace

bool writeTensor(KernelWriter& w) {
  switch (w.form().op) {
  case Op::CpAsyncBulkTensor:
  case Op::CpReduceAsyncBulkTensor:
  case Op::CpAsyncBulkPrefetchTensor: writeBox(w); return true;
  case Op::TensormapReplace: writeReplace(w); return true;
  case Op::TensormapCpFenceproxy: writeMapCopy(w); return true;
  default: return false;
  }
}

} // namespace orias::forms
