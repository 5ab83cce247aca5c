#include "orias/launch_limits.h"

#include "encoder/isa/target.h"
#include "encoder/listing_rows.h"
#include "ori/setmaxnreg.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias {

namespace {

constexpr unsigned kWarpSize = 32;

unsigned warpsPerBlock(const ori::LaunchBounds& bounds) {
  return (bounds.threads() + kWarpSize - 1) / kWarpSize;
}

/// The register limit of the options: functions in objects may have a separate one.
unsigned limitOf(const ori::Function& function, const Options& options) {
  const bool hasOwn = options.relocatable && options.maxFunctionRegisters != Options::kNoRegisterLimit;
  return hasOwn && !function.isKernel() ? options.maxFunctionRegisters : options.maxRegisters;
}

/// Whether this limit of the options applies to a function.
bool optionLimits(unsigned limit, const ori::LaunchBounds& bounds, const Options& options) {
  return limit != Options::kNoRegisterLimit &&
         (options.launch.overrideDirectives || (bounds.maxnreg == 0 && warpsPerBlock(bounds) == 0));
}

} // namespace

void applyLaunchOptions(ori::Function& kernel, const Options& options, Diagnostics& diagnostics) {
  if (!kernel.isKernel()) return;
  ori::LaunchBounds& bounds = kernel.bounds;
  const LaunchOptions& launch = options.launch;
  const bool isBounded = bounds.threads() != 0;
  if (launch.maxntid[0] != 0 && (!isBounded || launch.overrideDirectives))
    std::copy(launch.maxntid.begin(), launch.maxntid.end(), bounds.maxntid);
  if (launch.minnctapersm != 0 && (bounds.minnctapersm == 0 || launch.overrideDirectives))
    bounds.minnctapersm = launch.minnctapersm;
  const unsigned mostWarps = kernel.module().target().maxWarpsPerSm();
  if (bounds.minnctapersm > 1 && warpsPerBlock(bounds) * bounds.minnctapersm > mostWarps) {
    diagnostics.warning({}, fmt::format("Value of threads per SM for entry {} is out of range. .minnctapersm will be "
                                        "ignored",
                                        kernel.name()));
    bounds.minnctapersm = 0;
  }
}

void settleRegisterRequests(ori::Function& kernel, const Options& options, Diagnostics& diagnostics) {
  if (!ori::hasRegisterRequests(kernel)) return;
  const ori::LaunchBounds& bounds = kernel.bounds;
  const bool isSaid = bounds.maxnreg != 0 || (warpsPerBlock(bounds) != 0 && bounds.minnctapersm != 0);
  if (isSaid || optionLimits(limitOf(kernel, options), bounds, options)) return;
  diagnostics.note({}, fmt::format("function '{}': 'setmaxnreg' ignored; unable to determine register count at entry",
                                   kernel.name()));
  ori::dropRegisterRequests(kernel);
}

unsigned registerCeiling(const ori::Function& function, const Options& options) {
  const isa::Target& target = function.module().target();
  const ori::LaunchBounds& bounds = function.bounds;
  unsigned ceiling = target.maxRegistersPerThread();
  auto lower = [&](unsigned limit) {
    if (limit) ceiling = std::min(ceiling, limit);
  };
  const unsigned warps = warpsPerBlock(bounds);
  const unsigned limit = limitOf(function, options);
  lower(optionLimits(limit, bounds, options) ? limit : bounds.maxnreg);
  if (warps != 0) lower(target.registersForWarps(warps * std::max(1U, bounds.minnctapersm)));
  return ceiling;
}

namespace {

/// The functions that a function may call and that are not inlined; if it calls pointers, all of the module.
void addCallees(const ori::Function& function, std::vector<ori::Function*>& all) {
  ori::Module& module = function.module();
  const auto add = [&](ori::Function* callee) {
    if (callee != nullptr && !callee->isKernel() && std::ranges::find(all, callee) == all.end()) all.push_back(callee);
  };
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block) {
      if (instr.op != isa::Op::CALL_FUNCTION) continue;
      bool isNamed = false;
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        const isa::Operand& callee = instr.op_(i).value();
        if (callee.kind != isa::Operand::Kind::Symbol) continue;
        isNamed = true;
        add(module.findFunction(module.symbols[callee.reg].name));
      }
      if (isNamed) continue;
      for (const auto& other : module.functions)
        add(other.get());
    }
}

} // namespace

void limitCallees(ori::Module& module, const Options& options) {
  for (const auto& kernel : module.functions) {
    const unsigned most = registersAtEntry(*kernel, options);
    if (!kernel->isKernel() || most == module.target().maxRegistersPerThread()) continue;
    std::vector<ori::Function*> callees;
    addCallees(*kernel, callees);
    for (std::size_t at = 0; at < callees.size(); ++at) {
      std::uint32_t& limit = callees[at]->bounds.maxnreg;
      limit = limit == 0 ? most : std::min(limit, most);
      addCallees(*callees[at], callees);
    }
  }
}

void addOccupancy(FunctionReport& report, const ori::Function& kernel) {
  encoder::ListingHeader header;
  header.registers = report.registers;
  header.sharedBytes = report.sharedBytes;
  encoder::setOccupancy(header, kernel.bounds.threads(), kernel.module().target());
  report.threadsPerBlock = header.threadsPerBlock;
  report.warps = header.warpsPerSm;
  report.maxWarps = header.maxWarpsPerSm;
  report.limitedBy = header.occupancyLimit;
}

unsigned registersAtEntry(const ori::Function& function, const Options& options) {
  const unsigned ceiling = registerCeiling(function, options);
  return std::min(ceiling, ori::mostRegistersRequested(function).value_or(ceiling));
}

} // namespace orias
