// Parquet: runs as a folder of Parquet files, by a helper that has pyarrow.
//
// Ownership: none. Threads: one at a time; SIGPIPE is ignored meanwhile. Errors: one sentence:
// kFailedPrecondition where Python or pyarrow is not there, kAlreadyExists where the folder has
// something in it, kUnavailable where it cannot be written, and what OpenEvents says. Units: none.
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
  std::vector<std::string> files;  // each a rank, where it does not say itself which
  std::string folder;              // to write
  std::string helper;              // write_parquet.py
  std::function<absl::StatusOr<std::unique_ptr<EventSource>>(const std::string&)> open;
};

absl::Status WriteParquet(const ParquetJob& job);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_EXPORTS_PARQUET_H_
