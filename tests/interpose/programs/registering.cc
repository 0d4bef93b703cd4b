// Registers pooled memory with a network card and makes the pool move memory: `registering WAY
// SCENARIO`. The card's writes must appear at the registered addresses, and nowhere else. The ways
// are those in which programs find libibverbs and NCCL.
#include <map>
#include <string>
#include <vector>

#include "include/vramstow/vramstow.h"
#include "tests/interpose/programs/pool_api.h"
#include "tests/interpose/programs/verbs_user.h"

#ifndef LINKED
extern "C" VerbsUser UseVerbs() { std::_Exit(98); }
#endif

namespace vramstow::host {
namespace {

constexpr size_t kMega = size_t{1} << 20;
constexpr size_t kSize = 16 * kMega;

using network::Control;

// --- Ways ---------------------------------------------------------------------------------------

struct Nccl {
  int (*reg)(const void* comm, void* buff, size_t size, void** handle);
  int (*dereg)(const void* comm, void* handle);
  int (*reg_window)(void* comm, void* buff, size_t size, void** window, int flags);
  bool by_window;
};
Nccl nccl;

VerbsUser OpenNccl(bool by_window) {
  void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  HOST_CHECK(library != nullptr);
  nccl.reg = Look<decltype(nccl.reg)>(library, "ncclCommRegister");
  nccl.reg_window = Look<decltype(nccl.reg_window)>(library, "ncclCommWindowRegister");
  nccl.dereg = Look<decltype(nccl.dereg)>(
      library, by_window ? "ncclCommWindowDeregister" : "ncclCommDeregister");
  nccl.by_window = by_window;
  VerbsUser user = {};
  user.reg_mr = [](void* pd, void* address, size_t size, int access) {
    void* handle = nullptr;
    const int result = nccl.by_window ? nccl.reg_window(pd, address, size, &handle, access)
                                      : nccl.reg(pd, address, size, &handle);
    return result == 0 ? handle : nullptr;
  };
  user.dereg_mr = [](void* handle) { return nccl.dereg(nullptr, handle); };
  user.control = Look<Control* (*)()>(library, "StandInControl")();
  return user;
}

template <typename Function>
void Take(Function* function, void* library, const std::string& way, const char* name,
          const char* version) {
  void* found = way == "dlvsym" || way == "dlvsym-old" ? dlvsym(library, name, version)
                                                       : dlsym(library, name);
  HOST_CHECK(found != nullptr);
  *function = reinterpret_cast<Function>(found);
}

VerbsUser Open(const std::string& way) {
  if (way == "linked") return UseVerbs();
  if (way == "nccl" || way == "nccl-window") return OpenNccl(way == "nccl-window");
  if (way == "own-scope") {
    void* library = dlopen("libverbs_user.so", RTLD_NOW | RTLD_LOCAL);
    HOST_CHECK(library != nullptr);
    return Look<decltype(&UseVerbs)>(library, "UseVerbs")();
  }
  const bool global = way == "global";
  void* library = dlopen("libibverbs.so.1", RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
  HOST_CHECK(library != nullptr);
  void* scope = global ? RTLD_DEFAULT : library;
  const char* version = way == "dlvsym-old" ? "IBVERBS_1.0" : "IBVERBS_1.1";
  VerbsUser user = {};
  Take(&user.reg_mr, scope, way, "ibv_reg_mr", version);
  Take(&user.dereg_mr, scope, way, "ibv_dereg_mr", version);
  Take(&user.reg_mr_iova, scope, way, "ibv_reg_mr_iova", "IBVERBS_1.7");
  Take(&user.reg_mr_iova2, scope, way, "ibv_reg_mr_iova2", "IBVERBS_1.8");
  user.control = Look<Control* (*)()>(library, "StandInControl")();
  return user;
}

// --- Shared by the scenarios --------------------------------------------------------------------

PoolApi api;
VerbsUser verbs;
int communicator;

void* Pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUdeviceptr Allocate(size_t size) {
  CUdeviceptr block = 0;
  return api.Alloc(&block, size) == CUDA_SUCCESS ? block : 0;
}

void* Register(CUdeviceptr address, size_t size) {
  return verbs.reg_mr(&communicator, Pointer(address), size, 5);
}

void* MustRegister(CUdeviceptr address, size_t size) {
  void* region = Register(address, size);
  HOST_CHECK(region != nullptr);
  return region;
}

void Fill(CUdeviceptr block, size_t size, unsigned char value) {
  HOST_CHECK(api.SetD8(block, value, size) == CUDA_SUCCESS);
  HOST_CHECK(api.Synchronize() == CUDA_SUCCESS);
}

unsigned char ByteAt(CUdeviceptr address) {
  unsigned char byte = 0;
  HOST_CHECK(api.CopyToHost(&byte, address, 1) == CUDA_SUCCESS);
  return byte;
}

unsigned char written = 0;

// The card writes at the beginning of each MiB of a region.
void CardWrites(void* region, size_t size) {
  ++written;
  for (size_t at = 0; at < size; at += kMega) {
    HOST_CHECK(verbs.control->write(region, at, &written, 1) == 0);
  }
}

// Expects that the card's writes appear at the region's addresses.
void ExpectReached(void* region, CUdeviceptr address, size_t size) {
  CardWrites(region, size);
  for (size_t at = 0; at < size; at += kMega) HOST_CHECK(ByteAt(address + at) == written);
}

// Expects that the card's writes change nothing in a block.
void ExpectUntouched(void* region, size_t region_size, CUdeviceptr block, size_t size) {
  Fill(block, size, 0xEE);
  CardWrites(region, region_size);
  for (size_t at = 0; at < size; at += kMega) HOST_CHECK(ByteAt(block + at) == 0xEE);
}

vramstow_stats Stats() {
  vramstow_stats stats = {};
  HOST_CHECK(vramstow_get_stats(0, &stats, sizeof stats) == VRAMSTOW_OK);
  return stats;
}

void EmptyCache() { vramstow_empty_cache(VRAMSTOW_ALL_DEVICES, nullptr, nullptr); }

CUdeviceptr AllocateIn(const char* region, size_t size) {
  HOST_CHECK(vramstow_region_push(region) == VRAMSTOW_OK);
  const CUdeviceptr block = Allocate(size);
  HOST_CHECK(vramstow_region_pop() == VRAMSTOW_OK);
  HOST_CHECK(block != 0);
  return block;
}

void ExpectMovable(CUdeviceptr block) {
  Fill(block, kSize, 0x5A);
  HOST_CHECK(vramstow_offload(nullptr) == VRAMSTOW_OK);
  HOST_CHECK(Stats().offloaded_bytes >= kSize);
  HOST_CHECK(ByteAt(block + kMega) == 0x5A);
  HOST_CHECK(vramstow_resume(nullptr) == VRAMSTOW_OK);
}

void ExpectHeld(void* region, CUdeviceptr block, size_t size) {
  HOST_CHECK(vramstow_offload(nullptr) == VRAMSTOW_HELD);
  ExpectReached(region, block, size);
}

// --- Scenarios (with explicit offload, except for `pressure`) -----------------------------------

// Registered memory stays when offload and pause are requested; after its registration ends it
// moves.
void Asked() {
  const CUdeviceptr block = AllocateIn("buffers", kSize);
  const CUdeviceptr other = AllocateIn("others", kSize);
  void* region = MustRegister(block, kSize);
  ExpectHeld(region, block, kSize);
  HOST_CHECK(vramstow_pause("buffers", VRAMSTOW_KEEP) == VRAMSTOW_HELD);
  HOST_CHECK(vramstow_pause("others", VRAMSTOW_KEEP) == VRAMSTOW_OK);
  ExpectReached(region, block, kSize);
  HOST_CHECK(vramstow_resume(nullptr) == VRAMSTOW_OK);
  HOST_CHECK(verbs.dereg_mr(region) == 0);
  Fill(other, kSize, 1);
  ExpectMovable(block);
}

// Fills a device of 256 MiB beside a registered block. Offload is automatic, so other memory is
// evicted.
void Pressure() {
  const CUdeviceptr block = Allocate(kSize);
  void* region = MustRegister(block, kSize);
  std::vector<CUdeviceptr> others;
  for (int i = 0; i < 24; ++i) {
    const CUdeviceptr other = Allocate(kSize);
    HOST_CHECK(other != 0);
    Fill(other, kSize, 0xEE);
    others.push_back(other);
  }
  HOST_CHECK(Stats().offloaded_bytes != 0);
  ExpectReached(region, block, kSize);
  for (const CUdeviceptr other : others) {
    for (size_t at = 0; at < kSize; at += kMega) HOST_CHECK(ByteAt(other + at) == 0xEE);
  }
  HOST_CHECK(verbs.dereg_mr(region) == 0);
  // Some of these blocks are on the host. Each is restored before it is registered, and other
  // memory is evicted for it.
  for (const CUdeviceptr other : others) {
    region = MustRegister(other, kSize);
    ExpectReached(region, other, kSize);
    HOST_CHECK(verbs.dereg_mr(region) == 0);
  }
}

// The block is freed while it is registered: no other block gets its chunks until the registration
// ends.
void Freed() {
  const CUdeviceptr below = Allocate(kSize);
  const CUdeviceptr block = Allocate(kSize);
  const CUdeviceptr above = Allocate(kSize);
  void* region = MustRegister(block, kSize);
  for (const CUdeviceptr each : {below, block, above}) HOST_CHECK(api.Free(each) == CUDA_SUCCESS);
  // The pool has no free piece of this size. So it stitches scattered chunks together, or it grows.
  const CUdeviceptr stitched = Allocate(6 * kSize);
  HOST_CHECK(stitched != 0);
  if (stitched > block || stitched + 6 * kSize <= block) {
    ExpectUntouched(region, kSize, stitched, 6 * kSize);
  }
  HOST_CHECK(api.Free(stitched) == CUDA_SUCCESS);
  EmptyCache();
  HOST_CHECK(Stats().reserved_bytes == kSize);
  // The loop allocates all memory that the device has left.
  std::vector<CUdeviceptr> all;
  while (const CUdeviceptr next = Allocate(kSize)) {
    if (next == block) {
      ExpectReached(region, block, kSize);
    } else {
      ExpectUntouched(region, kSize, next, kSize);
    }
    all.push_back(next);
  }
  for (const CUdeviceptr each : all) HOST_CHECK(api.Free(each) == CUDA_SUCCESS);
  EmptyCache();
  HOST_CHECK(Stats().reserved_bytes == kSize);
  HOST_CHECK(verbs.dereg_mr(region) == 0);
  EmptyCache();
  HOST_CHECK(Stats().reserved_bytes == 0);
  HOST_CHECK(Allocate(kSize) != 0);
}

// Memory on the host is restored before it is registered.
void OnHost() {
  const CUdeviceptr block = Allocate(kSize);
  Fill(block, kSize, 0x33);
  HOST_CHECK(vramstow_offload(nullptr) == VRAMSTOW_OK);
  HOST_CHECK(Stats().offloaded_bytes == kSize);
  // Register a part of the block, which is restored in whole pages.
  void* region = MustRegister(block + kSize / 2 + 4096, kSize / 4);
  HOST_CHECK(Stats().offloaded_bytes != 0);
  HOST_CHECK(ByteAt(block + kSize / 2) == 0x33);
  ExpectReached(region, block + kSize / 2 + 4096, kSize / 4);
  HOST_CHECK(verbs.dereg_mr(region) == 0);
  HOST_CHECK(vramstow_resume(nullptr) == VRAMSTOW_OK);
  ExpectMovable(block);
}

// Paused memory cannot be registered, and the library is not called.
void Paused() {
  const CUdeviceptr block = AllocateIn("buffers", kSize);
  Fill(block, kSize, 0x44);
  HOST_CHECK(vramstow_pause("buffers", VRAMSTOW_KEEP) == VRAMSTOW_OK);
  const int calls = verbs.control->calls;
  errno = 0;
  HOST_CHECK(Register(block, kSize) == nullptr);
  HOST_CHECK(nccl.reg != nullptr || errno == ENOMEM);
  HOST_CHECK(verbs.control->calls == calls);
  HOST_CHECK(vramstow_resume("buffers") == VRAMSTOW_OK);
  HOST_CHECK(ByteAt(block) == 0x44);
  ExpectReached(MustRegister(block, kSize), block, kSize);
}

// If the library refuses a registration, the memory may move, and the caller sees the library's
// errno.
void Fails() {
  const CUdeviceptr block = Allocate(kSize);
  constexpr size_t kPiece = 2 * kMega;
  for (int nth = 1; nth <= 3; ++nth) {
    verbs.control->fails_at = nth;
    std::map<CUdeviceptr, void*> regions;
    for (int i = 1; i < nth; ++i) {
      const CUdeviceptr piece = block + kPiece * static_cast<size_t>(i);
      regions[piece] = MustRegister(piece, kPiece);
    }
    errno = 0;
    HOST_CHECK(Register(block, kSize) == nullptr);
    HOST_CHECK(errno == EIO);
    for (const auto& [piece, region] : regions) ExpectHeld(region, piece, kPiece);
    for (const auto& [piece, region] : regions) HOST_CHECK(verbs.dereg_mr(region) == 0);
    ExpectMovable(block);
  }
}

// Several registrations of the same memory are counted. A registration that the library fails to
// end still counts.
void Overlap() {
  const CUdeviceptr block = Allocate(kSize);
  void* whole = MustRegister(block, kSize);
  void* half = MustRegister(block + kSize / 2, kSize / 2);
  void* part = MustRegister(block + kSize / 2 + kMega, 100);
  HOST_CHECK(verbs.dereg_mr(whole) == 0);
  const bool counts_handles = half == whole;  // NCCL does so
  ExpectHeld(half, counts_handles ? block : block + kSize / 2, kSize / 2);
  HOST_CHECK(verbs.dereg_mr(half) == 0);
  HOST_CHECK(vramstow_offload(nullptr) == VRAMSTOW_HELD);
  verbs.control->keeps = true;
  HOST_CHECK(verbs.dereg_mr(part) != 0);
  HOST_CHECK(vramstow_offload(nullptr) == VRAMSTOW_HELD);
  verbs.control->keeps = false;
  HOST_CHECK(verbs.dereg_mr(part) == 0);
  HOST_CHECK(vramstow_resume(nullptr) == VRAMSTOW_OK);
  ExpectMovable(block);
}

// Each function passes its arguments unchanged to the library. This includes the functions that
// have a separate address for remote access.
void Arguments() {
  const CUdeviceptr block = Allocate(kSize);
  void* regions[] = {
      verbs.reg_mr(&communicator, Pointer(block + 64), 1000, 0x12345),
      verbs.reg_mr_iova(&communicator, Pointer(block + 64), 1000, 0xABCDEF0123456789U, 0x12345),
      verbs.reg_mr_iova2(&communicator, Pointer(block + 64), 1000, 0xABCDEF0123456789U,
                         0x92345678U),
  };
  const uint64_t expected[] = {reinterpret_cast<uint64_t>(&communicator), block + 64, 1000,
                               0xABCDEF0123456789U, 0x92345678U};
  for (int i = 0; i < 5; ++i) HOST_CHECK(verbs.control->last[i] == expected[i]);
  for (void* region : regions) {
    HOST_CHECK(region != nullptr);
    std::printf("version %d\n", verbs.control->version(region));
    HOST_CHECK(vramstow_offload(nullptr) == VRAMSTOW_HELD);
    HOST_CHECK(verbs.dereg_mr(region) == 0);
  }
  HOST_CHECK(vramstow_resume(nullptr) == VRAMSTOW_OK);
  ExpectMovable(block);
}

// A registration that outlives its pool does not count for the next pool.
void Outlives() {
  const CUdeviceptr block = Allocate(kSize);
  void* region = MustRegister(block, kSize);
  HOST_CHECK(api.PrimaryReset(0) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  HOST_CHECK(api.PrimaryRetain(&context, 0) == CUDA_SUCCESS);
  HOST_CHECK(api.SetCurrent(context) == CUDA_SUCCESS);
  const CUdeviceptr next = Allocate(kSize);
  void* second = MustRegister(next, kSize);
  HOST_CHECK(verbs.dereg_mr(region) == 0);
  ExpectHeld(second, next, kSize);
  HOST_CHECK(verbs.dereg_mr(second) == 0);
  ExpectMovable(next);
}

// Without vramstow, or with the pool off, the program calls the library's own functions.
void Plain() {
  const CUdeviceptr block = Allocate(kSize);
  void* region = MustRegister(block, kSize);
  ExpectReached(region, block, kSize);
  Dl_info about;
  HOST_CHECK(dladdr(reinterpret_cast<void*>(verbs.reg_mr), &about) != 0);
  std::printf("%s\n", std::strrchr(about.dli_fname, '/') + 1);
  HOST_CHECK(verbs.dereg_mr(region) == 0);
}

}  // namespace
}  // namespace vramstow::host

int main(int argc, char** argv) {
  using namespace vramstow::host;  // NOLINT(google-build-using-namespace): the program is all of it
  HOST_CHECK(argc == 3);
  const std::map<std::string, void (*)()> scenarios = {
      {"asked", Asked},       {"pressure", Pressure},  {"freed", Freed},     {"on-host", OnHost},
      {"paused", Paused},     {"fails", Fails},        {"overlap", Overlap}, {"plain", Plain},
      {"outlives", Outlives}, {"arguments", Arguments}};
  HOST_CHECK(scenarios.count(argv[2]) != 0);
  api = StartPoolApi();
  verbs = Open(argv[1]);
  scenarios.at(argv[2])();
  std::printf("done\n");
  return 0;
}
