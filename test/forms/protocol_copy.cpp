#include "test/forms/protocols.h"
#include "test/forms/values.h"

// cp.async: a copy is committed and waited for; then shared memory is shown.

namespace orias::forms {

using ptx::Mod;
using ptx::Op;

namespace {

constexpr unsigned kBytes = 16; ///< of a copy, at most

std::vector<std::byte> content(const KernelWriter& w, unsigned number) {
  return memoryValues(w.statement(), std::size_t{kBytes} * w.lanes(), w.seed() + 2000 + number);
}

void writeOne(KernelWriter& w) {
  w.shared("data", w.block * kBytes);
  w.fillShared("data", "before", content(w, 0), kBytes);
  w.buffer("from", launch::ElementType::U32, content(w, 1), kBytes);
  w.put("  mov.b64 {}, %at;\n", w.use(Role::Address, 1).name);
  w.placeShared(0, "data", kBytes);
  const unsigned size = w.form().has(Mod::Cg) ? 16 : 4; // as statement.cpp chooses it
  w.setSource("from", [size](unsigned lane) { return lane % (size + 1); });
  w.sources();
  w.putStatement();
  w.put("  cp.async.commit_group;\n  cp.async.wait_group 0;\n");
  w.seeShared("data", kBytes);
}

/// Two copies. The statement commits or waits for the first.
void writeGroups(KernelWriter& w) {
  w.shared("first", w.block * kBytes);
  w.shared("second", w.block * kBytes);
  const auto copy = [&](std::string_view name, unsigned number) {
    w.buffer(fmt::format("to_{}", name), launch::ElementType::U32, content(w, number), kBytes);
    w.put("  mov.b32 %w0, {0};\n  mad.lo.u32 %w0, %lane, {1}, %w0;\n  cp.async.ca.shared.global [%w0], [%at], {1};\n",
          name, kBytes);
  };
  copy("first", 0);
  const bool commits = w.form().op == Op::CpAsyncCommitGroup;
  if (commits)
    w.putStatement();
  else
    w.put("  cp.async.commit_group;\n");
  copy("second", 1);
  if (w.form().op != Op::CpAsyncWaitAll) w.put("  cp.async.commit_group;\n");
  if (commits)
    w.put("  cp.async.wait_group 1;\n");
  else
    w.putStatement();
  w.seeShared("first", kBytes);
  if (w.form().op != Op::CpAsyncWaitAll) w.put("  cp.async.wait_group 0;\n");
  w.seeShared("second", kBytes);
}

} // namespace

bool writeCopy(KernelWriter& w) {
  switch (w.form().op) {
  case Op::CpAsync: writeOne(w); return true;
  case Op::CpAsyncCommitGroup:
  case Op::CpAsyncWaitGroup:
  case Op::CpAsyncWaitAll: writeGroups(w); return true;
  default: return false;
  }
}

} // namespace orias::forms
