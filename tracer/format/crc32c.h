// Computes CRC-32C (Castagnoli, RFC 3720 section 12.1), with the processor's instruction if it has
// one.
//
// Ownership: the caller's bytes. Threads: pure functions, safe in a signal handler. Errors: none.
// Units: bytes.
#ifndef VRAMSTOW_TRACER_FORMAT_CRC32C_H_
#define VRAMSTOW_TRACER_FORMAT_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace vramstow {

// Returns the checksum of `size` bytes. "123456789" gives 0xE3069283.
uint32_t Crc32c(const void* bytes, size_t size);

// Returns the same checksum as Crc32c, but always computes it by tables; for tests.
uint32_t Crc32cByTables(const void* bytes, size_t size);

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_CRC32C_H_
