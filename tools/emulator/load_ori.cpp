// Builds a program from Ori, at any phase: blocks become one sequence of instructions.

#include "encoder/code.h"
#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "encoder/isa/texture_table.h"
#include "ori/analysis/guarded_defs.h"
#include "ori/analysis/loops.h"
#include "ori/jump_table.h"
#include "ori/module.h"
#include "support/align.h"
#include "support/check.h"
#include "tools/emulator/constants.h"
#include "tools/emulator/program.h"
#include "tools/launch/texture_table.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>

namespace orias::emu {

namespace {

using isa::File;
using isa::Op;
using isa::Operand;

constexpr std::uint32_t kStackAlignment = 16;
/// The number of physical registers per file. Virtual registers follow them.
constexpr std::array<std::uint32_t, isa::kFileCount> kPhysicalRows = {256, 256, 8, 8, 16};

class Loader {
 public:
  Loader(const ori::Module& module, const ori::Function& function) : module_(module), function_(function) {}

  Program load() {
    program_.kernel = function_.name();
    program_.target = &module_.target();
    program_.isOri = true;
    program_.function = &function_;
    program_.hasProductsUnderWay = function_.allocated;
    placeRegisters();
    placeFrame();
    placeVariables();
    const std::vector<const ori::Block*> order = orderOfBlocks();
    start_.assign(function_.blockIdCount(), 0);
    for (std::size_t i = 0; i < order.size(); ++i)
      addBlock(*order[i], i + 1 < order.size() ? order[i + 1] : nullptr);
    for (Instruction& i : program_.code)
      for (unsigned s = 0; s < i.inst.operandCount; ++s)
        if (Operand& o = i.inst.operands[s]; o.kind == Operand::Kind::Label) o.reg = start_[o.reg];
    placeTables();
    describe();
    return std::move(program_);
  }

 private:
  void placeRegisters() {
    program_.rows = kPhysicalRows;
    program_.rowOfVReg.resize(function_.vregCount());
    for (ori::VRegId v = 0; v < function_.vregCount(); ++v) {
      std::uint32_t& rows = program_.rows[static_cast<std::size_t>(function_.vreg(v).file)];
      program_.rowOfVReg[v] = rows;
      rows += function_.vreg(v).width;
    }
  }

  /// Without convergence barriers, the machine first executes the lanes at the lowest instruction, so that the others
  /// reconverge with them. This requires that blocks follow their predecessors and that loop exits follow the whole
  /// loop. The layout may have cold blocks at its end instead.
  std::vector<const ori::Block*> orderOfBlocks() const {
    const std::vector<ori::Block*>& layout = function_.layout();
    std::vector<const ori::Block*> order(layout.begin(), layout.end());
    for (const ori::Block* block : layout)
      for (const ori::Instr& instr : *block)
        if (instr.op == Op::BSSY) return order;
    const ori::Cfg cfg(function_);
    const ori::DomTree dominators = ori::DomTree::dominators(cfg);
    const ori::Loops loops(cfg, dominators);
    std::vector<std::size_t> place(function_.blockIdCount(), loops.order().size());
    for (std::size_t i = 0; i < loops.order().size(); ++i)
      place[loops.order()[i]] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](const ori::Block* a, const ori::Block* b) { return place[a->id] < place[b->id]; });
    return order;
  }

  /// Objects without an offset get one after all others. The stack pointer is then below them all.
  void placeFrame() {
    std::uint32_t end = function_.outgoingBytes;
    // Without a frame, the allocation state tells whether the stack pointer is set up.
    bool isLaidOut = (!function_.growsStack && function_.outgoingBytes == 0) || !function_.frame.empty() ||
                     function_.stats.registers != 0;
    for (const ori::FrameObject& object : function_.frame) {
      if (object.offset >= 0) end = std::max(end, static_cast<std::uint32_t>(object.offset) + object.size);
      isLaidOut &= object.offset >= 0;
    }
    for (const ori::FrameObject& object : function_.frame) {
      if (object.offset >= 0) {
        offsets_.push_back(object.offset);
        continue;
      }
      end = alignUp(end, object.align);
      offsets_.push_back(static_cast<std::int32_t>(end));
      end += object.size;
    }
    end = alignUp(std::max(end, function_.stats.frameBytes), kStackAlignment);
    if (!isLaidOut) end = std::max(end, kStackAlignment);
    program_.localBytes = end + (function_.growsStack ? kStackOfCalls : 0);
    program_.frameBytes = isLaidOut ? 0 : end;
  }

  /// In relocatable code addresses are symbols. The shared variables that the function may use get consecutive offsets.
  /// Variables whose size is known only at launch follow them.
  void placeVariables() {
    Packing shared{.alignment = function_.sharedAlign}, constants;
    const auto isUsable = [&](const ori::Variable& v) {
      return v.space == ori::Space::Shared && (v.owner.empty() || v.owner == function_.name());
    };
    for (const ori::Variable& v : module_.variables)
      if (isUsable(v) && v.linkage != ori::Linkage::External)
        program_.sharedVariables[v.name] = shared.place(v.size, v.align);
    shared.close();
    for (const ori::Variable& v : module_.variables)
      if (isUsable(v)) program_.sharedVariables.emplace(v.name, shared.end);
    placedShared_ = static_cast<std::uint32_t>(shared.end);
    for (const ori::Variable& v : module_.variables)
      if (v.constOffset >= 0)
        constants.end = std::max(constants.end, static_cast<std::uint64_t>(v.constOffset) + v.size);
    for (const ori::Variable& v : module_.variables) {
      const bool isPlaced = v.space != ori::Space::Const || v.constOffset >= 0;
      constPlaces_.push_back(isPlaced ? static_cast<std::uint64_t>(std::max<std::int64_t>(v.constOffset, 0))
                                      : constants.place(v.size, v.align));
    }
    for (const ori::Symbol& symbol : module_.symbols) {
      Relocation& place = program_.symbols.emplace_back();
      if (symbol.kind == ori::Symbol::Kind::Variable) place.symbol = symbol.name;
    }
  }

  Operand convert(Operand o) const {
    if (o.kind == Operand::Kind::Symbol && o.reg < module_.symbols.size() &&
        module_.symbols[o.reg].kind == ori::Symbol::Kind::Variable) {
      const std::uint32_t number = module_.symbols[o.reg].index;
      if (module_.variables[number].space == ori::Space::Const)
        return Operand::immediate(static_cast<std::int32_t>(constPlaces_[number]) + o.imm);
    }
    if (o.kind == Operand::Kind::Symbol && o.reg < module_.symbols.size() &&
        module_.symbols[o.reg].kind == ori::Symbol::Kind::DriverWord)
      return Operand::immediate(launch::kTextureEntryBytes);
    if (o.kind == Operand::Kind::Symbol && o.reg < module_.symbols.size() && module_.symbols[o.reg].isHandle())
      throw Error("relocatable code with texture handles must be linked first");
    if (o.kind != Operand::Kind::Frame) return o;
    const std::int32_t offset = offsets_.at(o.reg) + o.imm;
    Operand number = Operand::immediate(offset);
    number.flags = o.flags;
    return number;
  }

  /// The slot of a driver function. In relocatable code it has none, so one is appended.
  std::int32_t slotOf(std::uint32_t symbol) {
    const std::string& name = module_.symbols[symbol].name;
    const auto known = std::ranges::find(program_.addressTable, name, &Relocation::symbol);
    const auto number = static_cast<std::size_t>(known - program_.addressTable.begin());
    if (known == program_.addressTable.end()) program_.addressTable.push_back({8 * number, 8, false, false, name, 0});
    return static_cast<std::int32_t>(8 * number);
  }

  Instruction& add(const ori::Block& block) {
    Instruction& i = program_.code.emplace_back();
    i.block = block.id;
    i.startsBlock = start_[block.id] == program_.code.size() - 1;
    return i;
  }

  void addBlock(const ori::Block& block, const ori::Block* next) {
    start_[block.id] = static_cast<std::uint32_t>(program_.code.size());
    const ori::Instr* instr = block.first;
    if (instr && instr->op == Op::PHI) {
      PhiGroup group;
      for (; instr && instr->op == Op::PHI; instr = instr->next)
        addPhi(group, *instr);
      Instruction& i = add(block);
      i.inst = isa::makeInst(Op::PHI);
      i.inst.operandCount = 0;
      i.phis = static_cast<std::int32_t>(program_.phis.size());
      program_.phis.push_back(std::move(group));
    }
    for (; instr; instr = instr->next) {
      Instruction& i = add(block);
      i.origin = instr;
      i.inst = isa::makeInst(instr->op);
      i.inst.mods = instr->mods;
      i.inst.guard = instr->guard();
      i.leavesRestUndefined = ori::leavesRestUndefined(function_, *instr);
      i.inst.control = instr->control;
      // Calls of functions that are not part of the code, before they are expanded: they cannot be executed here.
      if (instr->op == Op::CALL_FUNCTION) {
        i.isKnown = false;
        continue;
      }
      const bool hasTable = instr->op == Op::JMX || instr->op == Op::BRX;
      if (hasTable) addTargets(i, *instr);
      const bool hasLabelsAfter = hasTable || instr->op == Op::RET; // which are not encoded
      i.inst.operandCount =
          hasLabelsAfter ? isa::desc(instr->op).slotCount : static_cast<std::uint8_t>(instr->operandCount);
      ORIAS_CHECK(i.inst.operandCount <= isa::kMaxOperands);
      for (unsigned s = 0; s < i.inst.operandCount; ++s)
        i.inst.operands[s] = convert(instr->op_(s).value());
      if (instr->op == Op::CALL_EXTERN && i.inst.operands[1].kind == Operand::Kind::Symbol)
        i.inst.operands[1] = Operand::immediate(slotOf(i.inst.operands[1].reg));
      // The address is the one that the driver or a linker would have written.
      if (instr->op == Op::ADDRESS) i.inst.op = Op::COPY;
      program_.hasConvergenceBarriers |= instr->op == Op::BSSY;
    }
    const ori::Instr* last = block.last;
    const bool goesOn = !last || !ori::isTerminator(last->op) || ori::isConditional(*last);
    if (!goesOn) return;
    // Each block gets at least one instruction, so the last instruction identifies the predecessor of a lane.
    if (block.fallthrough == ori::kNoId) {
      add(block).isKnown = false;
    } else if (!next || next->id != block.fallthrough || block.empty()) {
      Instruction& i = add(block);
      i.inst = isa::makeInst(Op::BRA);
      i.inst.operands[1] = Operand::label(block.fallthrough);
    }
  }

  /// Records the target blocks until their addresses are known.
  void addTargets(Instruction& i, const ori::Instr& instr) {
    i.targets = static_cast<std::int32_t>(program_.targets.size());
    auto& targets = program_.targets.emplace_back();
    for (unsigned s = instr.op == Op::JMX ? ori::kJmxLabels : ori::kBrxLabels; s < instr.operandCount; ++s)
      targets.push_back(instr.op_(s).reg);
  }

  /// The blocks of tables become instructions, and those of BRX words of constant bank 2.
  void placeTables() {
    for (Instruction& i : program_.code) {
      if (i.targets < 0) continue;
      std::vector<std::uint32_t>& targets = program_.targets[static_cast<std::size_t>(i.targets)];
      for (std::uint32_t& target : targets)
        target = start_[target];
      if (i.inst.op != Op::BRX) continue;
      const ori::JumpTable table = ori::jumpTableOf(*i.origin);
      const std::size_t end = table.offset + targets.size() * ori::kJumpEntryBytes;
      if (program_.constants2.size() < end) program_.constants2.resize(end);
      for (std::size_t k = 0; k < targets.size(); ++k) {
        const std::uint32_t byte = targets[k] * encoder::kWordBytes;
        std::memcpy(&program_.constants2[table.offset + k * ori::kJumpEntryBytes], &byte, sizeof byte);
      }
      for (isa::Operand& o : i.inst.operands)
        if (o.kind == Operand::Kind::Label) o.reg = 0; // they are relative to the start
    }
  }

  static void addPhi(PhiGroup& group, const ori::Instr& instr) {
    PhiGroup::Phi phi;
    phi.result = instr.op_(0).value();
    const bool isFirst = group.predecessors.empty();
    if (!isFirst) phi.values.resize(group.predecessors.size());
    for (unsigned s = 1; s + 1 < instr.operandCount; s += 2) {
      const std::uint32_t from = instr.op_(s + 1).reg;
      auto at = std::find(group.predecessors.begin(), group.predecessors.end(), from);
      if (at == group.predecessors.end()) {
        group.predecessors.push_back(from);
        for (PhiGroup::Phi& other : group.phis)
          other.values.emplace_back();
        phi.values.resize(group.predecessors.size());
        at = group.predecessors.end() - 1;
      }
      phi.values[static_cast<std::size_t>(at - group.predecessors.begin())] = instr.op_(s).value();
    }
    group.phis.push_back(std::move(phi));
  }

  void describe() {
    for (const ori::KernelParam& p : function_.params)
      program_.parameters.push_back({p.offset, p.size, p.handle.has_value()});
    for (const ori::TextureHandleSlot& handle : function_.handles) {
      const ori::Symbol& symbol = module_.symbols[handle.symbol];
      Program::TextureHandleSlot word{handle.offset, symbol.name, symbol.kind == ori::Symbol::Kind::Sampler,
                                      std::nullopt};
      const auto parameter =
          std::ranges::find(function_.params, std::optional(handle.symbol), &ori::KernelParam::handle);
      if (parameter != function_.params.end())
        word.argument = static_cast<std::size_t>(parameter - function_.params.begin());
      program_.handles.push_back(std::move(word));
    }
    const ori::LaunchBounds& bounds = function_.bounds;
    if (bounds.reqnctapercluster[0] != 0)
      program_.clusters.shape = {bounds.reqnctapercluster[0], bounds.reqnctapercluster[1], bounds.reqnctapercluster[2]};
    program_.clusters.isExplicit = bounds.explicitcluster;
    program_.clusters.mostBlocks = bounds.maxclusterrank;
    program_.staticShared = std::max(function_.sharedBytes, placedShared_);
    program_.sharedAlignment = function_.sharedAlign;
    for (const ori::Variable& v : module_.variables) {
      if (v.linkage == ori::Linkage::External) continue;
      Variable out{v.name, v.space == ori::Space::Const, v.size, v.align, 0, {}, {}};
      out.offset = out.isConstant ? constPlaces_[static_cast<std::size_t>(&v - module_.variables.data())] : 0;
      for (const std::uint8_t byte : v.init)
        out.init.push_back(std::byte{byte});
      for (const ori::DataRelocation& r : v.relocations)
        out.relocations.push_back({r.offset, r.size, false, false, module_.symbols[r.symbol].name, r.addend});
      program_.variables.push_back(std::move(out));
    }
    for (const ori::Symbol& symbol : module_.symbols)
      if (symbol.isHandle())
        program_.handleKinds[symbol.name] = symbol.kind == ori::Symbol::Kind::Texture   ? isa::kTextureHandle
                                            : symbol.kind == ori::Symbol::Kind::Sampler ? isa::kSamplerHandle
                                                                                        : isa::kSurfaceHandle;
    for (std::size_t i = 0; i < module_.addressSlots.size(); ++i)
      program_.addressTable.push_back({8 * i, 8, false, false, module_.symbols[module_.addressSlots[i]].name, 0});
  }

  const ori::Module& module_;
  const ori::Function& function_;
  Program program_;
  std::vector<std::uint32_t> start_;       ///< of each block
  std::vector<std::int32_t> offsets_;      ///< of each frame object
  std::vector<std::uint64_t> constPlaces_; ///< of each variable
  std::uint32_t placedShared_ = 0;
};

} // namespace

Program loadOri(const ori::Module& module, const ori::Function& function) {
  return Loader(module, function).load();
}

} // namespace orias::emu
