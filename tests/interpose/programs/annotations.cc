// Annotates its work by the C API and by NVTX, and allocates in between. It uses NVTX as NVTX's
// header does: it opens the library that NVTX_INJECTION64_PATH names and lets it fill a table with
// functions.
#include <cstdint>

#include "include/vramstow/vramstow.h"
#include "tests/interpose/programs/host.h"

namespace vramstow::host {
namespace {

constexpr unsigned kCore = 1;
constexpr unsigned kCore2 = 5;
constexpr unsigned kFunctions = 16;

// The layout of nvtxEventAttributes_v2.
struct Attributes {
  uint16_t version = 2;
  uint16_t size = 48;
  uint32_t category = 0;
  int32_t color_type = 0;
  uint32_t color = 0;
  int32_t payload_type = 0;
  int32_t reserved = 0;
  uint64_t payload = 0;
  int32_t message_type = 1;
  const void* message = nullptr;
};
static_assert(sizeof(Attributes) == 48);

void* functions[2][kFunctions];
void** places[2][kFunctions + 1];

int TableOf(int module, void**** table, unsigned* count) {
  if (module != kCore && module != kCore2) return 0;
  *table = places[module == kCore ? 0 : 1];
  *count = kFunctions;
  return 1;
}

struct Callbacks {
  size_t size;
  int (*table_of)(int, void****, unsigned*);
};
constexpr Callbacks kCallbacks = {sizeof(Callbacks), TableOf};

const void* ExportTable(uint32_t number) { return number == 1 ? &kCallbacks : nullptr; }

template <typename Function>
Function* At(unsigned module, unsigned number) {
  auto* function = reinterpret_cast<Function*>(functions[module == kCore ? 0 : 1][number]);
  HOST_CHECK(function != nullptr);
  return function;
}

void OpenNvtx() {
  for (unsigned module = 0; module < 2; ++module) {
    for (unsigned i = 1; i < kFunctions; ++i) places[module][i] = &functions[module][i];
  }
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  HOST_CHECK(path != nullptr);
  void* tool = dlopen(path, RTLD_LAZY);
  HOST_CHECK(tool != nullptr);
  auto* install = Look<int (*)(const void* (*)(uint32_t))>(tool, "InitializeInjectionNvtx2");
  HOST_CHECK(install(nullptr) == 0);
  HOST_CHECK(install(ExportTable) == 1);
}

// Registers `count` different texts. Returns the handle of the last one.
const void* RegisterMany(const char* name, int count) {
  const void* handle = nullptr;
  for (int i = 0; i < count; ++i) {
    char text[40];
    std::snprintf(text, sizeof text, "%s %d", name, i);
    handle = At<void*(void*, const char*)>(kCore2, 10)(nullptr, text);
    HOST_CHECK(handle != nullptr);
  }
  return handle;
}

void SpeakNvtx() {
  At<void(const char*)>(kCore, 2)("nvtx mark");
  At<int(const char*)>(kCore, 9)("nvtx range");
  Attributes attributes;
  attributes.message = "nvtx domain range";
  At<int(void*, const Attributes*)>(kCore2, 4)(nullptr, &attributes);
  At<int(void*)>(kCore2, 5)(nullptr);
  At<int()>(kCore, 11)();
  const uint64_t range = At<uint64_t(const char*)>(kCore, 5)("nvtx process range");
  Attributes registered;
  registered.message_type = 3;
  // The texts of the second call are the same, so they need no more room.
  RegisterMany("early", 5000);
  registered.message = At<void*(void*, const char*)>(kCore2, 10)(nullptr, "nvtx registered text");
  At<void(void*, const Attributes*)>(kCore2, 1)(nullptr, &registered);
  At<void(uint64_t)>(kCore, 7)(range);
  Attributes wide;
  wide.message_type = 2;
  wide.message = L"wide";
  At<int(const Attributes*)>(kCore, 8)(&wide);
}

int Main() {
  const bool has_nvtx = std::getenv("NVTX_INJECTION64_PATH") != nullptr;
  if (has_nvtx) OpenNvtx();
  HOST_CHECK(vramstow_mark("too early") == VRAMSTOW_NOT_ACTIVE);
  if (has_nvtx) SpeakNvtx();
  const Api api = LoadApi();
  HOST_CHECK(vramstow_iteration(9) == VRAMSTOW_OK);  // an earlier one than the last
  HOST_CHECK(vramstow_range_push("ends early") == VRAMSTOW_OK);
  HOST_CHECK(vramstow_range_pop() == VRAMSTOW_OK);
  HOST_CHECK(vramstow_range_pop() == VRAMSTOW_NOT_ACTIVE);
  HOST_CHECK(vramstow_iteration(10) == VRAMSTOW_OK);
  HOST_CHECK(api.init(0) == CUDA_SUCCESS);
  CUdeviceptr block = 0;
  HOST_CHECK(api.alloc(&block, 4096) == CUDA_SUCCESS);
  for (unsigned i = 1; i <= 4; ++i) {
    HOST_CHECK(vramstow_iteration(i) == VRAMSTOW_OK);
    HOST_CHECK(vramstow_range_push("forward") == VRAMSTOW_OK);
    HOST_CHECK(api.alloc(&block, 8192) == CUDA_SUCCESS);
    HOST_CHECK(vramstow_range_pop() == VRAMSTOW_OK);
    HOST_CHECK(api.free(block) == CUDA_SUCCESS);
  }
  for (int i = 0; i < 8; ++i) HOST_CHECK(api.alloc(&block, 4096) == CUDA_SUCCESS);
  HOST_CHECK(vramstow_mark("the end") == VRAMSTOW_OK);
  HOST_CHECK(vramstow_mark(nullptr) == VRAMSTOW_INVALID);
  HOST_CHECK(vramstow_range_push(nullptr) == VRAMSTOW_INVALID);
  if (has_nvtx) {
    SpeakNvtx();
    Attributes last;
    last.message_type = 3;
    last.message = RegisterMany("late", 100'000);
    At<void(void*, const Attributes*)>(kCore2, 1)(nullptr, &last);
  }
  return 0;
}

}  // namespace
}  // namespace vramstow::host

int main() { return vramstow::host::Main(); }
