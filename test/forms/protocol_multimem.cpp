#include "test/forms/protocols.h"
#include "test/forms/values.h"

// multimem: an address refers to one buffer on each of two devices. Each lane has its own part of them.

namespace orias::forms {

using launch::ElementType;
using ptx::Op;

bool writeMulticast(KernelWriter& w) {
  const Op op = w.form().op;
  if (op != Op::MultimemLdReduce && op != Op::MultimemRed && op != Op::MultimemSt) return false;
  constexpr unsigned kLaneBytes = 16;
  const ptx::Type type = w.form().type();
  launch::Multicast object;
  object.name = "both";
  for (const char* name : {"first", "second"}) {
    object.buffers.push_back(static_cast<int>(w.launch().buffers.size()));
    const std::size_t bytes = std::size_t{kLaneBytes} * w.lanes();
    const std::uint64_t seed = w.seed() + 2000 + object.buffers.size();
    // The implementation may or may not flush subnormals of single precision.
    w.buffer(name, ElementType::U32,
             type == ptx::Type::F32 ? matrixValues(type, bytes, seed) : reducedValues(type, bytes, seed), kLaneBytes);
  }
  w.launch().multicasts.push_back(std::move(object));
  w.parameter("%x0", "both", launch::multicastAddress(0));
  w.put("  mad.wide.u32 {}, %index, {}, %x0;\n", w.use(Role::Address, 0).name, kLaneBytes);
  w.sources();
  w.putStatement();
  w.results();
  return true;
}

} // namespace orias::forms
