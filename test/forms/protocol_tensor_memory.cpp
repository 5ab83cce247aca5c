#include "test/forms/protocols.h"
#include "test/forms/values.h"

// Tensor memory: a block allocates and fills all of it, the required threads execute the statement, and the first
// columns are shown at the end. All tensor memory addresses of a statement are the same.

namespace orias::forms {

using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::Type;

namespace {

constexpr unsigned kThreads = 128, kMatrixBytes = 8192, kColumns = 512, kSeenColumns = 256, kRows = 128, kN = 64;

/// Two blocks; the even one starts products and copies. All statements of a kernel have the same group.
bool isPair(const KernelWriter& w) {
  return w.form().get(Slot::CtaGroup) == Mod::CtaGroup2;
}
unsigned groupOf(const KernelWriter& w) {
  return isPair(w) ? 2 : 1;
}

bool isSparse(const ptx::Form& form) {
  return form.get(Slot::Sparsity) != Mod::None;
}

Type elementOf(Mod kind) {
  switch (kind) {
  case Mod::KindTf32: return Type::TF32;
  case Mod::KindI8: return Type::U8;
  case Mod::KindF8f6f4:
  case Mod::KindMxf8f6f4: return Type::E4M3;
  default: return Type::F16;
  }
}

/// The instruction descriptor: 128 x 64 for each block, 32-bit sums; elements as in elementOf(), 4-bit ones are e2m1.
std::uint64_t shapeOf(const ptx::Form& form) {
  const unsigned blocks = form.get(Slot::CtaGroup) == Mod::CtaGroup2 ? 2 : 1;
  const std::uint64_t sizes = kN / 8 << 17 | blocks * kRows / 16 << 24 | (isSparse(form) ? 1 << 2 : 0), floats = 1 << 4;
  constexpr std::uint64_t kPowersOfTwo = 1 << 23; // scales
  switch (form.get(Slot::Kind)) {
  case Mod::KindTf32: return sizes | floats | 2 << 7 | 2 << 10;
  case Mod::KindI8: return sizes | 2 << 4;
  case Mod::KindMxf8f6f4: return sizes | kPowersOfTwo;
  case Mod::KindMxf4: return sizes | 1 << 7 | 1 << 10 | kPowersOfTwo;
  case Mod::KindMxf4nvf4: return sizes | 1 << 7 | 1 << 10;
  default: return sizes | floats;
  }
}

/// A zero-column mask descriptor: from the third column of B on, two are zeros, four are used, three are zeros, …
constexpr std::uint64_t kZeroColumns = 1 | std::uint64_t{1} << 32 | std::uint64_t{1} << 39 | std::uint64_t{2} << 40 |
                                       std::uint64_t{3} << 48 | std::uint64_t{2} << 56;

void fillShared(KernelWriter& w) {
  w.shared("data", 2 * kMatrixBytes, 1024);
  w.wholeBuffer("%x0", "matrices",
                matrixValues(elementOf(w.form().get(Slot::Kind)), 2 * kMatrixBytes, w.seed() + 2000));
  w.put("  mul.wide.u32 %half0, %lane, 4;\n  add.u64 %x0, %x0, %half0;\n  mov.b32 %w0, data;\n"
        "  mad.lo.u32 %w0, %lane, 4, %w0;\n  mov.u32 %w1, 0;\nFILL:\n  ld.global.b32 %w2, [%x0];\n"
        "  st.shared.b32 [%w0], %w2;\n  add.u64 %x0, %x0, {0};\n  add.u32 %w0, %w0, {0};\n  add.u32 %w1, %w1, {0};\n"
        "  setp.lt.u32 %ok0, %w1, {1};\n  @%ok0 bra FILL;\n  fence.proxy.async;\n",
        kThreads * 4, 2 * kMatrixBytes);
}

/// Each warp's first thread of the block, or its first warp, alone.
void begin(KernelWriter& w) {
  w.declare("  .reg .b32 %tensor, %mine, %hash, %t<4>;\n  .reg .pred %others, %warps, %more;\n");
  w.shared("slot", 4, 4);
  w.shared("bar", 8, 8);
  w.put("  setp.ne.u32 %others, %lane, 0;\n  setp.gt.u32 %warps, %lane, 31;\n"
        "  @%others bra STARTED;\n  mbarrier.init.shared.b64 [bar], {};\nSTARTED:\n",
        w.runsInClusters() && w.form().op == Op::Tcgen05Commit && w.form().get(Slot::Multicast) != Mod::None ? 2 : 1);
  fillShared(w);
  w.put("  @%warps bra ALLOCATED;\n");
  if (w.form().op == Op::Tcgen05Alloc) {
    w.setSource("n", kColumns);
    w.sources();
    w.placeShared(0, "slot", 0, 0, true);
    w.put("  {}\n", w.statement().text); // by one warp
  } else {
    w.put("  tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32 [slot], {};\n", groupOf(w), kColumns);
  }
  w.put("ALLOCATED:\n  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n"
        "  ld.shared.b32 %tensor, [slot];\n  shr.u32 %mine, %lane, 5;\n  shl.b32 %mine, %mine, 21;\n"
        "  add.u32 %mine, %mine, %tensor;\n  mov.u32 %w1, 0;\n  mov.u32 %w2, %mine;\nCOLUMN:\n");
  w.put("  mad.lo.u32 %w3, %lane, 7, %w1;\n");
  if (isSparse(w.form())) // metadata: selects the first or the last two elements
    w.put("  mul.lo.u32 %w3, %w3, 0x11111111;\n  and.b32 %w3, %w3, 0x11111111;\n  mul.lo.u32 %w3, %w3, 10;\n"
          "  add.u32 %w3, %w3, 0x44444444;\n");
  else if (w.form().op == Op::Tcgen05LdRed) // any values, one in eight a NaN
    w.put("  mul.lo.u32 %w3, %w3, 0x9e3779b1;\n  shr.u32 %w0, %w3, 15;\n  xor.b32 %w3, %w3, %w0;\n"
          "  mul.lo.u32 %w3, %w3, 0x85ebca6b;\n  and.b32 %w0, %w3, 7;\n  setp.eq.u32 %more, %w0, 0;\n"
          "  @%more or.b32 %w3, %w3, 0x7fc00000;\n");
  else // bytes that are small numbers in all formats
    w.put("  and.b32 %w3, %w3, 0x03030303;\n  add.u32 %w3, %w3, 0x3c383a3c;\n");
  w.put("  tcgen05.st.sync.aligned.32x32b.x1.b32 [%w2], {{%w3}};\n  add.u32 %w1, %w1, 1;\n  add.u32 %w2, %w2, 1;\n"
        "  setp.lt.u32 %more, %w1, {};\n  @%more bra COLUMN;\n  tcgen05.wait::st.sync.aligned;\n"
        "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n",
        kSeenColumns);
}

void end(KernelWriter& w) {
  w.put("  mov.u32 %hash, 1;\n  mov.u32 %w1, 0;\n  mov.u32 %w2, %mine;\nSEEN:\n"
        "  tcgen05.ld.sync.aligned.32x32b.x2.b32 {{%t0, %t1}}, [%w2];\n  tcgen05.wait::ld.sync.aligned;\n"
        "  mad.lo.u32 %hash, %hash, 31, %t0;\n  mad.lo.u32 %hash, %hash, 31, %t1;\n  add.u32 %w1, %w1, 2;\n"
        "  add.u32 %w2, %w2, 2;\n  setp.lt.u32 %more, %w1, {};\n  @%more bra SEEN;\n",
        kSeenColumns);
  w.see("%hash");
  w.put("  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  @%warps bra GIVEN;\n");
  if (w.form().op == Op::Tcgen05Dealloc) {
    w.setSource("taddr", 0); // the result of an allocation of everything
    w.setSource("n", kColumns);
    w.sources();
    w.put("  {}\n", w.statement().text);
  } else {
    w.put("  tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %tensor, {};\n", groupOf(w), kColumns);
  }
  w.put("GIVEN:\n");
}

/// Rows of 32 bytes in units of 16: 128 bytes from one unit to the next, 256 from one group of eight rows to the next.
void putDescriptor(KernelWriter& w, std::string_view reg, unsigned first) {
  w.put("  mov.b32 %w0, data;\n  add.u32 %w0, %w0, {};\n  shr.u32 %w0, %w0, 4;\n  or.b32 %w0, %w0, {};\n"
        "  mov.b32 %w1, {};\n  mov.b64 {}, {{%w0, %w1}};\n",
        first, 8 << 16, 16 | 1 << 14, reg);
}

/// One thread executes the statement, and the others wait until it is complete.
void askUnit(KernelWriter& w) {
  const bool isCommit = w.form().op == Op::Tcgen05Commit;
  w.setSource("idesc", shapeOf(w.form()));
  w.setSource("enable", 1);
  w.setSource("lanes", 0x00ff00f0);
  w.setSource("mask", w.runsInClusters() ? 3 : 1);
  w.sources();
  for (const Use& use : w.statement().uses) {
    if (use.role == Role::Source && use.type == Type::B64 && use.operand != "mask")
      putDescriptor(w, use.name, use.operand == "b" ? kMatrixBytes : 0);
    if (use.role == Role::Address && !isCommit) w.put("  mov.b32 {}, %tensor;\n", use.name);
    // A literal, because for a register ptxas 13.0 uses the low half twice.
    if (use.operand == "mask" && !isCommit) w.put("  mov.b64 {}, {:#x};\n", use.name, kZeroColumns);
  }
  if (w.runsInClusters()) w.meet();
  w.put("  @%others bra WAIT;\n");
  if (isCommit) {
    putDescriptor(w, "%x1", 0);
    w.put("  tcgen05.cp.cta_group::{}.128x128b [%tensor], %x1;\n", groupOf(w));
    w.placeShared(0, "bar", 0);
  } else if (isPair(w)) {
    w.put("  mov.u32 %w0, %cluster_ctarank;\n  setp.ne.u32 %more, %w0, 0;\n  @%more bra WAIT;\n");
  }
  // The text itself: in clusters putStatement() synchronizes all threads around it.
  w.put("  {}\n", w.statement().text);
  if (!isCommit && isPair(w))
    w.put("  mov.b16 %flag, 3;\n  tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
          ".multicast::cluster.b64 [bar], %flag;\n");
  else if (!isCommit)
    w.put("  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n");
  w.put("WAIT:\n  mbarrier.try_wait.parity.shared.b64 %more, [bar], 0;\n  @!%more bra WAIT;\n"
        "  tcgen05.fence::after_thread_sync;\n");
}

/// All threads execute the statement.
void access(KernelWriter& w) {
  w.sources();
  for (const Use& use : w.statement().uses)
    if (use.role == Role::Address) w.put("  mov.b32 {}, %mine;\n", use.name);
  w.putStatement();
  if (w.form().op != Op::Tcgen05St) {
    w.put("  tcgen05.wait::ld.sync.aligned;\n");
    w.results();
  } else {
    w.put("  tcgen05.wait::st.sync.aligned;\n");
  }
}

} // namespace

bool writeTensorMemory(KernelWriter& w) {
  const Op op = w.form().op;
  if (!std::string_view(ptx::opName(op)).starts_with("tcgen05.")) return false;
  w.block = kThreads;
  if (isPair(w)) w.runInClusters();
  w.grid = w.runsInClusters() ? 2 : 1;
  begin(w);
  switch (op) {
  case Op::Tcgen05Ld:
  case Op::Tcgen05LdRed:
  case Op::Tcgen05St: access(w); break;
  case Op::Tcgen05Mma:
  case Op::Tcgen05Cp:
  case Op::Tcgen05Shift:
  case Op::Tcgen05Commit: askUnit(w); break;
  case Op::Tcgen05Alloc:
  case Op::Tcgen05Dealloc: break;
  default: w.putStatement(); break; // fences, waits, the permit
  }
  end(w);
  return true;
}

} // namespace orias::forms
