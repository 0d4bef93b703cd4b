// Tests that a tool that uses NVTX's memory extension receives the same blocks of the pool as the
// trace.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/interpose/support.h"

namespace vramstow {
namespace {

using testing::IsEmpty;

const std::string kListener = kPrograms + "/libnvtx_listener.so";

class NvtxMemory : public Interposed {
 protected:
  Outcome RunPool(const std::string& scenario, std::map<std::string, std::string> environment) {
    environment.insert({{"VRAMSTOW_POOL", "on"},
                        {"VRAMSTOW_CHECK", "1"},
                        {"VRAMSTOW_CONTROL", "0"},
                        {"VRAMSTOW_NVTX_MEMORY", "1"},
                        {"VRAMSTOW_SIMULATE", "h200,memory=2GiB,count=2"},
                        {"NVTX_INJECTION64_PATH", kListener},
                        {"NVTX_LISTENER_FILE", folder() + "/heard"},
                        {"LD_LIBRARY_PATH", VRAMSTOW_TEST_SIMULATOR ":" + kPrograms}});
    return Run({"pool_host", scenario}, environment);
  }

  // The blocks that the tool was notified of, and the number of heaps and domains.
  struct Heard {
    std::vector<std::string> regions;
    int heaps = 0;
    int heaps_gone = 0;
    int domains = 0;
  };
  Heard WhatWasHeard() {
    Heard heard;
    std::ifstream file(folder() + "/heard");
    for (std::string line; std::getline(file, line);) {
      EXPECT_FALSE(line.starts_with("wrong")) << line;
      if (line.starts_with("region ") || line.starts_with("gone ")) heard.regions.push_back(line);
      if (line.starts_with("heap ")) ++heard.heaps;
      if (line.starts_with("heap-gone ")) ++heard.heaps_gone;
      if (line == "domain vramstow") ++heard.domains;
    }
    return heard;
  }

  // Returns the tool's expected notifications, computed from the events of the trace.
  std::vector<std::string> WhatTheTraceRecords() {
    std::vector<std::string> recorded;
    for (const NamedEvent& event : OnlyTrace().events) {
      if (event.layer != Layer::kDriver || event.result != 0) continue;
      char line[100];
      if (event.kind == EventKind::kAllocate) {
        std::snprintf(line, sizeof line, "region 0x%lx %lu", event.address, event.requested);
      } else if (event.kind == EventKind::kFree) {
        std::snprintf(line, sizeof line, "gone 0x%lx", event.address);
      } else {
        continue;
      }
      recorded.push_back(line);
    }
    return recorded;
  }
};

TEST_F(NvtxMemory, BlocksAreRegionsOfHeapsAsTheTraceTellsThem) {
  for (const char* const backing : {"vmm", "malloc"}) {
    const Outcome outcome = RunPool("steady-3", {{"VRAMSTOW_BACKING", backing}});
    EXPECT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    const Heard heard = WhatWasHeard();
    EXPECT_EQ(heard.domains, 1);
    EXPECT_GE(heard.heaps, 1);
    EXPECT_GT(heard.regions.size(), 20u);
    EXPECT_EQ(heard.regions, WhatTheTraceRecords());
    for (const std::string& file : Files()) std::filesystem::remove(folder() + "/" + file);
  }
}

// With several threads the order may differ, but not the contents.
TEST_F(NvtxMemory, ThreadsAnnounceWhatTheyAllocate) {
  const Outcome outcome = RunPool("threads", {});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, IsEmpty());
  EXPECT_THAT(WhatWasHeard().regions, testing::UnorderedElementsAreArray(WhatTheTraceRecords()));
}

TEST_F(NvtxMemory, HeapsGoWithTheirContexts) {
  const Outcome outcome = RunPool("contexts", {});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  const Heard heard = WhatWasHeard();
  EXPECT_GE(heard.heaps_gone, 1);
  EXPECT_LE(heard.heaps_gone, heard.heaps);
}

TEST_F(NvtxMemory, WhoDoesNotAskIsNotAnnounced) {
  const Outcome outcome = RunPool("steady-3", {{"VRAMSTOW_NVTX_MEMORY", "0"}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.error, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder() + "/heard"));
}

// A library that NVTX_INJECTION64_PATH names but that receives nothing, how it behaves, and the
// reason.
struct Deaf {
  const char* name;
  std::string tool;
  std::string mood;
  std::string why;
};

class NobodyListens : public NvtxMemory, public testing::WithParamInterface<Deaf> {};

TEST_P(NobodyListens, SaysSoInOneSentenceAndRunsAsEver) {
  const Outcome outcome = RunPool("steady-3", {{"NVTX_INJECTION64_PATH", GetParam().tool},
                                               {"NVTX_LISTENER_MOOD", GetParam().mood}});
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_EQ(outcome.error,
            "vramstow: --nvtx-memory announces nothing, because no tool receives it: "
            "NVTX_INJECTION64_PATH is \"" +
                GetParam().tool + "\", and " + GetParam().why + ".\n");
  EXPECT_THAT(WhatWasHeard().regions, IsEmpty());
  EXPECT_GT(WhatTheTraceRecords().size(), 20u);
}

INSTANTIATE_TEST_SUITE_P(
    NvtxMemory, NobodyListens,
    testing::Values(Deaf{"NoTool", "", "", "it names no tool"},
                    Deaf{"NoFile", "/nowhere/tool.so", "", "this file cannot be opened"},
                    Deaf{"ThisLibrary", kLibraries + "/libvramstow-core.so", "",
                         "this tool supports no extension of NVTX"},
                    Deaf{"Declining", kListener, "declines",
                         "this tool does not support NVTX's memory extension"},
                    Deaf{"Incomplete", kListener, "regions",
                         "this tool does not support NVTX's memory extension"}),
    [](const auto& deaf) { return std::string(deaf.param.name); });

}  // namespace
}  // namespace vramstow
