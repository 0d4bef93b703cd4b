#include "simulator/device/cards.h"

#include "base/units.h"

namespace vramstow::simulator {
namespace {

// Properties that all GPUs of a compute capability share (from the tables of the CUDA C++
// Programming Guide), and the bandwidth of the PCI Express version of these GPUs.
struct Architecture {
  int major;
  int minor;
  int shared_per_multiprocessor_bytes;
  int threads_per_multiprocessor;
  int blocks_per_multiprocessor;
  uint64_t link_bytes_per_us;
};
constexpr Architecture kVolta = {7, 0, 98304, 2048, 32, 12000};
constexpr Architecture kTuring = {7, 5, 65536, 1024, 16, 12000};
constexpr Architecture kAmpere = {8, 0, 167936, 2048, 32, 25000};
constexpr Architecture kSmallAmpere = {8, 6, 102400, 1536, 16, 25000};
constexpr Architecture kAda = {8, 9, 102400, 1536, 24, 25000};
constexpr Architecture kHopper = {9, 0, 233472, 2048, 32, 55000};
constexpr Architecture kBlackwell = {10, 0, 233472, 2048, 32, 55000};
constexpr Architecture kSmallBlackwell = {12, 0, 102400, 1536, 24, 55000};

// Properties of one GPU model.
struct Chip {
  const char* key;
  const char* name;
  uint64_t memory_bytes;
  int multiprocessors;
  int clock_khz;
  int memory_clock_khz;
  int memory_bus_bits;
  int l2_bytes;
  int persisting_l2_bytes;
  int copy_engines;
  int pci_device_id;
  bool ecc;
  bool nvlink;
  uint64_t context_bytes;
  uint64_t local_bytes_per_us;
  uint64_t own_link_bytes_per_us = 0;  // 0: the value of its architecture
};

constexpr Card Of(const Architecture& architecture, const Chip& chip) {
  // From compute capability 8.0 on, the driver reserves some of the shared memory of each block.
  const int reserved = architecture.major >= 8 ? 1024 : 0;
  return {.key = chip.key,
          .name = chip.name,
          .memory_bytes = chip.memory_bytes,
          .major = architecture.major,
          .minor = architecture.minor,
          .multiprocessors = chip.multiprocessors,
          .clock_khz = chip.clock_khz,
          .memory_clock_khz = chip.memory_clock_khz,
          .memory_bus_bits = chip.memory_bus_bits,
          .l2_bytes = chip.l2_bytes,
          .persisting_l2_bytes = chip.persisting_l2_bytes,
          .shared_per_multiprocessor_bytes = architecture.shared_per_multiprocessor_bytes,
          .shared_per_block_optin_bytes = architecture.shared_per_multiprocessor_bytes - reserved,
          .shared_reserved_per_block_bytes = reserved,
          .threads_per_multiprocessor = architecture.threads_per_multiprocessor,
          .blocks_per_multiprocessor = architecture.blocks_per_multiprocessor,
          .copy_engines = chip.copy_engines,
          .pci_device_id = chip.pci_device_id,
          .ecc = chip.ecc,
          .nvlink = chip.nvlink,
          .context_bytes = chip.context_bytes,
          .link_bytes_per_us = chip.own_link_bytes_per_us != 0 ? chip.own_link_bytes_per_us
                                                               : architecture.link_bytes_per_us,
          .local_bytes_per_us = chip.local_bytes_per_us};
}

// Device memory that was in use on an H100 after a context was created, with driver 580
// (docs/card.md).
constexpr uint64_t kHopperContextBytes = 552402944;

// Drivers differ by a few MiB in the memory size that they report; this table has one of the sizes
// seen in public reports. If no report was found, the size is derived from other published figures
// of the GPU (memory= sets another size). A context occupies 1.97 times the size of the
// local-memory stacks of all threads that the GPU can run at once. This factor fits the GPUs whose
// contexts were measured.
constexpr Card kCards[] = {
    Of(kHopper, {.key = "h200",
                 .name = "NVIDIA H200",
                 .memory_bytes = 150110011392,
                 .multiprocessors = 132,
                 .clock_khz = 1980000,
                 .memory_clock_khz = 3201000,
                 .memory_bus_bits = 6144,
                 .l2_bytes = 62914560,
                 .persisting_l2_bytes = 39321600,
                 .copy_engines = 3,
                 .pci_device_id = 0x2335,
                 .ecc = true,
                 .nvlink = true,
                 .context_bytes = kHopperContextBytes,
                 .local_bytes_per_us = 2000000}),
    Of(kHopper, {.key = "h100",
                 .name = "NVIDIA H100 80GB HBM3",
                 .memory_bytes = 81079 * kMiB,
                 .multiprocessors = 132,
                 .clock_khz = 1980000,
                 .memory_clock_khz = 2619000,
                 .memory_bus_bits = 5120,
                 .l2_bytes = 52428800,
                 .persisting_l2_bytes = 32768000,
                 .copy_engines = 3,
                 .pci_device_id = 0x2330,
                 .ecc = true,
                 .nvlink = true,
                 .context_bytes = kHopperContextBytes,
                 .local_bytes_per_us = 1500000}),
    Of(kBlackwell, {.key = "b200",
                    .name = "NVIDIA B200",
                    .memory_bytes = 182635 * kMiB,
                    .multiprocessors = 148,
                    .clock_khz = 1965000,
                    .memory_clock_khz = 3996000,
                    .memory_bus_bits = 7680,
                    .l2_bytes = 132644864,
                    .persisting_l2_bytes = 82903040,
                    .copy_engines = 5,
                    .pci_device_id = 0x2901,
                    .ecc = true,
                    .nvlink = true,
                    .context_bytes = 583 * kMiB,
                    .local_bytes_per_us = 3000000}),
    Of(kBlackwell, {.key = "gb200",
                    .name = "NVIDIA GB200",
                    .memory_bytes = 188730 * kMiB,
                    .multiprocessors = 152,
                    .clock_khz = 2062000,
                    .memory_clock_khz = 3996000,
                    .memory_bus_bits = 8192,
                    .l2_bytes = 132644864,
                    .persisting_l2_bytes = 82903040,
                    .copy_engines = 5,
                    .pci_device_id = 0x2941,
                    .ecc = true,
                    .nvlink = true,
                    .context_bytes = 599 * kMiB,
                    .local_bytes_per_us = 3000000,
                    .own_link_bytes_per_us = 200000}),
    Of(kAmpere, {.key = "a100",
                 .name = "NVIDIA A100-SXM4-80GB",
                 .memory_bytes = 81152 * kMiB,
                 .multiprocessors = 108,
                 .clock_khz = 1410000,
                 .memory_clock_khz = 1593000,
                 .memory_bus_bits = 5120,
                 .l2_bytes = 41943040,
                 .persisting_l2_bytes = 26214400,
                 .copy_engines = 3,
                 .pci_device_id = 0x20b2,
                 .ecc = true,
                 .nvlink = true,
                 .context_bytes = 424 * kMiB,
                 .local_bytes_per_us = 900000}),
    Of(kAmpere, {.key = "a100-40gb",
                 .name = "NVIDIA A100-SXM4-40GB",
                 .memory_bytes = 40536 * kMiB,
                 .multiprocessors = 108,
                 .clock_khz = 1410000,
                 .memory_clock_khz = 1215000,
                 .memory_bus_bits = 5120,
                 .l2_bytes = 41943040,
                 .persisting_l2_bytes = 26214400,
                 .copy_engines = 3,
                 .pci_device_id = 0x20b0,
                 .ecc = true,
                 .nvlink = true,
                 .context_bytes = 424 * kMiB,
                 .local_bytes_per_us = 686000}),
    Of(kAda, {.key = "l40s",
              .name = "NVIDIA L40S",
              .memory_bytes = 45596 * kMiB,
              .multiprocessors = 142,
              .clock_khz = 2520000,
              .memory_clock_khz = 9001000,
              .memory_bus_bits = 384,
              .l2_bytes = 100663296,
              .persisting_l2_bytes = 65273856,
              .copy_engines = 3,
              .pci_device_id = 0x26b9,
              .ecc = true,
              .nvlink = false,
              .context_bytes = 420 * kMiB,
              .local_bytes_per_us = 400000}),
    Of(kAda, {.key = "rtx4090",
              .name = "NVIDIA GeForce RTX 4090",
              .memory_bytes = 25393692672,
              .multiprocessors = 128,
              .clock_khz = 2520000,
              .memory_clock_khz = 10501000,
              .memory_bus_bits = 384,
              .l2_bytes = 75497472,
              .persisting_l2_bytes = 51904512,
              .copy_engines = 2,
              .pci_device_id = 0x2684,
              .ecc = false,
              .nvlink = false,
              .context_bytes = 380 * kMiB,
              .local_bytes_per_us = 450000}),
    Of(kAda, {.key = "rtx6000ada",
              .name = "NVIDIA RTX 6000 Ada Generation",
              .memory_bytes = 48640 * kMiB,
              .multiprocessors = 142,
              .clock_khz = 2505000,
              .memory_clock_khz = 10001000,
              .memory_bus_bits = 384,
              .l2_bytes = 100663296,
              .persisting_l2_bytes = 65273856,
              .copy_engines = 2,
              .pci_device_id = 0x26b1,
              .ecc = false,
              .nvlink = false,
              .context_bytes = 420 * kMiB,
              .local_bytes_per_us = 400000}),
    Of(kSmallBlackwell, {.key = "rtx5090",
                         .name = "NVIDIA GeForce RTX 5090",
                         .memory_bytes = 33680457728,
                         .multiprocessors = 170,
                         .clock_khz = 2550000,
                         .memory_clock_khz = 14001000,
                         .memory_bus_bits = 512,
                         .l2_bytes = 100663296,
                         .persisting_l2_bytes = 69206016,
                         .copy_engines = 2,
                         .pci_device_id = 0x2b85,
                         .ecc = false,
                         .nvlink = false,
                         .context_bytes = 502 * kMiB,
                         .local_bytes_per_us = 800000}),
    Of(kSmallAmpere, {.key = "rtx3090",
                      .name = "NVIDIA GeForce RTX 3090",
                      .memory_bytes = 25438126080,
                      .multiprocessors = 82,
                      .clock_khz = 1695000,
                      .memory_clock_khz = 9751000,
                      .memory_bus_bits = 384,
                      .l2_bytes = 6291456,
                      .persisting_l2_bytes = 4325376,
                      .copy_engines = 2,
                      .pci_device_id = 0x2204,
                      .ecc = false,
                      .nvlink = false,
                      .context_bytes = 242 * kMiB,
                      .local_bytes_per_us = 400000}),
    Of(kAmpere, {.key = "a30",
                 .name = "NVIDIA A30",
                 .memory_bytes = 24062 * kMiB,
                 .multiprocessors = 56,
                 .clock_khz = 1440000,
                 .memory_clock_khz = 1215000,
                 .memory_bus_bits = 3072,
                 .l2_bytes = 25165824,
                 .persisting_l2_bytes = 15728640,
                 .copy_engines = 3,
                 .pci_device_id = 0x20b7,
                 .ecc = true,
                 .nvlink = false,
                 .context_bytes = 220 * kMiB,
                 .local_bytes_per_us = 420000}),
    Of(kSmallAmpere, {.key = "a10",
                      .name = "NVIDIA A10",
                      .memory_bytes = 22731 * kMiB,
                      .multiprocessors = 72,
                      .clock_khz = 1695000,
                      .memory_clock_khz = 6251000,
                      .memory_bus_bits = 384,
                      .l2_bytes = 6291456,
                      .persisting_l2_bytes = 4325376,
                      .copy_engines = 2,
                      .pci_device_id = 0x2236,
                      .ecc = true,
                      .nvlink = false,
                      .context_bytes = 212 * kMiB,
                      .local_bytes_per_us = 260000}),
    Of(kAda, {.key = "l4",
              .name = "NVIDIA L4",
              .memory_bytes = 23583784960,
              .multiprocessors = 58,
              .clock_khz = 2040000,
              .memory_clock_khz = 6251000,
              .memory_bus_bits = 192,
              .l2_bytes = 50331648,
              .persisting_l2_bytes = 34603008,
              .copy_engines = 2,
              .pci_device_id = 0x27b8,
              .ecc = true,
              .nvlink = false,
              .context_bytes = 171 * kMiB,
              .local_bytes_per_us = 130000}),
    Of(kTuring, {.key = "t4",
                 .name = "Tesla T4",
                 .memory_bytes = 15835660288,
                 .multiprocessors = 40,
                 .clock_khz = 1590000,
                 .memory_clock_khz = 5001000,
                 .memory_bus_bits = 256,
                 .l2_bytes = 4194304,
                 .persisting_l2_bytes = 0,
                 .copy_engines = 3,
                 .pci_device_id = 0x1eb8,
                 .ecc = true,
                 .nvlink = false,
                 .context_bytes = 100 * kMiB,
                 .local_bytes_per_us = 120000}),
    Of(kVolta, {.key = "v100",
                .name = "Tesla V100-SXM2-32GB",
                .memory_bytes = 34089730048,
                .multiprocessors = 80,
                .clock_khz = 1530000,
                .memory_clock_khz = 877000,
                .memory_bus_bits = 4096,
                .l2_bytes = 6291456,
                .persisting_l2_bytes = 0,
                .copy_engines = 5,
                .pci_device_id = 0x1db5,
                .ecc = true,
                .nvlink = true,
                .context_bytes = 310 * kMiB,
                .local_bytes_per_us = 400000}),
};

}  // namespace

CardTable AllCards() { return {kCards, sizeof(kCards) / sizeof(kCards[0])}; }

const Card* FindCard(std::string_view key) {
  for (const Card& card : kCards) {
    if (key == card.key) return &card;
  }
  return nullptr;
}

}  // namespace vramstow::simulator
