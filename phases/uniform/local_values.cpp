#include "phases/uniform/local_values.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/convergence.h"
#include "ori/builder.h"
#include "ori/calls.h"
#include "support/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Operand;
using ori::Block;
using ori::Instr;
using ori::VRegId;

namespace {

bool isOfWarp(const Operand& o) {
  return o.isVirtual() && o.reg != Operand::kNoReg && (o.file == File::UR || o.file == File::UP);
}

class Localiser {
 public:
  explicit Localiser(ori::Function& function) : function_(function) {}

  bool run() {
    for (Block* block : function_.layout()) {
      startStretch();
      // Instructions inserted before another one are not visited.
      std::vector<Instr*> instrs;
      for (Instr& instr : *block)
        instrs.push_back(&instr);
      for (Instr* instr : instrs) {
        visit(*instr);
        if (ori::isCall(*instr)) startStretch();
      }
    }
    return changed_;
  }

 private:
  /// Starts a stretch: a part of a block between calls.
  void startStretch() {
    here_.clear();
    written_.clear();
  }

  void visit(Instr& instr) {
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      const ori::Operand& o = instr.op_(i);
      if (o.isDef || !isOfWarp(o) || written_.contains(o.reg)) continue;
      Operand now = o.value();
      now.reg = valueAt(instr, o.reg);
      function_.setOperand(&instr, i, now);
      changed_ = true;
    }
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && isOfWarp(o)) written_.insert(o.reg);
  }

  /// Returns a register with the value of `v`, defined before the reader in its stretch.
  VRegId valueAt(Instr& reader, VRegId v) {
    if (const auto known = here_.find(v); known != here_.end()) return known->second;
    const Instr* def = function_.singleDef(v);
    VRegId again = ori::kNoId;
    if (def && canBeMadeAgain(*def)) {
      std::vector<Operand> operands;
      for (const ori::Operand& o : def->ops()) {
        Operand value = o.value();
        if (o.isDef) {
          again = function_.newVReg(o.file, function_.vreg(o.reg).width);
          value.reg = again;
        } else if (isOfWarp(o)) {
          value.reg = written_.contains(o.reg) ? o.reg : valueAt(reader, o.reg);
        }
        operands.push_back(value);
      }
      Instr* clone = function_.create(def->op, operands, def->source);
      clone->mods = def->mods;
      function_.insertBefore(&reader, clone);
    } else {
      again = fetch(reader, v);
    }
    here_[v] = again;
    return again;
  }

  /// Whether the instruction has one result, computed from constants and uniform registers that can be rematerialized,
  /// too.
  bool canBeMadeAgain(const Instr& def) const {
    const isa::InstrDesc& row = isa::desc(def.op);
    if (def.isGuarded() || row.has(isa::Flag::SideEffect) || row.has(isa::Flag::Volatile) ||
        row.has(isa::Flag::Convergent) || row.has(isa::Flag::Load))
      return false;
    unsigned results = 0;
    for (const ori::Operand& o : def.ops()) {
      if (!o.isReg() || o.isZeroReg()) continue;
      if (!isOfWarp(o)) return false;
      if (o.isDef) {
        ++results;
        if (o.width != function_.vreg(o.reg).width) return false;
      } else if (const Instr* from = function_.singleDef(o.reg); !from || !canBeMadeAgain(*from)) {
        return false;
      }
    }
    return results == 1;
  }

  /// Copies the value to vector registers after each definition, and back before the reader.
  VRegId fetch(Instr& reader, VRegId v) {
    const unsigned width = function_.vreg(v).width;
    ORIAS_CHECK(function_.vreg(v).file == File::UR, "a uniform predicate lives across blocks of a function");
    if (kept_.count(v) == 0) {
      const VRegId kept = kept_[v] = function_.newVReg(File::R, width);
      std::vector<Instr*> writers;
      function_.forEachDef(v, [&](ori::Ref def) { writers.push_back(def.owner); });
      std::sort(writers.begin(), writers.end(), [](const Instr* a, const Instr* b) { return a->id < b->id; });
      writers.erase(std::unique(writers.begin(), writers.end()), writers.end());
      for (Instr* writer : writers) {
        ori::Builder b = ori::Builder::after(function_, writer);
        b.setSource(writer->source);
        for (unsigned w = 0; w < width; ++w)
          b.emit(isa::Op::MOV, {function_.part(kept, w), function_.part(v, w)});
      }
    }
    const VRegId again = function_.newVReg(File::UR, width);
    ori::Builder b = ori::Builder::before(function_, &reader);
    b.setSource(reader.source);
    for (unsigned w = 0; w < width; ++w)
      b.emit(isa::Op::R2UR, {Operand::pt(), function_.part(again, w), function_.part(kept_[v], w)});
    return again;
  }

  ori::Function& function_;
  std::set<VRegId> written_;      ///< in this stretch
  std::map<VRegId, VRegId> here_; ///< the replacements of registers in this stretch
  std::map<VRegId, VRegId> kept_; ///< the vector registers that hold uniform registers' values
  bool changed_ = false;
};

} // namespace

bool keepUniformValuesLocal(ori::Function& function) {
  return ori::mayRunDivergent(function) && Localiser(function).run();
}

} // namespace orias::phases
