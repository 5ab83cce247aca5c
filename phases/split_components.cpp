#include "phases/split_components.h"

#include "ori/builder.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace orias::phases {

using ori::Operand;
using ori::VReg;
using ori::VRegId;

namespace {

/// The parts of a register, in order: first component and width of each.
std::vector<std::pair<unsigned, unsigned>> partsOf(const ori::Function& function, VRegId id) {
  const unsigned width = function.vreg(id).width;
  std::uint32_t joined = 0; // bit i: some operand uses the components i and i + 1
  for (const ori::Ref o : function.refs(id))
    for (unsigned i = o->sub; i + 1U < o->sub + std::max<unsigned>(o->width, 1); ++i)
      joined |= 1U << i;
  std::vector<std::pair<unsigned, unsigned>> parts{{0, 1}};
  for (unsigned i = 1; i < width; ++i)
    if ((joined >> (i - 1) & 1) != 0)
      ++parts.back().second;
    else
      parts.emplace_back(i, 1);
  return parts;
}

void split(ori::Function& function, VRegId id, const std::vector<std::pair<unsigned, unsigned>>& parts) {
  const VReg old = function.vreg(id);
  std::vector<isa::Operand> words;
  for (auto [start, width] : parts) {
    const VRegId part = function.newVReg(old.file, width, old.name);
    function.vreg(part).divergent = old.divergent;
    function.vreg(part).multiDef = old.multiDef;
    for (unsigned w = 0; w < width; ++w)
      words.push_back(ori::component(function.use(part), w));
  }
  renameWords(function, id, words);
}

} // namespace

void renameWords(ori::Function& function, VRegId from, std::span<const isa::Operand> words,
                 const std::function<void(ori::Ref, const isa::Operand&)>& set) {
  std::vector<ori::Ref> references;
  for (const ori::Ref o : function.refs(from))
    references.push_back(o);
  for (const ori::Ref o : references) {
    isa::Operand value = o->value();
    value.reg = words[o->sub].reg;
    value.sub = words[o->sub].sub;
    set(o, value);
  }
}

void renameWords(ori::Function& function, VRegId from, std::span<const isa::Operand> words) {
  renameWords(function, from, words, [&](ori::Ref o, const isa::Operand& value) { function.setOperand(o, value); });
}

bool splitComponents(ori::Function& function) {
  bool isChanged = false;
  const auto count = static_cast<VRegId>(function.vregCount());
  for (VRegId id = 0; id < count; ++id) {
    if (function.vreg(id).width < 2 || !function.vreg(id).hasRefs()) continue;
    const std::vector<std::pair<unsigned, unsigned>> parts = partsOf(function, id);
    if (parts.size() < 2) continue;
    split(function, id, parts);
    isChanged = true;
  }
  return isChanged;
}

} // namespace orias::phases
