#include "frontend/check.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>

// Versions, targets and limits as in ptxas 13.0 (tested), and in the manual's "PTX ISA Notes".

namespace orias::ptx {

namespace {

constexpr Version kVersions[] = {{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {2, 0}, {2, 1}, {2, 2},
                                 {2, 3}, {3, 0}, {3, 1}, {3, 2}, {4, 0}, {4, 1}, {4, 2}, {4, 3}, {5, 0},
                                 {5, 1}, {6, 0}, {6, 1}, {6, 2}, {6, 3}, {6, 4}, {6, 5}, {7, 0}, {7, 1},
                                 {7, 2}, {7, 3}, {7, 4}, {7, 5}, {7, 6}, {7, 7}, {7, 8}, {8, 0}, {8, 1},
                                 {8, 2}, {8, 3}, {8, 4}, {8, 5}, {8, 6}, {8, 7}, {8, 8}, {9, 0}};

struct TargetInfo {
  std::uint16_t number;
  Version since;     ///< sm_N
  Version sinceArch; ///< sm_Na; {0, 0}: there is none
  Version sinceFamily;
};

constexpr TargetInfo kTargets[] = {
    {10, {1, 0}, {}, {}},          {11, {1, 0}, {}, {}},          {12, {1, 2}, {}, {}},
    {13, {1, 2}, {}, {}},          {20, {2, 0}, {}, {}},          {21, {2, 0}, {}, {}},
    {30, {3, 0}, {}, {}},          {32, {4, 0}, {}, {}},          {35, {3, 1}, {}, {}},
    {37, {4, 1}, {}, {}},          {50, {4, 0}, {}, {}},          {52, {4, 1}, {}, {}},
    {53, {4, 2}, {}, {}},          {60, {5, 0}, {}, {}},          {61, {5, 0}, {}, {}},
    {62, {5, 0}, {}, {}},          {70, {5, 1}, {}, {}},          {72, {6, 1}, {}, {}},
    {75, {6, 3}, {}, {}},          {80, {7, 0}, {}, {}},          {86, {7, 1}, {}, {}},
    {87, {7, 4}, {}, {}},          {88, {7, 3}, {}, {}},          {89, {7, 8}, {}, {}},
    {90, {7, 8}, {8, 0}, {}},      {100, {8, 6}, {8, 6}, {8, 8}}, {101, {8, 6}, {8, 6}, {8, 8}},
    {103, {8, 8}, {8, 8}, {8, 8}}, {110, {9, 0}, {9, 0}, {9, 0}}, {120, {8, 7}, {8, 7}, {8, 8}},
    {121, {8, 8}, {8, 8}, {8, 8}},
};

constexpr std::uint64_t kOldParameterBytes = 4352;
constexpr std::uint64_t kParameterBytes = 32764;
constexpr unsigned kParameterBytesSm = 70;
/// ptxas' limit for sm_90.
constexpr std::int32_t kMaxPreserved = 255;
constexpr std::int32_t kMaxPreservedControl = 13;

class Checker {
 public:
  Checker(const Module& module, const CheckOptions& options, Diagnostics& diags)
      : module_(module), options_(options), diags_(diags) {}

  void run() {
    if (!checkHeader()) return;
    for (const Variable& v : module_.variables)
      checkVariable(v);
    for (const Function& f : module_.functions)
      checkFunction(f);
    for (const Prototype& p : module_.prototypes) {
      needVersion(p.loc, ".callprototype", {2, 1});
      checkCallDirectives(p.loc, p.noreturn, p.abiPreserve, p.abiPreserveControl, !p.returns.empty());
    }
    for (const TargetList& list : module_.targetLists)
      needVersion(list.loc, list.isCall ? ".calltargets" : ".branchtargets", {2, 1});
    for (const Pragma& p : module_.pragmas)
      needVersion(p.loc, ".pragma", {2, 0});
  }

 private:
  void error(SourceLoc loc, std::string message, std::string hint = {}) {
    diags_.error(loc, std::move(message), std::move(hint));
  }

  void needVersion(SourceLoc loc, std::string_view what, Version version) {
    if (module_.version < version)
      error(loc, fmt::format("{} needs .version {}.{} or later", what, version.major, version.minor));
  }

  void need(SourceLoc loc, std::string_view what, Version version, unsigned sm) {
    needVersion(loc, what, version);
    if (module_.target.arch.number < sm) error(loc, fmt::format("{} needs .target sm_{} or later", what, sm));
  }

  bool checkHeader() {
    if (std::find(std::begin(kVersions), std::end(kVersions), module_.version) == std::end(kVersions)) {
      error(module_.versionLoc, fmt::format("there is no .version {}.{}", module_.version.major, module_.version.minor),
            fmt::format("the newest that is supported is {}.{}", std::end(kVersions)[-1].major,
                        std::end(kVersions)[-1].minor));
      return false;
    }
    const Arch target = module_.target.arch;
    if (target.number == 0) {
      error(module_.target.loc, "the .target names no sm_N");
      return false;
    }
    const auto* info = std::find_if(std::begin(kTargets), std::end(kTargets),
                                    [&](const TargetInfo& t) { return t.number == target.number; });
    Version since;
    if (info != std::end(kTargets))
      since = target.suffix == 'a' ? info->sinceArch : target.suffix == 'f' ? info->sinceFamily : info->since;
    if (since == Version{}) {
      error(module_.target.loc, fmt::format("there is no target {}", archName(target)));
      return false;
    }
    // As in ptxas, a file without functions may have a target that its version does not know.
    if (!module_.functions.empty() && module_.version < since)
      error(module_.target.loc,
            fmt::format("{} needs .version {}.{} or later", archName(target), since.major, since.minor));
    if (module_.target.mapF64ToF32 && target.number > 12)
      error(module_.target.loc, "map_f64_to_f32 is for targets before sm_13");
    if (module_.addressSizeLoc) needVersion(module_.addressSizeLoc, ".address_size", {2, 3});
    checkArch(target);
    return true;
  }

  /// Checks whether code for the module's target runs on the chip of the compilation.
  void checkArch(Arch target) {
    const Arch arch = options_.arch;
    if (module_.addressSize == 32 && compiledFor(module_, options_).number >= 75)
      error(module_.addressSizeLoc,
            fmt::format("{} has no 32-bit addresses", archName(compiledFor(module_, options_))));
    if (arch.number == 0) return;
    bool fits = arch.number >= target.number;
    // Architecture-specific code runs only on that chip, family-specific code also on later chips of the family.
    if (target.suffix == 'a') fits = arch == target;
    if (target.suffix == 'f') fits = fits && arch.number / 10 == target.number / 10;
    if (!fits)
      error(module_.target.loc, fmt::format("code for {} cannot be compiled for {}", archName(target), archName(arch)),
            fmt::format("give -arch={}", archName(target)));
  }

  void checkType(SourceLoc loc, Type type) {
    if (type == Type::B128) need(loc, ".b128", {8, 3}, 70);
    if (type == Type::F16x2) needVersion(loc, ".f16x2", {4, 2});
  }

  void checkVariable(const Variable& v) {
    checkType(v.loc, v.type);
    if (v.linkage == Linkage::Common) {
      needVersion(v.loc, ".common", {5, 0});
      if (v.space != StateSpace::Global)
        error(v.loc, fmt::format("'{}' is .common but not in .global", module_.text(v.name)));
    }
    if (v.linkage == Linkage::Weak) needVersion(v.loc, ".weak", {3, 1});
    if (v.attributes.managed) need(v.loc, ".managed", {4, 0}, 30);
    if (v.attributes.unified) need(v.loc, ".unified", {9, 0}, 90);
    if (v.isPointer) needVersion(v.loc, ".ptr", {2, 2});
    const bool isParameter = v.space == StateSpace::Param || v.space == StateSpace::Reg;
    if (v.incomplete && !isParameter && v.linkage != Linkage::Extern && !v.hasInitializer)
      error(v.loc, fmt::format("'{}' has no size", module_.text(v.name)),
            "only an .extern or initialized array may have an open dimension");
    if (v.type == Type::SamplerRef && !module_.target.texmodeIndependent &&
        (v.space == StateSpace::Global || v.space == StateSpace::Param))
      error(v.loc, fmt::format("the sampler '{}' needs the target texmode_independent", module_.text(v.name)));
  }

  void checkFunction(const Function& f) {
    if (f.linkage == Linkage::Weak) needVersion(f.loc, ".weak", {3, 1});
    if (f.attributes.unified) need(f.loc, ".unified", {9, 0}, 90);
    for (const Pragma& p : f.pragmas)
      needVersion(p.loc, ".pragma", {2, 0});
    for (const Register& r : f.registers)
      checkType(r.loc, r.type);
    if (f.aliasee != FunctionId::None) {
      checkAlias(f);
    } else if (!f.hasBody && f.linkage != Linkage::Extern) {
      error(f.loc, fmt::format("'{}' is declared but not defined", module_.text(f.name)),
            "declare it .extern if another file has it");
    }
    if (f.isEntry) {
      checkPerformance(f);
      checkParameterBytes(f);
    } else {
      checkCallDirectives(f.loc, f.noreturn, f.abiPreserve, f.abiPreserveControl, !f.returns.empty());
    }
    for (std::size_t i = 0; i + 1 < f.params.size(); ++i) {
      const Variable& v = module_.variable(f.params[i].variable);
      if (v.incomplete) error(v.loc, "only the last parameter may be an array without a size");
    }
  }

  void checkAlias(const Function& f) {
    need(f.loc, ".alias", {6, 3}, 30);
    const Function& to = module_.function(f.aliasee);
    const auto same = [&](const std::vector<Parameter>& a, const std::vector<Parameter>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Parameter& x, const Parameter& y) {
        const Variable& p = module_.variable(x.variable);
        const Variable& q = module_.variable(y.variable);
        return p.type == q.type && p.elements == q.elements && p.space == q.space;
      });
    };
    if (!same(f.params, to.params) || !same(f.returns, to.returns))
      error(f.loc, fmt::format("'{}' and its alias '{}' have different parameters", module_.text(to.name),
                               module_.text(f.name)));
  }

  void checkCallDirectives(SourceLoc loc, bool noreturn, std::int32_t preserve, std::int32_t control, bool returns) {
    if (noreturn) {
      need(loc, ".noreturn", {6, 4}, 30);
      if (returns) error(loc, "a .noreturn function cannot have return parameters");
    }
    if (preserve >= 0) need(loc, ".abi_preserve", {9, 0}, 80);
    if (control >= 0) need(loc, ".abi_preserve_control", {9, 0}, 80);
    if (preserve > kMaxPreserved) error(loc, fmt::format(".abi_preserve {} exceeds the number of registers", preserve));
    if (control > kMaxPreservedControl)
      error(loc, fmt::format(".abi_preserve_control {} exceeds the number of registers", control));
  }

  void checkPerformance(const Function& f) {
    const PerformanceDirectives& p = f.performance;
    const bool hasMax = p.maxntid[0] != 0;
    const bool hasReq = p.reqntid[0] != 0;
    const bool hasCluster = p.reqnctapercluster[0] != 0;
    if (hasMax) needVersion(f.loc, ".maxntid", {1, 3});
    if (p.maxnreg != 0) needVersion(f.loc, ".maxnreg", {1, 3});
    if (hasReq) needVersion(f.loc, ".reqntid", {2, 1});
    if (p.minnctapersm != 0) needVersion(f.loc, ".minnctapersm", {2, 0});
    if (hasCluster) need(f.loc, ".reqnctapercluster", {7, 8}, 90);
    if (p.explicitcluster) need(f.loc, ".explicitcluster", {7, 8}, 90);
    if (p.maxclusterrank != 0) need(f.loc, ".maxclusterrank", {7, 8}, 90);
    if (p.blocksareclusters) need(f.loc, ".blocksareclusters", {9, 0}, 90);
    if (hasMax && hasReq) error(f.loc, ".maxntid and .reqntid exclude each other");
    if (hasCluster && p.maxclusterrank != 0) error(f.loc, ".reqnctapercluster and .maxclusterrank exclude each other");
    if (p.blocksareclusters && !(hasReq && hasCluster))
      error(f.loc, ".blocksareclusters needs .reqntid and .reqnctapercluster");
    if (p.maxnctapersm != 0 && module_.version >= Version{2, 1})
      error(f.loc, ".maxnctapersm was removed in .version 2.1", "use .minnctapersm");
    if (p.minnctapersm != 0 && !hasMax && !hasReq)
      diags_.warning(f.loc, ".minnctapersm has no effect without .maxntid or .reqntid");
  }

  void checkParameterBytes(const Function& f) {
    std::uint64_t bytes = 0;
    for (const Parameter& p : f.params) {
      const Variable& v = module_.variable(p.variable);
      bytes = (bytes + v.align - 1) / v.align * v.align + v.byteSize();
    }
    const bool large = module_.version >= Version{8, 1} && module_.target.arch.number >= kParameterBytesSm;
    const std::uint64_t most = large ? kParameterBytes : kOldParameterBytes;
    if (bytes <= most) return;
    std::string hint;
    if (bytes <= kParameterBytes)
      hint = fmt::format("more than {} bytes need .version 8.1 and sm_{}", kOldParameterBytes, kParameterBytesSm);
    error(f.loc, fmt::format("the parameters of '{}' have {} bytes, at most {} fit", module_.text(f.name), bytes, most),
          std::move(hint));
  }

  const Module& module_;
  const CheckOptions& options_;
  Diagnostics& diags_;
};

} // namespace

void checkDeclarations(const Module& module, const CheckOptions& options, Diagnostics& diags) {
  Checker(module, options, diags).run();
}

} // namespace orias::ptx
