// Runs every reader on the same bytes, for mutations and for the fuzzer. A reader may reject them,
// but it must not crash, hang or fail without a message.
//
// Ownership: none. Threads: no shared state. Errors: aborts if a reader breaks a promise. Units:
// none.
#ifndef VRAMSTOW_TESTS_FORMATS_READERS_H_
#define VRAMSTOW_TESTS_FORMATS_READERS_H_

#include <string_view>

namespace vramstow {

// Reads the bytes in the format that they seem to have, converts the result to events and, for a
// snapshot, writes it and reads it again. Returns true if the bytes could be read.
bool ReadAsWhateverItIs(std::string_view bytes);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_FORMATS_READERS_H_
