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

// One frame of a call stack.
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

// Counts of the data that was read, and of the data that could not be read. The counts are complete
// after Next() has returned false.
struct ReadReport {
  uint64_t events = 0;
  uint64_t chunks = 0;
  uint64_t damaged_chunks = 0;  // magic found, but the contents are inconsistent
  uint64_t damaged_bytes = 0;   // bytes of the file that could not be used
  uint64_t missing_events = 0;  // other sequences, up to the last, that are missing
  uint64_t dropped_events = 0;  // reported by the recorder: the sum of all kGap events
  // The number of older events that newer ones overwrote, because the trace has a limited size.
  uint64_t overwritten_events = 0;
  // The number of events of which only sums are left, and the time up to which events were folded
  // (replaced by sums).
  uint64_t folded_events = 0;
  uint64_t folded_until_ns = 0;
  // Those of the folded events that are in no sum completely, because there was no room to retain
  // them: failed requests and other events that form no pairs.
  uint64_t left_out_events = 0;
  // The errno of the failed write that ended the recording, or 0 if no write failed. The program
  // continued after that.
  uint32_t write_error = 0;
  bool closed = false;  // false if the process was killed or is running; true after _exit()
};

// A part of the order of events from which events of at least one thread are missing: they lie
// after the event with the sequence `after` and before the one with the sequence `before`. Events
// of other threads may be known between the two.
struct TraceGap {
  uint64_t after = 0;              // 0: from the beginning
  uint64_t before = ~uint64_t{0};  // the greatest number: up to the end
};

// A function at an address in a library. A symbol look-up that could read the library has found it.
// At one address there may be several functions, because of inlining.
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
  // Opens a trace in memory and reads its tables, as Open does. The bytes must outlive the reader.
  // For tests and fuzzing.
  ReadError OpenBytes(std::string_view bytes);

  // Stores the next event, in the order of events, in *event; returns false at the end. Times of
  // different threads may deviate from that order by some microseconds. If recording ended with an
  // error, the last event is a kGap.
  bool Next(Event* event);
  // Returns the fraction of the trace that was read so far, from 0 to 1, to show progress. It is
  // updated chunk by chunk.
  double Part() const;
  // Starts again from the first event.
  void Rewind();

  // Returns the facts: the pairs of key and value that were given to Recorder::Describe.
  const std::map<std::string, std::string>& facts() const;
  // These functions return the names of entry points and libraries; index 0 is "unknown". An index
  // that is missing in the table (because of damage) also yields "unknown".
  std::string_view CallName(uint16_t call) const;
  const TraceLibrary& Library(uint16_t library) const;
  const std::vector<TraceLibrary>& libraries() const;

  // Returns the text of a mark, by the `object` of the mark's event; "unknown" if the table does
  // not contain that number. The event that ends a thread's range has the number of the event that
  // began it.
  std::string_view Annotation(uint64_t number) const;

  // Returns the frames of an event's stack, from the innermost on. Returns no frames for 0 and for
  // an unknown number. In place of each call of Python's interpreter loop, the result contains the
  // Python frames that this call executes.
  std::vector<TraceFrame> Stack(uint32_t stack) const;

  // Returns the functions at the address of a native frame, from the innermost inlined function to
  // the one that has a frame. The result is empty if they were not looked up.
  const std::vector<TraceFunction>& Functions(uint16_t library, uint64_t offset) const;
  bool HasFunctions() const;
  // Returns all native frames that occur in stacks and lie in libraries, each frame once.
  std::vector<TraceFrame> NativeFrames() const;

  // Returns the sums of events that were removed, or null if all events were retained.
  const TraceSums* sums() const;

  const ReadReport& report() const;
  // Returns where events are missing, sorted; no two gaps overlap. Events that were overwritten or
  // folded before all others are no gap. The list is complete after Next() has returned false.
  const std::vector<TraceGap>& gaps() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_READER_H_
