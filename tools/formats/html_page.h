// Reads the memory snapshot in a page that PyTorch made of it.
//
// Idea: `python -m torch.cuda._memory_viz trace_plot` writes an HTML page that holds the whole
// snapshot as base64 in a list of files, which the page's script reads. The first file of the list
// is read.
//
// Ownership: results are copies. Threads: pure functions. Errors: kNotFound for a page without such
// a list; kDataLoss for invalid base64. If a page ends early, *damage has a sentence, and the
// result contains what was readable. Units: bytes.
// Source of the format: PyTorch's torch/cuda/_memory_viz.py.
#ifndef VRAMSTOW_TOOLS_FORMATS_HTML_PAGE_H_
#define VRAMSTOW_TOOLS_FORMATS_HTML_PAGE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace vramstow {

absl::StatusOr<std::string> SnapshotInPage(std::string_view page, std::string* damage);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_HTML_PAGE_H_
