// Runs a body in a forked child with its own SPEC: every test gets a driver that nobody used yet.
#ifndef VRAMSTOW_TESTS_SIMULATOR_OWN_CHILD_H_
#define VRAMSTOW_TESTS_SIMULATOR_OWN_CHILD_H_

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {

// The text that the child's body said: 0 is right; 128 + the signal if it died of one.
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

// cuInit and a current primary context of device 0. False: it failed.
inline bool StartDriver(const Driver& driver) {
  CUcontext context = nullptr;
  return driver.cuInit(0) == CUDA_SUCCESS &&
         driver.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
         driver.cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

}  // namespace vramstow::simulator

// In a child's body: gives the line's number if `condition` does not hold.
#define CHECK_IN_CHILD(condition)                                             \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                               \
    }                                                                         \
  } while (false)

#endif  // VRAMSTOW_TESTS_SIMULATOR_OWN_CHILD_H_
