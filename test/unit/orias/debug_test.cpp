#include "encoder/cubin/byte_io.h"
#include "encoder/cubin/cubin.h"
#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "orias/orias.h"

#include <algorithm>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace orias;

namespace {

// Sections with one reference of each kind. The bytes around them are not valid DWARF, except for DW_OP_addr (3) where
// it is relevant.
constexpr std::string_view kProgram = R"(
.version 8.0
.target sm_75, debug
.address_size 64
.global .align 4 .u32 counter;
.const .align 4 .u32 factor = 3;
.visible .func (.param .b32 result) twice(.param .b32 given) {
  .reg .b32 %r<4>;
$begin0:
  ld.param.u32 %r1, [given];
$inside:
  popc.b32 %r2, %r1;
  shl.b32 %r3, %r2, 1;
  st.param.b32 [result], %r3;
  ret;
$end0:
}
.visible .entry kernel(.param .u64 out, .param .u32 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<2>;
  .local .align 8 .b8 depot[24];
  .shared .align 4 .b8 first[64];
  .shared .align 4 .b8 second[64];
$begin1:
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [n];
  st.local.u32 [depot+8], %r1;
  st.shared.u32 [first], %r1;
  st.shared.u32 [second], %r1;
  mov.u32 %r2, 0;
$loop:
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %r2;
    call (b), twice, (a);
    ld.param.b32 %r3, [b]; }
  add.u32 %r2, %r2, 1;
  mov.u32 %r4, %r2;
  setp.lt.u32 %p1, %r4, %r1;
  @%p1 bra $loop;
  ld.local.u32 %r5, [depot+8];
  ld.shared.u32 %r6, [first];
  ld.const.u32 %r7, [factor];
  add.u32 %r3, %r3, %r5; add.u32 %r3, %r3, %r6; mul.lo.u32 %r3, %r3, %r7;
  st.global.u32 [counter], %r2;
  st.global.u32 [%rd1], %r3;
  ret;
$end1:
}
.section .debug_abbrev { .b8 1, 0 }
.section .debug_info {
start:
  .b32 .debug_abbrev
  .b32 after-start
  .b64 $inside
  .b64 $end0
  .b8 9, 3
  .b64 counter
  .b8 9, 3
  .b64 factor
  .b8 9, 3
  .b64 n
  .b8 9, 3
  .b64 second
  .b8 11, 3
  .b64 depot+8
  .b8 35, 4
  .b8 11, 3
  .b64 given
  .b8 35, 4
  .b32 .debug_abbrev+1
after:
}
)";

// The offsets of the program's references in .debug_info.
constexpr std::size_t kInside = 8, kEnd = 16, kCounter = 26, kFactor = 36, kParameter = 46, kShared = 56, kFrame = 66,
                      kGiven = 78, kAbbrev = 88;

std::string programFor(std::string_view chip) {
  std::string text(kProgram);
  text.replace(text.find("sm_75"), 5, chip);
  return text;
}

cubin::Module debugged(std::string_view text, const std::string& chip, bool relocatable = false) {
  Options options;
  options.arch = chip;
  options.debugInfo = true;
  options.relocatable = relocatable;
  Result result = assemble(text, options);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  return cubin::read(result.cubin);
}

const cubin::DebugSection& section(const cubin::Module& module, std::string_view name) {
  for (const cubin::DebugSection& s : module.debugSections)
    if (s.name == name) return s;
  FAIL("there is no section ", std::string(name));
  return module.debugSections.front();
}

const cubin::Relocation* relocationAt(const cubin::DebugSection& s, std::size_t offset) {
  for (const cubin::Relocation& r : s.relocations)
    if (r.offset == offset) return &r;
  return nullptr;
}

const cubin::Function& function(const cubin::Module& module, std::string_view name) {
  for (const cubin::Function& f : module.functions)
    if (f.name == name) return f;
  FAIL("there is no function ", std::string(name));
  return module.functions.front();
}

std::optional<isa::Inst> instructionAt(const cubin::Module& module, const cubin::Function& f, std::size_t offset) {
  isa::Word word;
  std::memcpy(&word, f.code.data() + offset, sizeof word);
  return isa::decodeFor(*isa::Target::parse(fmt::format("sm_{}", module.abi.smArch))->target, word);
}

struct Place {
  std::string function, name;
  std::uint32_t part, reg, begin, end;
};

/// The contents of `.nv_debug_info_reg_sass`.
std::vector<Place> placesIn(const cubin::Module& module) {
  const cubin::Bytes& bytes = section(module, ".nv_debug_info_reg_sass").data;
  std::vector<Place> places;
  std::size_t at = 0;
  const auto number = [&] {
    at += 4;
    return cubin::load<std::uint32_t>(bytes, at - 4);
  };
  const auto text = [&] {
    std::string out;
    while (bytes[at] != std::byte{0})
      out += static_cast<char>(bytes[at++]);
    ++at;
    return out;
  };
  while (at < bytes.size()) {
    const std::string owner = text();
    for (std::uint32_t left = number(); left != 0; --left) {
      Place place;
      place.function = owner;
      place.part = number();
      place.name = text();
      place.reg = number();
      place.begin = number();
      place.end = number();
      places.push_back(place);
    }
  }
  return places;
}

bool writes(const isa::Inst& inst, std::uint32_t reg) {
  const isa::File file = reg >> 24 == 2 ? isa::File::P : isa::File::R;
  const isa::InstrDesc& row = isa::desc(inst.op);
  for (unsigned s = 0; s < inst.operandCount; ++s) {
    const isa::Operand& o = inst.operands[s];
    if (row.slots[s].role == isa::Role::Def && o.isReg(file) && !o.isZeroReg() && o.reg <= (reg & 0xff) &&
        (reg & 0xff) < o.reg + std::max<unsigned>(o.width, 1))
      return true;
  }
  return false;
}

/// Errors in places, from the words of the code: the register of a place must not be written between its first and its
/// last instruction, and no call may change it.
std::vector<std::string> faults(const cubin::Module& module, const std::vector<Place>& places) {
  std::vector<std::string> out;
  for (const Place& place : places) {
    const cubin::Function& f = function(module, place.function);
    const std::string where =
        fmt::format("{}: {} in {:x} from {:x} to {:x}", place.function, place.name, place.reg, place.begin, place.end);
    if (place.begin >= place.end || place.end > f.code.size() || place.begin % 16 != 0 || place.end % 16 != 0)
      out.push_back(where + ": no range");
    for (std::size_t at = place.begin; at + 16 < place.end; at += 16) {
      const auto inst = instructionAt(module, f, at);
      if (inst && writes(*inst, place.reg)) out.push_back(where + fmt::format(": written at {:x}", at));
      if (inst && (inst->op == isa::Op::CALL_ABS || inst->op == isa::Op::CALL_ABS_R) && (place.reg & 0xff) < 16 &&
          place.reg >> 24 == 5 && (place.reg & 0xff) != 2)
        out.push_back(where + fmt::format(": a call at {:x}", at));
    }
    for (const Place& other : places)
      if (&other != &place && other.function == place.function && other.reg == place.reg && other.begin < place.end &&
          place.begin < other.end)
        out.push_back(where + ": two things at once");
  }
  return out;
}

} // namespace

TEST_CASE("debug sections: labels and symbols, on all chips") {
  for (const char* chip : {"sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90"}) {
    CAPTURE(chip);
    const cubin::Module module = debugged(programFor(chip), chip);
    const cubin::DebugSection& info = section(module, ".debug_info");
    const cubin::Function& twice = function(module, "twice");
    CHECK(section(module, ".debug_abbrev").data.size() == 2);

    // A label refers to the first instruction after it.
    const cubin::Relocation* inside = relocationAt(info, kInside);
    REQUIRE(inside != nullptr);
    CHECK(inside->symbol == "twice");
    std::size_t at = static_cast<std::size_t>(inside->addend);
    CHECK(at != 0);
    while (at < twice.code.size() && instructionAt(module, twice, at)->op == isa::Op::NOP)
      at += 16;
    CHECK(instructionAt(module, twice, at)->op == isa::Op::POPC);
    CHECK(cubin::load<std::uint64_t>(info.data, kInside) == static_cast<std::uint64_t>(inside->addend));
    REQUIRE(relocationAt(info, kEnd) != nullptr);
    CHECK(relocationAt(info, kEnd)->addend == static_cast<std::int64_t>(twice.code.size()));

    REQUIRE(relocationAt(info, kCounter) != nullptr);
    CHECK(relocationAt(info, kCounter)->symbol == "counter");
    REQUIRE(relocationAt(info, kFactor) != nullptr);
    CHECK(relocationAt(info, kFactor)->type == cubin::RelocationType::Generic64);

    // References that the loader does not resolve are numbers: parameters, shared memory, offsets in sections.
    CHECK(info.relocations.size() == 4);
    const std::uint32_t base = chip == std::string("sm_90") ? 0x210 : 0x160;
    CHECK(cubin::load<std::uint64_t>(info.data, kParameter) == base + 8);
    const std::uint64_t shared = cubin::load<std::uint64_t>(info.data, kShared) - module.abi.reservedShared;
    CHECK((shared == 0 || shared == 64));
    CHECK(cubin::load<std::uint32_t>(info.data, 0) == 0);
    CHECK(cubin::load<std::uint32_t>(info.data, 4) == kAbbrev + 4);
    CHECK(cubin::load<std::uint32_t>(info.data, kAbbrev) == 1);

    // Frame offsets are relative to its end: DW_OP_fbreg -24 + 8, without other operations in the bytes of the address.
    CHECK(info.data[kFrame - 1] == std::byte{0x91});
    CHECK(info.data[kFrame] == std::byte{0x70});
    CHECK(info.data[kFrame + 1] == std::byte{0x96});
    CHECK(info.data[kFrame + 8] == std::byte{0x23});
    // A parameter that was passed in a register has no location, and neither have references relative to it.
    CHECK(info.data[kGiven - 1] == std::byte{0x93});
    CHECK(info.data[kGiven + 8] == std::byte{0x96});
    CHECK(info.data[kGiven + 9] == std::byte{0x96});
  }
}

TEST_CASE("debug sections of objects: a linker gets places in sections and shared memory") {
  for (const char* chip : {"sm_80", "sm_90"}) {
    const cubin::Module module = debugged(programFor(chip), chip, true);
    const cubin::DebugSection& info = section(module, ".debug_info");
    CHECK(info.relocations.size() == 7);
    REQUIRE(relocationAt(info, kAbbrev) != nullptr);
    CHECK(relocationAt(info, kAbbrev)->symbol == ".debug_abbrev");
    CHECK(relocationAt(info, kAbbrev)->addend == 1);
    REQUIRE(relocationAt(info, kShared) != nullptr);
    CHECK(relocationAt(info, kShared)->addend == module.abi.reservedShared);
  }
}

TEST_CASE("functions of a program for debugging have code of their own, and kernels what these need") {
  const cubin::Module module = debugged(programFor("sm_90"), "sm_90");
  const cubin::Function &kernel = function(module, "kernel"), &twice = function(module, "twice");
  CHECK(!module.relocatable);
  CHECK(!twice.isEntry);
  CHECK(kernel.staticSharedSize == 128);
  CHECK(kernel.registerCount >= twice.registerCount);
  CHECK(kernel.minStackSize == kernel.frameSize + twice.frameSize);
  CHECK(std::any_of(kernel.relocations.begin(), kernel.relocations.end(),
                    [](const cubin::Relocation& r) { return r.symbol == "twice"; }));
}

TEST_CASE("a program for debugging must be complete, and is not optimised") {
  Options options;
  options.debugInfo = true;
  const Result missing = assemble(".version 8.0\n.target sm_90\n.address_size 64\n.extern .func other();\n"
                                  ".visible .entry k() { call other; ret; }\n",
                                  options);
  CHECK(missing.status == Status::InputErrors);
  CHECK(missing.diagnostics.find("undefined function 'other'") != std::string::npos);
  const Result unknown = assemble(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"
                                  ".section .debug_info { .b64 nothing }\n",
                                  options);
  CHECK(unknown.status == Status::InputErrors);
  CHECK(unknown.diagnostics.find("'nothing', which .debug_info names, is not defined") != std::string::npos);
}

TEST_CASE("places of registers: what the words of the code allow") {
  std::vector<std::string> programs = {programFor("sm_90")};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ORIAS_SOURCE_DIR) + "/test/corpus/handwritten"))
    if (entry.path().extension() == ".ptx") {
      std::ifstream file(entry.path(), std::ios::binary);
      programs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  std::size_t checked = 0;
  Options options;
  options.debugInfo = true;
  options.arch = "sm_90a";
  for (const std::string& text : programs) {
    const Result result = assemble(text, options);
    if (result.status != Status::Ok) continue; // not supported in functions that are not inlined
    const cubin::Module module = cubin::read(result.cubin);
    const std::vector<Place> places = placesIn(module);
    for (const std::string& fault : faults(module, places))
      FAIL_CHECK(fault);
    checked += places.size();
  }
  CHECK(checked > 1000);

  // Negative test: a place that extends past the next write is detected.
  const cubin::Module module = debugged(programFor("sm_90"), "sm_90");
  std::vector<Place> places = placesIn(module);
  const auto named = [&](std::string_view name) {
    return std::find_if(places.begin(), places.end(),
                        [&](const Place& p) { return p.function == "twice" && p.name == name; });
  };
  REQUIRE(named("%r2") != places.end());
  Place longer = *named("%r2");
  const cubin::Function& twice = function(module, "twice");
  std::size_t written = 0;
  for (std::size_t at = 0; at < twice.code.size(); at += 16)
    if (const auto inst = instructionAt(module, twice, at); inst && writes(*inst, longer.reg)) written = at;
  longer.begin = 0;
  longer.end = static_cast<std::uint32_t>(written) + 32;
  CHECK(!faults(module, {longer}).empty());
}

TEST_CASE("lines: line 0 is no line, and the one return of a function is where the program has it") {
  Options options;
  options.relocatable = true;
  const Result result = assemble(".version 8.0\n.target sm_90\n.address_size 64\n"
                                 ".visible .func (.param .b32 r) f(.param .b32 a) {\n.reg .b32 %r<4>;\n.loc 1 5 0\n"
                                 "ld.param.u32 %r1, [a];\npopc.b32 %r2, %r1;\n.loc 1 0 3\nmul.lo.u32 %r3, %r2, %r2;\n"
                                 ".loc 1 5 2\nst.param.b32 [r], %r3;\n.loc 1 9 0\nret;\n}\n.file 1 \"a.cu\"\n",
                                 options);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  const cubin::Module module = cubin::read(result.cubin);
  std::vector<std::uint32_t> lines;
  for (const cubin::LineRow& row : function(module, "f").lines)
    lines.push_back(row.line);
  CHECK(lines == std::vector<std::uint32_t>{5, 9});
}

TEST_CASE("entries that are chosen bring the functions along that they may call") {
  Options options;
  options.relocatable = true;
  options.entries = {"a"};
  const Result result = assemble(".version 8.0\n.target sm_90\n.address_size 64\n.visible .func f() { ret; }\n"
                                 ".visible .entry a() { call f; ret; }\n.visible .entry b() { ret; }\n",
                                 options);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  CHECK(cubin::read(result.cubin).functions.size() == 2);
}

TEST_CASE("registers of one name in several scopes have places, unless their types differ") {
  const auto placesOf = [](std::string_view second) {
    const std::string text = fmt::format(".version 8.0\n.target sm_90\n.address_size 64\n"
                                         ".visible .entry k(.param .u64 out) {{ .reg .b32 %r<4>; .reg .b64 %d<2>;\n"
                                         "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;\n"
                                         "{{ .reg .b32 %tmp; mul.lo.u32 %tmp, %r1, %r1; add.u32 %r2, %tmp, %r1; }}\n"
                                         "{{ .reg {} %tmp; xor.b32 %tmp, %r1, %r2; and.b32 %r3, %tmp, %r2; }}\n"
                                         "st.global.u32 [%d1], %r3; ret; }}\n",
                                         second);
    return placesIn(debugged(text, "sm_90"));
  };
  const auto count = [](const std::vector<Place>& places) {
    return std::count_if(places.begin(), places.end(), [](const Place& p) { return p.name == "%tmp"; });
  };
  CHECK(count(placesOf(".b32")) == 2);
  CHECK(count(placesOf(".s32")) == 0);
}
