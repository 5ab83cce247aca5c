#pragma once

#include "encoder/isa/target.h"
#include "tools/gpu/suite/case.h"

#include <string>
#include <vector>

namespace orias::gpu {

/// A kernel that measures, as Ori text with physical registers and control words.
struct LatencyKernel {
  std::string name; ///< "Alu-Fma@4"
  std::string text; ///< a module whose kernel is "k"; phases from 142 on make a cubin of it
  launch::Launch launch;
  Probe probe;
};

/// Kernels for the latency tables of a chip. Of each pair of instructions of fixed latency: a kernel for each number of
/// cycles from 1 to a little more than the table has. Of classes of variable latency: a chain of dependent instructions
/// that wait for scoreboards. Of some classes: a row of independent instructions.
std::vector<LatencyKernel> latencyKernels(const isa::Target& target);

// The parts, one file each.
std::vector<LatencyKernel> stallKernels(const isa::Target& target);     ///< pairs of instructions through R and UR
std::vector<LatencyKernel> predicateKernels(const isa::Target& target); ///< pairs through predicates
std::vector<LatencyKernel> overwriteKernels(const isa::Target& target); ///< a register is read, then overwritten
/// The same in the uniform datapath.
std::vector<LatencyKernel> uniformOverwriteKernels(const isa::Target& target);
std::vector<LatencyKernel> chainKernels(const isa::Target& target); ///< variable latency, and independent rows

/// What is around the measured instructions.
struct MeasuredCode {
  std::string setup;  ///< runs once
  std::string body;   ///< runs in a loop, between two reads of the clock
  std::string wait;   ///< control of the second read of the clock: "wait=0x1"
  std::string after;  ///< runs in the loop behind it
  std::string result; ///< the register that the thread writes to memory
  std::string finish; ///< runs once, before that
};
/// The control of an instruction after which everything is there: longer than any fixed latency but that of products of
/// matrices.
inline constexpr const char* kSafe = "{stall=15}";
/// An instruction's text with a gap of so many cycles behind it, without other warps getting in between.
std::string withGap(const std::string& text, unsigned cycles);
/// A module with the kernel. Registers that it may use: from R13 on, UR6 on, P0 to P5; R2 is the lane, R6:2 the address
/// of the lane's 8 bytes of "memory". R16:2 is 1.
std::string measuringModule(const isa::Target& target, const MeasuredCode& code);
/// One block; buffers "out" (4 bytes for a thread), "cycles" and "memory" of so many bytes for all.
launch::Launch measuringLaunch(std::uint64_t memoryBytes, unsigned threads = 32);

} // namespace orias::gpu
