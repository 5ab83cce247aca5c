#pragma once

#include "test/forms/kernel.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orias::forms {

/// A kernel under construction: its text and its buffers. Text is appended to the end of the kernel. It may use the
/// registers %at, %x (64 bits), %w, %index, %lane, %carry (32), %flag (16), %half (64) and %ok (predicates). %lane is
/// the lane's number in its block, %index that in the grid.
class KernelWriter {
 public:
  KernelWriter(const Statement& statement, std::string_view arch, std::uint64_t seed)
      : statement_(statement), arch_(arch), seed_(seed) {
    if (form().get(ptx::Slot::Space) == ptx::Mod::SharedCluster && uses(Role::Address) != 0) runInClusters();
    // Implicit accesses to the memory of a cluster fault in a cluster of one block.
    if (form().get(ptx::Slot::Completion) != ptx::Mod::None &&
        (form().op == ptx::Op::StAsync || form().op == ptx::Op::RedAsync))
      runInClusters();
  }

  const Statement& statement() const { return statement_; }
  const ptx::Form& form() const { return statement_.form; }
  std::uint64_t seed() const { return seed_; }

  /// The two blocks are a cluster. The destination and barrier addresses of the statement are those of the other block,
  /// so a block shows the effects of the other one. This applies to all statements on `.shared::cluster`.
  void runInClusters() { launch_.cluster = launch::Dim3{2, 1, 1}; }
  bool runsInClusters() const { return launch_.cluster.has_value(); }
  /// Synchronizes both blocks.
  void meet() { put("  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"); }
  /// The rank of the other block.
  void putOther(std::string_view reg) { put("  mov.b32 {0}, %cluster_ctarank;\n  xor.b32 {0}, {0}, 1;\n", reg); }

  unsigned block = 64, grid = 2;
  unsigned lanes() const { return block * grid; }

  // --- text
  /// Adds lines of PTX, with doubled braces.
  template <typename... Args> void put(fmt::format_string<Args...> text, Args&&... args) {
    body_ += fmt::format(text, std::forward<Args>(args)...);
  }
  void putStatement();
  /// Adds text before the kernel, and at its start.
  void outside(std::string_view text) { outside_ += text; }
  void declare(std::string_view text) { declarations_ += text; }
  void shared(std::string_view name, unsigned bytes, unsigned align = 128);

  // --- buffers
  /// Adds a buffer, and code that computes the address of the lane's part of it in %at. Without contents it has zeros.
  void buffer(std::string name, launch::ElementType type, std::vector<std::byte> initial, unsigned laneBytes,
              launch::Tolerance tolerance = {});
  /// Adds a buffer, with its start in `reg` for all lanes.
  void wholeBuffer(std::string_view reg, std::string name, std::vector<std::byte> initial,
                   launch::ElementType type = launch::ElementType::U32);
  /// Adds a uniform 64-bit parameter, loaded to `reg`.
  void parameter(std::string_view reg, std::string_view name, std::uint64_t value);
  /// The current launch, for objects that the host creates.
  launch::Launch& launch() { return launch_; }

  // --- the statement's operands
  /// The `k`-th register of that role.
  const Use& use(Role role, unsigned k) const;
  unsigned uses(Role role) const;
  /// Loads the values of the sources. Sources from setSource() have the value `value(lane)`.
  void sources() { sources({}); }
  /// Loads the sources with `values(number)` for source `number`.
  void sources(const std::function<std::vector<std::byte>(unsigned)>& values);
  void setSource(std::string_view operand, std::function<std::uint64_t(unsigned)> value);
  void setSource(std::string_view operand, std::uint64_t value) {
    setSource(operand, [value](unsigned) { return value; });
  }
  /// Writes the results to buffers.
  void results();
  /// Sets the `k`-th address register to the address of the lane's `laneBytes` bytes of a variable in shared memory, as
  /// a 32-bit or generic address, according to the operand. `within`: an offset in bytes. In clusters it is an address
  /// in the other block, unless `isOwn`.
  void placeShared(unsigned k, std::string_view variable, unsigned laneBytes, unsigned within = 0, bool isOwn = false);

  // --- results
  /// Stores a register or a predicate to a new buffer.
  void see(std::string_view reg, unsigned bits = 32);
  void seePredicate(std::string_view reg);
  void see(const Use& use);
  /// Stores the lane's bytes of a variable in shared memory, a multiple of 4, to a new buffer.
  void seeShared(std::string_view variable, unsigned laneBytes, launch::ElementType type = launch::ElementType::U32);
  /// Fills the lane's part of shared memory from a new buffer.
  void fillShared(std::string_view variable, std::string name, std::vector<std::byte> values, unsigned laneBytes);

  Kernel finish();

 private:
  struct Fixed {
    std::string_view operand;
    std::function<std::uint64_t(unsigned)> value;
  };
  std::string header() const;
  void source(const Use& use, unsigned number, std::vector<std::byte> values);
  /// A cache policy: bits that are not from createpolicy may be an illegal instruction on a GPU.
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
