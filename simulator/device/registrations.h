// Registrations: what a network card was told of device memory: descriptors (dma-buf) that stand
// for physical memory, whatever lies at its addresses by now.
//
// Idea: a registration keeps what was behind each address when it was made: a piece of a handle's
// memory, which lives as long as the descriptor is open anywhere, or of a block, which ends with
// the block. So a test can read and write as a card on the bus would, past all addresses. The
// descriptor is one end of a pipe: the other end tells when the last copy of it is closed.
//
// Ownership: keeps physical memory; descriptors are the caller's. Threads: the owner's lock.
// Errors: Result; a refused call changes nothing. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_REGISTRATIONS_H_
#define VRAMSTOW_SIMULATOR_DEVICE_REGISTRATIONS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "simulator/device/memory.h"
#include "simulator/device/virtual_memory.h"

namespace vramstow::simulator {

class Registrations {
 public:
  Registrations(AddressSpace* space, Memory* memory, VirtualMemory* virtual_memory)
      : space_(space), memory_(memory), virtual_(virtual_memory) {}

  // A descriptor for the memory behind [address, address + size): one block of a device, or
  // neighbouring mappings of device memory that was made for this.
  Result Add(uint64_t address, uint64_t size, int* descriptor);
  // Copies from the registered memory, or to it. Illegal address: no registration, not in it, or
  // the block has ended.
  Result Read(int descriptor, uint64_t offset, char* bytes, uint64_t size);
  Result Write(int descriptor, uint64_t offset, const char* bytes, uint64_t size);
  // Lets go of the memory whose descriptors are closed.
  void Sweep();

 private:
  struct Piece {
    uint64_t handle = 0;   // of physical memory; 0: of a block
    uint64_t address = 0;  // of the block
    uint64_t id = 0;       // of the block
    uint64_t offset = 0;   // in the physical memory, or in the block
    uint64_t size = 0;
  };
  struct Entry {
    int other_end = -1;
    std::vector<Piece> pieces;
  };
  // Where a piece lies in which open file.
  struct FilePosition {
    int file;
    uint64_t offset;
  };

  Result FindPieces(uint64_t address, uint64_t size, std::vector<Piece>* pieces);
  const Entry* Find(int descriptor) const;
  bool Locate(const Piece& piece, FilePosition* place);
  template <typename Move>
  Result Access(int descriptor, uint64_t offset, uint64_t size, Move move);

  AddressSpace* space_;
  Memory* memory_;
  VirtualMemory* virtual_;
  std::map<uint64_t, Entry> entries_;  // by the pipe's number
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_REGISTRATIONS_H_
