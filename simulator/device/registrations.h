// Registers device memory for network cards: makes descriptors (dma-buf) that stand for physical
// memory, even after other memory is mapped at its addresses.
//
// Idea: a registration records which memory was mapped at each address when the registration was
// made. That memory is a part of a physical handle's memory, which lives as long as any copy of the
// descriptor is open, or a part of a block, which ends with the block. A test can thus read and
// write as a network card on the bus would, bypassing all addresses. The descriptor is one end of a
// pipe, and the other end shows when the last copy of the descriptor is closed.
//
// Ownership: holds references to physical memory; the caller owns the descriptors. Threads: the
// caller holds the driver's lock. Errors: returns a Result; a refused call changes nothing. Units:
// bytes.
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

  // Makes a descriptor for the memory behind [address, address + size), which is one block of a
  // device or adjacent mappings of device memory that was created for this use.
  Result Add(uint64_t address, uint64_t size, int* descriptor);
  // Copies from the registered memory, or to it. Returns kIllegalAddress if the descriptor is not a
  // registration, the range is not inside it, or the block has ended.
  Result Read(int descriptor, uint64_t offset, char* bytes, uint64_t size);
  Result Write(int descriptor, uint64_t offset, const char* bytes, uint64_t size);
  // Releases the memory of registrations whose descriptors are closed.
  void Sweep();

 private:
  struct Piece {
    uint64_t handle = 0;   // of the physical memory; 0: the piece belongs to a block
    uint64_t address = 0;  // of the block
    uint64_t id = 0;       // of the block
    uint64_t offset = 0;   // in the physical memory, or in the block
    uint64_t size = 0;
  };
  struct Entry {
    int other_end = -1;
    std::vector<Piece> pieces;
  };
  // A piece of memory, given by its position in an open file.
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
