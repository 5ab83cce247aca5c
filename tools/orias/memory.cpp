// operator new and delete of the program orias.
//
// A compilation asks for memory some two hundred times for each instruction of its output, nearly always for a few
// dozen bytes or for a table of a few kilobytes, and gives it back in the same thread. Blocks of up to 64 KB come from
// free lists by size, without locks and without a header in front of each block; larger ones come from malloc.
//
// One range of addresses is set aside for these blocks, in spans of one size each, so that an address tells who made a
// block and, by its span, how large it is. Memory of a span is used again for blocks of the same size only.

#ifndef ORIAS_SANITIZE

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace {

/// Blocks of up to a kilobyte in steps of 16 bytes; four sizes in each octave above.
constexpr std::size_t kGrain = 16, kMostSmall = 1024, kSmallClasses = kMostSmall / kGrain;
constexpr std::size_t kLargest = 65536, kLargeClasses = 24, kClasses = kSmallClasses + kLargeClasses;
/// Bytes of a span, and where it begins: the spans of small blocks lie in the first half of the range.
constexpr std::size_t kSmallSpan = std::size_t{16} << 10, kLargeSpan = std::size_t{256} << 10;
/// Addresses only: pages are backed when they are first written.
constexpr std::size_t kRangeBytes = std::size_t{1} << 34, kHalf = kRangeBytes / 2;

constexpr std::size_t classOf(std::size_t size) {
  if (size <= kMostSmall) return size == 0 ? 0 : (size - 1) / kGrain;
  const auto octave = static_cast<std::size_t>(std::bit_width(size - 1) - 1); // 10 and more
  return kSmallClasses + (octave - 10) * 4 + ((size - 1) >> (octave - 2) & 3);
}
constexpr std::size_t bytesOf(std::size_t sizeClass) {
  if (sizeClass < kSmallClasses) return (sizeClass + 1) * kGrain;
  const std::size_t large = sizeClass - kSmallClasses;
  return (large % 4 + 5) << (large / 4 + 8);
}
static_assert(classOf(kLargest) + 1 == kClasses && bytesOf(kClasses - 1) == kLargest);
static_assert(bytesOf(classOf(1025)) == 1280 && bytesOf(classOf(1281)) == 1536 && bytesOf(classOf(2048)) == 2048);

struct Block {
  Block* next;
};

/// Begins each span.
struct alignas(kGrain) SpanHead {
  std::uint32_t sizeClass;
};

constinit std::atomic<std::uintptr_t> rangeBegin{0}; // 0: not asked for yet; 1: the system gives none
constinit std::atomic<std::size_t> smallUsed{0}, largeUsed{0};

struct Lists {
  Block* free[kClasses] = {};
  std::uintptr_t fresh[kClasses] = {}, end[kClasses] = {}; // what is left of the newest span
};
constinit thread_local Lists lists;

std::uintptr_t range() {
  std::uintptr_t begin = rangeBegin.load(std::memory_order_acquire);
  if (begin != 0) return begin;
  void* made = mmap(nullptr, kRangeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const std::uintptr_t wanted = made == MAP_FAILED ? 1 : reinterpret_cast<std::uintptr_t>(made);
  if (rangeBegin.compare_exchange_strong(begin, wanted, std::memory_order_acq_rel)) return wanted;
  if (made != MAP_FAILED) munmap(made, kRangeBytes); // another thread was first
  return begin;
}

/// Where the range begins, at a multiple of both spans.
std::uintptr_t alignedBegin(std::uintptr_t begin) {
  return (begin + kLargeSpan - 1) & ~(kLargeSpan - 1);
}

/// The first block of a new span; the others are left to the list. Null: the range is used up, or there is none.
[[gnu::noinline]] void* newSpan(std::size_t sizeClass) {
  const std::uintptr_t begin = range();
  if (begin == 1) return nullptr;
  const bool isSmall = sizeClass < kSmallClasses;
  const std::size_t bytes = isSmall ? kSmallSpan : kLargeSpan;
  const std::size_t at = (isSmall ? smallUsed : largeUsed).fetch_add(bytes, std::memory_order_relaxed);
  if (at + bytes > kHalf - kLargeSpan) return nullptr;
  const std::uintptr_t span = alignedBegin(begin) + (isSmall ? 0 : kHalf - kLargeSpan) + at;
  reinterpret_cast<SpanHead*>(span)->sizeClass = static_cast<std::uint32_t>(sizeClass);
  const std::uintptr_t block = span + sizeof(SpanHead);
  lists.fresh[sizeClass] = block + bytesOf(sizeClass);
  lists.end[sizeClass] = span + bytes;
  return reinterpret_cast<void*>(block);
}

[[gnu::noinline]] void* fromSystem(std::size_t size) {
  for (;;) {
    if (void* made = std::malloc(size)) return made;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

inline void release(void* block) {
  const std::uintptr_t begin = rangeBegin.load(std::memory_order_relaxed), at = reinterpret_cast<std::uintptr_t>(block);
  if (begin <= 1 || at - begin >= kRangeBytes) return std::free(block);
  const bool isSmall = at - alignedBegin(begin) < kHalf - kLargeSpan;
  const std::uintptr_t span = at & ~((isSmall ? kSmallSpan : kLargeSpan) - 1);
  const std::size_t sizeClass = reinterpret_cast<const SpanHead*>(span)->sizeClass;
  auto* freed = static_cast<Block*>(block);
  freed->next = lists.free[sizeClass];
  lists.free[sizeClass] = freed;
}

} // namespace

void* operator new(std::size_t size) {
  if (size > kLargest) return fromSystem(size);
  const std::size_t sizeClass = classOf(size);
  if (Block* block = lists.free[sizeClass]) {
    lists.free[sizeClass] = block->next;
    return block;
  }
  const std::uintptr_t block = lists.fresh[sizeClass], behind = block + bytesOf(sizeClass);
  if (block != 0 && behind <= lists.end[sizeClass]) {
    lists.fresh[sizeClass] = behind;
    return reinterpret_cast<void*>(block);
  }
  if (void* made = newSpan(sizeClass)) return made;
  return fromSystem(size);
}

void operator delete(void* block) noexcept {
  if (block != nullptr) release(block);
}
void operator delete(void* block, std::size_t) noexcept {
  if (block != nullptr) release(block);
}
void* operator new[](std::size_t size) {
  return operator new(size);
}
void operator delete[](void* block) noexcept {
  operator delete(block);
}
void operator delete[](void* block, std::size_t) noexcept {
  operator delete(block);
}

#endif
