#include "tools/gpu/child.h"

#include "support/check.h"

#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace orias::gpu {

int inChild(const std::function<int()>& body) {
  std::fflush(nullptr); // otherwise both would write it
  const pid_t child = fork();
  if (child < 0) throw Error("cannot create a process");
  if (child == 0) {
    const int status = body();
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw Error("cannot wait for a process");
  if (!WIFEXITED(status)) throw Error(fmt::format("the process of a launch was killed by signal {}", WTERMSIG(status)));
  return WEXITSTATUS(status);
}

} // namespace orias::gpu
