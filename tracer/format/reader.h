// TraceReader reads a .stow file, complete or damaged, and returns its events in the order in which
// they happened.
//
// Idea: the file's chunks are found by their magic number, wherever they lie, and read one by one,
// so that all readable parts of a truncated or damaged file are used. Threads' chunks are merged by
// sequence. Everything read from the file is checked before it is used, because the file may come
// from an untrusted source. The sequences of the events that Next returns always increase.
//
// Ownership: the reader owns the file; texts that it returns live as long as the reader. Threads:
// one thread at a time. Errors: Open fails only if the file is no trace at all (or cannot be read);
// report() counts damage. Memory: bounded by the number of chunks and of threads, not of events.
// Units: bytes, nanoseconds. Source of the format: docs/trace-format.md.
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
  kCannotOpen,    // errno contains the reason
  kNotATrace,     // the file does not begin like a trace
  kNewerVersion,  // written by a newer version of vramstow
};

struct TraceLibrary {
  std::string path;
  uint64_t base = 0;
  std::string build_id;  // lower-case hex, or empty
};

// One frame of a stack.
struct TraceFrame {
  enum class Kind : uint8_t {
    kUnknown = 0,  // written by a later version
    kNative = 1,   // the return address is `offset` bytes after the beginning of `library`
    kPython = 2,   // the call is in `function` of `file`, at `line`
    kCut = 3,      // frames from here on outwards were left out
  };
  Kind kind = Kind::kUnknown;
  uint16_t library = kUnknownName;  // if that is unknown, offset is the address itself
  uint64_t offset = 0;              // the call is the instruction before it
  std::string_view function;
  std::string_view file;
  uint32_t first_line = 0;  // the first line of the function
  uint32_t line = 0;        // 0 if unknown
};

// Counts what was read, and what could not be read. Complete after Next() has returned false.
struct ReadReport {
  uint64_t events = 0;
  uint64_t chunks = 0;
  uint64_t damaged_chunks = 0;  // magic found, but the contents are inconsistent
  uint64_t damaged_bytes = 0;   // bytes of the file that could not be used
  uint64_t missing_events = 0;  // other sequences, up to the last, that are missing
  uint64_t dropped_events = 0;  // reported by the recorder: the sum of all kGap events
  // Older events that newer ones overwrote, because the trace has a limited size.
  uint64_t overwritten_events = 0;
  // Events of which only sums are left, and the time up to which events are folded.
  uint64_t folded_events = 0;
  uint64_t folded_until_ns = 0;
  // The errno of the write that failed and ended the recording, or 0 if none did. The program went
  // on.
  uint32_t write_error = 0;
  bool closed = false;  // false if the process was killed or is running
};

// One of the functions at an address in a library, as found by a symbol look-up that could read the
// library.
struct TraceFunction {
  std::string name;
  std::string file;   // empty if unknown
  uint32_t line = 0;  // 0 if unknown
  bool is_inlined = false;
};

class TraceReader {
 public:
  TraceReader();
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  // Opens a file and reads its tables. May be called once.
  ReadError Open(const char* path);
  // Like Open, for bytes in memory, which must outlive the reader. For tests and fuzzing.
  ReadError OpenBytes(std::string_view bytes);

  // Returns the next event in order; false at the end. Times of different threads may deviate from
  // that order by some microseconds. If recording ended with an error, the last event is a kGap.
  bool Next(Event* event);
  // Returns which part of the trace was read so far, from 0 to 1, to show progress; it is updated
  // chunk by chunk.
  double Part() const;
  // Starts again from the first event.
  void Rewind();

  // Returns the pairs of Recorder::Describe.
  const std::map<std::string, std::string>& facts() const;
  // Return the names of entry points and libraries; index 0 is "unknown". An index that is missing
  // in the table (because of damage) reads as "unknown".
  std::string_view CallName(uint16_t call) const;
  const TraceLibrary& Library(uint16_t library) const;
  const std::vector<TraceLibrary>& libraries() const;

  // Returns the text of a mark, by its `object`; "unknown" if the table does not contain that
  // number. The end of a thread's range has the number of its beginning.
  std::string_view Annotation(uint64_t number) const;

  // Returns the frames of an event's stack, from the innermost on; none for 0 and for an unknown
  // number. Each call of Python's interpreter loop is replaced by the frames that it executes.
  std::vector<TraceFrame> Stack(uint32_t stack) const;

  // Returns the functions at a native frame, from the innermost inlined one to the one that has a
  // frame; empty if they were not looked up.
  const std::vector<TraceFunction>& Functions(uint16_t library, uint64_t offset) const;
  bool HasFunctions() const;
  // Returns all native frames in libraries that occur in stacks, each once.
  std::vector<TraceFrame> NativeFrames() const;

  // Returns the sums of events that were removed, or null if all events were retained.
  const TraceSums* sums() const;

  const ReadReport& report() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_READER_H_
