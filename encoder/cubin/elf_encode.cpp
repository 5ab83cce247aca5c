#include <algorithm>
#include <cstring>
#include <string_view>

#include <elf.h>

#include "encoder/cubin/byte_io.h"
#include "encoder/cubin/elf_file.h"
#include "encoder/cubin/names.h"
#include "support/align.h"
#include "support/check.h"

namespace orias::cubin {
namespace {

constexpr std::uint16_t kMachineCuda = 190; // EM_CUDA, not in every elf.h

/// Zero-terminated strings in sequence; the empty string is at offset 0.
class StringTable {
 public:
  explicit StringTable(const std::vector<std::byte>& first = {}) {
    bytes_.insert(bytes_.end(), first.begin(), first.end());
  }
  std::uint32_t add(std::string_view text) {
    if (text.empty()) return 0;
    const auto offset = static_cast<std::uint32_t>(bytes_.size());
    for (char c : text)
      bytes_.push_back(static_cast<std::byte>(c));
    bytes_.push_back(std::byte{0});
    return offset;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_{std::byte{0}};
};

std::vector<std::byte> symbolTable(const std::vector<ElfSymbol>& symbols, StringTable& names) {
  std::vector<std::byte> bytes;
  bytes.reserve(symbols.size() * sizeof(Elf64_Sym));
  for (const ElfSymbol& symbol : symbols) {
    append(bytes, names.add(symbol.name));
    append(bytes, static_cast<std::uint8_t>(symbol.binding << 4 | (symbol.type & 0xf)));
    append(bytes, symbol.other);
    append(bytes, symbol.section);
    append(bytes, symbol.value);
    append(bytes, symbol.size);
  }
  return bytes;
}

struct Placement {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct Layout {
  std::vector<Placement> sections;
  std::uint64_t sectionHeaders = 0;
  std::uint64_t programHeaders = 0;
};

/// Sections in the order of their indices, then the section headers, then the program headers.
Layout layOut(const std::vector<ElfSection>& sections) {
  Layout layout;
  std::uint64_t position = sizeof(Elf64_Ehdr);
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (i == 0) {
      layout.sections.push_back({});
      continue;
    }
    const bool inFile = hasBytes(sections[i].type);
    position = alignUp(position, sections[i].alignment);
    layout.sections.push_back({position, inFile ? sections[i].data.size() : sections[i].size});
    if (inFile) position += sections[i].data.size();
  }
  layout.sectionHeaders = alignUp(position, 8);
  layout.programHeaders = layout.sectionHeaders + sections.size() * sizeof(Elf64_Shdr);
  return layout;
}

std::uint32_t segmentFlags(const ElfSection& section, SegmentStyle style) {
  if (section.flags & SHF_WRITE) return PF_R | PF_W;
  if (style == SegmentStyle::WithText || (section.flags & SHF_EXECINSTR)) return PF_R | PF_X;
  return PF_R;
}

/// The loadable segments: runs of allocated sections with the same access.
std::vector<Elf64_Phdr> segmentsOf(const std::vector<ElfSection>& sections, const Layout& layout, SegmentStyle style) {
  std::vector<Elf64_Phdr> segments;
  bool open = false;
  std::uint64_t fileEnd = 0;
  for (std::size_t i = 1; i < sections.size(); ++i) {
    if (!(sections[i].flags & SHF_ALLOC)) {
      open = false;
      continue;
    }
    const auto [offset, size] = layout.sections[i];
    const std::uint32_t flags = segmentFlags(sections[i], style);
    if (!open || segments.back().p_flags != flags) {
      Elf64_Phdr segment{};
      segment.p_type = PT_LOAD;
      segment.p_flags = flags;
      segment.p_offset = fileEnd = offset;
      segment.p_align = 8;
      segments.push_back(segment);
      open = true;
    }
    Elf64_Phdr& segment = segments.back();
    // The size in memory includes the padding of both the file offset and the address, as in ptxas (observed).
    std::uint64_t end = segment.p_offset + segment.p_memsz + (offset - fileEnd);
    end = alignUp(end, sections[i].alignment) + size;
    segment.p_memsz = end - segment.p_offset;
    fileEnd = offset + (hasBytes(sections[i].type) ? size : 0);
    segment.p_filesz = fileEnd - segment.p_offset;
  }
  return segments;
}

/// All program headers: the loadable segments, and twice the header table: as PT_PHDR and as a segment.
std::vector<Elf64_Phdr> programHeaders(const std::vector<ElfSection>& sections, const Layout& layout,
                                       SegmentStyle style) {
  std::vector<Elf64_Phdr> headers = segmentsOf(sections, layout, style);
  Elf64_Phdr table{};
  table.p_type = PT_PHDR;
  table.p_flags = style == SegmentStyle::WithText ? PF_R | PF_X : PF_R;
  table.p_offset = layout.programHeaders;
  table.p_filesz = table.p_memsz = (headers.size() + 2) * sizeof(Elf64_Phdr);
  table.p_align = 8;
  Elf64_Phdr load = table;
  load.p_type = PT_LOAD;
  headers.insert(headers.begin(), table);
  headers.insert(style == SegmentStyle::WithText ? headers.end() : headers.begin() + 1, load);
  return headers;
}

template <typename T> void place(std::vector<std::byte>& bytes, std::uint64_t at, const T& what) {
  std::memcpy(bytes.data() + at, &what, sizeof what);
}

Elf64_Ehdr fileHeader(const ElfFile& file, const Layout& layout, std::size_t programHeaderCount) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = file.osAbi;
  header.e_ident[EI_ABIVERSION] = file.abiVersion;
  header.e_type = file.type;
  header.e_machine = kMachineCuda;
  header.e_version = EV_CURRENT;
  header.e_flags = file.flags;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shoff = layout.sectionHeaders;
  header.e_shnum = static_cast<std::uint16_t>(file.sections.size());
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shstrndx = kSectionNameTable;
  if (programHeaderCount != 0) {
    header.e_phoff = layout.programHeaders;
    header.e_phnum = static_cast<std::uint16_t>(programHeaderCount);
    header.e_phentsize = sizeof(Elf64_Phdr);
  }
  return header;
}

Elf64_Shdr sectionHeader(const ElfSection& section, const Placement& place, std::uint32_t name) {
  Elf64_Shdr header{};
  header.sh_name = name;
  header.sh_type = section.type;
  header.sh_flags = section.flags;
  header.sh_offset = place.offset;
  header.sh_size = place.size;
  header.sh_link = section.link;
  header.sh_info = section.info;
  header.sh_addralign = section.alignment;
  header.sh_entsize = section.entrySize;
  return header;
}

} // namespace

std::vector<std::byte> encodeElf(const ElfFile& file, SegmentStyle style) {
  ORIAS_CHECK(file.sections.size() > kSymbolTable && file.sections.size() < SHN_LORESERVE);
  std::vector<ElfSection> sections = file.sections;
  StringTable sectionNames;
  std::vector<std::uint32_t> nameOffsets;
  for (const ElfSection& section : sections)
    nameOffsets.push_back(sectionNames.add(section.name));
  StringTable symbolNames(file.strings);
  sections[kSymbolTable].data = symbolTable(file.symbols, symbolNames);
  sections[kSectionNameTable].data = sectionNames.take();
  sections[kStringTable].data = symbolNames.take();
  const Layout layout = layOut(sections);
  std::vector<Elf64_Phdr> headers;
  if (file.type != ET_REL) headers = programHeaders(sections, layout, style);

  // Sections of global and shared memory count with their sizes although they have no bytes: the file then ends in
  // zeros.
  std::size_t size = layout.programHeaders + headers.size() * sizeof(Elf64_Phdr);
  for (std::size_t i = 1; i < sections.size(); ++i)
    if (sections[i].type != SHT_NOBITS) size = std::max(size, layout.sections[i].offset + layout.sections[i].size);
  std::vector<std::byte> bytes(size);
  place(bytes, 0, fileHeader(file, layout, headers.size()));
  for (std::size_t i = 1; i < sections.size(); ++i) {
    if (hasBytes(sections[i].type)) std::ranges::copy(sections[i].data, bytes.begin() + layout.sections[i].offset);
    place(bytes, layout.sectionHeaders + i * sizeof(Elf64_Shdr),
          sectionHeader(sections[i], layout.sections[i], nameOffsets[i]));
  }
  for (std::size_t i = 0; i < headers.size(); ++i)
    place(bytes, layout.programHeaders + i * sizeof(Elf64_Phdr), headers[i]);
  return bytes;
}

} // namespace orias::cubin
