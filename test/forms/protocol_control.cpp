#include "test/forms/protocols.h"

// Branches, calls and exits: the memory shows which code has run. Also the stack, where values must be preserved.

namespace orias::forms {

using ptx::Mod;
using ptx::Op;

namespace {

/// A predicate that is true for half of the lanes, or for half of the warps if the lanes must agree.
void putCondition(KernelWriter& w, std::string_view predicate = "%ok0") {
  w.put("  {} %w0, %lane, {};\n  setp.eq.u32 {}, %w0, 0;\n", "and.b32", w.form().has(Mod::Uni) ? 32 : 1, predicate);
}

/// Some lanes exit here, so they do not write after it.
void writeLeaving(KernelWriter& w) {
  putCondition(w);
  w.put("  add.u32 %w1, %index, 7;\n");
  w.see("%w1");
  w.put("  @%ok0 {}\n  add.u32 %w1, %index, 9;\n", w.statement().text);
  w.see("%w1");
}

/// L1 is the end of the kernel.
void writeTable(KernelWriter& w) {
  w.declare("TL: .branchtargets FIRST, SECOND, L1;\n");
  w.setSource("index", [&w](unsigned lane) { return w.form().has(Mod::Uni) ? lane / 32 % 3 : lane % 3; });
  w.sources();
  w.putStatement();
  w.put("FIRST:\n");
  w.see("%index");
  w.put("SECOND:\n");
  w.see("%lane");
}

/// A function with the body `text` that writes a mark for its thread.
std::string markingFunction(const KernelWriter& w, std::string_view signature, std::string_view text) {
  return fmt::format(".global .align 16 .b8 mark[{0}];\n.func {1}\n{{\n  .reg .b32 %a<4>;\n  .reg .b64 %b<2>;\n"
                     "  .reg .pred %c;\n  .reg .b8 %e;\n  mov.u32 %a0, %tid.x;\n  mov.u32 %a1, %ctaid.x;\n"
                     "  mad.lo.u32 %a1, %a1, {2}, %a0;\n  mul.wide.u32 %b0, %a1, 8;\n  mov.u64 %b1, mark;\n"
                     "  add.u64 %b0, %b0, %b1;\n{3}}}\n",
                     w.lanes() * 8, signature, w.block, text);
}

void writeCall(KernelWriter& w) {
  w.outside(markingFunction(w, "fn0()", "  st.global.u32 [%b0], %a1;\n  st.global.u32 [%b0+4], 77;\n  ret;\n"));
  if (w.form().has(Mod::Uni)) {
    w.putStatement();
  } else {
    putCondition(w);
    w.put("  @%ok0 {}\n", w.statement().text);
  }
  w.see("%index");
}

/// The statement is in a function from which some lanes return early.
void writeReturn(KernelWriter& w) {
  w.outside(markingFunction(w, "early()",
                            fmt::format("  st.global.u32 [%b0], %a1;\n  and.b32 %a0, %a0, {};\n"
                                        "  setp.eq.u32 %c, %a0, 0;\n  @%c {}\n  st.global.u32 [%b0+4], 77;\n  ret;\n",
                                        w.form().has(Mod::Uni) ? 32 : 1, w.statement().text)));
  w.put("  call early;\n");
  w.see("%index");
}

/// The callee reads its argument.
void writeArgument(KernelWriter& w) {
  w.outside(markingFunction(w, "take(.param .align 16 .b8 a[64])",
                            "  ld.param.b8 %e, [a];\n  st.global.b8 [%b0], %e;\n  ret;\n"));
  w.sources();
  w.put("  {{\n  .param .align 16 .b8 callparam[64];\n");
  w.putStatement();
  w.put("  call take, (callparam);\n  }}\n");
}

/// The launch must stop here. Without a debugger brkpt also stops it.
void writeStop(KernelWriter& w) {
  w.see("%index");
  w.putStatement();
  w.see("%lane");
  w.launch().stops = "trap";
}

// ---- The stack

/// Two allocations must not overlap.
void writeAlloca(KernelWriter& w) {
  w.setSource("size", 32);
  w.sources();
  const bool isWide = w.form().type() == ptx::Type::U64;
  const std::string first = w.use(Role::Result, 0).name, second = isWide ? "%x1" : "%w1";
  w.putStatement();
  w.put("  st.local.u32 [{0}], %index;\n  st.local.u32 [{0}+28], %lane;\n", first);
  w.put("  alloca.{} {}, {};\n", isWide ? "u64" : "u32", second, isWide ? "16" : "16");
  w.put("  st.local.u32 [{0}], 1234;\n  st.local.u32 [{0}+12], 5678;\n", second);
  for (const std::string& at : {first, first + "+28", second, second + "+12"}) {
    w.put("  ld.local.u32 %w2, [{}];\n", at);
    w.see("%w2");
  }
}

/// After the stack is restored, an allocation gets the same address as before.
void writeStack(KernelWriter& w) {
  const bool isWide = w.form().type() == ptx::Type::U64, saves = w.form().op == Op::Stacksave;
  const std::string_view type = isWide ? "u64" : "u32", a = isWide ? "%x1" : "%w1", b = isWide ? "%x2" : "%w2";
  w.setSource("a", 0);
  w.sources();
  const std::string saved = w.use(saves ? Role::Result : Role::Source, 0).name;
  if (saves)
    w.putStatement();
  else
    w.put("  stacksave.{} {};\n", type, saved);
  w.put("  alloca.{0} {1}, 32;\n  st.local.u32 [{1}+4], %index;\n", type, a);
  if (saves)
    w.put("  stackrestore.{} {};\n", type, saved);
  else
    w.putStatement();
  w.put("  alloca.{0} {1}, 32;\n  st.local.u32 [{1}+8], %lane;\n  ld.local.u32 %w3, [{1}+8];\n", type, b);
  w.see("%w3");
  w.put("  setp.eq.{} %ok1, {}, {};\n", type, a, b);
  w.seePredicate("%ok1");
}

} // namespace

bool writeControl(KernelWriter& w) {
  switch (w.form().op) {
  case Op::Bra:
  case Op::Exit: writeLeaving(w); return true;
  case Op::BrxIdx: writeTable(w); return true;
  case Op::Call: writeCall(w); return true;
  case Op::Ret: writeReturn(w); return true;
  case Op::Trap:
  case Op::Brkpt: writeStop(w); return true;
  case Op::Alloca: writeAlloca(w); return true;
  case Op::Stacksave:
  case Op::Stackrestore: writeStack(w); return true;
  case Op::St:
    if (w.form().space() != ptx::StateSpace::Param) return false;
    writeArgument(w);
    return true;
  default: return false;
  }
}

} // namespace orias::forms
