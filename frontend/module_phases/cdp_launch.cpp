#include "frontend/module_phases/cdp_launch.h"

#include "frontend/module_phases/instruction_results.h"
#include "frontend/module_phases/ptx_editor.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace orias::ptx {

namespace {

enum class Kind : std::uint8_t { GetBuffer, GetBufferV2, Launch, LaunchV2 };
constexpr unsigned kVariants = 2;

/// A function of CUDA's device runtime and its stubs by variant. libcudadevrt of CUDA 13.0 defines those of variant 2
/// but not those of variant 1 (readelf -s; nvcc 13.0 calls variant 2 for sm_75 to sm_90).
struct Entry {
  std::string_view name;
  Kind kind;
  std::array<std::string_view, kVariants> stubs;
};
constexpr Entry kEntries[] = {
    {"cudaGetParameterBuffer", Kind::GetBuffer, {"__cudaCDP1GetParameterBuffer", "__cudaCDP2GetParameterBuffer"}},
    {"cudaGetParameterBufferV2",
     Kind::GetBufferV2,
     {"__cudaCDP1GetParameterBufferV2", "__cudaCDP2GetParameterBufferV2"}},
    {"cudaLaunchDevice", Kind::Launch, {"__cudaCDP1LaunchDevice", "__cudaCDP2LaunchDevice"}},
    {"cudaLaunchDeviceV2", Kind::LaunchV2, {"__cudaCDP1LaunchDeviceV2", "__cudaCDP2LaunchDeviceV2"}},
    {"cudaLaunchDevice_ptsz", Kind::Launch, {"__cudaCDP1LaunchDevice_ptsz", "__cudaCDP2LaunchDevice_ptsz"}},
    {"cudaLaunchDeviceV2_ptsz", Kind::LaunchV2, {"__cudaCDP1LaunchDeviceV2_ptsz", "__cudaCDP2LaunchDeviceV2_ptsz"}},
};

// The arguments of the legacy launch: kernel, buffer, grid, block, bytes of shared memory, stream.
constexpr std::size_t kKernel = 0, kBuffer = 1, kGrid = 2, kBlock = 3, kSharedBytes = 4, kStream = 5, kLaunchArgs = 6;
constexpr unsigned kDim3Bytes = 12;

const Entry* entryOf(std::string_view name) {
  const auto at = std::ranges::find(kEntries, name, &Entry::name);
  return at == std::end(kEntries) ? nullptr : at;
}

/// The entry with the V2 form of a legacy one.
const Entry& v2Of(const Entry& entry) {
  const bool isPerThread = entry.name.ends_with("_ptsz");
  return *entryOf(entry.kind == Kind::GetBuffer ? "cudaGetParameterBufferV2"
                  : isPerThread                 ? "cudaLaunchDeviceV2_ptsz"
                                                : "cudaLaunchDeviceV2");
}

/// Expands the launches of one function.
class LaunchExpander {
 public:
  LaunchExpander(Module& module, FunctionId id, const FormTable& forms, PtxEditor& editor, Diagnostics& diagnostics,
                 unsigned variant, ModulePhaseResult& result)
      : module_(module), id_(id), forms_(forms), editor_(editor), diagnostics_(diagnostics), variant_(variant),
        result_(result) {}

  void run() {
    findCalls();
    if (calls_.empty()) return;
    readDefinitions();
    for (const Call& call : calls_)
      if (!checkTarget(call)) return;
    for (const Call& call : calls_)
      if (call.entry->kind == Kind::GetBuffer) expandPair(call);
    for (const Call& call : calls_) {
      if (isExpanded(call)) continue;
      const bool isLegacy = call.entry->kind == Kind::GetBuffer || call.entry->kind == Kind::Launch;
      if (isLegacy)
        diagnostics_.warning(
            f().instructions[call.instruction].loc,
            fmt::format("'{}' keeps the legacy parameter buffer, whose size is not checked", call.entry->name),
            call.why);
      rename(call, *call.entry);
    }
    editor_.finish(f());
  }

 private:
  struct Call {
    const Entry* entry = nullptr;
    std::uint32_t statement = 0, instruction = 0;
    std::vector<VariableId> args;
    mutable std::string why; ///< why it remains a legacy call
  };
  struct Store {
    std::uint32_t statement = 0;
    std::int64_t offset = 0;
    Operand value;
  };

  Function& f() { return module_.functions[index(id_)]; }
  const Function& f() const { return module_.functions[index(id_)]; }

  void findCalls() {
    for (std::uint32_t s = 0; s < f().statements.size(); ++s) {
      if (f().statements[s].kind != StatementKind::Instruction) continue;
      const std::uint32_t number = f().statements[s].index;
      const Instruction& i = f().instructions[number];
      if (forms_.form(i).op != Op::Call) continue;
      const CallParts parts = callParts(f(), i);
      if (!parts.callee->is(OperandKind::Function)) continue;
      const Function& callee = module_.function(parts.callee->functionId());
      const Entry* entry = callee.hasBody ? nullptr : entryOf(module_.text(callee.name));
      if (entry == nullptr) continue;
      Call& call = calls_.emplace_back(Call{entry, s, number, {}, {}});
      if (parts.args)
        for (const Operand& o : f().parts(*parts.args))
          call.args.push_back(o.is(OperandKind::Variable) ? o.variableId() : VariableId::None);
    }
  }

  void readDefinitions() {
    bool isFirst = true;
    std::uint32_t stretch = 0;
    definitions_.assign(f().registers.size(), {});
    for (std::uint32_t s = 0; s < f().statements.size(); ++s) {
      if (f().statements[s].kind == StatementKind::Label) {
        ++stretch;
        isFirst = false;
      }
      stretches_.push_back(stretch);
      if (f().statements[s].kind != StatementKind::Instruction) continue;
      const Instruction& i = f().instructions[f().statements[s].index];
      const Op op = forms_.form(i).op;
      isFirst = isFirst && op != Op::Bra && op != Op::BrxIdx && op != Op::Ret && op != Op::Exit;
      forEachResult(f(), forms_, i, [&](const Operand& o) {
        Definition& d = definitions_[index(o.registerId())];
        d = {s, d.count + 1, isFirst && i.guard == RegisterId::None};
      });
    }
  }

  struct Definition {
    std::uint32_t statement = 0;
    unsigned count = 0;
    bool isFirst = false; ///< before all labels and branches
  };

  const Instruction* definitionOf(RegisterId reg) const {
    const Definition& d = definitions_[index(reg)];
    return d.count == 1 ? &f().instructions[f().statements[d.statement].index] : nullptr;
  }

  /// The stores to an argument, back to its declaration.
  std::vector<Store> storesTo(VariableId arg, std::uint32_t before) const {
    std::vector<Store> stores;
    for (std::uint32_t s = before; s-- > 0;) {
      const Statement& statement = f().statements[s];
      if (statement.kind == StatementKind::Label) break;
      if (statement.kind == StatementKind::Variable && statement.index == index(arg)) break;
      if (statement.kind != StatementKind::Instruction) continue;
      const Instruction& i = f().instructions[statement.index];
      const Form& form = forms_.form(i);
      const auto ops = f().operandsOf(i);
      if (form.op == Op::St && form.space() == StateSpace::Param && ops[0].addressBase() == OperandKind::Variable &&
          ops[0].variableId() == arg)
        stores.push_back({s, ops[0].offset(), ops[1]});
    }
    return stores;
  }

  std::optional<Operand> valueAt(VariableId arg, std::int64_t offset, std::uint32_t before) const {
    if (arg == VariableId::None) return std::nullopt;
    for (const Store& store : storesTo(arg, before))
      if (store.offset == offset && !store.value.isGroup()) return store.value;
    return std::nullopt;
  }

  /// The function whose address the value is.
  std::optional<FunctionId> functionOf(const Operand& value) const {
    if (value.is(OperandKind::Function)) return value.functionId();
    if (!value.is(OperandKind::Register)) return std::nullopt;
    const Instruction* made = definitionOf(value.registerId());
    if (made == nullptr || forms_.form(*made).op != Op::Mov || made->operandCount != 2) return std::nullopt;
    const Operand& from = f().operandsOf(*made)[1];
    return from.is(OperandKind::Function) || from.is(OperandKind::Register) ? functionOf(from) : std::nullopt;
  }

  bool checkTarget(const Call& call) {
    if (call.entry->kind != Kind::GetBufferV2 && call.entry->kind != Kind::Launch) return true;
    if (call.args.empty()) return true;
    const std::optional<Operand> value = valueAt(call.args[kKernel], 0, call.statement);
    const std::optional<FunctionId> child = value ? functionOf(*value) : std::nullopt;
    if (!child || module_.function(*child).isEntry) return true;
    diagnostics_.error(f().instructions[call.instruction].loc, "CDP target is not a kernel",
                       fmt::format("'{}' is a function", module_.text(module_.function(*child).name)));
    return false;
  }

  bool isExpanded(const Call& call) const { return std::ranges::find(expanded_, call.instruction) != expanded_.end(); }

  /// Whether the buffer is the result of this call of cudaGetParameterBuffer.
  bool comesFrom(const Operand& buffer, const Call& allocation) const {
    if (!buffer.is(OperandKind::Register)) return false;
    const Instruction* made = definitionOf(buffer.registerId());
    const CallParts parts = callParts(f(), f().instructions[allocation.instruction]);
    if (made == nullptr || !parts.returns) return false;
    const Operand& result = f().parts(*parts.returns)[0];
    if (result.is(OperandKind::Register)) return made == &f().instructions[allocation.instruction];
    const Form& form = forms_.form(*made);
    const auto ops = f().operandsOf(*made);
    return form.op == Op::Ld && form.space() == StateSpace::Param && ops[1].addressBase() == OperandKind::Variable &&
           result.is(OperandKind::Variable) && ops[1].variableId() == result.variableId();
  }

  /// A value of the launch as an operand that is valid before the allocation.
  std::optional<Operand> availableAt(const Operand& value, const Call& allocation) const {
    if (value.is(OperandKind::Int) || value.is(OperandKind::Function)) return value;
    if (!value.is(OperandKind::Register) || value.component() != Component::None) return std::nullopt;
    const Instruction* made = definitionOf(value.registerId());
    if (made == nullptr) return std::nullopt;
    if (const auto function = functionOf(value)) return Operand::function(*function);
    const auto ops = f().operandsOf(*made);
    if (forms_.form(*made).op == Op::Mov && made->operandCount == 2 && ops[1].is(OperandKind::Int)) return ops[1];
    const Definition& d = definitions_[index(value.registerId())];
    const bool isNear = stretches_[d.statement] == stretches_[allocation.statement] &&
                        d.statement < allocation.statement && made->guard == RegisterId::None;
    const bool isBefore = d.isFirst && d.statement < allocation.statement;
    return isNear || isBefore ? std::optional(value) : std::nullopt;
  }

  void expandPair(const Call& allocation) {
    const Call* launch = nullptr;
    unsigned launches = 0;
    for (const Call& call : calls_) {
      if (call.entry->kind != Kind::Launch || call.args.size() != kLaunchArgs) continue;
      const std::optional<Operand> buffer = valueAt(call.args[kBuffer], 0, call.statement);
      if (!buffer || !comesFrom(*buffer, allocation)) continue;
      launch = &call;
      ++launches;
    }
    if (launches != 1) {
      allocation.why = launches == 0 ? "no launch in this function uses the buffer" : "several launches use the buffer";
      return;
    }
    // The arguments of the V2 form: kernel, grid, block, bytes of shared memory.
    struct Wanted {
      std::size_t arg;
      std::int64_t offset;
    };
    std::vector<Wanted> wanted{{kKernel, 0}};
    for (const std::size_t arg : {kGrid, kBlock})
      for (std::int64_t offset = 0; offset < kDim3Bytes; offset += 4)
        wanted.push_back({arg, offset});
    wanted.push_back({kSharedBytes, 0});
    std::vector<Operand> values;
    for (const Wanted& w : wanted) {
      const std::optional<Operand> stored = valueAt(launch->args[w.arg], w.offset, launch->statement);
      const std::optional<Operand> value = stored ? availableAt(*stored, allocation) : std::nullopt;
      if (!value) {
        allocation.why = launch->why = "the geometry of the launch is not known before the allocation";
        return;
      }
      values.push_back(*value);
    }
    passGeometry(allocation, values);
    passBufferAndStream(*launch);
    expanded_.insert(expanded_.end(), {allocation.instruction, launch->instruction});
  }

  void passGeometry(const Call& call, const std::vector<Operand>& values) {
    for (const VariableId arg : call.args)
      dropStores(arg, call.statement);
    const Instruction like = f().instructions[call.instruction];
    const VariableId kernel = addArgument(call, Type::B64, 0), grid = addArgument(call, Type::B8, kDim3Bytes),
                     block = addArgument(call, Type::B8, kDim3Bytes), bytes = addArgument(call, Type::B32, 0);
    Operand address = values[0];
    if (address.is(OperandKind::Function)) {
      address = Operand::reg(editor_.addRegister(f(), Type::B64, like.loc));
      const std::array operands{address, values[0]};
      editor_.insertBefore(f(), call.statement, editor_.opcode("mov", {"u64"}), operands, like);
    }
    const auto store = [&](VariableId to, std::int64_t offset, const char* type, const Operand& value) {
      const std::array operands{Operand::address(to, offset), value};
      editor_.insertBefore(f(), call.statement, editor_.opcode("st", {"param", type}), operands, like);
    };
    store(kernel, 0, "b64", address);
    for (std::size_t k = 0; k < 3; ++k)
      store(grid, static_cast<std::int64_t>(4 * k), "b32", values[1 + k]);
    for (std::size_t k = 0; k < 3; ++k)
      store(block, static_cast<std::int64_t>(4 * k), "b32", values[4 + k]);
    store(bytes, 0, "b32", values[7]);
    const std::array args{Operand::variable(kernel, 0), Operand::variable(grid, 0), Operand::variable(block, 0),
                          Operand::variable(bytes, 0)};
    setArguments(call, args);
    rename(call, v2Of(*call.entry));
  }

  void passBufferAndStream(const Call& call) {
    for (const std::size_t arg : {kKernel, kGrid, kBlock, kSharedBytes})
      dropStores(call.args[arg], call.statement);
    const std::array args{Operand::variable(call.args[kBuffer], 0), Operand::variable(call.args[kStream], 0)};
    setArguments(call, args);
    rename(call, v2Of(*call.entry));
  }

  void dropStores(VariableId arg, std::uint32_t before) {
    for (const Store& store : storesTo(arg, before))
      editor_.erase(store.statement);
    for (std::uint32_t s = before; s-- > 0;)
      if (f().statements[s].kind == StatementKind::Variable && f().statements[s].index == index(arg))
        return editor_.erase(s);
  }

  VariableId addArgument(const Call& call, Type type, std::uint64_t elements) {
    const VariableId made = addVariable(fmt::format("$cdp{}", module_.variables.size()), id_, type, elements);
    editor_.insertBefore(call.statement, made);
    return made;
  }

  /// Adds a parameter. `elements`: size of an array of bytes that is aligned to 32 bits, else 0.
  VariableId addVariable(const std::string& name, FunctionId owner, Type type, std::uint64_t elements) {
    Variable v;
    v.name = module_.names.intern(name);
    v.owner = owner;
    v.space = StateSpace::Param;
    v.type = type;
    v.align = elements != 0 ? 4 : bitWidth(type) / 8;
    v.isArray = elements != 0;
    v.elements = std::max<std::uint64_t>(elements, 1);
    if (v.isArray) v.dims = module_.arena.copyArray<std::uint64_t>(std::array{elements});
    module_.variables.push_back(v);
    return static_cast<VariableId>(module_.variables.size() - 1);
  }

  void setArguments(const Call& call, std::span<const Operand> args) {
    const Operand* list = callParts(f(), f().instructions[call.instruction]).args;
    const auto at = static_cast<std::size_t>(list - f().operands.data());
    const auto first = static_cast<std::uint32_t>(f().operands.size());
    f().operands.insert(f().operands.end(), args.begin(), args.end());
    f().operands[at] = Operand::group(OperandKind::List, first, static_cast<std::uint32_t>(args.size()));
  }

  void rename(const Call& call, const Entry& entry) {
    const std::string_view stub = entry.stubs[variant_ - 1];
    const FunctionId to = declared(entry, stub);
    const Instruction& i = f().instructions[call.instruction];
    const Operand* callee = callParts(f(), i).callee;
    f().operands[static_cast<std::size_t>(callee - f().operands.data())] = Operand::function(to);
    result_.hasChanged = true;
    result_.remarks.push_back({id_, i.loc.line, true, fmt::format("'{}' becomes '{}'", call.entry->name, stub)});
  }

  FunctionId declared(const Entry& entry, std::string_view stub) {
    for (std::uint32_t k = 0; k < module_.functions.size(); ++k)
      if (module_.text(module_.functions[k].name) == stub) return static_cast<FunctionId>(k);
    const auto made = static_cast<FunctionId>(module_.functions.size());
    Function function;
    function.name = module_.names.intern(stub);
    function.linkage = Linkage::Extern;
    const auto add = [&](std::vector<Parameter>& list, Type type, std::uint64_t elements) {
      const std::string name =
          fmt::format("{}_{}{}", stub, &list == &function.returns ? "result" : "param", list.size());
      list.push_back({addVariable(name, made, type, elements), RegisterId::None});
    };
    const bool isBuffer = entry.kind == Kind::GetBuffer || entry.kind == Kind::GetBufferV2;
    add(function.returns, isBuffer ? Type::B64 : Type::B32, 0);
    add(function.params, Type::B64, 0);
    if (entry.kind != Kind::GetBufferV2) add(function.params, Type::B64, 0);
    if (entry.kind == Kind::GetBufferV2 || entry.kind == Kind::Launch) {
      add(function.params, Type::B8, kDim3Bytes);
      add(function.params, Type::B8, kDim3Bytes);
      add(function.params, Type::B32, 0);
    }
    if (entry.kind == Kind::Launch) add(function.params, Type::B64, 0);
    module_.functions.push_back(std::move(function));
    return made;
  }

  Module& module_;
  const FunctionId id_;
  const FormTable& forms_;
  PtxEditor& editor_;
  Diagnostics& diagnostics_;
  const unsigned variant_;
  ModulePhaseResult& result_;
  std::vector<Call> calls_;
  std::vector<std::uint32_t> expanded_;  // indices of instructions
  std::vector<Definition> definitions_;  // by RegisterId
  std::vector<std::uint32_t> stretches_; // by statement: the number of labels before it
};

} // namespace

ModulePhaseResult expandCdpLaunches(Module& module, Diagnostics& diagnostics, unsigned variant) {
  ModulePhaseResult result;
  const auto isLaunch = [&](const Function& f) { return !f.hasBody && entryOf(module.text(f.name)) != nullptr; };
  if (module.addressSize != 64 || std::ranges::none_of(module.functions, isLaunch)) return result;
  const FormTable forms(module);
  PtxEditor editor(module);
  const auto count = static_cast<std::uint32_t>(module.functions.size());
  for (std::uint32_t f = 0; f < count; ++f)
    if (module.functions[f].hasBody)
      LaunchExpander(module, static_cast<FunctionId>(f), forms, editor, diagnostics, variant, result).run();
  return result;
}

} // namespace orias::ptx
