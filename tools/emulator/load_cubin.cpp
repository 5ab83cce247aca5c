// Builds a program from a cubin: decodes the words and collects the data of the kernel.

#include "encoder/cubin/cubin.h"
#include "encoder/isa/codec.h"
#include "encoder/isa/target.h"
#include "encoder/isa/texture_table.h"
#include "support/align.h"
#include "support/check.h"
#include "tools/emulator/constants.h"
#include "tools/emulator/program.h"
#include "tools/launch/device_runtime.h"
#include "tools/launch/driver_functions.h"
#include "tools/launch/gradient_function.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>

namespace orias::emu {

namespace {

using isa::File;
using isa::Operand;

constexpr std::size_t kWordBytes = 16;
constexpr std::uint32_t kStackAlignment = 16;

Relocation convert(const cubin::Relocation& r) {
  using Type = cubin::RelocationType;
  Relocation out{r.offset, 8, false, false, r.symbol, r.addend};
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
  case Type::FunctionDescriptor64:
  case Type::FunctionDescriptor32Lo32:
  case Type::FunctionDescriptor32Hi32:
    out.isDescriptor = true;
    out.bytes = r.type == Type::FunctionDescriptor64 ? 8 : 4;
    out.isHigh = r.type == Type::FunctionDescriptor32Hi32;
    break;
  default: throw Error(fmt::format("unknown relocation type {}", static_cast<std::uint32_t>(r.type)));
  }
  return out;
}

std::vector<Relocation> convert(const std::vector<cubin::Relocation>& all) {
  std::vector<Relocation> out;
  for (const cubin::Relocation& r : all)
    out.push_back(convert(r));
  return out;
}

/// Converts branch distances to instruction indices. Targets outside the code keep their distance, because indirect
/// branches have bases.
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

/// Code of an object refers to a variable in constant memory that no linker has placed: it keeps its offset in the
/// object.
void placeConstant(const cubin::Module& module, const cubin::Relocation& relocation, isa::Inst& inst) {
  const auto variable = std::ranges::find(module.variables, relocation.symbol, &cubin::Variable::name);
  if (variable == module.variables.end() || !variable->defined)
    throw Error(fmt::format("the object has no variable '{}'", relocation.symbol));
  for (unsigned s = 0; s < inst.operandCount; ++s) {
    Operand& o = inst.operands[s];
    if (o.kind != Operand::Kind::Const && !o.isImm()) continue;
    o.imm = static_cast<std::int32_t>(static_cast<std::int64_t>(variable->offset) + relocation.addend);
    return; // the operand after the source of MOV is its mask
  }
}

/// Appends a function to the code.
void addCode(Program& program, const cubin::Module& module, const cubin::Function& function) {
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
  // Aliases of the function, and functions inside it.
  for (const cubin::InnerFunction& inner : function.inner)
    program.functions.emplace_back(inner.name, first * kWordBytes + inner.offset);
  for (const cubin::Relocation& r : function.relocations) {
    if (r.type == cubin::RelocationType::Abs16At32 || r.type == cubin::RelocationType::Const21At38) {
      placeConstant(module, r, program.code[first + r.offset / kWordBytes].inst);
      continue;
    }
    Relocation relocation = convert(r);
    relocation.offset += first * kWordBytes;
    program.codeRelocations.push_back(std::move(relocation));
  }
}

/// The functions appended to a kernel: all of the file. If the kernel is linked with the device runtime, only those
/// that the kernel's code reaches, and not the runtime, whose functions the emulator implements itself.
std::set<std::string> neededFunctions(const cubin::Module& module, const cubin::Function& kernel) {
  std::map<std::string, const cubin::Function*> functions;
  std::set<std::string> needed;
  bool hasRuntime = false;
  for (const cubin::Function& f : module.functions) {
    if (f.isEntry) continue;
    const bool isRuntime = launch::runtimeFunction(f.name) != nullptr;
    hasRuntime |= isRuntime;
    if (isRuntime) continue;
    functions[f.name] = &f;
    needed.insert(f.name);
  }
  if (!hasRuntime) return needed;
  needed.clear();
  for (std::vector<const cubin::Function*> open{&kernel}; !open.empty();) {
    const cubin::Function& next = *open.back();
    open.pop_back();
    for (const cubin::Relocation& r : next.relocations)
      if (const auto at = functions.find(r.symbol); at != functions.end() && needed.insert(r.symbol).second)
        open.push_back(at->second);
  }
  return needed;
}

/// No linker has placed the shared variables of an object. Those that the kernel or a function may use get consecutive
/// offsets. Variables whose size is known only at launch follow them.
void placeShared(Program& program, const cubin::Module& module, const cubin::Function& kernel) {
  if (!module.relocatable) return;
  const auto isAnotherKernels = [&](const std::string& owner) {
    return owner != kernel.name && std::ranges::any_of(module.functions, [&](const cubin::Function& f) {
             return f.isEntry && f.name == owner;
           });
  };
  Packing shared{.alignment = kernel.sharedAlignment};
  for (const cubin::Variable& v : module.variables)
    if (v.space == cubin::Variable::Space::Shared && v.defined && !isAnotherKernels(v.owner))
      program.sharedVariables[v.name] = shared.place(v.size, v.alignment);
  shared.close();
  program.staticShared = static_cast<std::uint32_t>(shared.end);
  for (const cubin::Function& f : module.functions)
    for (const cubin::Relocation& r : f.relocations)
      if (r.type == cubin::RelocationType::Abs32At32 &&
          std::ranges::none_of(module.variables,
                               [&](const cubin::Variable& v) { return v.name == r.symbol && v.defined; }))
        program.sharedVariables.emplace(r.symbol, shared.end);
}

/// Returns whether code sets the stack pointer from other registers. If so, it may take memory from the stack whose
/// size is not in the file (alloca). If the code only aligns a frame, more memory does no harm.
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

/// Functions that the code calls and that are undefined must be the driver's: they get entries after the table.
void addDriverFunctions(Program& program) {
  for (const Relocation& r : program.codeRelocations) {
    const auto isIt = [&](const Relocation& slot) { return slot.symbol == r.symbol; };
    const bool isKnown = std::any_of(program.functions.begin(), program.functions.end(),
                                     [&](const auto& f) { return f.first == r.symbol; });
    const bool isDrivers =
        launch::driverFunction(r.symbol) != nullptr || launch::GradientFunction::named(r.symbol).has_value();
    if (!isDrivers || isKnown || std::any_of(program.addressTable.begin(), program.addressTable.end(), isIt)) continue;
    program.addressTable.push_back({8 * program.addressTable.size(), 8, false, false, r.symbol, 0});
  }
}

/// One kernel of a parsed file.
Program load(const cubin::Module& module, std::string_view kernel) {
  const auto found = std::find_if(module.functions.begin(), module.functions.end(),
                                  [&](const cubin::Function& f) { return f.name == kernel; });
  if (found == module.functions.end()) throw Error(fmt::format("the cubin has no kernel '{}'", kernel));
  const cubin::Function& function = *found;

  Program program;
  program.kernel = function.name;
  for (const isa::Target& target : isa::Target::all())
    if (cubin::isSameChip(target.elfFlags(), module.abi.elfFlags)) program.target = &target;
  if (!program.target) throw Error("the cubin is for an unknown target");

  addCode(program, module, function);
  const std::set<std::string> isNeeded = neededFunctions(module, function);
  for (const cubin::Function& other : module.functions)
    if (!other.isEntry && isNeeded.contains(other.name)) addCode(program, module, other);
  program.hasConvergenceBarriers = true;
  resolveLabels(program);
  program.rows = {256, 256, 8, 8, 16};

  for (const cubin::Parameter& p : function.parameters)
    program.parameters.push_back({p.offset, p.size, !p.handle.empty()});
  for (const cubin::TextureHandleSlot& handle : function.handles) {
    Program::TextureHandleSlot word{handle.offset, handle.symbol, handle.kind == cubin::HandleKind::Sampler,
                                    std::nullopt};
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
  constexpr std::uint32_t kNotKnown = ~0u; // the linker's value for recursion or calls through pointers
  const std::uint32_t least = function.minStackSize == kNotKnown ? 0 : function.minStackSize;
  program.localBytes = std::max({function.frameSize, least, function.maxStackSize.value_or(0)});
  // ptxas' recursive functions are separate from the kernel; ours are part of it.
  const bool callsUnlinked = module.relocatable && !isNeeded.empty();
  if (!function.inner.empty() || function.minStackSize > function.frameSize || callsUnlinked || takesStack(program))
    program.localBytes += kStackOfCalls;
  program.localBytes = (program.localBytes + kStackAlignment - 1) / kStackAlignment * kStackAlignment;
  placeShared(program, module, function);
  for (const cubin::Variable& v : module.variables) {
    if (v.space == cubin::Variable::Space::Shared) continue;
    if (!v.defined) continue;
    program.variables.push_back({v.name, v.space == cubin::Variable::Space::Constant, v.size, v.alignment, v.offset,
                                 v.init, convert(v.relocations)});
  }
  for (const cubin::HandleSymbol& handle : module.handles)
    program.handleKinds[handle.name] = handle.kind == cubin::HandleKind::Texture   ? isa::kTextureHandle
                                       : handle.kind == cubin::HandleKind::Sampler ? isa::kSamplerHandle
                                                                                   : isa::kSurfaceHandle;
  for (std::size_t i = 0; i < module.addressTable.size(); ++i) {
    const cubin::AddressSlot& slot = module.addressTable[i];
    const bool isKernel = std::ranges::any_of(
        module.functions, [&](const cubin::Function& f) { return f.isEntry && f.name == slot.symbol; });
    program.addressTable.push_back({8 * i, 8, false, isKernel, slot.symbol, slot.addend});
  }
  program.constants2 = function.constant2;
  program.constants2Relocations = convert(function.constant2Relocations);
  addDriverFunctions(program);
  return program;
}

} // namespace

Program loadCubin(std::span<const std::byte> file, std::string_view kernel) {
  const auto module = std::make_shared<const cubin::Module>(cubin::read(file));
  Program program = load(*module, kernel);
  std::vector<std::string> names;
  for (const cubin::Function& f : module->functions)
    if (f.isEntry) names.push_back(f.name);
  program.kernels =
      std::make_shared<Kernels>(std::move(names), [module](const std::string& name) { return load(*module, name); });
  return program;
}

} // namespace orias::emu
