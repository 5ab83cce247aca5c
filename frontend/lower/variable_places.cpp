#include "frontend/lower/variable_places.h"

#include "encoder/isa/target.h"
#include "frontend/lower/texture_handles.h"
#include "support/align.h"

#include <algorithm>

namespace orias::ptx {

namespace {

std::uint8_t pointerSpaceOf(const Variable& pointer) {
  switch (pointer.pointerSpace) {
  case StateSpace::Local: return 1;
  case StateSpace::Shared: return 2;
  case StateSpace::Global:
  case StateSpace::Const: return 4;
  default: return 5;
  }
}

} // namespace

VariablePlaces::VariablePlaces(const ModuleLayout& layout, ori::Function& out, bool isLinked)
    : layout_(layout), out_(out), isLinked_(isLinked), paramOffset_(module().variables.size(), kNoId),
      sharedOffset_(paramOffset_), frameObject_(paramOffset_) {}

bool VariablePlaces::isCallParam(VariableId id) const {
  return module().variable(id).space == StateSpace::Param && paramOffset_[index(id)] == kNoId;
}

std::optional<std::uint32_t> VariablePlaces::frameObject(VariableId id) const {
  const std::uint32_t object = frameObject_[index(id)];
  return object == kNoId ? std::nullopt : std::optional(object);
}

void VariablePlaces::setLocalBase(VariableId id, isa::Operand base) {
  localBase_.resize(module().variables.size());
  localBase_[index(id)] = base;
}

void VariablePlaces::layOutParams(const Function& kernel) {
  const std::uint32_t base = out_.module().target().paramBase();
  std::uint32_t at = 0;
  for (const Parameter& param : kernel.params) {
    const Variable& v = module().variable(param.variable);
    if (typeClass(v.type) == TypeClass::Opaque) {
      ori::KernelParam named{out_.intern(module().text(v.name)), 0, 0, 0, 0, {}};
      named.handle = handleSymbol(layout_, out_, param.variable);
      out_.params.push_back(named);
      continue;
    }
    at = alignUp(base + at, v.align) - base; // the address in the bank is aligned, not the offset among the parameters
    paramOffset_[index(param.variable)] = at;
    const auto size = static_cast<std::uint32_t>(v.byteSize());
    out_.params.push_back({out_.intern(module().text(v.name)),
                           at,
                           size,
                           v.isPointer ? pointerSpaceOf(v) : std::uint8_t{0},
                           v.pointerAlign,
                           {}});
    at += size;
  }
  out_.paramBytes = at;
}

void VariablePlaces::layOutVariables(const Function& function) {
  // Variables of these functions, followed by the module-scope shared variables that they use, get offsets in the order
  // of declaration, as in ptxas.
  std::vector<bool> named(module().variables.size(), false), inBody(named), inRecursive(named);
  for (const Function* body : bodiesOf(layout_, function)) {
    for (const Operand& o : body->operands)
      if (o.is(OperandKind::Variable) || (o.is(OperandKind::Address) && o.addressBase() == OperandKind::Variable))
        named[index(o.variableId())] = true;
    for (const Statement& s : body->statements)
      if (s.kind == StatementKind::Variable) {
        named[s.index] = inBody[s.index] = true;
        // Each activation of a recursive function has its own variable.
        inRecursive[s.index] = !isLinked_ && layout_.calls->isRecursive(module().idOf(*body));
      }
    keepInMemory(*body);
  }

  std::vector<std::uint32_t> dynamic, ordered;
  for (const bool isOwn : {true, false})
    for (std::uint32_t id = 0; id < named.size(); ++id)
      if (named[id] && inBody[id] == isOwn) ordered.push_back(id);
  for (const std::uint32_t id : ordered) {
    const Variable& v = module().variables[id];
    if (v.space == StateSpace::Shared) {
      if (isLinked_) continue; // a symbol
      if (v.incomplete || v.linkage == Linkage::Extern) {
        dynamic.push_back(id);
        continue;
      }
      out_.sharedBytes = alignUp(out_.sharedBytes, v.align);
      sharedOffset_[id] = out_.sharedBytes;
      out_.sharedBytes += static_cast<std::uint32_t>(v.byteSize());
      out_.sharedAlign = std::max(out_.sharedAlign, v.align);
    } else if (v.space == StateSpace::Local && !inRecursive[id]) {
      frameObject_[id] = newFrameObject(v);
    }
  }
  // All dynamic arrays begin at the same offset, after the static ones.
  for (std::uint32_t id : dynamic) {
    out_.usesDynamicShared = true;
    out_.sharedAlign = std::max(out_.sharedAlign, module().variables[id].align);
  }
  // The driver places dynamic arrays after the declared size of the static ones. Like ptxas, mark all kernels of a
  // module that has dynamic arrays.
  bool seesDynamic = !dynamic.empty();
  if (function.isEntry && !isLinked_)
    for (const Variable& v : module().variables)
      if (v.space == StateSpace::Shared && v.incomplete) {
        seesDynamic = true;
        out_.sharedAlign = std::max(out_.sharedAlign, v.align);
      }
  if (seesDynamic) {
    out_.sharedAlign = std::max(out_.sharedAlign, isa::Target::kDynamicSharedAlignment);
    out_.sharedBytes = alignUp(out_.sharedBytes, out_.sharedAlign);
  }
  for (std::uint32_t id : dynamic)
    sharedOffset_[id] = out_.sharedBytes;
}

std::uint32_t VariablePlaces::newFrameObject(const Variable& v) {
  ori::FrameObject object;
  object.name = out_.intern(module().text(v.name));
  object.size = static_cast<std::uint32_t>(v.byteSize());
  object.align = v.align;
  out_.frame.push_back(object);
  return static_cast<std::uint32_t>(out_.frame.size() - 1);
}

void VariablePlaces::keepInMemory(const Function& body) {
  if (body.isEntry || (!isLinked_ && layout_.calls->isRecursive(module().idOf(body)))) return;
  for (const Parameter& p : body.params) {
    const auto isIt = [&](const Operand& o) { return o.is(OperandKind::Variable) && o.variableId() == p.variable; };
    if (p.reg != RegisterId::None || std::none_of(body.operands.begin(), body.operands.end(), isIt)) continue;
    Variable copy = module().variable(p.variable);
    copy.align = std::max<std::uint32_t>(copy.align, 4); // it is stored by words
    std::uint32_t& object = frameObject_[index(p.variable)];
    object = newFrameObject(copy);
    out_.frame[object].size = alignUp(out_.frame[object].size, 4);
  }
}

} // namespace orias::ptx
