#include "regalloc/webs.h"

#include "ori/function.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

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

/// What a chain occupies, by its representative.
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

double weightOf(const Instr& instr) {
  return std::pow(10.0, std::min<int>(instr.block->loopDepth, 6));
}

int modulo(int a, int m) {
  return ((a % m) + m) % m;
}

} // namespace

Webs buildWebs(const ori::Function& function, File file, const LiveRanges& ranges, const WebOptions& options) {
  const std::size_t count = function.vregCount();
  Chains chains(count);
  std::vector<Shape> shapes(count);
  std::vector<bool> live(count, false);
  for (VRegId v = 0; v < count; ++v) {
    const ori::VReg& reg = function.vreg(v);
    if (reg.file != file || !ranges.isLiveAnywhere(v)) continue;
    live[v] = true;
    shapes[v].align = reg.align;
    for (unsigned i = 0; i < reg.width; ++i)
      shapes[v].components.push_back(ranges.component(v, i));
  }

  if (options.coalesce) {
    std::vector<CopyPair> copies;
    for (const ori::Block* block : function.layout())
      for (Instr& instr : *block) {
        if (instr.op != ori::Op::COPY || instr.isGuarded()) continue;
        const Operand &to = instr.op_(0), &from = instr.op_(1);
        if (!to.isReg(file) || !from.isReg(file) || !to.isVirtual() || !from.isVirtual()) continue;
        if (to.neg() || from.neg() || from.inverted() || from.abs() || to.width != from.width) continue;
        if (live[to.reg] && live[from.reg])
          copies.push_back({to.reg, from.reg, static_cast<int>(to.sub) - static_cast<int>(from.sub), weightOf(instr)});
      }
    std::stable_sort(copies.begin(), copies.end(),
                     [](const CopyPair& a, const CopyPair& b) { return a.weight > b.weight; });

    for (const CopyPair& copy : copies) {
      // Spill temporaries stay short: joining them to a long chain would undo the spill.
      if (!options.unspillable.empty() && (options.unspillable[copy.to] || options.unspillable[copy.from])) continue;
      Chains::Place to = chains.find(copy.to), from = chains.find(copy.from);
      if (to.root == from.root) continue;
      Shape &a = shapes[to.root], &b = shapes[from.root];
      // Register of from.root relative to to.root's.
      const int shift = to.offset + copy.delta - from.offset;
      const int lowA = a.low, highA = a.low + static_cast<int>(a.components.size());
      const int lowB = b.low + shift, highB = lowB + static_cast<int>(b.components.size());
      const int low = std::min(lowA, lowB), high = std::max(highA, highB);
      // A chain may not grow beyond what one of its ends needs anyway: wide runs are hard to place.
      if (high - low > std::max(highA - lowA, highB - lowB)) continue;
      // Both must be alignable at once.
      const unsigned align = std::max(a.align, b.align);
      const int phaseA = a.alignPhase, phaseB = modulo(b.alignPhase - shift, static_cast<int>(b.align));
      if (modulo(phaseA - phaseB, static_cast<int>(std::min(a.align, b.align))) != 0) continue;
      bool conflict = false;
      for (int r = std::max(lowA, lowB); r < std::min(highA, highB) && !conflict; ++r)
        conflict =
            a.components[static_cast<std::size_t>(r - lowA)].overlaps(b.components[static_cast<std::size_t>(r - lowB)]);
      if (conflict) continue;

      std::vector<Range> joined(static_cast<std::size_t>(high - low));
      for (int r = lowA; r < highA; ++r)
        joined[static_cast<std::size_t>(r - low)] = std::move(a.components[static_cast<std::size_t>(r - lowA)]);
      for (int r = lowB; r < highB; ++r)
        joined[static_cast<std::size_t>(r - low)].unite(b.components[static_cast<std::size_t>(r - lowB)]);
      a.components = std::move(joined);
      a.low = low;
      a.alignPhase = a.align >= b.align ? phaseA : phaseB;
      a.align = align;
      b = Shape{};
      chains.attach(from.root, to.root, shift);
    }
  }

  Webs webs;
  webs.webOf.assign(count, ~0u);
  webs.offsetOf.assign(count, 0);
  std::vector<std::uint32_t> webOfRoot(count, ~0u);
  for (VRegId v = 0; v < count; ++v) {
    if (!live[v]) continue;
    Chains::Place place = chains.find(v);
    Shape& shape = shapes[place.root];
    if (webOfRoot[place.root] == ~0u) {
      webOfRoot[place.root] = static_cast<std::uint32_t>(webs.all.size());
      Web web;
      // The run starts where the alignment of its most demanding member is met.
      const int lead = modulo(shape.alignPhase + shape.low, static_cast<int>(shape.align));
      web.align = shape.align;
      web.components.resize(static_cast<std::size_t>(lead));
      for (Range& r : shape.components)
        web.components.push_back(std::move(r));
      web.width = static_cast<unsigned>(web.components.size());
      shape.low -= lead;
      web.start = ~0u;
      for (const Range& r : web.components)
        if (!r.empty()) web.start = std::min(web.start, r.start());
      webs.all.push_back(std::move(web));
    }
    const std::uint32_t id = webOfRoot[place.root];
    const unsigned offset = static_cast<unsigned>(place.offset - shape.low);
    webs.webOf[v] = id;
    webs.offsetOf[v] = static_cast<std::uint8_t>(offset);
    webs.all[id].members.push_back({v, offset});
  }

  for (Web& web : webs.all) {
    double weight = 0;
    bool spillable = true;
    for (auto [v, offset] : web.members) {
      if (!options.unspillable.empty() && options.unspillable[v]) spillable = false;
      for (const Operand* o = function.vreg(v).refs; o; o = o->nextRef)
        weight += weightOf(*o->owner);
    }
    std::uint64_t length = 1;
    for (const Range& r : web.components)
      length += r.length();
    web.spillCost = spillable ? weight / static_cast<double>(length) : std::numeric_limits<double>::infinity();
  }
  return webs;
}

} // namespace orias::regalloc
