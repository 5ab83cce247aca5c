#pragma once

#include "tools/emulator/address_space.h"
#include "tools/emulator/launch_stats.h"
#include "tools/emulator/operation.h"
#include "tools/emulator/race_check.h"
#include "tools/emulator/timing.h"
#include "tools/emulator/warp.h"
#include "tools/launch/device_runtime.h"
#include "tools/launch/driver_functions.h"
#include "tools/launch/gradient_function.h"
#include "tools/launch/launch.h"
#include "tools/launch/tensor_map.h"
#include "tools/launch/tensor_product.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

namespace orias::emu {

inline constexpr std::uint32_t kCtaBarriers = encoder::kNamedBarriers;

/// A barrier of the CTA.
struct CtaBarrier {
  std::uint32_t needed = 0;         ///< threads; 0: all of the CTA
  std::uint32_t arrived = 0;        ///< threads of complete warps
  std::vector<std::uint32_t> lanes; ///< by warp: lanes that have arrived since the warp was last complete
  std::vector<bool> complete;       ///< by warp
  std::uint32_t trueCount = 0;      ///< BAR.RED: threads whose predicate was true
  bool allTrue = true;
  std::uint32_t phase = 0; ///< number of completed phases
};

/// A running CTA of the cluster.
struct Cta {
  launch::Dim3 id;
  std::uint32_t rank = 0; ///< in the cluster
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<CtaBarrier, kCtaBarriers> barriers;
  FlatMemory shared;
  FlatMemory records; ///< memory below: the allocation records of tensor memory; initially zero
  launch::TensorMemory tensor;
  std::vector<FlatMemory> locals; ///< by thread; empty until used

  /// Shared memory at an address: the CTA's own, or the records below.
  FlatMemory& sharedAt(std::uint64_t address) { return address < shared.base() ? records : shared; }
  const FlatMemory& sharedAt(std::uint64_t address) const { return address < shared.base() ? records : shared; }
  bool isLive() const {
    return std::any_of(warps.begin(), warps.end(), [](const auto& w) { return w->live != 0; });
  }
};

/// UCGABAR_ARV and UCGABAR_WAIT. A warp has arrived when all its lanes that have not exited have arrived.
struct ClusterBarrier {
  std::vector<std::uint32_t> lanes; ///< by warp of the cluster: those that have arrived in this phase
  std::vector<bool> complete;       ///< by warp of the cluster
  std::uint32_t phase = 0;          ///< number of completed phases
};

/// Runs the grids that a kernel launches.
class ChildGrids final : public launch::GridEngine {
 public:
  explicit ChildGrids(const Program& program) : program_(program) {}
  std::optional<std::string> kernelAt(std::uint64_t value) const override;
  std::vector<launch::ParameterPlace> parametersOf(const std::string& kernel) override;
  launch::RunResult run(launch::Device& device, const launch::RunOptions& options) override;

 private:
  const Program& program_;
};

/// Runs the clusters of a launch one after another, the CTAs of a cluster and the warps of each in turn, and the paths
/// of a warp one at a time. Execution is deterministic: a warp yields at barriers and, after a while, at backward
/// branches.
class Machine {
 public:
  Machine(const Program& program, launch::Device& device, const launch::RunOptions& options);
  launch::RunResult run();

 private:
  friend Operation::Handler handlerOf(isa::Op op);

  // --- machine.cpp: CTAs, warps, the loop
  void runGrid();
  void runCluster(std::uint64_t number);
  void startCta(Cta& cta);
  void startWarp(Warp& warp);
  void runWarp(Warp& warp);
  bool choosePath();
  void execute(const Operation& op, std::uint32_t lanes);
  void perLane(const Operation& op, std::uint32_t lanes);
  void perWarp(const Operation& op, std::uint32_t lanes);
  void uniformly(const Operation& op);
  std::uint32_t guardMask(const Operation& op);
  /// Writes garbage to the results of these lanes.
  void spoilResults(const Operation& op, std::uint32_t lanes);
  void countTurn(bool isBackward);
  /// Timing: the instruction has finished. Instructions that it disturbed run again, and hazards are reported.
  void endTimed();

  // --- uniform_check.cpp: claims of uniformity
  void takeClaims();
  void checkClaims(const Operation& op, std::uint32_t lanes);
  void checkClaim(const Operation& op, unsigned read, std::uint32_t lanes);
  void checkBlockClaim(const Operation& op);

  // --- reports
  /// LaunchStats: the addresses of a memory instruction.
  void countAccess(const Operation& op, std::uint32_t lanes);
  /// Ends the run.
  void stop(std::string kind, std::string text);
  /// Reports a finding of a checker.
  void finding(const char* kind, std::string text);
  void reportDeadlock();

  // --- operands of the current operation
  void resolve(const Operation& op, std::uint32_t lanes);
  std::uint32_t word(const Operation& op, int slot, unsigned word, unsigned lane) const;
  std::uint64_t value64(const Operation& op, int slot, unsigned lane) const {
    return word(op, slot, 0, lane) | std::uint64_t{word(op, slot, 1, lane)} << 32;
  }
  /// The lanes for which the predicate in `slot` holds, inversion applied.
  std::uint32_t predicateMask(const Operation& op, int slot) const;
  void setWord(const Operation& op, int slot, unsigned word, unsigned lane, std::uint32_t value);
  void store(const Write& write, unsigned lane, std::uint32_t value);
  std::uint32_t uniformWord(const Operation& op, int slot, unsigned word) const;

  // --- flow.cpp: control flow of lanes
  void branch(const Operation& op, std::uint32_t lanes);
  bool isDivided(const Operation& op, std::uint32_t lanes);
  void branchDivided(const Operation& op, std::uint32_t lanes);
  void branchConverged(const Operation& op, std::uint32_t lanes);
  void branchIndexed(const Operation& op, std::uint32_t lanes);
  void branchByNumber(const Operation& op, std::uint32_t lanes);
  void goApart(std::vector<Path> ways, std::uint32_t stay);
  void call(const Operation& op, std::uint32_t lanes);
  void callAbsolute(const Operation& op, std::uint32_t lanes);
  void exit(const Operation& op, std::uint32_t lanes);
  void armBarrier(const Operation& op, std::uint32_t lanes);
  void convergeAt(const Operation& op, std::uint32_t lanes);
  void leaveBarrier(const Operation& op, std::uint32_t lanes);
  void removeFromBarrier(std::uint32_t lanes, std::uint32_t barrier);
  void warpSync(const Operation& op, std::uint32_t lanes);
  void putIntoRpc(const Operation& op, std::uint32_t lanes);
  void getFromRpc(const Operation& op, std::uint32_t lanes);
  void giveWay(const Operation& op, std::uint32_t lanes);
  void trap(const Operation& op, std::uint32_t lanes);
  void readBarrier(const Operation& op, std::uint32_t lanes);
  void writeBarrier(const Operation& op, std::uint32_t lanes);
  void setBarrier(const Operation& op, std::uint32_t lanes);
  void saveActive(const Operation& op, std::uint32_t lanes);
  void setActive(const Operation& op, std::uint32_t lanes);
  void phis(const Operation& op, std::uint32_t lanes);
  /// Lanes of the current path branch to `target`.
  void jump(std::uint32_t lanes, std::uint32_t target, std::uint32_t block);
  /// Releases all paths whose wait has ended.
  void releaseWaiting();
  /// Lanes wait at the current instruction as a separate path.
  void wait(std::uint32_t lanes, Path::State state, std::uint32_t wanted, std::uint32_t barrier);
  void mergePaths();
  void enterBlock();

  // --- cta_barrier.cpp
  void ctaBarrier(const Operation& op, std::uint32_t lanes);
  void arriveAtCluster(const Operation& op, std::uint32_t lanes);
  void waitForCluster(const Operation& op, std::uint32_t lanes);
  void barrierResult(const Operation& op, std::uint32_t lanes);
  void checkBarrier(std::uint32_t number);
  void checkBarriers();
  void checkClusterBarrier();

  // --- driver_call.cpp: functions of the driver
  /// CALL.EXTERN, before allocation.
  void callExternal(const Operation& op, std::uint32_t lanes);
  /// A call of an address outside the program: arguments and result are in registers from R4 on.
  void callDriverAt(std::uint64_t address, std::uint32_t lanes);
  /// The symbol of a slot of constant bank 4.
  std::string driverSymbol(std::size_t slot) const;
  const launch::DriverFunction* driverFunctionOf(std::size_t slot);
  /// The call of one lane. The arguments are words, each at a multiple of its size. Returns the result, 0 if there is
  /// none.
  std::uint64_t callDriver(const launch::DriverFunction& function, unsigned lane,
                           const std::function<std::uint32_t(unsigned)>& argumentWord);
  /// Adds what child grids executed, printed and reported to this run.
  void addChildren();

  // --- mbarrier.cpp: barriers in shared memory
  /// The barrier in the records of a block, by which the blocks of a pair agree on allocations (tcgen05.alloc): the odd
  /// one waits for the even one first. ptxas' code finds it made; that is done as its waits need it.
  void startPairBarrier(Cta& cta);
  void initBarrier(const Operation& op, std::uint32_t lanes);
  void arriveAtBarrier(const Operation& op, std::uint32_t lanes);
  void checkBarrier(const Operation& op, std::uint32_t lanes);
  void arriveAfterCopies(const Operation& op, std::uint32_t lanes);
  // mbarrier_older.cpp: before sm_90
  void arriveAfterOlderCopies(const Operation& op, std::uint32_t lanes);
  void atomicArrive(const Operation& op, std::uint32_t lanes);
  /// One arrival by an asynchronous unit.
  void arriveOnce(std::uint64_t barrier, unsigned lane);
  /// Bytes that a barrier expects have arrived.
  void bytesCame(std::uint64_t barrier, unsigned lane, std::uint32_t bytes);
  /// Reads the word of a barrier, applies `change`, and writes it back.
  template <typename F> void changeBarrier(std::uint64_t address, unsigned lane, F change);

  // --- bulk_copy.cpp: copies that signal a barrier
  void copyBulk(const Operation& op, std::uint32_t lanes);
  void storeRemote(const Operation& op, std::uint32_t lanes);
  /// The CTAs that get a copy. A CTA outside the cluster ends the run.
  std::vector<std::uint32_t> multicastRanks(std::uint32_t mask);
  /// Data and its barrier must be in one CTA; otherwise the run ends.
  bool isSameCta(std::uint64_t target, std::uint64_t barrier);

  // --- tensor_copy.cpp
  void copyBox(const Operation& op, std::uint32_t lanes);
  std::optional<launch::TensorMap> tensorMap(std::uint64_t address, unsigned lane);

  // --- multicast.cpp
  void loadReduced(const Operation& op, std::uint32_t lanes);
  void loadWide(const Operation& op, std::uint32_t lanes);
  void storeWide(const Operation& op, std::uint32_t lanes);
  void clearShared(const Operation& op, std::uint32_t lanes);
  void storeUniform(const Operation& op, std::uint32_t lanes);
  void askForWork(const Operation& op, std::uint32_t lanes);
  /// Calls visit(address) for each destination of a store or a reduction: the address itself, or all that a multicast
  /// address maps to.
  template <typename F> void forTargets(Space space, std::uint64_t address, F visit) const {
    const bool mayBeMany = !device_.launch.multicasts.empty() && (space == Space::Global || space == Space::Generic);
    const auto targets = mayBeMany ? device_.replicas(address) : std::vector<std::uint64_t>();
    if (targets.empty()) visit(address);
    for (const std::uint64_t target : targets)
      visit(target);
  }

  // --- access.cpp: loads and stores
  void load(const Operation& op, std::uint32_t lanes);
  void storeMemory(const Operation& op, std::uint32_t lanes);
  void loadConstant(const Operation& op, std::uint32_t lanes);
  void loadConstantUniform(const Operation& op, std::uint32_t lanes);
  void loadMatrix(const Operation& op, std::uint32_t lanes);
  void loadByteMatrix(const Operation& op, std::uint32_t lanes);
  void storeByteMatrix(const Operation& op, std::uint32_t lanes);
  void storeMatrix(const Operation& op, std::uint32_t lanes);
  void whichSpace(const Operation& op, std::uint32_t lanes);
  std::uint64_t addressOf(const Operation& op, unsigned lane) const;
  Space spaceOf(isa::Op op) const;
  /// Both report faults. `out` is then zero, and a store is not performed.
  bool readMemory(Space space, std::uint64_t address, unsigned lane, std::span<std::byte> out, bool isAtomic = false);
  bool writeMemory(Space space, std::uint64_t address, unsigned lane, std::span<const std::byte> in,
                   bool isAtomic = false);
  static Space spaceOfGeneric(std::uint64_t address);
  FlatMemory& localOf(unsigned lane);
  /// The CTA whose shared memory contains an address; null if it is not running. Removes the rank from the address.
  Cta* ownerOf(Space space, std::uint64_t& address);
  /// A checker's hook: an access to shared memory.
  void noteShared(const Cta& owner, std::uint64_t address, std::span<const std::byte> data, bool isWrite,
                  bool isAtomic);
  void fault(launch::Fault fault, Space space, std::uint64_t address, unsigned lane, std::size_t size, bool isWrite);

  // --- async_copy.cpp: asynchronous copies
  void copyToShared(const Operation& op, std::uint32_t lanes);
  void endCopyGroup(const Operation& op, std::uint32_t lanes);
  void waitForCopies(const Operation& op, std::uint32_t lanes);
  /// Writes the copies in flight of the lanes, except for their `newestGroups` newest groups and copies that are not
  /// yet in a group.
  void finishCopies(std::uint32_t lanes, std::uint32_t newestGroups);
  void abandonCopies(std::uint32_t lanes);

  // --- atomics.cpp
  void atomic(const Operation& op, std::uint32_t lanes);
  void atomicSwap(const Operation& op, std::uint32_t lanes);
  void atomicFloat(const Operation& op, std::uint32_t lanes);
  void atomicCount(const Operation& op, std::uint32_t lanes);
  bool canDoAtomic(Space space, std::uint64_t address, bool isInSharedMemory, bool isFloat, unsigned bytes) const;
  void setAtomicResult(const Operation& op, unsigned lane, bool wasDone, std::span<const std::uint32_t> old);

  // --- warp_group.cpp
  void multiplyGroup(const Operation& op, std::uint32_t lanes);
  void waitForProducts(const Operation& op, std::uint32_t lanes);
  /// Checks that other operations do not use the registers of a product in flight.
  void checkProducts(const Operation& op);
  void reportProduct(const PendingProduct& product, std::uint32_t row, bool isWrite);
  /// The registers of the product are undefined until it is waited for.
  void beginProduct(PendingProduct product);
  void endGroupOfProducts();

  // --- tensor_memory.cpp
  void loadTensor(const Operation& op, std::uint32_t lanes);
  void storeTensor(const Operation& op, std::uint32_t lanes);
  void multiplyTensors(const Operation& op, std::uint32_t lanes);
  void copyToTensor(const Operation& op, std::uint32_t lanes);
  void shiftTensorRows(const Operation& op, std::uint32_t lanes);
  void commitToBarrier(const Operation& op, std::uint32_t lanes);
  void findColumns(const Operation& op, std::uint32_t lanes);
  void changeColumns(const Operation& op, std::uint32_t lanes);
  void accessTensor(const Operation& op, bool isStore);
  launch::TensorSide tensorSide(Cta& cta, unsigned lane);
  void reportTensor(const std::optional<launch::TensorFault>& fault);

  // --- texture.cpp
  void readTexture(const Operation& op, std::uint32_t lanes);
  void askTexture(const Operation& op, std::uint32_t lanes);
  std::optional<std::uint32_t> namedHandle(const Operation& op, unsigned lane) const;
  std::uint32_t namedSampler(const Operation& op, unsigned lane) const;
  std::optional<launch::Texels> texels(std::uint32_t handle, std::uint32_t sampler = 0);
  float levelInQuad(const Operation& op, const launch::Texels& from, unsigned lane, unsigned coordinates,
                    unsigned first) const;
  // gradient.cpp
  void sumInQuad(const Operation& op, std::uint32_t lanes);
  void readByGradients(const Operation& op, std::uint32_t lanes);
  std::array<std::uint32_t, launch::GradientFunction::kResultWords>
  callGradientFunction(const launch::GradientFunction& function, unsigned lane,
                       const std::function<std::uint32_t(unsigned)>& argument);

  // --- surface.cpp
  void accessSurface(const Operation& op, std::uint32_t lanes);
  void storeTexel(const Operation& op, std::uint32_t lanes);
  void reduceSurface(const Operation& op, std::uint32_t lanes);
  std::optional<launch::Texels> surface(const Operation& op, unsigned lane);
  std::optional<std::uint64_t> surfaceAddress(const Operation& op, unsigned lane, const launch::Texels& surface,
                                              unsigned bytes, bool countsTexels);

  // --- special.cpp: special registers and moves between files
  void readSpecial(const Operation& op, std::uint32_t lanes);
  void readSpecialUniform(const Operation& op, std::uint32_t lanes);
  void toUniform(const Operation& op, std::uint32_t lanes);
  void orToUniform(const Operation& op, std::uint32_t lanes);
  void predicatesToRegister(const Operation& op, std::uint32_t lanes);
  void uniformPredicatesToRegister(const Operation& op, std::uint32_t lanes);
  void registerToUniformPredicates(const Operation& op, std::uint32_t lanes);
  void registerToPredicates(const Operation& op, std::uint32_t lanes);
  void copy(const Operation& op, std::uint32_t lanes);
  void codeAddress(const Operation& op, std::uint32_t lanes);
  /// USETMAXREG. Requests for registers always succeed.
  void setRegisters(const Operation& op, std::uint32_t lanes);
  /// Reports an operand register that the warp does not have.
  void checkRegisters(const Operation& op);
  void nothing(const Operation& op, std::uint32_t lanes);
  std::uint64_t specialRegister(unsigned number, unsigned lane);

  Warp& warp() { return *warp_; }
  const Warp& warp() const { return *warp_; }
  Path& path() { return warp_->paths[warp_->current]; }

  const Program& program_;
  launch::Device& device_;
  const launch::RunOptions& options_;
  launch::Clusters clusters_;
  Constants constants_;
  Code code_;
  launch::RunResult result_;

  // --- the running cluster and CTA
  std::vector<Cta> ctas_; ///< by rank
  Cta* cta_ = nullptr;
  ClusterBarrier clusterBarrier_;
  std::uint64_t ctasStarted_ = 0;
  std::uint32_t threads_ = 0; ///< of a CTA
  unsigned warpCount_ = 0;    ///< of a CTA
  RaceCheck races_;
  std::uint32_t localBase_ = 0;

  // --- the running warp
  Warp* warp_ = nullptr;
  std::uint32_t at_ = 0;          ///< index of the current operation
  bool stopped_ = false;          ///< the run has ended
  bool isSwitching_ = false;      ///< select another path (or warp)
  bool givesWay_ = false;         ///< another warp is to run
  bool keepsPath_ = false;        ///< with givesWay_: the same lanes run when this warp is scheduled again
  std::uint32_t turn_ = 0;        ///< instructions since the warp's turn began
  std::uint32_t patience_ = 0;    ///< instructions that lanes at lower addresses have to wait for
  bool changesRegisters_ = false; ///< warps release or request registers
  bool meetsAnywhere_ = false;    ///< lanes reconverge at the start of any block
  std::optional<Timing> timing_;
  bool hasClaims_ = false;
  std::vector<std::uint32_t> claimOfRegister_,
      claimOfPredicate_;             ///< by row: the virtual register claimed to be uniform, or none
  std::uint64_t claimsCompared_ = 0; ///< reads by at least two lanes
  bool isReplaying_ = false;         ///< an instruction executes again, with the newest values
  isa::WarpValues warpValues_;
  std::array<const std::uint32_t*, kMaxReads> rows_{};
  std::array<std::uint32_t, kMaxReads> bits_{};
  std::vector<std::uint32_t> phiValues_;

  ChildGrids children_;
  launch::DeviceRuntime runtime_;

  std::optional<LaunchStats> figures_; ///< with RunOptions::stats
};

} // namespace orias::emu
