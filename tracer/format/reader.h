// TraceReader: reads a .stow file, whole or damaged, and gives its events in the order in which
// they happened.
//
// Idea: the file's chunks are found by their magic number, wherever they lie, and read one by one,
// so that a truncated or damaged file gives all that is readable. Threads' chunks are merged by
// sequence number. Everything read from the file is checked before it is used: the file may come
// from a stranger. Sequence numbers of the events that Next gives always rise.
//
// Ownership: the reader owns the file; texts that it returns live as long as the reader. Threads:
// one thread at a time. Errors: Open fails only for what is no trace at all (or cannot be read);
// report() counts damage. Memory: bounded by the number of chunks and of threads, not of
// events. Units: bytes, nanoseconds. Source of the format: docs/trace-format.md.
#ifndef VRAMSTOW_TRACER_FORMAT_READER_H_
#define VRAMSTOW_TRACER_FORMAT_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "tracer/format/sums.h"

namespace vramstow {

enum class ReadError {
  kOk,
  kCannotOpen,    // errno says why
  kNotATrace,     // the file does not begin as a trace does
  kNewerVersion,  // written by a version of vramstow that this one does not know
};

struct TraceLibrary {
  std::string path;
  uint64_t base = 0;
  std::string build_id;  // lower-case hex, or empty
};

// One place on a stack.
struct TraceFrame {
  enum class Kind : uint8_t {
    kUnknown = 0,  // written by a later version
    kNative = 1,   // in `library`, `offset` bytes from where that begins, is what is returned to
    kPython = 2,   // in `function` of `file`, at `line`
    kCut = 3,      // frames from here on outwards were left out
  };
  Kind kind = Kind::kUnknown;
  uint16_t library = kUnknownName;  // if that is unknown, offset is the address itself
  uint64_t offset = 0;              // the call is the instruction before it
  std::string_view function;
  std::string_view file;
  uint32_t first_line = 0;  // of the function
  uint32_t line = 0;        // 0: not known
};

// What was read and what was not. Complete after Next() has returned false.
struct ReadReport {
  uint64_t events = 0;
  uint64_t chunks = 0;
  uint64_t damaged_chunks = 0;  // magic found, but the contents are inconsistent
  uint64_t damaged_bytes = 0;   // bytes of the file that could not be used
  uint64_t missing_events = 0;  // other sequence numbers, up to the last, that did not appear
  uint64_t dropped_events = 0;  // said by the recorder itself: the sum of all kGap events' sizes
  // Older ones whose place newer ones took, because the trace was to keep a limited size.
  uint64_t overwritten_events = 0;
  // Events of which there are only sums, and the time up to which that is so.
  uint64_t folded_events = 0;
  uint64_t folded_until_ns = 0;
  // The errno of the write that failed and ended the recording; 0: none did. The program went on.
  uint32_t write_error = 0;
  bool closed = false;  // the process closed the trace; false: it was killed or is running
};

// One of the functions at a place of a library, as somebody who had the library looked it up.
struct TraceFunction {
  std::string name;
  std::string file;   // empty: not known
  uint32_t line = 0;  // 0: not known
  bool is_inlined = false;
};

class TraceReader {
 public:
  TraceReader();
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  // Reads the tables. May be called once.
  ReadError Open(const char* path);
  // The same for bytes in memory, which must outlive the reader. For tests and fuzzing.
  ReadError OpenBytes(std::string_view bytes);

  // The next event in order; false at the end. Times of different threads may be some microseconds
  // out of that order. If the recorder ended with an error, the last event is a kGap.
  bool Next(Event* event);
  // How much of the trace was read so far, 0 to 1, for people who wait: as the chunks have it.
  double Part() const;
  // Starts again from the first event.
  void Rewind();

  // Recorder::Describe's pairs.
  const std::map<std::string, std::string>& facts() const;
  // Names of the entry points and libraries; index 0 is "unknown". An index that an event has and
  // the table has not (damage) reads as "unknown".
  std::string_view CallName(uint16_t call) const;
  const TraceLibrary& Library(uint16_t library) const;
  const std::vector<TraceLibrary>& libraries() const;

  // What a mark says, by its `object`; "unknown" where the table has not that number. The end of a
  // thread's range has the number of its beginning.
  std::string_view Annotation(uint64_t number) const;

  // The frames of an event's stack, from the innermost on; none for 0 and for a number that the
  // table has not. In place of each call of Python's interpreter loop are the frames that it runs.
  std::vector<TraceFrame> Stack(uint32_t stack) const;

  // The functions at a native frame, from the innermost inlined one to the one that has a frame;
  // none: nobody looked them up.
  const std::vector<TraceFunction>& Functions(uint16_t library, uint64_t offset) const;
  bool HasFunctions() const;
  // All native frames in libraries that stacks have, each once.
  std::vector<TraceFrame> NativeFrames() const;

  // What is known of events that are gone; null: all that could be kept is there.
  const TraceSums* sums() const;

  const ReadReport& report() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_READER_H_
