// Tests vramstow's own threads in a program with large thread-local variables.
#include "base/detached_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace vramstow {
namespace {

constexpr size_t kStackBytes = 128 * 1024;
// The C library takes the memory of this variable out of each thread's stack.
thread_local char g_large[4 * kStackBytes];

std::atomic<int> g_used{0};

// Uses nearly the whole stack.
void* Use(void*) {
  char bytes[kStackBytes - 16 * 1024];
  std::memset(bytes, 1, sizeof bytes);
  std::memset(g_large, 1, sizeof g_large);
  asm volatile("" : : "r"(bytes), "r"(g_large) : "memory");
  g_used += bytes[0] + g_large[0];
  return nullptr;
}

TEST(DetachedThreadTest, HasItsStackForItselfBesideThreadLocalVariables) {
  ASSERT_TRUE(StartDetachedThread(Use, nullptr, kStackBytes));
  while (g_used != 2) std::this_thread::yield();
}

}  // namespace
}  // namespace vramstow
