#pragma once

// The machine code of a cubin's sections, for programs that only examine words.

#include "encoder/cubin/elf_file.h"
#include "encoder/cubin/names.h"
#include "encoder/isa/target.h"
#include "encoder/isa/word.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace orias::test {

struct CodeSection {
  std::string name;
  std::vector<isa::Word> words;
};

struct CubinCode {
  const isa::Target* target = nullptr; ///< null for a chip that orias does not know; there are then no sections
  std::vector<CodeSection> sections;
};

/// Throws orias::Error if the file is not ELF.
inline CubinCode codeOf(const char* path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const cubin::ElfFile elf = cubin::decodeElf(std::as_bytes(std::span(bytes)));
  CubinCode code;
  for (const isa::Target& target : isa::Target::known())
    if (cubin::isSameChip(target.elfFlags(), cubin::flagsWithNote(elf.flags, cubin::kUsualNoteSection)))
      code.target = &target;
  if (code.target == nullptr) return code;
  for (const cubin::ElfSection& section : elf.sections) {
    if (!section.name.starts_with(".text")) continue;
    std::vector<isa::Word> words(section.data.size() / 16);
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::memcpy(&words[i].lo, section.data.data() + 16 * i, 8);
      std::memcpy(&words[i].hi, section.data.data() + 16 * i + 8, 8);
    }
    code.sections.push_back({section.name, std::move(words)});
  }
  return code;
}

} // namespace orias::test
