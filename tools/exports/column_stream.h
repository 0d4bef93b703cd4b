// ColumnStream: events as columns, for a helper that writes them as Parquet.
//
// Idea: Parquet is not written by hand: nothing in Debian 12 writes it, and pyarrow does it well.
// So the program hands over what takes long to make, arrays of numbers, and a script of fifty lines
// (write_parquet.py) puts pyarrow around them without looking at each. A piece is one line of JSON
// ({"rank", "file", "rows", "texts"}) and then, for each column of kColumns, `rows` numbers of
// eight bytes; columns of texts are indices into `texts`.
//
// Ownership: the descriptor stays the caller's. Threads: one at a time. Errors: false where it
// cannot be written, errno says why. Units: bytes, nanoseconds.
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

  // Writes all events of a source: those of `rank`, read from `file`.
  bool Write(EventSource* source, int64_t rank, const std::string& file);

 private:
  static constexpr size_t kRows = size_t{1} << 17;  // of a piece
  // sequence, time_ns, thread, device, stream, address, size, requested, object, offset, result,
  // allocated_bytes, reserved_bytes, kind, memory, layer, call, library; as write_parquet.py has
  // them.
  static constexpr size_t kColumns = 18;

  bool Flush();
  int64_t TextOf(std::string_view text);
  int64_t CallOf(const EventSource& source, uint16_t call);
  int64_t LibraryOf(const EventSource& source, uint16_t library);

  const int descriptor_;
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
