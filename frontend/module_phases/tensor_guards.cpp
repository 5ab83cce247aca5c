#include "frontend/module_phases/tensor_guards.h"

#include "frontend/module_phases/ptx_editor.h"
#include "frontend/tensor_guard_names.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace orias::ptx {

namespace {

/// The functions that trap, and the number of their arguments.
struct Trap {
  std::string_view name;
  unsigned parameters;
};
constexpr Trap kOutOfBounds{"access_out_of_physical_bounds", 2}; // column, instruction
constexpr Trap kUnallocated{"unallocated_columns_access", 3};    // column, allocated columns, instruction
constexpr Trap kOtherWarp{"current_warp_owner_invalid", 5};      // lane, warp, its first and last lane, is it a store
constexpr Trap kMisaligned{"invalid_datapath_alignment", 3};     // lane, matrix, whether lane 16 would be correct
constexpr Trap kSparseMismatch{"sparse_mismatch_between_idesc_mod", 2}; // sparsity: of descriptor, of instruction
constexpr Trap kPermitGone{"phase_invalid_during_alloc", 1};
constexpr Trap kBadCount{"allocation_granularity_invalid", 1};
constexpr Trap kFreesUnallocated{"unallocated_columns_being_dealloced", 2}; // column, allocated columns
constexpr Trap kFreesOther{"col_being_dealloced_not_returned_by_alloc", 2}; // bit of the group, firsts of allocations

// The functions' numbers for instructions and matrices.
enum AccessKind { kLoad, kStore, kCopy, kShift, kProduct, kAllocation, kDeallocation };
enum MatrixKind { kA, kD, kScaleA, kScaleB, kMetadata };

constexpr std::uint64_t kColumns = 512, kColumnBits = 0xffff, kLaneShift = 16, kGroupShift = 5;
/// Words of the records: the allocated groups of 32 columns, the groups that begin an allocation, and whether the CTA
/// has given up its permit.
constexpr std::int64_t kAllocated = 0x14, kFirsts = 0x18, kGivenUp = 0x1c;

Operand number(std::uint64_t value) {
  return Operand::integer(value, false);
}

/// Columns that a load or store accesses; for .16x32bx2 those of each half.
std::uint64_t columnsOfAccess(const Form& form) {
  static constexpr std::array kCounts{Mod::X1, Mod::X2, Mod::X4, Mod::X8, Mod::X16, Mod::X32, Mod::X64, Mod::X128};
  std::uint64_t columns = 1;
  for (std::size_t k = 0; k < kCounts.size(); ++k)
    if (form.has(kCounts[k])) columns <<= k;
  switch (form.get(Slot::TmemShape)) {
  case Mod::Shape16x64b: columns *= 2; break;
  case Mod::Shape16x128b: columns *= 4; break;
  case Mod::Shape16x256b: columns *= 8; break;
  default: break;
  }
  return form.has(Mod::Pack16b) || form.has(Mod::Unpack16b) ? 2 * columns : columns;
}

std::uint64_t columnsOfCopy(const Form& form) {
  const Mod shape = form.get(Slot::TmemShape);
  return shape == Mod::Shape128x256b || shape == Mod::Shape4x256b ? 8 : 4;
}

/// Writes the checks of one function.
class GuardWriter {
 public:
  GuardWriter(Module& module, std::uint32_t function, const FormTable& forms, PtxEditor& editor, std::uint32_t records)
      : module_(module), function_(function), forms_(forms), editor_(editor), records_(records) {}

  bool run() {
    bool hasChecked = false;
    const auto count = static_cast<std::uint32_t>(f().statements.size());
    for (at_ = 0; at_ < count; ++at_) {
      if (f().statements[at_].kind != StatementKind::Instruction) continue;
      like_ = f().instructions[f().statements[at_].index];
      hasChecked |= check(forms_.form(like_));
    }
    editor_.finish(f());
    return hasChecked;
  }

 private:
  Function& f() { return module_.functions[function_]; }

  bool check(const Form& form) {
    const auto span = f().operandsOf(like_);
    const std::vector<Operand> ops(span.begin(), span.end());
    switch (form.op) {
    case Op::Tcgen05Ld: checkAccess(form, ops[1], kLoad); return true;
    case Op::Tcgen05LdRed: checkAccess(form, ops[2], kLoad); return true;
    case Op::Tcgen05St: checkAccess(form, ops[0], kStore); return true;
    case Op::Tcgen05Cp: checkColumns(addressOf(ops[0]), number(columnsOfCopy(form)), kCopy); return true;
    case Op::Tcgen05Shift: checkColumns(addressOf(ops[0]), number(8), kShift); return true;
    case Op::Tcgen05Mma: checkProduct(form, ops); return true;
    case Op::Tcgen05Alloc: checkAllocation(ops[1]); return true;
    case Op::Tcgen05Dealloc: checkDeallocation(ops[0], ops[1]); return true;
    default: return false;
    }
  }

  // ---- Instructions

  Operand made(Type type, std::string_view base, const std::vector<std::string>& modifiers,
               std::initializer_list<Operand> sources) {
    std::vector<Operand> operands{Operand::reg(editor_.addRegister(f(), type, like_.loc))};
    operands.insert(operands.end(), sources);
    editor_.insertBefore(f(), at_, editor_.opcode(base, modifiers), operands, like_);
    return operands.front();
  }
  Operand word(std::string_view base, std::string_view type, std::initializer_list<Operand> sources) {
    return made(Type::B32, base, {std::string(type)}, sources);
  }
  Operand bitsOf(const Operand& value, std::uint64_t shift, std::uint64_t mask) {
    const Operand moved = shift == 0 ? value : word("shr", "u32", {value, number(shift)});
    return word("and", "b32", {moved, number(mask)});
  }
  Operand sum(const Operand& a, const Operand& b) { return word("add", "u32", {a, b}); }
  Operand compared(std::string_view how, const Operand& a, const Operand& b) {
    return made(Type::Pred, "setp", {std::string(how), "u32"}, {a, b});
  }
  Operand both(const Operand& a, const Operand& b) { return made(Type::Pred, "and", {"pred"}, {a, b}); }
  Operand either(const Operand& a, const Operand& b) { return made(Type::Pred, "or", {"pred"}, {a, b}); }
  Operand inverse(const Operand& a) { return made(Type::Pred, "not", {"pred"}, {a}); }

  Operand addressOf(const Operand& operand) {
    switch (operand.addressBase()) {
    case OperandKind::Register: {
      const Operand base = Operand::reg(operand.registerId());
      return operand.offset() == 0 ? base : sum(base, number(static_cast<std::uint64_t>(operand.offset())));
    }
    case OperandKind::Variable: return word("mov", "u32", {Operand::variable(operand.variableId(), operand.offset())});
    default: return word("mov", "u32", {number(static_cast<std::uint64_t>(operand.offset()))});
    }
  }

  /// A word of the records, at its address in the shared memory of the cluster.
  Operand record(std::int64_t place, std::string_view type = "u32") {
    const Operand first = word("mov", "u32", {number(records_)}),
                  rank = word("mov", "u32", {Operand::special(SpecialRegister::ClusterCtaRank, Component::None)}),
                  at = made(Type::B32, "mapa", {"shared::cluster", "u32"}, {first, rank});
    return made(Type::B32, "ld", {"shared", std::string(type)}, {Operand::address(at.registerId(), place)});
  }

  /// Calls the function if `wrong` is true and the instruction executes.
  void trapIf(Operand wrong, const Trap& trap, std::initializer_list<Operand> arguments) {
    if (like_.guard != RegisterId::None) {
      const Operand guard = Operand::reg(like_.guard);
      wrong = both(wrong, like_.guardNegated ? inverse(guard) : guard);
    }
    const FunctionId callee = functionOf(trap);
    const auto first = static_cast<std::uint32_t>(f().operands.size());
    f().operands.insert(f().operands.end(), arguments);
    const std::array operands{Operand::function(callee),
                              Operand::group(OperandKind::List, first, static_cast<std::uint32_t>(arguments.size()))};
    editor_.insertBefore(f(), at_, editor_.opcode("call", {}), operands, like_);
    f().instructions.back().guard = wrong.registerId();
  }

  FunctionId functionOf(const Trap& trap) {
    const NameId name = module_.names.intern(fmt::format("{}{}", kTensorGuardPrefix, trap.name));
    const auto known = std::ranges::find(module_.functions, name, &Function::name);
    if (known != module_.functions.end())
      return FunctionId(static_cast<std::uint32_t>(known - module_.functions.begin()));
    const auto id = FunctionId(static_cast<std::uint32_t>(module_.functions.size()));
    Function made;
    made.name = name;
    made.loc = made.endLoc = like_.loc;
    made.hasBody = true;
    made.linkage = Linkage::Weak;
    for (unsigned k = 0; k < trap.parameters; ++k) {
      Variable v;
      v.name = module_.names.intern(fmt::format("{}_param_{}", module_.text(name), k));
      v.loc = like_.loc;
      v.owner = id;
      v.space = StateSpace::Param;
      v.type = Type::B32;
      v.align = 4;
      made.params.push_back({VariableId(static_cast<std::uint32_t>(module_.variables.size())), RegisterId::None});
      module_.variables.push_back(v);
    }
    for (const std::string_view base : {"trap", "ret"}) {
      Instruction i;
      i.opcode = editor_.opcode(base, {});
      i.loc = like_.loc;
      i.debugLoc = like_.debugLoc;
      made.statements.push_back({StatementKind::Instruction, static_cast<std::uint32_t>(made.instructions.size())});
      made.instructions.push_back(i);
    }
    module_.functions.push_back(std::move(made));
    return id;
  }

  // ---- Checks

  void checkBounds(const Operand& column, const Operand& last, AccessKind kind) {
    const Operand isFirst = compared("ge", column, number(kColumns)),
                  which = word("selp", "b32", {column, last, isFirst});
    trapIf(either(isFirst, compared("ge", last, number(kColumns))), kOutOfBounds, {which, number(kind)});
  }

  /// The lowest missing column that is not below `column`. Meaningless if no group is missing.
  Operand firstMissing(const Operand& missing, const Operand& column) {
    const Operand group = word("clz", "b32", {word("brev", "b32", {missing})});
    return word("max", "u32", {word("shl", "b32", {group, number(kGroupShift)}), column});
  }

  Operand without(const Operand& bits, const Operand& others) {
    return word("and", "b32", {bits, word("not", "b32", {others})});
  }

  /// A mask of `count` bits starting at `first`.
  Operand groupBits(const Operand& first, const Operand& count) {
    const Operand above = word("shl", "b32", {number(0xffffffff), count});
    return word("shl", "b32", {word("not", "b32", {above}), first});
  }

  void checkColumns(const Operand& address, const Operand& columns, AccessKind kind) {
    const Operand column = bitsOf(address, 0, kColumnBits),
                  more = columns.is(OperandKind::Int) ? number(columns.bits() - 1)
                                                      : sum(columns, number(~std::uint64_t{0})),
                  last = sum(column, more);
    checkBounds(column, last, kind);
    // From here on the columns are within bounds.
    const Operand first = word("shr", "u32", {column, number(kGroupShift)}),
                  after = sum(word("shr", "s32", {last, number(kGroupShift)}), number(1)),
                  bits = groupBits(first, word("sub", "u32", {after, first})), allocated = record(kAllocated),
                  missing = without(bits, allocated);
    trapIf(compared("ne", missing, number(0)), kUnallocated, {firstMissing(missing, column), allocated, number(kind)});
  }

  /// A warp can access the 32 lanes given by its number in the CTA modulo 4.
  void checkAccess(const Form& form, const Operand& operand, AccessKind kind) {
    const Operand address = addressOf(operand);
    checkColumns(address, number(columnsOfAccess(form)), kind);
    const auto special = [&](SpecialRegister reg, Component part) {
      return word("mov", "u32", {Operand::special(reg, part)});
    };
    Operand thread = special(SpecialRegister::Tid, Component::Z);
    for (const Component part : {Component::Y, Component::X})
      thread = made(Type::B32, "mad", {"lo", "u32"},
                    {thread, special(SpecialRegister::Ntid, part), special(SpecialRegister::Tid, part)});
    constexpr std::uint64_t kWarpShift = 5, kWarps = 3, kLastLane = 31;
    const Operand warp = word("shr", "u32", {thread, number(kWarpShift)}), own = bitsOf(warp, 0, kWarps),
                  lane = word("shr", "u32", {address, number(kLaneShift)}),
                  first = word("shl", "b32", {own, number(kWarpShift)});
    trapIf(compared("ne", bitsOf(lane, kWarpShift, kWarps), own), kOtherWarp,
           {lane, warp, first, sum(first, number(kLastLane)), number(kind == kStore ? 1 : 0)});
  }

  /// Each matrix begins in lane 0. A matrix with half as many rows as lanes may also begin in lane 16 of each 32.
  void checkAlignment(const Form& form, const Operand& address, const Operand& descriptor, MatrixKind matrix) {
    constexpr std::uint64_t kLaneBits = 0x1f, kHalf = 16;
    const Operand lane = bitsOf(address, kLaneShift, kLaneBits), isOther = compared("ne", lane, number(0));
    const bool isPair = form.get(Slot::CtaGroup) == Mod::CtaGroup2,
               mayBeHalf = isPair ? form.get(Slot::Sparsity) != Mod::None : !form.has(Mod::Ws);
    if (!mayBeHalf) {
      trapIf(isOther, kMisaligned, {lane, number(matrix), number(0)});
      return;
    }
    constexpr std::uint64_t kRowsShift = 24, kRowsBits = 0x1f; // of the descriptor, in units of 16
    const std::uint64_t rows = isPair ? 8 : 4;
    const Operand isWhole = compared("ne", bitsOf(descriptor, kRowsShift, kRowsBits), number(rows)),
                  isNoHalf = either(isWhole, compared("ne", lane, number(kHalf)));
    trapIf(both(isOther, isNoHalf), kMisaligned,
           {lane, number(matrix), word("selp", "b32", {number(0), number(1), isWhole})});
  }

  void checkMatrix(const Form& form, const Operand& operand, const Operand& columns, const Operand& descriptor,
                   MatrixKind matrix) {
    const Operand address = addressOf(operand);
    checkColumns(address, columns, kProduct);
    checkAlignment(form, address, descriptor, matrix);
  }

  void checkProduct(const Form& form, const std::vector<Operand>& ops) {
    const bool isSparse = form.get(Slot::Sparsity) != Mod::None;
    std::size_t next = 3;
    const Operand* metadata = isSparse ? &ops[next++] : nullptr;
    const Operand descriptor = word("mov", "b32", {ops[next++]});
    constexpr std::uint64_t kWidthShift = 17, kWidthBits = 0x3f, kSparseShift = 2; // the width in units of 8
    const Operand width = bitsOf(descriptor, kWidthShift, kWidthBits);
    checkMatrix(form, ops[0], word("shl", "b32", {width, number(3)}), descriptor, kD);
    const Operand isDescribedSparse = bitsOf(descriptor, kSparseShift, 1), wanted = number(isSparse ? 1 : 0);
    trapIf(compared("ne", isDescribedSparse, wanted), kSparseMismatch, {isDescribedSparse, wanted});
    if (ops[1].is(OperandKind::Address)) checkMatrix(form, ops[1], number(8), descriptor, kA);
    if (ops[next].is(OperandKind::Address)) {
      checkMatrix(form, ops[next], number(4), descriptor, kScaleA);
      // Two columns for each 64 of B.
      const Operand parts = word("shr", "u32", {sum(width, number(7)), number(3)});
      checkMatrix(form, ops[next + 1], word("shl", "b32", {parts, number(1)}), descriptor, kScaleB);
    }
    if (metadata != nullptr) checkMatrix(form, *metadata, number(2), descriptor, kMetadata);
  }

  void checkAllocation(const Operand& columns) {
    const Operand givenUp = record(kGivenUp, "u8");
    trapIf(compared("ne", givenUp, number(0)), kPermitGone, {givenUp});
    const Operand count = word("mov", "b32", {columns}), last = sum(count, number(~std::uint64_t{0}));
    trapIf(compared("ge", last, number(kColumns)), kOutOfBounds, {last, number(kAllocation)});
    trapIf(compared("ne", word("popc", "b32", {count}), number(1)), kBadCount, {count});
  }

  void checkDeallocation(const Operand& address, const Operand& columns) {
    const Operand count = word("mov", "b32", {columns}), column = bitsOf(address, 0, kColumnBits),
                  last = sum(sum(column, number(~std::uint64_t{0})), count);
    checkBounds(column, last, kDeallocation);
    const Operand first = word("shr", "u32", {column, number(kGroupShift)}),
                  bits = groupBits(first, word("shr", "u32", {count, number(kGroupShift)})),
                  allocated = record(kAllocated), missing = without(bits, allocated);
    trapIf(compared("ne", missing, number(0)), kFreesUnallocated, {firstMissing(missing, column), allocated});
    const Operand bit = word("shl", "b32", {number(1), first}), firsts = record(kFirsts);
    trapIf(compared("ne", without(bit, firsts), number(0)), kFreesOther, {bit, firsts});
  }

  Module& module_;
  const std::uint32_t function_;
  const FormTable& forms_;
  PtxEditor& editor_;
  const std::uint32_t records_;
  std::uint32_t at_ = 0; ///< the statement being checked
  Instruction like_;     ///< its instruction
};

} // namespace

bool guardTensorMemory(Module& module, const FormTable& forms, std::uint32_t records) {
  PtxEditor editor(module);
  bool hasChecked = false;
  const auto count = static_cast<std::uint32_t>(module.functions.size());
  for (std::uint32_t f = 0; f < count; ++f)
    if (module.functions[f].hasBody) hasChecked |= GuardWriter(module, f, forms, editor, records).run();
  return hasChecked;
}

} // namespace orias::ptx
