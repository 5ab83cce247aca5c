#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace orias {

/// A bump allocator. Objects live as long as the arena. Destructors do not run, so types must be trivially
/// destructible.
class Arena {
 public:
  Arena() = default;
  Arena(Arena&&) noexcept = default;
  Arena& operator=(Arena&&) noexcept = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(std::size_t bytes, std::size_t align) {
    std::size_t at = (used_ + align - 1) & ~(align - 1);
    if (chunks_.empty() || at + bytes > size_) {
      grow(bytes + align);
      at = (used_ + align - 1) & ~(align - 1);
    }
    used_ = at + bytes;
    return chunks_.back().get() + at;
  }

  template <typename T, typename... Args> T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }

  /// An array of `count` value-initialized objects.
  template <typename T> std::span<T> makeArray(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return {};
    T* first = static_cast<T*>(allocate(sizeof(T) * count, alignof(T)));
    for (std::size_t i = 0; i < count; ++i)
      new (first + i) T();
    return {first, count};
  }

  template <typename T> std::span<T> copyArray(std::span<const T> from) {
    std::span<T> to = makeArray<T>(from.size());
    for (std::size_t i = 0; i < from.size(); ++i)
      to[i] = from[i];
    return to;
  }

  std::string_view copyString(std::string_view text) {
    if (text.empty()) return {};
    char* to = static_cast<char*>(allocate(text.size(), 1));
    std::memcpy(to, text.data(), text.size());
    return {to, text.size()};
  }

  std::size_t bytesReserved() const { return reserved_; }

 private:
  void grow(std::size_t atLeast) {
    std::size_t next = chunks_.empty() ? kFirstChunk : (size_ < kLargestChunk ? size_ * 2 : size_);
    if (next < atLeast) next = atLeast;
    chunks_.push_back(std::unique_ptr<std::byte[]>(new std::byte[next]));
    size_ = next;
    used_ = 0;
    reserved_ += next;
  }

  static constexpr std::size_t kFirstChunk = 4096;
  static constexpr std::size_t kLargestChunk = 1 << 20;
  std::vector<std::unique_ptr<std::byte[]>> chunks_;
  std::size_t used_ = 0;
  std::size_t size_ = 0;
  std::size_t reserved_ = 0;
};

} // namespace orias
