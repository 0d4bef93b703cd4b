// Defines the fixed parts of a .stow file: its header, the header of a chunk, and the numbers in
// both.
//
// Idea: a file is one FileHeader and then chunks, found by their magic number. The constant part of
// a header is covered by a checksum. Fields that the recorder changes while it runs (state,
// committed length, counts of losses) are not, because a killed process could not have updated both
// consistently. docs/trace-format.md describes the format byte by byte.
//
// Ownership: none. Threads: plain values; the recorder accesses the changing fields through
// std::atomic_ref. Errors: none. Units: bytes, nanoseconds. All numbers are little-endian.
#ifndef VRAMSTOW_TRACER_FORMAT_LAYOUT_H_
#define VRAMSTOW_TRACER_FORMAT_LAYOUT_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace vramstow {

static_assert(std::endian::native == std::endian::little,
              "the recorder writes its structures as they lie in memory");

// The magic number of a trace file. As in PNG, its first byte is no text character, and its line
// ends would be changed by a copy in text mode.
inline constexpr uint8_t kFileMagic[8] = {0x89, 'S', 'T', 'O', 'W', '\r', '\n', 0x1A};
inline constexpr uint8_t kChunkMagic[8] = {0xA5, 'S', 'T', 'O', 'W', 'C', 'K', 0x5A};

// A reader refuses a file with a greater major version than this. A greater minor version only adds
// elements that an older reader can skip: record types, fields at the end of a record, chunk kinds.
inline constexpr uint16_t kFormatMajor = 5;
inline constexpr uint16_t kFormatMinor = 0;

inline constexpr uint32_t kFileHeaderBytes = 4096;  // FileHeader, then zeros
inline constexpr uint32_t kSlotBytes = 64 * 1024;   // the part of the file that one thread writes
inline constexpr uint32_t kMinChunkBytes = 4096;    // bounds a reader's memory
inline constexpr uint32_t kMaxChunkBytes = 16 * 1024 * 1024;
inline constexpr uint32_t kChunkAlignment = 8;  // in bytes

// The states of a chunk. Their values differ in many bits, so that damage to one value does not
// yield another.
enum ChunkState : uint32_t {
  kChunkPreparing = 0x50455250,  // "PREP": no contents yet; ignore the chunk
  kChunkOpen = 0x4E45504F,       // "OPEN": `committed` bytes count, not checked by a checksum
  kChunkSealed = 0x4C414553,     // "SEAL": `committed` bytes count, payload_checksum covers them
};

enum class ChunkKind : uint8_t {
  kOldEvents = 1,  // versions 1 and 2
  kTables = 2,     // facts, names of calls, libraries, stacks
  kOldTickedEvents = 3,
  kEvents = 4,
  // A chunk of events whose times are in ticks, which also determine the order of the events. The
  // sequence of an event is its number among the events of this buffer.
  kTickedEvents = 5,
  // Since format version 3.1, in a file that is a ring: sums of older events. The field `buffer` of
  // such a chunk contains the generation of the sums, and `turn` its number in the generation, from
  // 1.
  kSums = 6,
  kKeptEvents = 7,  // like kEvents, but with the original sequences
};

inline constexpr bool IsTicked(ChunkKind kind) {
  return kind == ChunkKind::kTickedEvents || kind == ChunkKind::kOldTickedEvents;
}
inline constexpr bool IsOld(ChunkKind kind) {
  return kind == ChunkKind::kOldEvents || kind == ChunkKind::kOldTickedEvents;
}

enum class ChunkEncoding : uint8_t {
  kPlain = 0,
  kZstd = 1,  // the payload is one Zstandard frame (RFC 8878) of at most kSlotBytes; since 2.2
  // Since format version 5.0, in chunks of events only: the number of events in four bytes, then a
  // Zstandard frame. The frame contains the payload with its time steps stored separately
  // (split_times.h).
  kSplitZstd = 2,
};

enum class TraceState : uint32_t {
  kRunning = 0,  // running, or killed
  kClosed = 1,
  // The process called _exit(). The trace was not closed, but it has all events. The exit status
  // lies in the second byte.
  kExited = 2,
};

inline constexpr uint32_t StateAtExit(int status) {
  return static_cast<uint32_t>(TraceState::kExited) | (static_cast<uint32_t>(status) & 0xFF) << 8;
}
inline constexpr bool IsExited(uint32_t state) {
  return (state & ~0xFF00u) == static_cast<uint32_t>(TraceState::kExited);
}
inline constexpr int ExitStatusOf(uint32_t state) { return static_cast<int>(state >> 8 & 0xFF); }

struct FileHeader {
  uint8_t magic[8];
  uint16_t major;
  uint16_t minor;
  uint32_t header_bytes;    // offset of the first chunk
  uint32_t slot_bytes;      // chunk size that the recorder used
  uint32_t process;         // process id
  uint64_t trace_id;        // random; in every chunk of the file, too
  uint64_t start_unix_ns;   // the moment of time_ns 0 in Unix time
  uint64_t start_clock_ns;  // the same moment by CLOCK_MONOTONIC
  uint32_t reserved[3];
  uint32_t checksum;  // CRC-32C of the bytes before it

  // The fields from here on are changed while the trace is written.
  uint32_t state;        // TraceState, or StateAtExit
  uint32_t latch_error;  // errno of the write that failed and ended the recording, or 0
  uint64_t file_bytes;   // the length of the file, once the trace is closed
  // In a closed trace the last sequence that was assigned or, in a trace with ticks, the number of
  // events. (In format version 1 it is also set after recording has stopped.)
  uint64_t last_sequence;
  uint64_t dropped_events;  // before recording stopped; kGap events also count most of these
  uint64_t latch_sequence;  // the sequence at which recording stopped, or 0
  uint64_t latch_time_ns;   // the time at which recording stopped
  uint64_t lost_events;     // lost after that, in threads without a chunk (since version 2)
  // Since format version 2.2: the size of the file's ring, in which the newest chunks of events
  // replace the oldest, or 0 if all chunks are retained.
  uint64_t ring_bytes;
};
static_assert(offsetof(FileHeader, checksum) == 60);
static_assert(offsetof(FileHeader, state) == 64);
static_assert(offsetof(FileHeader, latch_time_ns) == 104);
static_assert(offsetof(FileHeader, ring_bytes) == 120);
static_assert(sizeof(FileHeader) == 128);

inline constexpr uint32_t kFirstChunkHeaderBytes = 64;  // the length of a chunk header of version 1

struct ChunkHeader {
  uint8_t magic[8];
  uint64_t trace_id;
  uint32_t number;    // 1, 2, … in the order in which chunks were begun
  uint32_t capacity;  // bytes from this chunk's first to the next one's first
  uint32_t thread;    // the thread of the first events
  uint8_t kind;       // ChunkKind
  uint8_t encoding;   // ChunkEncoding
  uint16_t header_bytes;
  uint64_t base_sequence;  // one less than the first event's, or less
  uint64_t base_time;      // nanoseconds: the first event's or less; ticks: less
  uint32_t checksum;       // CRC-32C of the bytes before it

  uint32_t state;      // ChunkState
  uint32_t committed;  // valid bytes after the header
  uint32_t payload_checksum;

  // Fields since format version 2.
  uint32_t buffer;         // the number of the chunk's buffer, from 1; 0 for tables
  uint32_t payload_bytes;  // the decoded length of an encoded chunk
  uint32_t more_checksum;  // CRC-32C of `buffer` and `payload_bytes`
  uint32_t turn;           // the chunk's number in this buffer, from 1; since 2.2
  uint64_t lost_events;    // lost after recording stopped; it changes while the trace is written
};
static_assert(offsetof(ChunkHeader, checksum) == 48);
static_assert(offsetof(ChunkHeader, buffer) == kFirstChunkHeaderBytes);
static_assert(offsetof(ChunkHeader, lost_events) == 80);
static_assert(sizeof(ChunkHeader) == 88);

// The first byte of a record. A value of kEventBit or more begins an event, with the number of its
// shape in the low bits; a smaller value begins a record with a length, which a reader can skip.
inline constexpr uint8_t kEventBit = 0x80;
inline constexpr uint8_t kRecentBit = 0x40;       // the address is an index into the recent ones
inline constexpr uint8_t kOldSequenceBit = 0x40;  // a sequence difference other than 1 follows
inline constexpr uint8_t kShapeMask = 0x3F;

enum class RecordType : uint8_t {
  kNone = 0,        // never written: zeros are not records
  kOldShape = 1,    // in old events: defines a shape
  kThread = 2,      // in events: the next events belong to another thread
  kFact = 3,        // in kTables
  kCall = 4,        // in kTables
  kLibrary = 5,     // in kTables
  kClock = 6,       // in ticked events: ticks, their nanoseconds, and the scale
  kCode = 7,        // in kTables: a code object of Python's
  kStack = 8,       // in kTables: a frame and the stack of its caller
  kAnnotation = 9,  // in kTables: the text of a mark; since 2.2
  kFunction = 22,   // in kTables: the functions at an address of a library
  // Records in chunks of events, which exist since format version 3.0.
  kShape = 10,     // defines a shape
  kAmount = 11,    // defines an amount
  kPages = 12,     // defines an amount with its size in pages of 512 bytes
  kAddress = 13,   // adds an address to the table of recent ones
  kPause = 14,     // time that is too long for an event's time step
  kSequence = 15,  // skips this many sequences
  // Records in chunks of kind kSums, which exist since format version 3.1 (sums.h).
  kSumTotals = 16,
  kSum = 17,
  kSumPoint = 18,
  kSumCut = 19,
  kLastSums = 20,
  kSumSamples = 21,
};

// The kind of a stack's frame.
enum class FrameKind : uint8_t {
  kNative = 1,  // a frame in a library's code
  kPython = 2,
  kCut = 3,  // further frames were left out
};

// Returns the sequence of an event in a ticked chunk (a chunk whose events have ticks as times).
// Its upper bits are the event's ticks. If two threads have events with the same tick, neither
// thread waited for the other. The numbers of their buffers, in the low bits, then distinguish the
// events.
inline constexpr unsigned kBufferBits = 6;
inline constexpr uint64_t OrderOf(uint64_t ticks, uint32_t buffer) {
  return ticks << kBufferBits | (buffer & ((1u << kBufferBits) - 1));
}

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_FORMAT_LAYOUT_H_
