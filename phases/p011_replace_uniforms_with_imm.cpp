#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "phases/param_binding.h"
#include "phases/phases.h"
#include "support/check.h"
#include "support/diagnostics.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::Op;
using isa::Operand;

ParamBinding parseParamBinding(std::string_view text) {
  const auto fail = [&] { throw Error(fmt::format("--bind-param: expected KERNEL.INDEX=VALUE, got '{}'", text)); };
  const std::size_t equals = text.find('='), dot = text.rfind('.', equals);
  if (equals == std::string_view::npos || dot == std::string_view::npos || dot == 0) fail();
  ParamBinding binding;
  binding.kernel = std::string(text.substr(0, dot));
  const auto number = [&](std::string_view digits, auto& out) {
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    }
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, base);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) fail();
  };
  number(text.substr(dot + 1, equals - dot - 1), binding.index);
  const std::string_view value = text.substr(equals + 1);
  if (value.starts_with('-')) {
    std::int64_t negative = 0;
    number(value, negative);
    binding.value = static_cast<std::uint64_t>(negative);
  } else {
    number(value, binding.value);
  }
  return binding;
}

namespace {

constexpr std::int32_t kThreadX = 33; // SR_TID.X .Y .Z
constexpr unsigned kUserConstants = 3;

class Replacer {
 public:
  Replacer(ori::Function& function, PhaseContext& context) : function_(function), context_(context) {
    for (const ParamBinding& binding : context.bindings) {
      if (binding.kernel != function.name()) continue;
      if (binding.index >= function.params.size())
        context.diagnostics.error({}, fmt::format("--bind-param: kernel '{}' has {} parameters, no parameter {}",
                                                  function.name(), function.params.size(), binding.index));
      else
        bindings_.push_back(&binding);
    }
  }

  bool run() {
    for (ori::Block* block : function_.layout())
      function_.forEachSafe(*block, [&](ori::Instr& instr) { visit(instr); });
    answerForUniforms();
    if (function_.everHad(Op::ELECT))
      for (ori::Block* block : function_.layout())
        answerForElected(*block);
    return changed_;
  }

 private:
  void visit(ori::Instr& instr) {
    if (instr.op == Op::LDC) return load(instr);
    if (instr.op == Op::S2R) return special(instr);
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      const ori::Operand& o = instr.op_(i);
      if (!o.isConst() || o.reg != Operand::kNoReg || o.width != 1 || o.neg() || o.abs() || o.inverted()) continue;
      const std::optional<std::uint64_t> value = valueOf(instr, o.bank, o.imm, 4);
      if (!value) continue;
      const Operand number = Operand::immediate(static_cast<std::int32_t>(*value));
      std::vector<Operand> trial;
      for (const ori::Operand& other : instr.ops())
        trial.push_back(other.value());
      trial[i] = number;
      const bool fits = isa::desc(instr.op).isPseudo() || isa::fits(instr.op, instr.mods, trial);
      tell(instr, *value);
      if (fits) {
        function_.setOperand(&instr, i, number);
      } else {
        ori::Builder b = ori::Builder::before(function_, &instr);
        const Operand held = b.newR();
        b.emit(Op::MOV, {held, number});
        function_.setOperand(&instr, i, held);
      }
    }
  }

  /// Replaces an LDC of known bytes by moves of numbers, one for each word.
  void load(ori::Instr& instr) {
    const ori::Operand &bank = instr.op_(1), &index = instr.op_(2), &offset = instr.op_(3);
    if (!(index.isNone() || index.isZeroReg()) || !bank.isImm() || !(offset.isImm() || offset.isNone())) return;
    const Operand to = instr.op_(0).value();
    const auto size = isa::modAs<isa::MemSize>(instr, isa::Mod::Size);
    const unsigned bytes = size == isa::MemSize::B64 ? 8 : size == isa::MemSize::B32 ? 4 : 0;
    if (bytes == 0 || !to.isVirtual()) return; // parts of words are rare
    const auto value = valueOf(instr, static_cast<unsigned>(bank.imm), offset.isNone() ? 0 : offset.imm, bytes);
    if (!value) return;
    tell(instr, *value);
    ori::Builder b = ori::Builder::before(function_, &instr);
    b.setGuard(instr.guard().value());
    for (unsigned word = 0; word < bytes / 4; ++word)
      b.emit(Op::MOV, {ori::component(to, word),
                       Operand::immediate(static_cast<std::int32_t>(*value >> (32 * word) & 0xffffffff))});
    function_.erase(&instr);
  }

  /// A dimension of one thread has only thread number 0.
  void special(ori::Instr& instr) {
    const std::int32_t axis = instr.op_(1).imm - kThreadX;
    if (axis < 0 || axis > 2 || function_.bounds.reqntid[axis] != 1) return;
    tell(instr, 0);
    const Operand operands[] = {instr.op_(0).value(), Operand::rz(), Operand::immediate(15)};
    function_.rewrite(&instr, Op::MOV, operands);
  }

  /// R2UR reports to each lane whether its value differs from the one taken. For a uniform register it never differs.
  /// The loops that lowering makes over the values of lanes then have one iteration.
  void answerForUniforms() {
    if (!function_.everHad(Op::R2UR) || ori::mayRunDivergent(function_)) return;
    std::vector<ori::Instr*> questions;
    for (ori::Block* block : function_.layout())
      for (ori::Instr& instr : *block)
        if (instr.op == Op::R2UR && instr.op_(0).isVirtual() && !instr.isGuarded()) questions.push_back(&instr);
    if (questions.empty()) return;
    const ori::Divergence& divergence = function_.analyses().divergence();
    std::erase_if(questions, [&](const ori::Instr* instr) {
      return !divergence.cfg().isReachable(instr->block->id) || !divergence.isUniform(instr->op_(2).value());
    });
    for (ori::Instr* instr : questions) {
      context_.remarks.applied(instr, "the value is uniform: no lane's differs");
      ori::Builder b = ori::Builder::after(function_, instr);
      b.setSource(instr->source);
      b.copy(instr->op_(0).value(), Operand::pt().notted());
      function_.setOperand(instr, 0, Operand::pt());
      changed_ = true;
    }
  }

  /// ELECT elects one of the lanes that execute it. Later in the same block, a vote among these lanes on which one is
  /// elected is true.
  void answerForElected(ori::Block& block) {
    std::vector<const ori::Instr*> elections;
    function_.forEachSafe(block, [&](ori::Instr& instr) {
      const isa::InstrDesc& row = isa::desc(instr.op);
      if ((row.has(isa::Flag::Convergent) && row.has(isa::Flag::Fence)) || ori::letsOthersRun(instr.op))
        elections.clear();
      if (instr.isGuarded()) return;
      if (instr.op == Op::ELECT && instr.op_(0).isVirtual() && instr.op_(2).value() == Operand::pt())
        elections.push_back(&instr);
      if (instr.op != Op::VOTEU || isa::modAs<isa::VoteMode>(instr, isa::Mod::VoteMode) != isa::VoteMode::ANY) return;
      const Operand asked = instr.op_(2).value();
      if (!instr.op_(0).isZeroReg() || !asked.isVirtual() || asked.inverted()) return;
      const ori::Instr* elected = function_.singleDef(asked.reg);
      if (std::find(elections.begin(), elections.end(), elected) == elections.end()) return;
      context_.remarks.applied(&instr, "one of the lanes is the elected one");
      ori::Builder b = ori::Builder::before(function_, &instr);
      b.setSource(instr.source);
      b.copy(instr.op_(1).value(), Operand::zero(isa::File::UP));
      function_.erase(&instr);
      changed_ = true;
    });
  }

  /// The number of CTAs of a cluster, along an axis or in total, where `.reqnctapercluster` fixes it; 0 for other
  /// offsets.
  std::uint32_t clusterCount(std::int32_t offset) const {
    const std::uint32_t* shape = function_.bounds.reqnctapercluster;
    if (offset < 0 || shape[0] == 0 || !context_.target.has(isa::Capability::Clusters)) return 0;
    const auto at = static_cast<std::uint32_t>(offset);
    if (at == context_.target.bank0().clusterSize) return shape[0] * shape[1] * shape[2];
    for (unsigned axis = 0; axis < 3; ++axis)
      if (at == context_.target.bank0().clusterShape + 4 * axis) return shape[axis];
    return 0;
  }

  /// The contents of `bytes` bytes at an offset of a constant bank, if they are the same in every launch.
  std::optional<std::uint64_t> valueOf(const ori::Instr& reader, unsigned bank, std::int32_t offset,
                                       unsigned bytes) const {
    if (bank == 0) {
      for (unsigned axis = 0; axis < 3; ++axis)
        if (bytes == 4 && offset == static_cast<std::int32_t>(context_.target.ntidOffset(axis)) &&
            function_.bounds.reqntid[axis] != 0)
          return function_.bounds.reqntid[axis];
      if (const auto count = clusterCount(offset); bytes == 4 && count != 0) return count;
      for (const ParamBinding* binding : bindings_) {
        const ori::KernelParam& param = function_.params[binding->index];
        const std::int64_t at = offset - static_cast<std::int64_t>(context_.target.paramBase()) - param.offset;
        if (at < 0 || at + bytes > param.size) continue;
        const std::uint64_t rest = at < 8 ? binding->value >> (8 * at) : 0;
        return bytes == 8 ? rest : rest & 0xffffffff;
      }
    }
    if (bank != kUserConstants) return std::nullopt;
    const std::optional<std::uint64_t> first = initialiserAt(offset, bytes);
    if (context_.knobs.enabled(Knob::FoldConstInitialisers)) return first;
    if (first)
      context_.remarks.missed(
          &reader, fmt::format("initial value {:#x} not folded: the host may overwrite it (knob FoldConstInitialisers)",
                               *first));
    return std::nullopt;
  }

  std::optional<std::uint64_t> initialiserAt(std::int32_t offset, unsigned bytes) const {
    for (const ori::Variable& variable : function_.module().variables) {
      if (variable.space != ori::Space::Const || variable.constOffset < 0) continue;
      const std::int64_t at = offset - variable.constOffset;
      if (at < 0 || at + bytes > static_cast<std::int64_t>(variable.size)) continue;
      for (const ori::DataRelocation& relocation : variable.relocations)
        if (at < relocation.offset + relocation.size && relocation.offset < at + bytes) return std::nullopt;
      if (variable.init.empty()) return std::nullopt; // the host is meant to fill it
      std::uint64_t value = 0;
      for (unsigned i = 0; i < bytes; ++i)
        if (const auto byte = static_cast<std::size_t>(at) + i; byte < variable.init.size())
          value |= std::uint64_t{variable.init[byte]} << (8 * i);
      return value;
    }
    return std::nullopt;
  }

  void tell(const ori::Instr& instr, std::uint64_t value) {
    changed_ = true;
    context_.remarks.applied(&instr, fmt::format("replaced with the launch-independent value {:#x}", value));
  }

  ori::Function& function_;
  PhaseContext& context_;
  std::vector<const ParamBinding*> bindings_;
  bool changed_ = false;
};

} // namespace

/// Phase 11. Replaces known uniform values by numbers, before the optimizer looks for numbers: block dimensions that
/// `.reqntid` fixes, cluster shapes that `.reqnctapercluster` fixes, thread numbers in dimensions of one thread,
/// parameters that the user bound, whether lanes differ in a uniform value, whether the elected lane is among those
/// that have elected it, and, by knob (FoldConstInitialisers: the host may overwrite them), constant variables with
/// initializers. Sizes of shared memory that no launch can change are numbers since lowering. Knob
/// GeneralOptimizationGate (487): 0 disables the phase.
bool replaceUniformsWithImm(ori::Function& function, PhaseContext& context) {
  if (!context.knobs.enabled(Knob::GeneralOptimizationGate)) return false;
  return Replacer(function, context).run();
}

} // namespace orias::phases
