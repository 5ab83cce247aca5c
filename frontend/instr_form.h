#pragma once

#include "frontend/types.h"

#include <array>
#include <bitset>
#include <cstdint>
#include <string_view>

// The meaning of an opcode with its modifiers: the operation and the modifiers in typed slots. Lowering uses only this.

namespace orias::ptx {

/// The operation: the leading, ordered part of an opcode (`ld`, `cp.async.bulk`); see instr_ops.def.
enum class Op : std::uint16_t {
  None,
#define PTX_OP(name, text) name,
#define PTX_ALIAS(name, text)
#include "frontend/instr_ops.def"
};

/// A modifier that is neither a type nor a matrix shape; see instr_modifiers.def.
enum class Mod : std::uint16_t {
  None,
#define PTX_MOD(name, text, slot) name,
#include "frontend/instr_modifiers.def"
  Count_,
};
inline constexpr std::size_t kModCount = static_cast<std::size_t>(Mod::Count_);

/// The slot of a modifier. Each holds at most one modifier of an opcode; flags are queried only by Form::has().
enum class Slot : std::uint8_t {
  Flag,
  Rounding,  ///< rn rz rm rp, rni …; also approx and full
  Mode,      ///< lo hi wide, clamp wrap, up down bfly idx, all any uni ballot, …: variants of the operation
  Part,      ///< a letter: wmma.load.a, tld4.r, suld.b, shf.l
  Compare,   ///< eq ne … (`lo` and `hi` too when they compare)
  BoolOp,    ///< and or xor of set and setp, lop3, bar.red
  Action,    ///< of atom, red, redux, multimem, bulk reductions; the second operation of a video instruction
  Space,     ///< state space; for a copy: the destination
  Space2,    ///< for a copy: the source
  Semantics, ///< weak volatile relaxed acquire release acq_rel sc
  Scope,     ///< cta cluster gpu sys gl
  Cache,     ///< ca cg cs lu cv wb wt
  EvictL1,
  EvictL2,
  EvictL2Second, ///< createpolicy's second priority
  Prefetch,      ///< L2::64B …
  Vector,        ///< v2 v4 v8
  Level,         ///< L1 L2
  Accumulator,   ///< acc::f16 acc::f32
  Proxy,
  SyncRestrict,
  Completion, ///< bulk_group, mbarrier::complete_tx::bytes, mbarrier::arrive::one
  Multicast,
  LoadMode, ///< tile, im2col …
  CtaGroup,
  Field,  ///< tensormap.replace
  Layout, ///< row col; of matrix A
  LayoutB,
  Count, ///< x1 x2 … x128
  Sparsity,
  Format, ///< b8x16; of the destination
  Format2,
  Kind,
  ScaleVector,
  TmemShape,
  Collector,
  Geometry, ///< 1d … a2dms
  Mipmap,   ///< base level grad
  Query,
  Scale, ///< shr7 shr15
  Count_,
};
inline constexpr std::size_t kSlotCount = static_cast<std::size_t>(Slot::Count_);

/// `m16n8k16`; k is 0 in `m8n8`.
struct MatrixShape {
  std::uint16_t m = 0;
  std::uint16_t n = 0;
  std::uint16_t k = 0;
  explicit operator bool() const { return m != 0; }
  friend bool operator==(MatrixShape, MatrixShape) = default;
};

/// A resolved opcode.
class Form {
 public:
  Op op = Op::None; ///< None: there is no such instruction (already reported)
  MatrixShape shape;

  /// The i-th type of the opcode, from the left: `cvt.f32.s8` has F32 and S8. None past the last.
  Type type(unsigned i = 0) const { return i < types_.size() ? types_[i] : Type::None; }
  unsigned typeCount() const { return typeCount_; }

  bool has(Mod mod) const { return set_.test(static_cast<std::size_t>(mod)); }
  Mod get(Slot slot) const { return slots_[static_cast<std::size_t>(slot)]; }

  Mod rounding() const { return get(Slot::Rounding); }
  Mod mode() const { return get(Slot::Mode); }
  Mod compare() const { return get(Slot::Compare); }
  Mod boolOp() const { return get(Slot::BoolOp); }
  Mod action() const { return get(Slot::Action); }
  Mod semantics() const { return get(Slot::Semantics); }
  Mod scope() const { return get(Slot::Scope); }
  Mod cache() const { return get(Slot::Cache); }
  bool ftz() const { return has(Mod::Ftz); }
  bool sat() const { return has(Mod::Sat); }
  /// The state space, StateSpace::None for generic; `get(Slot::Space)` has the sub-space of .shared or .param.
  StateSpace space() const { return stateSpaceOf(get(Slot::Space)); }
  StateSpace space2() const { return stateSpaceOf(get(Slot::Space2)); }
  /// 1 without `.v2`, `.v4`, `.v8`.
  unsigned vectorSize() const;

  static StateSpace stateSpaceOf(Mod mod);

  /// Sets the modifier of a slot.
  void replace(Mod mod, Slot slot);

  // For the matcher.
  void add(Mod mod, Slot slot);
  void addType(Type type);

 private:
  std::uint8_t typeCount_ = 0;
  std::array<Type, 5> types_{};
  std::array<Mod, kSlotCount> slots_{};
  std::bitset<kModCount> set_;
};

/// `cp.async.bulk`; empty for None.
std::string_view opName(Op op);
/// The text without the dot; empty for None.
std::string_view modName(Mod mod);

} // namespace orias::ptx
