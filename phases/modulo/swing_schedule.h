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

/// Returns the order in which nodes are placed: the predecessors of `last`; recurrences by their RecMII, each with the
/// nodes between it and earlier nodes; then the rest. Within these, alternating bottom-up and top-down, so that most
/// nodes have only predecessors or only successors before them.
std::vector<std::uint32_t> nodeOrder(const LoopGraph& graph, const std::vector<Recurrence>& recurrences,
                                     const Times& times, std::optional<std::uint32_t> last);

/// Places the nodes in this order, each as close as possible to its placed neighbors, within a window of `ii` cycles.
/// `last`, if any, is a node that issues in the last slot of the first stage: the branch that decides about the next
/// iteration. Returns nothing when a node has no slot.
std::optional<Schedule> scheduleAt(const LoopGraph& graph, std::span<const std::uint32_t> order, unsigned ii,
                                   std::optional<std::uint32_t> last);

/// Limits of the search.
struct Limits {
  unsigned maxMii = 27;        ///< SwpMaxMii
  unsigned maxStages = 3;      ///< SwpMaxStages
  unsigned iiSearchRange = 10; ///< number of II values that are tried
  unsigned maxIi = ~0u;        ///< a longer one gains nothing
  bool ignoresRecMii = false;
};

/// A schedule, or why there is none.
struct Result {
  std::optional<Schedule> schedule;
  std::string message;
  unsigned resMii = 0, recMii = 0;
};

/// Tries II from max(ResMII, RecMII) on, except values with which an iteration does not fit the stages. From 32 on, the
/// II grows by a sixteenth.
Result findSchedule(const LoopGraph& graph, const std::vector<Recurrence>& recurrences,
                    std::optional<std::uint32_t> last, const Limits& limits);

} // namespace orias::phases::modulo
