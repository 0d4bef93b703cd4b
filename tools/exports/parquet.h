// Exports runs as a folder of Parquet files, with the help of a script that uses pyarrow.
//
// Ownership: none. Threads: one at a time; SIGPIPE is ignored meanwhile. Errors: one sentence:
// kFailedPrecondition if Python or pyarrow is missing, kAlreadyExists if the folder is not empty,
// kUnavailable if it cannot be written, and the errors of OpenEvents. Units: none.
#ifndef VRAMSTOW_TOOLS_EXPORTS_PARQUET_H_
#define VRAMSTOW_TOOLS_EXPORTS_PARQUET_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/analysis/accounts/event_source.h"

namespace vramstow {

struct ParquetJob {
  std::vector<std::string> files;  // each is a rank, unless it names its own
  std::string folder;              // the folder to write
  std::string helper;              // write_parquet.py
  std::function<absl::StatusOr<std::unique_ptr<EventSource>>(const std::string&)> open;
  // Is called after all events of a file were read.
  std::function<void(const std::string&, const EventSource&)> finished;
};

absl::Status WriteParquet(const ParquetJob& job);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_PARQUET_H_
