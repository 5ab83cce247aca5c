#include "phases/remat/rematerializable.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/convergence.h"
#include "phases/memory_access.h"
#include "phases/optimize/pure.h"
#include "phases/removable.h"
#include "phases/uniform/convergent_calls.h"

#include <algorithm>
#include <bitset>
#include <fmt/format.h>
#include <map>

namespace orias::phases {

using isa::File;
using isa::Flag;
using ori::Instr;
using ori::VRegId;

namespace {

bool readsUniform(const Instr& instr) {
  return std::any_of(instr.ops().begin(), instr.ops().end(), [](const ori::Operand& o) {
    const bool isBindless = o.isConst() && o.reg != isa::Operand::kNoReg;
    return isBindless || (o.isReg() && !o.isZeroReg() && (o.file == File::UR || o.file == File::UP));
  });
}

/// Whether the memory that the instruction loads from may be modified or deallocated later.
bool mayChange(const Instr& instr) {
  return !accessOf(instr).isReadOnly;
}

bool isLoad(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  return row.has(Flag::Load) || (row.has(Flag::ConstLoad) && !row.has(Flag::Copy));
}

/// A load from a constant bank without an index.
bool hasKnownPlace(const Instr& instr) {
  return instr.op == isa::Op::LDC && (instr.op_(2).isNone() || instr.op_(2).isZeroReg());
}

} // namespace

Rematerializer::Rematerializer(ori::Function& function, const ori::DomTree& dominators, Costs costs)
    : function_(function), dominators_(dominators), costs_(costs),
      keepsUniform_(ori::mayRunDivergent(function) || hasFixedUniformLives(function)) {}

bool Rematerializer::isStable(VRegId reg) const {
  const unsigned width = function_.vreg(reg).width;
  std::bitset<256> isWritten; // no register is wider
  unsigned written = 0;
  bool isOnce = true;
  function_.forEachDef(reg, [&](ori::Ref def) {
    isOnce &= !def.owner->isGuarded();
    for (unsigned part = def->sub; part < std::min<unsigned>(def->sub + def->width, width); ++part) {
      isOnce &= !isWritten[part];
      isWritten[part] = true;
      ++written;
    }
  });
  return isOnce && written == width;
}

bool Rematerializer::isSettled(VRegId reg) const {
  if (isStable(reg)) return true;
  const unsigned width = function_.vreg(reg).width;
  const ori::Block* block = nullptr;
  bool isInOneBlock = true;
  std::vector<ori::Ref> defs;
  function_.forEachDef(reg, [&](ori::Ref def) {
    isInOneBlock &= block == nullptr || block == def.owner->block;
    block = def.owner->block;
    defs.push_back(def);
  });
  if (defs.empty() || !isInOneBlock) return false;
  const auto first = std::ranges::find_if(defs, [&](ori::Ref def) {
    return std::ranges::all_of(defs, [&](ori::Ref other) { return other == def || isAbove(*def.owner, *other.owner); });
  });
  return first != defs.end() && !first->owner->isGuarded() && (*first)->sub == 0 && (*first)->width >= width;
}

bool Rematerializer::isAbove(const Instr& a, const Instr& b) const {
  if (a.block != b.block) return dominators_.strictlyDominates(a.block->id, b.block->id);
  for (const Instr* at = b.prev; at; at = at->prev)
    if (at == &a) return true;
  return false;
}

bool Rematerializer::isDefinedAt(VRegId reg, const Instr& where) const {
  bool isDefined = true;
  function_.forEachDef(reg, [&](ori::Ref def) { isDefined &= isAbove(*def.owner, where); });
  return isDefined;
}

std::vector<Instr*> Rematerializer::definitions(VRegId value) const {
  std::vector<Instr*> defs;
  if (!isStable(value)) return defs;
  function_.forEachDef(value, [&](ori::Ref def) {
    if (std::find(defs.begin(), defs.end(), def.owner) == defs.end()) defs.push_back(def.owner);
  });
  std::sort(defs.begin(), defs.end(), [&](const Instr* a, const Instr* b) { return isAbove(*a, *b); });
  return defs;
}

const char* Rematerializer::whyNotAgain(const Instr& instr) const {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (instr.isGuarded()) return "it is guarded";
  if (row.has(Flag::Pseudo) && !row.has(Flag::Copy)) return "it is not a machine instruction";
  if (!isRemovable(instr)) return "it has a side effect";
  if (row.has(Flag::Volatile) && !readsFixedRegister(instr)) return "its result may change";
  for (const Flag flag : {Flag::Convergent, Flag::WarpWide})
    if (row.has(flag)) return "it depends on other lanes";
  for (const Flag flag : {Flag::Uniform, Flag::UniformGuard})
    if (row.has(flag)) return "it is a uniform instruction";
  if (row.pipe == isa::Pipe::Mma || row.pipe == isa::Pipe::Tex) return "it is a matrix or texture instruction";
  if (row.has(Flag::Load) && mayChange(instr)) return "its memory may be overwritten";
  if (isLoad(instr) && !costs_.mayLoad) return "it is a load";
  if (row.has(Flag::Load) && !costs_.mayLoadGeneric && accessOf(instr).space == MemoryAccess::Space::Generic)
    return "it loads through a generic address";
  if (keepsUniform_ && readsUniform(instr)) return "a uniform register cannot stay live";
  for (const ori::Operand& o : instr.ops()) {
    if (o.isLabel()) return "it names a block";
    if (o.isReg() && !o.isZeroReg() && !o.isVirtual()) return "it names a fixed register";
    if (o.isReg() && o.file == File::B) return "it names a barrier";
    if (o.isDef && o.isReg() && !o.isZeroReg() && o.file != File::R && o.file != File::P)
      return "its result is a uniform register";
  }
  return nullptr;
}

const char* Rematerializer::whyNot(VRegId value, std::span<Instr* const> defs) const {
  const ori::VReg& reg = function_.vreg(value);
  if (reg.file != File::R && reg.file != File::P) return "it is a uniform register";
  if (defs.empty()) return "MULTIDEF";
  for (const Instr* def : defs)
    if (const char* why = whyNotAgain(*def)) return why;
  return nullptr;
}

std::vector<VRegId> Rematerializer::operands(VRegId value, std::span<Instr* const> definitions) const {
  std::vector<VRegId> read, written{value};
  for (const Instr* def : definitions) {
    for (const ori::Operand& o : def->ops())
      if (!o.isDef && o.isVirtual() && std::find(written.begin(), written.end(), o.reg) == written.end() &&
          std::find(read.begin(), read.end(), o.reg) == read.end())
        read.push_back(o.reg);
    for (const ori::Operand& o : def->ops())
      if (o.isDef && o.isVirtual()) written.push_back(o.reg);
  }
  return read;
}

bool Rematerializer::readsSpecialRegister(const Instr& instr) const {
  return isa::desc(instr.op).has(Flag::Volatile) && readsFixedRegister(instr);
}

unsigned Rematerializer::cost(const Instr& instr) const {
  constexpr unsigned kSlowPipe = 4;
  const isa::InstrDesc& row = isa::desc(instr.op);
  unsigned cost = 1;
  if (isLoad(instr))
    cost = hasKnownPlace(instr) ? costs_.load / 2 : costs_.load;
  else if (readsSpecialRegister(instr))
    cost = costs_.special;
  else if (row.pipe == isa::Pipe::Fp64 || row.pipe == isa::Pipe::Xu)
    cost = kSlowPipe;
  const bool isWide = std::any_of(instr.ops().begin(), instr.ops().end(),
                                  [](const ori::Operand& o) { return o.isDef && o.isReg() && o.width > 1; });
  return isWide ? 2 * cost : cost;
}

unsigned Rematerializer::cost(VRegId value) const {
  unsigned sum = 0;
  for (const Instr* def : definitions(value))
    sum += cost(*def);
  return sum;
}

VRegId Rematerializer::clone(VRegId value, Instr* where, std::string_view prefix, std::vector<Instr*>* added) {
  const ori::VReg old = function_.vreg(value);
  const std::string name =
      old.name.empty() ? fmt::format("{}{}", prefix, value) : fmt::format("{}{}", prefix, old.name);
  const VRegId copy = function_.newVReg(old.file, old.width, name);
  function_.vreg(copy).align = old.align;
  function_.vreg(copy).divergent = old.divergent;
  const std::vector<Instr*> defs = definitions(value);
  std::map<VRegId, VRegId> renamed{{value, copy}};
  for (std::size_t i = 0; i < defs.size(); ++i) {
    const Instr& def = *defs[i];
    // A carry is needed by the next part; other results are discarded.
    const auto isReadAfter = [&](VRegId reg) {
      return std::any_of(defs.begin() + static_cast<std::ptrdiff_t>(i) + 1, defs.end(), [&](const Instr* later) {
        return std::any_of(later->ops().begin(), later->ops().end(),
                           [&](const ori::Operand& o) { return !o.isDef && o.isVirtual() && o.reg == reg; });
      });
    };
    std::vector<isa::Operand> operands;
    for (const ori::Operand& o : def.ops()) {
      isa::Operand operand = o.value();
      if (o.isVirtual() && o.isDef && !renamed.count(o.reg) && (o.file == File::R || isReadAfter(o.reg))) {
        const ori::VReg other = function_.vreg(o.reg);
        renamed[o.reg] = function_.newVReg(other.file, other.width);
      }
      if (const auto to = o.isVirtual() ? renamed.find(o.reg) : renamed.end(); to != renamed.end())
        operand.reg = to->second;
      else if (o.isVirtual() && o.isDef)
        operand = isa::Operand::zero(o.file, o.width);
      operands.push_back(operand);
    }
    Instr* again = function_.create(def.op, operands, def.source);
    again->mods = def.mods;
    again->mayContract = def.mayContract;
    function_.insertBefore(where, again);
    if (added) added->push_back(again);
  }
  return copy;
}

void replaceUses(ori::Function& function, Instr* instr, VRegId from, VRegId to) {
  const auto renamed = [&](isa::Operand operand) {
    operand.reg = to;
    return operand;
  };
  for (unsigned i = 0; i < instr->operandCount; ++i)
    if (const ori::Operand& o = instr->op_(i); !o.isDef && o.isVirtual() && o.reg == from)
      function.setOperand(instr, i, renamed(o.value()));
  if (instr->guard().isVirtual() && instr->guard().reg == from)
    function.setGuard(instr, renamed(instr->guard().value()));
}

unsigned removeDead(ori::Function& function, std::vector<VRegId> values, const std::function<void(Instr&)>& before) {
  unsigned removed = 0;
  while (!values.empty()) {
    const VRegId value = values.back();
    values.pop_back();
    if (function.hasUses(value)) continue;
    std::vector<Instr*> defs;
    function.forEachDef(value, [&](ori::Ref def) {
      if (std::find(defs.begin(), defs.end(), def.owner) == defs.end()) defs.push_back(def.owner);
    });
    for (Instr* def : defs) {
      const bool isWanted =
          !isRemovable(*def) || std::any_of(def->ops().begin(), def->ops().end(), [&](const ori::Operand& o) {
            return o.isDef && o.isReg() && !o.isZeroReg() && (!o.isVirtual() || function.hasUses(o.reg));
          });
      if (isWanted) continue;
      before(*def);
      for (const ori::Operand& o : def->refs())
        if (!o.isDef && o.isVirtual()) values.push_back(o.reg);
      function.erase(def);
      ++removed;
    }
  }
  return removed;
}

} // namespace orias::phases
