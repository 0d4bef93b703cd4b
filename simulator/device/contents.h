// The bytes of device memory: copied, filled and read where a block or a mapping allows it.
//
// Idea: the one place that touches shadow memory. Large copies go by what was written (holes of the
// sparse files stay holes), so a big block that holds nothing costs nothing to copy either.
// The same holds for copies to page-locked memory of the host: what is a hole takes no page there,
// either, and what was not computed is known again when it comes back, as long as nobody has
// written to its page. With contents=discard nothing is stored and everything reads as zeros.
// Otherwise device memory holds what contents= says: whoever is about to write much asks whether
// there is room, and leaves it out where there is none.
//
// Ownership: none. Threads: the owner's lock. Errors: Result. Units: bytes.
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
  // `most`: what device memory may hold by large writes.
  Contents(AddressSpace* space, Memory* memory, VirtualMemory* virtual_memory, bool keep,
           uint64_t most);

  // Writes above this are large.
  static constexpr uint64_t kLarge = 1ull << 20;

  bool IsDevice(uint64_t address) const { return space_->Contains(address); }

  // May `device` use [address, address + size)? Host addresses are let through: the host's own
  // protection speaks for them. `peer_ok`: a copy, which reaches other devices' blocks as well.
  Result Check(uint64_t address, uint64_t size, int device, bool write, bool peer_ok) const;

  // Any address to any other; both checked before. Overlap is allowed.
  void Copy(uint64_t to, uint64_t from, uint64_t size);

  struct Piece {
    uint64_t address = 0;
    uint64_t size = 0;
  };
  // Whether a large write of these keeps device memory within what it may hold. A second write
  // to the same memory takes nothing.
  bool HasRoom(std::span<const Piece> pieces) { return HasRoom(pieces, most_); }
  // The same where that is `most`, if that is more.
  bool HasRoom(std::span<const Piece> pieces, uint64_t most);
  // Whether a copy is a large one of the host's bytes for which there is no room. Copies get half
  // of it, so that results have room, too.
  bool LeavesOut(uint64_t to, uint64_t from, uint64_t size);
  // In place of such a copy: the memory reads as zeros, and as not computed.
  void LeaveOut(uint64_t to, uint64_t size);
  // Bytes that wait in memory of the host to be written: they take room.
  void Stage(uint64_t bytes) { staged_ += bytes; }
  void Unstage(uint64_t bytes) { staged_ -= bytes; }

  // Memory of the host that the driver made has gone.
  void ForgetHost(uint64_t address, uint64_t size) { on_host_.Clear(address, size); }

  // A large copy to the host waits. Pages there that hold only zeros are given back, because much
  // may wait: a program fills page-locked memory with zeros before it copies results there.
  void GiveBackZeros(uint64_t host, uint64_t size);

  // Repeats a value of `width` bytes (1, 2 or 4) `count` times.
  void Fill(uint64_t to, uint32_t value, int width, uint64_t count);

  // Where the bytes of a device address lie, for a kernel that writes or reads them: null if
  // [address, address + size) is no memory of any device. Marks it as written if `write`.
  void* Translate(uint64_t address, uint64_t size, bool write);

  // Marks are kept by address, and begin anew where something is mapped. But what moves between a
  // device and the host, mapped at one address after the other, takes its marks along. Both are
  // told of whole mappings: after one began, before one ends.
  void BeginMapping(uint64_t address, uint64_t size);
  void EndMapping(uint64_t address, uint64_t size);

  // What of it kernels should have computed and did not.
  UncomputedRanges& uncomputed() { return uncomputed_; }

 private:
  // Where a run of device addresses lies in its file, and how far that goes.
  struct Extent {
    int file = 0;
    uint64_t offset = 0;
    uint64_t size = 0;
  };
  // A run of a file that was written.
  struct Written {
    int file = -1;
    uint64_t start = 0;
    uint64_t stop = 0;
    uint64_t punches = 0;  // as they were when it was found
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
  UncomputedRanges on_host_;  // in memory that the driver made, where its pages were not written
  Written written_;           // the last that was found
  bool keep_;
  uint64_t most_;
  uint64_t staged_ = 0;
  std::string left_out_;  // what a copy is called that was left out
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_CONTENTS_H_
