#pragma once

#include "tools/emulator/program.h"

#include <array>
#include <optional>

namespace orias::emu {

// The addresses of the windows of generic addresses. The hardware's are different and vary between launches. Here they
// only must not overlap launch::Device::kGlobalBase.
inline constexpr std::uint64_t kSharedWindow = 0x7e0000000000;
inline constexpr std::uint64_t kLocalWindow = 0x7d0000000000;
/// Before sm_90 the windows are not aligned to 4 GB, so that code which assumes it fails.
inline constexpr std::uint64_t kOlderSharedWindow = 0x7e00f4000000;
inline constexpr std::uint64_t kOlderLocalWindow = 0x7d00f2000000;
inline constexpr std::uint64_t kConstantWindow = 0x7c0000000000;
inline constexpr std::uint64_t kParameterWindow = 0x7b0000000000;
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 24;
/// Shared memory has one window for each CTA of a cluster, in sequence.
inline constexpr std::uint64_t kClusterWindowBytes = launch::kMaxClusterBlocks * kWindowBytes;
/// The end of a thread's local addresses; its stack grows down from here.
inline constexpr std::uint32_t kLocalTop = 0xfffd00;
/// The stack size of a kernel whose file does not tell the depth of its calls.
inline constexpr std::uint32_t kStackOfCalls = 8192;
/// Functions of the driver have addresses from here on, so that calls of them are recognized.
inline constexpr std::uint64_t kDriverFunctions = 0x7b0000000000;
/// The distance between two of them.
inline constexpr std::uint64_t kDriverFunctionBytes = 16;
/// Kernel descriptors for launches from kernels: the number of the kernel plus this base.
inline constexpr std::uint64_t kKernelDescriptors = 0x7b8000000000;
/// The number of multiprocessors, for %nsmid.
inline constexpr std::uint32_t kProcessors = 132;

/// The constant banks of a launch.
class Constants {
 public:
  /// Allocates and fills module variables in device memory, then fills banks 0, 2, 3 and 4.
  Constants(const Program& program, launch::Device& device, const launch::Clusters& clusters);

  /// Reads `bytes` bytes of c[bank][offset] (4 or less: low part of the result). Returns nothing outside the bank.
  std::optional<std::uint64_t> read(unsigned bank, std::int64_t offset, unsigned bytes) const;
  /// The bytes of a bank.
  const std::vector<std::byte>& bank(unsigned number) const { return banks_[number]; }

  /// The address of a relocation; 0 for an undefined symbol.
  std::uint64_t valueOf(const Relocation& relocation) const;

 private:
  void placeVariables(const Program& program);
  void fillSystemBank(const Program& program, const launch::Clusters& clusters);
  void apply(std::vector<std::byte>& bytes, const std::vector<Relocation>& relocations) const;

  launch::Device& device_;
  const Program& program_;
  std::array<std::vector<std::byte>, 32> banks_;
};

/// All shared memory of a CTA: the system's part, static and dynamic.
std::uint32_t sharedBytes(const Program& program, const launch::Launch& launch);

} // namespace orias::emu
