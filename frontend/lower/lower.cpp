#include "frontend/lower/lower.h"

#include "frontend/lower/function_lowering.h"
#include "frontend/lower/inline_plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace orias::ptx {

namespace {

ori::Linkage linkageOf(Linkage linkage) {
  switch (linkage) {
  case Linkage::Visible: return ori::Linkage::Global;
  case Linkage::Weak: return ori::Linkage::Weak;
  case Linkage::Common: return ori::Linkage::Common;
  case Linkage::Extern: return ori::Linkage::External;
  case Linkage::None: return ori::Linkage::Local;
  }
  return ori::Linkage::Local;
}

/// Constant bank 3 is filled in the order visible, weak, local (observed; see encoder/cubin/README.md).
int constOrder(const Variable& v) {
  return v.linkage == Linkage::Visible ? 0 : v.linkage == Linkage::Weak ? 1 : 2;
}

class ModuleLowering {
 public:
  ModuleLowering(const Module& in, const FormTable& forms, const isa::Target& target, Diagnostics& diagnostics,
                 const LowerOptions& options)
      : in_(in), diagnostics_(diagnostics), forms_(forms), calls_(in, forms_),
        plan_(in, forms_, calls_, options.inlining, options.inlineScope), out_(std::make_unique<ori::Module>(target)) {
    layout_.out = out_.get();
    layout_.in = &in;
    layout_.forms = &forms_;
    layout_.calls = &calls_;
    layout_.options = options;
    layout_.plan = &plan_;
    if (hasConstantPointers(in)) layout_.constantAddresses.emplace(in, forms_);
    layout_.namesData = options.relocatable;
    layout_.options.relocatable = plan_.hasFunctions();
    if (options.inlineRemarks) *options.inlineRemarks = plan_.remarks();
  }

  std::unique_ptr<ori::Module> run() {
    out_->ptxVersionMajor = in_.version.major;
    out_->ptxVersionMinor = in_.version.minor;
    if (in_.addressSize != 64) {
      diagnostics_.error(in_.versionLoc, "not supported yet: 32-bit addresses", "write '.address_size 64'");
      return std::move(out_);
    }
    out_->relocatable = layout_.options.relocatable;
    out_->hasIndependentSamplers = in_.target.texmodeIndependent;
    rejectUnified();
    if (out_->relocatable) rejectOtherConventions();
    declareVariables();
    declareFunctions();
    initialiseVariables();
    lowerDebugPlaces();
    for (std::uint32_t id = 0; id < in_.functions.size(); ++id)
      if (const Function& function = in_.functions[id]; function.hasBody && (function.isEntry || hasCode(id)))
        lowerFunction(function);
    return std::move(out_);
  }

 private:
  bool hasCode(std::uint32_t id) const { return plan_.hasCode(FunctionId(id)); }

  /// Unified functions and variables require tables that linkers build. The cubins of orias do not have them.
  void rejectUnified() {
    auto reject = [&](SourceLoc loc, NameId name) {
      diagnostics_.error(loc, fmt::format("not supported yet: '{}' has the attribute .unified", in_.text(name)));
    };
    for (const Variable& v : in_.variables)
      if (v.attributes.unified) reject(v.loc, v.name);
    for (const Function& f : in_.functions)
      if (f.attributes.unified) reject(f.loc, f.name);
  }

  /// The directives change the set of callee-saved registers. Within one program they can be ignored; other objects
  /// rely on it.
  void rejectOtherConventions() {
    auto reject = [&](const auto& f) {
      if (f.abiPreserve >= 0 || f.abiPreserveControl >= 0)
        diagnostics_.error(
            f.loc, fmt::format("not supported yet: .abi_preserve and .abi_preserve_control in relocatable code ('{}')",
                               in_.text(f.name)));
    };
    std::ranges::for_each(in_.functions, reject);
    std::ranges::for_each(in_.prototypes, reject);
  }

  void declareVariables() {
    layout_.symbolOf.assign(in_.variables.size(), kNoId);
    layout_.constOffset.assign(in_.variables.size(), -1);
    const std::vector<const Function*> scopes =
        out_->relocatable ? scopesOfVariables() : std::vector<const Function*>();
    std::vector<std::uint32_t> constants;
    // Module-scope variables keep their names, and so does the first function-scope variable of each name.
    std::set<std::string> names;
    for (const Function& function : in_.functions)
      names.emplace(in_.text(function.name));
    for (const Variable& v : in_.variables)
      if (v.owner == FunctionId::None) names.emplace(in_.text(v.name));
    for (std::uint32_t id = 0; id < in_.variables.size(); ++id) {
      const Variable& v = in_.variables[id];
      if (v.space == StateSpace::Const && !layout_.namesData) constants.push_back(id);
      const bool isShared = v.space == StateSpace::Shared && out_->relocatable;
      if (v.space != StateSpace::Global && v.space != StateSpace::Const && !isShared) continue;
      if (typeClass(v.type) == TypeClass::Opaque) {
        declareHandle(id);
        continue;
      }
      ori::Variable out;
      out.name = std::string(in_.text(v.name));
      out.linkage = linkageOf(v.linkage);
      out.space = isShared ? ori::Space::Shared : v.space == StateSpace::Const ? ori::Space::Const : ori::Space::Global;
      if (!scopes.empty() && scopes[id] != nullptr) {
        // Variables of different functions may have the same name.
        out.name = fmt::format("${}${}${}", in_.text(scopes[id]->name), out.name, id);
        out.linkage = ori::Linkage::Local;
        // A variable of a function (not a kernel) belongs to the module, because the kernel that it runs in is not
        // known (observed).
        if (isShared && scopes[id]->isEntry) out.owner = std::string(in_.text(scopes[id]->name));
      } else if (v.owner != FunctionId::None && !names.insert(out.name).second) {
        out.name = fmt::format("$__{}__{}", out.name, id);
      }
      out.managed = v.attributes.managed;
      out.align = v.align;
      out.size = v.byteSize();
      layout_.symbolOf[id] = static_cast<std::uint32_t>(out_->symbols.size());
      out_->symbols.push_back(
          {ori::Symbol::Kind::Variable, out.name, static_cast<std::uint32_t>(out_->variables.size())});
      out_->variables.push_back(std::move(out));
    }
    std::stable_sort(constants.begin(), constants.end(), [&](std::uint32_t a, std::uint32_t b) {
      return constOrder(in_.variables[a]) < constOrder(in_.variables[b]);
    });
    std::int64_t at = 0;
    for (std::uint32_t id : constants) {
      const Variable& v = in_.variables[id];
      at = (at + v.align - 1) / v.align * v.align;
      layout_.constOffset[id] = at;
      outOf(id).constOffset = at;
      at += static_cast<std::int64_t>(v.byteSize());
    }
  }

  /// Textures, samplers and surfaces are not memory: kernels have the handles of those that they use. All have the same
  /// linkage, regardless of the PTX (observed).
  void declareHandle(std::uint32_t id) {
    using Kind = ori::Symbol::Kind;
    const Variable& v = in_.variables[id];
    if (v.space != StateSpace::Global || !v.dims.empty()) return; // the elements of an array cannot be referred to
    const Kind kind = v.type == Type::TexRef       ? Kind::Texture
                      : v.type == Type::SamplerRef ? Kind::Sampler
                                                   : Kind::Surface;
    layout_.symbolOf[id] = static_cast<std::uint32_t>(out_->symbols.size());
    out_->symbols.push_back({kind, std::string(in_.text(v.name)), 0});
    if (kind == Kind::Sampler) startSampler(id);
  }

  void startSampler(std::uint32_t id) {
    // In the order of the words (manual: "Texture, Sampler, and Surface Types").
    static constexpr std::string_view kModes[] = {"wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"};
    static constexpr std::string_view kFilters[] = {"nearest", "linear"};
    static constexpr std::string_view kAddressMode = "addr_mode_";
    ori::SamplerStart start;
    start.symbol = layout_.symbolOf[id];
    for (const ObjectProperty& property : in_.objectProperties) {
      if (property.variable != VariableId(id)) continue;
      const auto number = [&](std::span<const std::string_view> words) {
        if (property.word == NameId::None && property.value < words.size())
          return static_cast<std::uint8_t>(property.value);
        const std::string_view word = property.word == NameId::None ? "" : in_.text(property.word);
        const auto known = std::find(words.begin(), words.end(), word);
        if (known == words.end())
          diagnostics_.error(in_.variables[id].loc,
                             fmt::format("'{}' of '{}' has no such value", in_.text(property.field),
                                         in_.text(in_.variables[id].name)));
        return static_cast<std::uint8_t>(known - words.begin());
      };
      const std::string_view field = in_.text(property.field);
      if (field.starts_with(kAddressMode))
        start.addressModes[field.back() - '0'] = number(kModes);
      else if (field == "filter_mode")
        start.filter = number(kFilters);
      else if (field == "force_unnormalized_coords")
        start.forcesUnnormalized = property.value != 0;
    }
    out_->samplers.push_back(start);
  }

  void initialiseVariables() {
    for (std::uint32_t id = 0; id < in_.variables.size(); ++id)
      if (layout_.symbolOf[id] != kNoId && in_.variables[id].hasInitializer) initialise(id);
  }

  /// By VariableId: the function in which a variable is declared, null for module-scope variables.
  std::vector<const Function*> scopesOfVariables() const {
    std::vector<const Function*> scopes(in_.variables.size(), nullptr);
    for (const Function& function : in_.functions)
      for (const Statement& s : function.statements)
        if (s.kind == StatementKind::Variable) scopes[s.index] = &function;
    return scopes;
  }

  bool isTaken(FunctionId id) const {
    return std::ranges::find(calls_.addressTaken(), id) != calls_.addressTaken().end();
  }

  /// Declares functions without a body, which other objects may provide (kernels only in relocatable code), functions
  /// with code of their own, and kernels whose address is taken.
  void declareFunctions() {
    layout_.functionSymbol.assign(in_.functions.size(), kNoId);
    for (std::uint32_t id = 0; id < in_.functions.size(); ++id) {
      const Function& function = in_.functions[id];
      // A use of an alias is a use of the function.
      const bool isNamed = !function.hasBody
                               ? (!function.isEntry || out_->relocatable) && function.aliasee == FunctionId::None
                           : function.isEntry ? out_->relocatable || isTaken(FunctionId(id))
                                              : out_->relocatable && hasCode(id);
      if (!isNamed) continue;
      layout_.functionSymbol[id] = static_cast<std::uint32_t>(out_->symbols.size());
      out_->symbols.push_back({function.hasBody ? ori::Symbol::Kind::Function : ori::Symbol::Kind::ExternFunction,
                               std::string(in_.text(function.name)), id, linkageOf(function.linkage),
                               function.isEntry && !function.hasBody});
    }
  }

  ori::Variable& outOf(std::uint32_t id) { return out_->variables[out_->symbols[layout_.symbolOf[id]].index]; }

  /// The address, if it is a number that this program chooses: that of a function, or an offset in the constant bank.
  std::optional<std::uint64_t> numberOf(const InitAddress& a) const {
    if (layout_.namesData || a.mask != 0) return std::nullopt;
    const auto addend = static_cast<std::uint64_t>(a.addend);
    if (a.function != FunctionId::None && (out_->relocatable || in_.function(a.function).isEntry)) return std::nullopt;
    if (a.function != FunctionId::None) return functionAddress(calls_.resolved(a.function)) + addend;
    if (a.variable == VariableId::None || a.generic || in_.variable(a.variable).space != StateSpace::Const)
      return std::nullopt;
    return static_cast<std::uint64_t>(layout_.constOffset[index(a.variable)]) + addend;
  }

  void initialise(std::uint32_t id) {
    const Variable& v = in_.variables[id];
    ori::Variable& out = outOf(id);
    out.init.assign(v.init.begin(), v.init.end());
    out.init.resize(out.size, 0);
    for (const InitAddress& a : v.initAddresses) {
      const std::uint32_t function =
          a.function == FunctionId::None ? kNoId : layout_.functionSymbol[index(calls_.resolved(a.function))];
      const bool isAddress = function != kNoId && (out_->relocatable || in_.function(a.function).isEntry);
      if (isAddress && a.mask == 0 && a.size == 8) {
        out.relocations.push_back({static_cast<std::uint32_t>(a.at), a.size, function, a.addend, false});
        continue;
      }
      if (const auto number = numberOf(a)) {
        for (std::uint32_t b = 0; b < a.size; ++b)
          out.init[a.at + b] = static_cast<std::uint8_t>(*number >> (8 * b));
        continue;
      }
      if (a.variable == VariableId::None || a.mask != 0 || layout_.symbolOf[index(a.variable)] == kNoId) {
        diagnostics_.error(v.loc,
                           fmt::format("not supported yet: this kind of address in the initializer of '{}'", out.name));
        return;
      }
      const bool isHandle = typeClass(in_.variable(a.variable).type) == TypeClass::Opaque;
      if (isHandle && a.size != 8) {
        diagnostics_.error(v.loc,
                           fmt::format("the handle of '{}' has 64 bits", in_.text(in_.variable(a.variable).name)));
        return;
      }
      out.relocations.push_back({static_cast<std::uint32_t>(a.at), a.size, layout_.symbolOf[index(a.variable)],
                                 a.addend, a.generic || isHandle});
    }
  }

  void lowerDebugPlaces() {
    for (const DebugFile& file : in_.files) {
      if (out_->files.size() <= file.index) out_->files.resize(file.index + 1);
      out_->files[file.index] = std::string(in_.text(file.name));
    }
    for (const DebugLoc& loc : in_.debugLocs)
      out_->locs.push_back({loc.file, loc.line, loc.column});
  }

  void lowerFunction(const Function& function) {
    ori::Function& out = out_->newFunction(std::string(in_.text(function.name)), function.isEntry);
    const PerformanceDirectives& p = function.performance;
    for (unsigned axis = 0; axis < 3; ++axis) {
      out.bounds.reqntid[axis] = p.reqntid[axis];
      out.bounds.maxntid[axis] = p.maxntid[axis];
      out.bounds.reqnctapercluster[axis] = p.reqnctapercluster[axis];
    }
    out.bounds.minnctapersm = p.minnctapersm;
    out.bounds.maxnreg = p.maxnreg;
    out.bounds.maxclusterrank = p.maxclusterrank;
    out.bounds.explicitcluster = p.explicitcluster;
    FunctionLowering(layout_, function, out, diagnostics_).run();
  }

  const Module& in_;
  Diagnostics& diagnostics_;
  const FormTable& forms_;
  CallGraph calls_;
  InlinePlan plan_;
  std::unique_ptr<ori::Module> out_;
  ModuleLayout layout_;
};

} // namespace

bool needsFunctions(const Module& module, const FormTable& forms, const InlineLimits& limits) {
  return InlinePlan(module, forms, CallGraph(module, forms), limits, InlineScope::Program).hasFunctions();
}

std::unique_ptr<ori::Module> lower(const Module& module, const isa::Target& target, Diagnostics& diagnostics,
                                   const LowerOptions& options) {
  return lower(module, FormTable(module), target, diagnostics, options);
}

std::unique_ptr<ori::Module> lower(const Module& module, const FormTable& forms, const isa::Target& target,
                                   Diagnostics& diagnostics, const LowerOptions& options) {
  return ModuleLowering(module, forms, target, diagnostics, options).run();
}

} // namespace orias::ptx
