#pragma once

#include "encoder/isa/codec.h"
#include "encoder/isa/print.h"
#include "encoder/isa/target.h"

namespace orias::isa {

/// Translates a word of sm_80, sm_86, sm_87, sm_88 and sm_89 to sm_90; nullopt if sm_90 has no equivalent or the word
/// is unknown. Most words are the same on all of these chips.
std::optional<Word> asSm90(const Word& word);

/// Translates a word of sm_90 to sm_80, sm_86, sm_87, sm_88 and sm_89; nullopt if they have no equivalent. asSm90() of
/// the result is equivalent to `word`.
std::optional<Word> asSm80(const Word& word);

/// Translates a word of sm_75, which encodes memory orders differently, to sm_80; nullopt if sm_80 has no equivalent or
/// the word is unknown.
std::optional<Word> turingAsSm80(const Word& word);

/// Translates a word of sm_80 to sm_75; nullopt if sm_75 has no equivalent.
std::optional<Word> asTuring(const Word& word);

/// Decodes a word of `target`.
std::optional<Inst> decodeFor(const Target& target, const Word& word);

/// Prints as nvdisasm does for `target`: before sm_90 it omits descriptors and uses other names for some instructions.
std::string printFor(const Target& target, const Inst& inst, const PrintOptions& options = {});

} // namespace orias::isa
