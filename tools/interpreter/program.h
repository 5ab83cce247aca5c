#pragma once

#include "frontend/module.h"
#include "tools/launch/launch.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

// The code that the interpreter executes: PTX with all names resolved and all handlers selected, once for each
// function. Every operand is a slot of the thread's current frame. Constants and constant special registers have slots,
// too, which are initialized with the frame.

namespace orias::launch {
struct DriverFunction;
}

namespace orias::interp {

struct Thread;
struct Inst;

/// The effect of an instruction on the thread that executes it.
using Handler = void (*)(Thread& thread, const Inst& inst);

/// The lanes of a warp that execute an instruction together; null for lanes that do not participate.
using Lanes = std::span<Thread* const, 32>;
/// The effect of an instruction of several lanes once all of them have arrived. Thread::inst is each lane's own
/// instruction.
using GroupHandler = void (*)(Lanes lanes);

/// Slot 0 of every frame: the destination of unused results.
inline constexpr std::uint32_t kSink = 0;

struct Inst {
  Handler run = nullptr;
  std::uint32_t d = kSink, e = kSink; ///< destinations
  std::uint32_t a = kSink, b = kSink, c = kSink;
  std::int32_t guard = -1; ///< slot of the predicate, -1: none
  bool guardNegated = false;
  std::uint8_t width = 0;   ///< meaning by handler: bits of a register, of an element
  std::uint16_t option = 0; ///< meaning by handler
  std::uint32_t origin = 0; ///< index into ptx::Function::instructions
  std::int64_t imm = 0;     ///< an address' offset, a branch's target, …
  GroupHandler group = nullptr;
  std::span<const std::uint32_t> list; ///< slots of vectors and fragments
  const void* detail = nullptr;        ///< CallSite, branch table, …
};

/// The location of a parameter or result of a function in its frame: a slot, or bytes of the local frame.
struct Place {
  bool inMemory = false;
  std::uint32_t slot = kSink;
  std::uint32_t slots = 1; ///< consecutive slots: a vector register, or one of 128 bits, has several
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

struct Code {
  const ptx::Function* function = nullptr;
  std::vector<Inst> insts;

  // The frame: slots, the last of which are constants, and bytes of local memory.
  std::uint32_t registerSlots = 0;
  std::vector<std::uint64_t> constants;
  struct FrameAddress {
    std::uint32_t slot;
    std::uint64_t offset;
  };
  std::vector<FrameAddress> frameAddresses; ///< slots that hold addresses in the local frame
  struct SpecialSlot {
    std::uint32_t slot;
    ptx::SpecialRegister reg;
    unsigned component;
  };
  std::vector<SpecialSlot> specials;
  std::vector<std::uint32_t> sharedAddresses; ///< slots of addresses in the block's shared memory
  std::uint64_t frameBytes = 0;

  std::vector<Place> params, returns;

  std::uint32_t slots() const { return registerSlots + static_cast<std::uint32_t>(constants.size()); }

  // Storage of Inst::list and Inst::detail.
  std::deque<std::vector<std::uint32_t>> lists;
  std::deque<std::shared_ptr<void>> details;
};

/// Inst::detail of a call.
struct CallSite {
  const Code* callee = nullptr;                    ///< null: the address in slot Inst::a
  const launch::DriverFunction* outside = nullptr; ///< the driver function instead
  std::vector<Place> args, returns;
};

/// A kernel and all functions that it can call.
struct Program {
  const ptx::Module* module = nullptr;
  const Code* kernel = nullptr;
  std::map<ptx::FunctionId, std::unique_ptr<Code>> functions;
  std::map<std::uint64_t, const Code*> byAddress; ///< functions with a body
  std::uint64_t staticShared = 0;                 ///< bytes of the variables that are used
  std::uint64_t dynamicShared = 0;                ///< where extern variables start
  std::vector<launch::ParameterPlace> kernelParams;
  std::uint64_t kernelParamBytes = 0;

  /// The start and end of each variable in .const, which are in global memory.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> constants;
  bool isConstant(std::uint64_t address) const {
    for (const auto& [from, to] : constants)
      if (address >= from && address < to) return true;
    return false;
  }
};

} // namespace orias::interp
