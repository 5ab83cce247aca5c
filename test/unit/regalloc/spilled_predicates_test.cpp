#include "allocation.h"

#include "encoder/isa/mods.h"
#include "regalloc/live_ranges.h"
#include "regalloc/spilled_predicates.h"
#include "regalloc/webs.h"

#include <fmt/format.h>
#include <map>

using namespace orias;
using namespace orias::regalloc;
using namespace orias::regalloc::test;
using isa::File;
using ori::Op;

namespace {

/// Executes a block of LDS, ISETP, SEL, PLOP3 and LOP3, and returns the value that STS stores. LDS reads bit `offset /
/// 4` of `memory`.
std::uint32_t executed(const ori::Function& function, unsigned memory) {
  std::map<ori::VRegId, std::uint32_t> values;
  std::uint32_t stored = ~0u;
  const auto read = [&](const ori::Operand& o) -> std::uint32_t {
    if (o.isImm()) return static_cast<std::uint32_t>(o.imm);
    const std::uint32_t value = o.isZeroReg() ? static_cast<std::uint32_t>(o.file == File::P) : values.at(o.reg);
    return (o.flags & isa::Operand::kNot) != 0 ? value ^ 1 : value;
  };
  const auto write = [&](const ori::Operand& o, std::uint32_t value) {
    if (!o.isZeroReg()) values[o.reg] = value;
  };
  const auto table = [&](const ori::Instr& i, unsigned first) {
    const std::uint32_t a = read(i.op_(first)), b = read(i.op_(first + 1)), c = read(i.op_(first + 2));
    std::uint32_t result = 0;
    for (unsigned bit = 0; bit < 32; ++bit) {
      const unsigned row = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
      result |= static_cast<std::uint32_t>(i.op_(5).imm >> row & 1) << bit;
    }
    return result;
  };
  for (const ori::Instr* i = function.layout().front()->first; i; i = i->next) {
    switch (i->op) {
    case Op::LDS: write(i->op_(0), memory >> i->op_(3).imm / 4 & 1); break;
    case Op::SEL: write(i->op_(0), read(i->op_(3)) != 0 ? read(i->op_(1)) : read(i->op_(2))); break;
    case Op::PLOP3: write(i->op_(0), table(*i, 2) & 1); break;
    case Op::LOP3: {
      const std::uint32_t result = table(*i, 2);
      write(i->op_(1), result);
      write(i->op_(0), static_cast<std::uint32_t>(result != 0));
      break;
    }
    case Op::ISETP: {
      const bool isEqual = read(i->op_(2)) == read(i->op_(3)), other = read(i->op_(4)) != 0;
      const bool holds = isa::modAs<isa::ICmp>(*i, isa::Mod::Cmp) == isa::ICmp::EQ ? isEqual : !isEqual;
      const auto op = isa::modAs<isa::BoolOp>(*i, isa::Mod::Bool);
      write(i->op_(0), op == isa::BoolOp::AND  ? holds && other
                       : op == isa::BoolOp::OR ? holds || other
                                               : holds != other);
      break;
    }
    case Op::STS: stored = read(i->op_(i->operandCount - 1)); break;
    default: break;
    }
  }
  return stored;
}

/// PLOP3 on three predicates, whose result selects what is stored.
std::string plop3(const std::string& sources, unsigned lut) {
  std::string text = ".L0:\n";
  for (unsigned i = 0; i < 3; ++i)
    text += fmt::format(" LDS %r{}, [{}];\n ISETP.NE.U32.AND %p{}, PT, %r{}, RZ, PT;\n", i, 4 * i, 10 + i, i);
  text +=
      fmt::format(" PLOP3.LUT %p13, PT, {}, {}, 0;\n SEL %r4, RZ, 1, !%p13;\n STS [0], %r4;\n EXIT;\n", sources, lut);
  return text;
}

/// Spills those predicates of plop3() whose bits are in `spilled`, and combines them.
struct Combined {
  std::unique_ptr<ori::Module> module;
  bool changed = false;

  Combined(const std::string& body, unsigned spilled) : module(ori::test::kernel(body)) {
    ori::Function& f = function();
    SpillState state(f);
    const LiveRanges ranges(f, File::P);
    const Webs webs = buildWebs(f, File::P, ranges, {});
    for (const Web& web : webs.all)
      if ((spilled >> (web.members.front().first - 10) & 1) != 0) spillWeb(f, web, File::P, state, {.remat = false});
    state.grow(f);
    changed = combineSpilledPredicates(f, state);
  }
  ori::Function& function() const { return *module->functions.front(); }
};

} // namespace

TEST_CASE("combining spilled predicates keeps the result of each PLOP3") {
  unsigned changed = 0;
  for (const char* sources : {"%p10, %p11, %p12", "%p10, !%p11, PT", "PT, %p10, %p11", "!%p10, !PT, !%p11"})
    for (unsigned lut = 0; lut < 256; ++lut)
      for (unsigned spilled = 1; spilled < 16; ++spilled) {
        const std::string body = plop3(sources, lut);
        const auto original = ori::test::kernel(body);
        const Combined combined(body, spilled);
        changed += combined.changed;
        for (unsigned memory = 0; memory < 8; ++memory)
          if (executed(*original->functions.front(), memory) != executed(combined.function(), memory))
            FAIL(sources << " lut " << lut << " spilled " << spilled << " memory " << memory << "\n"
                         << text(combined.function()));
      }
  CHECK(changed > 1000);
}

TEST_CASE("spilled predicates are combined as words without reloads") {
  const std::string all = text(Combined(plop3("%p10, %p11, %p12", 0x80), 15).function());
  CHECK(countOf(all, "LOP3.LUT %r") == 1);
  CHECK(countOf(all, "PLOP3") == 0);
  CHECK(countOf(all, "ISETP.NE") == 4); // the three definitions, and the reload for SEL
}

TEST_CASE("the reload of a spilled predicate combines it with a predicate") {
  const std::string one = text(Combined(plop3("%p10, !%p11, PT", 0x80), 2).function());
  CHECK(countOf(one, "PLOP3") == 0);
  CHECK(countOf(one, "ISETP.EQ.U32.AND %p13") == 1);
}

TEST_CASE("words are not combined where the result has high bits") {
  CHECK_FALSE(Combined(plop3("%p10, %p11, %p12", 0x01), 7).changed);
}
