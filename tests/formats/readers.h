// Every reader over the same bytes, for mutations and for the fuzzer: what they do with them is
// theirs, but none may crash, hang or say nothing.
//
// Ownership: none. Threads: no shared state. Errors: aborts where a reader breaks a promise.
#ifndef VRAMSTOW_TESTS_FORMATS_READERS_H_
#define VRAMSTOW_TESTS_FORMATS_READERS_H_

#include <string_view>

namespace vramstow {

// Reads the bytes as what they seem to be, plays the result as events and, for a snapshot, writes
// it and reads it again. True: something could be read.
bool ReadAsWhateverItIs(std::string_view bytes);

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_FORMATS_READERS_H_
