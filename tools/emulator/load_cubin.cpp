// From the file to a program: decodes the words and gathers what the kernel needs.

#include "encoder/cubin/cubin.h"
#include "encoder/isa/older_words.h"
#include "encoder/isa/target.h"
#include "encoder/isa/texture_table.h"
#include "support/check.h"
#include "tools/emulator/constants.h"
#include "tools/emulator/program.h"
#include "tools/launch/driver_functions.h"
#include "tools/launch/gradient_function.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace orias::emu {

namespace {

using isa::File;
using isa::Operand;

constexpr std::size_t kWordBytes = 16;
constexpr std::uint32_t kStackAlignment = 16;

Relocation convert(const cubin::Relocation& r) {
  using Type = cubin::RelocationType;
  Relocation out{r.offset, 8, false, r.symbol, r.addend};
  switch (r.type) {
  case Type::Abs64:
  case Type::Generic64: break;
  case Type::Callee:
  case Type::CalleeAt34: break;
  case Type::Abs32:
  case Type::Generic32:
  case Type::Abs32At32:
  case Type::Abs32Lo32: out.bytes = 4; break;
  case Type::Abs32Hi32:
    out.bytes = 4;
    out.isHigh = true;
    break;
  default: throw Error(fmt::format("a relocation of type {} is not known", static_cast<std::uint32_t>(r.type)));
  }
  return out;
}

std::vector<Relocation> convert(const std::vector<cubin::Relocation>& all) {
  std::vector<Relocation> out;
  for (const cubin::Relocation& r : all)
    out.push_back(convert(r));
  return out;
}

/// Distances become places in the code. What leads out of it keeps its distance: indirect branches have bases.
void resolveLabels(Program& program) {
  const auto count = static_cast<std::int64_t>(program.code.size());
  for (std::int64_t at = 0; at < count; ++at) {
    isa::Inst& inst = program.code[static_cast<std::size_t>(at)].inst;
    for (unsigned s = 0; s < inst.operandCount; ++s) {
      Operand& o = inst.operands[s];
      if (o.kind != Operand::Kind::Label) continue;
      const std::int64_t byte = (at + 1) * static_cast<std::int64_t>(kWordBytes) + o.imm;
      if (byte % static_cast<std::int64_t>(kWordBytes) != 0 || byte < 0 || byte >= count * 16) continue;
      o.reg = static_cast<std::uint32_t>(byte / static_cast<std::int64_t>(kWordBytes));
    }
  }
}

/// Puts a function behind those that are there.
void addCode(Program& program, const cubin::Function& function) {
  const std::size_t first = program.code.size();
  program.functions.emplace_back(function.name, first * kWordBytes);
  program.code.resize(first + function.code.size() / kWordBytes);
  for (std::size_t i = first; i < program.code.size(); ++i) {
    Instruction& to = program.code[i];
    std::memcpy(&to.word, function.code.data() + (i - first) * kWordBytes, kWordBytes);
    if (const auto inst = isa::decodeFor(*program.target, to.word))
      to.inst = *inst;
    else
      to.isKnown = false;
  }
  // Other names of it, and functions that are part of it.
  for (const cubin::InnerFunction& inner : function.inner)
    program.functions.emplace_back(inner.name, first * kWordBytes + inner.offset);
  for (Relocation relocation : convert(function.relocations)) {
    relocation.offset += first * kWordBytes;
    program.codeRelocations.push_back(std::move(relocation));
  }
}

/// Does code set the stack pointer from other registers? Then it takes memory from the stack of which no file tells the
/// size (alloca); where it only aligns a frame, some more memory does no harm.
bool takesStack(const Program& program) {
  constexpr std::uint32_t kStackPointer = 1;
  return std::any_of(program.code.begin(), program.code.end(), [](const Instruction& i) {
    bool writesPointer = false, readsOther = false;
    const isa::InstrDesc& row = isa::desc(i.inst.op);
    for (unsigned s = 0; i.isKnown && s < i.inst.operandCount; ++s) {
      const Operand& o = i.inst.operands[s];
      if (!o.isReg(File::R) || o.isZeroReg()) continue;
      if (row.slots[s].role == isa::Role::Def)
        writesPointer |= o.reg == kStackPointer;
      else
        readsOther |= o.reg != kStackPointer;
    }
    return writesPointer && readsOther;
  });
}

/// Functions that the code calls and nobody has are the driver's, if anyone's: they get places behind the table.
void addDriverFunctions(Program& program) {
  for (const Relocation& r : program.codeRelocations) {
    const auto isIt = [&](const Relocation& slot) { return slot.symbol == r.symbol; };
    const bool isKnown = std::any_of(program.functions.begin(), program.functions.end(),
                                     [&](const auto& f) { return f.first == r.symbol; });
    const bool isDrivers =
        launch::driverFunction(r.symbol) != nullptr || launch::GradientFunction::named(r.symbol).has_value();
    if (!isDrivers || isKnown || std::any_of(program.addressTable.begin(), program.addressTable.end(), isIt)) continue;
    program.addressTable.push_back({8 * program.addressTable.size(), 8, false, r.symbol, 0});
  }
}

} // namespace

Program loadCubin(std::span<const std::byte> file, std::string_view kernel) {
  const cubin::Module module = cubin::read(file);
  const auto found = std::find_if(module.functions.begin(), module.functions.end(),
                                  [&](const cubin::Function& f) { return f.name == kernel; });
  if (found == module.functions.end()) throw Error(fmt::format("the cubin has no kernel '{}'", kernel));
  const cubin::Function& function = *found;

  Program program;
  program.kernel = function.name;
  for (const isa::Target& target : isa::Target::all())
    if (target.elfFlags() == module.abi.elfFlags) program.target = &target;
  if (!program.target) throw Error("the cubin is for a chip that is not known");

  addCode(program, function);
  for (const cubin::Function& other : module.functions)
    if (!other.isEntry) addCode(program, other);
  program.hasConvergenceBarriers = true;
  resolveLabels(program);
  program.rows = {256, 64, 8, 8, 16};

  for (const cubin::Parameter& p : function.parameters)
    program.parameters.push_back({p.offset, p.size, !p.handle.empty()});
  for (const cubin::HandleWord& handle : function.handles) {
    Program::HandleWord word{handle.offset, handle.symbol, handle.kind == cubin::HandleKind::Sampler, std::nullopt};
    const auto parameter = std::ranges::find(function.parameters, handle.symbol, &cubin::Parameter::handle);
    if (parameter != function.parameters.end())
      word.argument = static_cast<std::size_t>(parameter - function.parameters.begin());
    program.handles.push_back(std::move(word));
  }
  if (const auto& shape = function.clusterShape) program.clusters.shape = {shape->x, shape->y, shape->z};
  program.clusters.isExplicit = function.explicitCluster;
  program.clusters.mostBlocks = function.maxClusterRank.value_or(0);
  program.registers = function.registerCount;
  program.ctaBarriers = function.barrierCount;
  program.staticShared = function.staticSharedSize;
  program.sharedAlignment = function.sharedAlignment;
  constexpr std::uint32_t kNotKnown = ~0u; // a linker says so where there are recursion or calls through pointers
  const std::uint32_t least = function.minStackSize == kNotKnown ? 0 : function.minStackSize;
  program.localBytes = std::max({function.frameSize, least, function.maxStackSize.value_or(0)});
  // ptxas' recursive functions stand behind the kernel; ours are part of it.
  if (!function.inner.empty() || function.minStackSize > function.frameSize || takesStack(program))
    program.localBytes += kStackOfCalls;
  program.localBytes = (program.localBytes + kStackAlignment - 1) / kStackAlignment * kStackAlignment;
  for (const cubin::Variable& v : module.variables) {
    if (!v.defined) continue;
    program.variables.push_back({v.name, v.space == cubin::Variable::Space::Constant, v.size, v.alignment, v.offset,
                                 v.init, convert(v.relocations)});
  }
  for (const cubin::HandleSymbol& handle : module.handles)
    program.handleKinds[handle.name] = handle.kind == cubin::HandleKind::Texture   ? isa::kTextureHandle
                                       : handle.kind == cubin::HandleKind::Sampler ? isa::kSamplerHandle
                                                                                   : isa::kSurfaceHandle;
  for (std::size_t i = 0; i < module.addressTable.size(); ++i)
    program.addressTable.push_back({8 * i, 8, false, module.addressTable[i].symbol, module.addressTable[i].addend});
  program.constants2 = function.constant2;
  program.constants2Relocations = convert(function.constant2Relocations);
  addDriverFunctions(program);
  return program;
}

} // namespace orias::emu
