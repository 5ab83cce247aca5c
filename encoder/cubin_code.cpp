#include "encoder/cubin_code.h"

#include "encoder/code.h"
#include "encoder/isa/target.h"
#include "support/check.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace orias::encoder {

std::vector<isa::Word> wordsOf(const cubin::Function& function) {
  static_assert(std::endian::native == std::endian::little && sizeof(isa::Word) == kWordBytes);
  std::vector<isa::Word> words(function.code.size() / kWordBytes);
  if (!words.empty()) std::memcpy(words.data(), function.code.data(), words.size() * kWordBytes);
  return words;
}

IndirectTargets indirectTargetsOf(const cubin::Function& function) {
  IndirectTargets targets;
  for (const cubin::IndirectBranch& branch : function.indirectBranches)
    for (std::uint32_t target : branch.targets)
      targets[branch.offset / kWordBytes].push_back(target / kWordBytes);
  return targets;
}

const isa::Target& targetOf(const cubin::Abi& abi) {
  for (const isa::Target& target : isa::Target::known())
    if (cubin::isSameChip(target.elfFlags(), abi.elfFlags)) return target;
  if (const isa::Target* target = isa::Target::find(fmt::format("sm_{}", abi.smArch))) return *target;
  throw Error(fmt::format("no instructions are known for sm_{}", abi.smArch));
}

} // namespace orias::encoder
