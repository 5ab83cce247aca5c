#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace orias::generator {

/// The kinds of registers.
enum class Kind : std::uint8_t { B16, B32, B64, F32, F64, Pred };
inline constexpr Kind kKinds[] = {Kind::B16, Kind::B32, Kind::B64, Kind::F32, Kind::F64, Kind::Pred};
inline constexpr std::size_t kKindCount = std::size(kKinds);

struct KindInfo {
  const char* type;   ///< of its .reg declaration
  const char* prefix; ///< of its registers
  unsigned bytes;
};
inline constexpr KindInfo kKindInfos[kKindCount] = {{"b16", "%h", 2}, {"b32", "%r", 4}, {"b64", "%l", 8},
                                                    {"f32", "%f", 4}, {"f64", "%d", 8}, {"pred", "%p", 0}};
constexpr const KindInfo& info(Kind kind) {
  return kKindInfos[static_cast<std::size_t>(kind)];
}

/// A register that has been written on all paths to the current position.
struct Value {
  std::string name;
  bool uniform = false; ///< all threads of the block have the same value
  bool fixed = false;   ///< must not be rewritten: a loop counter
};

/// The values that may be read, by kind. Those of an inner block are removed at its end.
class Values {
 public:
  using Mark = std::vector<std::size_t>;

  std::vector<Value>& of(Kind kind) { return pools_[static_cast<std::size_t>(kind)]; }
  const std::vector<Value>& of(Kind kind) const { return pools_[static_cast<std::size_t>(kind)]; }
  Mark mark() const {
    Mark sizes;
    for (Kind kind : kKinds)
      sizes.push_back(of(kind).size());
    return sizes;
  }
  void release(const Mark& mark) {
    for (Kind kind : kKinds)
      of(kind).resize(mark[static_cast<std::size_t>(kind)]);
  }

 private:
  std::vector<Value> pools_[kKindCount];
};

} // namespace orias::generator
