#pragma once

#include "ori/function.h"

#include <array>
#include <cstdint>
#include <vector>

namespace orias::ori {

/// One 32-bit register, predicate or barrier: a component of a virtual register, or a physical register.
using CompId = std::uint32_t;

/// Numbers the components of a function densely: first those of the virtual registers, in the order of their ids, then
/// the physical registers of all files. A snapshot: virtual registers made later have no numbers.
class Components {
 public:
  explicit Components(const Function& function) {
    first_.reserve(function.vregCount() + 1);
    for (VRegId id = 0; id < function.vregCount(); ++id) {
      first_.push_back(static_cast<CompId>(owner_.size()));
      owner_.insert(owner_.end(), function.vreg(id).width, id);
      files_.insert(files_.end(), function.vreg(id).width, function.vreg(id).file);
    }
    first_.push_back(static_cast<CompId>(owner_.size()));
    for (unsigned f = 0; f < isa::kFileCount; ++f) {
      physical_[f] = static_cast<CompId>(files_.size());
      files_.insert(files_.end(), kPhysicalCount[f], static_cast<File>(f));
    }
  }

  /// Numbers are below this.
  CompId count() const { return static_cast<CompId>(files_.size()); }
  CompId virtualCount() const { return static_cast<CompId>(owner_.size()); }
  bool isVirtual(CompId comp) const { return comp < owner_.size(); }
  /// The virtual register that a component belongs to, and which part of it it is.
  VRegId vreg(CompId comp) const { return owner_[comp]; }
  unsigned sub(CompId comp) const { return comp - first_[owner_[comp]]; }
  /// The number of a physical register in its file.
  std::uint32_t physicalNumber(CompId comp) const { return comp - physical_[static_cast<unsigned>(files_[comp])]; }
  File file(CompId comp) const { return files_[comp]; }
  CompId of(VRegId id, unsigned sub) const { return first_[id] + sub; }
  CompId ofPhysical(File file, std::uint32_t number) const { return physical_[static_cast<unsigned>(file)] + number; }

  /// Calls f(CompId) for each register that an operand reads or writes; none for RZ, PT, immediates and so on.
  template <typename F> void forEach(const isa::Operand& operand, F&& f) const {
    if (operand.reg == isa::Operand::kNoReg) return;
    if (operand.isVirtual()) {
      const CompId end = first_[operand.reg + 1];
      for (CompId c = first_[operand.reg] + operand.sub, n = 0; n < width(operand) && c < end; ++c, ++n)
        f(c);
    } else if ((operand.isReg() && !operand.isZeroReg()) || operand.isConst()) {
      const auto file = static_cast<unsigned>(operand.file);
      const std::uint32_t end = kPhysicalCount[file];
      for (std::uint32_t r = operand.reg, n = 0; n < width(operand) && r < end; ++r, ++n)
        f(physical_[file] + r);
    }
  }

 private:
  /// R 0..254, UR 0..62 and 0..6 for predicates: the zero register is none. Barriers have no zero.
  static constexpr std::array<std::uint32_t, isa::kFileCount> kPhysicalCount{255, 63, 7, 7, 16};
  /// A bindless constant names one uniform register, whatever the width of what it loads.
  static unsigned width(const isa::Operand& operand) { return operand.isReg() ? operand.width : 1; }

  std::vector<CompId> first_; // by virtual register
  std::vector<VRegId> owner_; // by virtual component
  std::vector<File> files_;   // by component
  std::array<CompId, isa::kFileCount> physical_{};
};

} // namespace orias::ori
