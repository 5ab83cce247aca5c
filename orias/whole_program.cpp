#include "orias/whole_program.h"

#include "encoder/cubin/names.h"
#include "encoder/isa/target.h"
#include "orias/cubin_module.h"
#include "support/align.h"
#include "support/check.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>

namespace orias {

namespace {

using cubin::Function;
using cubin::Relocation;
using cubin::RelocationType;
using cubin::Variable;

class WholeProgram {
 public:
  WholeProgram(cubin::Module& cubin, bool keepsAll) : cubin_(cubin), keepsAll_(keepsAll) {
    for (Function& function : cubin.functions)
      functions_[function.name] = &function;
    for (const cubin::Alias& alias : cubin.aliases)
      if (const auto at = functions_.find(alias.function); at != functions_.end()) functions_[alias.name] = at->second;
    for (Variable& variable : cubin.variables)
      variables_[variable.name] = &variable;
  }

  std::vector<std::string> run() {
    findMissing();
    if (!missing_.empty()) return std::move(missing_);
    for (Function& function : cubin_.functions)
      if (function.isEntry) addCallees(function);
    settleOwners();
    placeCommon();
    placeShared();
    placeTables();
    placeHandles();
    if (!missing_.empty()) return std::move(missing_);
    for (Function& function : cubin_.functions)
      settle(function);
    for (cubin::DebugSection& section : cubin_.debugSections)
      settle(section);
    for (Variable& variable : cubin_.variables)
      for (Relocation& r : variable.relocations)
        if (r.type == RelocationType::Unified64) r.type = RelocationType::Abs64;
    std::erase_if(cubin_.variables, [](const Variable& v) { return v.space == Variable::Space::Shared; });
    if (!keepsAll_) dropUnreached();
    cubin_.relocatable = false;
    cubin_.externalFunctions.clear();
    for (Function& function : cubin_.functions) {
      function.prototype.clear();
      function.indirectCalls.clear();
    }
    return {};
  }

 private:
  static bool isDriverFunction(const std::string& name) {
    return name == "vprintf" || name == "malloc" || name == "free" || name == "__assertfail" ||
           name == "cudaGraphSetConditional";
  }

  void findMissing() {
    for (const cubin::ExternalFunction& function : cubin_.externalFunctions)
      if (!isDriverFunction(function.name))
        missing_.push_back(fmt::format("undefined function '{}'; with -c a linker can resolve it", function.name));
  }

  /// Common variables, which a linker would place, get offsets here.
  void placeCommon() {
    for (Variable& variable : cubin_.variables)
      variable.common = false;
    cubin::layOutVariables(cubin_.variables);
  }

  /// The possible callees of a function: by name, and, for calls through pointers, all functions with the prototype
  /// whose address is taken.
  std::set<const Function*> calleesOf(const Function& function) const {
    std::set<const Function*> callees;
    for (const std::string& name : function.callees)
      if (const auto at = functions_.find(name); at != functions_.end()) callees.insert(at->second);
    for (const Function& other : cubin_.functions)
      if (!other.isEntry && std::find(function.indirectCalls.begin(), function.indirectCalls.end(), other.prototype) !=
                                function.indirectCalls.end())
        callees.insert(&other);
    return callees;
  }

  /// All functions that a function may execute, including itself.
  void reach(const Function& function, std::set<const Function*>& all) const {
    if (!all.insert(&function).second) return;
    for (const Function* callee : calleesOf(function))
      reach(*callee, all);
  }

  /// Removes functions that neither kernels nor variables refer to.
  void dropUnreached() {
    std::set<const Function*> reached;
    std::vector<const Function*> work;
    const auto add = [&](const std::string& name) {
      const auto at = functions_.find(name);
      if (at != functions_.end() && reached.insert(at->second).second) work.push_back(at->second);
    };
    for (const Function& function : cubin_.functions)
      if (function.isEntry) add(function.name);
    for (const Variable& variable : cubin_.variables)
      for (const Relocation& r : variable.relocations)
        add(r.symbol);
    while (!work.empty()) {
      const Function& function = *work.back();
      work.pop_back();
      for (const Relocation& r : function.relocations)
        add(r.symbol);
    }
    std::set<std::string> names;
    for (const Function* function : reached)
      names.insert(function->name);
    std::erase_if(cubin_.functions, [&](const Function& f) { return !names.contains(f.name); });
    std::erase_if(cubin_.aliases, [&](const cubin::Alias& alias) { return !names.contains(alias.function); });
  }

  /// The maximum stack depth; kUnknownStack if calls may be recursive.
  std::uint32_t depthOf(const Function& function) {
    const auto [known, isNew] = depths_.try_emplace(&function, kUnknownStack); // until all callees are known
    if (!isNew) return known->second;
    std::uint32_t deepest = 0;
    for (const Function* callee : calleesOf(function))
      deepest = std::max(deepest, depthOf(*callee));
    return depths_[&function] = deepest == kUnknownStack ? kUnknownStack : function.frameSize + deepest;
  }

  void addCallees(Function& kernel) {
    std::set<const Function*> all;
    reach(kernel, all);
    reachedBy_[&kernel] = all;
    kernel.minStackSize = depthOf(kernel);
    kernel.maxStackSize.reset();
    nameExternals(kernel, all);
    for (const Function* function : all) {
      kernel.registerCount = std::max(kernel.registerCount, function->registerCount);
      kernel.barrierCount = std::max(kernel.barrierCount, function->barrierCount);
      for (const Relocation& r : function->relocations)
        if (const auto at = variables_.find(r.symbol);
            at != variables_.end() && at->second->space == Variable::Space::Shared)
          sharedOf_[kernel.name].insert(at->second);
    }
  }

  /// A kernel refers to the driver's functions that it or its callees call; only then does the driver provide their
  /// registers and stack. Kernels linked by nvlink do the same. Without this, recursion that calls vprintf ended in an
  /// illegal instruction on an H100.
  void nameExternals(Function& kernel, const std::set<const Function*>& reached) const {
    std::set<std::string> named(kernel.externals.begin(), kernel.externals.end());
    for (const Function* function : reached)
      for (const std::string& name : function->externals)
        if (!functions_.contains(name)) named.insert(name);
    kernel.externals.assign(named.begin(), named.end());
    if (!named.empty()) kernel.crsStackSize = kernel.minStackSize == kUnknownStack ? kUnknownStack : 0;
  }

  /// Shared memory that only one kernel and its callees use belongs to that kernel. Unused shared memory takes no
  /// space.
  void settleOwners() {
    if (keepsAll_) return;
    for (Variable& v : cubin_.variables) {
      if (v.space != Variable::Space::Shared || !v.defined || !v.owner.empty()) continue;
      std::vector<std::string> users;
      for (const auto& [kernel, shared] : sharedOf_)
        if (shared.contains(&v)) users.push_back(kernel);
      if (users.empty()) v.size = 0;
      if (users.size() == 1) v.owner = users.front();
    }
  }

  /// A variable of several kernels has one offset in all of them. Two may overlap if no kernel uses both.
  void placeJoint() {
    std::vector<Variable*> placed;
    for (Variable& v : cubin_.variables) {
      if (v.space != Variable::Space::Shared || !v.defined || !v.owner.empty()) continue;
      std::uint64_t at = 0;
      for (const Variable* other : placed) {
        const bool meet = std::ranges::any_of(
            sharedOf_, [&](const auto& kernel) { return kernel.second.contains(&v) && kernel.second.contains(other); });
        if (meet) at = std::max(at, other->offset + other->size);
      }
      v.offset = alignUp(at, v.alignment);
      placed.push_back(&v);
    }
  }

  void placeShared() {
    placeJoint();
    std::uint64_t dynamicAlignment = isa::Target::kDynamicSharedAlignment;
    for (const Variable& v : cubin_.variables)
      if (v.space == Variable::Space::Shared && !v.defined) dynamicAlignment = std::max(dynamicAlignment, v.alignment);
    std::uint64_t end = 0; // of all static variables, in any kernel
    for (Function& kernel : cubin_.functions) {
      const std::set<const Variable*>& shared = sharedOf_[kernel.name];
      if (!kernel.isEntry || shared.empty()) continue;
      std::uint64_t common = 0, alignment = 1;
      for (const Variable* v : shared)
        if (v->defined && v->owner.empty()) {
          common = std::max(common, v->offset + v->size);
          alignment = std::max(alignment, v->alignment);
        }
      std::uint64_t ownAlignment = 1, size = common;
      for (const Variable* v : shared)
        if (v->owner == kernel.name) ownAlignment = std::max(ownAlignment, v->alignment);
      for (Variable& v : cubin_.variables)
        if (v.space == Variable::Space::Shared && v.owner == kernel.name) {
          v.offset += alignUp(common, ownAlignment);
          size = std::max(size, v.offset + v.size);
          ownAlignment = std::max(ownAlignment, v.alignment);
        }
      kernel.sharedAlignment = static_cast<std::uint32_t>(std::max(alignment, ownAlignment));
      kernel.staticSharedSize = static_cast<std::uint32_t>(size);
      kernel.usesSharedAddress = true;
      kernel.seesDynamicShared =
          std::any_of(shared.begin(), shared.end(), [](const Variable* v) { return !v->defined; });
      if (kernel.seesDynamicShared)
        kernel.sharedAlignment = std::max(kernel.sharedAlignment, static_cast<std::uint32_t>(dynamicAlignment));
      end = std::max(end, size);
    }
    end = alignUp(end, dynamicAlignment);
    for (Variable& v : cubin_.variables)
      if (v.space == Variable::Space::Shared && !v.defined) v.offset = end;
    for (Function& kernel : cubin_.functions)
      if (kernel.seesDynamicShared && !sharedOf_[kernel.name].empty())
        kernel.staticSharedSize = static_cast<std::uint32_t>(end);
  }

  /// The tables of functions have one offset in all kernels that may call them; tables of a kernel follow.
  void placeTables() {
    constexpr std::size_t kMaxBytes = 0x10000;
    std::map<const Function*, std::size_t> placeOf;
    std::size_t end = 0;
    for (Function& function : cubin_.functions) {
      if (function.isEntry || function.constant2.empty()) continue;
      placeOf[&function] = end;
      for (const cubin::ConstantTable& table : function.constant2Tables)
        tables_[table.name] = end + table.offset;
      end += function.constant2.size();
    }
    for (Function& kernel : cubin_.functions) {
      if (!kernel.isEntry) continue;
      cubin::Bytes all;
      for (const Function* function : reachedBy_[&kernel]) {
        if (function->isEntry || function->constant2.empty()) continue;
        const std::size_t place = placeOf.at(function);
        all.resize(std::max(all.size(), place + function->constant2.size()));
        std::copy(function->constant2.begin(), function->constant2.end(),
                  all.begin() + static_cast<std::ptrdiff_t>(place));
      }
      for (const cubin::ConstantTable& table : kernel.constant2Tables)
        tables_[table.name] = all.size() + table.offset;
      all.insert(all.end(), kernel.constant2.begin(), kernel.constant2.end());
      if (all.size() > kMaxBytes)
        missing_.push_back(
            fmt::format("'{}' needs {} bytes for jump tables, limit is {}", kernel.name, all.size(), kMaxBytes));
      kernel.constant2 = std::move(all);
    }
    for (Function& function : cubin_.functions)
      if (!function.isEntry) function.constant2.clear();
  }

  /// The texture handle slots that a function reads.
  std::vector<std::string> handlesIn(const Function& function) const {
    std::vector<std::string> names;
    for (const Relocation& r : function.relocations)
      if (r.type == RelocationType::Const21At38 && kindOfHandle(r.symbol) &&
          std::find(names.begin(), names.end(), r.symbol) == names.end())
        names.push_back(r.symbol);
    return names;
  }

  std::optional<cubin::HandleKind> kindOfHandle(const std::string& symbol) const {
    for (const cubin::HandleSymbol& handle : cubin_.handles)
      if (handle.name == symbol) return handle.kind;
    for (const Function& function : cubin_.functions)
      for (const cubin::Parameter& parameter : function.parameters)
        if (parameter.handle == symbol) return parameter.handleKind;
    return std::nullopt;
  }

  /// Slots that functions use have one offset in all kernels, after the longest parameters. Slots of a single kernel
  /// follow its parameters, or those slots.
  void placeHandles() {
    constexpr std::uint32_t kLast = 0x7ffc; // offsets are signed
    const auto endOf = [&](const Function& kernel) {
      return static_cast<std::uint32_t>(
          alignUp(cubin::parameterBase(cubin_.abi, kernel.parameterSize) + kernel.parameterSize, cubin::kHandleBytes));
    };
    std::uint32_t common = 0;
    for (const Function& function : cubin_.functions)
      if (function.isEntry) common = std::max(common, endOf(function));
    for (const Function& function : cubin_.functions)
      for (const std::string& name : function.isEntry ? std::vector<std::string>{} : handlesIn(function))
        if (handlePlaces_.try_emplace(name, common).second) common += cubin::kHandleBytes;
    for (Function& kernel : cubin_.functions) {
      if (!kernel.isEntry) continue;
      std::map<std::string, std::uint32_t> places;
      std::uint32_t end = endOf(kernel);
      for (const Function* function : reachedBy_[&kernel])
        for (const std::string& name : handlesIn(*function))
          if (const auto at = handlePlaces_.find(name); at != handlePlaces_.end()) {
            places.insert(*at);
            end = common;
          }
      for (const std::string& name : handlesIn(kernel))
        if (places.try_emplace(name, end).second) end += cubin::kHandleBytes;
      if (!places.empty() && end > kLast)
        missing_.push_back(
            fmt::format("'{}' has too many parameters: no space is left for texture handles", kernel.name));
      const std::uint32_t base = cubin::parameterBase(cubin_.abi, kernel.parameterSize);
      for (const auto& [name, place] : places)
        kernel.handles.push_back({*kindOfHandle(name), place - base, name});
      addHandleBanks(kernel);
      ownHandles_[kernel.name] = std::move(places);
    }
  }

  /// The offset of a table or of a texture handle slot.
  std::uint64_t placeOf(const Function& function, const std::string& symbol) const {
    if (const auto table = tables_.find(symbol); table != tables_.end()) return table->second;
    return function.isEntry ? ownHandles_.at(function.name).at(symbol) : handlePlaces_.at(symbol);
  }

  /// Writes the known offsets into the code.
  void settle(Function& function) const {
    cubin::Bytes& code = function.code;
    constexpr std::size_t kImmediate = 4; // its first byte in an instruction
    const auto write = [&](const Relocation& r, std::size_t bytes) {
      const auto value =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(variables_.at(r.symbol)->offset) + r.addend);
      ORIAS_CHECK(r.offset + kImmediate + bytes <= code.size());
      for (std::size_t i = 0; i < bytes; ++i)
        code[r.offset + kImmediate + i] = static_cast<std::byte>(value >> (8 * i));
    };
    std::erase_if(function.relocations, [&](Relocation& r) {
      switch (r.type) {
      case RelocationType::Const21At38: {
        // The offset has 16 bits from bit 38 on; the bank, in the bits after it, is set already.
        constexpr unsigned kBit = 38;
        const auto value =
            static_cast<std::uint16_t>(placeOf(function, r.symbol) + static_cast<std::uint64_t>(r.addend));
        std::uint64_t word = 0;
        std::memcpy(&word, code.data() + r.offset, sizeof word);
        word = (word & ~(std::uint64_t{0xffff} << kBit)) | std::uint64_t{value} << kBit;
        std::memcpy(code.data() + r.offset, &word, sizeof word);
        return true;
      }
      case RelocationType::Abs32At32:
        if (std::find(cubin_.driverPatches.begin(), cubin_.driverPatches.end(), r.symbol) != cubin_.driverPatches.end())
          return false; // the driver writes it
        write(r, 4);
        return true;
      case RelocationType::Abs16At32: write(r, 2); return true;
      case RelocationType::IndirectCallee: return true;
      case RelocationType::Unified32Lo32: r.type = RelocationType::Abs32Lo32; return false;
      case RelocationType::Unified32Hi32: r.type = RelocationType::Abs32Hi32; return false;
      default: return false;
      }
    });
  }

  /// Offsets in sections and in shared memory are constants now.
  void settle(cubin::DebugSection& section) const {
    std::erase_if(section.relocations, [&](const Relocation& r) {
      const auto variable = variables_.find(r.symbol);
      const bool isShared = variable != variables_.end() && variable->second->space == Variable::Space::Shared;
      if (!isShared && !r.symbol.starts_with('.')) return false;
      const std::uint64_t value = static_cast<std::uint64_t>(r.addend) + (isShared ? variable->second->offset : 0);
      const std::size_t bytes = r.type == RelocationType::Abs32 ? 4 : 8;
      ORIAS_CHECK(r.offset + bytes <= section.data.size());
      for (std::size_t i = 0; i < bytes; ++i)
        section.data[r.offset + i] = static_cast<std::byte>(value >> (8 * i));
      return true;
    });
  }

  cubin::Module& cubin_;
  bool keepsAll_;
  std::map<std::string, Function*> functions_;
  std::map<std::string, Variable*> variables_;
  std::map<const Function*, std::uint32_t> depths_;
  std::map<std::string, std::set<const Variable*>> sharedOf_;              ///< used by a kernel and its callees
  std::map<const Function*, std::set<const Function*>> reachedBy_;         ///< by kernel
  std::map<std::string, std::uint64_t> tables_;                            ///< offsets in bank 2
  std::map<std::string, std::uint32_t> handlePlaces_;                      ///< in bank 0, of those that functions use
  std::map<std::string, std::map<std::string, std::uint32_t>> ownHandles_; ///< all of a kernel
  std::vector<std::string> missing_;
};

} // namespace

std::vector<std::string> makeWholeProgram(cubin::Module& cubin, bool keepsAll) {
  return WholeProgram(cubin, keepsAll).run();
}

} // namespace orias
