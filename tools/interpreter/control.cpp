#include "tools/interpreter/access.h"
#include "tools/interpreter/handlers.h"
#include "tools/launch/driver_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

// Branches, calls, the end of threads, and the stack.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::OperandKind;
using ptx::Type;

void bra(Thread& t, const Inst& i) {
  t.next = t.frame().code->insts.data() + i.imm;
}

void brxIdx(Thread& t, const Inst& i) {
  const auto& table = *static_cast<const std::vector<std::uint32_t>*>(i.detail);
  const auto at = get<std::uint32_t>(t, i.a);
  if (at >= table.size()) throw Stop{"branch", fmt::format("index {} into a table of {} targets", at, table.size())};
  t.next = t.frame().code->insts.data() + table[at];
}

void exitHandler(Thread& t, const Inst&) {
  exitThread(t);
}

void trap(Thread&, const Inst&) {
  throw Stop{"trap", "the program traps"};
}

// ---- Calls

std::byte* frameBytes(Thread& t, const Frame& frame, const Place& place) {
  return t.local.bytes.data() + frame.localBase + place.offset;
}

/// Copies a value between the frames of caller and callee: each side is a slot or bytes.
void pass(Thread& t, const Frame& fromFrame, const Place& from, const Frame& toFrame, const Place& to) {
  const std::uint64_t* fromSlots = t.slots.data() + fromFrame.base;
  std::uint64_t* toSlots = t.slots.data() + toFrame.base;
  if (!from.inMemory && !to.inMemory) {
    std::copy_n(fromSlots + from.slot, std::min(from.slots, to.slots), toSlots + to.slot);
  } else if (from.inMemory && to.inMemory) {
    std::memmove(frameBytes(t, toFrame, to), frameBytes(t, fromFrame, from), std::min(from.size, to.size));
  } else if (to.inMemory) {
    std::memcpy(frameBytes(t, toFrame, to), fromSlots + from.slot, std::min<std::uint64_t>(to.size, 8));
  } else {
    toSlots[to.slot] = 0;
    std::memcpy(toSlots + to.slot, frameBytes(t, fromFrame, from), std::min<std::uint64_t>(from.size, 8));
  }
  if (!to.inMemory || t.local.written.empty()) return;
  // Uninitialized bytes remain uninitialized on the other side.
  const auto writtenAt = [&](const Frame& frame, const Place& place) {
    return t.local.written.begin() + static_cast<std::ptrdiff_t>(frame.localBase + place.offset);
  };
  const auto at = writtenAt(toFrame, to);
  if (from.inMemory)
    std::copy_n(writtenAt(fromFrame, from), std::min(from.size, to.size), at);
  else
    std::fill_n(at, to.size, true);
}

void call(Thread& t, const Inst& i) {
  const auto& site = *static_cast<const CallSite*>(i.detail);
  const Code* callee = site.callee;
  if (!callee) {
    const auto& functions = t.machine->program.byAddress;
    const auto it = functions.find(t.r[i.a]);
    if (it == functions.end()) throw Stop{"call", fmt::format("there is no function at {:#x}", t.r[i.a])};
    callee = it->second;
  }
  if (callee->params.size() != site.args.size() || callee->returns.size() != site.returns.size())
    throw Stop{"call", "the number of arguments does not match the callee"};
  enter(t, *callee, &site);
  const Frame& caller = t.frames[t.frames.size() - 2];
  for (std::size_t k = 0; k < site.args.size(); ++k)
    pass(t, caller, site.args[k], t.frame(), callee->params[k]);
}

void ret(Thread& t, const Inst&) {
  const Frame& callee = t.frame();
  if (callee.site) {
    const Frame& caller = t.frames[t.frames.size() - 2];
    for (std::size_t k = 0; k < callee.site->returns.size(); ++k)
      pass(t, callee, callee.code->returns[k], caller, callee.site->returns[k]);
  }
  leave(t);
}

/// A driver function.
void callOutside(Thread& t, const Inst& i) {
  const auto& site = *static_cast<const CallSite*>(i.detail);
  if (!site.outside) throw Stop{"unsupported", "the function is not defined in this module"};
  launch::DriverCall outside;
  outside.function = site.outside;
  outside.thread = fmt::format("thread ({}, {}, {}) of CTA ({}, {}, {}){}", t.tid.x, t.tid.y, t.tid.z, t.cta->id.x,
                               t.cta->id.y, t.cta->id.z, t.machine->device.grid);
  if (site.args.size() != site.outside->arguments.size())
    throw Stop{"call", "the number of arguments does not match the callee"};
  for (std::size_t k = 0; k < site.args.size(); ++k) {
    const Place& place = site.args[k];
    if (place.inMemory && place.size > sizeof(std::uint64_t)) { // words
      for (std::uint64_t at = 0; at < site.outside->arguments[k]; at += 4) {
        std::uint32_t word = 0;
        std::memcpy(&word, frameBytes(t, t.frame(), place) + at, sizeof word);
        outside.arguments.push_back(word);
      }
      continue;
    }
    std::uint64_t value = place.inMemory ? 0 : t.slots[t.frame().base + place.slot];
    if (place.inMemory)
      std::memcpy(&value, frameBytes(t, t.frame(), place), std::min<std::uint64_t>(place.size, sizeof value));
    outside.arguments.push_back(value);
  }
  outside.read = [&](std::uint64_t address, std::span<std::byte> out) {
    load(t, Space::Generic, address, out);
    return true;
  };
  outside.write = [&](std::uint64_t address, std::span<const std::byte> in) {
    store(t, Space::Generic, address, in);
    return true;
  };
  const launch::DriverResult result = t.machine->callOutside(outside);
  if (!result.failure.empty()) throw Stop{result.kind, result.failure};
  if (site.returns.empty()) return;
  const Place& place = site.returns[0];
  if (!place.inMemory) {
    t.slots[t.frame().base + place.slot] = result.value;
    return;
  }
  std::memcpy(frameBytes(t, t.frame(), place), &result.value, std::min<std::uint64_t>(place.size, sizeof result.value));
  if (!t.local.written.empty()) {
    const auto at = t.local.written.begin() + static_cast<std::ptrdiff_t>(t.frame().localBase + place.offset);
    std::fill(at, at + static_cast<std::ptrdiff_t>(place.size), true);
  }
}

bool translateCall(FunctionTranslator& t) {
  const ptx::CallParts parts = callParts(t.function(), t.instruction());
  CallSite site;
  const auto places = [&](const ptx::Operand* group, bool isResult) {
    std::vector<Place> all;
    if (!group) return all;
    for (const ptx::Operand& o : t.function().parts(*group)) {
      Place place;
      if (o.is(OperandKind::Variable)) {
        place.inMemory = true;
        place.offset = t.frameOffset(o.variableId());
        place.size = t.module().variable(o.variableId()).byteSize();
      } else {
        // A decimal constant gets the width of its parameter; only f32 and f64 constants can be written.
        place.slot = isResult ? t.defOf(o) : t.useOf(o, o.is(OperandKind::Float32) ? Type::F32 : Type::B64);
        place.size = 8;
        if (o.is(OperandKind::Register) && o.component() == ptx::Component::None)
          place.slots = FunctionTranslator::slotsOf(t.function().registers[index(o.registerId())]);
      }
      all.push_back(place);
    }
    return all;
  };
  site.returns = places(parts.returns, true);
  site.args = places(parts.args, false);
  std::uint32_t callee = kSink;
  if (parts.callee->is(OperandKind::Function)) {
    site.callee = t.moduleTranslator().codeOf(parts.callee->functionId());
    if (!site.callee) {
      const ptx::Function& function = t.module().function(parts.callee->functionId());
      site.outside = launch::driverFunction(t.module().text(function.name));
      const CallSite* kept = t.keepSite(std::move(site));
      t.emit(&callOutside).detail = kept;
      return true;
    }
  } else {
    callee = t.useOf(*parts.callee, Type::B64);
    if (parts.prototype && parts.prototype->is(OperandKind::TargetList))
      for (std::uint32_t target : t.module().targetLists[index(parts.prototype->targetListId())].targets)
        t.moduleTranslator().codeOf(ptx::FunctionId(target));
  }
  const CallSite* kept = t.keepSite(std::move(site));
  Inst& inst = t.emit(&call);
  inst.a = callee;
  inst.detail = kept;
  return true;
}

// ---- The stack

/// The memory is taken from the thread's local memory until the function returns or the stack is restored.
void allocaHandler(Thread& t, const Inst& i) {
  const std::uint64_t align = static_cast<std::uint64_t>(i.imm);
  const std::uint64_t at = (t.localTop + align - 1) / align * align;
  const std::uint64_t end = at + t.r[i.a];
  if (end > (1u << 24) || end < at) throw Stop{"stack", "stack overflow"};
  t.localTop = end;
  if (t.local.bytes.size() < end) t.local.resize(end, t.machine->options.memcheck);
  t.r[i.d] = at;
}
void stacksave(Thread& t, const Inst& i) {
  t.r[i.d] = t.localTop;
}
void stackrestore(Thread& t, const Inst& i) {
  t.localTop = std::min(t.localTop, t.r[i.a]);
}

void nothing(Thread&, const Inst&) {}

} // namespace

bool translateControl(FunctionTranslator& t) {
  const Form& f = t.form();
  switch (f.op) {
  case Op::Bra:
    t.emit(&bra);
    t.branchTo(t.operand(0).labelId());
    return true;
  case Op::BrxIdx: {
    auto* table = t.keep(std::vector<std::uint32_t>());
    t.tableOf(*table, t.module().targetLists[index(t.operand(1).targetListId())].targets);
    const std::uint32_t at = t.use(0, Type::U32);
    Inst& inst = t.emit(&brxIdx);
    inst.a = at;
    inst.detail = table;
    return true;
  }
  case Op::Call: return translateCall(t);
  case Op::Ret: t.emit(&ret); return true;
  case Op::Exit: t.emit(&exitHandler); return true;
  case Op::Trap:
  case Op::Brkpt: t.emit(&trap); return true;
  case Op::Pmevent:
  case Op::Setmaxnreg: t.emit(&nothing); return true;
  case Op::Nanosleep: t.emit([](Thread& thread, const Inst&) { thread.yield(); }); return true;
  case Op::Alloca: {
    const std::uint32_t size = t.use(1, f.type());
    const std::int64_t align = t.operandCount() > 2 ? t.operand(2).intValue() : 8;
    Inst& inst = t.emit(&allocaHandler);
    inst.d = t.def(0);
    inst.a = size;
    inst.imm = std::max<std::int64_t>(align, 8);
    return true;
  }
  case Op::Stacksave: t.emit(&stacksave).d = t.def(0); return true;
  case Op::Stackrestore: {
    const std::uint32_t from = t.use(0, f.type());
    t.emit(&stackrestore).a = from;
    return true;
  }
  default: return false;
  }
}

} // namespace orias::interp
