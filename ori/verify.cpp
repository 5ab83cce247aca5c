#include "ori/verify.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/dominators.h"
#include "ori/analysis/liveness.h"
#include "ori/jump_table.h"
#include "ori/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace orias::ori {

namespace {

using Severity = VerifyError::Severity;

class Verifier {
 public:
  Verifier(const Function& function, const VerifyOptions& options) : function_(function), options_(options) {}

  std::vector<VerifyError> run() {
    if (function_.layout().empty()) {
      faults_.push_back({Severity::Error, "the function has no blocks", function_.name(), kNoId, kNoId});
      return std::move(faults_);
    }
    links();
    // The checks below follow the links.
    if (!faults_.empty()) return std::move(faults_);
    for (const Block* block : function_.layout())
      checkBlock(*block);
    refLists();
    if (hasErrors(faults_)) return std::move(faults_);
    const Cfg cfg(function_);
    phis(cfg);
    if (hasErrors(faults_)) return std::move(faults_); // the checks below read the labels of phis
    if (function_.ssa) ssa(cfg);
    if (options_.undefinedUses && !hasErrors(faults_)) undefinedUses(cfg);
    return std::move(faults_);
  }

 private:
  void fault(const Instr& instr, std::string message, Severity severity = Severity::Error) {
    if (faults_.size() >= options_.maxFaults) return;
    faults_.push_back(
        {severity, std::move(message), print(function_, instr), instr.block ? instr.block->id : kNoId, instr.id});
  }
  void fault(const Block& block, std::string message) {
    if (faults_.size() >= options_.maxFaults) return;
    faults_.push_back({Severity::Error, std::move(message), fmt::format(".L{}", block.id), block.id, kNoId});
  }

  // --- links between blocks, instructions and operands

  void links() {
    std::vector<bool> seenInstr(function_.instrIdCount()), seenBlock(function_.blockIdCount());
    for (const Block* block : function_.layout()) {
      if (block->id >= seenBlock.size() || function_.block(block->id) != block || seenBlock[block->id]) {
        fault(*block, "the block is not registered under its ID, or is twice in the layout");
        continue;
      }
      seenBlock[block->id] = true;
      const Instr* previous = nullptr;
      for (const Instr* instr = block->first; instr; previous = instr, instr = instr->next) {
        if (instr->id >= seenInstr.size() || seenInstr[instr->id]) {
          fault(*block, fmt::format("duplicate instruction {}", instr->id));
          return; // perhaps a ring
        }
        seenInstr[instr->id] = true;
        if (instr->block != block || instr->prev != previous)
          fault(*block, fmt::format("instruction {} has a wrong parent block", instr->id));
      }
      if (block->last != previous) fault(*block, "the block has a wrong last instruction");
    }
    for (BlockId id = 0; id < seenBlock.size(); ++id)
      if (function_.block(id) && !seenBlock[id]) fault(*function_.block(id), "the block is not in the layout");
  }

  /// The list of a virtual register contains exactly the operands that refer to it.
  void refLists() {
    std::vector<std::uint32_t> named(function_.vregCount(), 0);
    std::vector<bool> isInBlock(function_.instrIdCount());
    for (const Block* block : function_.layout())
      for (const Instr& instr : *block) {
        isInBlock[instr.id] = true;
        for (const Operand& o : instr.refs()) {
          if (o.isVirtual() && o.reg < named.size()) ++named[o.reg];
        }
      }
    for (VRegId id = 0; id < function_.vregCount(); ++id) {
      std::uint32_t listed = 0;
      for (const Ref ref : function_.refs(id)) {
        const Instr* owner = ref.owner;
        const bool isLive = owner && owner->id < isInBlock.size() && isInBlock[owner->id];
        const bool isOf = isLive && (ref.isGuard() || ref.index() < owner->operandCount);
        if (!isOf || !ref->isVirtual() || ref->reg != id) {
          listFault(id, owner);
          break;
        }
        if (++listed > named[id]) break; // perhaps a ring
      }
      if (listed <= named[id] && !function_.hasSoundLinks(id)) listFault(id, nullptr);
      if (listed != named[id]) listFault(id, nullptr);
    }
  }

  void listFault(VRegId id, const Instr* owner) {
    if (faults_.size() >= options_.maxFaults) return;
    faults_.push_back({Severity::Error,
                       fmt::format("the use-def list of register {} does not match the code{}", id,
                                   owner && !owner->block ? ": it has an instruction outside all blocks" : ""),
                       function_.name(), kNoId, owner ? owner->id : kNoId});
  }

  // --- blocks

  void checkBlock(const Block& block) {
    for (const Instr& instr : block) {
      checkInstr(instr);
      if (isTerminator(instr.op) && instr.next) fault(instr, "a terminator in the middle of a block");
    }
    const Instr* last = block.last;
    const bool goesOn = !last || !isTerminator(last->op) || isConditional(*last);
    if (goesOn && block.fallthrough == kNoId) {
      fault(block, "control runs off the end of the block");
    } else if (!goesOn && block.fallthrough != kNoId) {
      fault(block, "a block falls through after an unconditional terminator");
    } else if (block.fallthrough != kNoId && !isLiveBlock(block.fallthrough)) {
      fault(block, "the block falls through to an undefined block");
    }
  }

  bool isLiveBlock(BlockId id) const { return id < function_.blockIdCount() && function_.block(id); }

  // --- instructions

  void checkInstr(const Instr& instr) {
    if (instr.op >= Op::kCount) {
      fault(*instr.block, "an instruction is not in the instruction table");
      return;
    }
    const isa::InstrDesc& desc = isa::desc(instr.op);
    const bool isVariadic = desc.has(isa::Flag::Variadic);
    if (isVariadic ? instr.operandCount < desc.slotCount : instr.operandCount != desc.slotCount) {
      fault(instr, fmt::format("{} operands instead of {}", instr.operandCount, desc.slotCount));
      return;
    }
    for (unsigned m = 0; m < desc.modCount; ++m)
      if (!desc.mods[m].isLegal(instr.mods[m]))
        fault(instr, fmt::format("modifier {} has the illegal value {}", m, instr.mods[m]));
    checkGuard(instr, desc);
    for (unsigned i = 0; i < instr.operandCount; ++i)
      checkOperand(instr, desc, i);
    if (instr.op == Op::PHI || instr.op == Op::COPY) checkSameFile(instr);
    if (instr.op == Op::JMX) checkTargets(instr, kJmxLabels);
    if (instr.op == Op::BRX) checkTargets(instr, kBrxLabels);
  }

  /// All operands from `first` on are labels, at least one.
  void checkTargets(const Instr& instr, unsigned first) {
    if (instr.operandCount <= first) fault(instr, "a table without entries");
    for (unsigned i = first; i < instr.operandCount; ++i)
      if (!instr.op_(i).isLabel()) fault(instr, "an entry of the table is not a label");
  }

  void checkGuard(const Instr& instr, const isa::InstrDesc& desc) {
    const Operand& guard = instr.guard();
    const bool isUniform = desc.guardFile() == File::UP;
    if (!guard.isReg(File::P) && !guard.isReg(File::UP)) {
      fault(instr, "the guard is not a predicate");
    } else if (guard.isReg(File::UP) != isUniform && !desc.isPseudo() && instr.isGuarded()) {
      fault(instr, isUniform ? "a uniform instruction is guarded by a uniform predicate"
                             : "only a uniform instruction is guarded by a uniform predicate");
    }
    if (guard.width != 1 || guard.neg() || guard.abs()) fault(instr, "the guard has a modifier that predicates lack");
    checkRegister(instr, guard, "the guard");
  }

  void checkOperand(const Instr& instr, const isa::InstrDesc& desc, unsigned i) {
    const Operand& o = instr.op_(i);
    const bool isSlot = i < desc.slotCount;
    const std::string name = isSlot ? std::string(desc.slots[i].name) : fmt::format("operand {}", i);
    const bool isDef = slotRole(instr.op, i) == isa::Role::Def;
    if (o.isDef != isDef) fault(instr, name + " is listed as a use instead of a definition, or the reverse");
    checkRegister(instr, o, name);
    if (o.isLabel() && !isLiveBlock(o.reg)) fault(instr, name + " refers to an undefined block");
    if (o.kind == isa::Operand::Kind::Frame && o.reg >= function_.frame.size())
      fault(instr, name + " refers to an undefined frame object");
    if (isDef && !o.isReg() && !o.isNone()) fault(instr, name + " is a result but not a register");
    if (isDef && (o.neg() || o.abs() || o.inverted())) fault(instr, name + " is a result with a modifier");
    if (!isSlot || o.isNone()) {
      if (isSlot && !(desc.slots[i].accepts & isa::kAcceptsNone)) fault(instr, name + " is missing");
      return;
    }
    if (!isa::accepts(instr.op, instr.mods, i, o))
      fault(instr, name + " cannot be this kind of operand, or of this file");
    const isa::SlotDesc& slot = desc.slots[i];
    if (!desc.isPseudo() && ((o.neg() && !slot.canNeg) || (o.abs() && !slot.canAbs) || (o.inverted() && !slot.canNot)))
      fault(instr, name + " cannot have this modifier");
    checkWidth(instr, i, name);
  }

  void checkRegister(const Instr& instr, const Operand& o, const std::string& name) {
    if (!o.isVirtual()) {
      if (!o.isReg() || o.isZeroReg()) return;
      if (o.reg + o.width > function_.module().target().registerCount(o.file))
        fault(instr, name + " is not a machine register");
      return;
    }
    if (function_.allocated) fault(instr, name + " is virtual after allocation");
    if (o.reg >= function_.vregCount()) {
      fault(instr, name + " is an undefined virtual register");
      return;
    }
    const VReg& reg = function_.vreg(o.reg);
    if (reg.file != o.file) fault(instr, name + " is not in the file of its register");
    if (o.isReg() && (o.width == 0 || o.sub + o.width > reg.width)) fault(instr, name + " reaches beyond its register");
  }

  void checkWidth(const Instr& instr, unsigned i, const std::string& name) {
    const Operand& o = instr.op_(i);
    const unsigned width = isa::operandWidth(instr.op, instr.mods, i);
    if (!o.isReg() || o.isZeroReg() || width == 0) return;
    if (o.width != width) {
      fault(instr, fmt::format("{} is {} wide instead of {}", name, o.width, width));
      return;
    }
    if (isa::desc(instr.op).isPseudo()) return;
    const unsigned align = defaultAlign(width);
    const bool isAligned = o.isVirtual() ? o.reg >= function_.vregCount() ||
                                               (o.sub % align == 0 && function_.vreg(o.reg).align % align == 0)
                                         : o.reg % align == 0;
    if (!isAligned) fault(instr, fmt::format("{} is not aligned to {}", name, align));
  }

  /// Copies and phis must not change the file, except copies from uniform to vector registers.
  void checkSameFile(const Instr& instr) {
    const Operand& to = instr.op_(0);
    for (unsigned i = 1; i < instr.operandCount; ++i) {
      const Operand& from = instr.op_(i);
      if (!from.isReg()) continue;
      const bool isSpread =
          (to.file == File::R && from.file == File::UR) || (to.file == File::P && from.file == File::UP);
      if (from.file != to.file && !isSpread) fault(instr, "no copy between these register files");
      if (from.width != to.width && !from.isZeroReg()) fault(instr, "a copy changes the width");
    }
  }

  // --- phis

  void phis(const Cfg& cfg) {
    std::vector<BlockId> named, predecessors;
    for (const Block* block : function_.layout()) {
      bool isHead = true;
      for (const Instr& instr : *block) {
        if (instr.op != Op::PHI) {
          isHead = false;
          continue;
        }
        if (!function_.ssa) fault(instr, "a phi outside of SSA form");
        if (!isHead) fault(instr, "a phi after the first instructions of its block");
        if (instr.isGuarded()) fault(instr, "a phi has a guard");
        named.clear();
        bool isShaped = instr.operandCount % 2 == 1;
        for (unsigned i = 1; isShaped && i + 1 < instr.operandCount; i += 2) {
          isShaped = instr.op_(i + 1).isLabel() && !instr.op_(i).isLabel();
          named.push_back(instr.op_(i + 1).reg);
        }
        if (!isShaped) {
          fault(instr, "a phi is a result and pairs of a value and a label");
          continue;
        }
        predecessors.assign(cfg.predecessors(block->id).begin(), cfg.predecessors(block->id).end());
        std::sort(named.begin(), named.end());
        std::sort(predecessors.begin(), predecessors.end());
        if (named != predecessors) fault(instr, "the sources of a phi are not those of its block's predecessors");
      }
    }
  }

  // --- SSA form

  void ssa(const Cfg& cfg) {
    const Components components(function_);
    const DomTree dominators = DomTree::dominators(cfg);
    std::vector<const Instr*> def(components.virtualCount(), nullptr);
    std::vector<std::uint32_t> place(function_.instrIdCount());
    std::uint32_t next = 0;
    for (const Block* block : function_.layout())
      for (const Instr& instr : *block) {
        place[instr.id] = next++;
        for (const Operand& o : instr.ops())
          if (o.isDef && o.isVirtual() && !function_.vreg(o.reg).multiDef)
            components.forEach(o, [&](CompId comp) {
              if (def[comp])
                fault(instr, fmt::format("{} has a second definition in SSA form", printOperand(function_, o)));
              def[comp] = &instr;
            });
      }
    auto isDefined = [&](const Instr& by, const Block& in, std::uint32_t before) {
      return by.block == &in ? place[by.id] < before : dominators.dominates(by.block->id, in.id);
    };
    for (const Block* block : function_.layout()) {
      if (!cfg.isReachable(block->id)) continue;
      for (const Instr& instr : *block)
        for (unsigned i = 0; i < instr.operandCount + 1u; ++i) {
          const Operand& o = instr.refs()[i];
          if (o.isDef || !o.isVirtual()) continue;
          const bool isPhi = instr.op == Op::PHI;
          const Block& in = isPhi ? *function_.block(instr.refs()[i + 1].reg) : *block;
          if (!cfg.isReachable(in.id)) continue;
          bool isFine = true;
          components.forEach(o, [&](CompId comp) {
            if (def[comp]) isFine &= isDefined(*def[comp], in, isPhi ? ~0u : place[instr.id]);
          });
          if (!isFine)
            fault(instr, fmt::format("the definition of {} does not dominate this use", printOperand(function_, o)));
        }
    }
  }

  // --- reads of undefined registers

  void undefinedUses(const Cfg& cfg) {
    const Liveness liveness(cfg);
    const Components& components = liveness.components();
    std::vector<bool> isSuspect(components.count());
    for (CompId comp : liveness.maybeUndefined())
      isSuspect[comp] = true;
    for (const Block* block : function_.layout()) {
      if (!cfg.isReachable(block->id)) continue;
      // Forwards: live-in registers, and registers defined so far.
      std::unordered_set<CompId> defined;
      auto isReached = [&](CompId comp) { return defined.count(comp) != 0 || liveness.isLiveIn(block->id, comp); };
      for (const Instr& instr : *block) {
        if (instr.op != Op::PHI)
          for (const Operand& o : instr.refs())
            if (!o.isDef)
              components.forEach(o, [&](CompId comp) {
                if (isSuspect[comp] && !isReached(comp))
                  fault(instr, fmt::format("no definition of {} reaches this use", printOperand(function_, o)),
                        Severity::Warning);
              });
        for (const Operand& o : instr.ops())
          if (o.isDef)
            components.forEach(o, [&](CompId comp) {
              if (isSuspect[comp]) defined.insert(comp);
            });
      }
    }
  }

  const Function& function_;
  const VerifyOptions& options_;
  std::vector<VerifyError> faults_;
};

} // namespace

std::vector<VerifyError> verify(const Function& function, const VerifyOptions& options) {
  return Verifier(function, options).run();
}

bool hasErrors(const std::vector<VerifyError>& faults) {
  return std::any_of(faults.begin(), faults.end(), [](const VerifyError& f) { return f.severity == Severity::Error; });
}

std::string render(const std::vector<VerifyError>& faults) {
  std::string text;
  for (const VerifyError& f : faults)
    text += fmt::format("{}: {}\n    {}\n", f.severity == Severity::Error ? "error" : "warning", f.message, f.where);
  return text;
}

} // namespace orias::ori
