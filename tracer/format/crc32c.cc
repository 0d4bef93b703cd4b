#include "tracer/format/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace vramstow {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41 with its bits reversed

// Table k contains the effect on the checksum of a byte that is followed by k more bytes ("slicing
// by eight").
constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}
constexpr auto kTables = MakeTables();

uint64_t Load64(const uint8_t* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

#if defined(__x86_64__)
bool HasInstruction() {
  __builtin_cpu_init();  // this may run before libgcc's constructor
  return __builtin_cpu_supports("sse4.2") != 0;
}

__attribute__((target("sse4.2"))) uint32_t ByInstruction(const uint8_t* bytes, size_t size) {
  uint64_t crc = 0xFFFFFFFF;
  for (; size >= 8; size -= 8, bytes += 8) crc = _mm_crc32_u64(crc, Load64(bytes));
  uint32_t rest = static_cast<uint32_t>(crc);
  for (; size > 0; --size) rest = _mm_crc32_u8(rest, *bytes++);
  return ~rest;
}
#elif defined(__aarch64__)
bool HasInstruction() { return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

__attribute__((target("+crc"))) uint32_t ByInstruction(const uint8_t* bytes, size_t size) {
  uint32_t crc = 0xFFFFFFFF;
  for (; size >= 8; size -= 8, bytes += 8) crc = __crc32cd(crc, Load64(bytes));
  for (; size > 0; --size) crc = __crc32cb(crc, *bytes++);
  return ~crc;
}
#else
bool HasInstruction() { return false; }
uint32_t ByInstruction(const uint8_t* bytes, size_t size) { return Crc32cByTables(bytes, size); }
#endif

}  // namespace

uint32_t Crc32cByTables(const void* bytes, size_t size) {
  const uint8_t* in = static_cast<const uint8_t*>(bytes);
  uint32_t crc = 0xFFFFFFFF;
  for (; size >= 8; size -= 8, in += 8) {
    const uint64_t word = Load64(in) ^ crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; size > 0; --size) crc = (crc >> 8) ^ kTables[0][(crc ^ *in++) & 0xFF];
  return ~crc;
}

uint32_t Crc32c(const void* bytes, size_t size) {
  if (HasInstruction()) return ByInstruction(static_cast<const uint8_t*>(bytes), size);
  return Crc32cByTables(bytes, size);
}

}  // namespace vramstow
