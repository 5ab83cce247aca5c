#include "test/forms/protocols.h"

// Barriers of the block and of the cluster. The statement is one side of the barrier; after it a lane reads the value
// of another lane. Also the settings of a warp group or a grid, which change no value.

namespace orias::forms {

using ptx::Op;

namespace {

/// Each lane writes its number times three plus one.
void putOwn(KernelWriter& w) {
  w.shared("data", w.block * 4);
  w.put("  mov.b32 %w0, data;\n  mad.lo.u32 %w0, %lane, 4, %w0;\n  mad.lo.u32 %w1, %index, 3, 1;\n"
        "  st.shared.u32 [%w0], %w1;\n");
}

/// The first warp arrives and continues; the other waits and reads the values of the first.
void writeArrival(KernelWriter& w) {
  putOwn(w);
  w.setSource("a", 1);
  w.setSource("b", w.block);
  w.sources();
  w.put("  mov.u32 %w2, 0;\n  setp.ge.u32 %ok0, %lane, 32;\n  @%ok0 bra WAITING;\n");
  w.putStatement();
  w.put("  bra DONE;\nWAITING:\n  bar.sync 1, {};\n  ld.shared.u32 %w2, [%w0+-128];\nDONE:\n", w.block);
  w.see("%w2");
}

/// A lane reads the value of its counterpart in the other warp and the other block.
void writeCluster(KernelWriter& w) {
  w.shared("data", w.block * 4);
  w.launch().cluster = launch::Dim3{2, 1, 1};
  w.meet();
  w.putOther("%w2");
  w.put("  mov.b32 %w0, data;\n  mad.lo.u32 %w0, %lane, 4, %w0;\n  mad.lo.u32 %w1, %index, 3, 1;\n"
        "  mapa.shared::cluster.u32 %w0, %w0, %w2;\n  st.shared::cluster.u32 [%w0], %w1;\n");
  if (w.form().op == Op::BarrierClusterWait) w.put("  barrier.cluster.arrive.release;\n");
  w.put("  {}\n", w.statement().text);
  if (w.form().op == Op::BarrierClusterArrive) w.put("  barrier.cluster.wait.acquire;\n");
  w.put("  xor.b32 %w2, %lane, 32;\n  mov.b32 %w0, data;\n  mad.lo.u32 %w0, %w2, 4, %w0;\n"
        "  ld.shared.u32 %w2, [%w0];\n");
  w.see("%w2");
}

/// The registers are preserved.
void writeNeutral(KernelWriter& w) {
  w.block = 128;
  w.put("  mad.lo.u32 %w0, %index, 5, 3;\n");
  w.putStatement();
  w.see("%w0");
}

} // namespace

bool writeSync(KernelWriter& w) {
  switch (w.form().op) {
  case Op::BarArrive:
  case Op::BarrierArrive: writeArrival(w); return true;
  case Op::BarrierClusterArrive:
  case Op::BarrierClusterWait: writeCluster(w); return true;
  case Op::Setmaxnreg:
  case Op::Griddepcontrol: writeNeutral(w); return true;
  default: return false;
  }
}

} // namespace orias::forms
