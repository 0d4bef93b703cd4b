// CsvWriter: writes events as lines of CSV.
//
// Addresses, objects and streams are hexadecimal with 0x; an unknown stream is empty; the device is
// -1 if it does not apply. Names that contain a comma or a quote are quoted; control characters in
// them are replaced by '?', and a name that begins like a formula (= + - @) follows an apostrophe.
//
// Ownership: copies the names. Threads: used by one thread at a time. Errors: none. Units: bytes,
// nanoseconds.
#ifndef VRAMSTOW_TOOLS_EXPORTS_CSV_WRITER_H_
#define VRAMSTOW_TOOLS_EXPORTS_CSV_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/event.h"
#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

class CsvWriter {
 public:
  static constexpr char kHeader[] =
      "sequence,time_ns,thread,kind,memory,call,library,device,stream,address,size,requested,"
      "object,"
      "offset,result\n";

  // `source` must outlive the writer.
  explicit CsvWriter(const EventSource& source) : source_(source) {}

  // Appends the line of CSV for `event`.
  void Append(const Event& event, std::string* text);

 private:
  const std::string& CallName(uint16_t call);
  const std::string& LibraryPath(uint16_t library);

  const EventSource& source_;
  std::vector<std::string> calls_;  // as written; empty if not looked up yet
  std::vector<std::string> libraries_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_CSV_WRITER_H_
