#include "test/differential/generator/function_writer.h"

namespace orias::generator {

// All lanes of the context's mask execute these statements. Only these lanes are read.

void FunctionWriter::shuffle() {
  const std::string mask = context().mask;
  const Kind kind = random_.percent(20) ? Kind::F32 : Kind::B32;
  std::string value = readRegister(kind), other = fresh(kind), inRange = fresh(Kind::Pred);
  const bool wantsPredicate = random_.percent(30);
  const std::string results = wantsPredicate ? other + "|" + inRange : other;
  if (mask == kAllLanes) {
    constexpr const char* kModes[] = {"idx", "up", "down", "bfly"};
    const std::string mode = random_.pick(kModes);
    constexpr unsigned kSegments[] = {0, 0, 0, 16, 24, 28, 30}; // 32 minus the width
    const unsigned clamp = random_.pick(kSegments) << 8 | (mode == "up" ? 0 : 0x1f);
    std::string lane;
    if (random_.percent(50)) {
      lane = fmt::format("{}", random_.below(32));
    } else {
      emit("and.b32 {}, {}, 31", lane = fresh(Kind::B32), readRegister(Kind::B32));
    }
    emit("shfl.sync.{}.b32 {}, {}, {}, {:#x}, {}", mode, results, value, lane, clamp, mask);
  } else {
    // A random lane if it is in the mask, else the highest lane of the mask.
    std::string lane = fresh(Kind::B32), bit = fresh(Kind::B32), highest = fresh(Kind::B32), isHere = fresh(Kind::Pred);
    emit("and.b32 {}, {}, 31", lane, readRegister(Kind::B32));
    emit("shr.u32 {}, {}, {}", bit, mask, lane);
    emit("and.b32 {}, {}, 1", bit, bit);
    emit("setp.ne.u32 {}, {}, 0", isHere, bit);
    emit("bfind.u32 {}, {}", highest, mask);
    emit("selp.b32 {}, {}, {}, {}", lane, lane, highest, isHere);
    emit("shfl.sync.idx.b32 {}, {}, {}, 0x1f, {}", results, value, lane, mask);
  }
  addValue(kind, other, false);
  if (wantsPredicate) addValue(Kind::Pred, inRange, false);
}

void FunctionWriter::vote() {
  const std::string mask = context().mask;
  switch (random_.below(6)) {
  case 0: {
    constexpr const char* kModes[] = {"all", "any", "uni"};
    std::string made = fresh(Kind::Pred);
    emit("vote.sync.{}.pred {}, {}, {}", random_.pick(kModes), made, readPredicate(true), mask);
    addValue(Kind::Pred, made, false);
    break;
  }
  case 1: {
    std::string made = fresh(Kind::B32);
    emit("vote.sync.ballot.b32 {}, {}, {}", made, readPredicate(true), mask);
    addValue(Kind::B32, made, false);
    break;
  }
  case 2: {
    const Kind kind = random_.percent(70) ? Kind::B32 : Kind::B64;
    std::string value = readRegister(kind), made = fresh(Kind::B32);
    if (random_.percent(70)) { // few different values, so that some match
      std::string few = fresh(kind);
      emit("and.{} {}, {}, 3", info(kind).type, few, value);
      value = few;
    }
    if (random_.percent(60)) {
      emit("match.any.sync.{} {}, {}, {}", info(kind).type, made, value, mask);
    } else {
      std::string all = fresh(Kind::Pred);
      emit("match.all.sync.{} {}|{}, {}, {}", info(kind).type, made, all, value, mask);
      addValue(Kind::Pred, all, false);
    }
    addValue(Kind::B32, made, false);
    break;
  }
  case 3: {
    constexpr const char* kRegisters[] = {"%laneid", "%lanemask_lt", "%lanemask_ge", "%lanemask_eq", "%ntid.x"};
    std::string made = fresh(Kind::B32);
    emit("mov.u32 {}, {}", made, random_.pick(kRegisters));
    addValue(Kind::B32, made, false);
    break;
  }
  default: {
    constexpr const char* kOperations[] = {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32",
                                           "max.s32", "and.b32", "or.b32",  "xor.b32"};
    std::string value = readRegister(Kind::B32), made = fresh(Kind::B32);
    emit("redux.sync.{} {}, {}, {}", random_.pick(kOperations), made, value, mask);
    addValue(Kind::B32, made, false);
    break;
  }
  }
}

} // namespace orias::generator
