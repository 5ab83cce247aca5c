#include "regalloc/check.h"

#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"
#include "ori/module.h"
#include "ori/print.h"
#include "ori/setmaxnreg.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::regalloc {

std::vector<std::string> checkRegisterCounts(const ori::Function& function) {
  std::vector<std::string> faults;
  if (!ori::hasRegisterRequests(function)) return faults;
  constexpr std::size_t kMaxFaults = 20;
  const isa::Target& target = function.module().target();
  ori::WarpRegisterCounts(function, function.stats.registers)
      .forEach(function, [&](const ori::Instr& instr, unsigned, unsigned count) {
        std::uint32_t highest = 0;
        isa::forEachTouch(instr.op, std::span<const std::uint8_t, isa::kMaxMods>(instr.mods), instr.guard(),
                          std::span<const ori::Operand>(instr.ops()), target, [&](const isa::Touch& t) {
                            if (t.file == isa::File::R && t.reg != isa::kRZ) highest = std::max(highest, t.reg);
                          });
        if (highest >= count && faults.size() < kMaxFaults)
          faults.push_back(fmt::format("{}: uses register {}, but the warp may have only {}",
                                       ori::print(function, instr), highest, count));
      });
  return faults;
}

} // namespace orias::regalloc
