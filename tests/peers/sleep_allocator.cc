// A minimal version of the allocators that inference engines with a sleep mode provide for
// torch.cuda.MemPool: every allocation is a range of addresses with physical memory, which is
// released and created again while the addresses, and so all tensors and graphs, stay. Functions
// return 0 or the driver's error.
#include <cuda.h>
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace {

struct Piece {
  size_t size = 0;
  CUmemGenericAllocationHandle handle = 0;
  int device = 0;
  int tag = 0;
};

std::mutex mutex;
std::map<CUdeviceptr, Piece> pieces;
int current_tag = 0;

template <typename Function>
Function* Find(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(driver, name));
}

#define DRIVER(name) Find<decltype(name)>(#name)

CUmemAllocationProp PropertiesOf(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

int Fill(CUdeviceptr address, Piece* piece) {
  const CUmemAllocationProp properties = PropertiesOf(piece->device);
  CUresult result = DRIVER(cuMemCreate)(&piece->handle, piece->size, &properties, 0);
  if (result != CUDA_SUCCESS) return result;
  result = DRIVER(cuMemMap)(address, piece->size, 0, piece->handle, 0);
  if (result != CUDA_SUCCESS) return result;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return DRIVER(cuMemSetAccess)(address, piece->size, &access, 1);
}

int Empty(CUdeviceptr address, Piece* piece) {
  if (piece->handle == 0) return 0;
  CUresult result = DRIVER(cuMemUnmap)(address, piece->size);
  if (result == CUDA_SUCCESS) result = DRIVER(cuMemRelease)(piece->handle);
  piece->handle = 0;
  return result;
}

}  // namespace

extern "C" {

void* sleep_give(size_t size, int device, void*) {
  const std::lock_guard lock(mutex);
  Piece piece{size, 0, device, current_tag};
  size_t unit = 0;
  const CUmemAllocationProp properties = PropertiesOf(device);
  DRIVER(cuMemGetAllocationGranularity)
  (&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  piece.size = (size + unit - 1) / unit * unit;
  CUdeviceptr address = 0;
  if (DRIVER(cuMemAddressReserve)(&address, piece.size, 0, 0, 0) != CUDA_SUCCESS) return nullptr;
  if (Fill(address, &piece) != 0) return nullptr;
  pieces[address] = piece;
  return reinterpret_cast<void*>(address);
}

void sleep_take_back(void* data, size_t, int, void*) {
  const std::lock_guard lock(mutex);
  const auto address = reinterpret_cast<CUdeviceptr>(data);
  const auto piece = pieces.find(address);
  if (piece == pieces.end()) return;
  Empty(address, &piece->second);
  DRIVER(cuMemAddressFree)(address, piece->second.size);
  pieces.erase(piece);
}

// Sets the tag of later allocations.
void sleep_set_tag(int tag) { current_tag = tag; }

// Lists up to `most` allocations with this tag: their addresses and sizes. Returns how many there
// are.
int sleep_list(int tag, uint64_t* addresses, uint64_t* sizes, int most) {
  const std::lock_guard lock(mutex);
  int count = 0;
  for (const auto& [address, piece] : pieces) {
    if (piece.tag != tag) continue;
    if (count < most) {
      addresses[count] = address;
      sizes[count] = piece.size;
    }
    ++count;
  }
  return count;
}

int sleep_empty(uint64_t address) {
  const std::lock_guard lock(mutex);
  return Empty(address, &pieces.at(address));
}

int sleep_fill(uint64_t address) {
  const std::lock_guard lock(mutex);
  return Fill(address, &pieces.at(address));
}
}
