#include "encoder/isa/texture_table.h"
#include "tools/interpreter/access.h"
#include "tools/interpreter/handlers.h"

// mov, packing and unpacking of vectors, and queries and conversions of addresses.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::StateSpace;
using ptx::Type;

void mov(Thread& t, const Inst& i) {
  t.r[i.d] = t.r[i.a];
}

/// list: destinations, then as many sources.
void movVector(Thread& t, const Inst& i) {
  const std::size_t n = i.list.size() / 2;
  std::uint64_t values[8];
  for (std::size_t k = 0; k < n; ++k)
    values[k] = t.r[i.list[n + k]];
  for (std::size_t k = 0; k < n; ++k)
    t.r[i.list[k]] = values[k];
}

/// list: the parts, the low one first; width: bits of a part; d and e: the low and the high 64 bits.
void pack(Thread& t, const Inst& i) {
  std::uint64_t words[2] = {0, 0};
  const std::uint64_t mask = i.width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << i.width) - 1;
  unsigned at = 0;
  for (std::uint32_t slot : i.list) {
    words[at / 64] |= (t.r[slot] & mask) << at % 64;
    at += i.width;
  }
  t.r[i.e] = words[1];
  t.r[i.d] = words[0];
}
void unpack(Thread& t, const Inst& i) {
  const std::uint64_t words[2] = {t.r[i.a], t.r[i.b]};
  const std::uint64_t mask = i.width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << i.width) - 1;
  unsigned at = 0;
  for (std::uint32_t slot : i.list) {
    t.r[slot] = words[at / 64] >> at % 64 & mask;
    at += i.width;
  }
}

std::uint64_t windowOf(StateSpace space) {
  switch (space) {
  case StateSpace::Shared: return kSharedWindow;
  case StateSpace::Local: return kLocalWindow;
  case StateSpace::Param: return kParamWindow;
  default: return 0; // .global and .const addresses are generic addresses
  }
}

/// imm: the window.
void cvta(Thread& t, const Inst& i) {
  t.r[i.d] = t.r[i.a] + static_cast<std::uint64_t>(i.imm);
}

/// The address of a in the block with rank b, and the rank of the block that contains a. Generic addresses have both in
/// their low words.
void mapa(Thread& t, const Inst& i) {
  const std::uint64_t address = t.r[i.a];
  t.r[i.d] = (address & ~std::uint64_t{0xffffffff}) | inRank(t.r[i.b] & 0xff, address & 0xffffffff);
}
void getctarank(Thread& t, const Inst& i) {
  t.r[i.d] = t.r[i.a] >> kRankBit & 0xff;
}

/// option: in the shared memory of any block of the cluster.
constexpr std::uint16_t kInCluster = 1;
template <StateSpace Asked> void isspacep(Thread& t, const Inst& i) {
  const auto [space, address] = locate(Space::Generic, t.r[i.a]);
  bool is = false;
  if constexpr (Asked == StateSpace::Shared)
    is = space == Space::Cluster && (i.option == kInCluster || address >> kRankBit == t.cta->rank);
  if constexpr (Asked == StateSpace::Local) is = space == Space::Local;
  if constexpr (Asked == StateSpace::Param) is = space == Space::Param;
  // Constants are in global memory here; the variable determines the space.
  if constexpr (Asked == StateSpace::Global || Asked == StateSpace::Const) {
    const bool isConstant = t.machine->program.isConstant(address);
    is = space == Space::Global && isConstant == (Asked == StateSpace::Const);
  }
  put(t, i.d, is);
}

Handler isspacepHandler(StateSpace space) {
  switch (space) {
  case StateSpace::Shared: return &isspacep<StateSpace::Shared>;
  case StateSpace::Local: return &isspacep<StateSpace::Local>;
  case StateSpace::Param: return &isspacep<StateSpace::Param>;
  case StateSpace::Const: return &isspacep<StateSpace::Const>;
  case StateSpace::Global: return &isspacep<StateSpace::Global>;
  default: return nullptr;
  }
}

bool translateMov(FunctionTranslator& t) {
  const Form& f = t.form();
  const Type type = f.type();
  if (f.vectorSize() > 1) {
    const auto to = t.defs(0, type);
    const auto from = t.uses(1, type);
    std::vector<std::uint32_t> slots(to.begin(), to.end());
    slots.insert(slots.end(), from.begin(), from.end());
    if (to.size() != from.size()) return false;
    t.emit(&movVector).list = t.list(std::move(slots));
    return true;
  }
  if (t.isVector(0)) { // d = {…}
    const auto parts = t.defs(0, Type::B8);
    const auto whole = t.uses(1, type);
    Inst& inst = t.emit(&unpack);
    inst.list = parts;
    inst.width = static_cast<std::uint8_t>(bitWidth(type) / parts.size());
    inst.a = whole[0];
    inst.b = whole.size() > 1 ? whole[1] : kSink;
    return true;
  }
  if (t.isVector(1)) {
    const auto whole = t.defs(0, type);
    const unsigned count = t.operand(1).groupCount();
    const Type part = bitWidth(type) / count == 64   ? Type::B64
                      : bitWidth(type) / count == 32 ? Type::B32
                      : bitWidth(type) / count == 16 ? Type::B16
                                                     : Type::B8;
    const auto parts = t.uses(1, part);
    Inst& inst = t.emit(&pack);
    inst.list = parts;
    inst.width = static_cast<std::uint8_t>(bitWidth(type) / parts.size());
    inst.d = whole[0];
    inst.e = whole.size() > 1 ? whole[1] : kSink;
    return true;
  }
  if (bitWidth(type) == 128) {
    const auto to = t.defs(0, type);
    const auto from = t.uses(1, type);
    t.emit(&movVector).list = t.list({to[0], to[1], from[0], from[1]});
    return true;
  }
  return emitWith(t, &mov, {type});
}

bool translateCvta(FunctionTranslator& t) {
  const Form& f = t.form();
  const bool to = f.has(Mod::To);
  const std::uint32_t from = t.use(1, f.type());
  std::uint64_t window = windowOf(f.space());
  // The address of a parameter of a function is one in its stack.
  if (f.space() == StateSpace::Param && !t.function().isEntry) window = kLocalWindow;
  Inst& inst = t.emit(&cvta);
  inst.d = t.def(0);
  inst.a = from;
  inst.imm = static_cast<std::int64_t>(to ? 0 - window : window);
  return true;
}

} // namespace

bool translateMove(FunctionTranslator& t) {
  const Form& f = t.form();
  switch (f.op) {
  case Op::Mov: return translateMov(t);
  case Op::Cvta: return translateCvta(t);
  case Op::Istypep: {
    Inst& inst = t.emit([](Thread& thread, const Inst& i) {
      put(thread, i.d, (thread.r[i.a] >> 32 & static_cast<std::uint64_t>(i.imm)) != 0);
    });
    inst.a = t.use(1, Type::B64);
    inst.d = t.def(0);
    inst.imm = f.has(Mod::Texref)       ? isa::kTextureHandle
               : f.has(Mod::Samplerref) ? isa::kSamplerHandle
                                        : std::int64_t{isa::kSurfaceHandle};
    return true;
  }
  case Op::Isspacep: {
    const std::uint32_t address = t.use(1, Type::B64);
    Inst& inst = t.emit(isspacepHandler(f.space()));
    inst.d = t.def(0);
    inst.a = address;
    inst.option = f.get(ptx::Slot::Space) == ptx::Mod::SharedCluster ? kInCluster : 0;
    return true;
  }
  case Op::Mapa: return emitWith(t, &mapa, {f.type(), Type::U32});
  case Op::Getctarank: return emitWith(t, &getctarank, {f.type()});
  default: return false;
  }
}

} // namespace orias::interp
