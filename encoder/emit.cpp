#include "encoder/code.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"
#include "ori/jump_table.h"
#include "ori/module.h"
#include "ori/print.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::encoder {

using isa::Inst;
using isa::Operand;

namespace {

/// The instruction as it is encoded: physical operands, distances for labels.
Inst machineInst(const ori::Instr& instr, const std::vector<std::uint32_t>& blockOffset, std::uint32_t offset) {
  Inst inst;
  inst.op = instr.op;
  inst.mods = instr.mods;
  inst.guard = instr.guard().value();
  inst.operandCount = isa::desc(instr.op).slotCount;
  const bool isIndexed = instr.op == isa::Op::BRX;
  for (unsigned i = 0; i < inst.operandCount; ++i) {
    Operand o = instr.op_(i).value();
    if (o.kind == Operand::Kind::Label) {
      const std::int64_t to = isIndexed ? 0 : blockOffset[o.reg];
      const std::int64_t distance = to - (offset + kWordBytes);
      o.reg = Operand::kNoReg;
      o.imm = static_cast<std::int32_t>(distance);
    } else if (o.kind == Operand::Kind::Symbol) {
      o.imm = 0; // the relocation contains it
    }
    inst.operands[i] = o;
  }
  inst.control = instr.control;
  return inst;
}

std::vector<std::uint32_t> blockOffsets(const ori::Function& function) {
  std::vector<std::uint32_t> offsets(function.blockIdCount(), 0);
  std::uint32_t at = 0;
  for (const ori::Block* block : function.layout()) {
    offsets[block->id] = at;
    for (ori::Instr& instr : *block) {
      (void)instr;
      at += kWordBytes;
    }
  }
  return offsets;
}

/// `what()` names the instruction in the message of a failure.
template <typename What> isa::Word encodeOrThrow(const Inst& inst, const isa::Target& target, What&& what) {
  isa::EncodeResult result = isa::encode(inst, target);
  ORIAS_CHECK(static_cast<bool>(result), fmt::format("cannot encode {}: {}", what(), result.error));
  return result.word;
}

/// Returns true only if both instructions have the same encoding. Absent operands of `second` are explicit.
bool areSame(const Inst& first, const Inst& second, const isa::Target& target) {
  if (first.op != second.op || first.mods != second.mods || first.guard != second.guard ||
      first.control != second.control || first.operandCount != second.operandCount)
    return false;
  const isa::InstrDesc& row = isa::desc(first.op, target.words());
  for (unsigned i = 0; i < first.operandCount; ++i)
    if (second.operands[i] != (first.operands[i].isNone() ? row.defaults[i] : first.operands[i])) return false;
  return true;
}

void appendTail(FunctionCode& code, const isa::Target& target) {
  Inst self = isa::makeInst(isa::Op::BRA);
  for (unsigned i = 0; i < self.operandCount; ++i)
    if (isa::desc(self.op).slots[i].accepts & isa::kAcceptsLabel) {
      self.operands[i] = Operand::label(Operand::kNoReg);
      self.operands[i].imm = -static_cast<std::int32_t>(kWordBytes);
    }
  code.words.push_back(encodeOrThrow(self, target, [] { return "the branch after the code"; }));
  code.origin.push_back(nullptr);
  const isa::Word nop = encodeOrThrow(isa::makeInst(isa::Op::NOP), target, [] { return "NOP"; });
  while (code.byteSize() % kTextAlignment != 0) {
    code.words.push_back(nop);
    code.origin.push_back(nullptr);
  }
}

} // namespace

FunctionCode encodeInstructions(const ori::Function& function) {
  const isa::Target& target = function.module().target();
  const std::vector<std::uint32_t> blockOffset = blockOffsets(function);
  FunctionCode code;
  for (const ori::Block* block : function.layout())
    for (ori::Instr& instr : *block) {
      const auto what = [&] { return fmt::format("'{}' in '{}'", ori::print(function, instr), function.name()); };
      code.words.push_back(encodeOrThrow(machineInst(instr, blockOffset, code.byteSize()), target, what));
      code.origin.push_back(&instr);
    }
  return code;
}

namespace {

/// Records the addresses that a linker has to write into a word.
void noteRelocations(const ori::Instr& instr, std::uint32_t offset, FunctionCode& code) {
  using Part = CodeRelocation::Part;
  for (const ori::Operand& o : instr.ops()) {
    if (o.kind != Operand::Kind::Symbol || o.reg == Operand::kNoReg) continue;
    const Part part = instr.op == isa::Op::CALL_ABS ? Part::Callee
                      : instr.op == isa::Op::LDC    ? Part::ConstantWord
                      : o.sub == 0                  ? Part::Low
                                                    : Part::High;
    code.relocations.push_back({offset, part, o.reg, o.imm});
  }
}

/// Records the jump table of a BRX and its targets.
void noteTable(const ori::Instr& brx, std::uint32_t offset, const std::vector<std::uint32_t>& blockOffset,
               FunctionCode& code) {
  const ori::JumpTable table = ori::jumpTableOf(brx);
  JumpTable made{offset, table.offset, {}};
  for (const ori::BlockId target : table.targets)
    made.targets.push_back(blockOffset[target]);
  code.jumpTables.push_back(std::move(made));
}

/// Records an LDC that reads a jump table. In relocatable code a linker places the tables.
void noteTableLoad(const ori::Instr& instr, std::uint32_t offset, FunctionCode& code) {
  if (instr.op != isa::Op::LDC || instr.op_(1).value() != Operand::immediate(ori::kTableBank)) return;
  code.tableLoads.push_back({offset, static_cast<std::uint32_t>(instr.op_(3).imm + ori::kRelocatableBase)});
}

/// False for instructions that set or wait for convergence barriers, which only make lanes reconverge. ptxas does not
/// list them either (observed).
bool exchangesBetweenLanes(const isa::InstrDesc& row) {
  if (!row.has(isa::Flag::Convergent) || row.has(isa::Flag::Branch)) return false;
  const auto slots = row.slotList();
  return std::none_of(slots.begin(), slots.end(), [](const isa::SlotDesc& slot) { return slot.file == isa::File::B; });
}

} // namespace

void finishText(const ori::Function& function, FunctionCode& code) {
  code.exitOffsets.clear();
  code.coopOffsets.clear();
  code.callOffsets.clear();
  code.relocations.clear();
  code.jumpTables.clear();
  code.tableLoads.clear();
  std::vector<std::uint32_t> blockOffset; // filled if there is a table
  for (std::size_t i = 0; i < code.origin.size(); ++i) {
    const std::uint32_t offset = static_cast<std::uint32_t>(i) * kWordBytes;
    const isa::InstrDesc& row = isa::desc(code.origin[i]->op);
    if (code.origin[i]->op == isa::Op::CALL_ABS_R) code.callOffsets.push_back(offset);
    if (code.origin[i]->op == isa::Op::EXIT) code.exitOffsets.push_back(offset);
    if (code.origin[i]->op == isa::Op::BRX) {
      if (blockOffset.empty()) blockOffset = blockOffsets(function);
      noteTable(*code.origin[i], offset, blockOffset, code);
    }
    noteRelocations(*code.origin[i], offset, code);
    if (function.module().relocatable) noteTableLoad(*code.origin[i], offset, code);
    if (exchangesBetweenLanes(row)) code.coopOffsets.push_back(offset);
  }
  appendTail(code, function.module().target());
}

unsigned namedBarriers(const ori::Function& function) {
  unsigned count = 0;
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block) {
      if (isa::latencyClassOf(instr.op, instr.mods) != isa::LatencyClass::Barrier) continue;
      const ori::Operand& number = instr.op_(0);
      const bool isKnown = number.isImm() || number.isZeroReg();
      const unsigned highest = number.isImm() ? static_cast<unsigned>(number.imm) : 0;
      count = std::max(count, isKnown ? highest + 1 : kNamedBarriers);
    }
  return count;
}

std::vector<std::string> compareDecoded(const ori::Function& function, const FunctionCode& code) {
  std::vector<std::string> differences;
  const isa::Target& target = function.module().target();
  const std::vector<std::uint32_t> blockOffset = blockOffsets(function);
  for (std::size_t i = 0; i < code.words.size(); ++i) {
    const std::optional<Inst> decoded = isa::decodeFor(target, code.words[i]);
    const std::uint32_t offset = static_cast<std::uint32_t>(i) * kWordBytes;
    if (!decoded) {
      differences.push_back(fmt::format("{:#06x}: the encoding does not decode", offset));
      continue;
    }
    const ori::Instr* origin = code.origin[i];
    if (origin && decoded->op != origin->op) {
      differences.push_back(fmt::format("{:#06x}: '{}' decodes as {}", offset, ori::print(function, *origin),
                                        isa::desc(decoded->op).name));
      continue;
    }
    // Most words decode to the instruction that was encoded. The others, for instance with zero registers for absent
    // operands, must encode to the same word.
    if (origin && areSame(machineInst(*origin, blockOffset, offset), *decoded, target)) continue;
    const isa::EncodeResult again = isa::encode(*decoded, target);
    if (!again || again.word != code.words[i])
      differences.push_back(fmt::format("{:#06x}: decodes, but encodes differently", offset));
  }
  return differences;
}

} // namespace orias::encoder
