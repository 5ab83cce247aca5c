#include "frontend/module_phases/memory_space_opt.h"

#include "frontend/module_phases/function_clones.h"
#include "frontend/module_phases/generic_access.h"
#include "frontend/module_phases/instruction_results.h"
#include "frontend/module_phases/ptx_editor.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace orias::ptx {

namespace {

bool isAtomic(Op op) {
  return op == Op::Atom || op == Op::Red;
}

bool isWmma(Op op) {
  return op == Op::WmmaLoad || op == Op::WmmaStore;
}

/// Whether the opcode may be an access without a state space, or isspacep. A quick test that needs no table.
bool mayBeGeneric(const Module& module, const Opcode& opcode) {
  static constexpr std::string_view kSpaces[] = {"global", "shared", "const", "local", "param"};
  const std::string_view base = module.text(opcode.base);
  if (base == "isspacep") return true;
  return std::ranges::find(kAccessWords, base) != std::end(kAccessWords) &&
         std::ranges::none_of(opcode.modifiers, [&](NameId word) {
           return std::ranges::find(kSpaces, module.text(word).substr(0, module.text(word).find(':'))) !=
                  std::end(kSpaces);
         });
}

std::string listOf(SpaceMask mask) {
  std::string list;
  for (const StateSpace space :
       {StateSpace::Global, StateSpace::Shared, StateSpace::Const, StateSpace::Local, StateSpace::Param})
    if (mask.has(SpaceMask::of(space).bits()))
      list += fmt::format("{}{}", list.empty() ? "" : " or ", spaceName(space));
  return list;
}

/// Processes one function.
class SpaceResolver {
 public:
  SpaceResolver(Module& module, FunctionId id, const FormTable& forms, const PointerSpaces& spaces, PtxEditor& editor,
                Diagnostics& diagnostics, const MemorySpaceOptions& options, ModulePhaseResult& result,
                WarnedPlaces& warned)
      : module_(module), id_(id), f_(module.functions[index(id)]), forms_(forms), spaces_(spaces),
        facts_(spaces.facts(id)), editor_(editor), diagnostics_(diagnostics), options_(options), result_(result),
        warned_(warned) {}

  void run() {
    if (options_.wantRemarks) {
      before_ = f_;
      definitions_ = spaces_.definitions(before_);
    }
    for (std::uint32_t s = 0; s < f_.statements.size(); ++s) {
      if (f_.statements[s].kind == StatementKind::Label) converted_.clear();
      if (f_.statements[s].kind == StatementKind::Instruction) visit(s, f_.statements[s].index);
    }
    editor_.finish(f_);
  }

 private:
  void visit(std::uint32_t statement, std::uint32_t number) {
    const Instruction i = f_.instructions[number];
    const Form& form = forms_.form(i);
    if (form.op == Op::Isspacep)
      answer(number, form);
    else if (const int at = genericAddressOperand(form); at >= 0 && (options_.resolvesWmma || !isWmma(form.op)))
      resolve(statement, number, form, static_cast<unsigned>(at));
    // A register that the instruction writes holds another address from here on.
    forEachResult(f_, forms_, i, [&](const Operand& o) {
      std::erase_if(converted_, [&](const auto& entry) { return entry.first.first == o.registerId(); });
    });
  }

  /// Decides an isspacep whose address is known to be in the requested space, or known not to be.
  void answer(std::uint32_t number, const Form& form) {
    Instruction& i = f_.instructions[number];
    const auto ops = f_.operandsOf(i);
    if (!ops[1].is(OperandKind::Register) || !ops[0].is(OperandKind::Register)) return;
    const SpaceMask mask = facts_.masks[index(ops[1].registerId())];
    const SpaceMask asked = SpaceMask::of(form.space());
    if (!mask.isAddress() || mask.has(SpaceMask::kParam) || asked == SpaceMask(SpaceMask::kParam)) return;
    const bool isIn = mask == asked;
    if (!isIn && mask.has(asked.bits())) return;
    const Operand result = ops[0];
    const std::array operands{result, Operand::integer(isIn ? 0 : 1, false), Operand::integer(0, false)};
    editor_.rewrite(f_, i, editor_.opcode("setp", {"eq", "s32"}), operands);
    done(i, fmt::format("isspacep.{} is {}", spaceName(form.space()), isIn ? "true" : "false"));
  }

  void resolve(std::uint32_t statement, std::uint32_t number, const Form& form, unsigned at) {
    Instruction& i = f_.instructions[number];
    const Operand address = f_.operandsOf(i)[at];
    if (address.addressBase() != OperandKind::Register) return;
    const SpaceMask mask = facts_.masks[index(address.registerId())];
    const StateSpace space = mask.space();
    if (space == StateSpace::None) return keep(i, form, whyUnknown(mask, address.registerId()));
    if (warnIllegal(i, form, space)) return keep(i, form, fmt::format("it cannot access {} memory", spaceName(space)));
    if (space == StateSpace::Param) return keep(i, form, "it is an address of a parameter");
    if (const std::string_view obstacle = unsupported(form, space); !obstacle.empty())
      return keep(i, form, std::string(obstacle));
    const OpcodeId opcode = editor_.withSpace(i.opcode, space);
    if (opcode == OpcodeId::None) return keep(i, form, fmt::format("no instruction for {} memory", spaceName(space)));
    if (space != StateSpace::Global && !setAddress(statement, number, form, at, space))
      return keep(i, form, "converting its address costs more than it saves here");
    f_.instructions[number].opcode = opcode;
    done(f_.instructions[number],
         options_.wantRemarks ? fmt::format("{} works on {} memory", opName(form.op), spaceName(space)) : "");
  }

  /// Rewrites the address to its space. A variable plus a number needs no instruction.
  bool setAddress(std::uint32_t statement, std::uint32_t number, const Form& form, unsigned at, StateSpace space) {
    const Instruction i = f_.instructions[number];
    Operand& address = f_.operands[i.firstOperand + at];
    const Place place = facts_.places[index(address.registerId())];
    if (place.variable != VariableId::None && place.isGeneric && module_.variable(place.variable).space == space) {
      const Variable& v = module_.variable(place.variable);
      const std::int64_t offset = place.offset + address.offset();
      const std::int64_t bytes = std::max(1u, bitWidth(form.type()) / 8) * form.vectorSize();
      if (!isWmma(form.op) && !v.incomplete && offset >= 0 &&
          offset + bytes <= static_cast<std::int64_t>(v.byteSize())) {
        address = Operand::address(place.variable, offset);
        return true;
      }
    }
    if (!options_.mayConvert) return false;
    const RegisterId from = address.registerId();
    const std::int64_t offset = address.offset();
    RegisterId& converted = converted_.try_emplace({from, space}, RegisterId::None).first->second;
    if (converted == RegisterId::None) {
      converted = editor_.addRegister(f_, Type::B64, i.loc);
      const std::array operands{Operand::reg(converted), Operand::reg(from)};
      editor_.insertBefore(f_, statement, editor_.opcode("cvta", {"to", std::string(spaceName(space)), "u64"}),
                           operands, i);
    }
    f_.operands[i.firstOperand + at] = Operand::address(converted, offset);
    return true;
  }

  /// Why lowering does not support the operation in the space; empty if it does.
  static std::string_view unsupported(const Form& form, StateSpace space) {
    if (space == StateSpace::Global) return {};
    if (form.op == Op::Prefetch) return "a prefetch of this space does nothing";
    if (isAtomic(form.op) && bitWidth(form.type()) > 64) return "no 128-bit access in this space";
    const bool isWeak = form.semantics() == Mod::None || form.semantics() == Mod::Weak;
    if (!isWeak && space != StateSpace::Shared) return "it is volatile or ordered";
    return {};
  }

  /// The warnings have the wording of the public literature, mistakes included. Returns true if the operation cannot
  /// work.
  bool warnIllegal(const Instruction& i, const Form& form, StateSpace space) {
    std::string_view text;
    const bool isConst = space == StateSpace::Const, isLocal = space == StateSpace::Local;
    if (isAtomic(form.op) && form.vectorSize() > 1)
      text = isConst                       ? "Cannot to vector atomic on const memory"
             : isLocal                     ? "Cannot to vector atomic on local memory"
             : space == StateSpace::Shared ? "Cannot to vector atomic on shared memory"
                                           : "";
    else if (isAtomic(form.op))
      text = isConst ? "Cannot do atomic operation on const memory" : isLocal ? "Cannot do atomic on local memory" : "";
    else if (isWmma(form.op))
      text = isConst ? "Cannot do WMMA on constant memory" : isLocal ? "Cannot do WMMA on local memory" : "";
    if (text.empty()) return false;
    if (warned_.emplace(i.loc.line, i.loc.column).second) diagnostics_.warning(i.loc, std::string(text));
    return true;
  }

  std::string whyUnknown(SpaceMask mask, RegisterId reg) const {
    if (!options_.wantRemarks) return {};
    if (mask.isAddress()) return fmt::format("its address may be in {}", listOf(mask));
    if (mask.isNumber()) return "its address is a constant";
    const std::string origin = spaces_.origin(id_, before_, reg, definitions_);
    if (mask.has(SpaceMask::kDifference))
      return fmt::format("its address is computed from the difference of two addresses: {}", origin);
    return fmt::format("its address is unknown: {}", origin);
  }

  void done(const Instruction& i, std::string what) {
    result_.hasChanged = true;
    if (options_.wantRemarks) result_.remarks.push_back({id_, i.loc.line, true, std::move(what)});
  }

  void keep(const Instruction& i, const Form& form, std::string why) {
    if (options_.wantRemarks)
      result_.remarks.push_back({id_, i.loc.line, false, fmt::format("{} stays generic: {}", opName(form.op), why)});
  }

  Module& module_;
  const FunctionId id_;
  Function& f_;
  const FormTable& forms_;
  const PointerSpaces& spaces_;
  const PointerFacts& facts_;
  PtxEditor& editor_;
  Diagnostics& diagnostics_;
  const MemorySpaceOptions& options_;
  ModulePhaseResult& result_;
  WarnedPlaces& warned_;
  Function before_; // the original with its definitions, for remarks
  std::vector<std::vector<std::uint32_t>> definitions_;
  /// By address register and space: the register with the converted address, since the last label.
  std::map<std::pair<RegisterId, StateSpace>, RegisterId> converted_;
};

} // namespace

ModulePhaseResult memorySpaceOpt(Module& module, GrowingForms& growing, Diagnostics& diagnostics,
                                 const MemorySpaceOptions& options, WarnedPlaces& warned) {
  ModulePhaseResult result;
  if (module.addressSize != 64 ||
      std::ranges::none_of(module.opcodes, [&](const Opcode& o) { return mayBeGeneric(module, o); }))
    return result;
  // Without functions there are no calls to follow.
  const auto isFunction = [](const Function& f) { return f.hasBody && !f.isEntry; };
  if (options.assumptions.followsCalls && std::ranges::none_of(module.functions, isFunction)) return result;
  const FormTable& forms = growing.table();
  if (options.assumptions.followsCalls && options.cloning.isOn())
    for (PhaseRemark& clone : cloneForSpaces(module, forms, options)) {
      result.hasChanged = true;
      if (options.wantRemarks) result.remarks.push_back(std::move(clone));
    }
  const PointerSpaces spaces(module, forms, options.assumptions, options.trace);
  PtxEditor editor(module);
  for (std::uint32_t f = 0; f < module.functions.size(); ++f)
    if (module.functions[f].hasBody)
      SpaceResolver(module, FunctionId(f), forms, spaces, editor, diagnostics, options, result, warned).run();
  return result;
}

} // namespace orias::ptx
