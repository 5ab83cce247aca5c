#include "support/check.h"
#include "test/differential/generator/generator.h"
#include "tools/reduce/analysis.h"
#include "tools/reduce/oracle.h"
#include "tools/reduce/reducer.h"
#include "tools/reduce/source.h"

#include <doctest/doctest.h>

using namespace orias;
using namespace orias::reduce;

namespace {

void replaceAll(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

/// A compiler that replaces one operation with another.
class PlantedFault final : public Oracle {
 public:
  PlantedFault(std::string right, std::string wrong) : right_(std::move(right)), wrong_(std::move(wrong)) {}
  bool fails(const std::string& ptx, const launch::Launch& launch) override {
    std::string broken = ptx;
    replaceAll(broken, right_, wrong_);
    launch::Device wanted(launch), got(launch);
    return engines::interpret(ptx, wanted).isGood() && engines::interpret(broken, got).isGood() &&
           !engines::compare(got, wanted).isGood();
  }

 private:
  std::string right_, wrong_;
};

constexpr const char* kHead = ".version 8.5\n.target sm_90\n.address_size 64\n";

} // namespace

TEST_CASE("a program is cut into pieces, one a line") {
  const Source source(std::string(kHead) + ".global .b32 g[2] = {1, 2}; // a comment\n"
                                           ".entry k(.param .u64 p)\n{ .reg .b32 %r<4>; L: mov.b32 %r1, {%h1,\n %h2}; "
                                           "{ @!%p1 bra L; } }");
  CHECK(source.text() == std::string(kHead) + "  .global .b32 g[2] = {1, 2};\n.entry k(.param .u64 p)\n{\n"
                                              "  .reg .b32 %r<4>;\nL:\n  mov.b32 %r1, {%h1, %h2};\n{\n"
                                              "  @!%p1 bra L;\n}\n}\n");
  CHECK(Source(source.text()).text() == source.text());
  CHECK(source.count(PieceKind::Instruction) == 2);
}

TEST_CASE("what reads a register before it is written is no candidate") {
  const auto body = [](const char* text) {
    return analyse(std::string(kHead) + ".entry k()\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n" + text + "}\n")
        .has_value();
  };
  CHECK(body("mov.b32 %r1, 0;\nadd.u32 %r2, %r1, 1;\nret;\n"));
  CHECK_FALSE(body("add.u32 %r2, %r1, 1;\nret;\n"));
  CHECK_FALSE(body("setp.eq.u32 %p1, 0, 1;\n@%p1 mov.b32 %r1, 0;\nadd.u32 %r2, %r1, 1;\nret;\n"));
  CHECK_FALSE(body("setp.eq.u32 %p1, 0, 1;\n@%p1 bra L;\nmov.b32 %r1, 0;\nL:\nadd.u32 %r2, %r1, 1;\nret;\n"));
  CHECK(body("bra M;\nL:\nadd.u32 %r2, %r1, 1;\nret;\nM:\nmov.b32 %r1, 0;\nbra L;\n"));
  CHECK_FALSE(body("mov.b32 %r1, %none;\nret;\n")); // an error
}

TEST_CASE("a planted fault in a large random program is reduced to a few instructions") {
  PlantedFault oracle("xor.b32", "or.b32");
  bool found = false;
  for (std::uint64_t seed = 1; seed < 100 && !found; ++seed) {
    const generator::Program program = generator::generate(seed, *generator::findProfile("integer"));
    const std::string text = generator::moduleText({&program, 1});
    if (Source(text).count(PieceKind::Instruction) < 150 || !oracle.fails(text, program.launch)) continue;
    found = true;
    const Reduced reduced = reduce::reduce(text, program.launch, oracle);
    CAPTURE(reduced.ptx);
    CHECK(reduced.instructions <= 10);
    CHECK(oracle.fails(reduced.ptx, reduced.launch));
    CHECK(reduced.ptx.find("xor.b32") != std::string::npos);
  }
  CHECK(found);
}

TEST_CASE("two engines that agree are no failure, and their NaNs count as one") {
  const generator::Program program = generator::generate(3, *generator::findProfile("integer"));
  EngineOracle oracle({});
  CHECK(oracle.aim(generator::moduleText({&program, 1}), program.launch).empty());
}

TEST_CASE("engines that differ where a program has a race or reads a lane that is not there are no failure") {
  launch::Launch launch;
  launch.kernel = "k";
  launch.block.x = 2;
  launch::Buffer buffer;
  buffer.name = "out";
  buffer.elements = 2;
  buffer.initial.resize(8);
  launch.buffers.push_back(buffer);
  launch.arguments.emplace_back().buffer = 0;
  const auto kernel = [](const std::string& body) {
    return std::string(kHead) +
           ".entry k(.param .u64 out) { .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>;\n"
           "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;\n"
           "xor.b32 %r2, %r1, 1; mad.wide.u32 %rd3, %r2, 4, %rd1; add.u32 %r3, %r1, 5;\n" +
           body + " st.global.u32 [%rd2], %r4; ret; }";
  };
  const auto differ = [&](const std::string& ptx) {
    launch::Device wanted(launch), got(launch);
    REQUIRE(engines::interpret(ptx, wanted).isGood());
    REQUIRE(engines::emulate(engines::assemble(ptx).cubin, got).isGood());
    return !engines::compare(got, wanted).isGood();
  };
  // Lanes in lockstep read the value of the adjacent lane; sequential threads do not.
  const std::string race = kernel("st.global.u32 [%rd2], %r3; ld.global.u32 %r4, [%rd3];");
  CHECK(differ(race));
  CHECK(EngineOracle({}).failure(race, launch).empty());
  // The value of an absent lane differs between the emulator and the interpreter.
  const std::string absent = kernel("shfl.sync.idx.b32 %r4, %r3, 7, 31, -1;");
  CHECK(EngineOracle({}).failure(absent, launch).empty());
  CHECK(EngineOracle({}).failure(kernel("mov.u32 %r4, nothing;"), launch).empty());
}

TEST_CASE("readers of a value get one of the same type instead") {
  CommandOracle oracle("grep -q st.global.b32 {}");
  const std::string text = std::string(kHead) +
                           ".entry k(.param .u64 p) { .reg .b32 %r<2>; .reg .b64 %rd<3>;\n"
                           "ld.param.u64 %rd1, [p]; ld.global.u64 %rd2, [%rd1]; cvt.u32.u64 %r1, %rd2;\n"
                           "st.global.b32 [%rd1], %r1; ret; }";
  launch::Launch launch;
  launch.kernel = "k";
  launch.arguments.emplace_back().bytes.resize(8);
  const Reduced reduced = reduce::reduce(text, launch, oracle);
  CHECK(reduced.ptx.find("], %rd") == std::string::npos);
}

TEST_CASE("a command decides") {
  const generator::Program program = generator::generate(3, *generator::findProfile("integer"));
  CommandOracle oracle("grep -q st.global {} && grep -q kernel {launch}");
  const Reduced reduced = reduce::reduce(generator::moduleText({&program, 1}), program.launch, oracle);
  CAPTURE(reduced.ptx);
  CHECK(reduced.instructions == 2); // global memory cannot be addressed by a number: an instruction sets the address
  CHECK(reduced.ptx.find("st.global") != std::string::npos);
}

TEST_CASE("a program with errors is refused") {
  CommandOracle oracle("true");
  CHECK_THROWS_AS(reduce::reduce("this is no PTX", {}, oracle), Error);
}

TEST_CASE("a program is assembled for the chip that it names where the usual one does not run it") {
  CHECK(engines::archOf(kHead) == "sm_90");
  CHECK(engines::archOf(".version 6.4\n.target sm_70\n.address_size 64\n") == "sm_90");
  CHECK(engines::archOf(".version 8.5\n.target sm_90a\n.address_size 64\n") == "sm_90a");
  CHECK(engines::archOf(".version 8.8\n.target sm_120f\n.address_size 64\n") == "sm_120f");
  CHECK(engines::archOf(".version 8.8\n.target sm_103\n.address_size 64\n") == "sm_103");
}
