// TableWriter writes facts and names of a trace, as records in separate chunks.
//
// Idea: the first of these chunks lies in the file's first slot, behind the file's header. A name
// is written once, before the first event that uses its number.
//
// Ownership: copies of all texts. Lies in memory that is zero at first: the tables are large, and
// untouched pages cost nothing. Threads: Start and Begin before other threads know the object, all
// other functions by any thread. Locks: mutex_ guards the tables and their chunk; nothing else is
// taken while it is held, but the file is written. A signal handler that interrupted the holder is
// refused. Errors: 0, kUnknownName or false. No heap. Units: bytes.
#ifndef VRAMSTOW_TRACER_TABLE_WRITER_H_
#define VRAMSTOW_TRACER_TABLE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/thread_annotations.h"
#include "tracer/chunk_writer.h"
#include "tracer/format/layout.h"
#include "tracer/name_table.h"
#include "tracer/number_table.h"
#include "tracer/open_trace.h"
#include "tracer/owner_mutex.h"

namespace vramstow {

// Returns the bytes between two addresses as a text.
inline std::string_view AsText(const uint8_t* begin, const uint8_t* end) {
  return {reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin)};
}

enum class TextOf : uint8_t;  // recorder.h

class TableWriter {
 public:
  // Prepares the tables. Returns false if there is no memory.
  bool Start(OpenTrace* trace);
  // Begins the first chunk, in the first slot. Returns 0 or an errno.
  int Begin() VRAMSTOW_NO_LOCK_ANALYSIS;  // no other thread knows the object yet

  void Describe(std::string_view key, std::string_view value);
  uint16_t InternCall(std::string_view name);
  uint16_t InternLibrary(std::string_view path, uint64_t base, std::string_view build_id);
  // Returns the number of a text. Texts of the program beyond kMaxProgramTexts, or beyond
  // kMaxAnnotationBytes in total, lose the number at their end, and if that is not enough, they get
  // the number of one text that says so. Otherwise a program that sets marks with ever new texts
  // would make the trace grow without a limit. vramstow's own texts have places and as many bytes
  // for themselves.
  uint64_t InternAnnotation(std::string_view text, TextOf whose);

  // Returns the lock. Parts of the recorder that have tables of their own take it while they write
  // records here.
  OwnerMutex* mutex() VRAMSTOW_LOCK_RETURNED(mutex_) { return &mutex_; }
  // Appends a record that consists of these parts and commits it. Returns false if the disk is
  // full.
  bool Append(RecordType type, const std::string_view* parts, size_t count)
      VRAMSTOW_REQUIRES(mutex_);
  void DescribeLocked(std::string_view key, std::string_view value) VRAMSTOW_REQUIRES(mutex_);
  uint16_t InternLibraryLocked(std::string_view path, uint64_t base, std::string_view build_id)
      VRAMSTOW_REQUIRES(mutex_);

  // Seals the chunk in the first slot. Nothing more can be written.
  void Seal() VRAMSTOW_REQUIRES(mutex_) { chunk_.SealInPlace(); }
  // Zeroes the tables, so that they use no memory. Called after Seal.
  void GiveBack() VRAMSTOW_REQUIRES(mutex_);
  // Returns how many bytes at the file's beginning are in use.
  uint32_t front_bytes() const VRAMSTOW_REQUIRES(mutex_) {
    return kFileHeaderBytes + chunk_.used_bytes();
  }

 private:
  static constexpr size_t kMaxLibraryText = 8192;
  static constexpr uint64_t kMaxAnnotationBytes = 8 * 1024 * 1024;  // of all texts together
  static constexpr uint32_t kMaxProgramTexts = 40'960;
  static constexpr uint32_t kMaxFurtherNames = 1'024;
  using AnnotationTable = NumberTable<65536>;
  static_assert(kMaxProgramTexts + kMaxFurtherNames < AnnotationTable::kMaxNumbers);

  uint32_t WriteText(std::string_view text, uint64_t* bytes) VRAMSTOW_REQUIRES(mutex_);
  uint32_t AddOwnText(uint64_t hash, std::string_view text) VRAMSTOW_REQUIRES(mutex_);
  uint32_t AddProgramText(uint64_t hash, std::string_view text) VRAMSTOW_REQUIRES(mutex_);
  uint32_t FurtherText(std::string_view text) VRAMSTOW_REQUIRES(mutex_);
  uint32_t DescribeFull(uint32_t number) VRAMSTOW_REQUIRES(mutex_);
  bool AppendAnnotation(uint32_t number, std::string_view text) VRAMSTOW_REQUIRES(mutex_);
  void BeginChunk() VRAMSTOW_REQUIRES(mutex_);
  int WriteFront() VRAMSTOW_REQUIRES(mutex_) {
    return trace_->file.WriteFront(trace_->first_slot.bytes, front_bytes());
  }

  OpenTrace* trace_ = nullptr;
  OwnerMutex mutex_;
  ChunkWriter chunk_ VRAMSTOW_GUARDED_BY(mutex_);
  AnnotationTable* annotations_ = nullptr;  // by the texts' hashes; all threads read it
  uint32_t annotation_count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  uint64_t annotation_bytes_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  uint64_t own_annotation_bytes_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  uint32_t program_texts_ VRAMSTOW_GUARDED_BY(mutex_) = 0;  // how many are in the table
  uint32_t further_names_ VRAMSTOW_GUARDED_BY(mutex_) = 0;  // texts without their numbers
  uint32_t further_texts_ VRAMSTOW_GUARDED_BY(mutex_) = 0;  // number of all other texts, or 0
  bool has_further_texts_ VRAMSTOW_GUARDED_BY(mutex_) = false;
  // The following members are not initialised on purpose, because this object lies in memory that
  // is zero.
  NameTable calls_ VRAMSTOW_GUARDED_BY(mutex_);
  NameTable libraries_ VRAMSTOW_GUARDED_BY(mutex_);
  char library_text_[kMaxLibraryText] VRAMSTOW_GUARDED_BY(mutex_);
};

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_TABLE_WRITER_H_
