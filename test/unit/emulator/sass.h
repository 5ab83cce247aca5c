#pragma once

#include "encoder/isa/parse.h"
#include "encoder/isa/target.h"
#include "tools/emulator/emulator.h"

#include <cstring>
#include <doctest/doctest.h>
#include <initializer_list>
#include <span>
#include <string>

// Small programs of SASS text, and their results.

namespace orias::emu {

/// 256 bytes of shared memory and one pointer parameter.
inline Program program(std::span<const char* const> lines) {
  Program p;
  p.kernel = "k";
  p.target = isa::Target::find("sm_90");
  p.hasConvergenceBarriers = true;
  p.rows = {256, 64, 8, 8, 16};
  p.parameters = {{0, 8}};
  p.staticShared = 256;
  std::uint32_t address = 0;
  for (const char* line : lines) {
    const isa::ParseResult parsed = isa::parse(line, {address});
    REQUIRE_MESSAGE(parsed, line << ": " << parsed.error);
    address += 16;
    Instruction& i = p.code.emplace_back();
    i.inst = parsed.inst;
    for (unsigned s = 0; s < i.inst.operandCount; ++s)
      if (isa::Operand& o = i.inst.operands[s]; o.kind == isa::Operand::Kind::Label)
        o.reg = (address + static_cast<std::uint32_t>(o.imm)) / 16;
  }
  return p;
}
inline Program program(std::initializer_list<const char*> lines) {
  return program(std::span(lines.begin(), lines.size()));
}

struct Ran {
  launch::RunResult result;
  std::uint32_t out[2] = {};
  /// The kind of the first report.
  std::string kind() const { return result.reports.empty() ? "" : result.reports[0].kind; }
};

inline Ran run(const Program& p, const launch::RunOptions& options = {}) {
  launch::Launch launch;
  launch.kernel = "k";
  launch.grid = {2, 1, 1};
  launch.block = {64, 1, 1};
  launch.buffers.push_back({"out", launch::ElementType::U32, 2, std::vector<std::byte>(8), {}, {}, {}});
  launch::Argument pointer;
  pointer.buffer = 0;
  launch.arguments.push_back(pointer);
  launch::Device device(launch, options.memcheck);
  Ran ran;
  ran.result = emu::run(p, device, options);
  std::memcpy(ran.out, device.bufferBytes(0).data(), sizeof ran.out);
  return ran;
}

} // namespace orias::emu
