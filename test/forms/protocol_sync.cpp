#include "test/forms/protocols.h"

// Barriers of the block and of the cluster, of which one side is the statement: a lane then reads what another wrote.
// And what a warp group or a grid asks of the machine, which changes no value.

namespace orias::forms {

using ptx::Op;

namespace {

/// Each lane writes its number times three and one.
void putOwn(KernelWriter& w) {
  w.shared("data", w.block * 4);
  w.put("  mov.b32 %w0, data;\n  mad.lo.u32 %w0, %lane, 4, %w0;\n  mad.lo.u32 %w1, %index, 3, 1;\n"
        "  st.shared.u32 [%w0], %w1;\n");
}

/// The first warp arrives and goes on, the other waits and reads what the first wrote.
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

/// A lane reads what its counterpart of the other warp and the other block wrote there.
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

/// What was in registers is there still.
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
