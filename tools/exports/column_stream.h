// ColumnStream writes events as columns for a helper that converts them to Parquet.
//
// Idea: Parquet is not written here, because no library in Debian 12 writes it, and pyarrow does it
// well. So the program does the slow part, arrays of numbers, and a script of fifty lines
// (write_parquet.py) passes them to pyarrow without reading each value. A piece is one line of JSON
// ({"source", "rank", "file", "rows", "texts"}) and then, for each column of kColumns, `rows`
// numbers of eight bytes; columns of texts are indices into `texts`. Pieces of one source have one
// number, `source`. The last line is {"end": true}: without it, the program ended early.
//
// Ownership: the descriptor belongs to the caller. Threads: one at a time. Errors: returns false if
// a write failed; errno says why. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_EXPORTS_COLUMN_STREAM_H_
#define VRAMSTOW_TOOLS_EXPORTS_COLUMN_STREAM_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

class ColumnStream {
 public:
  explicit ColumnStream(int descriptor) : descriptor_(descriptor) {}

  // Writes all events of a source; they belong to `rank` and were read from `file`.
  bool Write(EventSource* source, int64_t rank, const std::string& file);
  // Writes the last line, after all sources.
  bool End();

 private:
  static constexpr size_t kRows = size_t{1} << 17;  // of a piece
  // The columns are sequence, time_ns, thread, device, stream, address, size, requested, object,
  // offset, result, allocated_bytes, reserved_bytes, kind, memory, layer, call and library, as in
  // write_parquet.py.
  static constexpr size_t kColumns = 18;

  bool Flush();
  int64_t TextOf(std::string_view text);
  int64_t CallOf(const EventSource& source, uint16_t call);
  int64_t LibraryOf(const EventSource& source, uint16_t library);

  const int descriptor_;
  int64_t source_ = 0;  // the number of the source, from 1
  int64_t rank_ = 0;
  std::string file_;
  std::array<std::vector<int64_t>, kColumns> columns_;
  std::vector<std::string> texts_;
  absl::flat_hash_map<std::string, int64_t> text_numbers_;
  absl::flat_hash_map<uint16_t, int64_t> calls_;
  absl::flat_hash_map<uint16_t, int64_t> libraries_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_COLUMN_STREAM_H_
