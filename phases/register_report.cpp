#include "phases/register_report.h"

#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/block_frequency.h"
#include "ori/print.h"
#include "phases/occupancy.h"
#include "phases/phase.h"
#include "phases/remat/rematerializable.h"
#include "regalloc/webs.h"
#include "support/check.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <tuple>

namespace orias::phases {

namespace {

using isa::File;
using ori::VRegId;
using regalloc::Point;
using regalloc::Range;
using regalloc::RegisterFate;
using regalloc::Segment;

constexpr File kFiles[] = {File::R, File::UR, File::P, File::UP};
/// The most references of a value that an answer lists; if there are more, it gives their number.
constexpr std::size_t kListedReferences = 6;

std::optional<File> fileNamed(std::string_view name) {
  for (File file : kFiles)
    if (regalloc::fileName(file) == name) return file;
  return std::nullopt;
}

std::optional<std::uint32_t> numberIn(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

struct Instruction {
  Point point = 0; ///< where it reads; it writes at the next point
  std::uint32_t line = 0;
  double weight = 0; ///< of a reference: regalloc::weightOf
  std::string text;
  ori::InstrId id = ori::kNoId;
};

struct Reference {
  std::uint32_t instr; ///< number in the layout
  bool isDef;
};

struct Value {
  VRegId id = 0;
  File file = File::R;
  unsigned width = 1;
  std::string name, oriName;
  Range live;            ///< of any component
  std::uint32_t run = 0; ///< the run of registers that it shares with its copies: index into RegisterFacts::spillCosts
  std::vector<Reference> refs; ///< in the order of the layout
  std::string remat;           ///< what rematerialization would need, or why it is impossible
  bool isUniform = false;
};

struct LoopFacts {
  std::uint32_t line = 0; ///< the first one
  Segment whole;          ///< from its first point to its last
  std::uint32_t instructions = 0;
};

/// What rematerialization of a value would need, or why it is impossible.
std::string rematerialization(const ori::Function& function, VRegId v, const Rematerializer& rematerializer) {
  if (const char* why = rematerializer.whyNot(v)) return fmt::format("it cannot be rematerialized: {}", why);
  std::string operands;
  for (VRegId operand : rematerializer.operands(v))
    operands += (operands.empty() ? ", and needs " : ", ") + ori::printOperand(function, function.use(operand));
  return fmt::format("rematerialization costs {} at each use{}", rematerializer.cost(v), operands);
}

struct Pressure {
  unsigned most = 0;
  Point at = 0;
};

} // namespace

/// The facts about the function before allocation that answers need.
struct RegisterFacts {
  std::vector<Instruction> instructions; ///< in the order of the layout
  std::vector<Value> values;
  std::vector<LoopFacts> loops;
  std::vector<double> spillCosts; ///< by run of registers: regalloc::Web::spillCost
  Pressure peaks[isa::kFileCount];

  explicit RegisterFacts(ori::Function& function);
  void addValues(const ori::Function& function, File file, const std::vector<std::uint32_t>& numberOf,
                 const Rematerializer& rematerializer);
  const Instruction& at(Point point) const { return instructions[point / 2]; }
  std::string place(Point point) const {
    const Instruction& instr = at(point);
    return instr.line == 0 ? fmt::format("'{}'", instr.text) : fmt::format("line {}, '{}'", instr.line, instr.text);
  }
  double weight(const Value& value) const;
  std::string title(const Value& value) const;
  std::string whoKeepsAlive(const Value& value, Point point) const;
};

RegisterFacts::RegisterFacts(ori::Function& function) {
  ori::setBlockFrequencies(function);
  const ori::DomTree& dominators = function.analyses().dominators();
  const ori::Loops& found = function.analyses().loops();
  loops.resize(found.all().size());
  std::vector<std::uint32_t> numberOf(function.instrIdCount(), 0);
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block) {
      const auto number = static_cast<std::uint32_t>(instructions.size());
      numberOf[instr.id] = number;
      const Point point = 2 * number;
      for (ori::LoopId loop = found.innermost(block->id); loop != ori::kNoId; loop = found.loop(loop).parent) {
        LoopFacts& facts = loops[loop];
        if (facts.instructions++ == 0) facts.whole.start = point;
        facts.whole.end = point + 2;
        if (facts.line == 0 || (instr.source.ptxLine != 0 && instr.source.ptxLine < facts.line))
          facts.line = instr.source.ptxLine;
      }
      instructions.push_back(
          {point, instr.source.ptxLine, regalloc::weightOf(instr), ori::print(function, instr), instr.id});
    }
  const Rematerializer rematerializer(function, dominators, {});
  for (File file : kFiles)
    addValues(function, file, numberOf, rematerializer);
}

void RegisterFacts::addValues(const ori::Function& function, File file, const std::vector<std::uint32_t>& numberOf,
                              const Rematerializer& rematerializer) {
  const regalloc::LiveRanges ranges(function, file);
  const regalloc::Webs webs = regalloc::buildWebs(function, file, ranges, {true, {}});
  const auto firstRun = static_cast<std::uint32_t>(spillCosts.size());
  std::vector<std::int32_t> change(ranges.pointCount() + 1, 0);
  for (const regalloc::Web& web : webs.all) {
    spillCosts.push_back(web.spillCost);
    for (const Range& range : web.components)
      for (Segment s : range.segments()) {
        ++change[s.start];
        --change[s.end];
      }
  }
  for (VRegId v = 0; v < function.vregCount(); ++v) {
    const ori::VReg& reg = function.vreg(v);
    if (reg.file != file || !reg.hasRefs()) continue;
    Value value{v, file, reg.width, std::string(reg.name), ori::printOperand(function, function.use(v)), {},
                0, {},   {},        !reg.divergent};
    for (unsigned i = 0; i < reg.width; ++i)
      value.live.unite(ranges.component(v, i));
    if (webs.webOf[v] != ~0u) value.run = firstRun + webs.webOf[v];
    for (const ori::Ref o : function.refs(v))
      value.refs.push_back({numberOf[o.owner->id], o->isDef});
    std::ranges::sort(value.refs, {}, [](const Reference& r) { return std::pair(r.instr, r.isDef); });
    const auto same = [](const Reference& a, const Reference& b) { return a.instr == b.instr && a.isDef == b.isDef; };
    value.refs.erase(std::unique(value.refs.begin(), value.refs.end(), same), value.refs.end());
    value.remat = rematerialization(function, v, rematerializer);
    values.push_back(std::move(value));
  }
  Pressure& peak = peaks[static_cast<std::size_t>(file)];
  std::int32_t now = 0;
  for (Point point = 0; point < ranges.pointCount(); ++point) {
    now += change[point];
    if (now > static_cast<std::int32_t>(peak.most)) peak = {static_cast<unsigned>(now), point};
  }
}

double RegisterFacts::weight(const Value& value) const {
  double sum = 0;
  for (const Reference& ref : value.refs)
    sum += instructions[ref.instr].weight;
  return sum;
}

std::string RegisterFacts::title(const Value& value) const {
  return value.name.empty() ? value.oriName : fmt::format("{} ({})", value.name, value.oriName);
}

/// The next read after `point`, which keeps the value live there.
std::string RegisterFacts::whoKeepsAlive(const Value& value, Point point) const {
  const auto isRead = [](const Reference& ref) { return !ref.isDef; };
  const auto next = std::ranges::find_if(
      value.refs, [&](const Reference& ref) { return isRead(ref) && instructions[ref.instr].point >= point; });
  if (next != value.refs.end()) return fmt::format("the read at {}", place(instructions[next->instr].point));
  // The next read is earlier in the layout, reached by a backedge.
  const auto first = std::ranges::find_if(value.refs, isRead);
  if (first == value.refs.end()) return "no read";
  return fmt::format("the read in the next iteration, at {}", place(instructions[first->instr].point));
}

RegisterReport::RegisterReport(ori::Function& function) : facts_(std::make_unique<const RegisterFacts>(function)) {}
RegisterReport::~RegisterReport() = default;

RegisterQuery parseRegisterQuery(std::string_view text) {
  using enum RegisterQuery::Kind;
  if (const auto file = fileNamed(text)) return {Peak, *file, 0, {}};
  if (const auto line = numberIn(text); line && *line != 0) return {Line, File::R, *line, {}};
  if (text.size() > 1 && text.starts_with('%')) return {Value, File::R, 0, std::string(text)};
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    const auto file = fileNamed(text.substr(0, colon));
    const auto number = numberIn(text.substr(colon + 1));
    if (file && number) return {Register, *file, *number, {}};
  }
  throw Error(fmt::format("unknown --why query '{}'; expected a register file (R, UR, P, UP: the live values at its "
                          "peak), a machine register (R:24), a value (%name) or a PTX line (120)",
                          text));
}

namespace {

/// The limits on the registers of file R.
std::string limitOfR(const ori::Function& function, const PhaseContext& context) {
  const isa::Target& target = context.target;
  const ori::LaunchBounds& bounds = function.bounds;
  std::string_view why = "--maxrregcount or setmaxnreg";
  if (context.maxRegisters == target.maxRegistersPerThread())
    why = "the chip";
  else if (context.maxRegisters == bounds.maxnreg)
    why = ".maxnreg";
  else if (bounds.threads() != 0)
    why = "the launch bounds";
  return fmt::format("{} are allowed by {}, of which {} are reserved", context.maxRegisters, why,
                     target.reservedRegisters());
}

/// Composes one answer.
class Answer {
 public:
  Answer(const RegisterFacts& facts, std::span<const RegisterFate> fates, const ori::Function& function,
         const PhaseContext& context)
      : facts_(facts), fates_(fates), function_(function), context_(context) {}

  std::string to(const RegisterQuery& query) {
    switch (query.kind) {
    case RegisterQuery::Kind::Peak: peak(query.file); break;
    case RegisterQuery::Kind::Register: machineRegister(query); break;
    case RegisterQuery::Kind::Value: named(query.name); break;
    case RegisterQuery::Kind::Line: line(query.number); break;
    }
    return std::move(text_);
  }

  std::string about(const Value& value) {
    text_.clear();
    describe(value);
    return std::move(text_);
  }

 private:
  template <typename... Args> void say(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  const RegisterFate& fate(const Value& value) const { return fates_[value.id]; }
  const Pressure& peakOf(File file) const { return facts_.peaks[static_cast<std::size_t>(file)]; }

  std::string placeOf(const Value& value) const {
    const RegisterFate& f = fate(value);
    switch (f.kind) {
    case RegisterFate::Kind::Unused: return "nowhere";
    case RegisterFate::Kind::Register:
      return value.width == 1
                 ? fmt::format("{}{}", regalloc::fileName(value.file), f.reg)
                 : fmt::format("{0}{1} to {0}{2}", regalloc::fileName(value.file), f.reg, f.reg + value.width - 1);
    case RegisterFate::Kind::Memory: return "local memory";
    case RegisterFate::Kind::OtherFile: return value.file == File::UP ? "file UR" : "file R";
    case RegisterFate::Kind::UniformRegister: return "file UR";
    case RegisterFate::Kind::Recomputed: return "no register: rematerialized at each use";
    }
    return "";
  }

  unsigned availableIn(File file) const {
    if (file != File::R) return context_.target.registerCount(file);
    return context_.maxRegisters - std::min(context_.maxRegisters, context_.target.reservedRegisters());
  }

  /// How many registers there are, and which limit applies.
  std::string limitOf(File file) const {
    if (file == File::R) return limitOfR(function_, context_);
    return fmt::format("the target has {} of file {}", availableIn(file), regalloc::fileName(file));
  }

  void limits(File file) {
    say("  Limit: {}.", limitOf(file));
    if (file != File::R) return;
    const OccupancyClasses classes(function_, context_);
    const unsigned live = peakOf(File::R).most;
    say("  With up to {} live registers, as many warps fit on an SM as with {}: {:.0f}. The function uses {}.",
        classes.end(live), live, classes.warps(live), function_.stats.registers);
  }

  void peak(File file) {
    const Pressure& peak = peakOf(file);
    if (peak.most == 0) {
      say("No value of '{}' needs file {}.", function_.name(), regalloc::fileName(file));
      return;
    }
    say("The pressure of file {} in '{}' is highest at {}: {} live.", regalloc::fileName(file), function_.name(),
        facts_.place(peak.at), counted(peak.most, "register"));
    limits(file);
    std::vector<const Value*> live;
    for (const Value& value : facts_.values)
      if (value.file == file && value.live.contains(peak.at)) live.push_back(&value);
    // Of the values that share a run, the widest represents it.
    std::ranges::stable_sort(live, {}, [&](const Value* v) {
      return std::tuple(facts_.spillCosts[v->run], v->run, -static_cast<int>(v->width));
    });
    say("  Live there, in the order in which they would be spilled (copies share a register with their source):");
    for (auto at = live.begin(); at != live.end();) {
      const Value& value = **at;
      const auto end = std::find_if(at, live.end(), [&](const Value* v) { return v->run != value.run; });
      const auto copies = static_cast<std::size_t>(end - at - 1);
      say("    {}: {}, in {}{}; kept alive by {}", facts_.title(value), counted(value.width, "register"),
          placeOf(value), copies == 0 ? "" : fmt::format(", shared with {}", counted(copies, "value")),
          facts_.whoKeepsAlive(value, peak.at));
      at = end;
    }
  }

  void machineRegister(const RegisterQuery& query) {
    const std::string name = fmt::format("{}{}", regalloc::fileName(query.file), query.number);
    std::vector<const Value*> held;
    for (const Value& value : facts_.values) {
      const RegisterFate& f = fate(value);
      if (value.file == query.file && f.kind == RegisterFate::Kind::Register && !value.live.empty() &&
          f.reg <= query.number && query.number < f.reg + value.width)
        held.push_back(&value);
    }
    if (held.empty()) {
      say("No value of '{}' is in {}.", function_.name(), name);
      return;
    }
    std::ranges::stable_sort(held, {}, [](const Value* v) { return v->live.start(); });
    say("{} of '{}' holds {}, in this order:", name, function_.name(), counted(held.size(), "value"));
    for (const Value* value : held)
      describe(*value);
  }

  void named(const std::string& name) {
    std::size_t found = 0;
    const auto describeIf = [&](auto&& matches) {
      for (const Value& value : facts_.values)
        if (matches(value)) {
          ++found;
          describe(value);
        }
    };
    describeIf([&](const Value& v) { return v.name == name; });
    if (found == 0) describeIf([&](const Value& v) { return v.oriName.substr(0, v.oriName.find(':')) == name; });
    if (found == 0)
      say("'{}' has no value {} before allocation: it was optimized away or merged into another value.",
          function_.name(), name);
  }

  void line(std::uint32_t number) {
    bool isFound = false;
    for (std::uint32_t i = 0; i < facts_.instructions.size(); ++i) {
      if (facts_.instructions[i].line != number) continue;
      isFound = true;
      say("Line {} of '{}': '{}'", number, function_.name(), facts_.instructions[i].text);
      if (!describeReferences(i, true)) describeReferences(i, false);
    }
    if (!isFound) say("No instruction of '{}' comes from line {} before allocation.", function_.name(), number);
  }

  /// Lists the values that an instruction writes, or those that it reads. False if there are none.
  bool describeReferences(std::uint32_t instr, bool defs) {
    bool isFound = false;
    for (const Value& value : facts_.values)
      for (const Reference& ref : value.refs)
        if (ref.instr == instr && ref.isDef == defs) {
          isFound = true;
          describe(value);
          break;
        }
    return isFound;
  }

  void references(const Value& value, bool defs) {
    std::size_t count = 0;
    for (const Reference& ref : value.refs) {
      if (ref.isDef != defs || ++count > kListedReferences) continue;
      say("  {} at {}", defs ? "written" : "read", facts_.place(facts_.instructions[ref.instr].point));
    }
    if (count > kListedReferences)
      say("  and {} at {} more instructions", defs ? "written" : "read", count - kListedReferences);
  }

  void describe(const Value& value) {
    say("{}: {} of file {}, in {}", facts_.title(value), counted(value.width, "register"),
        regalloc::fileName(value.file), placeOf(value));
    references(value, true);
    references(value, false);
    if (value.live.empty()) {
      say("  never live: it has no use");
      return;
    }
    const std::uint64_t length = (value.live.length() + 1) / 2;
    say("  live over {} of {}", length, counted(facts_.instructions.size(), "instruction"));
    loops(value);
    const Pressure& peak = peakOf(value.file);
    if (value.live.contains(peak.at))
      say("  live at the peak of file {} ({} live, at {}): kept alive there by {}", regalloc::fileName(value.file),
          peak.most, facts_.place(peak.at), facts_.whoKeepsAlive(value, peak.at));
    else
      say("  not live at the peak of file {} ({} live, at {})", regalloc::fileName(value.file), peak.most,
          facts_.place(peak.at));
    costs(value);
    decision(value);
  }

  /// The loops that the value is live through without a reference in them.
  void loops(const Value& value) {
    for (const LoopFacts& loop : facts_.loops) {
      Range whole;
      whole.add(loop.whole);
      const bool appears = std::ranges::any_of(value.refs, [&](const Reference& ref) {
        const Point point = facts_.instructions[ref.instr].point;
        return loop.whole.start <= point && point < loop.whole.end;
      });
      if (!appears && value.live.covers(whole))
        say("  live through the loop at line {} ({}), which does not use it", loop.line,
            counted(loop.instructions, "instruction"));
    }
  }

  void costs(const Value& value) {
    const auto stores =
        static_cast<std::size_t>(std::ranges::count_if(value.refs, [](const Reference& r) { return r.isDef; }));
    say("  a spill takes {} and {}; weighted by block frequency: {:.3g}", counted(stores, "store"),
        counted(value.refs.size() - stores, "load"), facts_.weight(value));
    say("  {}", value.remat);
  }

  void decision(const Value& value) {
    const RegisterFate& f = fate(value);
    const std::string_view file = regalloc::fileName(value.file);
    const unsigned most = peakOf(value.file).most;
    switch (f.kind) {
    case RegisterFate::Kind::Unused: break;
    case RegisterFate::Kind::Register:
      if (const unsigned have = availableIn(value.file); most > have)
        say("  It keeps its register: others cost less to spill. {} are live at the peak of file {}, and {}.", most,
            file, limitOf(value.file));
      else
        say("  It keeps its register: at most {} are live, and {}.", most, limitOf(value.file));
      break;
    default:
      if (f.excess != 0)
        say("  It lost its register: file {} lacks {} at one point ({}), and its stores and reloads cost little for "
            "what "
            "they free: {:.3g}.",
            file, counted(f.excess, "register"), limitOf(value.file), f.spillCost);
      else
        say("  It lost its register to make room for an aligned run, or to survive a call; its references over its "
            "length cost {:.3g}.",
            f.spillCost);
      if (f.isPartly) say("  Between references where there is room it is in a register.");
      break;
    }
  }

  const RegisterFacts& facts_;
  std::span<const RegisterFate> fates_;
  const ori::Function& function_;
  const PhaseContext& context_;
  std::string text_;
};

} // namespace

std::string RegisterReport::answer(const RegisterQuery& query, std::span<const RegisterFate> fates,
                                   const ori::Function& function, const PhaseContext& context) const {
  return Answer(*facts_, fates, function, context).to(query);
}

RegisterAccounts RegisterReport::accounts(std::span<const RegisterFate> fates, const ori::Function& function,
                                          const PhaseContext& context) const {
  RegisterAccounts all;
  Answer answer(*facts_, fates, function, context);
  for (File file : kFiles)
    if (facts_->peaks[static_cast<std::size_t>(file)].most != 0)
      all.peaks.push_back(answer.to({RegisterQuery::Kind::Peak, file, 0, {}}));
  for (const Value& value : facts_->values) {
    if (value.live.empty()) continue;
    ValueAccount& account = all.values.emplace_back(value.name, value.oriName, value.file, value.isUniform,
                                                    std::vector<std::uint32_t>(), answer.about(value));
    for (const Reference& ref : value.refs)
      account.instructions.push_back(facts_->instructions[ref.instr].id);
  }
  return all;
}

} // namespace orias::phases
