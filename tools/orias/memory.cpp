// operator new and delete of the program orias.
//
// A compilation allocates memory about two hundred times for each instruction of its output, nearly always a few dozen
// bytes or a table of a few kilobytes, and frees it in the same thread. Blocks of up to 1 MB come from free lists by
// size, without locks and without a header before each block; larger ones come from malloc.
//
// Small blocks come from one reserved address range, which is divided into spans. All blocks of a span have the same
// size class, also when they are reused. A table gives the size class of each 4 KB unit of the range.
//
// Most compilations touch less than a megabyte, and page faults are a large part of their cost. So there are few size
// classes, the first spans of a class are small, and pages are populated in batches. After its first part the range
// uses huge pages: faults for each 4 KB of a large compilation take a twentieth of its time.

#ifndef ORIAS_SANITIZE

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace {

/// Blocks of up to 256 bytes in steps of 16 bytes; four sizes in each octave above.
constexpr std::size_t kGrain = 16, kMaxSmallBits = 8, kMaxSmall = std::size_t{1} << kMaxSmallBits;
constexpr std::size_t kLargestBits = 20, kLargest = std::size_t{1} << kLargestBits;
constexpr std::size_t kSmallClasses = kMaxSmall / kGrain, kLargeClasses = (kLargestBits - kMaxSmallBits) * 4;
constexpr std::size_t kClasses = kSmallClasses + kLargeClasses;
/// Spans are whole units.
constexpr std::size_t kUnit = std::size_t{4} << 10, kLargestSpan = std::size_t{64} << 10;
/// Addresses only: pages are backed when they are first written.
constexpr std::size_t kRangeBytes = std::size_t{1} << 34, kHugePage = std::size_t{2} << 20;
/// Most kernels need no more than this. Clearing a huge page would take a tenth of a small kernel's time, and
/// milliseconds if a virtual machine has returned it to its host.
constexpr std::size_t kInSmallPages = std::size_t{1} << 20;
/// Small pages are populated in batches of this many bytes: a page fault for each takes a fiftieth of a small kernel's
/// time.
constexpr std::size_t kBatch = std::size_t{64} << 10;

constexpr std::size_t classOf(std::size_t size) {
  if (size <= kMaxSmall) return size == 0 ? 0 : (size - 1) / kGrain;
  const auto octave = static_cast<std::size_t>(std::bit_width(size - 1) - 1); // kMaxSmallBits and more
  return kSmallClasses + (octave - kMaxSmallBits) * 4 + ((size - 1) >> (octave - 2) & 3);
}
constexpr std::size_t bytesOf(std::size_t sizeClass) {
  if (sizeClass < kSmallClasses) return (sizeClass + 1) * kGrain;
  const std::size_t large = sizeClass - kSmallClasses;
  return (large % 4 + 5) << (large / 4 + kMaxSmallBits - 2);
}
static_assert(classOf(kLargest) + 1 == kClasses && bytesOf(kClasses - 1) == kLargest);
/// The size in bytes of the next span of a class whose spans have `had` bytes: the same again, up to a limit.
constexpr std::size_t spanOf(std::size_t sizeClass, std::size_t had) {
  const std::size_t wanted = std::max(bytesOf(sizeClass), std::min(had, kLargestSpan));
  return (wanted + kUnit - 1) & ~(kUnit - 1);
}
static_assert(spanOf(0, 0) == kUnit && spanOf(0, kLargest) == kLargestSpan && spanOf(kClasses - 1, 0) == kLargest);
static_assert(bytesOf(classOf(257)) == 320 && bytesOf(classOf(1025)) == 1280 && bytesOf(classOf(1281)) == 1536 &&
              bytesOf(classOf(2048)) == 2048);

struct Block {
  Block* next;
};

constinit std::atomic<std::uintptr_t> rangeBegin{0}; // 0: not reserved yet; 1: the reservation failed
constinit std::atomic<std::size_t> used{0};
constinit std::atomic<std::size_t> backed{0}; // populated part of the small pages
constinit std::uint8_t classOfUnit[kRangeBytes / kUnit] = {};

struct Lists {
  Block* free[kClasses] = {};
  std::uintptr_t fresh[kClasses] = {}, end[kClasses] = {}; // the unused part of the newest span
  std::size_t had[kClasses] = {};                          // bytes of all spans
};
constinit thread_local Lists lists;

std::uintptr_t range() {
  std::uintptr_t begin = rangeBegin.load(std::memory_order_acquire);
  if (begin != 0) return begin;
  constexpr std::size_t kAsked = kRangeBytes + kInSmallPages + kHugePage;
  void* made = mmap(nullptr, kAsked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  std::uintptr_t wanted = 1;
  if (made != MAP_FAILED) {
    const std::uintptr_t huge =
        (reinterpret_cast<std::uintptr_t>(made) + kInSmallPages + kHugePage - 1) & ~(kHugePage - 1);
    wanted = huge - kInSmallPages;
    madvise(reinterpret_cast<void*>(huge), kRangeBytes - kInSmallPages, MADV_HUGEPAGE); // small pages work, too
  }
  if (rangeBegin.compare_exchange_strong(begin, wanted, std::memory_order_acq_rel)) return wanted;
  if (made != MAP_FAILED) munmap(made, kAsked); // another thread was first
  return begin;
}

/// Populates the small pages below `end`, and some more. If the system does not support this, each page is populated by
/// its first write.
void askForPages([[maybe_unused]] std::uintptr_t begin, [[maybe_unused]] std::size_t end) {
#ifdef MADV_POPULATE_WRITE
  std::size_t from = backed.load(std::memory_order_relaxed);
  if (end <= from || from >= kInSmallPages) return;
  const std::size_t to = std::min(kInSmallPages, (end + kBatch - 1) & ~(kBatch - 1));
  if (backed.compare_exchange_strong(from, to, std::memory_order_relaxed)) // otherwise another thread does it
    madvise(reinterpret_cast<void*>(begin + from), to - from, MADV_POPULATE_WRITE);
#endif
}

/// The first block of a new span; the others go to the list. Null: the range is exhausted, or not available.
[[gnu::noinline]] void* newSpan(std::size_t sizeClass) {
  const std::uintptr_t begin = range();
  if (begin == 1) return nullptr;
  const std::size_t bytes = spanOf(sizeClass, lists.had[sizeClass]),
                    at = used.fetch_add(bytes, std::memory_order_relaxed);
  if (at + bytes > kRangeBytes) return nullptr;
  askForPages(begin, at + bytes);
  for (std::size_t unit = at / kUnit; unit < (at + bytes) / kUnit; ++unit)
    classOfUnit[unit] = static_cast<std::uint8_t>(sizeClass);
  lists.had[sizeClass] += bytes;
  lists.fresh[sizeClass] = begin + at + bytesOf(sizeClass);
  lists.end[sizeClass] = begin + at + bytes;
  return reinterpret_cast<void*>(begin + at);
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
  const std::size_t sizeClass = classOfUnit[(at - begin) / kUnit];
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
  const std::uintptr_t block = lists.fresh[sizeClass], after = block + bytesOf(sizeClass);
  if (block != 0 && after <= lists.end[sizeClass]) {
    lists.fresh[sizeClass] = after;
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
