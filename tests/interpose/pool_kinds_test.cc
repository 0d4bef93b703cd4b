// Tests the table of the memory kinds of the driver's own pools
// (interpose/core/handlers/pool_kinds.h), which many threads fill at once.
#include "interpose/core/handlers/pool_kinds.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace vramstow::handlers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 4;
constexpr int kPoolsOfEach = 8;  // together no more than the table has room for
constexpr std::chrono::seconds kTime{3};

CUmemoryPool PoolNumber(uintptr_t number) {
  return reinterpret_cast<CUmemoryPool>(0x10000 + number * 0x100);
}

// The look-ups of one thread for its own pools, which no other thread uses.
struct Seen {
  uint64_t looks = 0;
  uint64_t lost = 0;
  uint64_t wrong = 0;
  uint64_t left = 0;
};

// Threads run without waiting for each other, so that the steps of any two threads overlap in all
// ways, even if there are fewer processors than threads.
Seen MakeAndForgetPools(uintptr_t thread, MemoryKind kind, Clock::time_point end) {
  Seen seen;
  while (Clock::now() < end) {
    for (int round = 0; round < 100; ++round) {
      for (uintptr_t i = 0; i < kPoolsOfEach; ++i) {
        NotePool(PoolNumber(thread * kPoolsOfEach + i), kind);
      }
      for (uintptr_t i = 0; i < kPoolsOfEach; ++i) {
        const CUmemoryPool pool = PoolNumber(thread * kPoolsOfEach + i);
        const MemoryKind found = KindOfPool(pool);
        ++seen.looks;
        if (found == MemoryKind::kDeviceStream) ++seen.lost;
        if (found != MemoryKind::kDeviceStream && found != kind) ++seen.wrong;
        ForgetPool(pool);
        if (KindOfPool(pool) != MemoryKind::kDeviceStream) ++seen.left;
      }
    }
  }
  return seen;
}

TEST(PoolKindsTest, EveryPoolKeepsItsKindWhileOtherThreadsMakeAndDestroyTheirs) {
  std::array<Seen, kThreads> seen;
  std::vector<std::thread> threads;
  const Clock::time_point end = Clock::now() + kTime;
  for (uintptr_t i = 0; i < kThreads; ++i) {
    const MemoryKind kind = i % 2 == 0 ? MemoryKind::kManaged : MemoryKind::kHostPinned;
    threads.emplace_back([&seen, i, kind, end] { seen[i] = MakeAndForgetPools(i, kind, end); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Seen& one : seen) {
    EXPECT_GT(one.looks, 0U);
    EXPECT_EQ(one.lost, 0U) << "pools that the table does not know, of " << one.looks;
    EXPECT_EQ(one.wrong, 0U) << "pools with another pool's kind, of " << one.looks;
    EXPECT_EQ(one.left, 0U) << "pools that were forgotten and are still there, of " << one.looks;
  }
}

TEST(PoolKindsTest, PoolsPastTheRoomCountAsDeviceMemoryUntilOthersAreForgotten) {
  constexpr uintptr_t kRoom = 64;
  for (uintptr_t i = 0; i < kRoom + 1; ++i) NotePool(PoolNumber(i), MemoryKind::kManaged);
  EXPECT_EQ(KindOfPool(PoolNumber(kRoom - 1)), MemoryKind::kManaged);
  EXPECT_EQ(KindOfPool(PoolNumber(kRoom)), MemoryKind::kDeviceStream);
  ForgetPool(PoolNumber(3));
  NotePool(PoolNumber(kRoom), MemoryKind::kHostPinned);
  EXPECT_EQ(KindOfPool(PoolNumber(kRoom)), MemoryKind::kHostPinned);
  for (uintptr_t i = 0; i < kRoom + 1; ++i) ForgetPool(PoolNumber(i));
  EXPECT_EQ(KindOfPool(PoolNumber(kRoom)), MemoryKind::kDeviceStream);
}

}  // namespace
}  // namespace vramstow::handlers
