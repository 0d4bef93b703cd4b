// Writes docs/hooks.md from the table of hooks. Usage: hooks-page-writer FILE
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Row {
  const char* symbol;
  const char* name;
  int version;
  const char* stream;
  const char* group;
  const char* what;
};

constexpr Row kHooks[] = {
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
  {#symbol, #name, version, #stream, #group, what},
#include "interpose/shim/hooks.def"
};

constexpr Row kForwarded[] = {
#define VRAMSTOW_FORWARDED(name, group, what) {"", #name, 0, "", #group, what},
#include "interpose/shim/hooks.def"
};

struct Group {
  const char* group;
  const char* title;
};
constexpr Group kGroups[] = {
    {"start", "Start and look-up"},
    {"alloc", "Device memory"},
    {"stream_ordered", "Stream-ordered memory and its pools"},
    {"host", "Host and managed memory"},
    {"arrays", "Arrays"},
    {"virtual_memory", "The application's own virtual memory"},
    {"queries", "Queries"},
    {"sharing", "Sharing"},
    {"graph_memory", "Memory of graphs"},
    {"lifetime", "Lifetime"},
    {"streams", "Streams"},
    {"launch", "Launches, with `--offload` or `--launches` only"},
    {"graph_launch", "Launches of graphs, with `--pool`, `--offload` or `--launches` only"},
    {"copy", "Copies and fills of device memory, with `--pool` or `--offload` only"},
    {"submission", "Submission of work, with `--offload` only"},
    {"by_address", "By address"},
};

constexpr char kIntroduction[] =
    "# The hooked functions\n\nThis page is generated from `interpose/shim/hooks.def` by the build "
    "target `hooks-page`; do not edit it.\n\nvramstow hooks these functions of the CUDA driver. It "
    "does not matter how a program gets the function: by a\ndirect link, `dlsym`, `dlvsym`, or "
    "`cuGetProcAddress` (and with it `cudaGetDriverEntryPoint` and every copy of\nthe CUDA "
    "runtime). *Since* is the first CUDA version for which `cuGetProcAddress` returns this form of "
    "the\nfunction; *stream* says which stream a null stream means. If [the pool](pool.md) is on, "
    "memory of cuMemAlloc comes\nfrom it; vramstow never changes the driver's answers about other "
    "memory. In the names of events, the word after\nthe comma is the kind of memory. Every call "
    "is counted, even if it is not recorded. Memory that is *pinned* is not\nmoved to the host.\n";

struct LibraryRow {
  const char* symbol;
  const char* version;
  const char* library;
  const char* group;
  const char* what;
};
constexpr LibraryRow kLibraryHooks[] = {
#define VRAMSTOW_LIBRARY_HOOK(symbol, version, library, group, result, absent, handler, \
                              parameters, arguments, what)                              \
  {#symbol, #version, #library, #group, what},
#include "interpose/shim/library_hooks.def"
};

constexpr char kRegistrations[] =
    "\n## Registration by other libraries, with `--pool` only\n\nThese functions of other "
    "libraries (`interpose/shim/library_hooks.def`) register memory with a network card without\na "
    "call of the driver. Without `--pool=on`, and if no such library is loaded, they are not "
    "hooked. A linked\nprogram calls the hook if it requests this version of the symbol; `dlsym` "
    "and `dlvsym` return the hook for every version\nand every copy of the library. [What "
    "registered memory is](pool.md#registered-memory).\n\n";

constexpr char kCollectives[] =
    "\n## Collectives of NCCL, with `--offload` only\n\nNCCL's kernels may get their buffers from "
    "a queue in memory, so that no launch names them. If memory may move, the hooks\nof these "
    "functions mark the buffers as used, as the hooks of launches and copies do, and then call "
    "NCCL. Without\n`--offload` these functions are not hooked.\n\n";

constexpr char kLibraryTable[] =
    "| function | version | library | what vramstow does |\n|---|---|---|---|\n";

std::string Version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// The largest width of a line of the page.
constexpr size_t kPageColumns = 140;

// Returns a row of a table. If it is too wide, its last cell continues in the rows below.
std::string TableRow(const std::string& other_cells, const std::string& go_on, std::string last) {
  std::string rows;
  std::string start = other_cells;
  while (start.size() + last.size() + 2 > kPageColumns) {
    const size_t cut = last.rfind(' ', kPageColumns - 2 - start.size());
    if (cut == std::string::npos || cut == 0) break;
    rows += start + last.substr(0, cut) + " |\n";
    last.erase(0, cut + 1);
    start = go_on;
  }
  return rows + start + last + " |\n";
}

std::string LibraryTable(const char* group) {
  std::string table = kLibraryTable;
  for (const LibraryRow& row : kLibraryHooks) {
    if (std::strcmp(row.group, group) != 0) continue;
    const std::string version = std::strcmp(row.version, "none") == 0 ? "" : row.version;
    table +=
        TableRow(std::string("| `") + row.symbol + "` | " + version + " | " + row.library + " | ",
                 "| | | | ", row.what);
  }
  return table;
}

std::string Page() {
  std::string page = kIntroduction;
  for (const Group& group : kGroups) {
    std::string rows;
    for (const Row& row : kHooks) {
      if (std::strcmp(row.group, group.group) != 0) continue;
      const std::string cells = std::string("| ") + row.name + " | `" + row.symbol + "` | " +
                                Version(row.version) + " | " +
                                (std::strcmp(row.stream, "ptsz") == 0 ? "per thread" : "") + " | ";
      rows += TableRow(cells, "| | | | | ", row.what);
    }
    page += std::string("\n## ") + group.title + "\n\n";
    if (!rows.empty()) {
      page +=
          "| function | symbol | since | stream | what vramstow does |\n|---|---|---|---|---|\n";
      page += rows;
    }
    std::string forwarded;
    for (const Row& row : kForwarded) {
      if (std::strcmp(row.group, group.group) != 0) continue;
      forwarded += TableRow(std::string("| `") + row.name + "` | ", "| | ", row.what);
    }
    if (!forwarded.empty()) page += "| function | what vramstow does |\n|---|---|\n" + forwarded;
  }
  page += kRegistrations + LibraryTable("registration");
  page += kCollectives + LibraryTable("collective");
  return page;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "hooks-page-writer needs one argument, the file to write.\n");
    return 2;
  }
  std::FILE* file = std::fopen(argv[1], "w");
  const std::string page = Page();
  if (file == nullptr || std::fwrite(page.data(), 1, page.size(), file) != page.size() ||
      std::fclose(file) != 0) {
    std::fprintf(stderr, "hooks-page-writer cannot write %s: choose another file.\n", argv[1]);
    return 2;
  }
  return 0;
}
