#include "encoder/listing.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "encoder/isa/print.h"
#include "encoder/isa/target.h"
#include "ori/module.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace orias::encoder {

namespace {

std::string provenance(const ori::Instr& instr, const std::vector<std::string_view>& phaseNumbers) {
  auto number = [&](unsigned index) {
    return index < phaseNumbers.size() ? std::string(phaseNumbers[index]) : std::string("?");
  };
  std::string out = number(instr.createdBy);
  if (instr.changedBy && instr.changedBy->phase != instr.createdBy) out += "<" + number(instr.changedBy->phase);
  return out;
}

/// The byte offset that a branch of the word at `offset` leads to; -1 when it is no branch.
std::int64_t branchTarget(const isa::Inst& inst, std::uint32_t offset) {
  for (unsigned i = 0; i < inst.operandCount; ++i)
    if (inst.operands[i].kind == isa::Operand::Kind::Label)
      return static_cast<std::int64_t>(offset) + kWordBytes + inst.operands[i].imm;
  return -1;
}

std::string reuseText(const isa::Inst& inst) {
  std::string out = "---";
  const isa::InstrDesc& row = isa::desc(inst.op);
  unsigned source = 0;
  for (unsigned i = 0; i < inst.operandCount; ++i) {
    if (row.slots[i].role != isa::Role::Use || row.slots[i].file != isa::File::R || source >= 3) continue;
    if (inst.operands[i].reuse()) out[source] = static_cast<char>('A' + source);
    ++source;
  }
  return out;
}

ListingHeader makeHeader(const ori::Function& function, const FunctionCode& code) {
  const isa::Target& target = function.module().target();
  ListingHeader h;
  h.name = function.name();
  h.arch = std::string(target.name());
  h.isKernel = function.isKernel();
  const ori::FunctionStats& stats = function.stats;
  h.registers = stats.registers;
  h.uniformRegisters = stats.uniformRegisters;
  h.predicates = stats.predicates;
  h.barriers = stats.barriers;
  h.sharedBytes = function.sharedBytes;
  h.constantBytes = target.paramBase() + function.paramBytes;
  h.frameBytes = stats.frameBytes;
  h.spillStoreBytes = stats.spillStoreBytes;
  h.spillLoadBytes = stats.spillLoadBytes;
  h.instructions = static_cast<unsigned>(
      code.origin.size() - static_cast<std::size_t>(std::count(code.origin.begin(), code.origin.end(), nullptr)));
  constexpr unsigned kUsualBlock = 256;
  const auto& bounds = function.bounds.reqntid[0] ? function.bounds.reqntid : function.bounds.maxntid;
  h.threadsPerBlock = bounds[0] ? bounds[0] * std::max(1u, bounds[1]) * std::max(1u, bounds[2]) : kUsualBlock;
  const isa::Occupancy occupancy = target.occupancy(h.threadsPerBlock, stats.registers, function.sharedBytes);
  h.warpsPerSm = occupancy.warpsPerSm;
  h.maxWarpsPerSm = target.maxWarpsPerSm();
  switch (occupancy.limit) {
  case isa::Occupancy::Limit::Warps: h.occupancyLimit = "warps"; break;
  case isa::Occupancy::Limit::Blocks: h.occupancyLimit = "blocks"; break;
  case isa::Occupancy::Limit::Registers: h.occupancyLimit = "registers"; break;
  case isa::Occupancy::Limit::SharedMemory: h.occupancyLimit = "shared memory"; break;
  case isa::Occupancy::Limit::Impossible: h.occupancyLimit = "no block fits"; break;
  }
  return h;
}

} // namespace

FunctionListing makeListing(const ori::Function& function, const FunctionCode& code,
                            std::vector<std::string_view> phaseNumbers) {
  FunctionListing listing;
  listing.header = makeHeader(function, code);
  const std::vector<LiveCounts> computed =
      code.registerMap.empty() ? registerMap(function, code) : std::vector<LiveCounts>();
  const std::vector<LiveCounts>& live = code.registerMap.empty() ? computed : code.registerMap;

  std::vector<isa::Inst> decoded;
  std::map<std::int64_t, std::string> labels;
  for (std::size_t i = 0; i < code.words.size(); ++i) {
    decoded.push_back(isa::decode(code.words[i]).value_or(isa::makeInst(isa::Op::NOP)));
    const std::int64_t target = branchTarget(decoded.back(), static_cast<std::uint32_t>(i) * kWordBytes);
    if (target >= 0) labels[target];
  }
  unsigned count = 0;
  for (auto& [offset, name] : labels)
    name = fmt::format(".L_x_{}", count++);

  for (std::size_t i = 0; i < code.words.size(); ++i) {
    ListingRow row;
    row.offset = static_cast<std::uint32_t>(i) * kWordBytes;
    row.word = code.words[i];
    if (auto label = labels.find(row.offset); label != labels.end()) row.label = label->second;
    isa::PrintOptions options;
    options.address = row.offset;
    options.labelName = [&](std::uint64_t target) {
      auto label = labels.find(static_cast<std::int64_t>(target));
      return label == labels.end() ? std::string() : label->second;
    };
    row.text = isa::print(decoded[i], options);
    row.control = decoded[i].control;
    row.reuse = reuseText(decoded[i]);
    row.uniform = isa::desc(decoded[i].op).has(isa::Flag::Uniform);
    if (const ori::Instr* origin = code.origin[i]) {
      row.live = live[i];
      row.ptxLine = origin->source.ptxLine;
      row.phases = provenance(*origin, phaseNumbers);
    } else {
      row.padding = true;
    }
    listing.rows.push_back(std::move(row));
  }
  return listing;
}

} // namespace orias::encoder
