#pragma once

// Swing modulo scheduling: J. Llosa, A. González, E. Ayguadé, M. Valero, "Swing Modulo Scheduling: A Lifetime-Sensitive
// Approach", PACT 1996.

#include "phases/modulo/loop_graph.h"

#include <optional>
#include <span>
#include <string>

namespace orias::phases::modulo {

/// When each node issues, in cycles from the start of its iteration; iterations start `ii` cycles apart.
struct Schedule {
  unsigned ii = 0;
  std::vector<unsigned> time;

  unsigned stage(std::uint32_t n) const { return time[n] / ii; }
  unsigned slot(std::uint32_t n) const { return time[n] % ii; }
  unsigned stages() const;
  /// The nodes in the order of their slots.
  std::vector<std::uint32_t> slotOrder() const;
};

/// The order in which nodes are placed: what leads to `last`; recurrences by their RecMII, each with the nodes between
/// it and what came before; then the rest. Within these, up and down by turns, so that most nodes have only
/// predecessors or only successors among those before them.
std::vector<std::uint32_t> nodeOrder(const LoopGraph& graph, const std::vector<Recurrence>& recurrences,
                                     const Times& times, std::optional<std::uint32_t> last);

/// Places the nodes in this order, each as near as possible to its placed neighbors, within a window of `ii` cycles.
/// `last`, if any, is a node that issues in the last slot of the first stage: the branch that decides about the next
/// iteration. Nothing when a node has no slot.
std::optional<Schedule> scheduleAt(const LoopGraph& graph, std::span<const std::uint32_t> order, unsigned ii,
                                   std::optional<std::uint32_t> last);

/// What limits the search.
struct Limits {
  unsigned maxMii = 27;        ///< SwpMaxMii
  unsigned maxStages = 3;      ///< SwpMaxStages
  unsigned iiSearchRange = 10; ///< values of II that are tried
  unsigned maxIi = ~0u;        ///< a longer one gains nothing
  bool ignoresRecMii = false;
};

/// A schedule, or the message that says why there is none.
struct Result {
  std::optional<Schedule> schedule;
  std::string message;
  unsigned resMii = 0, recMii = 0;
};

/// Tries II from max(ResMII, RecMII) on, but none with which an iteration does not fit into the stages. From 32 on,
/// values are a sixteenth apart.
Result findSchedule(const LoopGraph& graph, const std::vector<Recurrence>& recurrences,
                    std::optional<std::uint32_t> last, const Limits& limits);

} // namespace orias::phases::modulo
