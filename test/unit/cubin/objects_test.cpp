// Features of relocatable files: the call graph, aliases, common symbols.

#include <algorithm>

#include <doctest/doctest.h>

#include "encoder/cubin/byte_io.h"
#include "encoder/cubin/call_graph.h"
#include "encoder/cubin/cubin.h"
#include "encoder/cubin/elf_file.h"
#include "encoder/cubin/names.h"
#include "support/check.h"

using namespace orias;
using namespace orias::cubin;

namespace {

Function callable(std::string name, std::string prototype) {
  Function function;
  function.name = std::move(name);
  function.isEntry = false;
  function.code.resize(128);
  function.registerCount = 24;
  function.prototype = std::move(prototype);
  return function;
}

Module relocatable() {
  Module module;
  module.abi = abiOf(90);
  module.relocatable = true;
  return module;
}

const ElfSymbol& symbolOf(const ElfFile& file, std::string_view name) {
  for (const ElfSymbol& symbol : file.symbols)
    if (symbol.name == name) return symbol;
  FAIL("no symbol " << name);
  return file.symbols.front();
}

/// The pairs of a table, by the names of the symbols (markers: `<-1>` and so on) and the strings of prototypes.
std::string pairs(const ElfFile& file, std::string_view section, const std::string& wordsAreText = "") {
  const ElfSection* table = file.find(section);
  REQUIRE(table);
  std::string text;
  bool isText = wordsAreText == "second";
  for (std::size_t at = 0; at < table->data.size(); at += 8) {
    const auto first = load<std::uint32_t>(table->data, at), second = load<std::uint32_t>(table->data, at + 4);
    if (static_cast<std::int32_t>(second) < 0) {
      text += "<" + std::to_string(static_cast<std::int32_t>(second)) + ">";
      isText = second == ~1u || second == ~2u;
      continue;
    }
    text += file.symbols[first].name + ">";
    const auto* strings = reinterpret_cast<const char*>(file.sections[kStringTable].data.data());
    text += isText ? std::string(strings + second) : file.symbols[second].name;
    text += " ";
  }
  return text;
}

} // namespace

TEST_CASE("the call graph has calls, functions whose address is taken, calls through pointers, and references") {
  Module module = relocatable();
  Variable inner, outer;
  inner.name = "inner";
  inner.size = outer.size = inner.alignment = outer.alignment = 8;
  inner.relocations = {{RelocationType::Unified64, 0, "far", 0}};
  outer.name = "outer";
  outer.relocations = {{RelocationType::Generic64, 0, "inner", 0}};
  module.variables = {inner, outer};
  layOutVariables(module.variables);
  Function leaf = callable("leaf", "#vi"), user = callable("user", "#il");
  user.callees = {"leaf"};
  user.indirectCalls = {"#ii"};
  user.relocations = {{RelocationType::Abs32Lo32, 0, "outer", 0},
                      {RelocationType::IndirectCallee, 16, kUnifiedTableOffset, 0}};
  module.functions = {leaf, user};
  module.externalFunctions = {{"far", "#ii"}};

  const ElfFile file = decodeElf(write(module));
  CHECK(pairs(file, ".nv.callgraph") == "<-1>user>leaf <-2>far>#ii <-3>user>#ii <-4>user>far ");
  CHECK(pairs(file, ".nv.prototype", "second") == "leaf>#vi user>#il ");
  CHECK(symbolOf(file, "far").section == 0);
  CHECK(symbolOf(file, kUnifiedTableOffset).section == 0);
}

TEST_CASE("a linked file says of pointers to functions nothing") {
  Module module;
  module.abi = abiOf(90);
  Function kernel = callable("kernel", "");
  kernel.isEntry = true;
  kernel.externals = {"vprintf"};
  module.functions = {kernel};
  const ElfFile file = decodeElf(write(module));
  CHECK(pairs(file, ".nv.callgraph") == "<-1>kernel>vprintf <-2><-3><-4>");
  CHECK(file.find(".nv.prototype") == nullptr);
}

TEST_CASE("functions of other files have a prototype where they are called, kernels of other files never") {
  Module module = relocatable();
  Function kernel = callable("kernel", "");
  kernel.isEntry = true;
  kernel.relocations = {{RelocationType::FunctionDescriptor32Lo32, 0, "launched", 0}};
  kernel.externals = {"launched"};
  module.functions = {kernel};
  module.externalFunctions = {{"launched", "", true}, {"far", "#ii"}};
  ElfFile file = decodeElf(write(module));
  CHECK(symbolOf(file, "launched").section == 0);
  CHECK(symbolOf(file, "launched").other == kOtherEntry);
  CHECK(symbolOf(file, "far").other == 0);
  CHECK(pairs(file, ".nv.callgraph") == "<-1><-2>launched> <-3><-4>kernel>launched ");
  CHECK(file.find(".nv.prototype") == nullptr);

  module.functions[0].callees = {"far"};
  file = decodeElf(write(module));
  CHECK(pairs(file, ".nv.prototype", "second") == "far>#ii ");
}

TEST_CASE("an alias is a name at the place of its function, which it calls") {
  Module module = relocatable();
  module.functions = {callable("real", "#ii"), callable("other", "#vi")};
  module.aliases = {{"alias", "real", Binding::Weak}};
  const ElfFile file = decodeElf(write(module));
  const ElfSymbol &alias = symbolOf(file, "alias"), &real = symbolOf(file, "real");
  CHECK(alias.section == real.section);
  CHECK(alias.section != symbolOf(file, "other").section);
  CHECK(alias.size == 0);
  CHECK(alias.binding == 2); // STB_WEAK
  CHECK(pairs(file, ".nv.callgraph") == "<-1>alias>real <-2><-3><-4>");
  CHECK(pairs(file, ".nv.prototype", "second") == "alias>#ii other>#vi real>#ii ");
}

TEST_CASE("a common variable has no place in the file, but its alignment") {
  Module module = relocatable();
  Variable common, own;
  common.name = "common";
  common.binding = Binding::Global;
  common.common = true;
  common.size = 64;
  common.alignment = 16;
  own.name = "own";
  own.size = own.alignment = 4;
  module.variables = {common, own};
  layOutVariables(module.variables);
  module.functions = {callable("f", "#v")};
  const ElfFile file = decodeElf(write(module));
  CHECK(symbolOf(file, "common").section == 0xfff2); // SHN_COMMON
  CHECK(symbolOf(file, "common").value == 16);
  CHECK(symbolOf(file, "common").size == 64);
  REQUIRE(file.find(".nv.global"));
  CHECK(file.find(".nv.global")->size == 4);
}

TEST_CASE("the flags of a file say which section is the note on the chip, with and without line tables") {
  for (unsigned chip : {80u, 90u})
    for (bool hasLines : {false, true}) {
      Module module;
      module.abi = abiOf(chip);
      module.functions = {callable("kernel", "")};
      module.functions[0].isEntry = true;
      if (hasLines) {
        module.sourceFiles = {{"a.cu"}};
        module.functions[0].lines = {{0, 0, 1}};
        module.ptxText = {std::byte{'r'}, std::byte{0}};
        module.functions[0].ptxLines = {{0, LineRow::kPtx, 1}};
      }
      const auto bytes = write(module);
      const ElfFile file = decodeElf(bytes);
      CAPTURE(chip);
      CAPTURE(hasLines);
      CHECK(file.sections[file.flags >> 24].name == ".note.nv.cuinfo");
      CHECK(read(bytes).abi.elfFlags == abiOf(chip).elfFlags);
    }
}

TEST_CASE("a function that others call has its frame in the unwind table") {
  Module module = relocatable();
  Function f = callable("f", "#v");
  f.frameChanges = {{16, FrameChange::Kind::Frame, 0, 16},
                    {32, FrameChange::Kind::Saved, 20, 8},
                    {64, FrameChange::Kind::Restored, 20, 0},
                    {80, FrameChange::Kind::Frame, 0, 0}};
  module.functions = {f};
  const ElfFile file = decodeElf(write(module));
  const ElfSection* table = file.find(".debug_frame");
  REQUIRE(table);
  const auto hasBytes = [&](std::initializer_list<unsigned> wanted) {
    Bytes bytes;
    for (unsigned byte : wanted)
      bytes.push_back(static_cast<std::byte>(byte));
    return std::search(table->data.begin(), table->data.end(), bytes.begin(), bytes.end()) != table->data.end();
  };
  CHECK(hasBytes({0x04, 4, 0, 0, 0, 0x0c, 0x81, 0x80, 0x80, 0x28, 16})); // 16 bytes on: CFA = R1 + 16
  CHECK(hasBytes({0x04, 4, 0, 0, 0, 0x05, 0x94, 0x80, 0x80, 0x28, 2}));  // R20 is saved two words below the CFA
  CHECK(hasBytes({0x04, 8, 0, 0, 0, 0x06, 0x94, 0x80, 0x80, 0x28}));     // R20 is restored
  CHECK(hasBytes({0x04, 4, 0, 0, 0, 0x0c, 0x81, 0x80, 0x80, 0x28, 0}));
  // The CIE, the function's address, and its size, which the linker clears for functions that it omits.
  const ElfSection* relocations = file.find(".rela.debug_frame");
  REQUIRE(relocations);
  CHECK(relocations->data.size() == 3 * 24);
}

TEST_CASE("the text of the PTX has a name of its own in each object") {
  const auto nameOf = [](std::string_view text) {
    Module module = relocatable();
    module.functions = {callable("f", "#v")};
    module.functions[0].ptxLines = {{0, LineRow::kPtx, 1}};
    for (char c : text)
      module.ptxText.push_back(static_cast<std::byte>(c));
    const auto bytes = write(module);
    CHECK(read(bytes).ptxText == module.ptxText);
    CHECK(read(bytes).functions[0].ptxLines == module.functions[0].ptxLines);
    for (const ElfSection& section : decodeElf(bytes).sections)
      if (section.name.starts_with(".nv_debug_ptx_txt.")) return section.name;
    return std::string();
  };
  const std::string one = nameOf(std::string_view("one\0", 4)), two = nameOf(std::string_view("two\0", 4));
  CHECK(one != "");
  CHECK(two != "");
  CHECK(one != two);
}

TEST_CASE("local functions and variables of one name are told apart, with what belongs to them") {
  Module module;
  module.abi = abiOf(90);
  Function kernel = callable("kernel", ""), one = callable("same1", ""), other = callable("same2", "");
  kernel.isEntry = true;
  one.binding = other.binding = Binding::Local;
  one.registerCount = 10;
  other.registerCount = 20;
  other.code[0] = std::byte{7};
  other.constant2.resize(4);
  kernel.relocations = {{RelocationType::Abs32Lo32, 0, "same1", 0}, {RelocationType::Abs32Lo32, 16, "same2", 0}};
  Variable first, second;
  first.name = "thing1";
  second.name = "thing2";
  first.size = second.size = first.alignment = second.alignment = 4;
  second.init = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  module.variables = {first, second};
  layOutVariables(module.variables);
  module.functions = {kernel, one, other};

  Bytes file = write(module);
  for (const std::string_view name : {"same2", "thing2"})
    for (std::size_t at = 0; at + name.size() <= file.size(); ++at)
      if (std::equal(name.begin(), name.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                     [](char c, std::byte b) { return static_cast<std::byte>(c) == b; }))
        file[at + name.size() - 1] = std::byte{'1'};
  const Module read = cubin::read(file);
  const auto functionOf = [&](unsigned registers) {
    for (const Function& f : read.functions)
      if (f.registerCount == registers) return f;
    FAIL("no such function");
    return Function();
  };
  const Function one_ = functionOf(10), other_ = functionOf(20);
  CHECK(one_.name != other_.name);
  CHECK(one_.constant2.empty());
  CHECK(other_.constant2.size() == 4);
  CHECK(other_.code[0] == std::byte{7});
  const Function read_ = functionOf(24);
  REQUIRE(read_.relocations.size() == 2);
  for (const Relocation& r : read_.relocations)
    CHECK(r.symbol == (r.offset == 0 ? one_.name : other_.name));
  REQUIRE(read.variables.size() == 2);
  CHECK(read.variables[0].name != read.variables[1].name);
}

// nvlink 13.0 crashes on files of newer chips that claim capsules but have none. It links files that do not (observed).
TEST_CASE("files say that they have no Mercury capsules") {
  for (const unsigned chip : {75u, 90u, 100u, 103u, 110u, 120u, 121u}) {
    CAPTURE(chip);
    Abi abi = abiOf(chip);
    CHECK((abi.elfFlags & kCodeKinds) == kPlainCode);
    const std::uint32_t plain = abi.elfFlags;
    markCapsules(abi);
    CHECK((abi.elfFlags & kCodeKinds) == (chip < 100 ? kPlainCode : kCapsules));
    CHECK(isSameChip(plain, abi.elfFlags));
    CHECK_FALSE(isSameChip(plain, plain + 0x100));
  }
  Abi marked = abiOf(100);
  markCapsules(marked);
  CHECK(marked.fastPath == 9);
  CHECK(abiOf(100).fastPath == 0);
}

TEST_CASE("files with Mercury capsules are read as files for their chip") {
  Module module;
  module.abi = abiOf(120);
  markCapsules(module.abi);
  module.functions = {callable("kernel", "")};
  module.functions[0].isEntry = true;
  CHECK(read(write(module)).abi == module.abi);
}
