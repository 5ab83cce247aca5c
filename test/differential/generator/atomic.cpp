#include "test/differential/generator/function_writer.h"
#include "test/differential/generator/layout.h"

namespace orias::generator {

namespace {

// Operations whose order does not affect the memory.
constexpr AtomicForm kCommutative[] = {
    {"add.u32", Kind::B32}, {"add.s32", Kind::B32}, {"min.u32", Kind::B32}, {"max.u32", Kind::B32},
    {"min.s32", Kind::B32}, {"max.s32", Kind::B32}, {"and.b32", Kind::B32}, {"or.b32", Kind::B32},
    {"xor.b32", Kind::B32}, {"add.u64", Kind::B64}, {"min.u64", Kind::B64}, {"max.u64", Kind::B64},
    {"min.s64", Kind::B64}, {"max.s64", Kind::B64}, {"and.b64", Kind::B64}, {"or.b64", Kind::B64},
    {"xor.b64", Kind::B64}, {"add.f32", Kind::F32}, {"inc.u32", Kind::B32}, {"dec.u32", Kind::B32},
};

// Operations on memory that no other thread accesses: results may be used.
constexpr AtomicForm kOwn[] = {
    {"add.u32", Kind::B32}, {"exch.b32", Kind::B32}, {"cas.b32", Kind::B32},  {"min.s32", Kind::B32},
    {"max.u32", Kind::B32}, {"inc.u32", Kind::B32},  {"dec.u32", Kind::B32},  {"and.b32", Kind::B32},
    {"xor.b32", Kind::B32}, {"add.u64", Kind::B64},  {"exch.b64", Kind::B64}, {"cas.b64", Kind::B64},
    {"min.s64", Kind::B64}, {"or.b64", Kind::B64},
};

bool isBounded(std::string_view operation) {
  return operation.starts_with("inc") || operation.starts_with("dec");
}

} // namespace

/// `red`, or `atom` without use of its result, on an address that only this statement accesses.
void FunctionWriter::commutativeAtomic(const char* space, const std::string& address, std::string_view operation,
                                       Kind kind) {
  std::string value;
  if (kind == Kind::F32) {
    // Sums of small integers are exact in every order.
    std::string small = fresh(Kind::B32);
    emit("and.b32 {}, {}, 255", small, readRegister(Kind::B32));
    emit("cvt.rn.f32.u32 {}, {}", value = fresh(Kind::F32), small);
  } else if (isBounded(operation)) {
    value = fmt::format("{}", random_.between(1, 40)); // the same bound for all
  } else {
    value = readRegister(kind);
  }
  std::string prefix = random_.percent(25) ? "@" + readPredicate(true) + " " : "";
  if (random_.percent(70))
    emit("{}red{}.{} [{}], {}", prefix, space, operation, address, value);
  else
    emit("{}atom{}.{} {}, [{}], {}", prefix, space, operation, fresh(kind), address, value);
}

const AtomicForm& FunctionWriter::commutativeForm() {
  return random_.pick(kCommutative);
}

void FunctionWriter::globalAtomic() {
  if (module_.accumulatorBytes + 8 > kMaxAccumulators) return fold();
  const AtomicForm& form = random_.pick(kCommutative);
  const unsigned offset = module_.accumulatorBytes;
  module_.accumulatorBytes += 8;
  commutativeAtomic(random_.percent(80) ? ".global" : "", fmt::format("%acc+{}", offset), form.operation, form.kind);
}

void FunctionWriter::sharedAtomic() {
  module_.usesShared = true;
  const AtomicForm& form = random_.pick(kCommutative);
  const std::string name = "sha" + module_.suffix;
  const bool isWide = form.kind == Kind::B64;
  std::string isFirst = fresh(Kind::Pred);
  emit("setp.eq.u32 {}, %ltid, 0", isFirst);
  emit("bar.sync 0");
  std::string initial = form.kind == Kind::F32 ? "0" : readRegister(isWide ? Kind::B64 : Kind::B32);
  // Only the first thread's value counts.
  emit("@{} st.shared.b{} [{}], {}", isFirst, isWide ? 64 : 32, name, initial);
  emit("bar.sync 0");
  commutativeAtomic(".shared", name, form.operation, form.kind);
  emit("bar.sync 0");
  std::string sum = fresh(form.kind);
  emit("ld.shared.{} {}, [{}]", info(form.kind).type, sum, name);
  addValue(form.kind, sum, true);
}

/// Some threads add to a sum while they hold the lock of the block. No barrier follows: parts of a warp execute the
/// code after it separately.
void FunctionWriter::lock() {
  if (module_.accumulatorBytes + 8 > kMaxAccumulators) return fold();
  module_.usesShared = true;
  const unsigned offset = module_.accumulatorBytes;
  module_.accumulatorBytes += 8;
  const std::string name = "sha" + module_.suffix;
  const std::string isFirst = fresh(Kind::Pred), found = fresh(Kind::B32), isMine = fresh(Kind::Pred);
  const std::string again = newLabel(), next = newLabel(), end = newLabel();
  emit("setp.eq.u32 {}, %ltid, 0", isFirst);
  emit("bar.sync 0");
  emit("@{} st.shared.b32 [{}], 0", isFirst, name);
  emit("bar.sync 0");
  if (random_.percent(60)) emit("@{} bra {}", readPredicate(true), end);
  const auto take = [&] {
    if (random_.percent(70))
      emit("atom.shared.cas.b32 {}, [{}], 0, 1", found, name);
    else
      emit("atom.shared.exch.b32 {}, [{}], 1", found, name);
    emit("setp.eq.u32 {}, {}, 0", isMine, found);
  };
  const auto use = [&] {
    commutativeAtomic(".global", fmt::format("%acc+{}", offset), "add.u32", Kind::B32);
    emit("membar.cta");
    emit("atom.shared.exch.b32 {}, [{}], 0", found, name); // ptxas 13.0 moves a store after the next WARPSYNC
  };
  label(again);
  if (random_.percent(20)) emit("nanosleep.u32 20");
  take();
  if (random_.percent(50)) {
    // The lock is released inside the loop or after it.
    emit("@!{} bra {}", isMine, next);
    use();
    label(next);
    emit("@!{} bra {}", isMine, again);
  } else {
    emit("@!{} bra {}", isMine, again);
    use();
  }
  label(end);
}

void FunctionWriter::ownAtomic() {
  const AtomicForm& form = random_.pick(kOwn);
  const unsigned bytes = info(form.kind).bytes;
  const bool isShared = random_.percent(40);
  std::string address;
  if (isShared) {
    module_.usesShared = true;
    address = fmt::format("%sho+{}", random_.below(kOwnBytes / bytes) * bytes);
  } else {
    address = fmt::format("%scr+{}", kOwnBytes + random_.below(kOwnAtomicBytes / bytes) * bytes);
  }
  std::string operands = read(form.kind);
  if (std::string_view(form.operation).starts_with("cas")) operands += ", " + read(form.kind);
  readUniform_ = false;
  auto [prefix, name] = guard(form.kind);
  if (name.empty()) name = result(form.kind);
  const char* space = isShared ? ".shared" : random_.percent(70) ? ".global" : "";
  emit("{}atom{}.{} {}, [{}], {}", prefix, space, form.operation, name, address, operands);
}

} // namespace orias::generator
