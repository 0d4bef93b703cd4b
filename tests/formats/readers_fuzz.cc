// The entry point for libFuzzer: reads any bytes in the format that they seem to have.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/formats/readers.h"

// The name is libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vramstow::ReadAsWhateverItIs({reinterpret_cast<const char*>(data), size});
  return 0;
}
