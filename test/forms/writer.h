#pragma once

#include "test/forms/kernel.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orias::forms {

/// A kernel in the making: its text and the buffers that it gets belong together. What is written goes to the end of
/// the kernel; registers that it may use are %at, %x (64 bits), %w, %index, %lane, %carry (32), %flag (16), %half (64)
/// and %ok (predicates). A lane's number in its block is in %lane, that in the grid in %index.
class KernelWriter {
 public:
  KernelWriter(const Statement& statement, std::string_view arch, std::uint64_t seed)
      : statement_(statement), arch_(arch), seed_(seed) {
    if (form().get(ptx::Slot::Space) == ptx::Mod::SharedCluster && uses(Role::Address) != 0) runInClusters();
    // What reaches for the memory of a cluster without naming it faults in a cluster of one block.
    if (form().get(ptx::Slot::Completion) != ptx::Mod::None &&
        (form().op == ptx::Op::StAsync || form().op == ptx::Op::RedAsync))
      runInClusters();
  }

  const Statement& statement() const { return statement_; }
  const ptx::Form& form() const { return statement_.form; }
  std::uint64_t seed() const { return seed_; }

  /// The two blocks are a cluster, and the addresses that the statement writes to or hears by are those of the other
  /// block: what a block sees, the other one has done. So it is with all statements on `.shared::cluster`.
  void runInClusters() { launch_.cluster = launch::Dim3{2, 1, 1}; }
  bool runsInClusters() const { return launch_.cluster.has_value(); }
  /// Both blocks have come here.
  void meet() { put("  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"); }
  /// The rank of the other block.
  void putOther(std::string_view reg) { put("  mov.b32 {0}, %cluster_ctarank;\n  xor.b32 {0}, {0}, 1;\n", reg); }

  unsigned block = 64, grid = 2;
  unsigned lanes() const { return block * grid; }

  // --- text
  /// Lines of PTX. Braces of the PTX are written twice.
  template <typename... Args> void put(fmt::format_string<Args...> text, Args&&... args) {
    body_ += fmt::format(text, std::forward<Args>(args)...);
  }
  void putStatement();
  /// In front of the kernel, and at its start.
  void outside(std::string_view text) { outside_ += text; }
  void declare(std::string_view text) { declarations_ += text; }
  void shared(std::string_view name, unsigned bytes, unsigned align = 128);

  // --- buffers
  /// A new buffer, and code that puts the address of the lane's part of it into %at. No content: zeros.
  void buffer(std::string name, launch::ElementType type, std::vector<std::byte> initial, unsigned laneBytes,
              launch::Tolerance tolerance = {});
  /// A new buffer of which all lanes get the start in `reg`.
  void wholeBuffer(std::string_view reg, std::string name, std::vector<std::byte> initial,
                   launch::ElementType type = launch::ElementType::U32);
  /// A parameter of 64 bits, the same for all, which goes to `reg`.
  void parameter(std::string_view reg, std::string_view name, std::uint64_t value);
  /// The launch as it is so far, for objects that the host makes.
  launch::Launch& launch() { return launch_; }

  // --- the statement's operands
  /// The `k`-th register of that role.
  const Use& use(Role role, unsigned k) const;
  unsigned uses(Role role) const;
  /// Loads the values of the sources; of those that are called so, `value(lane)` is the value.
  void sources() { sources({}); }
  /// The same, with all the values of source number so-and-so.
  void sources(const std::function<std::vector<std::byte>(unsigned)>& values);
  void setSource(std::string_view operand, std::function<std::uint64_t(unsigned)> value);
  void setSource(std::string_view operand, std::uint64_t value) {
    setSource(operand, [value](unsigned) { return value; });
  }
  /// Writes the results to buffers.
  void results();
  /// Puts the address of the lane's `laneBytes` bytes of a variable in shared memory into the `k`-th address register,
  /// as the operand wants it: 32 bits or generic. `within`: bytes in front. In clusters it is the other block's, unless
  /// `isOwn`.
  void placeShared(unsigned k, std::string_view variable, unsigned laneBytes, unsigned within = 0, bool isOwn = false);

  // --- what is seen
  /// A register or a predicate goes to a buffer of its own.
  void see(std::string_view reg, unsigned bits = 32);
  void seePredicate(std::string_view reg);
  void see(const Use& use);
  /// The lane's bytes of a variable in shared memory go to a buffer of their own; a multiple of 4.
  void seeShared(std::string_view variable, unsigned laneBytes, launch::ElementType type = launch::ElementType::U32);
  /// The lane's part of shared memory is filled from a new buffer.
  void fillShared(std::string_view variable, std::string name, std::vector<std::byte> values, unsigned laneBytes);

  Kernel finish();

 private:
  struct Fixed {
    std::string_view operand;
    std::function<std::uint64_t(unsigned)> value;
  };
  std::string header() const;
  void source(const Use& use, unsigned number, std::vector<std::byte> values);
  /// A policy for caches: bits that createpolicy did not make may be an illegal instruction on a GPU.
  void policySource(const Use& use, unsigned number);
  std::vector<std::byte> valuesOf(const Use& use, unsigned number) const;
  void addBuffer(std::string name, launch::ElementType type, std::vector<std::byte> initial, std::uint64_t bytes,
                 launch::Tolerance tolerance);

  const Statement& statement_;
  std::string_view arch_;
  std::uint64_t seed_;
  std::string outside_, parameters_, declarations_, body_;
  std::vector<Fixed> fixed_;
  unsigned results_ = 0, seen_ = 0;
  launch::Launch launch_;
};

/// Bytes of the parameter `tm`, which each kernel has.
inline constexpr unsigned kParameterBytes = 128;

} // namespace orias::forms
