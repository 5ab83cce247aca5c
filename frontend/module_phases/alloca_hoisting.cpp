#include "frontend/module_phases/alloca_hoisting.h"

#include "frontend/module_phases/instruction_results.h"
#include "frontend/module_phases/ptx_editor.h"
#include "frontend/module_phases/register_reads.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace orias::ptx {

namespace {

/// Larger allocations stay on the stack: a thread has at most 512 KB of local memory, and each call has a frame.
constexpr std::uint64_t kMaxBytes = 32768;
/// The default alignment (PTX ISA, "alloca"), and the largest that all frames guarantee.
constexpr std::uint64_t kUsualAlign = 8, kMaxAlign = 16;

class FunctionAllocas {
 public:
  FunctionAllocas(Module& module, FunctionId id, const FormTable& forms, PtxEditor& editor, bool wantRemarks,
                  ModulePhaseResult& result)
      : module_(module), id_(id), f_(module.functions[index(id)]), forms_(forms), editor_(editor),
        wantRemarks_(wantRemarks), result_(result) {}

  void run() {
    for (std::uint32_t s = 0; s < f_.statements.size(); ++s) {
      if (f_.statements[s].kind != StatementKind::Instruction) continue;
      switch (forms_.form(f_.instructions[f_.statements[s].index]).op) {
      case Op::Alloca: allocas_.push_back(s); break;
      case Op::Stacksave: saves_.push_back(s); break;
      case Op::Stackrestore: restores_.push_back(s); break;
      default: break;
      }
    }
    if (allocas_.empty()) return;
    count();
    bool isAnyLeft = false;
    for (const std::uint32_t s : allocas_)
      isAnyLeft |= !hoist(s);
    if (!isAnyLeft) dropRestores();
    editor_.finish(f_);
  }

 private:
  const Instruction& instruction(std::uint32_t statement) const {
    return f_.instructions[f_.statements[statement].index];
  }

  void count() {
    definitions_.assign(f_.registers.size(), 0);
    constant_.assign(f_.registers.size(), std::nullopt);
    values_.assign(f_.registers.size(), 0);
    restored_.assign(f_.registers.size(), 0);
    for (std::uint32_t s = 0; s < f_.statements.size(); ++s) {
      if (f_.statements[s].kind != StatementKind::Instruction) continue;
      const Instruction& i = instruction(s);
      const Form& form = forms_.form(i);
      const auto ops = f_.operandsOf(i);
      if (i.guard != RegisterId::None) ++values_[index(i.guard)];
      for (const Operand& o : ops)
        forEachNamed(f_, o, [&](RegisterId reg, bool isAddress) { values_[index(reg)] += !isAddress; });
      forEachResult(f_, forms_, i, [&](const Operand& o) {
        ++definitions_[index(o.registerId())];
        --values_[index(o.registerId())];
      });
      if (form.op == Op::Stackrestore && ops[0].is(OperandKind::Register)) ++restored_[index(ops[0].registerId())];
      if (form.op == Op::Mov && ops.size() == 2 && ops[0].is(OperandKind::Register) && ops[1].is(OperandKind::Int) &&
          i.guard == RegisterId::None)
        constant_[index(ops[0].registerId())] = ops[1].bits();
    }
  }

  /// The number of bytes that an alloca takes, if it is constant.
  std::optional<std::uint64_t> bytesOf(const Operand& size) const {
    if (size.is(OperandKind::Int)) return size.bits();
    // The only definition writes a constant. Any other value read would be undefined.
    if (size.is(OperandKind::Register) && definitions_[index(size.registerId())] == 1)
      return constant_[index(size.registerId())];
    return std::nullopt;
  }

  bool isTarget(const Operand& o, std::uint32_t last) const {
    const auto isBefore = [&](std::uint32_t label) { return f_.labels[label].statement <= last; };
    if (o.is(OperandKind::Label)) return isBefore(index(o.labelId()));
    if (!o.is(OperandKind::TargetList)) return false;
    const TargetList& list = module_.targetLists[index(o.targetListId())];
    return !list.isCall && std::ranges::any_of(list.targets, isBefore);
  }

  /// Whether control can return to the statement. If so, some later statement branches to a label before it.
  bool isInLoop(std::uint32_t statement) const {
    for (std::uint32_t s = statement; s < f_.statements.size(); ++s)
      if (f_.statements[s].kind == StatementKind::Instruction)
        for (const Operand& o : f_.operandsOf(instruction(s)))
          if (isTarget(o, statement)) return true;
    return false;
  }

  /// The reason why the alloca cannot be hoisted; empty if it can.
  std::string obstacle(std::uint32_t statement, const Instruction& i) const {
    const auto ops = f_.operandsOf(i);
    const std::optional<std::uint64_t> bytes = bytesOf(ops[1]);
    if (!bytes) return "its size is not a constant";
    if (*bytes == 0 || *bytes > kMaxBytes) return fmt::format("it takes {} bytes", *bytes);
    if (ops.size() > 2 && (!std::has_single_bit(ops[2].bits()) || ops[2].bits() > kMaxAlign))
      return fmt::format("it is aligned to {} bytes", ops[2].bits());
    if (isInLoop(statement)) return "it may run several times";
    if (!ops[0].is(OperandKind::Register)) return "nothing reads its address";
    const std::uint32_t to = index(ops[0].registerId());
    if (!restores_.empty() && (definitions_[to] != 1 || values_[to] != 0))
      return "the stack is restored, and its address is used by more than accesses";
    return {};
  }

  bool hoist(std::uint32_t statement) {
    Instruction& i = f_.instructions[f_.statements[statement].index];
    if (const std::string why = obstacle(statement, i); !why.empty()) {
      remark(i, false, "alloca stays on the stack: " + why);
      return false;
    }
    const auto ops = f_.operandsOf(i);
    const std::uint64_t bytes = *bytesOf(ops[1]);
    const VariableId object =
        addVariable(bytes, ops.size() > 2 ? std::max(ops[2].bits(), kUsualAlign) : kUsualAlign, i.loc);
    editor_.insertBefore(0, object);
    const char* const type = forms_.form(i).type() == Type::U32 ? "u32" : "u64";
    const std::array operands{ops[0], Operand::variable(object, 0)};
    editor_.rewrite(f_, i, editor_.opcode("mov", {type}), operands);
    remark(i, true, fmt::format("alloca of {} bytes is a variable of the frame", bytes));
    result_.hasChanged = true;
    return true;
  }

  VariableId addVariable(std::uint64_t bytes, std::uint64_t align, SourceLoc loc) {
    std::string name;
    do
      name = fmt::format("__alloca{}", named_++);
    while (module_.names.find(name) != NameId::None);
    Variable v;
    v.name = module_.names.intern(name);
    v.loc = loc;
    v.owner = id_;
    v.space = StateSpace::Local;
    v.type = Type::B8;
    v.align = static_cast<std::uint32_t>(align);
    v.isArray = true;
    v.elements = bytes;
    v.dims = module_.arena.copyArray<std::uint64_t>(std::array{bytes});
    module_.variables.push_back(v);
    return static_cast<VariableId>(module_.variables.size() - 1);
  }

  /// With all allocas hoisted, the stack pointer is constant.
  void dropRestores() {
    const auto isOnlyRestored = [&](const Operand& o) {
      return o.is(OperandKind::Register) && values_[index(o.registerId())] == restored_[index(o.registerId())];
    };
    // A single saved value with another use keeps all of them.
    for (const std::uint32_t s : saves_)
      if (!isOnlyRestored(f_.operandsOf(instruction(s))[0])) return;
    for (const std::vector<std::uint32_t>& all : {saves_, restores_})
      for (const std::uint32_t s : all)
        editor_.erase(s);
  }

  void remark(const Instruction& i, bool isDone, std::string what) {
    if (wantRemarks_) result_.remarks.push_back({id_, i.loc.line, isDone, std::move(what)});
  }

  Module& module_;
  const FunctionId id_;
  Function& f_;
  const FormTable& forms_;
  PtxEditor& editor_;
  const bool wantRemarks_;
  ModulePhaseResult& result_;
  std::vector<std::uint32_t> allocas_, saves_, restores_; ///< statements
  unsigned named_ = 0;
  // By RegisterId.
  std::vector<unsigned> definitions_;
  std::vector<std::optional<std::uint64_t>> constant_; ///< the constant that a move writes
  std::vector<int> values_;                            ///< uses other than in addresses
  std::vector<int> restored_;                          ///< uses by stackrestore
};

} // namespace

ModulePhaseResult hoistAllocas(Module& module, GrowingForms& forms, bool wantRemarks) {
  ModulePhaseResult result;
  PtxEditor editor(module);
  const FormTable& table = forms.table();
  for (std::uint32_t f = 0; f < module.functions.size(); ++f)
    if (module.functions[f].hasBody) FunctionAllocas(module, FunctionId(f), table, editor, wantRemarks, result).run();
  return result;
}

} // namespace orias::ptx
