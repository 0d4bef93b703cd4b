// Compares the pool with PyTorch's own caching allocator in one process, in alternating rounds: a
// hit and its free, and a random replacement among 256 live blocks, on 1, 2 and 4 threads with one
// stream each.
//
// Each value is the processor time of short rounds: the median of the fastest fifth, because other
// load on the machine only ever adds time. The last column is the pool's time divided by PyTorch's.
// PyTorch's allocator gets its memory from the driver of the process, the pool from a device that
// does nothing; a hit calls neither. Run it on a GPU, or in a simulated run: `vramstow run
// --simulate=h200 -- pool_compare [WORDS]`. With WORDS only lines with these words in their names
// are printed.
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "allocator/pool/pool.h"
#include "bench/idle_device.h"

namespace vramstow {
namespace {

constexpr int kRounds = 150;
constexpr size_t kLive = 256;
constexpr size_t kSteps = 1024;  // steps of a round
constexpr size_t kLoop = 4096;
constexpr size_t kForEver = size_t{1} << 20;

double ThreadNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// The pool, with the interface that this benchmark needs.
class Ours {
 public:
  Ours() {
    if (pool_->Open(device_.table(), PoolConfig()) != PoolError::kOk) std::abort();
  }
  ~Ours() { pool_->Close(PoolEnd::kAlive); }
  Ours(const Ours&) = delete;
  Ours& operator=(const Ours&) = delete;

  uint64_t Take(uint64_t size, int thread) {
    Block block{};
    const BlockRequest request{size, static_cast<uint64_t>(thread) + 1, 0, Layer::kFramework};
    if (pool_->Allocate(request, &block) != PoolError::kOk) std::abort();
    return block.address;
  }
  void Give(uint64_t address) {
    if (pool_->Free(address) != PoolError::kOk) std::abort();
  }

 private:
  IdleDevice device_;
  std::unique_ptr<Pool> pool_ = std::make_unique<Pool>();
};

// PyTorch's native allocator, through its C++ interface.
class Native {
 public:
  explicit Native(int threads) : streams_(static_cast<size_t>(threads)) {
    for (cudaStream_t& stream : streams_) {
      if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) std::abort();
    }
    c10::cuda::CUDACachingAllocator::get()->emptyCache();
  }
  uint64_t Take(uint64_t size, int thread) {
    void* address = c10::cuda::CUDACachingAllocator::get()->raw_alloc_with_stream(
        size, streams_[static_cast<size_t>(thread)]);
    return reinterpret_cast<uint64_t>(address);
  }
  void Give(uint64_t address) {
    c10::cuda::CUDACachingAllocator::get()->raw_delete(reinterpret_cast<void*>(address));
  }

 private:
  std::vector<cudaStream_t> streams_;
};

// The calls of one thread, generated once, so that both allocators serve the same requests. They
// repeat after `period` steps: either later than any allocator remembers, or so soon that the pool
// detects a loop.
struct Program {
  std::vector<uint64_t> sizes;
  std::vector<uint32_t> victims;

  // Draws sizes from 2^low to 2^high, where every power of two is equally likely. If `low` equals
  // `high`, there is only one size.
  Program(int thread, double low, double high, size_t period) : sizes(period), victims(period) {
    std::mt19937_64 random(static_cast<uint64_t>(thread) + 1);
    std::uniform_real_distribution<double> exponent(low, high);
    for (uint64_t& size : sizes) size = static_cast<uint64_t>(std::exp2(exponent(random)));
    for (uint32_t& victim : victims) victim = static_cast<uint32_t>(random() % kLive);
  }
};

// The blocks of one allocator and one thread, and the times of its rounds.
template <typename Allocator>
struct Player {
  Allocator* allocator;
  const Program* program;
  int thread;
  std::vector<uint64_t> live;
  size_t step = 0;
  std::vector<double> rounds;

  void Pairs(size_t count) {
    const uint64_t size = program->sizes[0];
    for (size_t i = 0; i < count; ++i) allocator->Give(allocator->Take(size, thread));
  }
  void Replace(size_t count) {
    while (live.size() < kLive) {
      live.push_back(allocator->Take(program->sizes[live.size()], thread));
    }
    for (size_t i = 0; i < count; ++i, ++step) {
      uint64_t& slot = live[program->victims[step % program->victims.size()]];
      allocator->Give(slot);
      slot = allocator->Take(program->sizes[(step * 7) % program->sizes.size()], thread);
    }
  }
  void Play(bool pairs, size_t count) { pairs ? Pairs(count) : Replace(count); }
  void Round(bool pairs) {
    Play(pairs, 32);  // brings its records back into the caches
    const double since = ThreadNs();
    Play(pairs, kSteps);
    rounds.push_back((ThreadNs() - since) / static_cast<double>(kSteps));
  }
  double Typical() {
    std::sort(rounds.begin(), rounds.end());
    return rounds[rounds.size() / 10];
  }
  void End() {
    for (const uint64_t address : live) allocator->Give(address);
    live.clear();
  }
};

const char* wanted = "";

void Compare(const char* name, bool pairs, int threads, double low, double high, size_t period) {
  if (std::strstr(name, wanted) == nullptr) return;
  Ours ours;
  Native native(threads);
  std::vector<double> of_ours(static_cast<size_t>(threads));
  std::vector<double> of_native(static_cast<size_t>(threads));
  std::barrier together(threads);
  const auto body = [&](int thread) {
    const Program program(thread, low, high, period);
    Player<Ours> first{&ours, &program, thread, {}, 0, {}};
    Player<Native> second{&native, &program, thread, {}, 0, {}};
    // The pool and PyTorch's allocator must see the whole mix of sizes before time is measured.
    first.Play(pairs, 60'000);
    second.Play(pairs, 60'000);
    for (int round = 0; round < kRounds; ++round) {
      together.arrive_and_wait();
      first.Round(pairs);
      together.arrive_and_wait();
      second.Round(pairs);
    }
    of_ours[static_cast<size_t>(thread)] = first.Typical();
    of_native[static_cast<size_t>(thread)] = second.Typical();
    first.End();
    second.End();
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(body, thread);
  body(0);
  for (std::thread& other : others) other.join();
  double ours_ns = 0;
  double native_ns = 0;
  for (size_t i = 0; i < of_ours.size(); ++i) {
    ours_ns += of_ours[i] / threads;
    native_ns += of_native[i] / threads;
  }
  std::printf("%-34s %7d %9.1f %9.1f %14.2f\n", name, threads, ours_ns, native_ns,
              ours_ns / native_ns);
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  if (argc > 1) wanted = argv[1];
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr,
                 "pool_compare: no device for PyTorch's allocator: run it on a GPU or under "
                 "`vramstow run --simulate=h200 -- pool_compare`\n");
    return 1;
  }
  c10::cuda::CUDACachingAllocator::init(devices);
  std::printf("%-34s %7s %9s %9s %14s\n", "nanoseconds of processor time", "threads", "pool",
              "PyTorch", "pool / PyTorch");
  for (const int threads : {1, 2, 4}) {
    Compare("hit pair, 512 B", true, threads, 9, 9, kLoop);
    Compare("hit pair, 1 MiB", true, threads, 20, 20, kLoop);
    Compare("hit pair, 64 MiB", true, threads, 26, 26, kLoop);
    Compare("replace 1 of 256, 512 B to 1 MiB", false, threads, 9, 20, kForEver);
    Compare("replace 1 of 256, 512 B to 64 MiB", false, threads, 9, 26, kForEver);
    Compare("the same in a loop of 4096", false, threads, 9, 26, kLoop);
  }
  return 0;
}

}  // namespace
}  // namespace vramstow

int main(int argc, char** argv) { return vramstow::Main(argc, argv); }
