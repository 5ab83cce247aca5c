#pragma once

#include "test/differential/generator/profile.h"
#include "test/differential/generator/random.h"
#include "test/differential/generator/values.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace orias::generator {

struct Row;

/// A device function that has been generated.
struct Callee {
  std::string name;
  std::vector<Kind> parameters;
  Kind result = Kind::B32;
};

/// A device function with two pointers and a number as parameters.
struct PointerCallee {
  std::string name;
  bool givesPointer = false; ///< returns one of its pointers; else a number
};

/// State that the functions of a module share.
struct ModuleText {
  std::string suffix; ///< of every name at module scope
  std::string functions;
  std::vector<Callee> callees;
  std::vector<PointerCallee> pointerCallees;
  unsigned threads = 32;         ///< of a block
  unsigned clusterBlocks = 0;    ///< of a cluster; 0: no clusters
  std::string directives;        ///< between the parameters of the kernel and its body
  bool knowsBlock = false;       ///< the directives contain the shape of the block
  unsigned tensorCommits = 0;    ///< number of waits for the unit of tensor memory
  unsigned recordBytes = 0;      ///< of a thread's record in the output buffer
  unsigned accumulatorBytes = 0; ///< of the buffer of the atomics
  bool usesLocal = false, usesShared = false, usesPointers = false;
  std::string pointerParameters; ///< of the kernel, with the comma before them
};
/// Bytes from one thread's record to the next.
unsigned recordBytes(const ModuleText& module);

struct AtomicForm {
  const char* operation; ///< "add.u32"
  Kind kind;
};

/// The mask of a whole warp.
inline constexpr const char* kAllLanes = "0xffffffff";

/// The context of the current position in the text.
struct Context {
  bool blockUniform = true;              ///< all threads of the block are converged: barriers are allowed
  std::string mask;                      ///< exactly these lanes of the warp are converged; empty: unknown
  bool mayExit = true;                   ///< a thread may exit here: no thread waits for it
  unsigned depth = 0;                    ///< of nesting
  unsigned repetitions = 1;              ///< maximum number of executions
  std::string breakLabel, continueLabel; ///< of a loop that threads may leave one by one
};

/// Writes the body of one function. Its statements only read initialized values, terminate, and give the same values
/// for any correct compilation.
class FunctionWriter {
 public:
  FunctionWriter(std::uint64_t seed, const Profile& profile, ModuleText& module, bool isKernel);

  /// kernel() returns the text of a kernel with its parameters. deviceFunction() adds a device function to the module
  /// and its callees.
  std::string kernel(const std::string& name);
  void deviceFunction(const std::string& name);

 private:
  // Text, registers and operands.
  template <typename... Args> void emit(fmt::format_string<Args...> format, Args&&... args) {
    code_ += "  ";
    fmt::format_to(std::back_inserter(code_), format, std::forward<Args>(args)...);
    code_ += ";\n";
  }
  void label(const std::string& name) { code_ += name + ":\n"; }
  std::string newLabel() { return fmt::format("L{}", labels_++); }
  /// A new register, which is not in a pool.
  std::string fresh(Kind kind);
  Value& addValue(Kind kind, std::string name, bool uniform, bool fixed = false);
  /// A value to read: a register, or sometimes (numbers only) a literal.
  std::string read(Kind kind);
  std::string readRegister(Kind kind);
  std::string readPredicate(bool mayNegate);
  /// A predicate with the same value in all threads of the block; empty if there is none.
  std::string uniformPredicate();
  std::string literal(Kind kind);
  /// A divisor that is not zero.
  std::string divisor(Kind kind);
  /// A number 0 … `most`, or a register that contains one; `most` + 1 is a power of two.
  std::string bounded(unsigned most);
  /// The operand that slct compares with zero.
  std::string selector();
  /// The value of a register, at least `least`.
  std::string notLowest(Kind kind, std::int64_t least);
  /// The value of a register, changed differently for each lane.
  std::string ofThread();
  /// A number; NaNs are replaced with the one whose sign is known.
  std::string withKnownSign(Kind kind);
  /// The operand for a letter of instruction_table.cpp.
  std::string operand(char letter);
  /// The register for a result: a new or an overwritten value. Must be called after the operands have been read.
  std::string result(Kind kind);
  /// Sometimes a guard "@%p1 " and the old value that must be the result; otherwise both are empty.
  std::pair<std::string, std::string> guard(Kind kind);
  std::string overwritable(Kind kind);
  std::string declarations() const;

  // Blocks and statements.
  void block(const Context& inner, unsigned statements);
  unsigned innerStatements() { return random_.between(1, context().depth < 2 ? 5 : 3); }
  void statement();
  void write(Statement statement);
  bool possible(Statement statement) const;
  void tableInstruction(Statement group);
  Context& context() { return contexts_.back(); }
  const Context& context() const { return contexts_.back(); }
  Context inner() const;
  /// Threads may have exited: barriers and warp operations must not depend on them any more.
  void forgetThreads();

  // arithmetic.cpp
  void carryChain();
  void pack();
  void bits();
  std::string canonicalBits(Kind kind, const std::string& value);
  std::string wide(Kind kind, const std::string& value);
  void fold();
  void canonicalHalves(const Row& row, const std::string& value);
  void foldValue(Kind kind, const std::string& value);

  // big_integer.cpp
  void bigInteger();
  std::vector<std::string> copies(unsigned count);
  /// Sometimes adds an instruction that is not part of the chain on these words.
  void beside(const std::vector<std::string>& words);
  void productRow(std::vector<std::string>& acc, const std::vector<std::string>& a, std::size_t offset);
  void sumRow(std::vector<std::string>& acc, const std::vector<std::string>& a);
  void splitProduct(std::vector<std::string>& acc);
  void wideProduct();

  // control.cpp
  void branch();
  void switchStatement();
  void uniformLoop();
  void divergentLoop();
  void gotoStatement();
  void twoEntryLoop();
  void leaveLoop();
  void exitStatement();
  void call();

  // memory.cpp
  void store();
  void storeValue(Kind kind, const std::string& value);
  void loadInput();
  void loadTable();
  void ownMemory(Statement where);
  void storeTo(const std::string& space, const std::string& address, unsigned bytes);
  void loadFrom(const std::string& space, const std::string& address, unsigned bytes, bool readOnly);
  void exchange();
  void readNeighbor();

  // pointers.cpp
  void pointerStatement();
  void frameStatement();
  void pointerCall();
  void pointerFunction(PointerCallee& callee);
  /// One of the registers that hold pointers.
  std::string pointer();
  std::string pointerDeclarations() const;
  std::string pointerAddresses() const;
  void showPlaces();

  // atomic.cpp
  const AtomicForm& commutativeForm();
  void sharedAtomic();
  void lock();
  void globalAtomic();
  void commutativeAtomic(const char* space, const std::string& address, std::string_view operation, Kind kind);
  void ownAtomic();

  // cluster.cpp
  void clusterExchange();
  void clusterAtomic();
  void clusterBarrier();
  /// The rank of a block in the cluster: at the same distance for all threads, or (`differsInBlock`) any.
  std::string otherRank(bool differsInBlock);
  /// The state space and address of a slot in the shared memory of another block.
  std::pair<const char*, std::string> inOtherBlock(const std::string& address, const std::string& rank);

  // tensor.cpp
  void tensorAccess();
  void tensorUnit();
  void tensorProduct(bool isFirst, bool ofBytes);
  void tensorCopy();
  void tensorShift();
  std::string matrixDescriptor(unsigned rows);
  std::string tensorAllocation() const;
  void tensorRelease();

  // warp.cpp
  void shuffle();
  void vote();

  // function_text.cpp
  void firstValues();
  void showValues();
  std::string addresses() const;

  Random random_;
  const Profile& profile_;
  ModuleText& module_;
  const bool isKernel_;
  std::string code_;
  unsigned registers_[kKindCount] = {};
  unsigned labels_ = 0;
  Values values_;
  std::vector<Context> contexts_;
  bool readUniform_ = true; ///< everything that was read since the last result was uniform
};

} // namespace orias::generator
