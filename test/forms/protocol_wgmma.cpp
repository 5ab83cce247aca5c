#include "test/forms/protocols.h"
#include "test/forms/values.h"

// wgmma: a warp group fills shared memory, multiplies the matrices of two descriptors, and waits. The four blocks have
// different swizzles. The second product adds to the first.

namespace orias::forms {

using ptx::Mod;
using ptx::Op;
using ptx::Type;

namespace {

constexpr unsigned kThreads = 128, kMatrixBytes = 16384;

/// By swizzle (none, 128, 64 and 32 bytes): distance between groups of eight rows, in units of 16 bytes.
constexpr unsigned kStrides[] = {16, 64, 32, 16};
constexpr unsigned kLeading = 8;

/// Computes the descriptor of a matrix: its start, its strides, and the block's number as its swizzle.
void putDescriptor(KernelWriter& w, std::string_view reg, unsigned first) {
  w.put("  mov.b32 %w0, data;\n  add.u32 %w0, %w0, {};\n  shr.u32 %w0, %w0, 4;\n  and.b32 %w0, %w0, 0x3fff;\n"
        "  or.b32 %w0, %w0, {};\n",
        first, kLeading << 16);
  w.put("  mov.u32 %w1, %ctaid.x;\n  mov.u32 %w2, {};\n", kStrides[0]);
  for (unsigned swizzle = 1; swizzle < 4; ++swizzle)
    w.put("  setp.eq.u32 %ok0, %w1, {};\n  selp.b32 %w2, {}, %w2, %ok0;\n", swizzle, kStrides[swizzle]);
  w.put("  shl.b32 %w1, %w1, 30;\n  or.b32 %w2, %w2, %w1;\n  mov.b64 {}, {{%w0, %w2}};\n", reg);
}

void fill(KernelWriter& w) {
  w.shared("data", 2 * kMatrixBytes, 1024);
  std::vector<std::byte> bytes;
  for (unsigned k = 0; k < 2; ++k) {
    const Type type = w.form().op == Op::WgmmaMmaAsync ? w.form().type(1 + k) : Type::F16;
    const auto matrix = matrixValues(type, kMatrixBytes, w.seed() + 2000 + k);
    bytes.insert(bytes.end(), matrix.begin(), matrix.end());
  }
  w.wholeBuffer("%x0", "matrices", std::move(bytes));
  w.put("  mul.wide.u32 %half0, %lane, 4;\n  add.u64 %x0, %x0, %half0;\n  mov.b32 %w0, data;\n"
        "  mad.lo.u32 %w0, %lane, 4, %w0;\n");
  w.put("  mov.u32 %w1, 0;\nFILL:\n  ld.global.b32 %w2, [%x0];\n  st.shared.b32 [%w0], %w2;\n"
        "  add.u64 %x0, %x0, {0};\n  add.u32 %w0, %w0, {0};\n  add.u32 %w1, %w1, {0};\n"
        "  setp.lt.u32 %ok0, %w1, {1};\n  @%ok0 bra FILL;\n  fence.proxy.async;\n  bar.sync 0;\n",
        kThreads * 4, 2 * kMatrixBytes);
}

/// The statement with inverted transpose flags, which are its last numbers: after the predicate, "0, 0;" becomes "1,
/// 1;".
std::string transposed(const Statement& statement) {
  std::string text = statement.text;
  for (std::size_t at = text.rfind("%p"); at != std::string::npos && at < text.size(); ++at)
    if (text.compare(at, 3, ", 0") == 0 && (text[at + 3] == ',' || text[at + 3] == ';')) text[at + 2] = '1';
  return text;
}

/// A sparse statement with another selector, which follows the metadata.
std::string withSelector(const Statement& statement, unsigned selector) {
  std::string text = statement.text;
  for (const Use& use : statement.uses) {
    if (use.operand != "meta") continue;
    const std::string before = ", " + use.name + ", ";
    const std::size_t at = text.rfind(before + "0,");
    if (at != std::string::npos) text.replace(at + before.size(), 1, std::to_string(selector));
  }
  return text;
}

void writeProduct(KernelWriter& w) {
  const bool isSparse = w.form().get(ptx::Slot::Sparsity) != Mod::None;
  fill(w);
  w.setSource("scaleD", 1);
  w.sources();
  unsigned descriptors = 0;
  for (const Use& use : w.statement().uses)
    if (use.role == Role::Source && use.type == Type::B64) {
      putDescriptor(w, use.name, use.operand == "a" ? 0 : kMatrixBytes);
      ++descriptors;
    }
  // Results are accumulators, so they must be initialized.
  for (unsigned i = 0; i < w.uses(Role::Result); ++i)
    w.put("  mov.b32 {}, 0;\n", w.use(Role::Result, i).name);
  const auto multiply = [&](const std::string& text) {
    w.put("  wgmma.fence.sync.aligned;\n  {}\n  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n",
          text);
    w.results();
  };
  multiply(w.statement().text);
  multiply(transposed(w.statement()));
  if (isSparse && sparseSelectors(w.form()) > 1) multiply(withSelector(w.statement(), 1));
}

/// A product. The statement is one of the steps around it.
void writeStep(KernelWriter& w) {
  fill(w);
  putDescriptor(w, "%x1", 0);
  putDescriptor(w, "%x2", kMatrixBytes);
  w.put("  mov.b32 %w0, 0;\n  mov.b32 %w1, 0;\n  wgmma.fence.sync.aligned;\n"
        "  wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {{%w0, %w1}}, %x1, %x2, 0, 1, 1, 0, 0;\n"
        "  wgmma.commit_group.sync.aligned;\n");
  w.putStatement();
  w.put("  wgmma.wait_group.sync.aligned 0;\n");
  w.see("%w0");
  w.see("%w1");
}

} // namespace

bool writeWarpGroup(KernelWriter& w) {
  const Op op = w.form().op;
  const bool isStep = op == Op::WgmmaFence || op == Op::WgmmaCommitGroup || op == Op::WgmmaWaitGroup;
  if (op != Op::WgmmaMmaAsync && !isStep) return false;
  w.block = kThreads;
  // Rows of B in a sparse product are longer than the last pattern, that of 32 bytes.
  w.grid = w.form().get(ptx::Slot::Sparsity) == Mod::None ? 4 : 3;
  if (isStep)
    writeStep(w);
  else
    writeProduct(w);
  return true;
}

} // namespace orias::forms
