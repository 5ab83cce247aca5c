#include "tools/emulator/program.h"

#include "encoder/isa/print.h"
#include "ori/print.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::emu {

namespace {
constexpr std::size_t kWordBytes = 16;
}

std::optional<std::size_t> Kernels::indexOf(std::string_view name) const {
  const auto at = std::ranges::find(names_, name);
  if (at == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - names_.begin());
}

const Program& Kernels::program(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Program>& program = programs_[name];
  if (!program) {
    program = std::make_unique<Program>(load_(name));
    // Shares the existing kernels, without an owning cycle.
    program->kernels = std::shared_ptr<Kernels>(std::shared_ptr<Kernels>(), this);
  }
  return *program;
}

std::string Program::text(std::size_t index) const {
  if (index >= code.size()) return fmt::format("{}+{:#x} (after the code)", kernel, index * kWordBytes);
  const Instruction& i = code[index];
  if (!isOri) {
    const std::uint64_t address = index * kWordBytes;
    if (!i.isKnown) return fmt::format("{}+{:#x} {:#018x} {:#018x}", kernel, address, i.word.lo, i.word.hi);
    isa::Inst inst = i.inst;
    for (unsigned s = 0; s < inst.operandCount; ++s) // back to distances
      if (isa::Operand& o = inst.operands[s]; o.kind == isa::Operand::Kind::Label && o.reg != isa::Operand::kNoReg) {
        o.imm = static_cast<std::int32_t>((std::int64_t{o.reg} - static_cast<std::int64_t>(index) - 1) *
                                          static_cast<std::int64_t>(kWordBytes));
        o.reg = isa::Operand::kNoReg;
      }
    // The function after the kernel that contains it.
    const std::pair<std::string, std::uint64_t>* in = nullptr;
    for (const auto& f : functions)
      if (f.second != 0 && f.second <= address && (in == nullptr || f.second > in->second)) in = &f;
    return fmt::format("{}+{:#x} {}{}", kernel, address, isa::print(inst, {address, {}}), in ? " in " + in->first : "");
  }
  if (i.origin) return fmt::format("{} .L{} {}", kernel, i.block, ori::print(*function, *i.origin));
  if (i.phis >= 0) return fmt::format("{} .L{} (phis)", kernel, i.block);
  return fmt::format("{} .L{} (end of block)", kernel, i.block);
}

} // namespace orias::emu
