#pragma once

#include "ori/instr.h"

#include <string>
#include <string_view>
#include <vector>

namespace orias::phases {

/// One decision of a phase: an optimization that it applied or missed, where, at what cost, and why.
struct Remark {
  std::string_view phase; ///< number, e.g. "74"
  bool done = true;       ///< false: a missed optimization
  std::string message;
  std::int64_t cost = 0; ///< in the unit given in the message
  std::uint32_t ptxLine = 0;
};

/// The decisions made in one function, in order.
class Remarks {
 public:
  /// Records nothing unless remarks are requested.
  explicit Remarks(bool wanted) : wanted_(wanted) {}
  bool wanted() const { return wanted_; }

  void setPhase(std::string_view number) { phase_ = number; }
  void applied(const ori::Instr* where, std::string message, std::int64_t cost = 0) {
    add(true, where, std::move(message), cost);
  }
  void missed(const ori::Instr* where, std::string message, std::int64_t cost = 0) {
    add(false, where, std::move(message), cost);
  }
  const std::vector<Remark>& all() const { return all_; }

  /// How many values are rematerialized at their uses; counted whether or not remarks are requested.
  unsigned rematerialised() const { return rematerialised_; }
  void countRematerialised(unsigned values = 1) { rematerialised_ += values; }

 private:
  void add(bool done, const ori::Instr* where, std::string message, std::int64_t cost) {
    if (wanted_) all_.push_back({phase_, done, std::move(message), cost, where ? where->source.ptxLine : 0});
  }

  bool wanted_;
  std::string_view phase_;
  std::vector<Remark> all_;
  unsigned rematerialised_ = 0;
};

} // namespace orias::phases
