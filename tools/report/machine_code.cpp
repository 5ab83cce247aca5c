#include "tools/report/machine_code.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/print.h"
#include "encoder/isa/target.h"
#include "encoder/listing.h"
#include "encoder/register_map.h"
#include "ori/module.h"
#include "orias/function_job.h"
#include "phases/phase.h"
#include "tools/report/waits.h"

#include <nlohmann/json.hpp>

namespace orias::report {

using nlohmann::ordered_json;

namespace {

/// Null for a scoreboard that is not taken.
ordered_json scoreboard(std::uint8_t number) {
  return number == isa::Control::kNoBarrier ? ordered_json() : ordered_json(number);
}

char laneMark(const encoder::ListingRow& row) {
  if (row.uniform) return 'U';
  switch (row.lanes) {
  case encoder::UniformityNote::Uniform: return 'u';
  case encoder::UniformityNote::Varying: return 'v';
  case encoder::UniformityNote::Unknown: break;
  }
  return ' ';
}

/// The phases that created and changed an instruction, in order, as indices into the pipeline.
ordered_json phasesOf(const ori::Function& function, const ori::Instr& instr) {
  std::vector<unsigned> phases;
  function.forEachChange(instr, [&](unsigned phase) { phases.insert(phases.begin(), phase); });
  phases.insert(phases.begin(), instr.createdBy);
  return phases;
}

/// Registers by number, each file offset by 256 from the previous one, as the page marks them in the strip.
void addTouches(const isa::Word& word, const isa::Target& target, ordered_json& reads, ordered_json& writes) {
  std::vector<unsigned> read, written;
  if (const auto inst = isa::decodeFor(target, word))
    isa::forEachTouch(*inst, target, [&](const isa::Touch& touch) {
      (touch.isDef ? written : read).push_back(static_cast<unsigned>(touch.file) << 8 | touch.reg);
    });
  for (auto* list : {&read, &written}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  reads.push_back(read);
  writes.push_back(written);
}

encoder::IndirectTargets indirectTargets(const encoder::FunctionCode& code) {
  encoder::IndirectTargets all;
  for (const encoder::JumpTable& table : code.jumpTables)
    for (const std::uint32_t target : table.targets)
      all[table.branch / encoder::kWordBytes].push_back(target / encoder::kWordBytes);
  return all;
}

std::string_view edgeName(encoder::FlowEdge::Kind kind) {
  switch (kind) {
  case encoder::FlowEdge::Kind::FallThrough: return "next";
  case encoder::FlowEdge::Kind::Taken: return "taken";
  case encoder::FlowEdge::Kind::Indirect: return "table";
  case encoder::FlowEdge::Kind::AfterCall: return "return";
  }
  return "";
}

} // namespace

ordered_json machineCodeJson(const FunctionJob& job) {
  const encoder::FunctionCode& code = job.code();
  const isa::Target& target = job.function().module().target();
  ordered_json text = ordered_json::array(), label = ordered_json::object(), control = ordered_json::array(),
               live = ordered_json::array(), id = ordered_json::array(), line = ordered_json::array(),
               loc = ordered_json::array(), phases = ordered_json::array(), reads = ordered_json::array(),
               writes = ordered_json::array();
  std::string lanes;
  std::size_t count = code.words.size();
  // Padding of the section is left out.
  while (count > 0 && !code.origin[count - 1])
    --count;
  for (std::size_t i = 0; i < count; ++i) {
    const encoder::ListingRow& row = code.listing->rows[i];
    const ori::Instr* origin = code.origin[i];
    text.push_back(row.text);
    if (!row.label.empty()) label[std::to_string(i)] = row.label;
    control.push_back({row.control.stall, row.control.yield ? 1 : 0, scoreboard(row.control.writeBarrier),
                       scoreboard(row.control.readBarrier), row.control.waitMask, row.reuse});
    live.push_back({row.live[0], row.live[1], row.live[2], row.live[3]});
    lanes += laneMark(row);
    id.push_back(origin ? ordered_json(origin->id) : ordered_json());
    line.push_back(row.ptxLine);
    loc.push_back(origin ? origin->source.loc : 0);
    phases.push_back(origin ? phasesOf(job.function(), *origin) : ordered_json::array());
    addTouches(row.word, target, reads, writes);
  }
  const std::span<const isa::Word> words(code.words.data(), count);
  const encoder::IndirectTargets indirect = indirectTargets(code);
  ordered_json waits = ordered_json::array(), stalls = ordered_json::array(), blocks = ordered_json::array(),
               ranges = ordered_json::array();
  for (const Wait& wait : scoreboardWaits(words, indirect, target))
    waits.push_back({wait.waiter, wait.producer, wait.scoreboard, wait.isForSources ? 1 : 0});
  for (const StallCause& cause : stallCauses(words, indirect, target))
    stalls.push_back({cause.at, cause.producer, cause.reader});
  if (!words.empty())
    for (const encoder::FlowBlock& block : encoder::flowBlocks(encoder::flowsOf(words, target), indirect)) {
      ordered_json to = ordered_json::array();
      for (const encoder::FlowEdge& edge : block.successors)
        to.push_back({edge.to, edgeName(edge.kind)});
      blocks.push_back({block.first, block.end, std::move(to)});
    }
  for (const encoder::LiveRange& range : encoder::liveRanges(job.function(), code))
    ranges.push_back({isa::fileName(range.file), range.reg, range.first, range.end});
  // Marks of instructions that later phases have merged or replaced are only in the Ori text.
  std::string marks;
  for (const encoder::UniformityNote mark : code.uniformityNotes)
    marks += mark == encoder::UniformityNote::Uniform ? 'u' : mark == encoder::UniformityNote::Varying ? 'v' : ' ';
  return {{"text", std::move(text)},
          {"labels", std::move(label)},
          {"control", std::move(control)},
          {"live", std::move(live)},
          {"lanes", lanes},
          {"id", std::move(id)},
          {"line", std::move(line)},
          {"loc", std::move(loc)},
          {"phases", std::move(phases)},
          {"reads", std::move(reads)},
          {"writes", std::move(writes)},
          {"waits", std::move(waits)},
          {"stalls", std::move(stalls)},
          {"blocks", std::move(blocks)},
          {"liveRanges", std::move(ranges)},
          {"lanesById", marks}};
}

ordered_json occupancyJson(const FunctionJob& job) {
  const encoder::ListingHeader& header = job.code().listing->header;
  const isa::Target& target = job.function().module().target();
  ordered_json classes = ordered_json::array();
  unsigned warps = 0;
  for (unsigned registers = target.maxRegistersPerThread(); registers > 0; --registers) {
    const unsigned fit = target.occupancy(header.threadsPerBlock, registers, header.sharedBytes).warpsPerSm;
    if (fit == warps) continue;
    classes.push_back({{"registers", registers}, {"warps", fit}});
    warps = fit;
  }
  return {{"threadsPerBlock", header.threadsPerBlock}, {"warps", header.warpsPerSm},
          {"maxWarps", header.maxWarpsPerSm},          {"limit", header.occupancyLimit},
          {"reserved", target.reservedRegisters()},    {"classes", std::move(classes)}};
}

} // namespace orias::report
