#pragma once

#include "ori/function.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace orias::ori {

/// One 32-bit register, predicate or barrier: a component of a virtual register, or a physical register.
using CompId = std::uint32_t;

/// Numbers the components of a function densely: first those of the virtual registers, in the order of their ids, then
/// the physical registers of all files. A snapshot: virtual registers made later have no numbers until `extend`, which
/// appends them.
class Components {
 public:
  explicit Components(const Function& function) {
    extend(function);
    virtualCount_ = count();
    owner_.reserve(virtualCount_ + kAllPhysical);
    files_.reserve(virtualCount_ + kAllPhysical);
    for (unsigned f = 0; f < isa::kFileCount; ++f) {
      physical_[f] = count();
      owner_.insert(owner_.end(), kPhysicalCount[f], kNoId);
      files_.insert(files_.end(), kPhysicalCount[f], static_cast<File>(f));
    }
  }
  /// Numbers the virtual registers that were created since the last call.
  void extend(const Function& function) {
    const auto known = static_cast<VRegId>(ranges_.size()), all = static_cast<VRegId>(function.vregCount());
    CompId next = count(), end = next;
    for (VRegId id = known; id < all; ++id)
      end += function.vreg(id).width;
    ranges_.resize(all);
    owner_.resize(end);
    files_.resize(end);
    for (VRegId id = known; id < all; ++id) {
      const VReg& reg = function.vreg(id);
      ranges_[id] = {next, next + reg.width};
      for (; next < ranges_[id].end; ++next) {
        owner_[next] = id;
        files_[next] = reg.file;
      }
    }
  }

  /// All component numbers are below this.
  CompId count() const { return static_cast<CompId>(files_.size()); }
  /// The number of components of the virtual registers that existed at construction; the physical ones follow.
  CompId virtualCount() const { return virtualCount_; }
  bool isVirtual(CompId comp) const { return owner_[comp] != kNoId; }
  /// The virtual register of a component, and its index in it.
  VRegId vreg(CompId comp) const { return owner_[comp]; }
  unsigned sub(CompId comp) const { return comp - ranges_[owner_[comp]].first; }
  /// The number of a physical register in its file.
  std::uint32_t physicalNumber(CompId comp) const { return comp - physical_[static_cast<unsigned>(files_[comp])]; }
  File file(CompId comp) const { return files_[comp]; }
  CompId of(VRegId id, unsigned sub) const { return ranges_[id].first + sub; }
  CompId ofPhysical(File file, std::uint32_t number) const { return physical_[static_cast<unsigned>(file)] + number; }

  /// Calls f(CompId) for each register that an operand reads or writes; none for RZ, PT, immediates and so on.
  template <typename F> void forEach(const isa::Operand& operand, F&& f) const {
    const Range range = rangeOf(operand);
    for (CompId c = range.first; c < range.end; ++c)
      f(c);
  }
  /// Calls f(word, bits) for the same registers, 64 numbers at a time: 64 * word + i for each bit i.
  template <typename F> void forEachWord(const isa::Operand& operand, F&& f) const {
    const Range range = rangeOf(operand);
    for (CompId c = range.first; c < range.end;) {
      const CompId end = std::min(range.end, (c | 63) + 1);
      f(c / 64, ~std::uint64_t{0} >> (64 - (end - c)) << c % 64);
      c = end;
    }
  }

 private:
  /// R 0..254, UR 0..62, predicates 0..6: the zero register has no component. Barriers have no zero register.
  static constexpr std::array<std::uint32_t, isa::kFileCount> kPhysicalCount{255, 63, 7, 7, 16};
  static constexpr std::uint32_t kAllPhysical = 255 + 63 + 7 + 7 + 16;
  /// A bindless constant names one uniform register, for any width of the load.
  static unsigned width(const isa::Operand& operand) { return operand.isReg() ? operand.width : 1; }

  struct Range {
    CompId first, end;
  };
  Range rangeOf(const isa::Operand& operand) const {
    if (operand.reg == isa::Operand::kNoReg) return {0, 0};
    if (operand.isVirtual()) {
      const Range all = ranges_[operand.reg];
      return {all.first + operand.sub, std::min(all.end, all.first + operand.sub + width(operand))};
    }
    if ((!operand.isReg() || operand.isZeroReg()) && !operand.isConst()) return {0, 0};
    const auto file = static_cast<unsigned>(operand.file);
    const CompId first = physical_[file];
    return {first + operand.reg, first + std::min(kPhysicalCount[file], operand.reg + width(operand))};
  }

  std::vector<Range> ranges_; // by virtual register
  std::vector<VRegId> owner_; // by component; kNoId for physical registers
  std::vector<File> files_;   // by component
  CompId virtualCount_ = 0;
  std::array<CompId, isa::kFileCount> physical_{};
};

} // namespace orias::ori
