// Ways: runs programs that find a library's functions in several ways. A program is called as
// `PROGRAM WAY SCENARIO`.
//
// Idea: each scenario must hold for every way: the program is linked to the library, or it calls
// dlsym or dlvsym.
//
// Ownership: values. Threads: one. Errors: test failures. Units: bytes.
#ifndef VRAMSTOW_TESTS_INTERPOSE_WAYS_H_
#define VRAMSTOW_TESTS_INTERPOSE_WAYS_H_

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <utility>

#include "tests/interpose/support.h"

namespace vramstow {

class Ways : public Interposed {
 protected:
  using Environment = std::map<std::string, std::string>;

  // `environment` is set for every run, in addition to the variables that all such programs get.
  Ways(std::string program, Environment environment)
      : program_(std::move(program)), environment_(std::move(environment)) {}

  Outcome RunWay(const std::string& way, const std::string& scenario, Environment environment = {},
                 const std::string& preload = kShim) {
    const bool versioned = way == "dlvsym" && has_versioned_;
    const Environment common = {{"VRAMSTOW_POOL", "on"},
                                {"VRAMSTOW_CHECK", "1"},
                                {"VRAMSTOW_HOST_MAPPING", "*=node:0"},
                                {"VRAMSTOW_CONTROL_DIR", folder()},
                                {"LD_LIBRARY_PATH", kPrograms + (versioned ? "/versioned" : "") +
                                                        ":" VRAMSTOW_TEST_SIMULATOR}};
    environment.insert(environment_.begin(), environment_.end());
    environment.insert(common.begin(), common.end());
    const std::string linked = way == "linked" ? "_linked" : "";
    return Run({program_ + linked, way, scenario}, environment, preload);
  }
  void ExpectDone(const std::string& way, const std::string& scenario,
                  const Environment& environment = {}, const std::string& preload = kShim) {
    const Outcome outcome = RunWay(way, scenario, environment, preload);
    EXPECT_EQ(outcome.status, 0) << way << ", " << scenario << ": " << outcome.error;
    EXPECT_THAT(outcome.out, testing::HasSubstr("done\n")) << way << ", " << scenario;
    EXPECT_THAT(outcome.error, testing::Not(testing::HasSubstr("report this")));
  }
  // Runs the look-ups by dlvsym with another library, whose symbols have versions and which lies in
  // a folder of its own.
  void UseVersionedLibrary() { has_versioned_ = true; }

 private:
  const std::string program_;
  const Environment environment_;
  bool has_versioned_ = false;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_INTERPOSE_WAYS_H_
