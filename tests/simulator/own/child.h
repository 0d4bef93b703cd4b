// Runs a body in a forked child with its own SPEC, so that every test gets an unused driver.
#ifndef VRAMSTOW_TESTS_SIMULATOR_OWN_CHILD_H_
#define VRAMSTOW_TESTS_SIMULATOR_OWN_CHILD_H_

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {

// Returns the result of the body that ran in the child; 0 means success. If a signal killed the
// child, returns 128 + the number of the signal.
inline int InChild(const std::string& spec, const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("VRAMSTOW_SIMULATE", spec.c_str(), 1);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Calls cuInit and makes the primary context of device 0 current. Returns false if that fails.
inline bool StartDriver(const Driver& driver) {
  CUcontext context = nullptr;
  return driver.cuInit(0) == CUDA_SUCCESS &&
         driver.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
         driver.cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

}  // namespace vramstow::simulator

// Returns the line's number from a child's body if `condition` does not hold.
#define CHECK_IN_CHILD(condition)                                             \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                               \
    }                                                                         \
  } while (false)

#endif  // VRAMSTOW_TESTS_SIMULATOR_OWN_CHILD_H_
