// Reserves the addresses of the simulated devices and stores the bytes behind them.
//
// Idea: device addresses are one large reservation without access rights, so the host faults if it
// dereferences one. The bytes lie in a second reservation, the shadow, at a constant distance. The
// shadow's pages belong to one sparse memory file per device: a page that was never written costs
// nothing, several mappings of one offset show the same bytes, and a file can be shared with
// another process. One more file, host_file(), holds physical memory that an application creates on
// the host. Each device has a plain area, whose addresses are file offsets plus a constant (no
// system call per allocation), and all devices share one area for mappings made by the application.
//
// Ownership: holds the mappings and files for the life of the process. Threads: the caller holds
// the driver's lock; Shadow() only adds two numbers. Errors: returns false and one sentence, and
// undoes what it did. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_ADDRESS_SPACE_H_
#define VRAMSTOW_SIMULATOR_DEVICE_ADDRESS_SPACE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace vramstow::simulator {

inline constexpr uint64_t kDevicePage = 2ull << 20;  // granularity of device memory

class AddressSpace {
 public:
  AddressSpace() = default;
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  // Reserves addresses for `devices` devices of `device_bytes` each.
  bool Reserve(int devices, uint64_t device_bytes, std::string* error);

  bool Contains(uint64_t address) const { return address - base_ < size_; }
  char* Shadow(uint64_t address) const {
    return reinterpret_cast<char*>(static_cast<uintptr_t>(address + delta_));
  }

  // The difference between an address in the shadow (the reservation that holds the bytes) and the
  // device address of the same byte.
  int64_t shadow_distance() const { return static_cast<int64_t>(delta_); }

  uint64_t plain_base(int device) const { return base_ + device * plain_size_; }
  uint64_t plain_size() const { return plain_size_; }
  uint64_t mapped_base() const { return base_ + devices_ * plain_size_; }
  uint64_t mapped_size() const { return size_ - devices_ * plain_size_; }
  int host_file() const { return devices_; }

  // In the functions below `file` is the number of a device, or host_file() (physical memory on the
  // host).

  // Returns the first of `bytes` consecutive offsets in the file that were never returned before.
  // They become physical memory.
  uint64_t NewOffsets(int file, uint64_t bytes);

  // Shows file bytes [offset, offset + bytes) at `address` of the mapped area.
  bool Map(uint64_t address, uint64_t bytes, int file, uint64_t offset);
  // Shows bytes [offset, offset + bytes) of any open file, given by its descriptor, at `address` of
  // the mapped area.
  bool MapDescriptor(uint64_t address, uint64_t bytes, int descriptor, uint64_t offset);
  void Unmap(uint64_t address, uint64_t bytes);

  // Returns whole pages to the kernel. The bytes of these pages read as zeros afterwards.
  void Punch(uint64_t address, uint64_t bytes);
  void PunchFile(int file, uint64_t offset, uint64_t bytes);

  int descriptor(int file) const { return files_[file]; }

  // Bytes of host memory that the devices' memory occupies.
  uint64_t HeldBytes() const;

  // Number of times that pages were returned to the kernel.
  uint64_t punches() const { return punches_; }

  // Finds the next run of written bytes in the open file at or after `offset`, and returns where it
  // starts and ends. Returns false if there is none.
  static bool NextWritten(int descriptor, uint64_t offset, uint64_t* start, uint64_t* stop);

 private:
  bool ReserveAddresses(uint64_t size);
  bool MakeFiles(std::string* error);
  void Release();

  uint64_t base_ = 0;
  uint64_t size_ = 0;
  uint64_t delta_ = 0;
  uint64_t plain_size_ = 0;
  int devices_ = 0;
  uint64_t punches_ = 0;
  void* address_range_ = nullptr;  // as mmap returned it, before alignment
  void* shadow_range_ = nullptr;
  std::vector<int> files_;
  std::vector<uint64_t> next_offset_;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_ADDRESS_SPACE_H_
