// Makes the pool execute all of its driver calls, while some of them fail: the program sees success
// or an error that cuMemAlloc may return, its data is intact, and it can free its memory.
#include <vector>

#include "include/vramstow/vramstow.h"
#include "tests/interpose/programs/pool_api.h"

namespace vramstow::host {
namespace {

constexpr size_t kMega = size_t{1} << 20;

struct Held {
  CUdeviceptr address;
  size_t size;
  unsigned char pattern;
};

class Survivor {
 public:
  Survivor() : api_(StartPoolApi()) {
    HOST_CHECK(api_.StreamCreate(&stream_, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  }

  void Take(size_t size) {
    Held held = {0, size, static_cast<unsigned char>(++taken_)};
    const CUresult result = api_.Alloc(&held.address, size);
    if (result != CUDA_SUCCESS) {
      // The request may fail because memory is lacking, or with the simulator's result for a call
      // that must fail.
      HOST_CHECK(result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_UNKNOWN);
      return;
    }
    HOST_CHECK(api_.SetD8Async(held.address, held.pattern, size, stream_) == CUDA_SUCCESS);
    held_.push_back(held);
  }

  void Give(size_t which) {
    const Held held = held_[which];
    held_.erase(held_.begin() + static_cast<long>(which));
    Check(held);
    HOST_CHECK(api_.Free(held.address) == CUDA_SUCCESS);
  }

  void GiveEveryOther() {
    for (size_t i = 0; i < held_.size(); ++i) Give(i);
  }
  void GiveAll() {
    while (!held_.empty()) Give(held_.size() - 1);
  }
  void EmptyCache() {
    uint64_t released = 0;
    uint64_t duration = 0;
    vramstow_empty_cache(VRAMSTOW_ALL_DEVICES, &released, &duration);
  }

 private:
  void Check(const Held& held) {
    HOST_CHECK(api_.StreamSynchronize(stream_) == CUDA_SUCCESS);
    for (const size_t at : {size_t{0}, held.size / 2, held.size - 1}) {
      unsigned char byte = 0;
      HOST_CHECK(api_.CopyToHost(&byte, held.address + at, 1) == CUDA_SUCCESS);
      HOST_CHECK(byte == held.pattern);
    }
  }

  const PoolApi api_;
  CUstream stream_ = nullptr;
  std::vector<Held> held_;
  unsigned taken_ = 0;
};

void Run() {
  Survivor survivor;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 12; ++i) survivor.Take(3 * kMega + 512);
    for (int i = 0; i < 12; ++i) survivor.Take(100'000);
    survivor.GiveEveryOther();
    survivor.Take(16 * kMega);  // stitched
    survivor.Take(80 * kMega);  // there is no room for this one
    survivor.EmptyCache();
    survivor.Take(8 * kMega);
    survivor.GiveAll();
    survivor.Take(40 * kMega);
    survivor.EmptyCache();
    survivor.GiveAll();
  }
}

}  // namespace
}  // namespace vramstow::host

int main() {
  vramstow::host::Run();
  return 0;
}
