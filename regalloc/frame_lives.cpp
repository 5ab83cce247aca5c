#include "regalloc/frame_lives.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/cfg.h"
#include "ori/calls.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace orias::regalloc {

using isa::Flag;
using isa::Operand;
using ori::BlockId;
using ori::Instr;

namespace {

/// Objects of the program that are distinguished, one bit each.
constexpr unsigned kMaxArrays = 64;
/// Above this many bits of data flow (blocks times words) no objects share bytes.
constexpr std::size_t kMaxBits = std::size_t{1} << 28;

using Bits = std::vector<std::uint64_t>;

bool has(const Bits& bits, std::size_t i) {
  return (bits[i / 64] >> (i % 64) & 1) != 0;
}
void set(Bits& bits, std::size_t i) {
  bits[i / 64] |= std::uint64_t{1} << (i % 64);
}
void clear(Bits& bits, std::size_t i) {
  bits[i / 64] &= ~(std::uint64_t{1} << (i % 64));
}
/// Adds the bits of `from`; true if some of them are new.
bool add(Bits& to, const Bits& from) {
  bool isMore = false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    isMore |= (from[i] & ~to[i]) != 0;
    to[i] |= from[i];
  }
  return isMore;
}
template <typename F> void forEach(const Bits& bits, F&& f) {
  for (std::size_t word = 0; word < bits.size(); ++word)
    for (std::uint64_t left = bits[word]; left != 0; left &= left - 1)
      f(static_cast<std::uint32_t>(64 * word + static_cast<unsigned>(std::countr_zero(left))));
}

/// Tracks which values are addresses of objects of the program.
class Addresses {
 public:
  Addresses(const ori::Function& function, const Assignment& assignment)
      : function_(function), assignment_(assignment), bitOf_(function.frame.size(), 0), of_(function.vregCount(), 0) {
    unsigned count = 0;
    for (std::size_t id = 0; id < function.frame.size(); ++id) {
      const ori::FrameObject& object = function.frame[id];
      if (object.isSpill || object.isIncoming || object.isOutgoing) continue;
      if (count < kMaxArrays) bitOf_[id] = std::uint64_t{1} << count++;
    }
    if (count == 0) return;
    for (bool changed = true; changed;) {
      changed = false;
      for (const ori::Block* block : function.layout())
        for (const Instr& instr : *block)
          changed |= follow(instr);
    }
  }

  std::uint64_t bitOf(std::size_t object) const { return bitOf_[object]; }
  std::uint64_t escaped() const { return escaped_; }
  /// The objects whose addresses registers hold.
  std::uint64_t inRegisters() const {
    std::uint64_t all = 0;
    for (const std::uint64_t of : of_)
      all |= of;
    return all;
  }

  /// The objects that an instruction may access, or whose addresses it may read.
  std::uint64_t namedBy(const Instr& instr) const {
    if (assignment_.spillMoves.contains(instr.id)) return 0;
    std::uint64_t named = 0;
    for (const ori::Operand& o : instr.refs()) {
      if (o.kind == Operand::Kind::Frame) named |= bitOf_[o.reg];
      if (!o.isDef && o.isVirtual() && o.reg != Operand::kNoReg) named |= of_[assignment_.standsFor[o.reg]];
    }
    return named;
  }

 private:
  /// Returns whether new addresses have been found.
  bool follow(const Instr& instr) {
    const std::uint64_t named = namedBy(instr);
    if (named == 0) return false;
    const isa::InstrDesc& row = isa::desc(instr.op);
    const bool isAccess = row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic);
    if (isAccess) {
      // A stored value may be an address. Only the operands that form the address of the access are known not to be
      // stored.
      std::uint64_t stored = 0;
      if (!isPlainAccess(instr)) stored = named;
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        const ori::Operand& o = instr.op_(i);
        if (o.isDef || !o.isVirtual() || !o.isReg() || isAddress(instr, i)) continue;
        stored |= of_[assignment_.standsFor[o.reg]];
      }
      const bool isMore = (stored & ~escaped_) != 0;
      escaped_ |= stored;
      return isMore;
    }
    bool changed = false;
    bool hasResult = false;
    for (const ori::Operand& o : instr.refs()) {
      if (!o.isDef || !o.isReg() || o.isZeroReg()) continue;
      if (!o.isVirtual()) {
        changed |= (named & ~escaped_) != 0;
        escaped_ |= named;
        continue;
      }
      hasResult = true;
      std::uint64_t& of = of_[assignment_.standsFor[o.reg]];
      changed |= (named & ~of) != 0;
      of |= named;
    }
    if (ori::isCall(instr) || !hasResult || row.has(Flag::SideEffect) || ori::isTerminator(instr.op)) {
      changed |= (named & ~escaped_) != 0;
      escaped_ |= named;
    }
    return changed;
  }

  /// A load or a store of local memory or by a generic address.
  static bool isPlainAccess(const Instr& instr) {
    using enum isa::Op;
    return instr.op == LDL || instr.op == STL || instr.op == LD || instr.op == ST;
  }
  static bool isAddress(const Instr& instr, unsigned i) {
    return isPlainAccess(instr) && isa::desc(instr.op).slotIndex(isa::SlotId::Ra) == static_cast<int>(i);
  }

  const ori::Function& function_;
  const Assignment& assignment_;
  std::vector<std::uint64_t> bitOf_; ///< by object
  std::vector<std::uint64_t> of_;    ///< by virtual register that spill temporaries represent
  std::uint64_t escaped_ = 0;
};

class Lives {
 public:
  Lives(const ori::Function& function, const Assignment& assignment)
      : function_(function), assignment_(assignment), cfg_(function), addresses_(function, assignment),
        ranges_(function.frame.size()), arrayCells_(kMaxArrays, 0) {
    for (std::uint32_t id = 0; id < function.frame.size(); ++id) {
      firstCell_.push_back(static_cast<std::uint32_t>(objectOf_.size()));
      const ori::FrameObject& object = function.frame[id];
      if (object.isIncoming || object.isOutgoing) continue;
      if (!object.isSpill && addresses_.bitOf(id) != 0)
        arrayCells_[static_cast<unsigned>(std::countr_zero(addresses_.bitOf(id)))] = firstCell_.back();
      objectOf_.resize(objectOf_.size() + (object.isSpill ? object.size / 4 : 1), id);
    }
  }

  std::vector<Range> run() {
    const std::size_t words = (objectOf_.size() + 63) / 64;
    if (words * 64 * cfg_.idCount() > kMaxBits) return {};
    liveIn_.assign(cfg_.idCount(), Bits(words, 0));
    reachedIn_ = reachedOut_ = liveIn_;
    flow();
    Point next = 0;
    for (const ori::Block* block : function_.layout()) {
      addBlock(*block, next);
      for ([[maybe_unused]] const Instr& instr : *block)
        next += 2;
    }
    for (std::size_t id = 0; id < ranges_.size(); ++id) {
      const bool isApart = !function_.frame[id].isSpill &&
                           (addresses_.bitOf(id) == 0 || (addresses_.escaped() & addresses_.bitOf(id)) != 0);
      if (isApart) ranges_[id].add({0, next + 1});
    }
    return std::move(ranges_);
  }

 private:
  enum class Kind : std::uint8_t {
    Read,  ///< reads what has been written before
    Write, ///< writes all of it
    Access ///< reads or writes all or a part of it
  };

  /// Calls f(cell, kind) for each cell that an instruction may access.
  template <typename F> void forEachTouched(const Instr& instr, F&& f) const {
    const auto move = assignment_.spillMoves.find(instr.id);
    if (move == assignment_.spillMoves.end()) {
      for (std::uint64_t left = addresses_.namedBy(instr); left != 0; left &= left - 1)
        f(arrayCells_[static_cast<unsigned>(std::countr_zero(left))], Kind::Access);
      return;
    }
    const bool isLoad = move->second.kind == SpillMove::Kind::Load;
    if (!isLoad && move->second.kind != SpillMove::Kind::Store) return;
    for (const ori::Operand& o : instr.ops()) {
      if (o.kind != Operand::Kind::Frame) continue;
      const std::uint32_t first = firstCell_[o.reg] + static_cast<std::uint32_t>(o.imm) / 4;
      for (unsigned i = 0; i < instr.op_(move->second.reg).width; ++i)
        f(first + i, isLoad ? Kind::Read : instr.isGuarded() ? Kind::Access : Kind::Write);
    }
  }

  void flow() {
    const auto order = cfg_.reversePostOrder();
    for (bool changed = true; changed;) {
      changed = false;
      for (auto id = order.rbegin(); id != order.rend(); ++id) {
        Bits live = liveOut(*id);
        for (const Instr* instr = function_.block(*id)->last; instr; instr = instr->prev)
          forEachTouched(*instr, [&](std::uint32_t cell, Kind kind) {
            if (kind == Kind::Write)
              clear(live, cell);
            else if (kind == Kind::Read || !isSpillCell(cell))
              set(live, cell);
          });
        changed |= add(liveIn_[*id], live);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockId id : order) {
        for (const BlockId p : cfg_.predecessors(id))
          add(reachedIn_[id], reachedOut_[p]);
        Bits reached = reachedIn_[id];
        for (const Instr& instr : *function_.block(id))
          forEachTouched(instr, [&](std::uint32_t cell, Kind kind) {
            if (kind != Kind::Read) set(reached, cell);
          });
        changed |= add(reachedOut_[id], reached);
      }
    }
  }

  bool isSpillCell(std::uint32_t cell) const { return function_.frame[objectOf_[cell]].isSpill; }

  Bits liveOut(BlockId id) const {
    Bits live(liveIn_[id].size(), 0);
    for (const BlockId s : cfg_.successors(id))
      add(live, liveIn_[s]);
    return live;
  }

  /// Adds the live ranges in a block whose first instruction has point `start`.
  void addBlock(const ori::Block& block, Point start) {
    Point end = start;
    for ([[maybe_unused]] const Instr& instr : block)
      end += 2;
    if (!cfg_.isReachable(block.id)) {
      // Nothing is known of an unreachable block.
      for (Range& range : ranges_)
        if (start < end) range.add({start, end});
      return;
    }
    // By cell: the end of its live segment, and the first point where it may be written; 0: none.
    until_.resize(objectOf_.size(), 0);
    written_.resize(objectOf_.size(), 0);
    std::vector<std::uint32_t> opened;
    const auto open = [&](std::uint32_t cell, Point to) {
      if (until_[cell] != 0) return;
      until_[cell] = to;
      opened.push_back(cell);
    };
    forEach(liveOut(block.id), [&](std::uint32_t cell) {
      if (has(reachedOut_[block.id], cell)) open(cell, end);
    });
    const auto close = [&](std::uint32_t cell, Point from, Point to) { ranges_[objectOf_[cell]].add({from, to}); };
    Point point = end;
    for (const Instr* instr = block.last; instr; instr = instr->prev) {
      point -= 2;
      forEachTouched(*instr, [&](std::uint32_t cell, Kind kind) {
        if (kind == Kind::Write) {
          close(cell, point + 1, std::max(until_[cell], point + 2));
          until_[cell] = 0;
          return;
        }
        if (kind == Kind::Read || !isSpillCell(cell)) open(cell, point + 2);
        if (kind == Kind::Read) return;
        close(cell, point, point + 2);
        written_[cell] = point + 1;
        opened.push_back(cell);
      });
    }
    for (const std::uint32_t cell : opened) {
      const Point to = std::exchange(until_[cell], 0), first = std::exchange(written_[cell], 0);
      if (to == 0) continue;
      if (has(reachedIn_[block.id], cell))
        close(cell, start, to);
      else if (first != 0)
        close(cell, first - 1, to);
    }
  }

  const ori::Function& function_;
  const Assignment& assignment_;
  const ori::Cfg cfg_;
  const Addresses addresses_;
  std::vector<Range> ranges_;                         ///< by object
  std::vector<std::uint32_t> firstCell_;              ///< by object: words of spill slots, or one for all of an array
  std::vector<std::uint32_t> objectOf_;               ///< by cell
  std::vector<std::uint32_t> arrayCells_;             ///< by bit of the object
  std::vector<Bits> liveIn_, reachedIn_, reachedOut_; ///< by block
  std::vector<Point> until_, written_;                ///< by cell: scratch
};

} // namespace

FrameAddresses frameAddresses(const ori::Function& function, const Assignment& assignment) {
  const Addresses addresses(function, assignment);
  FrameAddresses found;
  for (std::size_t id = 0; id < function.frame.size(); ++id) {
    const ori::FrameObject& object = function.frame[id];
    const bool isOfProgram = !object.isSpill && !object.isIncoming && !object.isOutgoing;
    const std::uint64_t bit = addresses.bitOf(id);
    found.isInRegister.push_back(isOfProgram && (bit == 0 || (addresses.inRegisters() & bit) != 0));
    found.escapes.push_back(isOfProgram && (bit == 0 || (addresses.escaped() & bit) != 0));
  }
  return found;
}

std::vector<Range> frameLives(const ori::Function& function, const Assignment& assignment) {
  return Lives(function, assignment).run();
}

} // namespace orias::regalloc
