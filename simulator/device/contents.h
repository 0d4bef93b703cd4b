// Copies, fills and reads the bytes of device memory where a block or a mapping allows it.
//
// Idea: only this class accesses the shadow (the host memory that holds the bytes of device
// memory). Large copies copy only the written pages (holes of the sparse files stay holes), so
// copying a big block without contents costs nothing. Copies to page-locked host memory work the
// same way: a hole occupies no host page. If bytes that were not computed are copied to such host
// memory, a mark (a range in a table) records it. When the memory is copied back, the bytes on the
// device get these marks again, unless their host page was written to since.
//
// With contents=discard nothing is stored and everything reads as zeros. Otherwise device memory
// stores at most what contents= allows: a caller calls HasRoom before a large write, and skips the
// write if there is no room.
//
// Ownership: owns no memory. Threads: the caller holds the driver's lock. Errors: returns a Result.
// Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_CONTENTS_H_
#define VRAMSTOW_SIMULATOR_DEVICE_CONTENTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "simulator/device/host_pages.h"
#include "simulator/device/memory.h"
#include "simulator/device/uncomputed_ranges.h"
#include "simulator/device/virtual_memory.h"

namespace vramstow::simulator {

class Contents {
 public:
  // `most` limits the bytes that device memory may store by large writes.
  Contents(AddressSpace* space, Memory* memory, VirtualMemory* virtual_memory, bool keep,
           uint64_t most);

  // Writes of more bytes than this are large.
  static constexpr uint64_t kLarge = 1ull << 20;

  bool IsDevice(uint64_t address) const { return space_->Contains(address); }

  // Checks whether `device` may use [address, address + size). Host addresses are accepted, because
  // the host's own page protection covers them. `peer_ok` is true for a copy, which may also access
  // blocks of other devices.
  Result Check(uint64_t address, uint64_t size, int device, bool write, bool peer_ok) const;

  // Copies between any two addresses, which may overlap. The caller has checked both.
  void Copy(uint64_t to, uint64_t from, uint64_t size);

  struct Piece {
    uint64_t address = 0;
    uint64_t size = 0;
  };
  // True if a large write of these pieces keeps the bytes that device memory stores within the
  // limit. A second write to the same memory needs no more room.
  bool HasRoom(std::span<const Piece> pieces) { return HasRoom(pieces, most_); }
  // True if a large write of these pieces keeps the bytes that device memory stores within the
  // usual limit or within `most`, whichever is larger.
  bool HasRoom(std::span<const Piece> pieces, uint64_t most);
  // True if the copy is a large copy from the host and there is no room for its bytes. Copies may
  // use only half of the limit, so that results have room, too.
  bool LeavesOut(uint64_t to, uint64_t from, uint64_t size);
  // Replaces a copy for which LeavesOut is true: the memory at `to` reads as zeros and is marked as
  // not computed.
  void LeaveOut(uint64_t to, uint64_t size);
  // Counts bytes that wait in host memory until they are written to device memory. They will need
  // room there.
  void Stage(uint64_t bytes) { staged_ += bytes; }
  void Unstage(uint64_t bytes) { staged_ -= bytes; }

  // Removes the marks of uncomputed bytes from host memory that the driver has freed.
  void ForgetHost(uint64_t address, uint64_t size) { on_host_.Clear(address, size); }

  // Returns host pages that hold only zeros to the kernel before a large copy to the host is
  // queued. A program may fill much page-locked memory with zeros before it copies results there.
  void GiveBackZeros(uint64_t host, uint64_t size);

  // Repeats a value of `width` bytes (1, 2 or 4) `count` times.
  void Fill(uint64_t to, uint32_t value, int width, uint64_t count);

  // Returns the host pointer to the bytes of a device address, for a kernel that reads or writes
  // them; null if [address, address + size) is not memory of a device. Marks the memory as written
  // if `write`.
  void* Translate(uint64_t address, uint64_t size, bool write);

  // Marks of uncomputed bytes are stored by address, and a new mapping has none. But if memory
  // moves between a device and the host and is mapped at the same address again, its marks move
  // with it. Both functions are called for whole mappings: BeginMapping after a mapping was made,
  // EndMapping before it is removed.
  void BeginMapping(uint64_t address, uint64_t size);
  void EndMapping(uint64_t address, uint64_t size);

  // The ranges of device memory whose values a kernel should have computed and did not compute.
  UncomputedRanges& uncomputed() { return uncomputed_; }

 private:
  // Where the bytes of a range of device addresses lie in a file: position and length.
  struct Extent {
    int file = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  // A range of a file whose bytes were written.
  struct Written {
    int file = -1;
    uint64_t start = 0;
    uint64_t stop = 0;
    uint64_t punches = 0;  // AddressSpace::punches() when the run was found
  };
  bool Locate(uint64_t address, uint64_t size, Extent* extent) const;
  bool NextWritten(int file, uint64_t offset, uint64_t end, uint64_t* start, uint64_t* stop);
  void Touch(uint64_t address);
  void CopyMarks(uint64_t to, uint64_t from, uint64_t size);
  void CopyFromDevice(char* to, uint64_t from, uint64_t size, bool to_device, uint64_t to_address);
  void NoteMove(uint64_t to, uint64_t from, uint64_t size);
  void CopyFromHost(uint64_t to, uint64_t from, uint64_t size);
  void Zero(char* to, uint64_t size, bool to_device, uint64_t to_address);
  HostOwner OwnerOf(uint64_t address, uint64_t size) const;
  bool MayHaveHoles(uint64_t host, uint64_t size) const;
  std::vector<HostRun> RunsOf(uint64_t host, uint64_t size) const;
  bool IsUntouched(uint64_t address) const;
  bool KeepsMarks(uint64_t address) const;
  uint64_t CountUnwritten(uint64_t address, uint64_t size);

  AddressSpace* space_;
  Memory* memory_;
  VirtualMemory* virtual_;
  UncomputedRanges uncomputed_;
  UncomputedRanges on_host_;  // in host memory of the driver; valid while its page is not written
  Written written_;           // the run that was found last
  bool keep_;
  uint64_t most_;
  uint64_t staged_ = 0;
  std::string left_out_;  // the name that marks a copy which was left out
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_CONTENTS_H_
