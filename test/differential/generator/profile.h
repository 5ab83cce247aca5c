#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace orias::generator {

/// The kinds of statements of a generated kernel. A profile determines their frequencies.
enum class Statement : std::uint8_t {
  Integer16,       ///< one instruction of the table, by the group of its row
  Integer32,       //
  Integer64,       //
  Unusual,         ///< rarely used instructions: packed halves, dot products, unusual roundings
  Miscompiled,     ///< instructions that ptxas 13.0 miscompiles in some programs, or treats as undefined
  IntegerCast,     //
  Float32,         //
  Float64,         //
  FloatCast,       //
  Half,            ///< f16 and bf16 results, single or packed; NaNs are canonicalized
  HalfCast,        ///< conversions from f16 and bf16
  Predicate,       //
  Carry,           ///< a chain of add.cc, addc …
  Pack,            ///< registers to halves and back
  Bits,            ///< the bits of a float, or a float of bits
  Fold,            ///< a value into the checksum
  Store,           ///< a value to a new slot
  If,              //
  Switch,          //
  UniformLoop,     //
  DivergentLoop,   //
  Goto,            ///< forward jumps, some into the middle of another region
  TwoEntryLoop,    ///< that threads enter separately; ptxas 13.0 assumes in uniform registers that they are converged
  Exit,            //
  Call,            //
  LoadInput,       //
  LoadTable,       ///< module variables: .const and .global with initializers
  Scratch,         ///< loads and stores in the thread's own part of global memory
  Local,           ///< loads and stores in .local
  OwnShared,       ///< loads and stores in the thread's own part of .shared
  Exchange,        ///< through shared memory, with barriers
  SharedAtomic,    //
  Lock,            ///< each thread waits for a lock of the block, which threads of its warp may hold
  GlobalAtomic,    //
  OwnAtomic,       ///< atomics on memory of this thread only; the results are used
  Shuffle,         //
  Vote,            //
  ClusterExchange, ///< through the shared memory of the cluster's blocks, with its barriers
  ClusterAtomic,   //
  BigInteger,      ///< multi-word numbers: rows of products, sums, and uses of their carries
  Pointer,         ///< generic pointers to the thread's own memory: copied, selected, kept in the frame, used
  Frame,           ///< scalars and an array of the frame, by index
  PointerCall,     ///< functions with pointer parameters, some of them recursive
  TensorAccess,    ///< stores to and loads from the warp's lanes of tensor memory
  TensorUnit,      ///< products, copies and shifts of tensor memory
  Count
};
inline constexpr std::size_t kStatements = static_cast<std::size_t>(Statement::Count);

/// The kind of kernels to generate.
struct Profile {
  std::string_view name;
  std::array<std::uint8_t, kStatements> weights{};
  unsigned statements = 40; ///< at top level, at most
  unsigned depth = 2;       ///< of nesting
  std::uint8_t weight(Statement s) const { return weights[static_cast<std::size_t>(s)]; }
  /// Few values and statements, so that hundreds of programs take the time of one of another profile.
  bool isSmall = false;
  /// Its kernels have generic pointers among their parameters.
  bool hasPointers() const { return weight(Statement::Pointer) != 0; }
  /// Its kernels run in clusters of several blocks (from sm_90 on).
  bool hasClusters() const { return weight(Statement::ClusterExchange) != 0; }
  /// Its kernels allocate tensor memory (sm_100a and related chips).
  bool hasTensorMemory() const { return weight(Statement::TensorUnit) != 0; }
  /// A chip with all features that its kernels need.
  std::string_view chip() const { return hasTensorMemory() ? "sm_100a" : "sm_90"; }
};

/// "integer", "control", "memory", "float", "half", "warp", "mixed", "cluster", "bignum", "lock", "tensor"; "unusual"
/// has rarely used instructions, "alone" those that ptxas 13.0 does not compile reliably.
std::span<const Profile> profiles();
/// Null if there is none of that name.
const Profile* findProfile(std::string_view name);

} // namespace orias::generator
