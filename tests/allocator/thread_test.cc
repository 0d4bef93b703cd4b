// Tests several threads at once: on streams of their own, on one stream, freeing each other's
// blocks, with concurrent trims. Under TSan it checks the locks; otherwise it checks the counts.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "allocator/pool/pool.h"
#include "base/units.h"
#include "tests/allocator/fake_device.h"

namespace vramstow {
namespace {

class PoolThreads : public testing::Test {
 protected:
  PoolThreads() : device_(Options()) {
    config_.check = false;
    EXPECT_EQ(pool_->Open(device_.table(), config_), PoolError::kOk);
  }
  ~PoolThreads() override {
    EXPECT_EQ(pool_->Check(), nullptr);
    EXPECT_EQ(pool_->Stats().live_blocks, 0U);
    pool_->Close(PoolEnd::kAlive);
    EXPECT_TRUE(device_.violations().empty());
    EXPECT_EQ(device_.created_bytes(), 0U);
  }

  static FakeDevice::Options Options() {
    FakeDevice::Options options;
    options.total_bytes = 4 * kGiB;
    return options;
  }

  template <typename Body>
  void InThreads(int count, Body body) {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
    for (std::thread& thread : threads) thread.join();
  }

  uint64_t Take(uint64_t size, uint64_t stream) {
    Block block{};
    const BlockRequest request{size, stream, 0, Layer::kFramework};
    return pool_->Allocate(request, &block) == PoolError::kOk ? block.address : 0;
  }

  FakeDevice device_;
  PoolConfig config_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
};

TEST_F(PoolThreads, StreamsOfTheirOwn) {
  InThreads(4, [this](int thread) {
    std::mt19937_64 random(static_cast<uint64_t>(thread));
    std::vector<uint64_t> live;
    for (int i = 0; i < 5'000; ++i) {
      if (live.size() > 40 || (!live.empty() && random() % 2 == 0)) {
        EXPECT_EQ(pool_->Free(live.back()), PoolError::kOk);
        live.pop_back();
      } else {
        const uint64_t address = Take(1 + random() % (4 * kMiB), static_cast<uint64_t>(thread) + 1);
        EXPECT_NE(address, 0U);
        live.push_back(address);
      }
    }
    for (const uint64_t address : live) EXPECT_EQ(pool_->Free(address), PoolError::kOk);
  });
  EXPECT_EQ(pool_->Stats().allocations, pool_->Stats().frees);
}

TEST_F(PoolThreads, OneStreamAndFreesFromOtherThreads) {
  std::mutex mutex;
  std::vector<uint64_t> shared;
  std::atomic<bool> stop{false};
  std::thread trimmer([&] {
    while (!stop) {
      pool_->Trim({});
      pool_->Maintain();
      pool_->Stats();
      std::this_thread::yield();
    }
  });
  InThreads(4, [&](int thread) {
    std::mt19937_64 random(static_cast<uint64_t>(thread));
    for (int i = 0; i < 3'000; ++i) {
      const uint64_t stream = random() % 3 == 0 ? kUnknownStream : 1;
      const uint64_t address = Take(1 + random() % (2 * kMiB), stream);
      EXPECT_NE(address, 0U);
      if (random() % 4 == 0) pool_->RecordUse(address, 2 + random() % 3);
      BlockInfo info{};
      EXPECT_EQ(pool_->Find(address, &info), PoolError::kOk);
      EXPECT_EQ(info.address, address);
      const std::lock_guard lock(mutex);
      shared.push_back(address);
      if (shared.size() > 100) {
        const size_t which = random() % shared.size();
        EXPECT_EQ(pool_->Free(shared[which]), PoolError::kOk);
        shared[which] = shared.back();
        shared.pop_back();
      }
    }
  });
  stop = true;
  trimmer.join();
  for (const uint64_t address : shared) EXPECT_EQ(pool_->Free(address), PoolError::kOk);
}

// There are more streams than timelines, and each stream belongs to one thread. Streams of other
// threads use its blocks, which are freed after the stream was destroyed.
TEST_F(PoolThreads, StreamsComeAndGo) {
  std::mutex mutex;
  std::vector<uint64_t> shared;
  std::atomic<uint64_t> names{1};
  InThreads(4, [&](int thread) {
    std::mt19937_64 random(static_cast<uint64_t>(thread));
    for (int i = 0; i < 500; ++i) {
      const uint64_t stream = names.fetch_add(1);
      pool_->StreamCreated(stream);
      const uint64_t address = Take(1 + random() % (2 * kMiB), stream);
      const uint64_t other = Take(1 + random() % kMiB, stream);
      EXPECT_NE(address, 0U);
      EXPECT_NE(other, 0U);
      device_.Submit(stream, address, kBlockBytes);
      EXPECT_EQ(pool_->Free(other), PoolError::kOk);
      {
        const std::lock_guard lock(mutex);
        shared.push_back(address);
        const size_t which = random() % shared.size();
        EXPECT_EQ(pool_->RecordUse(shared[which], stream), PoolError::kOk);
        device_.Submit(stream, shared[which], kBlockBytes);
        if (shared.size() > 20) {
          EXPECT_EQ(pool_->Free(shared[which]), PoolError::kOk);
          shared[which] = shared.back();
          shared.pop_back();
        }
      }
      pool_->StreamDestroyed(stream);
      device_.DestroyStream(stream);
      device_.Finish(stream);
    }
  });
  for (const uint64_t address : shared) EXPECT_EQ(pool_->Free(address), PoolError::kOk);
}

TEST_F(PoolThreads, HooksAllocateAndFreeWhileOthersDoToo) {
  pool_->SetLimit(64 * kMiB);
  static std::atomic<Pool*> pool;
  pool = pool_.get();
  const PressureHook hook = [](void*, HookKind, uint64_t) {
    Block block{};
    const BlockRequest request{kMiB, 9};
    if (pool.load()->Allocate(request, &block) == PoolError::kOk) pool.load()->Free(block.address);
  };
  ASSERT_TRUE(pool_->AddHook(hook, nullptr));
  InThreads(3, [this](int thread) {
    std::mt19937_64 random(static_cast<uint64_t>(thread));
    std::vector<uint64_t> live;
    for (int i = 0; i < 400; ++i) {
      const uint64_t address = Take(1 + random() % (16 * kMiB), static_cast<uint64_t>(thread) + 1);
      if (address != 0) live.push_back(address);
      if (address == 0 || live.size() > 6) {
        for (const uint64_t each : live) EXPECT_EQ(pool_->Free(each), PoolError::kOk);
        live.clear();
      }
    }
    for (const uint64_t address : live) EXPECT_EQ(pool_->Free(address), PoolError::kOk);
  });
  EXPECT_GT(pool_->Stats().hook_calls, 0U);
}

}  // namespace
}  // namespace vramstow
