#include "test/differential/generator/function_writer.h"
#include "test/differential/generator/layout.h"

namespace orias::generator {

namespace {

/// One way to move some bytes: `ld.global.v2.u16 {%h1, %h2}`.
struct Access {
  unsigned bytes;
  unsigned lanes; ///< elements of the vector
  const char* type;
  Kind kind;
};

constexpr Access kLoads[] = {
    {1, 1, "u8", Kind::B16},   {1, 1, "s8", Kind::B16},   {1, 1, "u8", Kind::B32},   {1, 1, "s8", Kind::B32},
    {1, 1, "s8", Kind::B64},   {1, 1, "u8", Kind::B64},   {2, 1, "u16", Kind::B16},  {2, 1, "b16", Kind::B16},
    {2, 1, "s16", Kind::B32},  {2, 1, "u16", Kind::B32},  {2, 1, "s16", Kind::B64},  {2, 2, "u8", Kind::B16},
    {4, 1, "u32", Kind::B32},  {4, 1, "b32", Kind::B32},  {4, 1, "s32", Kind::B64},  {4, 1, "u32", Kind::B64},
    {4, 1, "f32", Kind::F32},  {4, 2, "u16", Kind::B16},  {4, 2, "s16", Kind::B32},  {4, 4, "u8", Kind::B16},
    {8, 1, "u64", Kind::B64},  {8, 1, "b64", Kind::B64},  {8, 1, "f64", Kind::F64},  {8, 2, "u32", Kind::B32},
    {8, 2, "f32", Kind::F32},  {8, 4, "u16", Kind::B16},  {16, 2, "u64", Kind::B64}, {16, 2, "f64", Kind::F64},
    {16, 4, "u32", Kind::B32}, {16, 4, "f32", Kind::F32}, {16, 4, "b32", Kind::B32},
};
constexpr Access kStores[] = {
    {1, 1, "u8", Kind::B16},   {1, 1, "b8", Kind::B32},   {1, 1, "u8", Kind::B64},   {2, 1, "b16", Kind::B16},
    {2, 1, "u16", Kind::B32},  {2, 1, "u16", Kind::B64},  {2, 2, "u8", Kind::B16},   {4, 1, "u32", Kind::B32},
    {4, 1, "b32", Kind::B32},  {4, 1, "u32", Kind::B64},  {4, 1, "f32", Kind::F32},  {4, 2, "u16", Kind::B16},
    {4, 4, "u8", Kind::B32},   {8, 1, "b64", Kind::B64},  {8, 1, "f64", Kind::F64},  {8, 2, "u32", Kind::B32},
    {8, 2, "f32", Kind::F32},  {8, 4, "u16", Kind::B16},  {16, 2, "b64", Kind::B64}, {16, 2, "f64", Kind::F64},
    {16, 4, "b32", Kind::B32}, {16, 4, "f32", Kind::F32},
};

template <std::size_t N> const Access& choose(Random& random, const Access (&accesses)[N], unsigned bytes) {
  std::vector<const Access*> fitting;
  for (const Access& access : accesses)
    if (access.bytes == bytes) fitting.push_back(&access);
  return *random.pick(fitting);
}

std::string vectorText(const std::vector<std::string>& parts) {
  if (parts.size() == 1) return parts.front();
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "{" : ", ") + part;
  return text + "}";
}

std::string vectorSuffix(unsigned lanes) {
  return lanes == 1 ? std::string() : fmt::format(".v{}", lanes);
}

} // namespace

void FunctionWriter::storeTo(const std::string& space, const std::string& address, unsigned bytes) {
  const Access& access = choose(random_, kStores, bytes);
  std::vector<std::string> parts;
  for (unsigned i = 0; i < access.lanes; ++i) {
    std::string value = readRegister(access.kind);
    if (access.kind == Kind::F32 || access.kind == Kind::F64) {
      std::string bits = canonicalBits(access.kind, value);
      value = fresh(access.kind);
      emit("mov.{} {}, {}", access.kind == Kind::F32 ? "b32" : "b64", value, bits);
    }
    parts.push_back(value);
  }
  emit("st{}{}.{} [{}], {}", space, vectorSuffix(access.lanes), access.type, address, vectorText(parts));
}

void FunctionWriter::loadFrom(const std::string& space, const std::string& address, unsigned bytes, bool readOnly) {
  const Access& access = choose(random_, kLoads, bytes);
  std::vector<std::string> parts;
  for (unsigned i = 0; i < access.lanes; ++i)
    parts.push_back(fresh(access.kind));
  if (access.lanes == 1) {
    readUniform_ = false;
    parts.front() = result(access.kind);
  } else {
    for (const std::string& part : parts)
      addValue(access.kind, part, false);
  }
  constexpr const char* kOperators[] = {".ca", ".cg", ".cs", ".nc", ".volatile"};
  std::string cache;
  if (space == ".global" && random_.percent(25)) {
    cache = random_.pick(kOperators);
    if (!readOnly && cache == ".nc") cache.clear();
  }
  const bool isVolatile = cache == ".volatile";
  emit("ld{}{}{}{}.{} {}, [{}]", isVolatile ? cache : "", space, isVolatile ? "" : cache, vectorSuffix(access.lanes),
       access.type, vectorText(parts), address);
}

/// Stores to an offset in the thread's result record that no other statement writes.
void FunctionWriter::store() {
  constexpr unsigned kWidths[] = {1, 2, 4, 4, 8, 8, 16};
  const unsigned bytes = random_.pick(kWidths);
  const unsigned offset = (module_.recordBytes + bytes - 1) / bytes * bytes;
  if (offset + bytes > kMaxRecord) return fold();
  module_.recordBytes = offset + bytes;
  storeTo(random_.percent(80) ? ".global" : "", fmt::format("%out+{}", offset), bytes);
}

/// Stores the bits of a value to a new offset.
void FunctionWriter::storeValue(Kind kind, const std::string& value) {
  const unsigned bytes = kind == Kind::Pred ? 4 : info(kind).bytes;
  const unsigned offset = (module_.recordBytes + bytes - 1) / bytes * bytes;
  if (offset + bytes > kMaxRecord) return;
  module_.recordBytes = offset + bytes;
  std::string bits = value;
  if (kind == Kind::F32 || kind == Kind::F64) bits = canonicalBits(kind, value);
  if (kind == Kind::Pred) emit("selp.b32 {}, 1, 0, {}", bits = fresh(Kind::B32), value);
  emit("st.global.b{} [%out+{}], {}", 8 * bytes, offset, bits);
}

void FunctionWriter::loadInput() {
  const unsigned choice = random_.below(10);
  const bool isFloat = choice >= 5 && choice < 8, isDouble = choice >= 8;
  constexpr unsigned kWidths[] = {1, 2, 4, 4, 8, 16};
  const unsigned bytes = isFloat ? 4 : isDouble ? 8 : random_.pick(kWidths);
  const unsigned size = isFloat ? kFloatInputs * 4 : isDouble ? kDoubleInputs * 8 : kInputBytes;
  const char* base = isFloat ? "%inf" : isDouble ? "%ind" : "%in";
  std::string address;
  if (random_.percent(30)) {
    address = fmt::format("{}+{}", base, random_.below(size / bytes) * bytes);
  } else {
    std::string index = fresh(Kind::B32), pointer = fresh(Kind::B64);
    emit("and.b32 {}, {}, {}", index, readRegister(Kind::B32), size / bytes - 1);
    emit("mad.wide.u32 {}, {}, {}, {}", pointer, index, bytes, base);
    address = pointer;
  }
  if (!isFloat && !isDouble) return loadFrom(random_.percent(85) ? ".global" : "", address, bytes, true);
  readUniform_ = false;
  const Kind kind = isFloat ? Kind::F32 : Kind::F64;
  emit("ld.global{}.{} {}, [{}]", random_.percent(30) ? ".nc" : "", info(kind).type, result(kind), address);
}

void FunctionWriter::loadTable() {
  const bool isConst = random_.percent(60);
  const std::string name = (isConst ? "ct" : "gt") + module_.suffix, space = isConst ? ".const" : ".global";
  constexpr unsigned kWidths[] = {1, 2, 4, 4, 8, 16};
  const unsigned bytes = random_.pick(kWidths), count = kTableEntries * 4 / bytes;
  if (random_.percent(40))
    return loadFrom(space, fmt::format("{}+{}", name, random_.below(count) * bytes), bytes, true);
  std::string index = fresh(Kind::B32), pointer = fresh(Kind::B64), base = fresh(Kind::B64);
  emit("and.b32 {}, {}, {}", index, readRegister(Kind::B32), count - 1);
  emit("mov.u64 {}, {}", base, name);
  const bool generic = random_.percent(25);
  if (generic) emit("cvta{}.u64 {}, {}", space, base, base);
  emit("mad.wide.u32 {}, {}, {}, {}", pointer, index, bytes, base);
  loadFrom(generic ? "" : space, pointer, bytes, true);
}

void FunctionWriter::ownMemory(Statement where) {
  constexpr unsigned kWidths[] = {1, 2, 4, 4, 8, 8, 16};
  const unsigned bytes = random_.pick(kWidths);
  const bool generic = random_.percent(20);
  std::string space, base;
  bool narrow = false;
  switch (where) {
  case Statement::Scratch: space = ".global", base = "%scr"; break;
  case Statement::Local:
    module_.usesLocal = true;
    space = ".local", base = generic ? "%locg" : "%loc";
    break;
  default:
    module_.usesShared = true;
    narrow = !generic;
    space = ".shared", base = generic ? "%shog" : "%sho";
    break;
  }
  std::string address;
  if (random_.percent(50)) {
    address = fmt::format("{}+{}", base, random_.below(kOwnBytes / bytes) * bytes);
  } else {
    std::string offset = fresh(Kind::B32);
    emit("and.b32 {}, {}, {}", offset, readRegister(Kind::B32), (kOwnBytes - 1) & ~(bytes - 1));
    if (narrow) {
      emit("add.u32 {}, {}, {}", offset, offset, base);
      address = offset;
    } else {
      address = fresh(Kind::B64);
      emit("cvt.u64.u32 {}, {}", address, offset);
      emit("add.u64 {}, {}, {}", address, address, base);
    }
  }
  if (generic) space.clear();
  if (random_.percent(50))
    storeTo(space, address, bytes);
  else
    loadFrom(space, address, bytes, false);
}

// Every thread writes its slot; then a barrier; then every thread reads the slot of another one; then a barrier.
void FunctionWriter::exchange() {
  constexpr const char* kBarriers[] = {"bar.sync 0", "bar.sync 0", "barrier.sync 0", "barrier.sync.aligned 1",
                                       "bar.sync 2"};
  const auto barrier = [&] {
    if (random_.percent(15))
      emit("bar.sync 3, {}", (module_.threads + 31) / 32 * 32);
    else
      emit("{}", random_.pick(kBarriers));
  };
  if (random_.percent(20)) {
    std::string vote = readPredicate(true);
    const unsigned form = random_.below(3);
    const Kind kind = form == 0 ? Kind::B32 : Kind::Pred;
    std::string made = fresh(kind);
    emit("{} {}, 0, {}",
         form == 0   ? "bar.red.popc.u32"
         : form == 1 ? "bar.red.and.pred"
                     : "bar.red.or.pred",
         made, vote);
    addValue(kind, made, true);
    return;
  }
  module_.usesShared = true;
  constexpr unsigned kWidths[] = {2, 4, 4, 8, 16};
  const unsigned bytes = random_.pick(kWidths);
  storeTo(".shared", "%shx", bytes);
  if (bytes >= 4 && random_.percent(30)) return readNeighbor();
  barrier();
  std::string other = fresh(Kind::B32), address = fresh(Kind::B32);
  if (random_.percent(50)) {
    emit("add.u32 {}, %ltid, {}", other, random_.between(1, module_.threads));
    emit("rem.u32 {}, {}, {}", other, other, module_.threads);
  } else {
    emit("rem.u32 {}, {}, {}", other, readRegister(Kind::B32), module_.threads);
  }
  emit("mov.u32 {}, shx{}", address, module_.suffix);
  emit("mad.lo.u32 {}, {}, {}, {}", address, other, kExchangeBytes, address);
  loadFrom(".shared", address, bytes, false);
  barrier();
}

/// Reads the value that the next lane of the warp has stored, at a constant distance from the thread's own slot,
/// between barriers of the warp. A shuffle may directly follow the first one. The last lane gets 0.
void FunctionWriter::readNeighbor() {
  const std::string mask = context().mask;
  std::string value = fresh(Kind::B32), isThere = fresh(Kind::Pred), lane = fresh(Kind::B32);
  emit("and.b32 {}, %ltid, 31", lane);
  emit("setp.ne.u32 {}, {}, 31", isThere, lane);
  emit("setp.lt.and.u32 {}, %ltid, {}, {}", isThere, module_.threads - 1, isThere);
  emit("mov.u32 {}, 0", value);
  emit("bar.warp.sync {}", mask);
  if (random_.percent(50)) shuffle();
  emit("@{} ld.shared.b32 {}, [%shx+{}]", isThere, value, kExchangeBytes);
  emit("bar.warp.sync {}", mask);
  addValue(Kind::B32, value, false);
}

} // namespace orias::generator
