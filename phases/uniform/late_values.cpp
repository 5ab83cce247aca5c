#include "phases/uniform/late_values.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "phases/occupancy.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace orias::phases {

using isa::File;
using ori::Block;
using ori::Instr;

namespace {

/// Blocks that need less than this part of the file are skipped: tuples can be allocated there, and moved values would
/// delay their readers.
constexpr unsigned kCrowdedNumerator = 2, kCrowdedDenominator = 3;

/// Whether a uniform-datapath instruction only computes its result from its sources.
bool isPlainSum(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  return row.pipe == isa::Pipe::Uniform && !instr.isGuarded() && !row.isPseudo() && !row.has(isa::Flag::SideEffect) &&
         !row.has(isa::Flag::Volatile) && !row.has(isa::Flag::Convergent) && !row.has(isa::Flag::Load);
}

class Delayer {
 public:
  explicit Delayer(ori::Function& function) : function_(function), liveness_(function.analyses().liveness()) {}

  unsigned run(Block& block) {
    place_.assign(function_.instrIdCount(), 0);
    std::vector<Instr*> instrs;
    for (Instr& instr : block) {
      instrs.push_back(&instr);
      place_[instr.id] = static_cast<std::uint32_t>(instrs.size());
    }
    unsigned moved = 0;
    // Bottom up: a value moves down to readers that have been moved already.
    for (auto at = instrs.rbegin(); at != instrs.rend(); ++at)
      moved += delay(**at);
    return moved;
  }

 private:
  bool delay(Instr& instr) {
    const ori::Operand* result = nullptr;
    if (!isPlainSum(instr)) return false;
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isReg() || o.isZeroReg()) continue;
      if (o.file != File::UR || !o.isVirtual() || function_.vreg(o.reg).multiDef) return false;
      if (!o.isDef) continue;
      if (result || o.width != function_.vreg(o.reg).width) return false;
      result = &o;
    }
    if (!result) return false;
    Instr* reader = nullptr;
    for (const ori::Ref o : function_.refs(result->reg)) {
      if (o->isDef) continue;
      if (o.owner->block != instr.block) return false;
      if (!reader || place_[o.owner->id] < place_[reader->id]) reader = o.owner;
    }
    if (!reader) return false;
    // Instructions moved before the same reader have that reader's position.
    for (Instr* other = reader->prev; other && place_[other->id] == place_[reader->id]; other = other->prev)
      if (reads(*other, *result)) reader = other;
    if (reader == instr.next || place_[reader->id] <= place_[instr.id]) return false;
    // The result is no longer live in between. Its sources may take at most as many registers there instead.
    unsigned longer = 0;
    for (const ori::Operand& o : instr.ops())
      if (o.isVirtual() && !o.isDef && !livesUntil(o, instr, *reader)) longer += o.width;
    if (longer > result->width) return false;
    function_.unlink(&instr);
    function_.insertBefore(reader, &instr);
    place_[instr.id] = place_[reader->id];
    return true;
  }

  static bool reads(const Instr& instr, const ori::Operand& result) {
    return std::ranges::any_of(instr.ops(),
                               [&](const ori::Operand& o) { return !o.isDef && o.isVirtual() && o.reg == result.reg; });
  }

  /// Whether the register is occupied up to the reader without this use.
  bool livesUntil(const ori::Operand& source, const Instr& instr, const Instr& reader) const {
    const ori::Components& components = liveness_.components();
    bool isLiveOut = true;
    for (unsigned i = 0; i < source.width; ++i)
      isLiveOut = isLiveOut && liveness_.isLiveOut(instr.block->id, components.of(source.reg, source.sub + i));
    if (isLiveOut) return true;
    for (const ori::Ref o : function_.refs(source.reg))
      if (!o->isDef && o.owner != &instr && o.owner->block == instr.block && place_[o.owner->id] >= place_[reader.id] &&
          o->sub <= source.sub && source.sub + source.width <= o->sub + o->width)
        return true;
    return false;
  }

  ori::Function& function_;
  const ori::Liveness& liveness_;    ///< of the original code; live-out values do not change
  std::vector<std::uint32_t> place_; ///< by instruction id: its position in the block, from 1
};

} // namespace

unsigned delayUniformValues(ori::Function& function, const PhaseContext& context) {
  const unsigned crowded = context.target.registerCount(File::UR) * kCrowdedNumerator / kCrowdedDenominator;
  if (namedRegisters(function, File::UR) <= crowded) return 0;
  const ori::RegisterPressure& pressure = function.analyses().pressure();
  std::vector<Block*> blocks;
  for (Block* block : function.layout())
    if (pressure.inBlock(block->id)[static_cast<std::size_t>(File::UR)] > crowded) blocks.push_back(block);
  if (blocks.empty()) return 0;
  Delayer delayer(function);
  unsigned moved = 0;
  for (Block* block : blocks)
    moved += delayer.run(*block);
  return moved;
}

} // namespace orias::phases
