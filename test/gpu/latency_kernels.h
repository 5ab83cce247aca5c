#pragma once

#include "encoder/isa/target.h"
#include "tools/gpu/suite/case.h"

#include <string>
#include <vector>

namespace orias::gpu {

/// A measuring kernel, as Ori text with physical registers and control fields.
struct LatencyKernel {
  std::string name; ///< "Alu-Fma@4"
  std::string text; ///< a module with kernel "k"; phases from 142 on convert it to a cubin
  launch::Launch launch;
  Probe probe;
};

/// Kernels for the latency tables of a chip. For each pair of instructions of fixed latency: a kernel for each number
/// of cycles from 1 to slightly above the table's. For classes of variable latency: a chain of dependent instructions
/// that wait for scoreboards. For some classes: a row of independent instructions.
std::vector<LatencyKernel> latencyKernels(const isa::Target& target);

// The parts, one file each.
std::vector<LatencyKernel> stallKernels(const isa::Target& target);     ///< pairs of instructions through R and UR
std::vector<LatencyKernel> predicateKernels(const isa::Target& target); ///< pairs through predicates
std::vector<LatencyKernel> overwriteKernels(const isa::Target& target); ///< a register is read, then overwritten
/// A register of the uniform datapath is read, then overwritten.
std::vector<LatencyKernel> uniformOverwriteKernels(const isa::Target& target);
std::vector<LatencyKernel> chainKernels(const isa::Target& target); ///< variable latency, and independent rows

/// The measured instructions and the code around them.
struct MeasuredCode {
  std::string setup;  ///< runs once
  std::string body;   ///< runs in a loop, between two reads of the clock
  std::string wait;   ///< control of the second read of the clock: "wait=0x1"
  std::string after;  ///< runs in the loop after the second read
  std::string result; ///< the register that the thread writes to memory
  std::string finish; ///< runs once, before that store
};
/// Control fields for a completed result: longer than any fixed latency except that of matrix products.
inline constexpr const char* kSafe = "{stall=15}";
/// An instruction's text followed by a gap of `cycles` cycles, in which no other warp issues.
std::string withGap(const std::string& text, unsigned cycles);
/// A module with the kernel. The code may use the registers from R13 and UR6 on and P0 to P5. R2 is the lane, R6:2 the
/// address of the lane's 8 bytes of "memory", and R16:2 is 1.
std::string measuringModule(const isa::Target& target, const MeasuredCode& code);
/// One block; buffers "out" (4 bytes per thread), "cycles", and "memory" with `memoryBytes` bytes.
launch::Launch measuringLaunch(std::uint64_t memoryBytes, unsigned threads = 32);

} // namespace orias::gpu
