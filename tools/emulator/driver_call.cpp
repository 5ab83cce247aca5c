// Calls of driver functions.

#include "tools/emulator/emulator.h"
#include "tools/emulator/machine.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

std::string Machine::driverSymbol(std::size_t slot) const {
  return slot < program_.addressTable.size() ? program_.addressTable[slot].symbol : "";
}

const launch::DriverFunction* Machine::driverFunctionOf(std::size_t slot) {
  const std::string name = driverSymbol(slot);
  const launch::DriverFunction* function = launch::driverFunction(name);
  if (!function) stop("unsupported", fmt::format("a call of '{}', which is not defined in the program", name));
  return function;
}

std::uint64_t Machine::callDriver(const launch::DriverFunction& function, unsigned lane,
                                  const std::function<std::uint32_t(unsigned)>& argumentWord) {
  launch::DriverCall call;
  call.function = &function;
  call.takeArguments(argumentWord);
  const std::uint32_t thread = warp().firstThread + lane;
  const launch::Dim3 block = device_.launch.block;
  call.thread = fmt::format("thread ({}, {}, {}) of CTA ({}, {}, {}){}", thread % block.x, thread / block.x % block.y,
                            thread / block.x / block.y, cta_->id.x, cta_->id.y, cta_->id.z, device_.grid);
  call.read = [&](std::uint64_t address, std::span<std::byte> out) {
    return readMemory(Space::Generic, address, lane, out, false);
  };
  call.write = [&](std::uint64_t address, std::span<const std::byte> in) {
    return writeMemory(Space::Generic, address, lane, in);
  };
  const launch::DriverResult result = launch::isRuntimeFunction(function)
                                          ? runtime_.call(call)
                                          : launch::callDriver(call, device_.global, result_.printed);
  addChildren();
  if (!result.failure.empty()) stop(result.kind, result.failure);
  return result.value;
}

void Machine::addChildren() {
  launch::RunResult children = runtime_.takeChildren();
  result_.threadInstructions += children.threadInstructions;
  result_.warpInstructions += children.warpInstructions;
  result_.printed += children.printed;
  result_.trace += children.trace;
  std::ranges::move(children.reports, std::back_inserter(result_.reports));
}

std::optional<std::string> ChildGrids::kernelAt(std::uint64_t value) const {
  if (!program_.kernels || value < kKernelDescriptors || (value - kKernelDescriptors) % kDriverFunctionBytes != 0)
    return std::nullopt;
  const std::string* name = program_.kernels->nameOf((value - kKernelDescriptors) / kDriverFunctionBytes);
  return name ? std::optional(*name) : std::nullopt;
}

std::vector<launch::ParameterPlace> ChildGrids::parametersOf(const std::string& kernel) {
  return program_.kernels->program(kernel).parameters;
}

launch::RunResult ChildGrids::run(launch::Device& device, const launch::RunOptions& options) {
  return emu::run(program_.kernels->program(device.launch.kernel), device, options);
}

void Machine::callExternal(const Operation& op, std::uint32_t lanes) {
  const std::size_t symbol = static_cast<std::size_t>(op.inst.operands[1].imm) / 8;
  const auto argument = [&](unsigned lane) {
    return [&, lane](unsigned at) {
      unsigned slot = 2;
      while (slot + 1 < op.inst.operandCount && at >= op.inst.operands[slot].width)
        at -= op.inst.operands[slot++].width;
      return word(op, static_cast<int>(slot), at, lane);
    };
  };
  if (const auto gradient = launch::GradientFunction::named(driverSymbol(symbol))) {
    for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      const auto result = callGradientFunction(*gradient, lane, argument(lane));
      for (unsigned i = 0; i < op.writeCount; ++i)
        store(op.writes[i], lane, result.at(op.writes[i].word));
    }
    return;
  }
  const launch::DriverFunction* function = driverFunctionOf(symbol);
  if (!function) return;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t value = callDriver(*function, lane, argument(lane));
    for (unsigned i = 0; i < op.writeCount; ++i)
      store(op.writes[i], lane, static_cast<std::uint32_t>(value >> 32 * op.writes[i].word));
  }
}

void Machine::callDriverAt(std::uint64_t address, std::uint32_t lanes) {
  constexpr unsigned kFirst = 4, kLast = 15;
  const std::size_t symbol = (address - kDriverFunctions) / kDriverFunctionBytes;
  const auto gradient = launch::GradientFunction::named(driverSymbol(symbol));
  const launch::DriverFunction* function = gradient ? nullptr : driverFunctionOf(symbol);
  if (!gradient && !function) return;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const auto reg = [&](unsigned r) -> std::uint32_t& { return warp().row(r)[lane]; };
    // Arguments that do not fit in registers are at the stack pointer.
    const auto argument = [&](unsigned at) -> std::uint32_t {
      if (kFirst + at <= kLast) return reg(kFirst + at);
      constexpr unsigned kStackPointer = 1;
      std::uint32_t value = 0;
      readMemory(Space::Local, reg(kStackPointer) + 4 * (kFirst + at - kLast - 1), lane,
                 std::as_writable_bytes(std::span(&value, 1)));
      return value;
    };
    std::vector<std::uint32_t> results;
    if (gradient) {
      const auto words = callGradientFunction(*gradient, lane, argument);
      results.assign(words.begin(), words.end());
    } else {
      const std::uint64_t value = callDriver(*function, lane, argument);
      for (unsigned w = 0; w < function->result / 4; ++w)
        results.push_back(static_cast<std::uint32_t>(value >> 32 * w));
    }
    // Clobbers the registers that a callee need not preserve, so that code which relies on them fails.
    constexpr std::uint32_t kSpoilt = 0xbadca11;
    for (unsigned r : {0u, 3u, 20u, 21u})
      reg(r) = kSpoilt;
    for (unsigned r = kFirst; r <= kLast; ++r)
      reg(r) = kSpoilt;
    for (unsigned w = 0; w < results.size(); ++w)
      reg(kFirst + w) = results[w];
  }
}

} // namespace orias::emu
