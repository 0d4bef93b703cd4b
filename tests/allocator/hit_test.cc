// Tests that a hit (an allocation from the pool's cache) makes no driver call, no system call and
// no allocation from the process's heap. Tests also that deferred frees, in a heap of very many
// blocks, are counted and refused as if they were not deferred.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "allocator/pool/pool.h"
#include "base/units.h"
#include "tests/allocator/fake_device.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VRAMSTOW_SANITIZED 1
#else
#define VRAMSTOW_SANITIZED 0
#endif

namespace {
std::atomic<uint64_t> heap_calls{0};
}  // namespace

#if !VRAMSTOW_SANITIZED
// Replaces the functions of the process's heap by functions that count the calls and pass them to
// glibc. For this purpose glibc also exports its own functions, under the names __libc_….
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* malloc(size_t size) {
  heap_calls.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  heap_calls.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  heap_calls.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, size);
}
}
#endif

namespace vramstow {
namespace {

// A pool with enough memory for the whole program below, so that all requests are hits.
class Hits {
 public:
  Hits() {
    FakeDevice::Options options;
    options.total_bytes = 8 * kGiB;
    device_ = std::make_unique<FakeDevice>(options);
    if (pool_->Open(device_->table(), PoolConfig()) != PoolError::kOk) std::abort();
    const uint64_t reserve = Take(2 * kGiB);
    for (uint64_t& address : live_) address = Take(SomeSize());
    Give(reserve);
    Run(20'000);
  }
  ~Hits() {
    for (const uint64_t address : live_) Give(address);
    pool_->Close(PoolEnd::kAlive);
  }
  Hits(const Hits&) = delete;
  Hits& operator=(const Hits&) = delete;

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) {
      uint64_t& slot = live_[random_() % live_.size()];
      Give(slot);
      slot = Take(SomeSize());
    }
  }
  FakeDevice* device() { return device_.get(); }
  Pool* pool() { return pool_.get(); }

 private:
  // Returns a size that is larger than those of small blocks, which have separate chunks. So the
  // free reserve can serve every request.
  uint64_t SomeSize() { return kMiB + 1 + random_() % (3 * kMiB); }
  uint64_t Take(uint64_t size) {
    Block block{};
    if (pool_->Allocate({size, 1}, &block) != PoolError::kOk) std::abort();
    return block.address;
  }
  void Give(uint64_t address) {
    if (pool_->Free(address) != PoolError::kOk) std::abort();
  }

  std::mt19937_64 random_{1};
  std::unique_ptr<FakeDevice> device_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
  std::vector<uint64_t> live_ = std::vector<uint64_t>(64);
};

TEST(PoolHit, AsksNeitherTheDriverNorTheHeap) {
  Hits hits;
  const uint64_t driver_calls = hits.device()->AllCalls();
  const uint64_t misses = hits.pool()->Stats().misses;
  const uint64_t before = heap_calls.load();
  hits.Run(50'000);
  const uint64_t after = heap_calls.load();
  EXPECT_EQ(hits.pool()->Stats().misses, misses);
  EXPECT_EQ(hits.device()->AllCalls(), driver_calls);
  EXPECT_EQ(after, before);
#if !VRAMSTOW_SANITIZED
  EXPECT_GT(after, 0U);  // shows that they were counted
#endif
}

#if !VRAMSTOW_SANITIZED
// With strict seccomp the kernel kills a process that makes any system call but read, write and
// exit.
[[noreturn]] void RunUnderSeccomp(bool with_system_call) {
  Hits hits;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(9);
  hits.Run(50'000);
  if (with_system_call) syscall(SYS_getppid);
  syscall(SYS_exit, 3);
  __builtin_unreachable();
}

TEST(PoolHit, MakesNoSystemCall) {
  EXPECT_EXIT(RunUnderSeccomp(false), testing::ExitedWithCode(3), "");
}

TEST(PoolHit, TheKernelWouldHaveNoticed) {
  EXPECT_EXIT(RunUnderSeccomp(true), testing::KilledBySignal(SIGKILL), "");
}
#endif

// --- Very many blocks ---------------------------------------------------------------------------

class ManyBlocks : public testing::Test {
 protected:
  static constexpr size_t kCount = 20'000;

  ManyBlocks() {
    EXPECT_EQ(pool_->Open(device_.table(), PoolConfig()), PoolError::kOk);
    for (size_t i = 0; i < kCount; ++i) live_.push_back(Take(512 * (1 + i % 8)));
  }
  ~ManyBlocks() override {
    for (const uint64_t address : live_) EXPECT_EQ(pool_->Free(address), PoolError::kOk);
    EXPECT_EQ(pool_->Check(), nullptr);
    EXPECT_EQ(pool_->Stats().allocated_bytes, 0U);
    pool_->Close(PoolEnd::kAlive);
  }
  uint64_t Take(uint64_t size, uint64_t stream = 1) {
    Block block{};
    EXPECT_EQ(pool_->Allocate({size, stream}, &block), PoolError::kOk);
    return block.address;
  }

  FakeDevice device_{FakeDevice::Options()};
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
  std::vector<uint64_t> live_;
};

TEST_F(ManyBlocks, ASecondFreeIsRefusedWhileTheFirstIsParked) {
  const uint64_t address = live_.back();
  live_.pop_back();
  EXPECT_EQ(pool_->Free(address), PoolError::kOk);
  EXPECT_EQ(pool_->Free(address), PoolError::kInvalid);
  EXPECT_EQ(pool_->Free(address + 512 * 4096), PoolError::kInvalid);
  EXPECT_EQ(pool_->Free(live_.back() + 256), PoolError::kInvalid);
  BlockInfo info{};
  EXPECT_EQ(pool_->Find(address, &info), PoolError::kInvalid);
  EXPECT_EQ(pool_->RecordUse(address, 2), PoolError::kInvalid);
}

TEST_F(ManyBlocks, NumbersAreExactWhateverIsParked) {
  uint64_t allocated = pool_->Stats().allocated_bytes;
  for (int i = 0; i < 5; ++i) {
    BlockInfo info{};
    ASSERT_EQ(pool_->Find(live_.back(), &info), PoolError::kOk);
    ASSERT_EQ(pool_->Free(live_.back()), PoolError::kOk);
    live_.pop_back();
    allocated -= info.size;
  }
  EXPECT_EQ(pool_->Stats().allocated_bytes, allocated);
  EXPECT_EQ(pool_->Stats().live_blocks, live_.size());
  EXPECT_EQ(pool_->Check(), nullptr);
}

TEST_F(ManyBlocks, ThePeakDoesNotCountWhatIsParked) {
  const uint64_t peak = pool_->Stats().peak_allocated_bytes;
  // The blocks are allocated again on their own stream, and on another stream, whose heap does not
  // contain the deferred frees.
  for (const uint64_t stream : {uint64_t{1}, uint64_t{2}}) {
    for (int i = 0; i < 7; ++i) {
      ASSERT_EQ(pool_->Free(live_[static_cast<size_t>(i)]), PoolError::kOk);
      live_[static_cast<size_t>(i)] = Take(512, stream);
    }
  }
  EXPECT_EQ(pool_->Stats().peak_allocated_bytes, peak);
}

TEST_F(ManyBlocks, ALargeBlockIsFreedOnce) {
  const uint64_t large = Take(8 << 20);
  EXPECT_EQ(pool_->Free(live_.back()), PoolError::kOk);
  EXPECT_EQ(pool_->Free(large), PoolError::kOk);
  EXPECT_EQ(pool_->Free(large), PoolError::kInvalid);
  EXPECT_EQ(pool_->Free(live_.back()), PoolError::kInvalid);
  live_.pop_back();
  EXPECT_EQ(pool_->Check(), nullptr);
}

}  // namespace
}  // namespace vramstow
