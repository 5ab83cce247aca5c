#pragma once

#include "ori/analysis/cfg.h"
#include "ori/calls.h"
#include "ori/function.h"

#include <algorithm>
#include <vector>

namespace orias::regalloc {

/// Tracks what each register holds, over the blocks in reverse post-order. At the start of a block: the values that its
/// predecessors agree on, and nothing if one of them has not been visited yet. `nothing` is the value for an unknown
/// content.
template <typename Value> class HeldValues {
 public:
  HeldValues(const ori::Cfg& cfg, std::size_t registers, Value nothing)
      : cfg_(cfg), registers_(registers), nothing_(nothing), after_(cfg.idCount()) {}

  std::vector<Value> now; ///< by register

  void enter(ori::BlockId id) {
    const auto& from = cfg_.predecessors(id);
    now.assign(registers_, nothing_);
    const bool areAllKnown = std::ranges::none_of(from, [&](ori::BlockId p) { return after_[p].empty(); });
    if (from.empty() || !areAllKnown) return;
    now = after_[from[0]];
    for (const ori::BlockId p : from)
      for (std::size_t r = 0; r < registers_; ++r)
        if (after_[p][r] != now[r]) now[r] = nothing_;
  }
  void leave(ori::BlockId id) { after_[id] = now; }

 private:
  const ori::Cfg& cfg_;
  const std::size_t registers_;
  const Value nothing_;
  std::vector<std::vector<Value>> after_; // by block: `now` at its end; empty if not known yet
};

/// Whether an instruction may change a register that is not one of its results. A call may change those of files R and
/// P that the functions of the driver do not preserve, and all other files; `setmaxnreg` may change all of file R.
inline bool changesHidden(const ori::Instr& instr, isa::File file, std::uint32_t reg) {
  const bool isOfLanes = file == isa::File::R || file == isa::File::P;
  if (ori::isCall(instr))
    return instr.op != ori::Op::CALL_EXTERN || !isOfLanes || !ori::survivesCall(ori::conventionOf(instr), file, reg);
  return file == isa::File::R && (instr.op == ori::Op::USETMAXREG_ALLOC || instr.op == ori::Op::USETMAXREG_DEALLOC);
}
/// Whether `changesHidden` is true of any register.
inline bool changesHidden(const ori::Instr& instr) {
  return ori::isCall(instr) || instr.op == ori::Op::USETMAXREG_ALLOC || instr.op == ori::Op::USETMAXREG_DEALLOC;
}

/// The only instruction that reads the temporary, if `move` writes all of it; null otherwise.
inline const ori::Instr* onlyReader(const ori::Function& function, const ori::Instr& move, const ori::Operand& temp) {
  if (!temp.isVirtual() || temp.sub != 0 || std::max(temp.width, std::uint8_t{1}) != function.vreg(temp.reg).width)
    return nullptr;
  const ori::Instr* reader = nullptr;
  for (const ori::Ref o : function.refs(temp.reg)) {
    if (o.owner == &move) continue;
    if (o->isDef || (reader && reader != o.owner)) return nullptr;
    reader = o.owner;
  }
  return reader;
}

/// Whether the reader follows closely after the move in the same block, and `isLost(instr)` is false for all
/// instructions up to and including the reader.
template <typename IsLost> bool staysUntil(const ori::Instr& move, const ori::Instr& reader, IsLost&& isLost) {
  unsigned left = 16; // other moves for the same reader
  for (const ori::Instr* at = move.next; at && left-- != 0; at = at->next) {
    if (isLost(*at)) return false;
    if (at == &reader) return true;
  }
  return false;
}

} // namespace orias::regalloc
