// operator new and delete of the program orias, which are linked into this test program (tools/orias/memory.cpp).

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace {

struct Taken {
  unsigned char* block;
  std::size_t size;
  unsigned char mark;

  bool isWhole() const {
    for (std::size_t i = 0; i < size; ++i)
      if (block[i] != mark) return false;
    return true;
  }
};

Taken take(std::size_t size, unsigned char mark) {
  auto* block = static_cast<unsigned char*>(operator new(size));
  std::memset(block, mark, size);
  return {block, size, mark};
}

/// Allocates and frees blocks of many sizes. Returns false if one was overwritten.
bool exercise(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Taken> taken;
  bool isRight = true;
  for (unsigned step = 0; step < 20000; ++step) {
    const bool gives = !taken.empty() && random() % 100 < (taken.size() < 300 ? 30u : 70u);
    if (!gives) {
      const unsigned octave = random() % 18; // up to sizes for which malloc is used
      taken.push_back(take(random() % (std::size_t{2} << octave), static_cast<unsigned char>(random())));
      isRight &= reinterpret_cast<std::uintptr_t>(taken.back().block) % 16 == 0;
      continue;
    }
    const std::size_t at = random() % taken.size();
    isRight &= taken[at].isWhole();
    if (random() % 2)
      operator delete(taken[at].block, taken[at].size);
    else
      operator delete(taken[at].block);
    taken[at] = taken.back();
    taken.pop_back();
  }
  for (const Taken& one : taken) {
    isRight &= one.isWhole();
    operator delete(one.block);
  }
  return isRight;
}

} // namespace

TEST_CASE("memory: blocks of all sizes are aligned and do not overlap") {
  CHECK(exercise(1));
}

#ifndef ORIAS_SANITIZE
TEST_CASE("memory: a block is found again in the list of its size") {
  for (const std::size_t size : {1u, 16u, 100u, 1024u, 1025u, 5000u, 65536u}) {
    void* first = operator new(size);
    operator delete(first);
    void* second = operator new(size);
    CHECK(first == second);
    operator delete(second, size);
  }
}

#endif

TEST_CASE("memory: threads take at the same time, and give back what others took") {
  std::vector<std::thread> threads;
  bool isRight[4] = {};
  for (unsigned i = 0; i < 4; ++i)
    threads.emplace_back([&isRight, i] { isRight[i] = exercise(10 + i); });
  for (std::thread& thread : threads)
    thread.join();
  for (const bool one : isRight)
    CHECK(one);
  std::vector<Taken> taken;
  for (unsigned i = 0; i < 1000; ++i)
    taken.push_back(take(i * 7, static_cast<unsigned char>(i)));
  std::thread([&taken] {
    for (const Taken& one : taken)
      operator delete(one.block);
  }).join();
  CHECK(exercise(20));
}
