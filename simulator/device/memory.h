// Manages the application's blocks on every device and on the host, and counts the free memory of
// each device.
//
// Idea: a table of blocks by address, over a first-fit allocator of addresses per device. Capacity
// is a counter: contexts, blocks and physical handles are charged to it. Small blocks share 2 MiB
// pages in units of 512 bytes, larger ones take whole pages. This models cudaMalloc: the documented
// alignment (256 bytes at least) holds, and a small allocation does not cost a page.
//
// Ownership: owns the blocks; a pointer to a block is valid until the block is released. Threads:
// the caller holds the driver's lock. Errors: returns a Result; a refused call changes nothing.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_MEMORY_H_
#define VRAMSTOW_SIMULATOR_DEVICE_MEMORY_H_

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/range_allocator.h"
#include "simulator/device/address_space.h"
#include "simulator/device/result.h"
#include "simulator/device/tenancy.h"

namespace vramstow::simulator {

inline constexpr int kHost = -1;
inline constexpr uint64_t kSmallUnit = 512;
inline constexpr uint64_t kSmallMax = 1ull << 20;  // the largest block that shares a page

enum class BlockKind : uint8_t {
  kDevice,          // cuMemAlloc
  kPitched,         // cuMemAllocPitch
  kPool,            // from a stream-ordered pool
  kGlobal,          // a module's variable
  kManaged,         // cuMemAllocManaged
  kHostPinned,      // cuMemHostAlloc
  kHostRegistered,  // cuMemHostRegister
  kArray,           // behind a CUarray
  kImported,        // memory or a pool's memory of another process
};

struct Block {
  uint64_t address = 0;
  uint64_t size = 0;            // after rounding
  uint64_t requested = 0;       // as requested
  uint64_t id = 0;              // never used twice
  const void* owner = nullptr;  // the context
  void* pool = nullptr;         // for kPool
  int device = kHost;
  unsigned flags = 0;  // flags of the caller, for host and managed memory
  BlockKind kind = BlockKind::kDevice;
  bool touched = false;      // its bytes may differ from zero
  bool sync_memops = false;  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
  bool read_only = false;
  bool exported = false;  // other processes may have it open
  int file = -1;          // for kImported: the file with its bytes
  uint64_t file_offset = 0;

  bool OnDevice() const { return device != kHost && kind != BlockKind::kManaged; }
};

class Memory {
 public:
  Memory(AddressSpace* space, int devices, uint64_t device_bytes);

  // Sets which GPUs of the machine the devices are, because other processes use the same GPUs. Must
  // be called before any memory is charged.
  void Share(Tenancy* tenancy, std::vector<int> cards);

  uint64_t total(int device) const { return devices_[device].total; }
  uint64_t own(int device) const { return devices_[device].used; }  // of this process
  uint64_t used(int device) const;                                  // of all processes
  uint64_t free(int device) const;

  // Charges device memory that has no address, such as that of a context or a physical handle.
  // Returns false if too little is free.
  bool Charge(int device, uint64_t bytes);
  void Discharge(int device, uint64_t bytes);

  // Allocates device memory at an address; `bytes` must be greater than 0.
  Result Allocate(int device, uint64_t bytes, BlockKind kind, const void* owner, Block** block);

  // Allocates whole pages for a memory pool, which divides them into blocks. If `charge` is false,
  // only addresses are allocated, and the caller charges their bytes. Returns 0 if too little is
  // free.
  uint64_t AllocatePages(int device, uint64_t bytes, bool charge);
  void ReturnPages(int device, uint64_t address, uint64_t bytes, bool charged);
  // Adds a block within pages that AllocatePages returned. Release ends the block; the pages stay
  // allocated.
  Block* AddPoolBlock(int device, uint64_t address, uint64_t size, uint64_t bytes,
                      const void* owner, void* pool);
  // Returns the device whose pool pages hold all of [address, address + size), or kHost.
  int PoolDevice(uint64_t address, uint64_t size) const;

  // Adds a block of host memory that the caller has mapped or that belongs to the application.
  Block* AddHost(uint64_t address, uint64_t bytes, BlockKind kind, const void* owner);

  // Adds a block for memory of another process that is mapped at `address`; that process is charged
  // for it.
  Block* AddImported(const Block& block);

  // Ends the block and frees its device memory. The caller must have unmapped an imported block
  // before, and must free host memory itself.
  void Release(Block* block);

  Block* FindExact(uint64_t address);   // the block that begins at `address`, or null
  Block* FindAround(uint64_t address);  // the block that holds `address`, or null
  bool Overlaps(uint64_t address, uint64_t bytes) const;

  // Returns all blocks of an owner, for the end of a context.
  std::vector<Block*> BlocksOf(const void* owner);

  uint64_t NewId() { return ++last_id_; }

 private:
  // A page that small blocks share.
  struct SharedPage {
    uint64_t bytes = 0;  // bytes of live blocks
    bool touched = false;
  };

  struct Device {
    uint64_t total = 0;
    uint64_t used = 0;
    RangeAllocator pages;                             // whole pages
    RangeAllocator small;                             // units of pages that small blocks share
    std::unordered_map<uint64_t, SharedPage> shared;  // by page
  };

  uint64_t AllocateSmall(int device, uint64_t size);
  void ReleaseSmall(const Block& block);
  // Charges whole pages and returns their address. Returns 0 if no memory or no address is left.
  uint64_t AllocateCharged(int device, uint64_t size);

  AddressSpace* space_;
  Tenancy* tenancy_ = nullptr;  // null: the GPUs belong to this process alone
  std::vector<int> cards_;
  std::vector<Device> devices_;
  std::map<uint64_t, Block> blocks_;
  struct PoolPages {
    uint64_t size = 0;
    int device = 0;
  };
  std::map<uint64_t, PoolPages> pool_pages_;  // by address
  uint64_t last_id_ = 0;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_MEMORY_H_
