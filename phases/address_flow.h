#pragma once

#include "ori/function.h"
#include "phases/knobs.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace orias::phases {

/// The spaces that a generic address may be in; `kElsewhere`: unknown.
enum SpaceBit : std::uint8_t { kInGlobal = 1, kInShared = 2, kInConst = 4, kInLocal = 8, kElsewhere = 16 };
using SpaceSet = std::uint8_t;

/// The possible values of a 32-bit register: a set, which grows at control-flow joins. Empty: undefined.
///
/// Adding numbers to a generic address keeps its space: each variable of PTX has its window, and an access outside of
/// the variable that an address was made from is undefined. Only the difference of two generic addresses could reach
/// another space, so differences are tracked, too.
struct AddressWord {
  static constexpr std::uint32_t kNoObject = ~0u, kSeveralObjects = ~0u - 1;
  enum Bit : std::uint16_t {
    kNumber = 1,     ///< computed from no generic address
    kUnknown = 2,    ///< a plain number, or half of a generic address in any space: loaded, passed, returned
    kDifference = 4, ///< any value, including differences of generic addresses
    kFrame = 8,      ///< a local address: `object` plus a number
    kShared = 16,    ///< a shared address of this CTA
    kLow = 32,       ///< four bits: the low word of a generic address, by space in the order of SpaceBit
    kHigh = 512,     ///< four bits: its high word
    kWindow = 8192   ///< three bits, for shared, constant and local: the window base of the space
  };
  std::uint16_t bits = 0;
  /// May also be a small number. No variable is there, so an access through this word does not use that number.
  bool mayBeNull = false;
  bool isExact = false;             ///< `offset` is known: of a number, its value; of an address, from its object
  std::uint32_t object = kNoObject; ///< the object of the frame that it may be an address of
  std::int64_t offset = 0;

  friend bool operator==(const AddressWord&, const AddressWord&) = default;
};

/// A load or store that may touch an object of the frame.
struct FrameAccess {
  ori::Instr* instr = nullptr;
  std::uint32_t object = 0;
  std::int64_t offset = 0;
  std::uint32_t bytes = 0;
  bool isStore = false;
  bool isExact = false; ///< it accesses exactly these bytes; otherwise any part of the object, or none
  bool isSure = false;  ///< it accesses no other memory
};

/// Follows addresses through a function in SSA form from their definitions to their uses: through copies, additions,
/// selects, phis, and stores to and loads from objects of the frame whose address does not leave the function. A union
/// over all paths, to a fixed point.
class AddressFlow {
 public:
  struct Assumptions {
    bool tracksMemory = true;            ///< addresses are followed through the frame (knob TrackIndirLoad)
    bool paramsAreGlobal = false;        ///< knob ParamAlwaysPointToGlobal
    bool constPointersAreGlobal = false; ///< knob StrongGlobalAssumptions
  };
  AddressFlow(ori::Function& function, const Assumptions& assumptions);

  /// The possible values of component `index` of an operand.
  AddressWord wordOf(const isa::Operand& operand, unsigned index = 0) const;
  /// The spaces that an access by the register pair may reach.
  SpaceSet spacesOf(const isa::Operand& pair) const;
  /// Whether the pair may also be a null pointer.
  bool mayBeNull(const isa::Operand& pair) const { return wordOf(pair, 0).mayBeNull || wordOf(pair, 1).mayBeNull; }

  /// Why the address of an object cannot be followed to all its uses; null if it can.
  const char* obstacle(std::uint32_t object) const { return objects_[object].obstacle; }
  const ori::Instr* obstacleAt(std::uint32_t object) const { return objects_[object].at; }
  /// In code order, for objects without an obstacle.
  std::span<const FrameAccess> accesses() const { return accesses_; }

 private:
  /// A register pair.
  struct Pair {
    AddressWord low, high;
  };
  struct Object {
    const char* obstacle = nullptr;
    const ori::Instr* at = nullptr;
    std::map<std::int64_t, AddressWord> words; ///< the values stored there, by offset
    AddressWord anywhere;                      ///< stored at an unknown offset
    std::vector<ori::Instr*> loads;            ///< the loads that have read it
  };
  /// The target of an access.
  struct Target {
    bool isReached = false; ///< false: the address is still undefined
    std::uint32_t object = AddressWord::kNoObject;
    bool isSure = false; ///< the access reaches the object only
    bool isExact = false;
    std::int64_t offset = 0;
  };

  void solve();
  void enqueue(ori::Instr* instr);
  void visit(ori::Instr& instr);
  bool visitKnown(ori::Instr& instr);
  void visitPhi(ori::Instr& phi);
  void visitSum(ori::Instr& sum);
  bool visitProduct(ori::Instr& instr);
  bool visitAlignment(ori::Instr& instr);
  void visitOther(ori::Instr& instr);
  void visitLoad(ori::Instr& instr);
  void visitStore(ori::Instr& instr);
  void setWord(const isa::Operand& result, unsigned index, const AddressWord& value);
  void setPair(const isa::Operand& result, const Pair& value);
  bool join(AddressWord& known, const AddressWord& more, const ori::Instr& where);
  void publish(const AddressWord& value, const ori::Instr& where, const char* why);
  void escape(std::uint32_t object, const ori::Instr& where, const char* why);
  Pair pairOf(const isa::Operand& operand) const;
  Pair sumOfPairs(const ori::Instr& where, Pair a, bool isANegative, Pair b, bool isBNegative);
  AddressWord sumOfWords(const ori::Instr& where, std::span<const AddressWord> terms, std::span<const bool> negative);
  AddressWord unknown() const;
  AddressWord unknownPairWord() const;
  AddressWord fromConstantBank(std::int64_t bank, std::int64_t offset, unsigned index) const;
  AddressWord symbolWord(std::uint32_t symbol, unsigned index) const;
  Target targetOf(const ori::Instr& instr) const;
  void findAccesses();

  ori::Function& function_;
  const Assumptions assumptions_;
  std::vector<std::uint32_t> first_; // the first component of each register
  std::vector<AddressWord> words_;   // by component
  std::vector<Object> objects_;      // by number in the frame
  std::vector<ori::Instr*> work_;
  std::vector<bool> isInWork_;  // by instruction id
  std::vector<bool> hasLooked_; // likewise: loads in Object::loads
  const ori::Instr* current_ = nullptr;
  /// A value from memory may be the difference of two generic addresses: this function stores one, or other code may
  /// have stored one.
  bool loadsDifferences_ = false;
  std::vector<FrameAccess> accesses_;
};

AddressFlow::Assumptions addressAssumptions(const Knobs& knobs);

/// Whether this is a plain load or store of local or generic memory: its operands show its effect on the frame.
bool isFrameAccess(const ori::Instr& instr);

} // namespace orias::phases
