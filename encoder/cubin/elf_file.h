#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// An ELF64 file with the CUDA machine number, as uninterpreted sections and symbols: the layer above libelf.
namespace orias::cubin {

struct ElfSection {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t alignment = 1;
  std::uint64_t entrySize = 0;
  std::uint64_t size = 0;      ///< of a NOBITS section; otherwise the size of `data` counts
  std::vector<std::byte> data; ///< empty for NOBITS
};

struct ElfSymbol {
  std::string name;
  std::uint8_t type = 0;    ///< STT_*
  std::uint8_t binding = 0; ///< STB_*
  std::uint8_t other = 0;
  std::uint16_t section = 0;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
};

struct ElfFile {
  std::uint8_t osAbi = 0;
  std::uint8_t abiVersion = 0;
  std::uint16_t type = 0; ///< ET_EXEC or ET_REL
  std::uint32_t flags = 0;
  std::vector<ElfSection> sections; ///< as in the file; [0] is the null section
  std::vector<ElfSymbol> symbols;   ///< as in the file; [0] is the null symbol
  std::vector<std::byte> strings;   ///< the start of .strtab, from offset 1 on, before the names

  /// The first section of that name, or null.
  const ElfSection* find(std::string_view name) const;
};

/// Indices of the sections that encodeElf() fills itself; callers leave them empty.
inline constexpr std::uint16_t kSectionNameTable = 1; // .shstrtab
inline constexpr std::uint16_t kStringTable = 2;      // .strtab
inline constexpr std::uint16_t kSymbolTable = 3;      // .symtab

/// The kind of the segments (program headers), see `Abi`.
enum class SegmentStyle {
  ReadOnlyApart, ///< sm_90: runs of sections with equal flags; the header table is read-only and comes first
  WithText,      ///< before sm_90: read-only sections and code in one segment; the header table comes last, executable
};

/// Returns the bytes of the file. Sections are in the order of their indices; segments are runs of allocated sections.
std::vector<std::byte> encodeElf(const ElfFile& file, SegmentStyle style);

/// Reads any ELF64 file of the CUDA machine. Throws orias::Error for other or inconsistent files.
ElfFile decodeElf(std::span<const std::byte> bytes);

} // namespace orias::cubin
