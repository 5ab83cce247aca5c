#pragma once

#include <cstdint>
#include <string_view>

namespace orias::isa {

class Target;

/// The features of a chip's uniform datapath, from the literature on ptxas 13.0.
struct UniformFeatures {
  /// LDCU, which loads constants into uniform registers through the cache of the lanes.
  enum class LoadConstant : std::uint8_t { None, TextOnly, Full };
  bool hasRegisters = false; ///< UR0-UR62 and UP0-UP6
  bool hasInteger = false;   ///< UIADD3, UIMAD, ULOP3, UISETP, UMOV, UPRMT, USGXT, UPOPC, UBREV and related ones
  bool hasReduction = false; ///< REDUX: reduces the lanes into a uniform register
  bool hasFloat = false;     ///< UFADD, UFFMA, UFSEL, UFSETP
  LoadConstant loadConstant = LoadConstant::None;
};

UniformFeatures uniformFeatures(const Target& target);

/// Why LDCU must not be emitted; empty if it may be. For chips with TextOnly it may only be emitted if `isTextOnly`.
std::string_view loadConstantUniformProblem(const Target& target, bool isTextOnly);

} // namespace orias::isa
