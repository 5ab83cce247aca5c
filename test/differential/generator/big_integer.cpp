#include "test/differential/generator/function_writer.h"

#include <algorithm>
#include <string_view>

// Multi-word arithmetic with the condition code, as in libraries. Between the instructions of a chain there may be
// other instructions, but none that access the condition code.

namespace orias::generator {

namespace {

/// An instruction of a chain reads or writes the condition code or both: the first does not read it, and the last may
/// not write it.
std::string withCarries(std::string_view opcode, bool reads, bool writes, std::string_view type) {
  std::string text(opcode.substr(0, 3));
  if (reads) text += 'c';
  text += opcode.substr(3);
  if (writes) text += ".cc";
  return text + "." + std::string(type);
}

} // namespace

/// Copies of values, which a statement may overwrite.
std::vector<std::string> FunctionWriter::copies(unsigned count) {
  std::vector<std::string> words;
  for (unsigned i = 0; i < count; ++i) {
    words.push_back(fresh(Kind::B32));
    emit("mov.b32 {}, {}", words.back(), read(Kind::B32));
  }
  return words;
}

void FunctionWriter::beside(const std::vector<std::string>& words) {
  if (!random_.percent(12)) return;
  // An instruction in between, which may or may not read a word of the chain.
  const std::string from = random_.percent(50) ? random_.pick(words) : readRegister(Kind::B32);
  const std::string to = fresh(Kind::B32);
  emit("xor.b32 {}, {}, {}", to, from, read(Kind::B32));
  addValue(Kind::B32, to, false);
}

/// acc += a * factor, by words: the even columns in one chain, the odd ones in another one.
void FunctionWriter::productRow(std::vector<std::string>& acc, const std::vector<std::string>& a, std::size_t offset) {
  const std::string factor = read(Kind::B32);
  const char* type = random_.percent(85) ? "u32" : "s32";
  // Rarely, the high words are those of another product.
  const std::string otherFactor = random_.percent(10) ? read(Kind::B32) : factor;
  const bool swaps = random_.percent(15) && factor.starts_with('%') && otherFactor.starts_with('%');
  const auto product = [&](const char* half, bool reads, bool writes, const std::string& d, const std::string& x,
                           const std::string& y, const std::string& addend) {
    emit("{} {}, {}, {}, {}", withCarries(fmt::format("mad.{}", half), reads, writes, type), d, x, y, addend);
  };
  for (std::size_t parity = 0; parity < 2; ++parity) {
    bool reads = false;
    for (std::size_t i = parity; i < a.size() && i + offset + 1 < acc.size(); i += 2) {
      std::string &low = acc[i + offset], &high = acc[i + offset + 1];
      const bool isLast = i + 2 >= a.size() || i + offset + 3 >= acc.size();
      const std::string lowAddend = random_.percent(6) ? "0" : low, highAddend = random_.percent(6) ? "0"
                                                                                 : random_.percent(5)
                                                                                     ? random_.pick(acc)
                                                                                     : high;
      // Some libraries write every result to a new register.
      const bool isFresh = random_.percent(25);
      const std::string lowResult = isFresh ? fresh(Kind::B32) : low, highResult = isFresh ? fresh(Kind::B32) : high;
      const bool leavesCarry = !isLast || random_.percent(60);
      product("lo", reads, true, lowResult, a[i], factor, lowAddend);
      low = lowResult;
      beside(acc); // `high` is still the old word: the new one is not yet written
      product("hi", true, leavesCarry, highResult, swaps ? otherFactor : a[i], swaps ? a[i] : otherFactor, highAddend);
      high = highResult;
      reads = true;
      if (!isLast || !leavesCarry) continue;
      std::string& top = acc[std::min(i + offset + 2, acc.size() - 1)];
      emit("addc.u32 {}, {}, {}", top, random_.percent(30) ? "0" : top, read(Kind::B32));
    }
  }
}

/// acc += a, or -= a, and a use of the last carry.
void FunctionWriter::sumRow(std::vector<std::string>& acc, const std::vector<std::string>& a) {
  const bool subtracts = random_.percent(50);
  const char* opcode = subtracts ? "sub" : "add";
  const std::size_t count = std::min(acc.size(), a.size());
  std::vector<std::string> sum;
  for (std::size_t i = 0; i < count; ++i) {
    sum.push_back(random_.percent(50) ? fresh(Kind::B32) : acc[i]);
    emit("{} {}, {}, {}", withCarries(opcode, i != 0, true, "u32"), sum[i], acc[i],
         random_.percent(8) ? literal(Kind::B32) : a[i]);
    beside(acc);
  }
  const std::string carry = fresh(Kind::B32);
  emit("{} {}, 0, 0", subtracts ? "subc.u32" : "addc.u32", carry);
  switch (random_.below(4)) {
  case 0: {
    const std::string isOne = fresh(Kind::Pred);
    emit("setp.{}.{} {}, {}, 0", random_.percent(50) ? "ne" : "eq", random_.percent(50) ? "s32" : "u32", isOne, carry);
    for (std::size_t i = 0; i < count; ++i)
      emit("selp.b32 {}, {}, {}, {}", acc[i], acc[i], sum[i], isOne);
    break;
  }
  case 1: {
    // Moves the carry back to the condition code.
    const std::string lost = fresh(Kind::B32);
    emit("add.cc.u32 {}, {}, {}", lost, carry, random_.percent(70) ? "-1" : literal(Kind::B32));
    for (std::size_t i = 0; i < count; ++i)
      emit("{} {}, {}, {}", withCarries("add", true, i + 1 < count, "u32"), acc[i], sum[i], a[i]);
    break;
  }
  case 2: {
    const std::string masked = fresh(Kind::B32);
    emit("and.b32 {}, {}, {}", masked, carry, a[0]);
    emit("add.cc.u32 {}, {}, {}", acc[0], sum[0], masked);
    for (std::size_t i = 1; i < count; ++i)
      emit("{} {}, {}, {}", withCarries("add", true, i + 1 < count, "u32"), acc[i], sum[i], carry);
    break;
  }
  default: {
    // Counts carries.
    const std::string count2 = fresh(Kind::B32);
    emit("add.cc.u32 {}, {}, {}", acc[0], sum[0], a.back());
    emit("addc.u32 {}, {}, {}", count2, carry, random_.percent(70) ? "0" : acc.back());
    acc.push_back(count2);
    break;
  }
  }
}

/// A product of two words whose halves are added in a separate chain.
void FunctionWriter::splitProduct(std::vector<std::string>& acc) {
  const std::string a = read(Kind::B32), b = read(Kind::B32), low = fresh(Kind::B32), high = fresh(Kind::B32);
  if (random_.percent(50)) {
    emit("mul.lo.u32 {}, {}, {}", low, a, b);
    beside(acc);
    emit("mul.hi.u32 {}, {}, {}", high, a, b);
  } else {
    const std::string both = fresh(Kind::B64);
    emit("mul.wide.u32 {}, {}, {}", both, a, b);
    emit("mov.b64 {{{}, {}}}, {}", low, high, both);
  }
  for (std::size_t i = 0; i < acc.size(); ++i)
    emit("{} {}, {}, {}", withCarries("add", i != 0, i + 1 < acc.size(), "u32"), acc[i], acc[i],
         i == 0   ? low
         : i == 1 ? high
                  : "0");
  if (random_.percent(20)) addValue(Kind::B32, high, false);
}

/// Both halves of 64-bit products, with their sum.
void FunctionWriter::wideProduct() {
  const std::string a = read(Kind::B64), b = read(Kind::B64), low = fresh(Kind::B64), high = fresh(Kind::B64);
  if (random_.percent(40)) {
    const char* type = random_.percent(70) ? "u64" : "s64";
    const bool lowFirst = random_.percent(50);
    if (lowFirst) emit("mul.lo.u64 {}, {}, {}", low, a, b);
    emit("mul.hi.{} {}, {}, {}", type, high, a, b);
    if (!lowFirst) emit("mul.lo.u64 {}, {}, {}", low, b, a);
  } else {
    const std::string lowAddend = read(Kind::B64), highAddend = random_.percent(30) ? "0" : read(Kind::B64);
    emit("mad.lo.cc.u64 {}, {}, {}, {}", low, a, b, lowAddend);
    emit("madc.hi.u64 {}, {}, {}, {}", high, a, b, highAddend);
  }
  addValue(Kind::B64, low, false);
  addValue(Kind::B64, high, false);
}

void FunctionWriter::bigInteger() {
  if (random_.percent(15)) return wideProduct();
  const unsigned words = random_.between(2, 6);
  const std::vector<std::string> a = copies(words);
  std::vector<std::string> acc = copies(words + random_.between(1, words));
  const unsigned steps = random_.between(1, 4);
  for (unsigned step = 0; step < steps; ++step)
    switch (random_.below(5)) {
    case 0: sumRow(acc, a); break;
    case 1: splitProduct(acc); break;
    default: productRow(acc, a, random_.below(3)); break;
    }
  for (const std::string& word : acc)
    addValue(Kind::B32, word, false);
}

} // namespace orias::generator
