#include "regalloc/webs.h"

#include "ori/function.h"
#include "regalloc/accumulators.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

namespace orias::regalloc {

using isa::File;
using ori::Instr;
using ori::Operand;
using ori::VRegId;

namespace {

/// Union-find whose members carry an offset to their representative.
class Chains {
 public:
  explicit Chains(std::size_t count) : parent_(count), offset_(count, 0) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }

  struct Place {
    VRegId root;
    int offset;
  };
  Place find(VRegId v) {
    int offset = 0;
    VRegId root = v;
    while (parent_[root] != root) {
      offset += offset_[root];
      root = parent_[root];
    }
    // Path compression.
    int rest = offset;
    while (parent_[v] != root && v != root) {
      VRegId up = parent_[v];
      int step = offset_[v];
      parent_[v] = root;
      offset_[v] = rest;
      rest -= step;
      v = up;
    }
    return {root, offset};
  }
  void attach(VRegId root, VRegId to, int offset) {
    parent_[root] = to;
    offset_[root] = offset;
  }

 private:
  std::vector<VRegId> parent_;
  std::vector<int> offset_;
};

/// The registers of a chain, by its representative.
struct Shape {
  int low = 0; ///< first register relative to the representative's
  std::vector<Range> components;
  int alignPhase = 0; ///< representative's register number modulo `align`
  unsigned align = 1;
};

struct CopyPair {
  VRegId to, from;
  int delta; ///< register of `from` minus register of `to`, when they share
  double weight;
};

/// Whether this copies whole or parts of virtual registers that may share their registers. If the guard is false and
/// the result is undefined then, it may as well be the source.
bool isPlainCopy(const Instr& instr, File file) {
  if (instr.op != ori::Op::COPY || (instr.isGuarded() && !instr.hasUndefinedRest)) return false;
  const Operand &to = instr.op_(0), &from = instr.op_(1);
  if (!to.isReg(file) || !from.isReg(file) || !to.isVirtual() || !from.isVirtual()) return false;
  return !to.neg() && !from.neg() && !from.inverted() && !from.abs() && to.width == from.width;
}

/// A wgmma adds in place. If the old sum is in another register, it must be copied to that of the new one, after a wait
/// for earlier products of that sum.
std::optional<CopyPair> sumsOf(const Instr& instr, File file) {
  const std::optional<SumSlots> slots = file == File::R ? sumSlotsOf(instr) : std::nullopt;
  if (!slots) return std::nullopt;
  const Operand &sum = instr.op_(slots->sum), &old = instr.op_(slots->old);
  if (!sum.isVirtual() || !old.isVirtual() || sum.width != old.width) return std::nullopt;
  return CopyPair{sum.reg, old.reg, static_cast<int>(sum.sub) - static_cast<int>(old.sub), weightOf(instr) * sum.width};
}

/// Two chains that share one run; registers are counted from the representative of the first.
class Joint {
 public:
  Joint(Chains& chains, VRegId first, VRegId second, int shift)
      : chains_(chains), first_(first), second_(second), shift_(shift) {}

  /// Whether the registers at one place hold one value wherever both are live: from a copy between them on, in its
  /// block, until something else is written to either. An example is the result of an iteration that is copied for the
  /// next one and is also used after the loop.
  bool agree(const Range& a, const Range& b, int at, const LiveRanges& ranges) const {
    const auto x = a.segments(), y = b.segments();
    for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
      const Point start = std::max(x[i].start, y[j].start), end = std::min(x[i].end, y[j].end);
      if (start < end && !holdsOneValue(start, end, at, ranges)) return false;
      (x[i].end <= y[j].end ? i : j) += 1;
    }
    return true;
  }

 private:
  /// Limits the search. Longer overlaps do not count as equal.
  static constexpr Point kLongest = 1024;

  bool holdsOneValue(Point start, Point end, int at, const LiveRanges& ranges) const {
    const bool isDefinition = start % 2 == 1;
    const Instr* instr = ranges.instrAt(start);
    if (!isDefinition || end - start > kLongest || !copiesItself(*instr, at)) return false;
    const Instr* last = ranges.instrAt(end - 1);
    while (instr != last) {
      instr = instr->next;
      if (instr == nullptr) return false; // end of the block
      const bool writesBefore = ranges.defPoint(*instr) < end;
      if (writesBefore && writes(*instr, at) && !copiesItself(*instr, at)) return false;
    }
    return true;
  }

  /// A copy from the place to itself: from one chain to the other, or within one.
  bool copiesItself(const Instr& instr, int at) const {
    return isPlainCopy(instr, File::R) && covers(instr.op_(0), at) && placeOf(instr.op_(0)) == placeOf(instr.op_(1));
  }
  bool writes(const Instr& instr, int at) const {
    return std::any_of(instr.ops().begin(), instr.ops().end(),
                       [&](const Operand& o) { return o.isDef && covers(o, at); });
  }
  bool covers(const Operand& o, int at) const {
    if (!o.isReg(File::R) || !o.isVirtual()) return false;
    const std::optional<int> place = placeOf(o);
    return place && *place <= at && at < *place + o.width;
  }
  /// The place where the operand begins; nothing if it is in neither chain.
  std::optional<int> placeOf(const Operand& o) const {
    const Chains::Place place = chains_.find(o.reg);
    if (place.root == first_) return place.offset + o.sub;
    if (place.root == second_) return place.offset + shift_ + o.sub;
    return std::nullopt;
  }

  Chains& chains_;
  VRegId first_, second_;
  int shift_;
};

/// Parts of a spilled value may share registers only if they share the words of the slot.
bool haveOneHome(const std::vector<Home>& homes, const CopyPair& copy) {
  if (homes.empty()) return true;
  const Home &to = homes[copy.to], &from = homes[copy.from];
  return to.object == from.object &&
         (!to.exists() || static_cast<int>(from.word) - static_cast<int>(to.word) == copy.delta);
}

int modulo(int a, int m) {
  return ((a % m) + m) % m;
}

/// The chains of the registers of a file: each register alone at first, then joined by copies.
class ChainBuilder {
 public:
  ChainBuilder(const ori::Function& function, File file, const LiveRanges& ranges)
      : function_(function), file_(file), ranges_(ranges), chains_(function.vregCount()), shapes_(function.vregCount()),
        isLive_(function.vregCount(), false) {
    for (VRegId v = 0; v < function.vregCount(); ++v) {
      const ori::VReg& reg = function.vreg(v);
      if (reg.file != file || !ranges.isLiveAnywhere(v)) continue;
      isLive_[v] = true;
      shapes_[v].align = reg.align;
      for (unsigned i = 0; i < reg.width; ++i)
        shapes_[v].components.push_back(ranges.component(v, i));
    }
  }

  /// Joins chains that copies connect, the most frequent copies first.
  void coalesce(const WebOptions& options) {
    for (const CopyPair& copy : copiesByWeight()) {
      // Spill temporaries must remain short: joining one to a long chain would undo the spill.
      if (!options.unspillable.empty() && (options.unspillable[copy.to] || options.unspillable[copy.from])) continue;
      if (haveOneHome(options.homes, copy)) join(copy);
    }
  }

  /// Turns the chains into webs, without weights.
  Webs takeWebs() && {
    const std::size_t count = function_.vregCount();
    Webs webs;
    webs.webOf.assign(count, ~0u);
    webs.offsetOf.assign(count, 0);
    std::vector<std::uint32_t> webOfRoot(count, ~0u);
    for (VRegId v = 0; v < count; ++v) {
      if (!isLive_[v]) continue;
      const Chains::Place place = chains_.find(v);
      Shape& shape = shapes_[place.root];
      if (webOfRoot[place.root] == ~0u) {
        webOfRoot[place.root] = static_cast<std::uint32_t>(webs.all.size());
        webs.all.push_back(takeWeb(shape));
      }
      const std::uint32_t id = webOfRoot[place.root];
      const unsigned offset = static_cast<unsigned>(place.offset - shape.low);
      webs.webOf[v] = id;
      webs.offsetOf[v] = static_cast<std::uint8_t>(offset);
      webs.all[id].members.push_back({v, offset});
    }
    return webs;
  }

 private:
  std::vector<CopyPair> copiesByWeight() const {
    std::vector<CopyPair> copies;
    for (const ori::Block* block : function_.layout())
      for (Instr& instr : *block) {
        if (const std::optional<CopyPair> sums = sumsOf(instr, file_); sums && isLive_[sums->to] && isLive_[sums->from])
          copies.push_back(*sums);
        if (!isPlainCopy(instr, file_)) continue;
        const Operand &to = instr.op_(0), &from = instr.op_(1);
        if (isLive_[to.reg] && isLive_[from.reg])
          copies.push_back({to.reg, from.reg, static_cast<int>(to.sub) - static_cast<int>(from.sub), weightOf(instr)});
      }
    std::stable_sort(copies.begin(), copies.end(),
                     [](const CopyPair& a, const CopyPair& b) { return a.weight > b.weight; });
    return copies;
  }

  /// Joins the chains of both registers, unless they conflict.
  void join(const CopyPair& copy) {
    const Chains::Place to = chains_.find(copy.to), from = chains_.find(copy.from);
    if (to.root == from.root) return;
    Shape &a = shapes_[to.root], &b = shapes_[from.root];
    // Register of from.root relative to to.root's.
    const int shift = to.offset + copy.delta - from.offset;
    const int lowA = a.low, highA = a.low + static_cast<int>(a.components.size());
    const int lowB = b.low + shift, highB = lowB + static_cast<int>(b.components.size());
    const int low = std::min(lowA, lowB), high = std::max(highA, highB);
    // A chain may not grow beyond the need of one of its ends: wide runs are hard to place.
    if (high - low > std::max(highA - lowA, highB - lowB)) return;
    // Both must be alignable at the same time.
    const int phaseA = a.alignPhase, phaseB = modulo(b.alignPhase - shift, static_cast<int>(b.align));
    if (modulo(phaseA - phaseB, static_cast<int>(std::min(a.align, b.align))) != 0) return;
    const Joint joint(chains_, to.root, from.root, shift);
    for (int r = std::max(lowA, lowB); r < std::min(highA, highB); ++r) {
      const Range& x = a.components[static_cast<std::size_t>(r - lowA)];
      const Range& y = b.components[static_cast<std::size_t>(r - lowB)];
      // Registers of the warp are occupied even where they have no value.
      if (x.overlaps(y) && (file_ != File::R || !joint.agree(x, y, r, ranges_))) return;
    }

    std::vector<Range> joined(static_cast<std::size_t>(high - low));
    for (int r = lowA; r < highA; ++r)
      joined[static_cast<std::size_t>(r - low)] = std::move(a.components[static_cast<std::size_t>(r - lowA)]);
    for (int r = lowB; r < highB; ++r)
      joined[static_cast<std::size_t>(r - low)].unite(b.components[static_cast<std::size_t>(r - lowB)]);
    a.components = std::move(joined);
    a.low = low;
    a.alignPhase = a.align >= b.align ? phaseA : phaseB;
    a.align = std::max(a.align, b.align);
    b = Shape{};
    chains_.attach(from.root, to.root, shift);
  }

  /// The run starts where the alignment of its most demanding member is satisfied; `shape.low` moves there.
  static Web takeWeb(Shape& shape) {
    const int lead = modulo(shape.alignPhase + shape.low, static_cast<int>(shape.align));
    Web web;
    web.align = shape.align;
    web.components.resize(static_cast<std::size_t>(lead));
    for (Range& r : shape.components)
      web.components.push_back(std::move(r));
    web.width = static_cast<unsigned>(web.components.size());
    shape.low -= lead;
    web.start = ~0u;
    for (const Range& r : web.components)
      if (!r.empty()) web.start = std::min(web.start, r.start());
    return web;
  }

  const ori::Function& function_;
  const File file_;
  const LiveRanges& ranges_;
  Chains chains_;
  std::vector<Shape> shapes_; // by register: of representatives
  std::vector<bool> isLive_;  // by register
};

/// Sets the weight and the spill cost.
void weigh(Web& web, const ori::Function& function, const WebOptions& options) {
  for (auto [v, offset] : web.members) {
    if (!options.unspillable.empty() && options.unspillable[v]) web.weight = std::numeric_limits<double>::infinity();
    for (const ori::Ref o : function.refs(v))
      web.weight += weightOf(*o.owner);
  }
  std::uint64_t length = 1;
  for (const Range& r : web.components)
    length += r.length();
  web.spillCost = web.weight / static_cast<double>(length);
}

} // namespace

Range envelope(const Web& web) {
  Range all;
  for (const Range& r : web.components)
    all.unite(r);
  return all;
}

double weightOf(const ori::Instr& instr) {
  return static_cast<double>(instr.block->frequency);
}

Webs buildWebs(const ori::Function& function, File file, const LiveRanges& ranges, const WebOptions& options) {
  ChainBuilder chains(function, file, ranges);
  if (options.coalesce) chains.coalesce(options);
  Webs webs = std::move(chains).takeWebs();
  for (Web& web : webs.all)
    weigh(web, function, options);
  return webs;
}

} // namespace orias::regalloc
