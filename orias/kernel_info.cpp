#include "orias/kernel_info.h"

#include "encoder/isa/desc.h"
#include "ori/module.h"
#include "orias/function_job.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orias {

namespace {

using isa::Flag;
using isa::Pipe;

bool isFloatStyle(isa::Style style) {
  switch (style) {
  case isa::Style::F32:
  case isa::Style::F64:
  case isa::Style::F32Or64:
  case isa::Style::F16:
  case isa::Style::Bf16:
  case isa::Style::F16x2:
  case isa::Style::Bf16x2: return true;
  default: return false;
  }
}

bool hasStyle(const isa::InstrDesc& row, auto&& matches) {
  return std::any_of(row.texts.begin(), row.texts.begin() + row.slotCount,
                     [&](const isa::SlotText& text) { return matches(text.style); });
}

bool isArithmeticPipe(Pipe pipe) {
  switch (pipe) {
  case Pipe::Alu:
  case Pipe::Fma:
  case Pipe::Fp64:
  case Pipe::Fp16:
  case Pipe::Xu:
  case Pipe::Uniform: return true;
  default: return false;
  }
}

bool isMemory(const isa::InstrDesc& row) {
  return row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic);
}

/// The mnemonics of generic accesses contain no space: LD, ST, ATOM.
bool isGeneric(const isa::InstrDesc& row) {
  return isMemory(row) && (row.mnemonic == "LD" || row.mnemonic == "ST" || row.mnemonic == "ATOM");
}

bool isWiderThanRegister(const isa::InstrDesc& row, const ori::Instr& instr) {
  if (!isMemory(row) || row.modIndex(isa::Mod::Size) < 0) return false;
  const auto size = isa::modAs<isa::MemSize>(instr, isa::Mod::Size);
  return size == isa::MemSize::B64 || size == isa::MemSize::B128 || size == isa::MemSize::UB128;
}

/// Counts one instruction.
struct Counts {
  std::uint64_t loads = 0, stores = 0, branches = 0, floats = 0, integers = 0, divergent = 0, predicated = 0,
                vectors = 0, products = 0, copies = 0;

  void add(const ori::Instr& instr, encoder::UniformityNote mark) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    const bool isBranch = row.has(Flag::Branch) && row.has(Flag::Terminator);
    loads += row.has(Flag::Load) || row.has(Flag::Atomic);
    stores += row.has(Flag::Store) || row.has(Flag::Atomic);
    branches += isBranch;
    divergent += isBranch && mark == encoder::UniformityNote::Varying;
    predicated += instr.isGuarded() && !row.has(Flag::Terminator) && !row.has(Flag::Branch);
    products += row.pipe == Pipe::Mma && !row.has(Flag::Fence);
    copies += std::ranges::any_of(std::array{"UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UBLKCP", "UBLKRED", "UBLKPF"},
                                  [&](std::string_view name) { return row.mnemonic.starts_with(name); });
    const bool isPacked = hasStyle(row, [](isa::Style s) { return s == isa::Style::F16x2 || s == isa::Style::Bf16x2; });
    vectors += isPacked || isWiderThanRegister(row, instr);
    const bool isArithmetic = isArithmeticPipe(row.pipe) && !isMemory(row) && !row.has(Flag::Branch) &&
                              !row.has(Flag::Copy) && !row.has(Flag::ConstLoad) && !row.has(Flag::Terminator);
    const bool isFloat = row.pipe == Pipe::Fp64 || row.pipe == Pipe::Fp16 || hasStyle(row, isFloatStyle);
    floats += isArithmetic && isFloat;
    integers += isArithmetic && !isFloat;
  }
};

/// The remark of the last phase on the accesses of a line.
std::string reasonFor(std::uint32_t line, std::span<const ModuleRemark> remarks) {
  std::vector<std::string_view> reasons;
  std::string_view last;
  for (const ModuleRemark& r : remarks) {
    if ((r.phase != "M6" && r.phase != "M7") || r.done || r.line != line) continue;
    if (r.phase != last) reasons.clear();
    last = r.phase;
    if (std::ranges::find(reasons, r.message) == reasons.end()) reasons.push_back(r.message);
  }
  return reasons.empty() ? "its address is generic in the PTX" : fmt::format("{}", fmt::join(reasons, "; "));
}

std::uint64_t localBytes(const ori::Function& function) {
  std::uint64_t bytes = 0;
  for (const ori::FrameObject& object : function.frame)
    if (!object.isSpill && !object.isIncoming && !object.isOutgoing) bytes += object.size;
  return bytes;
}

} // namespace

KernelInfo kernelInfo(const FunctionJob& job, const FunctionReport& report, std::span<const ModuleRemark> remarks) {
  const ori::Function& function = job.function();
  KernelInfo info;
  info.function = function.name();
  Counts counts;
  const auto& marks = job.code().uniformityNotes;
  for (const ori::Instr* instr : job.code().origin) {
    if (!instr) continue; // padding
    counts.add(*instr, instr->id < marks.size() ? marks[instr->id] : encoder::UniformityNote::Unknown);
    if (const isa::InstrDesc& row = isa::desc(instr->op); isGeneric(row)) {
      const std::uint32_t line = instr->source.ptxLine;
      info.genericAccesses.push_back({line, std::string(row.mnemonic), reasonFor(line, remarks)});
    }
  }
  std::ranges::stable_sort(info.genericAccesses, {}, &GenericAccess::line);
  info.metrics = {report.registers,     report.sharedBytes,
                  report.constantBytes, function.handles.size(),
                  function.paramBytes,  localBytes(function),
                  report.stackBytes,    report.barriers,
                  counts.loads,         counts.stores,
                  counts.branches,      counts.floats,
                  counts.integers,      counts.divergent,
                  counts.predicated,    counts.vectors,
                  counts.products,      0,
                  counts.copies};
  return info;
}

std::string kernelInfoText(std::span<const KernelInfo> kernels) {
  std::string out;
  for (const KernelInfo& kernel : kernels) {
    for (std::size_t i = 0; i < kKernelMetrics.size(); ++i)
      out +=
          fmt::format("kernel-info: {} in function '{}' = {}\n", kKernelMetrics[i], kernel.function, kernel.metrics[i]);
    for (const GenericAccess& access : kernel.genericAccesses)
      out += fmt::format("kernel-info: generic access in function '{}', line {}: {}: {}\n", kernel.function,
                         access.line, access.instruction, access.reason);
  }
  return out;
}

std::string kernelInfoJson(std::span<const KernelInfo> kernels) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const KernelInfo& kernel : kernels) {
    nlohmann::ordered_json metrics;
    for (std::size_t i = 0; i < kKernelMetrics.size(); ++i)
      metrics[std::string(kKernelMetrics[i])] = kernel.metrics[i];
    nlohmann::ordered_json accesses = nlohmann::ordered_json::array();
    for (const GenericAccess& access : kernel.genericAccesses)
      accesses.push_back({{"line", access.line}, {"instruction", access.instruction}, {"reason", access.reason}});
    all.push_back({{"function", kernel.function}, {"metrics", metrics}, {"genericAccesses", accesses}});
  }
  // Names may contain any bytes; JSON is UTF-8.
  return all.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

} // namespace orias
