#include "ori/function.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/module.h"
#include "support/check.h"

#include <algorithm>

namespace orias::ori {

namespace {

/// The largest RefId.
constexpr RefId kMaxRef = ~RefId{0};

/// Only operands that refer to a virtual register are in a list of uses and definitions: register operands, and
/// bindless constant operands, which refer to a uniform register.
bool isLinked(const isa::Operand& operand) {
  return operand.isVirtual() && operand.reg != isa::Operand::kNoReg;
}

bool isDefSlot(Op op, unsigned index) {
  return slotRole(op, index) == isa::Role::Def;
}

/// A copy of operands; a few are stored without memory allocation.
class ValueCopy {
 public:
  explicit ValueCopy(std::span<const isa::Operand> values) : size_(values.size()) {
    if (size_ > few_.size()) many_.resize(size_);
    std::ranges::copy(values, size_ > few_.size() ? many_.data() : few_.data());
  }
  std::size_t size() const { return size_; }
  const isa::Operand& operator[](std::size_t i) const { return size_ > few_.size() ? many_[i] : few_[i]; }

 private:
  std::size_t size_;
  std::array<isa::Operand, isa::kMaxOperands> few_;
  std::vector<isa::Operand> many_;
};

/// Whether the labels of the instruction are edges: at the end of a block. Labels of phis are predecessors.
bool namesBlocks(const Instr* instr) {
  return instr && instr->op != Op::PHI &&
         std::ranges::any_of(instr->ops(), [](const Operand& operand) { return operand.isLabel(); });
}

} // namespace

bool isConditional(const Instr& terminator) {
  if (terminator.isGuarded()) return true;
  for (const Operand& operand : terminator.ops())
    if ((operand.isReg(File::P) || operand.isReg(File::UP)) && !(operand.isZeroReg() && !operand.inverted()))
      return true;
  return false;
}

Function::Function(Module& module, std::string name, bool isKernel)
    : module_(&module), name_(std::move(name)), isKernel_(isKernel), analyses_(std::make_unique<Analyses>(*this)) {}

Function::~Function() = default;

void Function::releaseCode() {
  analyses_ = std::make_unique<Analyses>(*this);
  vregs_ = {};
  layout_ = {};
  blocks_ = {};
  instrs_ = {};
  operands_ = {};
  refNodes_ = std::vector<RefNode>(1); // number 0 is none
  instrChanges_ = {};
  instrCount_ = 0;
  changes_.noteFlow();
  changes_.noteCode();
}

// --- virtual registers

VRegId Function::newVReg(File file, unsigned width, std::string_view name) {
  ORIAS_CHECK(width >= 1 && width <= 255);
  VReg reg;
  reg.file = file;
  reg.width = static_cast<std::uint8_t>(width);
  reg.align = static_cast<std::uint8_t>(defaultAlign(width));
  reg.name = intern(name);
  vregs_.push_back(reg);
  changes_.noteCode();
  analyses_->noteElsewhere();
  return static_cast<VRegId>(vregs_.size() - 1);
}

void Function::link(Instr* instr, const Operand& operand) {
  if (!isLinked(operand)) return;
  ORIAS_CHECK(operand.reg < vregs_.size());
  RefId& first = firstOfList(operand);
  const RefId id = refId(*instr, operand);
  RefNode& node = refNodes_[id];
  node.next = first;
  node.prev = 0;
  if (first != 0) refNodes_[first].prev = id;
  first = id;
}

void Function::unlinkRef(Instr* instr, const Operand& operand) {
  if (!isLinked(operand)) return;
  const RefNode& node = refNodes_[refId(*instr, operand)];
  if (node.prev != 0)
    refNodes_[node.prev].next = node.next;
  else
    firstOfList(operand) = node.next;
  if (node.next != 0) refNodes_[node.next].prev = node.prev;
}

void Function::assign(Instr* instr, Operand& slot, const isa::Operand& value, bool isDef) {
  changes_.noteCode();
  analyses_->noteElsewhere();
  const bool namesBlock = slot.isLabel() || value.kind == isa::Operand::Kind::Label;
  if (namesBlock && instr->op != Op::PHI) changes_.noteFlow();
  if (instr->block) {
    // A guard, or the predecessor of a phi source, affects the other operands.
    if (namesBlock || &slot == &instr->guard())
      analyses_->noteRefs(*instr);
    else
      analyses_->noteOperand(*instr, slot);
  }
  unlinkRef(instr, slot);
  static_cast<isa::Operand&>(slot) = value;
  slot.isDef = isDef;
  link(instr, slot);
  if (instr->block) analyses_->noteOperand(*instr, slot);
}

bool Function::hasSoundLinks(VRegId id) const {
  for (const bool isDef : {true, false}) {
    RefId prev = 0;
    for (RefId at = isDef ? vregs_[id].defs : vregs_[id].uses; at != 0; prev = at, at = refNodes_[at].next)
      if (refNodes_[at].prev != prev || refOf(at, refNodes_[at])->isDef != isDef) return false;
  }
  return true;
}

Instr* Function::singleDef(VRegId id) const {
  const RefId def = vregs_[id].defs;
  return def != 0 && refNodes_[def].next == 0 ? refNodes_[def].owner : nullptr;
}

void Function::replaceAllRefs(VRegId from, VRegId to) {
  ORIAS_CHECK(vregs_[from].file == vregs_[to].file && vregs_[from].width == vregs_[to].width);
  if (from == to) return;
  while (vregs_[from].hasRefs()) {
    const Ref ref = *refs(from).begin();
    isa::Operand value = ref->value();
    value.reg = to;
    assign(ref.owner, ref.owner->operands[ref.operand - ref.owner->operands], value, ref->isDef);
    touch(ref.owner);
  }
}

// --- blocks

Block* Function::newBlock(std::string_view name) {
  Block* block = arena_.make<Block>();
  block->id = static_cast<BlockId>(blocks_.size());
  block->name = intern(name);
  block->fallthrough.changes_ = &changes_;
  changes_.noteFlow();
  blocks_.push_back(block);
  layout_.push_back(block);
  return block;
}

Block* Function::newBlockAfter(Block* where, std::string_view name) {
  Block* block = newBlock(name);
  layout_.pop_back();
  layout_.insert(std::find(layout_.begin(), layout_.end(), where) + 1, block);
  return block;
}

void Function::eraseBlock(Block* block) {
  while (block->first)
    erase(block->last);
  blocks_[block->id] = nullptr;
  changes_.noteFlow();
  layout_.erase(std::find(layout_.begin(), layout_.end(), block));
}

void Function::eraseBlocks(const std::vector<bool>& doomed) {
  auto isDoomed = [&](const Block* block) { return block->id < doomed.size() && doomed[block->id]; };
  for (Block* block : layout_) {
    if (!isDoomed(block)) continue;
    while (block->first)
      erase(block->last);
    blocks_[block->id] = nullptr;
    changes_.noteFlow();
  }
  std::erase_if(layout_, isDoomed);
}

void Function::setLayout(std::vector<Block*> order) {
  ORIAS_CHECK(order.size() == layout_.size());
  std::vector<bool> seen(blocks_.size());
  for (const Block* block : order) {
    ORIAS_CHECK(blocks_[block->id] == block && !seen[block->id]);
    seen[block->id] = true;
  }
  if (layout_ != order) changes_.noteFlow();
  layout_ = std::move(order);
}

std::vector<BlockId> Function::successors(const Block& block) const {
  std::vector<BlockId> result;
  forEachSuccessor(block, [&](BlockId id) { result.push_back(id); });
  return result;
}

Block* Function::splitAfter(Instr* at) {
  Block* head = at->block;
  Block* tail = newBlockAfter(head);
  tail->loopDepth = head->loopDepth;
  tail->isCold = head->isCold;
  tail->fallthrough = head->fallthrough;
  changes_.noteCode();
  analyses_->noteElsewhere(); // the flow changes, too
  tail->first = at->next;
  tail->last = at->next ? head->last : nullptr;
  if (at->next) at->next->prev = nullptr;
  at->next = nullptr;
  head->last = at;
  head->fallthrough = tail->id;
  for (Instr& instr : *tail)
    instr.block = tail;
  // The edges from `head` now come from `tail`, so update the phis of the successors.
  forEachSuccessor(*tail, [&](BlockId to) {
    if (Block* successor = this->block(to)) renamePhiSource(successor, head->id, tail->id);
  });
  return tail;
}

void Function::renamePhiSource(Block* block, BlockId from, BlockId to) {
  for (Instr& phi : *block) {
    if (phi.op != Op::PHI) break;
    for (unsigned i = 0; i < phi.operandCount; ++i) {
      isa::Operand value = phi.operands[i].value();
      if (value.kind != isa::Operand::Kind::Label || value.reg != from) continue;
      value.reg = to;
      setOperand(&phi, i, value);
    }
  }
}

// --- instructions

Instr* Function::create(Op op, std::span<const isa::Operand> operands, Source source) {
  ORIAS_CHECK(operands.size() < 0xffff);
  Instr* instr = instrs_.make<Instr>();
  instr->id = instrCount_++;
  instr->op = op;
  instr->mods = isa::desc(op).modDefaults;
  noteOp(op);
  instr->createdBy = changes_.phase;
  instr->source = source;
  makeOperands(instr, operands.size());
  instr->operandCount = static_cast<std::uint16_t>(operands.size());
  assign(instr, instr->operands[-1], isa::Operand::zero(isa::desc(op).has(isa::Flag::Uniform) ? File::UP : File::P),
         false);
  for (unsigned i = 0; i < operands.size(); ++i)
    assign(instr, instr->operands[i], operands[i], isDefSlot(op, i));
  return instr;
}

Instr* Function::append(Block* block, Instr* instr) {
  ORIAS_CHECK(instr->block == nullptr);
  changes_.noteCode();
  if (namesBlocks(instr) || namesBlocks(block->last)) changes_.noteFlow();
  instr->block = block;
  instr->prev = block->last;
  instr->next = nullptr;
  (block->last ? block->last->next : block->first) = instr;
  block->last = instr;
  analyses_->noteChanged(*instr);
  return instr;
}

Instr* Function::prepend(Block* block, Instr* instr) {
  return block->first ? insertBefore(block->first, instr) : append(block, instr);
}

Instr* Function::insertBefore(Instr* where, Instr* instr) {
  ORIAS_CHECK(instr->block == nullptr && where->block != nullptr);
  changes_.noteCode();
  instr->block = where->block;
  instr->prev = where->prev;
  instr->next = where;
  (where->prev ? where->prev->next : where->block->first) = instr;
  where->prev = instr;
  analyses_->noteChanged(*instr);
  return instr;
}

Instr* Function::insertAfter(Instr* where, Instr* instr) {
  return where->next ? insertBefore(where->next, instr) : append(where->block, instr);
}

void Function::unlink(Instr* instr) {
  Block* block = instr->block;
  ORIAS_CHECK(block != nullptr);
  changes_.noteCode();
  analyses_->noteChanged(*instr);
  if (!instr->next && (namesBlocks(instr) || namesBlocks(instr->prev))) changes_.noteFlow();
  (instr->prev ? instr->prev->next : block->first) = instr->next;
  (instr->next ? instr->next->prev : block->last) = instr->prev;
  instr->prev = instr->next = nullptr;
  instr->block = nullptr;
}

void Function::erase(Instr* instr) {
  if (instr->block) unlink(instr);
  changes_.noteCode();
  analyses_->noteElsewhere();
  for (const Operand& operand : instr->refs())
    unlinkRef(instr, operand);
  instr->operandCount = 0;
}

void Function::setOperand(Instr* instr, unsigned index, const isa::Operand& value) {
  ORIAS_CHECK(index < instr->operandCount);
  Operand& operand = instr->operands[index];
  if (operand.isDef && operand.value() != value) instr->hasUndefinedRest = false;
  assign(instr, operand, value, isDefSlot(instr->op, index));
  touch(instr);
}

void Function::setGuard(Instr* instr, const isa::Operand& predicate) {
  assign(instr, instr->operands[-1], predicate, false);
  instr->hasUndefinedRest = false;
  touch(instr);
}

void Function::moveResult(Instr* instr, unsigned index, const isa::Operand& value) {
  const bool hasUndefinedRest = instr->hasUndefinedRest;
  setOperand(instr, index, value);
  instr->hasUndefinedRest = hasUndefinedRest;
}

void Function::moveGuard(Instr* instr, const isa::Operand& predicate) {
  const bool hasUndefinedRest = instr->hasUndefinedRest;
  setGuard(instr, predicate);
  instr->hasUndefinedRest = hasUndefinedRest;
}

/// Gives the instruction memory for a guard and `count` operands.
void Function::makeOperands(Instr* instr, std::size_t count) {
  ORIAS_CHECK(count < 0xffff && refNodes_.size() + count < kMaxRef);
  instr->operands = operands_.makeArray<Operand>(count + 1).data() + 1;
  instr->firstRef = static_cast<RefId>(refNodes_.size());
  refNodes_.resize(refNodes_.size() + count + 1, RefNode{.owner = instr});
}

/// Moves the guard and the operands to memory for `count` operands.
void Function::reserveOperands(Instr* instr, std::size_t count) {
  const std::span<const Operand> old = instr->refs();
  for (const Operand& operand : old)
    unlinkRef(instr, operand);
  makeOperands(instr, count);
  for (std::size_t i = 0; i < std::min(old.size(), count + 1); ++i)
    assign(instr, (instr->operands - 1)[i], old[i].value(), old[i].isDef);
}

void Function::rewrite(Instr* instr, Op op, std::span<const isa::Operand> operands) {
  // `operands` may alias the operands of the instruction that is about to change.
  const ValueCopy values(operands);
  if (namesBlocks(instr)) changes_.noteFlow();
  if (instr->block) analyses_->noteRefs(*instr);
  for (const Operand& operand : instr->ops())
    unlinkRef(instr, operand);
  const bool fits = values.size() <= instr->operandCount;
  instr->operandCount = 0;
  if (!fits) reserveOperands(instr, values.size());
  instr->operandCount = static_cast<std::uint16_t>(values.size());
  instr->op = op;
  noteOp(op);
  instr->mods = isa::desc(op).modDefaults;
  instr->mayContract = false;
  instr->hasUndefinedRest = false;
  for (unsigned i = 0; i < values.size(); ++i) {
    instr->operands[i] = Operand{}; // it is already unlinked
    assign(instr, instr->operands[i], values[i], isDefSlot(op, i));
  }
  touch(instr);
}

void Function::addOperands(Instr* instr, std::span<const isa::Operand> operands) {
  const ValueCopy values(operands);
  const unsigned first = instr->operandCount;
  reserveOperands(instr, first + values.size());
  instr->operandCount = static_cast<std::uint16_t>(first + values.size());
  for (unsigned i = 0; i < values.size(); ++i)
    assign(instr, instr->operands[first + i], values[i], isDefSlot(instr->op, first + i));
  touch(instr);
}

void Function::removeOperands(Instr* instr, unsigned first, unsigned count) {
  ORIAS_CHECK(first + count <= instr->operandCount);
  for (unsigned i = first; i + count < instr->operandCount; ++i)
    assign(instr, instr->operands[i], instr->operands[i + count].value(), isDefSlot(instr->op, i));
  if (namesBlocks(instr)) changes_.noteFlow();
  if (instr->block) analyses_->noteRefs(*instr);
  for (unsigned i = instr->operandCount - count; i < instr->operandCount; ++i) {
    unlinkRef(instr, instr->operands[i]);
    instr->operands[i] = Operand{};
  }
  instr->operandCount = static_cast<std::uint16_t>(instr->operandCount - count);
  touch(instr);
}

void Function::touch(Instr* instr) {
  changes_.noteValues();
  if (lastPhase(*instr) != changes_.phase) addChange(*instr, changes_.phase);
}

void Function::addChange(Instr& instr, std::uint16_t phase) {
  instrChanges_.push_back({instr.lastChange, phase});
  instr.lastChange = static_cast<ChangeId>(instrChanges_.size());
}

} // namespace orias::ori
