// Tests of a small class that caches device memory. The second test can be made to fail: with
// VRAMSTOW_EXAMPLE_LEAK=1 in the environment it leaks a block.
#include <dlfcn.h>
#include <vramstow/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

// The driver functions that the program uses, looked up by name, so that it is built without a CUDA
// toolkit.
class Driver {
 public:
  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    Find(library, "cuMemAlloc_v2", &allocate);
    Find(library, "cuMemFree_v2", &free);
    int (*initialise)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*make_current)(void*) = nullptr;
    Find(library, "cuInit", &initialise);
    Find(library, "cuDevicePrimaryCtxRetain", &retain);
    Find(library, "cuCtxSetCurrent", &make_current);
    void* context = nullptr;
    works = initialise != nullptr && initialise(0) == 0 && retain(&context, 0) == 0 &&
            make_current(context) == 0;
  }

  int (*allocate)(uint64_t*, size_t) = nullptr;
  int (*free)(uint64_t) = nullptr;
  bool works = false;

 private:
  template <typename Function>
  static void Find(void* library, const char* name, Function* function) {
    *reinterpret_cast<void**>(function) = library == nullptr ? nullptr : dlsym(library, name);
  }
};

Driver& TheDriver() {
  static Driver driver;
  return driver;
}

constexpr size_t kMebi = size_t{1} << 20;

// Allocates blocks of 8 MiB, and caches freed blocks.
class Keeper {
 public:
  ~Keeper() {
    for (uint64_t block : kept_) TheDriver().free(block);
  }
  uint64_t Take() {
    uint64_t block = 0;
    if (kept_.empty()) {
      TheDriver().allocate(&block, 8 * kMebi);
    } else {
      block = kept_.back();
      kept_.pop_back();
    }
    return block;
  }
  void GiveBack(uint64_t block) { kept_.push_back(block); }

 private:
  std::vector<uint64_t> kept_;
};

class KeeperTest : public vramstow::MemoryTest {};

TEST_F(KeeperTest, TakesNoMoreThanIsInUseAtOnce) {
  ASSERT_TRUE(TheDriver().works);
  ExpectMemory("peak_allocated <= 16MiB && allocations == 2");
  Keeper keeper;
  for (int i = 0; i < 100; ++i) {
    const uint64_t first = keeper.Take();
    const uint64_t second = keeper.Take();
    keeper.GiveBack(first);
    keeper.GiveBack(second);
  }
}

TEST_F(KeeperTest, LeavesNothingBehind) {
  ASSERT_TRUE(TheDriver().works);
  ExpectMemory("live_at_end == 0");
  Keeper keeper;
  const uint64_t block = keeper.Take();
  if (std::getenv("VRAMSTOW_EXAMPLE_LEAK") == nullptr) keeper.GiveBack(block);
}

}  // namespace
