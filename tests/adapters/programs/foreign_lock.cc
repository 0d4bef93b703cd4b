// A third-party library that allocates with PyTorch while it holds a lock of its own.
#include <dlfcn.h>

#include <cstdint>
#include <mutex>

namespace {

std::mutex mutex;
using Empty = int (*)(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, void**);
using Delete = int (*)(void*);

}  // namespace

// Allocates a tensor of this many numbers, which the library retains. Returns 0 on success.
extern "C" int locked_empty(int64_t numbers) {
  static const auto empty =
      reinterpret_cast<Empty>(dlsym(RTLD_DEFAULT, "aoti_torch_empty_strided"));
  static const auto destroy =
      reinterpret_cast<Delete>(dlsym(RTLD_DEFAULT, "aoti_torch_delete_tensor_object"));
  if (empty == nullptr || destroy == nullptr) return -1;
  const std::lock_guard<std::mutex> lock(mutex);
  constexpr int64_t kOne = 1;
  constexpr int32_t kFloat32 = 6;
  constexpr int32_t kCuda = 1;
  void* tensor = nullptr;
  const int result = empty(1, &numbers, &kOne, kFloat32, kCuda, 0, &tensor);
  if (result == 0) destroy(tensor);
  return result;
}
