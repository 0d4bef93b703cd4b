// Pickles for tests, built by hand or by the product's own writer.
//
// Ownership: values. Threads: any. Errors: none. Units: none.
#ifndef VRAMSTOW_TESTS_FORMATS_PICKLES_H_
#define VRAMSTOW_TESTS_FORMATS_PICKLES_H_

#include <sstream>
#include <string>
#include <string_view>

#include "tools/formats/pickle_writer.h"
#include "tools/formats/snapshot.h"

namespace vramstow {

// Returns the bytes that write(PickleWriter*) writes.
template <typename Write>
std::string PickleOf(Write write) {
  std::ostringstream sink;
  PickleWriter writer(&sink);
  write(&writer);
  writer.Finish();
  return sink.str();
}

// Returns a small snapshot with every feature: two devices of four slots, three segments (one of
// them expandable), every action, stacks with and without fx texts, annotations, settings, host
// memory.
Snapshot FullSnapshot();

// Returns FullSnapshot as bytes.
std::string FullSnapshotPickle();

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_FORMATS_PICKLES_H_
