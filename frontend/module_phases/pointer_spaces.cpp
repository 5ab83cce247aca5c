#include "frontend/module_phases/pointer_spaces.h"

#include "frontend/lower/call_graph.h"
#include "frontend/module_phases/instruction_results.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <span>

namespace orias::ptx {

namespace {

constexpr std::uint32_t kNoObject = kNoId, kSeveralObjects = kNoId - 1;
constexpr std::uint32_t kPointerBytes = 8;
constexpr unsigned kPointerBits = 64;

std::uint32_t joinObjects(std::uint32_t a, std::uint32_t b) {
  if (a == kNoObject || a == b) return b;
  return b == kNoObject ? a : kSeveralObjects;
}

/// A value: its possible kinds, and the local variable whose address it may be.
struct TrackedValue {
  SpaceMask mask;
  std::uint32_t object = kNoObject;

  TrackedValue operator|(const TrackedValue& other) const {
    return {mask | other.mask, joinObjects(object, other.object)};
  }
  friend bool operator==(const TrackedValue&, const TrackedValue&) = default;
};

constexpr TrackedValue kNumberValue{SpaceMask::kNumber, kNoObject};

/// The values stored in a local variable. Accesses are aligned, so two of eight bytes are equal or disjoint.
struct LocalMemory {
  std::map<std::int64_t, TrackedValue> words; ///< by offset; each of eight bytes
  TrackedValue anywhere;                      ///< stored at an unknown offset
  bool isEscaped = false;                     ///< code outside the analysis may store to it
};

bool isAtomicOrPrefetch(Op op) {
  return op == Op::Atom || op == Op::Red || op == Op::Prefetch;
}

} // namespace

/// Analyzes one function by sweeps over its instructions.
class FunctionSpaces {
 public:
  FunctionSpaces(PointerSpaces& all, FunctionId id, PointerFacts& facts)
      : all_(all), module_(all.module_), forms_(all.forms_), id_(id), f_(module_.function(id)), facts_(facts) {
    values_.resize(f_.registers.size());
    facts_.masks.assign(f_.registers.size(), {});
    facts_.places.assign(f_.registers.size(), {});
    for (const Parameter& parameter : f_.params)
      if (parameter.reg != RegisterId::None && isWide(parameter.reg))
        values_[index(parameter.reg)].mask = parameterMask(parameter.variable);
    findPlaces();
  }

  /// Iterates until nothing changes. Returns whether the function stores or passes a difference of addresses.
  bool run() {
    do {
      hasChanged_ = false;
      for (const Statement& s : f_.statements)
        if (s.kind == StatementKind::Instruction) visit(f_.instructions[s.index]);
    } while (hasChanged_);
    for (std::size_t r = 0; r < values_.size(); ++r)
      facts_.masks[r] = values_[r].mask;
    if (all_.assumptions_.followsCalls) recordCalls();
    return storesDifference_;
  }

 private:
  bool isWide(RegisterId reg) const { return bitWidth(f_.registers[index(reg)].type) == kPointerBits; }

  void recordCalls() {
    facts_.calls.clear();
    for (const Statement& s : f_.statements) {
      if (s.kind != StatementKind::Instruction || forms_.form(f_.instructions[s.index]).op != Op::Call) continue;
      const CallParts parts = callParts(f_, f_.instructions[s.index]);
      if (!parts.callee->is(OperandKind::Function)) continue;
      CallFacts& call = facts_.calls.emplace_back(CallFacts{s.index, parts.callee->functionId(), {}});
      if (!parts.args) continue;
      for (const Operand& argument : f_.parts(*parts.args))
        call.passed.push_back(passedBy(argument));
    }
  }

  static bool isPlainRegister(const Operand& o) {
    return o.is(OperandKind::Register) && o.component() == Component::None;
  }

  // --- places

  void findPlaces() {
    std::vector<unsigned> definitions(f_.registers.size(), 0);
    std::vector<const Instruction*> definition(f_.registers.size(), nullptr);
    for (const Instruction& i : f_.instructions)
      forEachResult(i, [&](const Operand& o) {
        ++definitions[index(o.registerId())];
        definition[index(o.registerId())] = &i;
      });
    std::vector<RegisterId> single;
    for (std::uint32_t r = 0; r < definition.size(); ++r)
      if (definitions[r] == 1 && definition[r]->guard == RegisterId::None && isWide(RegisterId(r)))
        single.push_back(RegisterId(r));
    for (bool isMore = true; isMore;) {
      isMore = false;
      for (const RegisterId reg : single) {
        Place& place = facts_.places[index(reg)];
        if (place.variable != VariableId::None) continue;
        if (const auto found = placeMadeBy(*definition[index(reg)])) {
          place = *found;
          isMore = true;
        }
      }
    }
  }

  std::optional<Place> placeOf(const Operand& o) const {
    if (o.is(OperandKind::Variable)) {
      const Variable& v = module_.variable(o.variableId());
      const bool hasAddress =
          v.space == StateSpace::Local || v.space == StateSpace::Shared || v.space == StateSpace::Const;
      if (hasAddress && typeClass(v.type) != TypeClass::Opaque) return Place{o.variableId(), o.offset(), false};
      return std::nullopt;
    }
    if (!isPlainRegister(o)) return std::nullopt;
    const Place& place = facts_.places[index(o.registerId())];
    if (place.variable == VariableId::None) return std::nullopt;
    return place;
  }

  std::optional<Place> placeMadeBy(const Instruction& i) const {
    const Form& form = forms_.form(i);
    const auto ops = f_.operandsOf(i);
    if (ops.size() < 2 || bitWidth(form.type()) != kPointerBits) return std::nullopt;
    switch (form.op) {
    case Op::Mov: return placeOf(ops[1]);
    case Op::Cvta: {
      auto place = placeOf(ops[1]);
      if (!place || module_.variable(place->variable).space != form.space()) return std::nullopt;
      if (form.get(Slot::Space) == Mod::SharedCluster) return std::nullopt;
      if (place->isGeneric != form.has(Mod::To)) return std::nullopt;
      place->isGeneric = !form.has(Mod::To);
      return place;
    }
    case Op::Add:
    case Op::Sub: {
      const bool isSwapped = form.op == Op::Add && ops[1].is(OperandKind::Int);
      auto place = placeOf(ops[isSwapped ? 2 : 1]);
      const Operand& number = ops[isSwapped ? 1 : 2];
      if (!place || !number.is(OperandKind::Int)) return std::nullopt;
      place->offset += form.op == Op::Add ? number.intValue() : -number.intValue();
      return place;
    }
    default: return std::nullopt;
    }
  }

  // --- values

  template <typename F> void forEachResult(const Instruction& i, F&& f) const { ptx::forEachResult(f_, forms_, i, f); }

  TrackedValue unknown() const {
    return {all_.storesDifferences_ ? SpaceMask::kUnknown | SpaceMask::kDifference : SpaceMask::kUnknown, kNoObject};
  }

  TrackedValue valueOf(const Operand& o) const {
    switch (o.kind()) {
    case OperandKind::Register:
      if (o.component() != Component::None) return unknown();
      return isWide(o.registerId()) ? values_[index(o.registerId())] : kNumberValue;
    case OperandKind::Variable: {
      const Variable& v = module_.variable(o.variableId());
      if (typeClass(v.type) == TypeClass::Opaque) return unknown();
      if (v.space == StateSpace::Global) return {SpaceMask::kGlobal, kNoObject};
      return {SpaceMask::kNumber, v.space == StateSpace::Local ? index(o.variableId()) : kNoObject};
    }
    case OperandKind::Int:
    case OperandKind::Float32:
    case OperandKind::Float64:
    case OperandKind::Special: return kNumberValue;
    default: return unknown();
    }
  }

  void set(const Operand& result, TrackedValue value) {
    if (!result.is(OperandKind::Register) || !isWide(result.registerId())) {
      escape(value);
      return;
    }
    if (result.component() != Component::None) {
      escape(value);
      value = unknown();
    }
    TrackedValue& known = values_[index(result.registerId())];
    const TrackedValue joined = known | value;
    if (joined == known) return;
    known = joined;
    hasChanged_ = true;
  }

  /// The value flows to a location that is not tracked.
  void escape(const TrackedValue& value) {
    if (value.object == kNoObject) return;
    const auto leave = [&](std::uint32_t object) {
      LocalMemory& memory = memory_[object];
      if (memory.isEscaped) return;
      memory.isEscaped = true;
      hasChanged_ = true;
      for (const auto& [offset, word] : memory.words)
        escape(word);
      escape(memory.anywhere);
    };
    if (value.object != kSeveralObjects) return leave(value.object);
    for (std::uint32_t v = 0; v < module_.variables.size(); ++v)
      if (module_.variables[v].space == StateSpace::Local) leave(v);
  }

  /// The value is passed on, or stored to a location that is not tracked.
  void publish(const Operand& o) {
    if (o.isGroup()) {
      for (const Operand& part : f_.parts(o))
        publish(part);
      return;
    }
    if (!o.is(OperandKind::Register) && !o.is(OperandKind::Variable)) return;
    const TrackedValue value = valueOf(o);
    storesDifference_ |= value.mask.has(SpaceMask::kDifference);
    escape(value);
  }

  // --- instructions

  void visit(const Instruction& i) {
    const Form& form = forms_.form(i);
    const auto ops = f_.operandsOf(i);
    const bool isMemory = form.op == Op::Ld || form.op == Op::St || isAtomicOrPrefetch(form.op);
    if (!isMemory && form.op != Op::Mov && form.op != Op::Selp && typeClass(form.type()) == TypeClass::Float)
      return forEachResult(i, [&](const Operand& o) { set(o, kNumberValue); });
    switch (form.op) {
    case Op::Mov: return visitMove(ops);
    case Op::Cvta: return visitCvta(form, ops);
    case Op::Ld: return visitLoad(form, ops);
    case Op::St: return visitStore(form, ops);
    case Op::Selp: return set(ops[0], valueOf(ops[1]) | valueOf(ops[2]));
    case Op::Min:
    case Op::Max:
      if (!all_.assumptions_.tracksIntegers) break;
      return set(ops[0], valueOf(ops[1]) | valueOf(ops[2]));
    case Op::Add: return set(ops[0], arithmetic(ops[1], ops[2], sumOf));
    case Op::Sub: return set(ops[0], arithmetic(ops[1], ops[2], differenceOf));
    case Op::And:
    case Op::Or: {
      const bool keepsSpace = all_.assumptions_.tracksIntegers && isAlignment(form, ops);
      return set(ops[0], arithmetic(ops[1], ops[2], keepsSpace ? sumOf : arithmeticOf));
    }
    case Op::Mad:
      if (ops.size() == 4 && form.mode() != Mod::Hi) return visitMultiplyAdd(ops);
      break;
    case Op::Cvt:
      if (isCopy(form) && all_.assumptions_.tracksIntegers) return set(ops[0], valueOf(ops[1]));
      break;
    case Op::Setp: return;
    case Op::Isspacep: return;
    default: break;
    }
    if (isAtomicOrPrefetch(form.op)) return visitAtomic(i, ops);
    if (form.op == Op::Call) return visitCall(i, ops);
    if (!isArithmetic(form.op)) return visitOther(i, ops);
    TrackedValue result = kNumberValue;
    for (std::size_t k = 1; k < ops.size(); ++k)
      result.mask = arithmeticOf(result.mask, valueOf(ops[k]).mask);
    for (std::size_t k = 1; k < ops.size(); ++k)
      escape(valueOf(ops[k]));
    forEachResult(i, [&](const Operand& o) { set(o, result); });
  }

  static bool isArithmetic(Op op) {
    switch (op) {
    case Op::Abs:
    case Op::And:
    case Op::Bfe:
    case Op::Bfi:
    case Op::Brev:
    case Op::Clz:
    case Op::Cvt:
    case Op::Div:
    case Op::Lop3:
    case Op::Mad:
    case Op::Mul:
    case Op::Neg:
    case Op::Not:
    case Op::Or:
    case Op::Popc:
    case Op::Rem:
    case Op::Shl:
    case Op::Shr:
    case Op::Xor: return true;
    default: return false;
    }
  }

  static bool isCopy(const Form& form) {
    const auto isInteger = [](Type t) {
      return typeClass(t) == TypeClass::Unsigned || typeClass(t) == TypeClass::Signed;
    };
    return isInteger(form.type(0)) && isInteger(form.type(1)) && bitWidth(form.type(0)) == bitWidth(form.type(1)) &&
           !form.sat();
  }

  /// Whether the operation clears or sets low bits only. This aligns an address, which remains in its window.
  bool isAlignment(const Form& form, std::span<const Operand> ops) const {
    constexpr std::int64_t kMaxAlignment = 4096;
    const Operand& mask = ops[2];
    if (!mask.is(OperandKind::Int)) return false;
    const std::int64_t bits = mask.intValue();
    return form.op == Op::And ? bits < 0 && bits >= -kMaxAlignment : bits >= 0 && bits < kMaxAlignment;
  }

  template <typename Combine> TrackedValue arithmetic(const Operand& a, const Operand& b, Combine&& combine) const {
    const TrackedValue x = valueOf(a), y = valueOf(b);
    return {combine(x.mask, y.mask), joinObjects(x.object, y.object)};
  }

  void visitMultiplyAdd(std::span<const Operand> ops) {
    const TrackedValue a = valueOf(ops[1]), b = valueOf(ops[2]), c = valueOf(ops[3]);
    escape(a);
    escape(b);
    set(ops[0], {sumOf(arithmeticOf(a.mask, b.mask), c.mask), c.object});
  }

  void visitMove(std::span<const Operand> ops) {
    if (ops[1].isGroup() || ops[0].isGroup()) {
      publish(ops[1]); // split or combined
      if (ops[0].isGroup()) {
        for (const Operand& part : f_.parts(ops[0]))
          if (part.is(OperandKind::Register)) set(part, unknown());
      } else {
        set(ops[0], unknown());
      }
      return;
    }
    set(ops[0], valueOf(ops[1]));
  }

  void visitCvta(const Form& form, std::span<const Operand> ops) {
    const TrackedValue from = valueOf(ops[1]);
    // Instructions for shared memory cannot access the shared memory of another CTA.
    if (form.get(Slot::Space) == Mod::SharedCluster) return set(ops[0], form.has(Mod::To) ? kNumberValue : unknown());
    if (form.space() == StateSpace::Local && !form.has(Mod::To) && !all_.assumptions_.localsAreLocal)
      return set(ops[0], {unknown().mask, from.object});
    if (!form.has(Mod::To)) return set(ops[0], {SpaceMask::of(form.space()), from.object});
    // An address of global memory is the same number in both; others are relative to the start of their space.
    set(ops[0], {form.space() == StateSpace::Global ? SpaceMask::kGlobal : SpaceMask::kNumber, from.object});
  }

  /// The local variable that an access may touch, and the offset in it.
  struct Target {
    std::uint32_t object = kNoObject;
    std::optional<std::int64_t> offset;
  };

  Target targetOf(const Form& form, const Operand& address) const {
    Target target;
    if (form.space() != StateSpace::Local && form.space() != StateSpace::None) return target;
    if (address.addressBase() == OperandKind::Variable) {
      if (module_.variable(address.variableId()).space != StateSpace::Local) return target;
      return {index(address.variableId()), address.offset()};
    }
    if (address.addressBase() != OperandKind::Register) return target;
    target.object = values_[index(address.registerId())].object;
    const Place& place = facts_.places[index(address.registerId())];
    const bool isExact = place.variable != VariableId::None &&
                         module_.variable(place.variable).space == StateSpace::Local &&
                         place.isGeneric == (form.space() == StateSpace::None);
    if (isExact && target.object == index(place.variable)) target.offset = place.offset + address.offset();
    return target;
  }

  void visitLoad(const Form& form, std::span<const Operand> ops) {
    const Operand& address = ops[1];
    const auto results = ops[0].is(OperandKind::Vector) ? f_.parts(ops[0]) : std::span(&ops[0], 1);
    const unsigned bytes = std::max(1u, bitWidth(form.type()) / 8);
    if (bytes < kPointerBytes) {
      for (const Operand& o : results)
        if (o.is(OperandKind::Register)) set(o, kNumberValue);
      return;
    }
    for (std::size_t e = 0; e < results.size(); ++e)
      if (results[e].is(OperandKind::Register))
        set(results[e], loaded(form, address, static_cast<std::int64_t>(e * kPointerBytes)));
  }

  TrackedValue loaded(const Form& form, const Operand& address, std::int64_t more) {
    if (form.space() == StateSpace::Param) return {paramMask(address), kNoObject};
    if (form.space() == StateSpace::Const && all_.assumptions_.constPointersAreGlobal)
      return {SpaceMask::kGlobal, kNoObject};
    const Target target = targetOf(form, address);
    if (target.object == kNoObject || target.object == kSeveralObjects || !all_.assumptions_.tracksLocals)
      return unknown();
    const LocalMemory& memory = memory_[target.object];
    if (memory.isEscaped) return unknown();
    TrackedValue value = memory.anywhere;
    if (target.offset) {
      if (const auto word = memory.words.find(*target.offset + more); word != memory.words.end())
        value = value | word->second;
    } else {
      for (const auto& [offset, word] : memory.words)
        value = value | word;
    }
    return value;
  }

  static bool names(const std::vector<Parameter>& list, VariableId id) {
    return std::ranges::any_of(list, [&](const Parameter& p) { return p.variable == id; });
  }

  bool isPointerSized(VariableId id) const { return module_.variable(id).byteSize() == kPointerBytes; }

  /// A parameter of this function.
  SpaceMask parameterMask(VariableId id) const {
    if (f_.isEntry) {
      const Variable& v = module_.variable(id);
      if (v.isPointer && v.pointerSpace == StateSpace::Global) return SpaceMask::kGlobal;
      return all_.assumptions_.paramsAreGlobal ? SpaceMask(SpaceMask::kGlobal) : unknown().mask;
    }
    return all_.isClosed(id_) && isPointerSized(id) ? all_.passed(id) : unknown().mask;
  }

  SpaceMask paramMask(const Operand& address) const {
    if (address.addressBase() != OperandKind::Variable) return unknown().mask;
    const VariableId id = address.variableId();
    if (names(f_.params, id)) return parameterMask(id);
    // The result of a call.
    const auto known = callParams_.find(id);
    return all_.assumptions_.followsCalls && isPointerSized(id) && known != callParams_.end() ? known->second
                                                                                              : unknown().mask;
  }

  void joinCallParam(VariableId id, SpaceMask mask) {
    SpaceMask& known = callParams_[id];
    const SpaceMask joined = known | mask;
    hasChanged_ |= !(joined == known);
    known = joined;
  }

  /// A store to a parameter of a call, or to a result of this function.
  void storeParam(const Form& form, const Operand& address, const Operand& value) {
    if (address.addressBase() != OperandKind::Variable) return;
    const VariableId id = address.variableId();
    const bool isWhole = isPointerSized(id) && bitWidth(form.type()) == kPointerBits && !value.isGroup();
    const SpaceMask mask = isWhole ? valueOf(value).mask : unknown().mask;
    if (names(f_.returns, id))
      all_.pass(id_, id, mask, true);
    else
      joinCallParam(id, mask);
  }

  void visitCall(const Instruction& i, std::span<const Operand> ops) {
    for (const Operand& o : ops)
      publishAll(o);
    const CallParts parts = callParts(f_, i);
    FunctionId callee = parts.callee->is(OperandKind::Function) ? parts.callee->functionId() : FunctionId::None;
    if (callee != FunctionId::None && !all_.isClosed(callee)) callee = FunctionId::None;
    if (parts.args && callee != FunctionId::None) {
      const auto args = f_.parts(*parts.args);
      const auto& params = module_.function(callee).params;
      for (std::size_t k = 0; k < args.size() && k < params.size(); ++k)
        if (isPointerSized(params[k].variable)) all_.pass(callee, params[k].variable, passedBy(args[k]), false);
    }
    if (!parts.returns) return;
    const auto results = f_.parts(*parts.returns);
    for (std::size_t k = 0; k < results.size(); ++k) {
      SpaceMask mask = unknown().mask;
      if (callee != FunctionId::None && k < module_.function(callee).returns.size()) {
        const Parameter& result = module_.function(callee).returns[k];
        // Results in registers are not tracked.
        if (result.reg == RegisterId::None && isPointerSized(result.variable)) mask = all_.passed(result.variable);
      }
      if (results[k].is(OperandKind::Variable))
        joinCallParam(results[k].variableId(), mask);
      else
        set(results[k], {mask, kNoObject});
    }
  }

  SpaceMask passedBy(const Operand& argument) const {
    if (!argument.is(OperandKind::Variable)) return valueOf(argument).mask;
    if (!isPointerSized(argument.variableId())) return unknown().mask;
    const auto known = callParams_.find(argument.variableId());
    return known == callParams_.end() ? SpaceMask() : known->second;
  }

  void visitStore(const Form& form, std::span<const Operand> ops) {
    const Target target = targetOf(form, ops[0]);
    const bool isTracked = target.object != kNoObject && target.object != kSeveralObjects &&
                           all_.assumptions_.tracksLocals && !memory_[target.object].isEscaped;
    if (!isTracked) {
      publish(ops[1]);
      if (form.space() == StateSpace::Param) storeParam(form, ops[0], ops[1]);
      if (target.object == kSeveralObjects) escape({SpaceMask::kUnknown, kSeveralObjects});
      return;
    }
    LocalMemory& memory = memory_[target.object];
    const unsigned bytes = std::max(1u, bitWidth(form.type()) / 8);
    const auto values = ops[1].is(OperandKind::Vector) ? f_.parts(ops[1]) : std::span(&ops[1], 1);
    const auto join = [&](TrackedValue& known, const TrackedValue& value) {
      const TrackedValue joined = known | value;
      hasChanged_ |= !(joined == known);
      known = joined;
    };
    for (std::size_t e = 0; e < values.size(); ++e) {
      // A partial store makes the whole word unknown. A wider element covers more than one word.
      if (bytes != kPointerBytes) publish(values[e]);
      const TrackedValue value = bytes == kPointerBytes ? valueOf(values[e]) : unknown();
      if (!target.offset) {
        join(memory.anywhere, value);
        continue;
      }
      const std::int64_t first = *target.offset + static_cast<std::int64_t>(e * bytes);
      for (std::int64_t at = first & ~std::int64_t{kPointerBytes - 1}; at < first + bytes; at += kPointerBytes)
        join(memory.words[at], value);
    }
  }

  /// Atomics, reductions and prefetches: the values that they write are not tracked.
  void visitAtomic(const Instruction& i, std::span<const Operand> ops) {
    for (const Operand& o : ops) {
      if (!o.is(OperandKind::Address)) {
        publish(o);
      } else if (o.addressBase() == OperandKind::Register) {
        escape(values_[index(o.registerId())]);
      } else if (o.addressBase() == OperandKind::Variable) {
        escape(valueOf(Operand::variable(o.variableId(), 0)));
      }
    }
    forEachResult(i, [&](const Operand& o) { set(o, unknown()); });
  }

  void visitOther(const Instruction& i, std::span<const Operand> ops) {
    for (const Operand& o : ops)
      publishAll(o);
    forEachResult(i, [&](const Operand& o) { set(o, unknown()); });
  }

  void publishAll(const Operand& o) {
    if (o.isGroup()) {
      for (const Operand& part : f_.parts(o))
        publishAll(part);
    } else if (o.is(OperandKind::Address)) {
      if (o.addressBase() == OperandKind::Register)
        publish(Operand::reg(o.registerId()));
      else if (o.addressBase() == OperandKind::Variable)
        publish(Operand::variable(o.variableId(), 0));
    } else if (o.is(OperandKind::Register) || o.is(OperandKind::Variable)) {
      publish(o);
    }
  }

  PointerSpaces& all_;
  const Module& module_;
  const FormTable& forms_;
  const FunctionId id_;
  const Function& f_;
  PointerFacts& facts_;
  std::map<VariableId, SpaceMask> callParams_;  // declared in the body: arguments and results of calls
  std::vector<TrackedValue> values_;            // by RegisterId
  std::map<std::uint32_t, LocalMemory> memory_; // by VariableId
  bool hasChanged_ = false;
  bool storesDifference_ = false;
};

PointerSpaces::PointerSpaces(const Module& module, const FormTable& forms, const SpaceAssumptions& assumptions,
                             std::string* trace)
    : module_(module), forms_(forms), assumptions_(assumptions), trace_(trace),
      isClosed_(module.functions.size(), false), callers_(module.functions.size()),
      isInWork_(module.functions.size(), false), facts_(module.functions.size()),
      storesDifferences_(!assumptions.isWholeProgram) {
  if (assumptions_.followsCalls) findClosedFunctions();
  // If no difference is stored, no loaded value can be one. Otherwise any loaded value may be one.
  if (analyzeAll() && !storesDifferences_) {
    storesDifferences_ = true;
    passed_.clear();
    analyzeAll();
  }
}

void PointerSpaces::trace(std::string_view line) {
  if (trace_) *trace_ += fmt::format("{}\n", line);
}

void PointerSpaces::findClosedFunctions() {
  const CallGraph calls(module_, forms_);
  for (std::uint32_t f = 0; f < module_.functions.size(); ++f) {
    const Function& function = module_.functions[f];
    const auto isNamed = [&](FunctionId id) { return calls.resolved(id) == FunctionId(f); };
    const bool hasAlias =
        std::ranges::any_of(module_.functions, [&](const Function& other) { return other.aliasee == FunctionId(f); });
    isClosed_[f] = function.hasBody && !function.isEntry && !hasAlias &&
                   (assumptions_.isWholeProgram || function.linkage == Linkage::None) &&
                   std::ranges::none_of(calls.addressTaken(), isNamed);
  }
  for (std::uint32_t f = 0; f < module_.functions.size(); ++f)
    for (const FunctionId callee : calls.callees(FunctionId(f)))
      if (isClosed(callee)) callers_[index(callee)].push_back(FunctionId(f));
}

/// Returns whether some function stores or passes a difference of addresses.
bool PointerSpaces::analyzeAll() {
  work_.clear();
  for (std::uint32_t f = 0; f < module_.functions.size(); ++f)
    if (module_.functions[f].hasBody) {
      work_.push_back(FunctionId(f));
      isInWork_[f] = true;
    }
  bool storesDifferences = false;
  if (!assumptions_.usesWorkList) {
    const std::vector<FunctionId> all = work_;
    for (bool isMore = true; isMore;) {
      trace(fmt::format("Round over {} functions", all.size()));
      isInWork_.assign(isInWork_.size(), false);
      work_.clear();
      for (const FunctionId id : all)
        storesDifferences |= FunctionSpaces(*this, id, facts_[index(id)]).run();
      isMore = !work_.empty();
    }
    return storesDifferences;
  }
  trace(fmt::format("Initial work list size: {}", work_.size()));
  for (std::size_t at = 0; at < work_.size(); ++at) {
    const FunctionId id = work_[at];
    isInWork_[index(id)] = false;
    storesDifferences |= FunctionSpaces(*this, id, facts_[index(id)]).run();
  }
  return storesDifferences;
}

SpaceMask PointerSpaces::passed(VariableId parameter) const {
  const auto known = passed_.find(parameter);
  return known == passed_.end() ? SpaceMask() : known->second;
}

void PointerSpaces::pass(FunctionId function, VariableId parameter, SpaceMask mask, bool isResult) {
  if (!isClosed(function)) return;
  SpaceMask& known = passed_[parameter];
  const SpaceMask joined = known | mask;
  if (joined == known) return;
  known = joined;
  const std::string_view name = module_.text(module_.function(function).name);
  const auto lookAgain = [&](FunctionId id) {
    if (isInWork_[index(id)]) return;
    isInWork_[index(id)] = true;
    work_.push_back(id);
  };
  if (!isResult) {
    trace(fmt::format("{}: {} changed in argument memory space", name, module_.text(module_.variable(parameter).name)));
    lookAgain(function);
    return;
  }
  trace(fmt::format("{}: return memory space {}", name, joined.isAddress() ? "is resolved" : "is not resolved"));
  for (const FunctionId caller : callers_[index(function)])
    lookAgain(caller);
}

std::vector<std::vector<std::uint32_t>> PointerSpaces::definitions(const Function& function) const {
  std::vector<std::vector<std::uint32_t>> all(function.registers.size());
  for (std::uint32_t i = 0; i < function.instructions.size(); ++i)
    forEachResult(function, forms_, function.instructions[i],
                  [&](const Operand& o) { all[index(o.registerId())].push_back(i); });
  return all;
}

std::string PointerSpaces::origin(FunctionId id, const Function& function, RegisterId reg,
                                  const std::vector<std::vector<std::uint32_t>>& definitions) const {
  const PointerFacts& facts = facts_[index(id)];
  const auto isCause = [&](const Operand& o) {
    if (!o.is(OperandKind::Register) || bitWidth(function.registers[index(o.registerId())].type) != kPointerBits)
      return false;
    const SpaceMask mask = facts.masks[index(o.registerId())];
    return !mask.isAddress() && !mask.isNumber();
  };
  std::set<RegisterId> seen{reg};
  std::vector<RegisterId> work{reg};
  for (std::size_t at = 0; at < work.size(); ++at) {
    for (const std::uint32_t number : definitions[index(work[at])]) {
      const Instruction* i = &function.instructions[number];
      const auto ops = function.operandsOf(*i);
      bool isPassedOn = false;
      if (ops[0].is(OperandKind::Register))
        for (const Operand& o : ops.subspan(1)) {
          if (!isCause(o)) continue;
          isPassedOn = true;
          if (seen.insert(o.registerId()).second) work.push_back(o.registerId());
        }
      if (isPassedOn) continue;
      const Form& form = forms_.form(*i);
      if (form.op != Op::Ld) return fmt::format("the result of '{}' in line {}", opName(form.op), i->loc.line);
      if (form.space() != StateSpace::Param) return fmt::format("loaded from memory in line {}", i->loc.line);
      if (!function.isEntry) return fmt::format("a parameter or result of a function, in line {}", i->loc.line);
      if (ops[1].addressBase() != OperandKind::Variable) return "a kernel parameter";
      return fmt::format("kernel parameter '{}'", module_.text(module_.variable(ops[1].variableId()).name));
    }
  }
  return "not defined";
}

} // namespace orias::ptx
