#include "frontend/lower/lower.h"

#include "frontend/lower/function_lowering.h"

#include <algorithm>
#include <fmt/format.h>

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

bool takesStack(const Function& function, const FormTable& forms) {
  return std::any_of(function.instructions.begin(), function.instructions.end(),
                     [&](const Instruction& i) { return forms.form(i).op == Op::Alloca; });
}

/// Does recursion reach a function of the driver, or memory from the stack?
bool recursesIntoStack(const Module& module, const FormTable& forms, const CallGraph& calls) {
  constexpr std::string_view kNeverReturns = "__assertfail";
  std::vector<bool> seen(module.functions.size(), false);
  std::vector<FunctionId> open;
  for (std::uint32_t id = 0; id < module.functions.size(); ++id)
    if (calls.isRecursive(FunctionId(id))) open.push_back(FunctionId(id));
  while (!open.empty()) {
    const FunctionId id = open.back();
    open.pop_back();
    if (seen[index(id)]) continue;
    seen[index(id)] = true;
    const Function& function = module.function(id);
    if (function.hasBody ? takesStack(function, forms) : module.text(function.name) != kNeverReturns) return true;
    open.insert(open.end(), calls.callees(id).begin(), calls.callees(id).end());
  }
  return false;
}

class ModuleLowering {
 public:
  ModuleLowering(const Module& in, const isa::Target& target, Diagnostics& diagnostics, const LowerOptions& options)
      : in_(in), diagnostics_(diagnostics), forms_(in), calls_(in, forms_),
        out_(std::make_unique<ori::Module>(target)) {
    layout_.out = out_.get();
    layout_.in = &in;
    layout_.forms = &forms_;
    layout_.calls = &calls_;
    layout_.options = options;
    layout_.options.relocatable |= recursesIntoStack(in, forms_, calls_);
  }

  std::unique_ptr<ori::Module> run() {
    out_->ptxVersionMajor = in_.version.major;
    out_->ptxVersionMinor = in_.version.minor;
    if (in_.addressSize != 64) {
      diagnostics_.error(in_.versionLoc, "not supported yet: 32-bit addresses", "write '.address_size 64'");
      return std::move(out_);
    }
    out_->relocatable = layout_.options.relocatable;
    declareVariables();
    declareFunctions();
    initialiseVariables();
    lowerDebugPlaces();
    for (const Function& function : in_.functions)
      if (function.hasBody && (function.isEntry || out_->relocatable)) lowerFunction(function);
    return std::move(out_);
  }

 private:
  void declareVariables() {
    layout_.symbolOf.assign(in_.variables.size(), kNoId);
    layout_.constOffset.assign(in_.variables.size(), -1);
    const std::vector<const Function*> scopes =
        out_->relocatable ? scopesOfVariables() : std::vector<const Function*>();
    std::vector<std::uint32_t> constants;
    for (std::uint32_t id = 0; id < in_.variables.size(); ++id) {
      const Variable& v = in_.variables[id];
      if (v.space == StateSpace::Const && !out_->relocatable) constants.push_back(id);
      const bool isShared = v.space == StateSpace::Shared && out_->relocatable;
      if (v.space != StateSpace::Global && v.space != StateSpace::Const && !isShared) continue;
      ori::Variable out;
      out.name = std::string(in_.text(v.name));
      out.linkage = linkageOf(v.linkage);
      out.space = isShared ? ori::Space::Shared : v.space == StateSpace::Const ? ori::Space::Const : ori::Space::Global;
      if (!scopes.empty() && scopes[id] != nullptr) {
        // Functions may have variables of the same name.
        out.name = fmt::format("${}${}${}", in_.text(scopes[id]->name), out.name, id);
        out.linkage = ori::Linkage::Local;
        // That of a function is the module's: whose kernel it runs in is not known (observed).
        if (isShared && scopes[id]->isEntry) out.owner = std::string(in_.text(scopes[id]->name));
      }
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

  void initialiseVariables() {
    for (std::uint32_t id = 0; id < in_.variables.size(); ++id)
      if (layout_.symbolOf[id] != kNoId && in_.variables[id].hasInitializer) initialise(id);
  }

  /// The function that a variable is declared in, null for those of the module, by VariableId.
  std::vector<const Function*> scopesOfVariables() const {
    std::vector<const Function*> scopes(in_.variables.size(), nullptr);
    for (const Function& function : in_.functions)
      for (const Statement& s : function.statements)
        if (s.kind == StatementKind::Variable) scopes[s.index] = &function;
    return scopes;
  }

  /// Functions without a body, which others may provide; in relocatable code those with one, too.
  void declareFunctions() {
    layout_.functionSymbol.assign(in_.functions.size(), kNoId);
    for (std::uint32_t id = 0; id < in_.functions.size(); ++id) {
      const Function& function = in_.functions[id];
      // Whoever names an alias means the function.
      if (function.hasBody ? !out_->relocatable : function.isEntry || function.aliasee != FunctionId::None) continue;
      layout_.functionSymbol[id] = static_cast<std::uint32_t>(out_->symbols.size());
      out_->symbols.push_back({function.hasBody ? ori::Symbol::Kind::Function : ori::Symbol::Kind::ExternFunction,
                               std::string(in_.text(function.name)), id, linkageOf(function.linkage)});
    }
  }

  ori::Variable& outOf(std::uint32_t id) { return out_->variables[out_->symbols[layout_.symbolOf[id]].index]; }

  void initialise(std::uint32_t id) {
    const Variable& v = in_.variables[id];
    ori::Variable& out = outOf(id);
    out.init.assign(v.init.begin(), v.init.end());
    out.init.resize(out.size, 0);
    for (const InitAddress& a : v.initAddresses) {
      if (a.function != FunctionId::None && out_->relocatable && a.mask == 0 && a.size == 8) {
        out.relocations.push_back({static_cast<std::uint32_t>(a.at), a.size,
                                   layout_.functionSymbol[index(calls_.resolved(a.function))], a.addend, false});
        continue;
      }
      if (a.function != FunctionId::None && a.mask == 0 && !out_->relocatable) {
        const std::uint64_t number =
            functionAddress(calls_.resolved(a.function)) + static_cast<std::uint64_t>(a.addend);
        for (std::uint32_t b = 0; b < a.size; ++b)
          out.init[a.at + b] = static_cast<std::uint8_t>(number >> (8 * b));
        continue;
      }
      if (a.variable == VariableId::None || a.mask != 0 || layout_.symbolOf[index(a.variable)] == kNoId) {
        diagnostics_.error(v.loc,
                           fmt::format("not supported yet: this kind of address in the initialiser of '{}'", out.name));
        return;
      }
      out.relocations.push_back(
          {static_cast<std::uint32_t>(a.at), a.size, layout_.symbolOf[index(a.variable)], a.addend, a.generic});
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
  FormTable forms_;
  CallGraph calls_;
  std::unique_ptr<ori::Module> out_;
  ModuleLayout layout_;
};

} // namespace

bool needsFunctions(const Module& module) {
  const FormTable forms(module);
  return recursesIntoStack(module, forms, CallGraph(module, forms));
}

std::unique_ptr<ori::Module> lower(const Module& module, const isa::Target& target, Diagnostics& diagnostics,
                                   const LowerOptions& options) {
  return ModuleLowering(module, target, diagnostics, options).run();
}

} // namespace orias::ptx
