#pragma once

#include "encoder/isa/desc.h"
#include "ori/instr.h"
#include "ori/register_set.h"
#include "support/arena.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orias::ori {

class Analyses;
class Module;

/// Counts the changes of a function. An analysis is valid until a count that it depends on changes
/// (analysis/analyses.h). The mutators of Function count; `Block::fallthrough` counts its assignments.
struct Changes {
  std::uint64_t flow = 0;   ///< of blocks, edges and the layout
  std::uint64_t code = 0;   ///< of instructions, operands, guards, registers
  std::uint64_t values = 0; ///< of modifiers: they change the result, not which registers are read and written
  std::uint16_t phase = 0;  ///< the current one, by its index in the pipeline
  std::uint16_t flowPhase = 0, codePhase = 0, valuesPhase = 0; ///< the phase of the last change

  void noteFlow() {
    ++flow;
    flowPhase = phase;
  }
  void noteCode() {
    ++code;
    codePhase = phase;
  }
  void noteValues() {
    ++values;
    valuesPhase = phase;
  }
};

/// The block that a block falls through to, or kNoId. Converts to an id; an assignment counts as a change of control
/// flow.
class Fallthrough {
 public:
  Fallthrough() = default;
  Fallthrough(const Fallthrough&) = delete;
  Fallthrough& operator=(const Fallthrough& other) { return *this = other.id_; }
  Fallthrough& operator=(BlockId id) {
    if (id != id_ && changes_) changes_->noteFlow();
    id_ = id;
    return *this;
  }
  operator BlockId() const { return id_; }

 private:
  friend class Function;

  BlockId id_ = kNoId;
  Changes* changes_ = nullptr;
};

/// A virtual register: `width` consecutive 32-bit registers (1 predicate, 1 barrier) of one file. Definitions and uses
/// may be of a component (Operand::sub, Operand::width). Between phases 23 and 73 every component has one definition.
struct VReg {
  RefId defs = 0, uses = 0; ///< the newest operand that defines (reads) it; see Function::refs
  File file = File::R;
  std::uint8_t width = 1;
  std::uint8_t align = 1; ///< in registers, a power of two
  bool divergent = true;  ///< result of OriPropagateVarying; true until proven uniform
  /// In SSA form: may have several definitions, because a guarded write keeps the old value in some lanes (ori/ssa.h).
  /// Phases treat such a register as opaque.
  bool multiDef = false;
  std::string_view name; ///< the PTX name, for dumps and messages; may be empty

  bool hasRefs() const { return (defs | uses) != 0; }
};
static_assert(sizeof(VReg) == 32);

/// The default alignment for a width: pairs even, wider registers by four.
constexpr unsigned defaultAlign(unsigned width) {
  return width >= 3 ? 4 : width;
}

/// The role of operand `index` of an instruction in the table. Operands beyond the slots of the row (of PHI) are uses.
inline isa::Role slotRole(Op op, unsigned index) {
  const isa::InstrDesc& row = isa::desc(op);
  return index < row.slotCount ? row.roles[index] : isa::Role::Use;
}
/// Whether the instruction ends a block.
inline bool isTerminator(Op op) {
  return isa::desc(op).has(isa::Flag::Terminator);
}
/// Whether control may continue after the terminator: it is guarded, or it also reads a predicate.
bool isConditional(const Instr& terminator);

/// A basic block. Only its last instruction may be a Terminator. If there is no terminator, or a conditional one,
/// control continues at `fallthrough`; else `fallthrough` is kNoId. Successors are the labels of the terminator, then
/// `fallthrough`, which need not be the next block of the layout until makeFallthroughsAdjacent (ori/cfg_edit.h) has
/// run.
///
/// A block that ends with CALL.REL calls a subroutine of the function: its only successor is the target of the call.
/// `fallthrough` is where the subroutine returns, and a successor of the block with RET, which lists all return blocks
/// as labels after its slots.
struct Block {
  BlockId id = kNoId;
  Instr* first = nullptr;
  Instr* last = nullptr;
  Fallthrough fallthrough;
  std::uint8_t loopDepth = 0; ///< updated by phase 3 and by phases that change loops
  bool isCold = false;        ///< cold: rarely executed
  float frequency = 1;        ///< estimated executions; updated before register allocation
  std::string_view name;      ///< PTX label, for dumps and messages; may be empty

  class Iterator {
   public:
    explicit Iterator(Instr* at) : at_(at) {}
    Instr& operator*() const { return *at_; }
    Iterator& operator++() {
      at_ = at_->next;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    Instr* at_;
  };
  /// In order; the current instruction must not be erased while iterating (see Function::forEachSafe).
  Iterator begin() const { return Iterator(first); }
  Iterator end() const { return Iterator(nullptr); }
  bool empty() const { return first == nullptr; }
};

/// An object in the frame of a function, in local memory.
struct FrameObject {
  std::string_view name;
  std::uint32_t size = 0;   ///< bytes
  std::uint32_t align = 1;  ///< bytes
  std::int32_t offset = -1; ///< from the stack pointer; -1 until the frame is laid out
  bool isSpill = false;
  bool isIncoming = false; ///< above the frame, at `offset`: stored by the caller
  bool isOutgoing = false; ///< no bytes: the aligned end of the arguments of callees; the frame begins there
};

/// A kernel parameter in constant bank 0.
struct KernelParam {
  std::string_view name;
  std::uint32_t offset = 0; ///< from the target's parameter base
  std::uint32_t size = 0;
  /// For a pointer, its `.ptr` attribute: the space as in EIATTR_KPARAM_INFO (1 local, 2 shared, 4 global or constant,
  /// 5 generic; observed; 0: no `.ptr`), and the alignment of the pointee in bytes.
  std::uint8_t pointerSpace = 0;
  std::uint32_t pointerAlign = 0;
  /// The symbol of a texture, sampler or surface. It takes no bytes: the driver writes its handle to a
  /// TextureHandleSlot.
  std::optional<std::uint32_t> handle;
};

/// A 32-bit word of constant bank 0 after the parameters: the handle of a texture, sampler or surface of the module.
/// Before sm_90 a texture and its sampler may share one.
struct TextureHandleSlot {
  std::uint32_t symbol = 0;
  std::uint32_t offset = 0; ///< from the target's parameter base
};

/// Launch bounds and limits of a kernel, 0 = not given.
struct LaunchBounds {
  std::uint32_t reqntid[3] = {0, 0, 0};
  std::uint32_t maxntid[3] = {0, 0, 0};
  std::uint32_t minnctapersm = 0;
  std::uint32_t maxnreg = 0;
  std::uint32_t reqnctapercluster[3] = {0, 0, 0};
  std::uint32_t maxclusterrank = 0;
  bool explicitcluster = false;

  /// The exact or the largest number of threads of a CTA; 0 if the program does not bound it.
  unsigned threads() const {
    const std::uint32_t* size = reqntid[0] != 0 ? reqntid : maxntid;
    return size[0] * std::max(1U, size[1]) * std::max(1U, size[2]);
  }
};

/// Results of allocation and scheduling, for the cubin, the listing and the output of -v.
struct FunctionStats {
  unsigned registers = 0; ///< as reported: highest R + 1 + 2
  unsigned uniformRegisters = 0;
  unsigned predicates = 0;
  unsigned barriers = 0; ///< named CTA barriers
  unsigned frameBytes = 0;
  unsigned spillStoreBytes = 0;
  unsigned spillLoadBytes = 0;
};

/// One function: blocks in layout order, virtual registers, frame. Instructions and blocks have stable addresses and
/// are freed with the function, or by releaseCode().
class Function {
 public:
  Function(Module& module, std::string name, bool isKernel);
  ~Function();
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  Module& module() const { return *module_; }
  const std::string& name() const { return name_; }
  bool isKernel() const { return isKernel_; }

  // --- virtual registers
  VRegId newVReg(File file, unsigned width = 1, std::string_view name = {});
  std::size_t vregCount() const { return vregs_.size(); }
  VReg& vreg(VRegId id) { return vregs_[id]; }
  const VReg& vreg(VRegId id) const { return vregs_[id]; }
  /// A whole register, or `width` components from `sub`, as an operand.
  isa::Operand use(VRegId id) const { return isa::Operand::virt(vregs_[id].file, id, vregs_[id].width); }
  isa::Operand part(VRegId id, unsigned sub, unsigned width = 1) const {
    return isa::Operand::virt(vregs_[id].file, id, width, sub);
  }

  // --- blocks
  Block* newBlock(std::string_view name = {});                    ///< appended to the layout
  Block* newBlockAfter(Block* where, std::string_view name = {}); ///< placed after `where` in the layout
  void eraseBlock(Block* block);                     ///< and its instructions; there must be no branch to it
  void eraseBlocks(const std::vector<bool>& doomed); ///< by id; takes linear time for any number
  const std::vector<Block*>& layout() const { return layout_; }
  void setLayout(std::vector<Block*> order); ///< a permutation of the live blocks; the first is the entry
  Block* entry() const { return layout_.front(); }
  Block* block(BlockId id) const { return blocks_[id]; }      ///< null when erased
  std::size_t blockIdCount() const { return blocks_.size(); } ///< ids are below this
  /// Labels of the terminator, then the fall-through; without duplicates.
  std::vector<BlockId> successors(const Block& block) const;
  /// Calls f(BlockId) once per successor, in the order of successors().
  template <typename F> void forEachSuccessor(const Block& block, F&& f) const {
    const Instr* last = block.last;
    const bool isCall = last && last->op == Op::CALL_REL;
    const unsigned count = last && (isCall || isTerminator(last->op)) ? last->operandCount : 0;
    for (unsigned i = 0; i < count; ++i) {
      if (!last->operands[i].isLabel()) continue;
      const BlockId to = last->operands[i].reg;
      bool seen = false;
      for (unsigned j = 0; j < i; ++j)
        seen |= last->operands[j].isLabel() && last->operands[j].reg == to;
      if (!seen) f(to);
    }
    if (block.fallthrough == kNoId || isCall) return;
    for (unsigned i = 0; i < count; ++i)
      if (last->operands[i].isLabel() && last->operands[i].reg == block.fallthrough) return;
    f(block.fallthrough);
  }
  /// Moves all instructions after `at` to a new block, which `block` falls through to.
  Block* splitAfter(Instr* at);
  /// Replaces the predecessor `from` by `to` in the phis of `block`.
  void renamePhiSource(Block* block, BlockId from, BlockId to);

  // --- instructions: created detached or in place, operands in table order
  Instr* create(Op op, std::span<const isa::Operand> operands, Source source = {});
  Instr* append(Block* block, Instr* instr);
  Instr* prepend(Block* block, Instr* instr);
  Instr* insertBefore(Instr* where, Instr* instr);
  Instr* insertAfter(Instr* where, Instr* instr);
  void unlink(Instr* instr); ///< removes it from its block; its operands stay linked (to insert it elsewhere)
  void erase(Instr* instr);  ///< removes it, and its operands from the lists of uses
  std::size_t instrIdCount() const { return instrCount_; } ///< ids are below this

  // --- the only functions that change operands
  void setOperand(Instr* instr, unsigned index, const isa::Operand& value);
  void setGuard(Instr* instr, const isa::Operand& predicate);
  /// Replaces an operand or a guard.
  void setOperand(Ref ref, const isa::Operand& value) {
    if (ref.isGuard())
      setGuard(ref.owner, value);
    else
      setOperand(ref.owner, ref.index(), value);
  }
  /// Replaces a result and all of its uses, or a guard by another register with the same value. Unlike setOperand,
  /// keeps `hasUndefinedRest`.
  void moveResult(Instr* instr, unsigned index, const isa::Operand& value);
  void moveGuard(Instr* instr, const isa::Operand& predicate);
  /// Replaces opcode and operands of the instruction. Keeps position, guard, source and provenance.
  void rewrite(Instr* instr, Op op, std::span<const isa::Operand> operands);
  /// Appends operands to an instruction with a variable number of them (PHI).
  void addOperands(Instr* instr, std::span<const isa::Operand> operands);
  /// Removes `count` operands from `first` on (a phi's source and its label).
  void removeOperands(Instr* instr, unsigned first, unsigned count);
  /// Replaces the register `from` by `to` (same file and width) in all operands.
  void replaceAllRefs(VRegId from, VRegId to);

  /// For the verifier: whether each link of the lists of operands has one in the other direction, and whether each list
  /// has only definitions, or only uses. The lists must end.
  bool hasSoundLinks(VRegId id) const;
  class RefIterator;
  struct RefRange;
  /// The operands that refer to the register: definitions, then uses, the newest of each first. While iterating, no
  /// operand of the register may change (see forEachUse).
  RefRange refs(VRegId id) const;
  /// Calls f(Ref) for each use (definition) of the register; f may change or erase the operand.
  template <typename F> void forEachUse(VRegId id, F&& f) const { forEachRef(vregs_[id].uses, f); }
  template <typename F> void forEachDef(VRegId id, F&& f) const { forEachRef(vregs_[id].defs, f); }
  bool hasUses(VRegId id) const { return vregs_[id].uses != 0; }
  /// Calls f(Instr&) for each instruction of the block; f may erase that instruction.
  template <typename F> void forEachSafe(const Block& block, F&& f) const {
    for (Instr *instr = block.first, *next; instr; instr = next) {
      next = instr->next;
      f(*instr);
    }
  }
  /// The single definition of the register, or null if there is none or more than one (components count separately).
  Instr* singleDef(VRegId id) const;

  /// The pipeline index that new and changed instructions are marked with; set by the phase manager.
  void setCurrentPhase(std::uint16_t phase) { changes_.phase = phase; }
  std::uint16_t currentPhase() const { return changes_.phase; }
  /// Records that the current phase changed the instruction. The mutators above call it. Call it after writing
  /// modifiers.
  void touch(Instr* instr);
  /// Records that the phase changed the instruction.
  void addChange(Instr& instr, std::uint16_t phase);
  /// Calls f(phase) for each phase that changed the instruction (by its index in the pipeline), the newest first.
  template <typename F> void forEachChange(const Instr& instr, F&& f) const {
    for (ChangeId id = instr.lastChange; id != 0; id = instrChanges_[id - 1].older)
      f(instrChanges_[id - 1].phase);
  }
  /// The phase that changed the instruction last, or created it.
  std::uint16_t lastPhase(const Instr& instr) const {
    return instr.lastChange != 0 ? instrChanges_[instr.lastChange - 1].phase : instr.createdBy;
  }

  const Changes& changes() const { return changes_; }
  /// Counts changes that are made without the mutators above: of `ssa`, VReg::multiDef, Instr::hasUndefinedRest (code),
  /// and of modifiers (values).
  void noteCodeChange() { changes_.noteCode(); }
  void noteValueChange() { changes_.noteValues(); }
  /// Whether the function ever had an instruction with that opcode, or with one of the flags. It may have been erased
  /// since. If false, a phase need not search.
  bool everHad(Op op) const { return everHad_[static_cast<std::size_t>(op)]; }
  bool everHad(isa::Flag flag) const { return (everHadFlags_ & static_cast<std::uint32_t>(flag)) != 0; }
  /// The analyses of the current function. Each is computed at the first request after a change.
  Analyses& analyses() const { return *analyses_; }

  // --- properties of a kernel other than code
  std::vector<KernelParam> params;
  std::uint32_t paramBytes = 0;
  std::vector<TextureHandleSlot> handles;
  std::vector<FrameObject> frame;
  LaunchBounds bounds;
  std::uint32_t sharedBytes = 0; ///< static shared memory
  std::uint32_t sharedAlign = 1;
  bool usesDynamicShared = false;
  bool spillsToShared = false;     ///< the program asks for spill slots in shared memory
  bool usesReservedShared = false; ///< reads the place of the shared memory that is reserved by the system
  std::uint32_t outgoingBytes = 0; ///< at the low end of the frame: arguments of callees
  bool growsStack = false;         ///< allocates below the frame; the size is known at run time only
  /// Also contains calls. The frame of a callee begins below all allocations, so the stack pointer moves, and another
  /// register keeps the address of the frame. The last operand of each call is where the callee's stack begins.
  bool hasFramePointer = false;
  /// Registers that a call changes, by the symbol of the callee; only for functions that are already compiled. The ABI
  /// allows more of them to change.
  std::map<std::uint32_t, RegisterSet> changedByCallee;
  /// The registers that a call of the symbol changes; null if unknown.
  const RegisterSet* changesOf(std::uint32_t symbol) const {
    const auto known = changedByCallee.find(symbol);
    return known == changedByCallee.end() ? nullptr : &known->second;
  }
  bool usesWmma = false; ///< the PTX has wmma instructions, which the cubin records for the driver
  FunctionStats stats;
  bool allocated = false; ///< operands are physical registers
  bool ssa = false;       ///< each component of a register has one definition, except VReg::multiDef ones

  /// Frees instructions, registers and analyses, and removes all blocks. Properties, frame and names remain.
  void releaseCode();

  Arena& arena() { return arena_; }
  std::string_view intern(std::string_view text) { return arena_.copyString(text); }

 private:
  /// The links of an operand in its list: the definitions or the uses of its register.
  struct RefNode {
    Instr* owner = nullptr;
    RefId next = 0, prev = 0;
  };
  static_assert(sizeof(RefNode) == 16);
  /// A phase that changed an instruction.
  struct InstrChange {
    ChangeId older = 0;
    std::uint16_t phase = 0;
  };

  template <typename F> void forEachRef(RefId at, F&& f) const {
    while (at != 0) {
      const RefNode node = refNodes_[at];
      f(refOf(at, node));
      at = node.next;
    }
  }
  static Ref refOf(RefId id, const RefNode& node) {
    return {node.owner, node.owner->operands + (id - node.owner->firstRef) - 1};
  }
  static RefId refId(const Instr& instr, const Operand& operand) {
    return instr.firstRef + static_cast<RefId>(&operand - &instr.guard());
  }
  void noteOp(Op op) {
    everHad_.set(static_cast<std::size_t>(op));
    everHadFlags_ |= isa::desc(op).flags;
  }
  void makeOperands(Instr* instr, std::size_t count);
  void reserveOperands(Instr* instr, std::size_t count);
  RefId& firstOfList(const Operand& operand) {
    VReg& reg = vregs_[operand.reg];
    return operand.isDef ? reg.defs : reg.uses;
  }
  void link(Instr* instr, const Operand& operand);
  void unlinkRef(Instr* instr, const Operand& operand);
  void assign(Instr* instr, Operand& slot, const isa::Operand& value, bool isDef);

  Module* module_;
  std::string name_;
  bool isKernel_;
  Arena arena_;
  /// A separate array: most loops read few fields of each instruction, and dense arrays are prefetched.
  Arena instrs_, operands_;
  std::vector<RefNode> refNodes_{1}; // by RefId
  std::vector<InstrChange> instrChanges_;
  std::vector<VReg> vregs_;
  std::vector<Block*> blocks_; // by id
  std::vector<Block*> layout_;
  InstrId instrCount_ = 0;
  std::bitset<static_cast<std::size_t>(Op::kCount)> everHad_;
  std::uint32_t everHadFlags_ = 0;
  Changes changes_;
  std::unique_ptr<Analyses> analyses_;
};

class Function::RefIterator {
 public:
  /// From `at` on, then from `then` on.
  RefIterator(const Function& function, RefId at, RefId then)
      : function_(&function), at_(at != 0 ? at : then), then_(at != 0 ? then : 0) {}
  Ref operator*() const { return refOf(at_, function_->refNodes_[at_]); }
  RefIterator& operator++() {
    at_ = function_->refNodes_[at_].next;
    if (at_ == 0) at_ = std::exchange(then_, 0);
    return *this;
  }
  bool operator!=(const RefIterator& other) const { return at_ != other.at_; }

 private:
  const Function* function_;
  RefId at_, then_;
};

struct Function::RefRange {
  const Function& function;
  RefId defs, uses;

  RefIterator begin() const { return {function, defs, uses}; }
  RefIterator end() const { return {function, 0, 0}; }
};

inline Function::RefRange Function::refs(VRegId id) const {
  return {*this, vregs_[id].defs, vregs_[id].uses};
}

} // namespace orias::ori
