// Lists the GPUs that can be simulated: what each one reports about itself, and which properties
// are modelled.
//
// Idea: one row per GPU; a new GPU is a new row. The reported figures follow the public deviceQuery
// and framework outputs for that GPU and NVIDIA's data sheets and tuning guides (compute capability
// tables of the CUDA C++ Programming Guide). context_bytes and the speeds are a model: typical
// figures, adjustable with context= and kernel-time=.
//
// Ownership: rows are constants. Threads: immutable. Errors: returns null for an unknown GPU.
// Units: bytes, kHz, bits, bytes per microsecond (= MB/s).
#ifndef VRAMSTOW_SIMULATOR_DEVICE_CARDS_H_
#define VRAMSTOW_SIMULATOR_DEVICE_CARDS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramstow::simulator {

struct Card {
  const char* key;   // as in the SPEC
  const char* name;  // as the GPU reports itself
  uint64_t memory_bytes;
  int major;
  int minor;
  int multiprocessors;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int l2_bytes;
  int persisting_l2_bytes;
  int shared_per_multiprocessor_bytes;
  int shared_per_block_optin_bytes;
  int shared_reserved_per_block_bytes;
  int threads_per_multiprocessor;
  int blocks_per_multiprocessor;
  int copy_engines;
  int pci_device_id;
  bool ecc;
  bool nvlink;  // peers reach each other directly
  // Modelled.
  uint64_t context_bytes;       // device memory that a context occupies
  uint64_t link_bytes_per_us;   // host to device and back
  uint64_t local_bytes_per_us;  // device memory to device memory
};

struct CardTable {
  const Card* rows;
  size_t count;
};
CardTable AllCards();

const Card* FindCard(std::string_view key);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_CARDS_H_
