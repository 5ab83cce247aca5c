#include "test/gpu/compile.h"
#include "test/gpu/sources.h"

#include <fmt/format.h>

namespace orias::gpu {

void trivialCases(const SourceOptions& options, const Sink& sink) {
  for (const char* arch : {"sm_90", "sm_90a"}) {
    const std::string ptx = fmt::format(".version 8.0\n.target {}\n.address_size 64\n"
                                        ".visible .entry store(.param .u64 out) {{\n  .reg .b64 %d;\n"
                                        "  ld.param.u64 %d, [out];\n  st.global.u32 [%d], 42;\n  ret;\n}}\n",
                                        arch);
    Case c;
    c.group = "trivial";
    c.name = arch;
    c.text = ptx;
    c.repetitions = 20;
    c.launch.kernel = "store";
    launch::Buffer buffer;
    buffer.name = "out";
    buffer.elements = 1;
    c.launch.buffers.push_back(buffer);
    launch::Argument argument;
    argument.buffer = 0;
    c.launch.arguments.push_back(argument);
    std::string why;
    bool isGood = addMemory(c, ptx, 1000, why);
    for (const unsigned level : {3u, 0u})
      isGood = isGood && addCandidates(c, ptx, {arch, level, true, options.withPtxas}, why);
    if (isGood)
      sink.take(std::move(c));
    else
      sink.leave("trivial", arch, why);
  }
}

} // namespace orias::gpu
