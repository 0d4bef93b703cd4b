// VirtualMemory manages address ranges, physical memory, mappings and access rights.
//
// Idea: follows the contract of cuMemAddressReserve, cuMemCreate, cuMemMap, cuMemSetAccess and
// their opposites as the driver's documentation states it. If a real GPU behaved differently from
// the documentation, this class does what the GPU did. A mapping covers whole physical handles from
// offset 0, is removed whole, and gives no access until access is requested. Physical memory lives
// as long as a handle, a mapping or a registration refers to it.
//
// Ownership: owns everything; callers hold numbers. Threads: the caller holds the driver's lock.
// Errors: returns a Result; a refused call changes nothing. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_VIRTUAL_MEMORY_H_
#define VRAMSTOW_SIMULATOR_DEVICE_VIRTUAL_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "simulator/device/memory.h"
#include "simulator/device/uncomputed_ranges.h"

namespace vramstow::simulator {

enum class Access : uint8_t { kNone = 0, kRead = 1, kReadWrite = 3 };

// Physical memory, which has a handle and no address of its own.
struct Physical {
  static constexpr uint64_t kNoOffset = ~uint64_t{0};
  uint64_t handle = 0;
  uint64_t size = 0;
  uint64_t offset = kNoOffset;  // in its file, assigned at its first mapping
  uint64_t id = 0;              // never used twice
  int device = kHost;           // kHost means on the host
  int location_type = 0;        // as the caller gave it, returned by queries
  int location_id = 0;
  unsigned handle_types = 0;                         // the types of handles it may be exported as
  unsigned char allocation_flags[4] = {0, 0, 0, 0};  // compression and RDMA, returned by queries
  uint16_t usage = 0;
  int handles = 0;  // references by the application
  int mappings = 0;
  int registrations = 0;  // registrations for network cards
  int file = -1;          // a file of its own, once exported; -1: its device's file
  uint64_t inode = 0;     // of that file
  // Discharges the device when the last object of this process that has the memory ends. Null for
  // memory of the host, and for memory of another process, which is charged for it.
  std::shared_ptr<void> charge;
  bool sync_memops = false;
  bool rdma = false;  // created so that network cards may register it
  // True if the memory holds bytes that were copied from memory of the host.
  bool came_from_host = false;
  // Offsets of the bytes that were not computed when the memory was unmapped; null if none are
  // known.
  std::shared_ptr<const UncomputedRanges> uncomputed;
};

struct Mapping {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t physical = 0;       // handle
  std::vector<Access> access;  // by device; the last entry is the host's
  uint64_t beyond = 0;         // bytes that extend past the end of the reservation
};

struct Reservation {
  uint64_t address = 0;
  uint64_t size = 0;
};

class VirtualMemory {
 public:
  // `cards` has, for each device, the number of its GPU in the machine. Other processes may number
  // the same GPUs differently.
  VirtualMemory(AddressSpace* space, Memory* memory, std::vector<int> cards);

  // Reserves a range of addresses. An `alignment` of 0 means the alignment of a page. A `hint` of 0
  // means any address. If the hint is not free, another address is used, and this is not an error.
  Result Reserve(uint64_t size, uint64_t alignment, uint64_t hint, uint64_t* address);
  Result Unreserve(uint64_t address, uint64_t size);

  // Creates physical memory on `wish.device`; wish.size must be a multiple of a page.
  Result Create(const Physical& wish, uint64_t* handle);
  // Makes a file descriptor that stands for shareable physical memory; the caller closes it.
  Result Export(uint64_t handle, int* descriptor);
  // Opens the physical memory that a descriptor stands for. Export made the descriptor, in this or
  // another process. Memory of this process is charged as long as one of its handles lives.
  Result Import(int descriptor, uint64_t* handle);
  Result Release(uint64_t handle);
  Result Retain(uint64_t address, uint64_t* handle);
  Physical* Find(uint64_t handle);
  // Returns the memory that is mapped around `address`, or null.
  Physical* FindMapped(uint64_t address);

  // Keep adds a registration that refers to the memory; LetGo removes it.
  void Keep(uint64_t handle) { ++Find(handle)->registrations; }
  void LetGo(uint64_t handle);

  // Maps physical memory at a reserved address. As on a GPU, only the beginning of the range must
  // be reserved; the rest must be free.
  Result Map(uint64_t address, uint64_t size, uint64_t offset, uint64_t handle);
  // Unmaps a range. It is not an error if a reserved range has no mapping, but it is an error to
  // unmap only a part of a mapping.
  Result Unmap(uint64_t address, uint64_t size);
  // `device` may be kHost.
  Result SetAccess(uint64_t address, uint64_t size, int device, Access access);
  Result GetAccess(uint64_t address, int device, Access* access);

  const Mapping* FindMapping(uint64_t address) const;          // the one around `address`, or null
  const Reservation* FindReservation(uint64_t address) const;  // the one around `address`, or null

  // Maps `size` bytes of a file at fresh addresses outside of all reservations. The offset is a
  // multiple of a small page. Returns 0 if no addresses are left.
  uint64_t ShowFile(int descriptor, uint64_t offset, uint64_t size);
  void HideFile(uint64_t address, uint64_t size);

  // True if memory of the host is mapped at the address.
  bool IsOnHost(uint64_t address) const;
  // Returns how many bytes of [address, address + size) are memory of the host.
  uint64_t BytesOnHost(uint64_t address, uint64_t size) const;

  // Returns kIllegalAddress unless [address, address + size) is mapped and `device` may use it.
  Result Check(uint64_t address, uint64_t size, int device, bool write) const;

 private:
  // Finds the whole mappings that together cover [address, address + size) exactly. Returns false
  // if there is a hole, or if the range ends inside a mapping.
  bool Tile(uint64_t address, uint64_t size, std::vector<Mapping*>* tiles);
  void Drop(Physical* physical);
  bool IsHole(uint64_t address, uint64_t size) const;
  bool ShowPhysical(uint64_t address, Physical* physical);
  bool GiveOwnFile(Physical* physical);
  bool ShowIn(const Physical& physical, int file, uint64_t offset);
  // Returns the file that holds the bytes of memory without a file of its own.
  int CommonFile(const Physical& physical) const {
    return physical.device == kHost ? space_->host_file() : physical.device;
  }
  uint64_t AddPhysical(const Physical& wish);
  void ShowToHost(const Mapping& mapping, Access access);
  size_t AccessIndex(int device) const { return device == kHost ? devices_ : device; }

  AddressSpace* space_;
  Memory* memory_;
  std::vector<int> cards_;
  size_t devices_;
  RangeAllocator addresses_;
  std::map<uint64_t, Reservation> reservations_;
  std::map<uint64_t, Mapping> mappings_;
  std::unordered_map<uint64_t, Physical> physical_;
  std::unordered_map<uint64_t, std::weak_ptr<void>> charge_of_;  // by inode of an exported file
  uint64_t last_handle_ = 0;
  uint64_t host_mappings_ = 0;  // number of mappings that show host memory
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_VIRTUAL_MEMORY_H_
