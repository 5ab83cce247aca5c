// The least distances in the code of cubins, to compare with the latency tables: the tables must not allow less than
// ptxas ever uses.
//
//   least_distances [--all] [--samples=N] [--readers] file.cubin ...
//
// A line for each kind of dependence (raw, waw, war), file, producing opcode with its port, and class and port of the
// consumer: the entry of the table, the least observed distance, its count, and the number of samples. "stall"
// lines are for an opcode and its class: the least stall count, of the table and observed. Without
// --all only the lines whose entry is below the least distance, with at least N samples (10). Then the opcodes that
// use a scoreboard which the instruction table does not account for. With --readers the consumer is also given
// by its opcode, to find out whether a class should be split.
//
// Distances are sums of stall counts along the words, without waits for scoreboards. An unconditional branch
// ends the search. Results that are signaled by a scoreboard are left out.

#include "encoder/control_flow.h"
#include "encoder/isa/codec.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"
#include "test/peers/cubin_code.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <tuple>

using namespace orias;

namespace {

constexpr std::array<const char*, 4> kPorts{"", ":Addend", ":High", ":Guard"};
constexpr std::array<const char*, isa::kFileCount> kFiles{"R", "UR", "P", "UP", "B"};

enum class Kind : std::uint8_t { Raw, Waw, War };
constexpr std::array<const char*, 3> kKinds{"raw", "waw", "war"};

struct Seen {
  unsigned table = 0;
  std::map<unsigned, unsigned> distances; ///< count of each distance
};
using Key = std::tuple<std::string, std::string, std::string, std::string>; ///< kind, file, producer, consumer

/// A read or write that a later instruction depends on.
struct Event {
  unsigned at = 0;
  isa::Op op{};
  isa::Access access;
  isa::Operand guard;
};

class Collector {
 public:
  explicit Collector(bool namesReaders) : namesReaders_(namesReaders) {}

  void add(const std::vector<isa::Word>& words, const isa::Target& target) {
    writes_.clear();
    reads_.clear();
    unsigned now = 0;
    for (std::uint32_t i = 0; i < words.size(); ++i) {
      const isa::Control control = isa::controlOf(words[i]);
      if (const auto inst = isa::decodeFor(target, words[i])) {
        execute(*inst, now, target);
        if (!encoder::flowOf(*inst, i, static_cast<std::uint32_t>(words.size())).fallsThrough) {
          writes_.clear();
          reads_.clear();
        }
      }
      now += control.stall != 0 ? control.stall : target.maxFixedLatency();
    }
  }

  void print(bool all, unsigned samples) const {
    for (const auto& [key, seen] : seen_) {
      unsigned count = 0;
      for (const auto& [distance, times] : seen.distances)
        count += times;
      const auto& [least, often] = *seen.distances.begin();
      if (!all && (seen.table >= least || count < samples)) continue;
      const auto& [kind, file, producer, consumer] = key;
      std::printf("%s %s: %s -> %s: table %u, least %u (%u times), samples %u\n", kind.c_str(), file.c_str(),
                  producer.c_str(), consumer.c_str(), seen.table, least, often, count);
    }
    for (const auto& [op, count] : writeScoreboards_)
      std::printf("takes a scoreboard for a result of fixed latency: %s %u\n", op.c_str(), count);
    for (const auto& [op, count] : readScoreboards_)
      std::printf("takes a scoreboard for sources that are not marked as late: %s %u\n", op.c_str(), count);
  }

 private:
  using Unit = std::pair<isa::File, std::uint32_t>;

  void execute(const isa::Inst& inst, unsigned now, const isa::Target& target) {
    const std::string name(isa::desc(inst.op).name);
    const isa::LatencyClass latencyClass = isa::latencyClassOf(inst.op, inst.mods);
    Seen& stalls = seen_[{"stall", "", name, std::string(isa::nameOf(latencyClass))}];
    stalls.table = std::max(stalls.table, target.minStall(latencyClass));
    ++stalls.distances[inst.control.stall];
    std::vector<isa::Touch> touches;
    isa::forEachTouch(inst, target, [&](const isa::Touch& t) {
      if (t.file != isa::File::B) touches.push_back(t);
    });
    const auto notSelf = [&](const Event& e) { return e.at != now; };
    for (const isa::Touch& t : touches) {
      const Unit unit{t.file, t.reg};
      const Event event{now, inst.op, t.access, inst.guard};
      const auto write = writes_.find(unit);
      if (write != writes_.end() && notSelf(write->second) && (!t.isDef || reads_[unit].empty()))
        note(t.isDef ? Kind::Waw : Kind::Raw, write->second, inst, t, now, target);
      if (!t.isDef) {
        if (!t.isLate) reads_[unit].push_back(event);
        continue;
      }
      for (const Event& read : reads_[unit])
        if (notSelf(read)) note(Kind::War, read, inst, t, now, target);
    }
    bool isFixed = false, isReadLate = false;
    for (const isa::Touch& t : touches) {
      isReadLate |= !t.isDef && t.isLate;
      if (!t.isDef) continue;
      const Unit unit{t.file, t.reg};
      isFixed |= !t.isLate;
      reads_.erase(unit);
      writes_.erase(unit);
      if (!t.isLate) writes_[unit] = {now, inst.op, t.access, inst.guard};
    }
    if (isFixed && inst.control.writeBarrier != isa::Control::kNoBarrier) ++writeScoreboards_[name];
    if (!isReadLate && inst.control.readBarrier != isa::Control::kNoBarrier) ++readScoreboards_[name];
  }

  void note(Kind kind, const Event& first, const isa::Inst& inst, const isa::Touch& t, unsigned now,
            const isa::Target& target) {
    const isa::Operand& guard = inst.guard;
    if (!guard.isZeroReg() && guard.reg == first.guard.reg && guard.inverted() != first.guard.inverted()) return;
    const unsigned table = (kind == Kind::Raw   ? target.rawLatency(t.file, first.access, t.access)
                            : kind == Kind::Waw ? target.wawLatency(t.file, first.access, t.access)
                                                : target.warLatency(t.file, first.access, t.access))
                               .cycles;
    const std::string second(isa::desc(inst.op).name);
    const std::string secondClass(isa::nameOf(t.access.latencyClass));
    Seen& seen = seen_[{kKinds[static_cast<unsigned>(kind)], kFiles[static_cast<unsigned>(t.file)],
                        std::string(isa::desc(first.op).name) + kPorts[static_cast<unsigned>(first.access.port)],
                        (namesReaders_ ? secondClass + " " + second : secondClass) +
                            kPorts[static_cast<unsigned>(t.access.port)]}];
    seen.table = std::max(seen.table, table);
    ++seen.distances[now - first.at];
  }

  const bool namesReaders_;
  std::map<Unit, Event> writes_;
  std::map<Unit, std::vector<Event>> reads_; ///< since the last write
  std::map<Key, Seen> seen_;
  std::map<std::string, unsigned> writeScoreboards_, readScoreboards_; ///< by opcode
};

} // namespace

int main(int argc, char** argv) {
  bool all = false;
  unsigned samples = 10;
  const auto isReaders = [](const char* option) { return std::strcmp(option, "--readers") == 0; };
  Collector collector(std::any_of(argv + 1, argv + argc, isReaders));
  for (int a = 1; a < argc; ++a) {
    if (std::strcmp(argv[a], "--all") == 0) {
      all = true;
    } else if (isReaders(argv[a])) {
      continue;
    } else if (std::strncmp(argv[a], "--samples=", 10) == 0) {
      samples = static_cast<unsigned>(std::atoi(argv[a] + 10));
    } else {
      const test::CubinCode code = test::codeOf(argv[a]);
      if (code.target == nullptr) continue;
      for (const auto& [section, words] : code.sections)
        collector.add(words, *code.target);
    }
  }
  collector.print(all, samples);
  return 0;
}
