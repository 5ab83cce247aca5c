#include <algorithm>

#include <doctest/doctest.h>

#include "encoder/cubin/elf_file.h"
#include "sample.h"
#include "support/check.h"

using namespace orias;
using namespace orias::cubin;
using orias::cubin::test::bytesOf;
using orias::cubin::test::emptyKernel;
using orias::cubin::test::sampleModule;

namespace {

constexpr unsigned kChips[] = {75, 80, 86, 89, 90};

std::vector<std::string> sectionNames(const std::vector<std::byte>& file) {
  std::vector<std::string> names;
  for (const ElfSection& section : decodeElf(file).sections)
    names.push_back(section.name);
  return names;
}

Module moduleOf(unsigned smArch, Function function) {
  Module module;
  module.abi = abiOf(smArch);
  module.functions.push_back(std::move(function));
  return module;
}

} // namespace

TEST_CASE("what is written is read again") {
  for (unsigned chip : kChips) {
    CAPTURE(chip);
    const Module module = sampleModule(chip);
    const Module again = read(write(module));
    CHECK(again.abi == module.abi);
    CHECK(again.producer == module.producer);
    CHECK(again.addressTable == module.addressTable);
    REQUIRE(again.variables.size() == module.variables.size());
    for (std::size_t i = 0; i < module.variables.size(); ++i) {
      CAPTURE(module.variables[i].name);
      CHECK(again.variables[i] == module.variables[i]);
    }
    REQUIRE(again.functions.size() == module.functions.size());
    for (std::size_t i = 0; i < module.functions.size(); ++i) {
      CAPTURE(module.functions[i].name);
      CHECK(again.functions[i] == module.functions[i]);
    }
    CHECK(again == module);
  }
}

TEST_CASE("handles of textures and what the driver writes into the code are symbols without a definition") {
  for (unsigned chip : kChips) {
    CAPTURE(chip);
    Function kernel = emptyKernel("k");
    kernel.parameterSize = 12;
    kernel.parameters = {{0, 12, 0, 0}};
    kernel.handles = {
        {HandleKind::Texture, 12, "image"}, {HandleKind::Sampler, 16, "smooth"}, {HandleKind::Surface, 20, "drawing"}};
    kernel.relocations = {{RelocationType::Abs32At32, 32, ".nv.surfrefDescSize", 0}};
    Module module = moduleOf(chip, kernel);
    module.driverPatches = {".nv.surfrefDescSize"};
    const auto file = write(module);
    const Module again = read(file);
    REQUIRE(again.functions.size() == 1);
    CHECK(again.functions[0].handles == kernel.handles);
    CHECK(again.functions[0].relocations == kernel.relocations);
    CHECK(again.driverPatches == module.driverPatches);
    CHECK(again.variables.empty());
    const ElfFile elf = decodeElf(file);
    const ElfSection* bank = elf.find(".nv.constant0.k");
    REQUIRE(bank != nullptr);
    CHECK(bank->data.size() == parameterBase(module.abi, kernel.parameterSize) + 24);
    const auto isThere = [&](std::string_view name, unsigned type, unsigned binding) {
      return std::any_of(elf.symbols.begin(), elf.symbols.end(), [&](const ElfSymbol& s) {
        return s.name == name && s.type == type && s.binding == binding && s.section == 0;
      });
    };
    constexpr unsigned kGlobal = 1, kWeak = 2;
    CHECK(isThere("image", 10, kGlobal));
    CHECK(isThere("smooth", 11, kGlobal));
    CHECK(isThere("drawing", 12, kGlobal));
    CHECK(isThere(".nv.surfrefDescSize", 1, kWeak));
  }
}

TEST_CASE("textures and samplers among the parameters take no bytes, and may have names of the module's") {
  for (unsigned chip : kChips) {
    CAPTURE(chip);
    Function kernel = emptyKernel("k");
    kernel.parameterSize = 8;
    Parameter image, smooth;
    image.handle = parameterSymbol("k", "image");
    smooth.handle = parameterSymbol("k", "smooth");
    smooth.handleKind = HandleKind::Sampler;
    kernel.parameters = {{0, 8, 0, 0}, image, smooth};
    kernel.handles = {{HandleKind::Texture, 8, image.handle}, {HandleKind::Sampler, 12, smooth.handle}};
    Module module = moduleOf(chip, kernel);
    module.hasIndependentSamplers = true;
    module.handles = {{HandleKind::Texture, "image", std::nullopt, std::nullopt},
                      {HandleKind::Sampler, "rough", 0x00ff0403, true}};
    const auto file = write(module);
    const Module again = read(file);
    CHECK(again.functions[0] == kernel);
    CHECK(again.handles == module.handles);
    CHECK(again.hasIndependentSamplers);
    unsigned locals = 0;
    for (const ElfSymbol& symbol : decodeElf(file).symbols)
      locals += symbol.binding == 0 && (symbol.name == "image" || symbol.name == "smooth") ? 1 : 0;
    CHECK(locals == 2);
    CHECK(write(again) == file);
  }
}

TEST_CASE("the same module gives the same bytes, and the bytes of what was read") {
  for (unsigned chip : kChips) {
    const auto first = write(sampleModule(chip));
    CHECK(write(sampleModule(chip)) == first);
    CHECK(write(read(first)) == first);
  }
}

TEST_CASE("an empty kernel has ptxas' sections") {
  CHECK(sectionNames(write(moduleOf(90, emptyKernel("k")))) ==
        std::vector<std::string>{"", ".shstrtab", ".strtab", ".symtab", ".debug_frame", ".note.nv.tkinfo",
                                 ".note.nv.cuinfo", ".nv.info", ".nv.compat", ".nv.info.k", ".nv.callgraph",
                                 ".rela.debug_frame", ".text.k", ".nv.shared.reserved.0", ".nv.constant0.k"});
  CHECK(sectionNames(write(moduleOf(80, emptyKernel("k")))) ==
        std::vector<std::string>{"", ".shstrtab", ".strtab", ".symtab", ".debug_frame", ".note.nv.tkinfo",
                                 ".note.nv.cuinfo", ".nv.info", ".nv.info.k", ".nv.callgraph", ".nv.rel.action",
                                 ".rel.debug_frame", ".nv.constant0.k", ".text.k"});
}

TEST_CASE("an empty kernel has the bytes that ptxas 13.0 writes for it") {
  const ElfFile file = decodeElf(write(moduleOf(90, emptyKernel("empty"))));
  CHECK(file.flags == 0x6005a04);
  CHECK(file.find(".nv.info")->data == bytesOf({4, 0x2f, 8, 0, 8, 0, 0, 0,    4, 0, 0, 0, 4, 0x11, 8, 0, 8, 0,
                                                0, 0,    0, 0, 0, 0, 4, 0x12, 8, 0, 8, 0, 0, 0,    0, 0, 0, 0}));
  CHECK(file.find(".nv.info.empty")->data ==
        bytesOf({4, 0x37, 4, 0,    0x82, 0, 0,    0, 3, 0x50, 0, 0,    3, 0x1b, 0xff, 0, 3, 0x5f,
                 1, 1,    4, 0x1c, 4,    0, 0x10, 0, 0, 0,    4, 0x36, 4, 0,    8,    0, 0, 0}));
  CHECK(file.find(".nv.compat")->data == bytesOf({2, 9, 0, 0, 2, 2, 1, 0,    2, 5, 5, 0, 3, 7, 1, 1, 2, 3,
                                                  0, 0, 2, 6, 1, 0, 4, 0x0b, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const Bytes frame = file.find(".debug_frame")->data;
  CHECK(Bytes(frame.begin() + 0x54, frame.end()) ==
        bytesOf({4, 4, 0, 0, 0, 4, 4, 0, 0, 0, 0x0c, 0x81, 0x80, 0x80, 0x28, 0, 0, 0, 0, 0}));
  CHECK(file.find(".nv.constant0.empty")->data.size() == 0x210);
  REQUIRE(file.symbols.size() == 10);
  CHECK(file.symbols[5].name == "__nv_reservedSMEM_offset_0_alias");
  CHECK(file.symbols[8].name == "empty");
  CHECK(file.symbols[8].other == 0x10);
}

TEST_CASE("more parameters than the small form can hold") {
  Function function = emptyKernel("k");
  function.parameters = {{0, 6000, 0, 0}, {6000, 8, 0, 0}};
  function.parameterSize = 6008;
  for (unsigned chip : kChips) {
    const Module module = moduleOf(chip, function);
    const auto file = write(module);
    CHECK(read(file).functions == module.functions);
    CHECK(decodeElf(file).find(".nv.constant0.k")->data.size() == (chip == 90 ? 0x210U : 0x1a80U) + 6008);
  }
}

TEST_CASE("a module without kernels") {
  Module module;
  module.abi = abiOf(90);
  module.variables = sampleModule(90).variables;
  CHECK(read(write(module)).variables == module.variables);
  CHECK(read(write(Module{})).functions.empty());
}

TEST_CASE("facts that do not fit together are errors") {
  Module module = sampleModule(90);
  SUBCASE("half an instruction") {
    module.functions[0].code.resize(24);
  }
  SUBCASE("an unknown symbol in the address table") {
    module.addressTable.push_back({"nobody", 0});
  }
  SUBCASE("two things of one name") {
    module.variables[1].name = "plain";
  }
  SUBCASE("a relocation outside the variable's section") {
    module.variables.back().relocations = {{RelocationType::Generic64, 1000, "table", 0}};
  }
  SUBCASE("variables on top of each other") {
    module.variables.back().offset = module.variables[0].offset;
  }
  SUBCASE("a variable that is not aligned") {
    module.variables[1].offset += 1;
  }
  SUBCASE("an initialiser that is too long") {
    module.variables[1].init.resize(100);
  }
  SUBCASE("an inner function outside") {
    module.functions[1].inner[0].size = 10000;
  }
  CHECK_THROWS_AS(write(module), Error);
}

TEST_CASE("chips that are not known") {
  CHECK_THROWS_AS(abiOf(99), Error);
}
