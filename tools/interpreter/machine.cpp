#include "tools/interpreter/machine.h"

#include "support/check.h"
#include "tools/interpreter/interpreter.h"
#include "tools/interpreter/special.h"
#include "tools/interpreter/text.h"
#include "tools/interpreter/translate.h"

#include <fmt/format.h>

#include <algorithm>

namespace orias::interp {

namespace {

launch::ClusterDemands demandsOf(const ptx::Function& kernel) {
  const ptx::PerformanceDirectives& said = kernel.performance;
  if (said.blocksareclusters) throw Error("kernels with .blocksareclusters are not supported");
  launch::ClusterDemands demands;
  const auto& shape = said.reqnctapercluster;
  if (shape[0] != 0) demands.shape = {shape[0], std::max(shape[1], 1u), std::max(shape[2], 1u)};
  demands.isExplicit = said.explicitcluster;
  demands.mostBlocks = said.maxclusterrank;
  return demands;
}

/// Instructions of one thread before the next thread runs. Only programs that spin are affected.
constexpr std::int64_t kTurn = 20'000;
/// Turns of a block before the next block starts to run concurrently, so that blocks that wait for others make
/// progress.
constexpr std::uint64_t kPatience = 100;
/// Maximum local memory and call nesting of a thread.
constexpr std::uint64_t kMaxLocalBytes = std::uint64_t{1} << 24;
constexpr std::size_t kMaxFrames = 10'000;

} // namespace

// ---- Frames

void enter(Thread& t, const Code& code, const CallSite* site) {
  if (t.frames.size() >= kMaxFrames) throw Stop{"stack", "calls are nested too deeply"};
  Frame frame;
  frame.code = &code;
  frame.returnTo = t.next;
  frame.site = site;
  frame.base = t.frames.empty() ? 0 : t.frame().base + t.frame().code->slots();
  frame.localBefore = t.localTop;
  frame.localBase = (t.localTop + 15) / 16 * 16;
  if (frame.localBase + code.frameBytes > kMaxLocalBytes) throw Stop{"stack", "stack overflow"};
  t.localTop = frame.localBase + code.frameBytes;
  if (t.local.bytes.size() < t.localTop) t.local.resize(t.localTop, t.machine->options.memcheck);
  std::fill(t.local.bytes.begin() + static_cast<std::ptrdiff_t>(frame.localBase),
            t.local.bytes.begin() + static_cast<std::ptrdiff_t>(t.localTop), std::byte{0});
  if (!t.local.written.empty())
    std::fill(t.local.written.begin() + static_cast<std::ptrdiff_t>(frame.localBase),
              t.local.written.begin() + static_cast<std::ptrdiff_t>(t.localTop), false);

  const std::size_t end = frame.base + code.slots();
  if (t.slots.size() < end) t.slots.resize(end);
  t.r = t.slots.data() + frame.base;
  std::fill(t.r, t.r + code.registerSlots, 0);
  std::copy(code.constants.begin(), code.constants.end(), t.r + code.registerSlots);
  for (const Code::FrameAddress& f : code.frameAddresses)
    t.r[f.slot] = frame.localBase + f.offset;
  for (const std::uint32_t slot : code.sharedAddresses)
    t.r[slot] += std::uint64_t{t.cta->rank} << kRankBit;
  for (const Code::SpecialSlot& s : code.specials)
    t.r[s.slot] = specialRegister(t, s.reg, s.component);
  t.frames.push_back(frame);
  t.next = code.insts.data();
}

void leave(Thread& t) {
  if (t.frames.size() == 1) return exitThread(t);
  const Frame frame = t.frame();
  t.frames.pop_back();
  t.next = frame.returnTo;
  t.localTop = frame.localBefore;
  t.r = t.slots.data() + t.frame().base;
}

void exitThread(Thread& t) {
  t.state = ThreadState::Exited;
  t.warp->live &= ~(1u << t.lane);
  --t.cta->live;
  checkLanes(*t.warp);
  checkBarriers(*t.cta);
  leaveCluster(t);
}

// ---- Running

Machine::Machine(const Program& program, launch::Device& device, const launch::RunOptions& options,
                 std::vector<std::byte> params)
    : program(program), device(device), options(options),
      clusters(launch::clustersOf(device.launch, demandsOf(*program.kernel->function))), params(std::move(params)),
      children_(*program.module), runtime_(device, options, children_) {
  if (clusters.isExplicit && program.module->target.arch.number < 90)
    throw Error(fmt::format("sm_{} has no clusters", program.module->target.arch.number));
  if (!options.racecheck) return;
  forms_ = std::make_unique<ptx::FormTable>(*program.module);
  blockRaces = std::make_unique<BlockRaces>();
}

void Machine::startCluster() {
  auto cluster = std::make_unique<Cluster>();
  cluster->number = nextCluster_++;
  cluster->ctas.resize(clusters.blocks());
  for (std::uint32_t rank = 0; rank < clusters.blocks(); ++rank) {
    Cta& cta = cluster->ctas[rank];
    cta.id = clusters.block(cluster->number, rank);
    cta.rank = rank;
    cta.cluster = cluster.get();
    startCta(cta);
  }
  const Cta& first = cluster->ctas[0];
  if (options.racecheck)
    cluster->races = std::make_unique<Races>(cluster->ctas.size(), first.warps.size(), first.shared.bytes.size());
  active_.push_back(std::move(cluster));
}

void Machine::startCta(Cta& cta) {
  const launch::Dim3& block = device.launch.block;
  const auto count = static_cast<std::uint32_t>(block.count());
  cta.live = count;
  cta.shared.resize(program.dynamicShared + device.launch.dynamicShared, options.memcheck);
  cta.warps.resize((count + 31) / 32);
  cta.threads.resize(count);
  for (Barrier& barrier : cta.barriers)
    barrier.pending.resize(cta.warps.size());
  const auto firstWarp = static_cast<std::uint32_t>(cta.rank * cta.warps.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    Thread& t = cta.threads[i];
    Warp& warp = cta.warps[i / 32];
    t.cta = &cta;
    t.warp = &warp;
    t.machine = this;
    t.index = i;
    t.number = firstWarp * 32 + i;
    t.lane = i % 32;
    t.tid = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    warp.index = i / 32;
    warp.number = firstWarp + warp.index;
    warp.lanes[t.lane] = &t;
    warp.live |= 1u << t.lane;
  }
  for (Thread& t : cta.threads)
    enter(t, *program.kernel, nullptr);
}

launch::RunResult Machine::run() {
  const std::uint64_t count = clusters.count.count();
  while (!stopped_) {
    if (active_.empty()) {
      if (nextCluster_ == count) break;
      startCluster();
    }
    bool moved = false;
    for (std::size_t i = 0; i < active_.size() && !stopped_; ++i)
      moved |= runRound(*active_[i]);
    std::erase_if(active_, [](const auto& cluster) { return cluster->live() == 0; });
    const bool impatient =
        std::all_of(active_.begin(), active_.end(), [](const auto& cluster) { return cluster->turns >= kPatience; });
    if (stopped_ || active_.empty()) continue;
    if (nextCluster_ < count && (impatient || !moved))
      startCluster();
    else if (!moved)
      reportDeadlock();
  }
  if (!stopped_) {
    const launch::DriverResult end = runtime_.finish();
    addChildren();
    if (!end.failure.empty()) {
      stopped_ = true;
      result_.reports.insert(result_.reports.begin(), {end.kind, "", end.failure, 1});
    }
  }
  result_.completed = !stopped_;
  return std::move(result_);
}

// ---- Children

launch::DriverResult Machine::callOutside(const launch::DriverCall& call) {
  if (!launch::isRuntimeFunction(*call.function)) return launch::callDriver(call, device.global, result_.printed);
  launch::DriverResult result = runtime_.call(call);
  addChildren();
  return result;
}

void Machine::addChildren() {
  launch::RunResult children = runtime_.takeChildren();
  result_.threadInstructions += children.threadInstructions;
  result_.printed += children.printed;
  result_.trace += children.trace;
  std::ranges::move(children.reports, std::back_inserter(result_.reports));
}

std::optional<std::string> ChildGrids::kernelAt(std::uint64_t value) const {
  for (std::uint32_t i = 0; i < module_.functions.size(); ++i)
    if (module_.functions[i].isEntry && ModuleTranslator::addressOf(ptx::FunctionId(i)) == value)
      return std::string(module_.text(module_.functions[i].name));
  return std::nullopt;
}

std::vector<launch::ParameterPlace> ChildGrids::parametersOf(const std::string& kernel) {
  return kernelPlaces(module_, *kernelNamed(module_, kernel));
}

launch::RunResult ChildGrids::run(launch::Device& device, const launch::RunOptions& options) {
  return interp::run(module_, device, options);
}

/// One turn for every ready thread of the cluster; false if there was none.
bool Machine::runRound(Cluster& cluster) {
  bool moved = false;
  ++cluster.turns;
  for (Cta& cta : cluster.ctas)
    for (Warp& warp : cta.warps) {
      for (Thread* t : warp.lanes) {
        if (!t || t->state != ThreadState::Ready) continue;
        moved = true;
        runTurn(*t);
        if (stopped_) return true;
      }
      moved |= releaseGathered(warp);
    }
  return moved;
}

void Machine::runTurn(Thread& t) {
  t.left = kTurn;
  t.uncounted = 0;
  std::int64_t given = kTurn;
  const std::uint64_t rest = options.instructionBudget - result_.threadInstructions;
  if (rest < static_cast<std::uint64_t>(given)) t.left = given = static_cast<std::int64_t>(rest) + 1;
  std::int64_t done = 0;
  const Inst* at = t.next;
  try {
    // `left` is counted down by steps; yield() sets it to 0, so executed steps are counted separately.
    while (t.state == ThreadState::Ready && t.left > 0) {
      at = t.next++;
      --t.left;
      ++done;
      if (at->guard >= 0 && (t.r[at->guard] != 0) == at->guardNegated) continue;
      at->run(t, *at);
      if (options.trace) trace(t, *at);
    }
    result_.threadInstructions += static_cast<std::uint64_t>(done - t.uncounted);
    if (options.progress) options.progress->tell(result_.threadInstructions, nextCluster_ * clusters.blocks());
    if (result_.threadInstructions > options.instructionBudget)
      throw Stop{"budget", fmt::format("the launch takes more than {} thread instructions", options.instructionBudget)};
  } catch (const Stop& why) {
    t.inst = at;
    stop(t, why);
  }
}

// ---- Races

Races::Strength Machine::strengthOf(const Thread& t) {
  const Inst& inst = t.inst ? *t.inst : t.next[-1];
  const auto [known, isNew] = strengths_.try_emplace(&inst);
  const ptx::Function& function = *t.frames.back().code->function;
  if (!isNew || inst.origin >= function.instructions.size()) return known->second;
  const ptx::Form& form = forms_->form(function.instructions[inst.origin]);
  using ptx::Mod;
  using ptx::Op;
  Races::Strength& s = known->second;
  switch (form.op) {
  case Op::MbarrierInit:
  case Op::MbarrierInval:
  case Op::MbarrierArrive:
  case Op::MbarrierArriveDrop:
  case Op::MbarrierExpectTx:
  case Op::MbarrierCompleteTx:
  case Op::MbarrierTestWait:
  case Op::MbarrierTryWait:
  case Op::CpAsyncMbarrierArrive:
  case Op::CpAsyncBulk:
  case Op::CpReduceAsyncBulk:
  case Op::CpAsyncBulkTensor:
  case Op::CpReduceAsyncBulkTensor:
  case Op::ClusterlaunchcontrolTryCancel:
  case Op::StAsync:
  case Op::RedAsync: s = {true, true, true}; break;
  default:
    s.acquires = form.has(Mod::Acquire) || form.has(Mod::AcqRel);
    s.releases = form.has(Mod::Release) || form.has(Mod::AcqRel);
    s.isStrong = s.acquires || s.releases || form.has(Mod::Relaxed) || form.has(Mod::Volatile) || form.op == Op::Atom ||
                 form.op == Op::Red;
  }
  return s;
}

// ---- Messages

std::string Machine::threadName(const Thread& t) {
  return fmt::format("block ({},{},{}), thread ({},{},{})", t.cta->id.x, t.cta->id.y, t.cta->id.z, t.tid.x, t.tid.y,
                     t.tid.z);
}

std::string Machine::placeOf(const Thread& t) const {
  const Inst& inst = t.inst ? *t.inst : t.next[-1];
  const ptx::Function& function = *t.frames.back().code->function;
  if (inst.origin >= function.instructions.size()) return std::string(program.module->text(function.name));
  const ptx::Instruction& instruction = function.instructions[inst.origin];
  const std::string& file = device.launch.file;
  return fmt::format("{}:{}:{} {}", file.empty() ? "ptx" : file, instruction.loc.line, instruction.loc.column,
                     instructionText(*program.module, function, instruction));
}

void Machine::report(const Thread& t, std::string kind, std::string text) {
  std::string where = placeOf(t);
  const auto [it, isNew] = reportAt_.try_emplace(kind + "\n" + where, result_.reports.size());
  if (!isNew) {
    ++result_.reports[it->second].count;
    return;
  }
  result_.reports.push_back({std::move(kind), std::move(where), std::move(text) + " in " + threadName(t), 1});
}

void Machine::stop(const Thread& t, const Stop& why) {
  stopped_ = true;
  result_.reports.insert(result_.reports.begin(), {why.kind, placeOf(t), why.text + " in " + threadName(t), 1});
}

void Machine::reportDeadlock() {
  constexpr std::size_t kShown = 8;
  stopped_ = true;
  std::vector<std::pair<std::string, std::vector<std::string>>> waits; // place and threads
  const Thread* first = nullptr;
  const auto note = [&](const Thread& t) {
    if (t.state != ThreadState::Waiting) return;
    if (!first) first = &t;
    std::string place = placeOf(t);
    auto it = std::find_if(waits.begin(), waits.end(), [&](const auto& w) { return w.first == place; });
    if (it == waits.end()) it = waits.insert(waits.end(), {std::move(place), {}});
    it->second.push_back(threadName(t));
  };
  for (const auto& cluster : active_)
    for (const Cta& cta : cluster->ctas)
      for (const Thread& t : cta.threads)
        note(t);
  std::string text = "deadlock;";
  for (const auto& [place, threads] : waits) {
    text += fmt::format(
        " {} at {} wait:", threads.size() == 1 ? "one thread" : fmt::format("{} threads", threads.size()), place);
    for (std::size_t i = 0; i < std::min(threads.size(), kShown); ++i)
      text += (i ? "; " : " ") + threads[i];
    text += threads.size() > kShown ? "; ..." : ".";
  }
  launch::Report report{"deadlock", first ? placeOf(*first) : std::string(), std::move(text), 1};
  result_.reports.insert(result_.reports.begin(), std::move(report));
}

void Machine::trace(Thread& t, const Inst& inst) {
  const Inst* before = t.inst;
  t.inst = &inst;
  const bool sameFrame = !t.frames.empty() && inst.origin < t.frames.back().code->function->instructions.size();
  result_.trace += fmt::format("({},{},{}) ({},{},{}) {}", t.cta->id.x, t.cta->id.y, t.cta->id.z, t.tid.x, t.tid.y,
                               t.tid.z, sameFrame ? placeOf(t) : "");
  if (inst.d != kSink) result_.trace += fmt::format(" -> {:#x}", t.r[inst.d]);
  result_.trace += '\n';
  t.inst = before;
}

} // namespace orias::interp
