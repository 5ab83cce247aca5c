#pragma once

#include "encoder/isa/codec.h"
#include "encoder/isa/print.h"
#include "encoder/isa/target.h"

namespace orias::isa {

/// The word that says on sm_90 what `word` says on sm_80, sm_86, sm_87, sm_88 and sm_89; nothing where sm_90 has no
/// such word or ours is not known. Most words are the same on all of them.
std::optional<Word> asSm90(const Word& word);

/// The other way round: the word that says on sm_80, sm_86, sm_87, sm_88 and sm_89 what `word` says on sm_90; nothing
/// where they have no such word. asSm90() of it does the same as `word`.
std::optional<Word> asSm80(const Word& word);

/// The word that says on sm_80 what `word` says on sm_75, which tells the order of memory accesses in another way;
/// nothing where sm_80 has no such word or ours is not known.
std::optional<Word> turingAsSm80(const Word& word);

/// The other way round.
std::optional<Word> asTuring(const Word& word);

/// Has a chip before sm_90 the instruction, under these modifiers? `isListed`: the table says so.
bool existedBefore(const Target& target, Op op, std::span<const std::uint8_t, kMaxMods> mods, bool isListed);

/// As decode(), for a word of that chip.
std::optional<Inst> decodeFor(const Target& target, const Word& word);

/// As print(), in the words of that chip: before sm_90 nvdisasm leaves out descriptors, and names some otherwise.
std::string printFor(const Target& target, const Inst& inst, const PrintOptions& options = {});

} // namespace orias::isa
