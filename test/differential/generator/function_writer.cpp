#include "test/differential/generator/function_writer.h"

#include "support/check.h"
#include "test/differential/generator/instruction_table.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace orias::generator {

FunctionWriter::FunctionWriter(std::uint64_t seed, const Profile& profile, ModuleText& module, bool isKernel)
    : random_(seed), profile_(profile), module_(module), isKernel_(isKernel) {
  contexts_.emplace_back();
}

std::string FunctionWriter::fresh(Kind kind) {
  return fmt::format("{}{}", info(kind).prefix, registers_[static_cast<std::size_t>(kind)]++);
}

Value& FunctionWriter::addValue(Kind kind, std::string name, bool uniform, bool fixed) {
  return values_.of(kind).emplace_back(Value{std::move(name), uniform, fixed});
}

std::string FunctionWriter::declarations() const {
  std::string text;
  for (Kind kind : kKinds)
    if (unsigned count = registers_[static_cast<std::size_t>(kind)])
      text += fmt::format("  .reg .{} {}<{}>;\n", info(kind).type, info(kind).prefix, count);
  return text;
}

// ---- Operands

std::string FunctionWriter::readRegister(Kind kind) {
  const std::vector<Value>& pool = values_.of(kind);
  ORIAS_CHECK(!pool.empty());
  // Recent values are read more often, so that values depend on each other.
  std::uint32_t size = static_cast<std::uint32_t>(pool.size());
  std::uint32_t index = std::max(random_.below(size), random_.below(size));
  readUniform_ &= pool[index].uniform;
  return pool[index].name;
}

std::string FunctionWriter::literal(Kind kind) {
  constexpr std::int64_t kSmall[] = {0,  1,  -1, 2,  3,  4,  5,  7,   8,   10,  15, 16,
                                     17, 31, 32, 33, 63, 64, 65, 100, 255, 256, -2, -7};
  constexpr std::uint32_t kWords[] = {0x7fffffff, 0x80000000, 0xffff, 0xff00ff, 0x10000, 0x55555555, 0xfffffff0};
  constexpr std::uint32_t kFloats[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x40000000, 0x3f000000,
                                       0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x807fffff, 0x00800000,
                                       0x7f7fffff, 0x4b000000, 0x3dcccccd, 0xc2c80000};
  switch (kind) {
  case Kind::B16:
    return random_.percent(60) ? fmt::format("{}", random_.pick(kSmall))
                               : fmt::format("{}", static_cast<std::int16_t>(random_.next()));
  case Kind::B32:
    if (random_.percent(60)) return fmt::format("{}", random_.pick(kSmall));
    return fmt::format("{:#x}",
                       random_.percent(50) ? random_.pick(kWords) : static_cast<std::uint32_t>(random_.next()));
  case Kind::B64:
    if (random_.percent(60)) return fmt::format("{}", random_.pick(kSmall));
    if (random_.percent(50)) return fmt::format("{:#x}", random_.pick(kWords));
    return fmt::format("{:#x}", random_.next());
  case Kind::F32:
    return fmt::format("0f{:08X}",
                       random_.percent(70) ? random_.pick(kFloats) : static_cast<std::uint32_t>(random_.next()));
  case Kind::F64: {
    // An extended 32-bit float, or any bits.
    if (random_.percent(70))
      return fmt::format("0d{:016X}",
                         std::bit_cast<std::uint64_t>(double{std::bit_cast<float>(random_.pick(kFloats))}));
    return fmt::format("0d{:016X}", random_.next());
  }
  case Kind::Pred: break;
  }
  ORIAS_CHECK(false);
  return {};
}

std::string FunctionWriter::read(Kind kind) {
  if (kind == Kind::Pred || !random_.percent(15)) return readRegister(kind);
  return literal(kind);
}

std::string FunctionWriter::readPredicate(bool mayNegate) {
  std::string name = readRegister(Kind::Pred);
  return mayNegate && random_.percent(40) ? "!" + name : name;
}

std::string FunctionWriter::uniformPredicate() {
  std::vector<std::string> names;
  for (const Value& value : values_.of(Kind::Pred))
    if (value.uniform) names.push_back(value.name);
  return names.empty() ? std::string() : random_.pick(names);
}

std::string FunctionWriter::divisor(Kind kind) {
  if (random_.percent(40)) {
    constexpr int kDivisors[] = {1,   2,   3,    5,    7,     8,  10, 16, 60, 100, 255,
                                 256, 641, 1000, 4096, 10007, -1, -2, -3, -7, -16};
    return fmt::format("{}", random_.pick(kDivisors));
  }
  std::string value = readRegister(kind), odd = fresh(kind);
  emit("or.{} {}, {}, {}", info(kind).type, odd, value, random_.percent(80) ? 1 : 2);
  return odd;
}

std::string FunctionWriter::bounded(unsigned most) {
  if (random_.percent(40))
    return fmt::format("{}", random_.below(random_.percent(80) ? std::min(most, 32u) + 1 : most + 1));
  std::string value = readRegister(Kind::B32), low = fresh(Kind::B32);
  emit("and.b32 {}, {}, {}", low, value, most);
  return low;
}

std::string FunctionWriter::selector() {
  if (random_.percent(20)) return random_.percent(50) ? "0" : "-1";
  std::string value = readRegister(Kind::B32), low = fresh(Kind::B32), made = fresh(Kind::B32);
  emit("max.s32 {}, {}, -2139095040", low, value);
  emit("min.s32 {}, {}, 2139095040", made, low);
  return made;
}

std::string FunctionWriter::notLowest(Kind kind, std::int64_t least) {
  std::string value = readRegister(kind), made = fresh(kind);
  emit("max.s{} {}, {}, {}", kind == Kind::B16 ? 16 : kind == Kind::B32 ? 32 : 64, made, value, least);
  return made;
}

std::string FunctionWriter::ofThread() {
  std::string value = readRegister(Kind::B32), lane = fresh(Kind::B32), made = fresh(Kind::B32);
  emit("mov.u32 {}, %laneid", lane);
  emit("xor.b32 {}, {}, {}", made, value, lane);
  readUniform_ = false;
  return made;
}

std::string FunctionWriter::withKnownSign(Kind kind) {
  const std::string bits = canonicalBits(kind, readRegister(kind));
  std::string made = fresh(kind);
  emit("mov.{} {}, {}", info(kind == Kind::F64 ? Kind::B64 : Kind::B32).type, made, bits);
  return made;
}

std::string FunctionWriter::operand(char letter) {
  switch (letter) {
  case 'h': return read(Kind::B16);
  case 'r': return read(Kind::B32);
  case 'l': return read(Kind::B64);
  case 'f': return read(Kind::F32);
  case 'd': return read(Kind::F64);
  case 'p': return readPredicate(false);
  case 'q': return readPredicate(true);
  case 'c':
    return random_.percent(40) ? fmt::format("{}", random_.below(random_.percent(80) ? 33 : 256))
                               : readRegister(Kind::B32);
  case 'b': return bounded(255);
  case 's': return bounded(31);
  case 't': return selector();
  case 'T': return ofThread();
  case 'A': return notLowest(Kind::B16, -0x7fff);
  case 'B': return notLowest(Kind::B32, -0x7fffffff);
  case 'C': return notLowest(Kind::B64, -0x7fffffffffffffff);
  case 'F': return withKnownSign(Kind::F32);
  case 'D': return withKnownSign(Kind::F64);
  case 'H': return readRegister(Kind::B16);
  case 'R': return readRegister(Kind::B32);
  case 'K': return divisor(Kind::B16);
  case 'N': return divisor(Kind::B32);
  case 'M': return divisor(Kind::B64);
  case 'x': return fmt::format("{:#04x}", random_.below(256));
  }
  ORIAS_CHECK(false);
  return {};
}

std::string FunctionWriter::overwritable(Kind kind) {
  std::vector<std::string> names;
  const bool uniformWrite = readUniform_ && context().blockUniform;
  for (const Value& value : values_.of(kind))
    if (!value.fixed && (!value.uniform || uniformWrite)) names.push_back(value.name);
  return names.empty() ? std::string() : random_.pick(names);
}

std::string FunctionWriter::result(Kind kind) {
  std::string name;
  if (random_.percent(30)) name = overwritable(kind);
  if (name.empty()) {
    name = fresh(kind);
    addValue(kind, name, readUniform_ && context().blockUniform);
  }
  readUniform_ = true;
  return name;
}

std::pair<std::string, std::string> FunctionWriter::guard(Kind kind) {
  if (!random_.percent(12)) return {};
  std::string predicate = readPredicate(true);
  std::string name = overwritable(kind);
  if (name.empty()) return {};
  return {"@" + predicate + " ", name};
}

void FunctionWriter::tableInstruction(Statement group) {
  constexpr std::string_view kLetters = "hrlfdp";
  const Row& row = random_.pick(random_.pick(lines(group)));
  readUniform_ = true;
  std::string operands;
  for (char letter : row.operands.substr(2))
    operands += ", " + operand(letter);
  const bool isPair = row.operands[0] == 'P';
  const Kind kind = isPair ? Kind::Pred : kKinds[kLetters.find(row.operands[0])];
  if (isPair && random_.percent(15)) {
    // Both results are new registers, because the instruction that writes the second one may read an old one.
    std::string first = fresh(kind), second = fresh(kind);
    const bool uniform = readUniform_ && context().blockUniform;
    addValue(kind, first, uniform);
    addValue(kind, second, uniform);
    emit("{} {}|{}{}", row.opcode, first, second, operands);
    return;
  }
  std::string prefix, name;
  if (mayBeGuarded(row)) std::tie(prefix, name) = guard(kind);
  if (name.empty()) name = result(kind);
  emit("{}{} {}{}", prefix, row.opcode, name, operands);
  if (group == Statement::Half) canonicalHalves(row, name);
}

// ---- Blocks and statements

Context FunctionWriter::inner() const {
  Context made = context();
  ++made.depth;
  return made;
}

void FunctionWriter::forgetThreads() {
  for (Context& context : contexts_) {
    context.blockUniform = false;
    context.mask.clear();
  }
}

void FunctionWriter::block(const Context& inner, unsigned statements) {
  const Values::Mark mark = values_.mark();
  contexts_.push_back(inner);
  for (unsigned i = 0; i < statements; ++i)
    statement();
  // The last values computed here must be visible outside.
  if (random_.percent(80)) fold();
  contexts_.pop_back();
  values_.release(mark);
}

bool FunctionWriter::possible(Statement statement) const {
  const Context& at = context();
  const bool mayNest = at.depth < profile_.depth && at.repetitions <= 24;
  switch (statement) {
  case Statement::If:
  case Statement::Switch:
  case Statement::UniformLoop:
  case Statement::DivergentLoop:
  case Statement::Goto:
  case Statement::TwoEntryLoop: return mayNest;
  case Statement::Pointer:
  case Statement::Frame: return isKernel_;
  case Statement::PointerCall:
  case Statement::Call: return isKernel_ && at.repetitions <= 24;
  case Statement::Exit: return isKernel_ && at.mayExit;
  case Statement::Exchange:
  case Statement::Lock:
  case Statement::SharedAtomic:
  case Statement::TensorAccess: return isKernel_ && at.blockUniform;
  case Statement::ClusterExchange:
  case Statement::ClusterAtomic:
  case Statement::TensorUnit: return isKernel_ && at.depth == 0;
  case Statement::Shuffle:
  case Statement::Vote: return isKernel_ && !at.mask.empty();
  case Statement::Store:
  case Statement::LoadInput:
  case Statement::LoadTable:
  case Statement::Scratch:
  case Statement::Local:
  case Statement::OwnShared:
  case Statement::GlobalAtomic:
  case Statement::OwnAtomic: return isKernel_;
  default: return true;
  }
}

void FunctionWriter::statement() {
  readUniform_ = true;
  if (!context().breakLabel.empty() && random_.percent(8)) return leaveLoop();
  unsigned total = 0;
  for (std::size_t i = 0; i < kStatements; ++i)
    if (possible(static_cast<Statement>(i))) total += profile_.weights[i];
  unsigned choice = random_.below(total);
  for (std::size_t i = 0; i < kStatements; ++i) {
    if (!possible(static_cast<Statement>(i))) continue;
    if (choice < profile_.weights[i]) return write(static_cast<Statement>(i));
    choice -= profile_.weights[i];
  }
}

void FunctionWriter::write(Statement statement) {
  switch (statement) {
  case Statement::Integer16:
  case Statement::Integer32:
  case Statement::Integer64:
  case Statement::Unusual:
  case Statement::IntegerCast:
  case Statement::Float32:
  case Statement::Float64:
  case Statement::FloatCast:
  case Statement::Half:
  case Statement::HalfCast:
  case Statement::Miscompiled:
  case Statement::Predicate: return tableInstruction(statement);
  case Statement::Carry: return carryChain();
  case Statement::Pack: return pack();
  case Statement::Bits: return bits();
  case Statement::Fold: return fold();
  case Statement::Store: return store();
  case Statement::If: return branch();
  case Statement::Switch: return switchStatement();
  case Statement::UniformLoop: return uniformLoop();
  case Statement::DivergentLoop: return divergentLoop();
  case Statement::Goto: return gotoStatement();
  case Statement::TwoEntryLoop: return twoEntryLoop();
  case Statement::Exit: return exitStatement();
  case Statement::Call: return call();
  case Statement::LoadInput: return loadInput();
  case Statement::LoadTable: return loadTable();
  case Statement::Scratch:
  case Statement::Local:
  case Statement::OwnShared: return ownMemory(statement);
  case Statement::Exchange: return exchange();
  case Statement::SharedAtomic: return sharedAtomic();
  case Statement::Lock: return lock();
  case Statement::GlobalAtomic: return globalAtomic();
  case Statement::OwnAtomic: return ownAtomic();
  case Statement::Shuffle: return shuffle();
  case Statement::Vote: return vote();
  case Statement::ClusterExchange: return clusterExchange();
  case Statement::ClusterAtomic: return clusterAtomic();
  case Statement::TensorAccess: return tensorAccess();
  case Statement::TensorUnit: return tensorUnit();
  case Statement::BigInteger: return bigInteger();
  case Statement::Pointer: return pointerStatement();
  case Statement::Frame: return frameStatement();
  case Statement::PointerCall: return pointerCall();
  case Statement::Count: break;
  }
  ORIAS_CHECK(false);
}

} // namespace orias::generator
