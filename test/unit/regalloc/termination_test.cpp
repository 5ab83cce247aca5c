// Spilling terminates for every program: regalloc/README.md, "Termination".

#include "allocation.h"

#include "ori/builder.h"

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;

namespace {

/// The linear congruential generator of the C standard's example: the same program on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint32_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t bound) {
    state_ = (state_ * 1103515245u + 12345u) & 0x7fffffffu;
    return (state_ >> 16) % bound;
  }

 private:
  std::uint32_t state_;
};

struct Value {
  unsigned name, width;
};

std::string operandText(Value value) {
  return "%r" + std::to_string(value.name) + (value.width > 1 ? ":" + std::to_string(value.width) : "");
}

const char* sizeOf(Value value) {
  return value.width == 4 ? ".128" : value.width == 2 ? ".64" : "";
}

/// `count` values of 1, 2 and 4 words that begin and end in a random order, with `occupied` words live at most.
std::string randomLives(std::uint32_t seed, unsigned occupied, unsigned count) {
  Numbers random(seed);
  std::vector<Value> live;
  unsigned now = 0;
  std::string declarations = "  reg %r2:2 align 2;\n", body = ".L0:\n  COPY %r2:2, 0;\n";
  auto end = [&](std::size_t i) {
    body += std::string("  STG.E") + sizeOf(live[i]) + " [%r2:2], " + operandText(live[i]) + ";\n";
    now -= live[i].width;
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
  };
  for (unsigned i = 0; i < count; ++i) {
    const Value value{10 + i, 1u << random.below(3)};
    while (now + value.width > occupied)
      end(random.below(static_cast<std::uint32_t>(live.size())));
    live.push_back(value);
    now += value.width;
    declarations += "  reg " + operandText(value) + " align " + std::to_string(value.width) + ";\n";
    body += std::string("  LDG.E") + sizeOf(value) + " " + operandText(value) + ", [%r2:2];\n";
  }
  while (!live.empty())
    end(0);
  return declarations + body + "  EXIT;\n";
}

std::string allocatedIn(unsigned registers, const std::string& body) {
  auto module = ori::test::kernel(body);
  AllocationOptions options;
  options.maxRegisters = registers;
  return allocate(*module->functions.front(), options);
}

} // namespace

TEST_CASE("thousands of tuples that find no aligned run do not end the allocation") {
  // 64 passes that each freed registers for 32 of them were not sufficient.
  CHECK(allocatedIn(24, randomLives(2, 19, 8000)) == "");
}

TEST_CASE("random lives get registers at any budget") {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    for (unsigned registers : {16u, 24u, 40u, 255u})
      for (unsigned more : {0u, 1u, 7u, 300u})
        CHECK(allocatedIn(registers, randomLives(seed, registers - 5 + more, 400)) == "");
  }
}

TEST_CASE("more values of every file than there are registers, at 24 registers") {
  for (unsigned count : {8u, 30u, 100u, 400u}) {
    CAPTURE(count);
    std::string body = ".L0:\n  S2R %r0, SR_TID.X;\n  ULDC<4> %ur1, c[0x0][0x210];\n";
    const auto name = [](unsigned i, unsigned file) { return std::to_string(2 + 3 * i + file); };
    for (unsigned i = 0; i < count; ++i) {
      body += "  ISETP.LT.AND %p" + name(i, 0) + ", PT, %r0, " + std::to_string(i) + ", PT;\n";
      body += "  UISETP.LT.AND %up" + name(i, 1) + ", UPT, %ur1, " + std::to_string(i) + ", UPT;\n";
      body += "  UIADD3 %ur" + name(i, 2) + ", %ur1, " + std::to_string(i) + ", URZ;\n";
    }
    for (unsigned i = 0; i < count; ++i) {
      const unsigned first = 2 + 3 * count + 2 * i;
      body += "  USEL %ur" + std::to_string(first) + ", %ur" + name(i, 2) + ", 5, %up" + name(count - 1 - i, 1) + ";\n";
      body += "  IADD3 %r" + std::to_string(first + 1) + ", %r0, %ur" + std::to_string(first) + ", RZ;\n";
      body += "  @%p" + name(i, 0) + " STS [%r0], %r" + std::to_string(first + 1) + ";\n";
    }
    CHECK(allocatedIn(24, body + "  EXIT;\n") == "");
  }
}
