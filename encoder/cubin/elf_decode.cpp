#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <gelf.h>
#include <libelf.h>

#include "encoder/cubin/elf_file.h"
#include "encoder/cubin/names.h"
#include "support/check.h"

namespace orias::cubin {
namespace {

constexpr std::uint16_t kMachineCuda = 190;

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

[[noreturn]] void fail(const std::string& what) {
  throw Error("cubin: " + what);
}

/// The string at `offset` of a string table section; libelf checks that it ends within the section.
std::string stringAt(Elf* elf, std::size_t table, std::size_t offset) {
  const char* text = elf_strptr(elf, table, offset);
  if (!text) fail("a name lies outside its string table");
  return text;
}

ElfSection readSection(Elf* elf, Elf_Scn* scn, std::size_t nameTable, std::span<const std::byte> file) {
  GElf_Shdr header;
  if (!gelf_getshdr(scn, &header)) fail("a section header cannot be read");
  ElfSection section;
  section.name = stringAt(elf, nameTable, header.sh_name);
  section.type = header.sh_type;
  section.flags = header.sh_flags;
  section.link = header.sh_link;
  section.info = header.sh_info;
  section.alignment = header.sh_addralign;
  section.entrySize = header.sh_entsize;
  section.size = header.sh_size;
  if (!hasBytes(header.sh_type) || header.sh_type == SHT_NULL) return section;
  if (header.sh_offset > file.size() || header.sh_size > file.size() - header.sh_offset)
    fail("section " + section.name + " reaches past the end of the file");
  const auto bytes = file.subspan(header.sh_offset, header.sh_size);
  section.data.assign(bytes.begin(), bytes.end());
  return section;
}

std::vector<ElfSymbol> readSymbols(Elf* elf, Elf_Scn* scn, std::size_t sectionCount) {
  GElf_Shdr header;
  if (!gelf_getshdr(scn, &header)) fail("the header of the symbol table cannot be read");
  Elf_Data* data = elf_getdata(scn, nullptr);
  if (!data) fail("the symbol table cannot be read");
  std::vector<ElfSymbol> symbols;
  const std::size_t count = data->d_size / sizeof(Elf64_Sym);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Sym raw;
    if (!gelf_getsym(data, static_cast<int>(i), &raw)) fail("a symbol cannot be read");
    if (raw.st_shndx >= sectionCount && raw.st_shndx < SHN_LORESERVE) fail("a symbol refers to a missing section");
    symbols.push_back({stringAt(elf, header.sh_link, raw.st_name), static_cast<std::uint8_t>(raw.st_info & 0xf),
                       static_cast<std::uint8_t>(raw.st_info >> 4), raw.st_other, raw.st_shndx, raw.st_value,
                       raw.st_size});
  }
  return symbols;
}

} // namespace

const ElfSection* ElfFile::find(std::string_view name) const {
  const auto found = std::find_if(sections.begin(), sections.end(), [&](const auto& s) { return s.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

ElfFile decodeElf(std::span<const std::byte> bytes) {
  if (elf_version(EV_CURRENT) == EV_NONE) fail("libelf cannot be used");
  if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) fail("not an ELF file");
  // elf_memory() requires a writable image with the alignment of its structures; the copy has both properties.
  std::vector<std::byte> image(bytes.begin(), bytes.end());
  std::unique_ptr<Elf, ElfEnd> elf(elf_memory(reinterpret_cast<char*>(image.data()), image.size()));
  GElf_Ehdr header;
  if (!elf || !gelf_getehdr(elf.get(), &header)) fail("the ELF header cannot be read");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    fail("not a 64-bit little-endian file");
  if (header.e_machine != kMachineCuda) fail("not for the CUDA machine");

  std::size_t count = 0;
  std::size_t nameTable = 0;
  if (elf_getshdrnum(elf.get(), &count) != 0 || elf_getshdrstrndx(elf.get(), &nameTable) != 0)
    fail("the section headers cannot be read");
  ElfFile file;
  file.osAbi = header.e_ident[EI_OSABI];
  file.abiVersion = header.e_ident[EI_ABIVERSION];
  file.type = header.e_type;
  file.flags = header.e_flags;
  if (count == 0) fail("it has no section headers, or they lie past its end"); // libelf does not distinguish the two
  file.sections.emplace_back();
  Elf_Scn* symbolTable = nullptr;
  // Sections of a valid file do not overlap, except that from sm_100 on those with debug information may have a twin
  // `.nv.merc.*` with the same bytes (observed). This limits the memory that a crafted file can request.
  constexpr std::size_t kTwins = 2;
  std::size_t total = 0;
  for (Elf_Scn* scn = elf_nextscn(elf.get(), nullptr); scn; scn = elf_nextscn(elf.get(), scn)) {
    file.sections.push_back(readSection(elf.get(), scn, nameTable, image));
    total += file.sections.back().data.size();
    if (total > kTwins * bytes.size()) fail("its sections overlap");
    if (!symbolTable && file.sections.back().type == SHT_SYMTAB) symbolTable = scn;
  }
  if (symbolTable) file.symbols = readSymbols(elf.get(), symbolTable, file.sections.size());
  return file;
}

} // namespace orias::cubin
