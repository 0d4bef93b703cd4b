// Tests which symbols the two libraries export and import, and that the table of hooks agrees with
// CUDA's headers.
#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/hook_table.h"
#include "tests/interpose/support.h"

namespace vramstow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The symbols of the C API in release 0.1.0, each with its version.
constexpr const char* kFirstNode[] = {"vramstow_census@@VRAMSTOW_1.0",
                                      "vramstow_dump@@VRAMSTOW_1.0",
                                      "vramstow_empty_cache@@VRAMSTOW_1.0",
                                      "vramstow_get_blocks@@VRAMSTOW_1.0",
                                      "vramstow_get_stats@@VRAMSTOW_1.0",
                                      "vramstow_iteration@@VRAMSTOW_1.0",
                                      "vramstow_mark@@VRAMSTOW_1.0",
                                      "vramstow_offload@@VRAMSTOW_1.0",
                                      "vramstow_pause@@VRAMSTOW_1.0",
                                      "vramstow_quiet@@VRAMSTOW_1.0",
                                      "vramstow_range_pop@@VRAMSTOW_1.0",
                                      "vramstow_range_push@@VRAMSTOW_1.0",
                                      "vramstow_region_pop@@VRAMSTOW_1.0",
                                      "vramstow_region_push@@VRAMSTOW_1.0",
                                      "vramstow_register_pressure_hook@@VRAMSTOW_1.0",
                                      "vramstow_reset_peaks@@VRAMSTOW_1.0",
                                      "vramstow_resume@@VRAMSTOW_1.0",
                                      "vramstow_set_limit@@VRAMSTOW_1.0",
                                      "vramstow_unregister_pressure_hook@@VRAMSTOW_1.0",
                                      "vramstow_version@@VRAMSTOW_1.0"};
constexpr char kTable[] = "vramstow_get_table@@VRAMSTOW_PRIVATE";

std::string OutputOf(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string output;
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    output.append(buffer, count);
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

std::set<std::string> Lines(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::set<std::string> ExportsOf(const std::string& library) {
  return Lines(OutputOf("nm -D --defined-only --format=just-symbols " + library));
}

std::set<std::string> NeedsOf(const std::string& library) {
  return Lines(
      OutputOf("readelf -dW " + library + " | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p'"));
}

// Functions of other libraries, with the symbol versions that programs are linked with.
const std::vector<std::pair<std::string, std::string>> kOfLibraries = {
#define VRAMSTOW_LIBRARY_HOOK(symbol, version, ...) {#symbol, #version},
#include "interpose/shim/library_hooks.def"
};

TEST(Exports, TheShimShowsTheTableAndNothingElse) {
  std::set<std::string> expected = {"_Exit", "_exit", "dlopen", "dlsym", "dlvsym"};
  for (size_t i = 0; i < kHookCount; ++i) expected.insert(RowOf(static_cast<Hook>(i)).symbol);
  expected.insert(std::begin(kFirstNode), std::end(kFirstNode));
  expected.insert({"VRAMSTOW_1.0", "VRAMSTOW_PRIVATE", kTable});
  for (const auto& [symbol, version] : kOfLibraries) {
    const bool has_version = version != "none";
    expected.insert(has_version ? symbol + "@@" + version : symbol);
    if (has_version) expected.insert(version);
  }
  EXPECT_EQ(ExportsOf(kShim), expected);
}

// Programs that were linked to a version must find it in later releases: a symbol never leaves its
// version node, and new symbols get a new node. All functions of the header are exported.
TEST(Exports, EachFunctionOfTheCApiHasTheVersionItCameWith) {
  const std::set<std::string> exports = ExportsOf(kShim);
  for (const char* name : kFirstNode) EXPECT_TRUE(exports.contains(name)) << name;
  const std::string header = FileText(VRAMSTOW_TEST_SOURCE "/include/vramstow/vramstow.h");
  const std::regex declaration(R"re((?:VRAMSTOW_FUNCTION\(|char\* )(vramstow_[a-z_]+))re");
  std::set<std::string> declared;
  for (std::sregex_iterator found(header.begin(), header.end(), declaration), end; found != end;
       ++found) {
    declared.insert((*found)[1]);
  }
  EXPECT_EQ(declared.size(), std::size(kFirstNode));
  for (const std::string& name : declared) {
    const auto at = exports.lower_bound(name + "@@VRAMSTOW_");
    EXPECT_TRUE(at != exports.end() && at->starts_with(name + "@@VRAMSTOW_")) << name;
  }
}

// A program asks for dlsym with the C library's version, so a symbol with one of vramstow's
// versions would be ignored.
TEST(Exports, WhatOthersDefineTooHasNoVersion) {
  for (const std::string& name : ExportsOf(kShim)) {
    // The ibv_ functions have a version, because older versions of them have other arguments and
    // must not be hooked.
    if (name.starts_with("vramstow_") || name.starts_with("ibv_")) continue;
    EXPECT_EQ(name.find('@'), std::string::npos) << name;
  }
}

// The file of a linked program states which version of each symbol it needs.
TEST(Exports, ALinkedProgramNeedsTheVersion) {
  const std::string program = testing::TempDir() + "/linked_to_vramstow";
  const std::string source =
      "const char* vramstow_version(void); int main(void) { return vramstow_version() == 0; }";
  OutputOf("printf '%s' '" + source + "' | gcc -x c - -o " + program + " -L" + kLibraries +
           " -lvramstow -Wl,-rpath," + kLibraries + " && " + program);
  EXPECT_THAT(OutputOf("readelf -VW " + program), HasSubstr("Name: VRAMSTOW_1.0"));
  std::remove(program.c_str());
}

TEST(Exports, TheShimNeedsLibcOnly) { EXPECT_THAT(NeedsOf(kShim), ElementsAre("libc.so.6")); }

// Sanitizers wrap libc's text functions, and the wrappers crash before the sanitizer has started;
// dlsym is called earlier than that.
TEST(Exports, TheShimUsesOnlyWhatIsSafeBeforeTheProgramHasStarted) {
  const std::set<std::string> allowed = {"__environ", "__errno_location", "dl_iterate_phdr",
                                         "dladdr1",   "dlerror",          "environ",
                                         "write",     "_r_debug"};
  for (std::string symbol :
       Lines(OutputOf("nm -D --undefined-only --format=just-symbols " + kShim))) {
    symbol = symbol.substr(0, symbol.find('@'));
    const bool is_of_the_start_files =
        symbol == "__cxa_finalize" || symbol == "__gmon_start__" || symbol.find("_ITM_") == 0;
    EXPECT_TRUE(is_of_the_start_files || allowed.count(symbol) == 1) << symbol;
  }
}

TEST(Exports, TheCoreShowsItsSeamAndNeedsNoCxxRuntime) {
  const std::string core = kLibraries + "/libvramstow-core.so";
  EXPECT_THAT(ExportsOf(core), ElementsAre("InitializeInjectionNvtx2", "vramstow_core_attach"));
  for (const std::string& needed : NeedsOf(core)) {
    EXPECT_EQ(needed.find("libstdc++"), std::string::npos);
    EXPECT_EQ(needed.find("libgcc_s"), std::string::npos);
  }
}

TEST(Exports, TheCoreBringsNoThreadLocalStorage) {
  if (kIsSanitized) GTEST_SKIP() << "sanitizers bring some";
  EXPECT_EQ(OutputOf("readelf -lW " + kLibraries + "/libvramstow-core.so").find(" TLS "),
            std::string::npos);
}

TEST(Exports, ThePageAboutHooksIsUpToDate) {
  const std::string written = testing::TempDir() + "vramstow-hooks-page.md";
  ASSERT_EQ(OutputOf(std::string(VRAMSTOW_TEST_PAGE_WRITER) + " " + written), "");
  EXPECT_EQ(FileText(VRAMSTOW_TEST_SOURCE "/docs/hooks.md"), FileText(written))
      << "build the target hooks-page";
  std::remove(written.c_str());
}

// CUDA's header of function types names each ABI of each function with the CUDA version that
// introduced it: PFN_cuMemAlloc_v3020. A hooked name must have a row for each ABI; otherwise some
// program's calls are missed.
TEST(HookTable, KnowsEveryAbiOfEveryHookedNameThatTheHeadersKnow) {
  std::set<std::string> hooked;
  std::set<std::string> submissions;
  std::set<std::string> rows;
  for (size_t i = 0; i < kHookCount; ++i) {
    const HookRow& row = RowOf(static_cast<Hook>(i));
    hooked.insert(row.name);
    if (row.submission) submissions.insert(row.name);
    rows.insert(std::string(row.name) + "_v" + std::to_string(row.version) +
                (row.per_thread_stream ? "_ptsz" : ""));
  }
  const std::string header = FileText(VRAMSTOW_TEST_CUDA_INCLUDE "/cudaTypedefs.h");
  ASSERT_THAT(header, HasSubstr("PFN_cuMemAlloc_v3020"));
  int checked = 0;
  const std::string mark = "*PFN_";
  for (size_t at = header.find(mark); at != std::string::npos; at = header.find(mark, at + 1)) {
    const size_t begin = at + mark.size();
    std::string type = header.substr(begin, header.find(')', begin) - begin);
    const std::string name = type.substr(0, type.find("_v"));
    if (hooked.count(name) == 0) continue;
    // Functions without a stream argument also have a variant for the thread's default stream.
    if (const size_t end = type.find("_ptds"); end != std::string::npos) {
      type.replace(end, std::string::npos, "_ptsz");
    }
    // Before CUDA 3.2, addresses had 32 bits, which is too short for the pool's memory. So
    // functions of that time need no row.
    const int version = std::stoi(type.substr(type.find("_v") + 2));
    if (submissions.count(name) != 0 && version < 3020 && name.find("cuLaunch") != 0) continue;
    EXPECT_EQ(rows.count(type), 1u) << "the table has no row for " << type;
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace vramstow
