#pragma once

#include "encoder/isa/target.h"

#include <array>
#include <string_view>

namespace orias::isa {

/// One matrix of a data file: a row per first instruction, a column per second one.
class LatencyMatrix {
 public:
  /// The entry for a pair; pairs that the file does not list get the largest entry of the matrix, as assumed.
  Latency at(Access first, Access second) const;
  bool empty() const { return size_ == 0; }
  constexpr unsigned largest() const { return largest_; }

 private:
  friend class LatencyParser;
  static constexpr unsigned kPorts = 4;
  static constexpr std::uint8_t kNone = 255;
  using Axis = std::array<std::array<std::uint8_t, kPorts>, kLatencyClassCount>;
  static std::uint8_t indexOn(const Axis& axis, Access access);

  Axis rows_{}, columns_{};
  static constexpr unsigned kMaxCells = 320;
  unsigned width_ = 0, size_ = 0;
  unsigned largest_ = 0;
  std::array<Latency, kMaxCells> cells_{}; ///< `size_` of them
};

/// The contents of one data file.
struct LatencyTables {
  struct ClassInfo {
    bool isVariable = false;
    std::uint8_t minStall = 1;
    std::uint8_t pipe = 0; ///< 0 = none
    std::uint8_t issueCycles = 1;
    std::uint16_t expected = 1;
    std::uint8_t completionQueue = 0, readQueue = 0; ///< 0 = unordered
  };
  std::array<ClassInfo, kLatencyClassCount> classes{};
  std::array<LatencyMatrix, kFileCount> raw{}, waw{}, war{};
  unsigned largestFixed = 0;

  /// Parses a data file. Throws InternalError with the line if it is malformed (the files are part of the program).
  static LatencyTables parse(std::string_view text);
  /// The tables of a model.
  static const LatencyTables& ofModel(LatencyModel model);
};

} // namespace orias::isa
