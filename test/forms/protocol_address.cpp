#include "test/forms/protocols.h"
#include "test/forms/values.h"

// Statements that compute addresses. The addresses are used rather than shown, because they differ between engines.
// Also matrices in shared memory by a generic address.

namespace orias::forms {

using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::StateSpace;

namespace {

constexpr unsigned kRowBytes = 16;

/// Maps an address to the other block, which then finds the written value there; getctarank returns the owner.
void writeMapa(KernelWriter& w) {
  const bool isGeneric = w.form().space() != StateSpace::Shared, isWide = w.form().type() == ptx::Type::U64;
  w.runInClusters();
  w.shared("data", w.block * 4);
  w.setSource("a", 0);
  w.setSource("b", [&](unsigned lane) { return lane < w.block ? 1 : 0; });
  w.sources();
  const std::string from = w.use(Role::Source, 0).name, d = w.use(Role::Result, 0).name;
  w.put("  mov.b32 %w0, data;\n  mad.lo.u32 %w0, %lane, 4, %w0;\n  mov.b32 %w1, %w0;\n");
  if (w.form().op == Op::Getctarank) { // half of the lanes use an address in the other block
    w.putOther("%w2");
    w.put(
        "  mapa.shared::cluster.u32 %w2, %w0, %w2;\n  setp.lt.u32 %ok0, %lane, 32;\n  selp.b32 %w1, %w2, %w1, %ok0;\n");
  }
  if (isWide)
    w.put("  cvt.u64.u32 {0}, %w1;\n{1}", from,
          isGeneric ? fmt::format("  cvta.shared.u64 {0}, {0};\n", from) : std::string());
  else
    w.put("  mov.b32 {}, %w1;\n", from);
  w.putStatement();
  if (w.form().op == Op::Getctarank) {
    w.see(w.use(Role::Result, 0));
    return;
  }
  // Without a space a 32-bit address is not generic.
  w.put("  st{}.u32 [{}], %index;\n", isGeneric && isWide ? "" : ".shared::cluster", d);
  w.meet();
  w.put("  ld.shared.u32 %w1, [%w0];\n");
  w.see("%w1");
}

/// Converts to and from the window of constants.
void writeConstantWindow(KernelWriter& w) {
  std::string table = ".const .align 16 .b32 table[64] = {0";
  for (unsigned i = 1; i < 64; ++i)
    table += fmt::format(", {}", i * 37 + 11);
  w.outside(table + "};\n");
  w.setSource("a", 0);
  w.sources();
  const std::string from = w.use(Role::Source, 0).name, d = w.use(Role::Result, 0).name;
  w.put("  mov.u64 {0}, table;\n  mul.wide.u32 %x0, %lane, 4;\n  add.u64 {0}, {0}, %x0;\n", from);
  const bool leaves = !w.form().has(Mod::To);
  if (!leaves) w.put("  cvta.const.u64 {0}, {0};\n", from);
  w.putStatement();
  w.put("  ld{}.u32 %w1, [{}];\n", leaves ? "" : ".const", d);
  w.see("%w1");
}

void writeMatrix(KernelWriter& w) {
  w.shared("data", w.block * kRowBytes);
  w.fillShared("data", "before", memoryValues(w.statement(), std::size_t{kRowBytes} * w.lanes(), w.seed() + 2000),
               kRowBytes);
  w.put("  bar.sync 0;\n");
  w.placeShared(0, "data", kRowBytes);
  w.sources();
  w.putStatement();
  w.results();
  w.put("  bar.sync 0;\n");
  w.seeShared("data", kRowBytes);
}

} // namespace

bool writeAddress(KernelWriter& w) {
  switch (w.form().op) {
  case Op::Mapa:
  case Op::Getctarank: writeMapa(w); return true;
  case Op::Cvta:
    if (w.form().get(Slot::Space) != Mod::Const || w.form().type() != ptx::Type::U64) return false;
    writeConstantWindow(w);
    return true;
  case Op::Ldmatrix:
  case Op::Stmatrix: writeMatrix(w); return true;
  default: return false;
  }
}

} // namespace orias::forms
