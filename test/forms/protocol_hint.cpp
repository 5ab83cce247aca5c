#include "test/forms/protocols.h"
#include "test/forms/values.h"

// Hints for caches: no value changes, and policies are used.

namespace orias::forms {

using launch::ElementType;
using ptx::Op;

namespace {

constexpr unsigned kLineBytes = 128;

std::vector<std::byte> content(const KernelWriter& w, unsigned laneBytes) {
  return memoryValues(w.statement(), std::size_t{laneBytes} * w.lanes(), w.seed() + 2000);
}

/// The bits of a policy depend on the implementation, so a load and a store use it.
void writePolicy(KernelWriter& w) {
  w.setSource("fraction", 0x3f000000); // 0.5
  w.setSource("primary", 1024);
  w.setSource("total", 4096);
  w.buffer("memory", ElementType::U32, content(w, 4), 4);
  w.put("  mov.b64 %x0, %at;\n");
  if (w.uses(Role::Address) != 0) w.put("  mov.b64 {}, %at;\n", w.use(Role::Address, 0).name);
  w.sources();
  w.putStatement();
  const std::string policy = w.use(Role::Result, 0).name;
  w.put("  ld.global.L2::cache_hint.b32 %w0, [%x0], {0};\n  add.u32 %w1, %w0, %index;\n"
        "  st.global.L2::cache_hint.b32 [%x0], %w1, {0};\n",
        policy);
  w.see("%w0");
}

/// The line is undefined until it is rewritten.
void writeDiscard(KernelWriter& w) {
  w.buffer("memory", ElementType::U32, content(w, kLineBytes), kLineBytes);
  w.put("  mov.b64 {}, %at;\n", w.use(Role::Address, 0).name);
  w.putStatement();
  for (unsigned at = 0; at < kLineBytes; at += 4)
    w.put("  add.u32 %w0, %index, {0};\n  st.global.u32 [%at+{0}], %w0;\n", at);
}

} // namespace

bool writeHint(KernelWriter& w) {
  switch (w.form().op) {
  case Op::Createpolicy: writePolicy(w); return true;
  case Op::Discard: writeDiscard(w); return true;
  default: return false;
  }
}

} // namespace orias::forms
