#pragma once

#include "frontend/instr_form_table.h"
#include "tools/interpreter/block_races.h"
#include "tools/interpreter/program.h"
#include "tools/interpreter/races.h"
#include "tools/launch/cluster.h"
#include "tools/launch/device_runtime.h"
#include "tools/launch/launch.h"
#include "tools/launch/tensor_memory.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

// The state of a running launch: machine, blocks of threads (CTAs), warps, threads.

namespace orias::interp {

class Machine;
struct Cluster;
struct Cta;
struct Warp;

// Generic addresses: windows onto the other spaces; all other addresses are global memory. Functions are small numbers.
inline constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 36;
inline constexpr std::uint64_t kLocalWindow = 0x7b0000000000;
inline constexpr std::uint64_t kSharedWindow = 0x7c0000000000;
inline constexpr std::uint64_t kParamWindow = 0x7d0000000000;
/// Placeholder for the start of dynamic shared memory while the size of the static part is not known.
inline constexpr std::uint64_t kExternShared = 0x790000000000;
static_assert(kParamWindow + kWindowBytes <= launch::Device::kGlobalBase);

/// Shared: of the block itself. Cluster: of any block of the cluster.
enum class Space : std::uint8_t { Generic, Global, Shared, Local, Param, Cluster };

/// In addresses of shared memory, the bits below this one are the offset in the block's memory, the others the block's
/// rank.
inline constexpr unsigned kRankBit = 24;
inline std::uint64_t inRank(std::uint64_t rank, std::uint64_t address) {
  return rank << kRankBit | (address & ((1u << kRankBit) - 1));
}

/// Ends the run. Thrown by handlers, caught by the scheduler, which adds the location.
struct Stop {
  std::string kind;
  std::string text;
};

/// Bytes of one thread's or one block's own memory.
struct OwnMemory {
  std::vector<std::byte> bytes;
  std::vector<bool> written; ///< empty without memcheck

  void resize(std::size_t size, bool track) {
    bytes.resize(size);
    if (track) written.resize(size);
  }
};

enum class ThreadState : std::uint8_t { Ready, Waiting, Exited };

/// What a waiting thread waits for.
enum class Wait : std::uint8_t {
  None,
  Lanes,   ///< the lanes of Thread::waitMask
  Gather,  ///< any other lanes of the warp that get here (activemask)
  Barrier, ///< a barrier of the block: its warp, then the others
  Cluster, ///< barrier.cluster.wait
};

struct Frame {
  const Code* code = nullptr;
  const Inst* returnTo = nullptr;
  const CallSite* site = nullptr;
  std::size_t base = 0;          ///< of the slots, in Thread::slots
  std::uint64_t localBase = 0;   ///< of the frame's bytes in local memory
  std::uint64_t localBefore = 0; ///< size of local memory before the call
};

/// A copy (cp.async) that has been read and not yet written.
struct AsyncCopy {
  Space space;
  std::uint64_t address;
  std::array<std::byte, 16> bytes;
  std::uint8_t size;
};

struct Thread {
  std::uint64_t* r = nullptr; ///< slots of the current frame
  const Inst* next = nullptr; ///< to be executed next
  std::int64_t left = 0;      ///< instructions before another thread has its turn
  std::int64_t uncounted = 0; ///< internal steps of this turn, which are no PTX instructions
  const Inst* inst = nullptr; ///< while waiting or stopping: the instruction responsible
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  Machine* machine = nullptr;
  bool carry = false;
  ThreadState state = ThreadState::Ready;
  Wait wait = Wait::None;
  std::uint32_t waitMask = 0;
  std::optional<std::uint64_t> clusterPhase; ///< phase of its arrival at the cluster's barrier, until it has waited
  std::uint32_t lane = 0;
  std::uint32_t index = 0;  ///< in the block
  std::uint32_t number = 0; ///< in the cluster, where each block begins at a multiple of the warp size
  launch::Dim3 tid;
  std::vector<std::uint64_t> slots;
  std::vector<Frame> frames;
  OwnMemory local;
  std::uint64_t localTop = 0; ///< bytes in use
  std::vector<AsyncCopy> copies;
  std::vector<std::size_t> copyGroups; ///< end of each incomplete group in `copies`

  Frame& frame() { return frames.back(); }
  /// Lets the other threads run.
  void yield() { left = 0; }
};

struct Warp {
  std::array<Thread*, 32> lanes{};
  std::uint32_t index = 0;
  std::uint32_t number = 0; ///< in the cluster
  std::uint32_t live = 0;   ///< lanes that have not exited
};

/// A barrier of a block (bar, barrier). Warps arrive as a whole.
struct Barrier {
  std::uint32_t arrived = 0;          ///< threads, counted in whole warps
  std::uint32_t expected = 0;         ///< 0: all threads of the block
  std::vector<std::uint32_t> pending; ///< by warp: lanes that have arrived before the whole warp has
  std::vector<Thread*> waiting;       ///< of warps that have arrived
};

struct Cta {
  launch::Dim3 id;
  std::uint32_t rank = 0; ///< in the cluster
  Cluster* cluster = nullptr;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::uint32_t live = 0;
  OwnMemory shared;
  launch::TensorMemory tensor;
  std::uint32_t tensorFirsts = 0; ///< groups of columns that begin an allocation
  bool gaveUpTensor = false;      ///< it has given up its permit to allocate
  std::vector<unsigned>
      tensorOfPair; ///< allocated by the other block of the pair for both, and not yet seen by this one
  std::array<Barrier, 16> barriers;
};

/// Blocks that run at the same time and can access each other's shared memory.
struct Cluster {
  std::uint64_t number = 0;  ///< in the order in which clusters start
  std::vector<Cta> ctas;     ///< by rank
  std::uint32_t arrived = 0; ///< threads at barrier.cluster.arrive in this phase
  std::uint64_t phase = 0;
  std::uint64_t turns = 0;
  std::unique_ptr<Races> races; ///< with RunOptions::racecheck

  std::uint32_t live() const {
    std::uint32_t count = 0;
    for (const Cta& cta : ctas)
      count += cta.live;
    return count;
  }
};

/// Runs the grids that a kernel launches.
class ChildGrids final : public launch::GridEngine {
 public:
  explicit ChildGrids(const ptx::Module& module) : module_(module) {}
  std::optional<std::string> kernelAt(std::uint64_t value) const override;
  std::vector<launch::ParameterPlace> parametersOf(const std::string& kernel) override;
  launch::RunResult run(launch::Device& device, const launch::RunOptions& options) override;

 private:
  const ptx::Module& module_;
};

/// A running launch.
class Machine {
 public:
  Machine(const Program& program, launch::Device& device, const launch::RunOptions& options,
          std::vector<std::byte> params);
  launch::RunResult run();

  /// A finding that does not end the run.
  void report(const Thread& thread, std::string kind, std::string text);
  /// "kernel.ptx:12:3 ld.global.u32 %r1, [%rd1]".
  std::string placeOf(const Thread& thread) const;
  /// The memory-model strength of the instruction that the thread executes (racecheck).
  Races::Strength strengthOf(const Thread& thread);
  /// "block (0,0,0), thread (3,0,0)".
  static std::string threadName(const Thread& thread);

  /// Thread instructions so far, which is the value of the clocks.
  std::uint64_t executed() const { return result_.threadInstructions; }
  /// A call of a driver or device runtime function.
  launch::DriverResult callOutside(const launch::DriverCall& call);

  const Program& program;
  launch::Device& device;
  const launch::RunOptions& options;
  const launch::Clusters clusters;
  std::vector<std::byte> params;          ///< the kernel's parameter space
  std::unique_ptr<BlockRaces> blockRaces; ///< with RunOptions::racecheck

 private:
  void startCluster();
  void startCta(Cta& cta);
  bool runRound(Cluster& cluster);
  void runTurn(Thread& thread);
  void trace(Thread& thread, const Inst& inst);
  void stop(const Thread& thread, const Stop& why);
  void reportDeadlock();
  void addChildren();

  launch::RunResult result_;
  ChildGrids children_;
  launch::DeviceRuntime runtime_;
  std::unique_ptr<ptx::FormTable> forms_;                      ///< racecheck
  std::unordered_map<const Inst*, Races::Strength> strengths_; ///< cache of strengthOf
  std::map<std::string, std::size_t> reportAt_;                ///< kind and place → index
  std::vector<std::unique_ptr<Cluster>> active_;
  std::uint64_t nextCluster_ = 0;
  bool stopped_ = false;
};

// --- frames (machine.cpp) -------------------------------------------------------------------------------------------

/// Makes a frame for `code` and continues at its start.
void enter(Thread& thread, const Code& code, const CallSite* site);
/// Removes the top frame. If it was the last, the thread has exited.
void leave(Thread& thread);
/// Ends the thread, and releases those that wait for it.
void exitThread(Thread& thread);

// --- synchronization (sync.cpp) -------------------------------------------------------------------------------------

/// Waits until all live lanes of `mask` execute this instruction (the same opcode with the same mask), then runs
/// Inst::group for them.
void meetLanes(Thread& thread, const Inst& inst, std::uint32_t mask);
/// Waits until no other lane of the warp can continue, then runs Inst::group for those that wait at this instruction.
void gatherLanes(Thread& thread, const Inst& inst);
/// Runs the groups of lanes whose wait has ended; called when a thread has exited.
void checkLanes(Warp& warp);
/// Ends the waiting of lanes that gather (activemask); true if there were any.
bool releaseGathered(Warp& warp);
/// Completes barriers that wait only for threads that have exited.
void checkBarriers(Cta& cta);
/// Likewise for the cluster's barrier, at which the exited thread may have arrived.
void leaveCluster(const Thread& thread);

// --- values ---------------------------------------------------------------------------------------------------------

template <typename T> T get(const Thread& thread, std::uint32_t slot) {
  const std::uint64_t bits = thread.r[slot];
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else if constexpr (std::is_same_v<T, bool>)
    return bits != 0;
  else
    return static_cast<T>(bits);
}

/// Slots hold values zero-extended.
template <typename T> void put(Thread& thread, std::uint32_t slot, T value) {
  if constexpr (std::is_same_v<T, float>)
    thread.r[slot] = std::bit_cast<std::uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    thread.r[slot] = std::bit_cast<std::uint64_t>(value);
  else if constexpr (std::is_same_v<T, bool>)
    thread.r[slot] = value;
  else
    thread.r[slot] = static_cast<std::make_unsigned_t<T>>(value);
}

} // namespace orias::interp
