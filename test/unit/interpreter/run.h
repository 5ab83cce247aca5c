#pragma once

#include "frontend/check.h"
#include "frontend/parse.h"
#include "tools/interpreter/interpreter.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

// Helpers of the interpreter's tests: kernels written in the test, run on a buffer of 32-bit words.

namespace orias::interp {

struct Ran {
  launch::RunResult result;
  std::vector<std::uint32_t> out;
  /// The kind of the first report; empty if there is none.
  std::string kind() const { return result.reports.empty() ? "" : result.reports[0].kind; }
};

/// Runs the kernel `k` of a module: its parameter is a buffer of `words` words, zero at the start.
inline Ran runModule(const std::string& items, unsigned threads = 1, std::size_t words = 64,
                     const launch::RunOptions& options = {}, unsigned blocks = 1, std::uint32_t dynamicShared = 0,
                     const std::string& target = "sm_90a") {
  const std::string text = ".version 9.0\n.target " + target + "\n.address_size 64\n" + items;
  Diagnostics diags("t.ptx", text);
  const auto module = ptx::parse(text, diags);
  ptx::check(*module, {}, diags);
  REQUIRE_MESSAGE(!diags.hasErrors(), diags.render());
  launch::Launch launch;
  launch.file = "t.ptx";
  launch.kernel = "k";
  launch.grid.x = blocks;
  launch.block.x = threads;
  launch.dynamicShared = dynamicShared;
  launch::Buffer buffer;
  buffer.name = "out";
  buffer.elements = words;
  buffer.initial.resize(4 * words);
  launch.buffers.push_back(buffer);
  launch::Argument argument;
  argument.buffer = 0;
  launch.arguments.push_back(argument);
  launch::Device device(launch, options.memcheck);
  Ran ran;
  ran.result = run(*module, device, options);
  ran.out.resize(words);
  std::memcpy(ran.out.data(), device.bufferBytes(0).data(), 4 * words);
  return ran;
}

/// Runs statements with a result in %r0 (and %r1): each thread stores %r0 to its word. The registers are %r0-15,
/// %rd0-7, %h0-7 (16 bits), %f0-7, %d0-7, %p0-3; %r15 is %tid.x, %rd7 the address of the thread's word.
inline Ran runBody(const std::string& body, unsigned threads = 1, const launch::RunOptions& options = {},
                   const std::string& target = "sm_90a") {
  return runModule(".entry k(.param .u64 out) {\n.reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .b16 %h<8>; .reg .f32 %f<8>; "
                   ".reg .f64 %d<8>; .reg .pred %p<4>;\n.shared .align 16 .b8 s[4096];\n"
                   "ld.param.u64 %rd7, [out]; mov.u32 %r15, %tid.x; mad.wide.u32 %rd7, %r15, 4, %rd7;\n" +
                       body + "\nst.global.u32 [%rd7], %r0;\nret;\n}\n",
                   threads, 1024, options, 1, 0, target);
}

/// The result of statements in one thread.
inline std::uint32_t valueOf(const std::string& body, const std::string& target = "sm_90a") {
  const Ran ran = runBody(body, 1, {}, target);
  REQUIRE_MESSAGE(ran.result.completed,
                  (ran.result.reports.empty() ? "" : ran.result.reports[0].where + ": " + ran.result.reports[0].text));
  return ran.out[0];
}

} // namespace orias::interp
