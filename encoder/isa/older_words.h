#pragma once

#include "encoder/isa/codec.h"
#include "encoder/isa/target.h"

namespace orias::isa {

/// The word that says on sm_90 what `word` says on sm_80, sm_86, sm_87 and sm_89; nothing where sm_90 has no such word
/// or ours is not known. Most words are the same on all of them.
std::optional<Word> asSm90(const Word& word);

/// As decode(), for a word of that chip. Chips before sm_80 order their memory accesses by other bits: nothing of
/// theirs is decoded.
std::optional<Inst> decodeFor(const Target& target, const Word& word);

} // namespace orias::isa
