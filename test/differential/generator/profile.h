#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace orias::generator {

/// What a statement of a generated kernel is; a profile says how often each is chosen.
enum class Statement : std::uint8_t {
  Integer16,       ///< one instruction of the table, by the group of its row
  Integer32,       //
  Integer64,       //
  Unusual,         ///< what hardly any program uses: packed halves, dot products, odd roundings
  Miscompiled,     ///< what ptxas 13.0 gets wrong in some programs, or takes for undefined
  IntegerCast,     //
  Float32,         //
  Float64,         //
  FloatCast,       //
  Half,            ///< f16 and bf16 results, single or packed; every NaN becomes the same one
  HalfCast,        ///< of f16 and bf16, to something else
  Predicate,       //
  Carry,           ///< a chain of add.cc, addc …
  Pack,            ///< registers to halves and back
  Bits,            ///< the bits of a float, or a float of bits
  Fold,            ///< a value into the checksum
  Store,           ///< a value to a slot of its own
  If,              //
  Switch,          //
  UniformLoop,     //
  DivergentLoop,   //
  Goto,            ///< forward jumps, some into the middle of another region
  TwoEntryLoop,    ///< which threads enter apart; ptxas 13.0 counts on it in uniform registers that they come together
  Exit,            //
  Call,            //
  LoadInput,       //
  LoadTable,       ///< module variables: .const and .global with initialisers
  Scratch,         ///< loads and stores in the thread's own part of global memory
  Local,           ///< the same in .local
  OwnShared,       ///< the same in the thread's own part of .shared
  Exchange,        ///< through shared memory, with barriers
  SharedAtomic,    //
  Lock,            ///< each thread waits for a lock of the block, also for threads of its own warp
  GlobalAtomic,    //
  OwnAtomic,       ///< atomics on memory that only this thread has; the results are used
  Shuffle,         //
  Vote,            //
  ClusterExchange, ///< through the shared memory of the cluster's blocks, with its barriers
  ClusterAtomic,   //
  BigInteger,      ///< numbers of several words: rows of products, sums, and what is made of their carries
  Pointer,         ///< generic pointers to the thread's own memory: copied, selected, kept in the frame, used
  Frame,           ///< scalars and an array of the frame, by index
  PointerCall,     ///< functions that get pointers, some of which call themselves
  TensorAccess,    ///< stores to and loads from the warp's lanes of tensor memory
  TensorUnit,      ///< products, copies and shifts of tensor memory
  Count
};
inline constexpr std::size_t kStatements = static_cast<std::size_t>(Statement::Count);

/// What kind of kernels to make.
struct Profile {
  std::string_view name;
  std::array<std::uint8_t, kStatements> weights{};
  unsigned statements = 40; ///< at top level, at most
  unsigned depth = 2;       ///< of nesting
  std::uint8_t weight(Statement s) const { return weights[static_cast<std::size_t>(s)]; }
  /// Few values and statements, so that hundreds of programs are checked while one of another profile is.
  bool isSmall = false;
  /// Its kernels have generic pointers among their parameters.
  bool hasPointers() const { return weight(Statement::Pointer) != 0; }
  /// Its kernels run in clusters of several blocks, which there are from sm_90 on.
  bool hasClusters() const { return weight(Statement::ClusterExchange) != 0; }
  /// Its kernels allocate tensor memory, which sm_100a and its like have.
  bool hasTensorMemory() const { return weight(Statement::TensorUnit) != 0; }
  /// A chip that has all that its kernels need.
  std::string_view chip() const { return hasTensorMemory() ? "sm_100a" : "sm_90"; }
};

/// "integer", "control", "memory", "float", "half", "warp", "mixed", "cluster", "bignum", "lock", "tensor"; "unusual"
/// has the instructions that hardly any program uses, "alone" those on which nobody can count on ptxas 13.0.
std::span<const Profile> profiles();
/// Null when there is none of that name.
const Profile* findProfile(std::string_view name);

} // namespace orias::generator
