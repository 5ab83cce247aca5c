#include "test/forms/values.h"

#include "frontend/types.h"
#include "tools/launch/random.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

namespace orias::forms {

using launch::ElementType;
using launch::Random;
using ptx::Op;
using ptx::Type;
using ptx::TypeClass;

namespace {

/// A binary format by the widths of its fields.
struct Format {
  unsigned exponentBits, fractionBits;
};

std::optional<Format> formatOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2: return Format{5, 10};
  case Type::BF16:
  case Type::BF16x2: return Format{8, 7};
  case Type::F32:
  case Type::TF32: return Format{8, 23};
  case Type::F64: return Format{11, 52};
  default: return std::nullopt;
  }
}

/// The format of a type, including those that only matrices have.
std::optional<Format> matrixFormatOf(Type type) {
  if (type == Type::E4M3) return Format{4, 3};
  if (type == Type::E5M2) return Format{5, 2};
  return formatOf(type);
}

/// A float: special, or a random one near 1, or any.
std::uint64_t floatValue(Format format, Random& random) {
  const auto [exponentBits, fractionBits] = format;
  const std::uint64_t sign = random.below(2) << (exponentBits + fractionBits);
  const std::uint64_t one = ((std::uint64_t{1} << (exponentBits - 1)) - 1) << fractionBits;
  const std::uint64_t infinity = ((std::uint64_t{1} << exponentBits) - 1) << fractionBits;
  const std::uint64_t step = std::uint64_t{1} << fractionBits, fraction = random.bits() & (step - 1);
  const std::uint64_t half = step >> 1;
  switch (random.below(16)) {
  case 0: return sign;                                                    // zero
  case 1: return sign | infinity;                                         //
  case 2: return sign | infinity | half | (fraction >> 2);                // not a number
  case 3: return sign | 1;                                                // the least subnormal
  case 4: return sign | fraction;                                         // subnormal
  case 5: return sign | step;                                             // the least normal
  case 6: return sign | (infinity - 1);                                   // the greatest
  case 7: return sign | (one + (random.below(3) << fractionBits) + half); // 1.5, 3, 6: ties for rounding
  case 8: return sign | (one + 31 * (step % infinity) % infinity);
  case 9: return sign | (random.bits() & (infinity | (step - 1))); // any
  default: return sign | ((one + random.below(12) * step - 4 * step) + fraction);
  }
}

/// A small integer or quarter as a float: sums and products of many are exact.
std::uint64_t smallFloat(Format format, Random& random) {
  static constexpr std::array<double, 8> kSmall = {0, 1, -1, 2, -2, 0.5, 3, -4};
  const double value = kSmall[random.below(kSmall.size())];
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = bits >> 63 << (format.exponentBits + format.fractionBits);
  const std::int64_t exponent = static_cast<std::int64_t>(bits >> 52 & 0x7ff) - 1023;
  if (value == 0) return sign;
  const std::int64_t bias = (std::int64_t{1} << (format.exponentBits - 1)) - 1;
  return sign | static_cast<std::uint64_t>(exponent + bias) << format.fractionBits |
         (bits & ((std::uint64_t{1} << 52) - 1)) >> (52 - format.fractionBits);
}

std::uint64_t integerValue(unsigned bits, Random& random) {
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);
  switch (random.below(12)) {
  case 0: return 0;
  case 1: return 1;
  case 2: return ~std::uint64_t{0};
  case 3: return top;
  case 4: return top - 1;
  case 5: return random.below(70); // shift amounts
  case 6: return random.bits() & 0xff;
  case 7: return ~random.below(256);
  case 8: return random.bits() >> random.below(64);
  default: return random.bits();
  }
}

/// The format of a matrix operand's elements, by its letter.
Type matrixElement(const Statement& statement, std::string_view operand) {
  const ptx::Form& form = statement.form;
  const bool hasFour = form.typeCount() >= 4;
  if (form.op == Op::WgmmaMmaAsync) return form.type(1); // B is in memory
  if (operand == "a") return form.type(hasFour ? 1 : 0);
  if (operand == "b") return form.type(hasFour ? 2 : 0);
  return form.type(hasFour ? 3 : form.typeCount() - 1);
}

bool isMatrix(Op op) {
  return op == Op::Mma || op == Op::WmmaMma || op == Op::WgmmaMmaAsync;
}

bool isBarrier(Op op) {
  return op == Op::BarSync || op == Op::BarRed || op == Op::BarrierSync || op == Op::BarrierRed;
}

/// The bits of a register with two halves, for packed types.
std::uint64_t packed(std::uint64_t low, std::uint64_t high, Type type) {
  return type == Type::F16x2 || type == Type::BF16x2 ? low | high << 16 : low;
}

/// Elements of a matrix that fill 32 bits, or one 64-bit element. Every fourth 32-bit integer reaches the limits of
/// sums.
std::uint64_t matrixWord(Type type, Random& random) {
  const auto format = matrixFormatOf(type);
  if (!format) return type == Type::S32 && random.below(4) == 0 ? 0x7fffffff - random.below(64) : random.bits();
  const unsigned bits = ptx::bitWidth(type);
  std::uint64_t word = 0;
  for (unsigned at = 0; at < std::max(32u, bits); at += bits)
    word |= smallFloat(*format, random) << at;
  return word;
}

/// The type of the elements of a sparse A.
Type sparseElement(const ptx::Form& form) {
  return form.type(1);
}

/// The number of elements of a sparse A per four bits of metadata.
unsigned sparseChunk(const ptx::Form& form) {
  // With these kinds every element occupies a byte.
  const bool areBytes = form.has(ptx::Mod::KindF8f6f4) || form.has(ptx::Mod::KindMxf8f6f4);
  const unsigned bits = areBytes ? 8 : ptx::bitWidth(sparseElement(form));
  return bits == 32 ? 2 : bits == 4 ? 8 : 4;
}

/// Metadata of eight chunks: for each, two different positions, in ascending order if the form requires it.
std::uint64_t metadata(const ptx::Form& form, Random& random) {
  static constexpr std::array<unsigned, 12> kPairs = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe, 0x1, 0x2, 0x3, 0x6, 0x7, 0xb};
  const bool isOne = sparseChunk(form) == 2;
  const std::uint64_t some = form.has(ptx::Mod::SpOrdered) || form.op == Op::WgmmaMmaAsync ? 6 : kPairs.size();
  std::uint64_t word = 0;
  for (unsigned at = 0; at < 32; at += 4)
    word |= std::uint64_t{isOne ? (random.below(2) != 0 ? 0x4 : 0xe) : kPairs[random.below(some)]} << at;
  return word;
}

/// A value that is defined for the instruction.
std::uint64_t value(const Statement& statement, const Use& use, Random& random) {
  const Op op = statement.form.op;
  if (use.operand == "mask") return 0xffffffff;
  if (use.operand == "stride") return 32;
  if (isBarrier(op) && use.type != Type::Pred) return use.operand == "b" ? 64 : 1;
  if (use.type == Type::Pred) return random.below(2);
  if (isMatrix(op) && use.operand == "meta") return metadata(statement.form, random);
  if (isMatrix(op)) {
    const Type element = matrixElement(statement, use.operand);
    if (!matrixFormatOf(element)) return random.bits();
    return matrixWord(element, random);
  }
  const bool isFloat = formatOf(use.type).has_value();
  if (isFloat && statement.form.rounding() == ptx::Mod::Rs) { // numbers that exist in all formats
    const Type to = statement.form.type(0);
    if ((to == Type::F16x2 || to == Type::BF16x2) && random.below(4) != 0) // normal halves and numbers between them
      return (random.bits() & 0x807fffff) | (127 - 14 + random.below(30)) << 23;
    constexpr std::array kNumbers{0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, 4.0f};
    return std::bit_cast<std::uint32_t>(kNumbers[random.below(kNumbers.size())]);
  }
  if (op == Op::Match) return random.below(3);
  if (op == Op::Nanosleep) return random.below(20);
  const bool isField = op == Op::Bfe || op == Op::Bfi;
  if (isField &&
      (use.operand == "e" || use.operand == (op == Op::Bfe ? "b" : "c") || (op == Op::Bfe && use.operand == "c")))
    return random.below(random.below(4) ? 70 : 256); // position and length
  if (op == Op::Fns && use.operand == "b") return random.below(32);
  if (op == Op::Fns && use.operand == "c") return random.below(9) - 4;
  if ((op == Op::Mapa || op == Op::Getctarank) && use.operand == "b") return 0;
  if (op == Op::Mul24 || op == Op::Mad24) {
    const std::uint64_t bits = integerValue(24, random);
    const bool isSigned = ptx::typeClass(statement.form.type()) == TypeClass::Signed;
    if (use.operand == "c") return integerValue(32, random);
    return isSigned ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << 40) >> 40) : bits & 0xffffff;
  }
  if (op == Op::Sin || op == Op::Cos) { // far from 0 the manual has no error bound
    const float angle = (static_cast<float>(random.below(20000)) - 10000) / 1600;
    return std::bit_cast<std::uint32_t>(angle);
  }
  if (isFloat) {
    const ptx::Type type = use.type;
    const Format format = *formatOf(type);
    return packed(floatValue(format, random), floatValue(format, random), type);
  }
  const unsigned bits = ptx::bitWidth(use.type);
  std::uint64_t number = integerValue(bits > 64 ? 64 : bits, random);
  if ((op == Op::Div || op == Op::Rem) && use.operand == "b") {
    const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    if ((number & mask) == 0 || (number & mask) == mask) number = 1 + random.below(100);
  }
  return number;
}

void append(std::vector<std::byte>& bytes, std::uint64_t value, unsigned size) {
  const std::size_t at = bytes.size();
  bytes.resize(at + size);
  std::memcpy(bytes.data() + at, &value, size < 8 ? size : 8);
}

} // namespace

ElementType elementOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2: return ElementType::F16;
  case Type::BF16:
  case Type::BF16x2: return ElementType::BF16;
  case Type::F32:
  case Type::TF32: return ElementType::F32;
  case Type::F64: return ElementType::F64;
  default: break;
  }
  const unsigned bits = ptx::bitWidth(type);
  return bits <= 8 ? ElementType::U8 : bits <= 16 ? ElementType::U16 : bits <= 32 ? ElementType::U32 : ElementType::U64;
}

std::vector<std::byte> sourceValues(const Statement& statement, const Use& use, unsigned lanes, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes;
  const unsigned bits = ptx::bitWidth(use.type), size = bits <= 8 ? 1 : bits / 8;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    append(bytes, value(statement, use, random), size < 8 ? size : 8);
    if (size == 16) append(bytes, random.bits(), 8);
  }
  return bytes;
}

std::vector<std::byte> reducedValues(Type type, std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> values;
  const auto format = formatOf(type);
  const unsigned bits = type == Type::F16x2 || type == Type::BF16x2 ? 16 : std::max(8u, ptx::bitWidth(type));
  while (values.size() < bytes)
    append(values, format ? floatValue(*format, random) : integerValue(bits, random), bits / 8);
  return values;
}

std::vector<std::byte> matrixValues(Type type, std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> values;
  while (values.size() < bytes)
    append(values, matrixWord(type, random), std::max(32u, ptx::bitWidth(type)) / 8);
  return values;
}

unsigned sparseSelectors(const ptx::Form& form) {
  // The metadata of all lanes, divided among the four lanes with the same rows.
  const unsigned bits = 16 * form.shape.k / sparseChunk(form) * 4;
  return 4 * 8 * 32 / bits;
}

ElementType memoryElement(const Statement& statement) {
  const Op op = statement.form.op;
  return op == Op::Atom || op == Op::Red ? elementOf(statement.form.type()) : ElementType::U32;
}

std::vector<std::byte> memoryValues(const Statement& statement, std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> memory;
  const auto format = formatOf(statement.form.type());
  const unsigned size = launch::elementBytes(memoryElement(statement));
  while (memory.size() < bytes)
    append(memory, format && memoryElement(statement) != ElementType::U32 ? smallFloat(*format, random) : random.bits(),
           size);
  return memory;
}

} // namespace orias::forms
