#include "support/parallel.h"

#include <atomic>
#include <doctest/doctest.h>
#include <stdexcept>
#include <vector>

using orias::parallelFor;

TEST_CASE("parallelFor calls its work once for each number, for any number of threads") {
  for (unsigned threads : {0U, 1U, 2U, 7U, 1000U}) {
    for (std::size_t count : {0U, 1U, 3U, 500U}) {
      std::vector<std::atomic<int>> calls(count);
      parallelFor(count, threads, [&](std::size_t i) { ++calls[i]; });
      for (const std::atomic<int>& n : calls)
        CHECK(n == 1);
    }
  }
}

TEST_CASE("an exception in parallelFor's work reaches the caller, after the other calls") {
  for (unsigned threads : {1U, 4U}) {
    std::atomic<int> calls{0};
    CHECK_THROWS_AS(parallelFor(20, threads,
                                [&](std::size_t i) {
                                  ++calls;
                                  if (i == 3) throw std::runtime_error("third");
                                }),
                    std::runtime_error);
    CHECK(calls == 20);
  }
}
