#include "encoder/isa/texture_table.h"
#include "support/align.h"
#include "support/check.h"
#include "tools/interpreter/translate.h"

#include <fmt/format.h>

#include <algorithm>

namespace orias::interp {

using ptx::StateSpace;

namespace {

std::uint64_t alignOf(const ptx::Variable& variable) {
  return std::max<std::uint64_t>(variable.align, 1);
}

/// Alignment of dynamic shared memory.
constexpr std::uint64_t kDynamicSharedAlign = 16;

/// The handle's value for the program: the upper word tells the kind of object.
std::uint64_t handleNumber(ptx::Type type, std::uint64_t handle) {
  const std::uint32_t kind = type == ptx::Type::TexRef       ? isa::kTextureHandle
                             : type == ptx::Type::SamplerRef ? isa::kSamplerHandle
                                                             : isa::kSurfaceHandle;
  return std::uint64_t{kind} << 32 | handle;
}

} // namespace

void unsupported(Thread&, const Inst&) {
  throw Stop{"unsupported", "the interpreter does not support this instruction"};
}

std::unique_ptr<Program> translate(const ptx::Module& module, std::string_view kernel, launch::Device& device) {
  auto program = std::make_unique<Program>();
  program->module = &module;
  ModuleTranslator(module, device, *program).translate(kernel);
  return program;
}

void ModuleTranslator::translate(std::string_view kernelName) {
  const ptx::Function* kernel = kernelNamed(module, kernelName);
  if (!kernel) throw Error(fmt::format("the module has no kernel '{}'", kernelName));
  const auto kernelId = static_cast<ptx::FunctionId>(kernel - module.functions.data());
  layOutKernelParams(*kernel);
  allocateGlobals();
  program_.kernel = codeOf(kernelId);
  initialise();
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const ptx::FunctionId id = waiting_[i];
    FunctionTranslator(*this, module.function(id), *program_.functions.at(id)).translate();
  }
  // The size of static variables is now known; extern ones follow them.
  const std::uint64_t dynamic = alignUp(program_.staticShared, kDynamicSharedAlign);
  for (const auto& [id, code] : program_.functions)
    for (std::uint64_t& value : code->constants)
      if (value >= kExternShared && value - kExternShared < kWindowBytes) value = value - kExternShared + dynamic;
  program_.dynamicShared = dynamic;
}

const ptx::Function* kernelNamed(const ptx::Module& module, std::string_view name) {
  const auto at = std::ranges::find_if(
      module.functions, [&](const ptx::Function& f) { return f.isEntry && f.hasBody && module.text(f.name) == name; });
  return at == module.functions.end() ? nullptr : &*at;
}

std::vector<launch::ParameterPlace> kernelPlaces(const ptx::Module& module, const ptx::Function& kernel) {
  std::vector<launch::ParameterPlace> places;
  std::uint64_t at = 0;
  for (const ptx::Parameter& p : kernel.params) {
    const ptx::Variable& variable = module.variable(p.variable);
    const bool isHandle = typeClass(variable.type) == ptx::TypeClass::Opaque; // occupies no bytes
    if (!isHandle) at = alignUp(at, alignOf(variable));
    const std::uint64_t size = isHandle ? 0 : variable.byteSize();
    places.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(size), isHandle});
    at += size;
  }
  return places;
}

void ModuleTranslator::layOutKernelParams(const ptx::Function& kernel) {
  program_.kernelParams = kernelPlaces(module, kernel);
  for (std::size_t n = 0; n < kernel.params.size(); ++n) {
    const launch::ParameterPlace& place = program_.kernelParams[n];
    const ptx::VariableId id = kernel.params[n].variable;
    if (place.isHandle)
      handles_[id] = handleNumber(module.variable(id).type, device_.handleArgument(n));
    else
      kernelParams_[id] = place.offset;
    program_.kernelParamBytes = place.offset + place.size;
  }
}

void ModuleTranslator::allocateGlobals() {
  for (std::uint32_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& v = module.variables[i];
    if (v.space != StateSpace::Global && v.space != StateSpace::Const) continue;
    if (v.linkage == ptx::Linkage::Extern || v.incomplete || typeClass(v.type) == ptx::TypeClass::Opaque) continue;
    std::string name(module.text(v.name));
    // Variables of functions may share a name; the first keeps the name.
    const std::string longName = fmt::format("{}@{}", name, i);
    const launch::Allocation* ofParent = device_.level == 0 ? nullptr : global_.find(longName);
    if (device_.level != 0 && !ofParent) ofParent = global_.find(name);
    if (!ofParent && global_.find(name)) name = longName;
    const std::uint64_t at =
        ofParent ? ofParent->address : global_.allocate(name, std::max<std::uint64_t>(v.byteSize(), 1), alignOf(v));
    if (!ofParent) global_.initialise(at, v.byteSize());
    addresses_[ptx::VariableId(i)] = at;
    if (v.space == StateSpace::Const) program_.constants.push_back({at, at + v.byteSize()});
  }
}

/// Fills the variables: bytes first, then the addresses in them.
void ModuleTranslator::initialise() {
  for (std::uint32_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& v = module.variables[i];
    const auto it = addresses_.find(ptx::VariableId(i));
    if (it == addresses_.end() || !v.hasInitializer) continue;
    std::byte* bytes = global_.at(it->second, v.byteSize());
    ORIAS_CHECK(bytes || v.byteSize() == 0);
    const bool isChild = device_.level != 0; // the variables already hold the values of the parent grid
    for (std::size_t k = 0; k < v.init.size() && !isChild; ++k)
      bytes[k] = std::byte{v.init[k]};
    for (const ptx::InitAddress& address : v.initAddresses) {
      std::uint64_t value = 0;
      if (address.function != ptx::FunctionId::None) {
        if (!module.function(address.function).isEntry) codeOf(address.function);
        value = addressOf(address.function);
      } else if (const ptx::Variable& target = module.variable(address.variable);
                 typeClass(target.type) == ptx::TypeClass::Opaque) {
        // A launch need not have objects that no code uses.
        value = handleNumber(target.type, device_.findHandle(module.text(target.name)).value_or(0));
      } else {
        value = addressOf(address.variable);
        if (address.generic && module.variable(address.variable).space == StateSpace::Shared) value += kSharedWindow;
      }
      value += static_cast<std::uint64_t>(address.addend);
      if (address.mask != 0) value = value >> 8 * (address.mask - 1) & 0xff;
      for (unsigned k = 0; k < address.size && !isChild; ++k)
        bytes[address.at + k] = static_cast<std::byte>(value >> 8 * k);
      if (!isChild) global_.noteAddress(it->second + address.at, address.size);
    }
  }
}

const Code* ModuleTranslator::codeOf(ptx::FunctionId id) {
  const ptx::Function* function = &module.function(id);
  if (function->aliasee != ptx::FunctionId::None) return codeOf(function->aliasee);
  if (!function->hasBody) return nullptr;
  std::unique_ptr<Code>& code = program_.functions[id];
  if (!code) {
    code = std::make_unique<Code>();
    waiting_.push_back(id);
  }
  program_.byAddress[addressOf(id)] = code.get();
  return code.get();
}

std::uint64_t ModuleTranslator::addressOf(ptx::VariableId id) {
  if (const auto it = kernelParams_.find(id); it != kernelParams_.end()) return it->second;
  if (const auto it = addresses_.find(id); it != addresses_.end()) return it->second;
  const ptx::Variable& v = module.variable(id);
  // For a texture or surface the handle: from an argument of the launch, or by name.
  if (const auto it = handles_.find(id); it != handles_.end()) return it->second;
  if (typeClass(v.type) == ptx::TypeClass::Opaque) return handleNumber(v.type, device_.handleOf(module.text(v.name)));
  std::uint64_t at = 0; // undefined variables have no address: their use faults
  if (v.space == StateSpace::Shared) {
    if (v.linkage == ptx::Linkage::Extern) {
      at = kExternShared;
    } else {
      at = alignUp(program_.staticShared, alignOf(v));
      program_.staticShared = at + v.byteSize();
    }
  }
  addresses_[id] = at;
  return at;
}

} // namespace orias::interp
