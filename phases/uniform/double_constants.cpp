#include "phases/uniform/double_constants.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/uniform/constants.h"
#include "phases/uniform/consumers.h"
#include "support/check.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;
using ori::VRegId;

namespace {

using Words = std::array<std::uint32_t, 2>;

class DoubleMover {
 public:
  explicit DoubleMover(ori::Function& function) : function_(function), loops_(function.analyses().loops()) {}

  /// The number that two MOVs write to the pair, if they are its only definitions.
  std::optional<Words> numberOf(VRegId pair) const {
    const ori::VReg& reg = function_.vreg(pair);
    if (reg.file != File::R || reg.width != 2 || !reg.hasRefs()) return std::nullopt;
    Words words{};
    unsigned written = 0, defs = 0;
    function_.forEachDef(pair, [&](ori::Ref def) {
      const Instr& instr = *def.owner;
      ++defs;
      if (instr.op != Op::MOV || instr.isGuarded() || !instr.op_(1).isImm() || def->width != 1) return;
      words[def->sub] = static_cast<std::uint32_t>(instr.op_(1).imm);
      written |= 1u << def->sub;
    });
    return defs == 2 && written == 3 ? std::optional(words) : std::nullopt;
  }

  /// Moves the pair, if each of its readers accepts a uniform register.
  bool move(VRegId pair, const Words& words) {
    std::vector<Instr*> readers;
    ori::LoopId loop = ori::kNoId;
    function_.forEachDef(pair, [&](ori::Ref def) { loop = loops_.innermost(def.owner->block->id); });
    bool fit = true;
    function_.forEachUse(pair, [&](ori::Ref use) {
      Instr& instr = *use.owner;
      fit = fit && isa::desc(instr.op).pipe == isa::Pipe::Fp64 && use->width == 2 && use->sub == 0 &&
            loops_.innermost(instr.block->id) == loop && takes(instr, *use) &&
            std::ranges::find(readers, &instr) == readers.end(); // an instruction takes one uniform register
      readers.push_back(&instr);
    });
    if (!fit || readers.empty()) return false;
    std::vector<std::pair<ori::Block*, Operand>> inBlocks;
    for (Instr* reader : readers)
      replace(*reader, pair, uniformIn(*reader, words, readers, inBlocks));
    std::vector<Instr*> writers;
    function_.forEachDef(pair, [&](ori::Ref def) { writers.push_back(def.owner); });
    for (Instr* writer : writers)
      function_.erase(writer);
    return true;
  }

 private:
  static Operand asUniform(const Operand& old, VRegId reg) {
    Operand uniform = old;
    uniform.file = File::UR;
    uniform.reg = reg;
    return uniform;
  }

  static bool takes(const Instr& instr, const ori::Operand& use) {
    InstrDraft draft(instr);
    return placeInstead(draft, use.value(), asUniform(use.value(), use.reg));
  }

  void replace(Instr& instr, VRegId pair, const Operand& uniform) {
    InstrDraft draft(instr);
    bool isPlaced = false;
    for (const ori::Operand& o : instr.ops())
      if (!o.isDef && o.isVirtual() && o.reg == pair)
        isPlaced = placeInstead(draft, o.value(), asUniform(o.value(), uniform.reg));
    ORIAS_CHECK(isPlaced, "a uniform register that was accepted has no place");
    commit(function_, instr, draft);
  }

  /// Returns the uniform register in the reader's block, defined before the first reader there.
  Operand uniformIn(Instr& reader, const Words& words, const std::vector<Instr*>& readers,
                    std::vector<std::pair<ori::Block*, Operand>>& inBlocks) {
    for (const auto& [block, uniform] : inBlocks)
      if (block == reader.block) return uniform;
    Instr* first = nullptr;
    for (Instr* at = reader.block->first; at && !first; at = at->next)
      if (std::ranges::find(readers, at) != readers.end()) first = at;
    ori::Builder b = ori::Builder::before(function_, first);
    b.setSource(first->source);
    const Operand uniform = b.newUR(2);
    for (unsigned word = 0; word < words.size(); ++word)
      b.emit(Op::UMOV, {ori::component(uniform, word), Operand::immediate(static_cast<std::int32_t>(words[word]))});
    inBlocks.emplace_back(reader.block, uniform);
    return uniform;
  }

  ori::Function& function_;
  const ori::Loops& loops_;
};

} // namespace

unsigned moveDoubleConstants(ori::Function& function, const PhaseContext& context) {
  if (!readsConstantsFromUniform(context)) return 0;
  unsigned moved = 0;
  DoubleMover mover(function);
  const auto count = static_cast<VRegId>(function.vregCount());
  for (VRegId pair = 0; pair < count; ++pair)
    if (const auto words = mover.numberOf(pair)) moved += mover.move(pair, *words);
  return moved;
}

} // namespace orias::phases
