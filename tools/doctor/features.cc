// Derives from the findings which features will work.
#include <initializer_list>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/doctor/checks.h"

namespace vramstow {
namespace {

bool IsDevice(const std::string& id) {
  return id.starts_with("driver.") && id.size() > 7 && id[7] >= '0' && id[7] <= '9';
}

// The worst of the findings that a feature needs; findings are selected by the beginning of their
// id.
class Needs {
 public:
  explicit Needs(const Findings& findings) : findings_(findings) {}

  Needs& All(std::initializer_list<const char*> prefixes) {
    for (const char* prefix : prefixes) Take(WorstFinding(findings_, prefix));
    return *this;
  }
  // Requires every device to be usable, but none of its capabilities.
  Needs& Devices() {
    for (const Finding& finding : findings_) {
      if (IsDevice(finding.id) && !absl::StrContains(finding.id.substr(7), ".")) Take(&finding);
    }
    return *this;
  }
  // Requires a capability of every device.
  Needs& Capability(const char* key) {
    for (const Finding& finding : findings_) {
      if (IsDevice(finding.id) && finding.id.ends_with(absl::StrCat(".", key))) Take(&finding);
    }
    return *this;
  }
  // Requires that a finding exists: a feature that was not tried counts as broken.
  Needs& Tried(const char* id, const char* why) {
    const Finding* finding = FindFinding(findings_, id);
    if (finding == nullptr) untried_ = why;
    Take(finding);
    return *this;
  }

  Feature Make(const char* name, const char* command) const {
    Feature feature{name, command, Verdict::kGood, "", ""};
    if (worst_ != nullptr && worst_->verdict != Verdict::kGood) {
      feature.verdict = worst_->verdict;
      feature.why = worst_->said;
      feature.remedy = worst_->remedy;
    }
    if (!untried_.empty() && feature.verdict != Verdict::kBroken) {
      feature.verdict = Verdict::kBroken;
      feature.why = untried_;
      feature.remedy = "see above";
    }
    return feature;
  }

 private:
  void Take(const Finding* finding) {
    if (finding == nullptr) return;
    if (worst_ == nullptr || finding->verdict > worst_->verdict) worst_ = finding;
  }

  const Findings& findings_;
  const Finding* worst_ = nullptr;
  std::string untried_;
};

// Requires the driver and its devices. Of their capabilities, it requires only plain memory.
Needs WithDriver(const Findings& findings) {
  Needs needs(findings);
  needs.All({"driver.library", "driver.init", "driver.devices", "driver.process", "preload.files",
             "host.address_space"});
  needs.Devices().Capability("context").Capability("allocate");
  return needs;
}

}  // namespace

std::vector<Feature> FeaturesOf(const Findings& findings, const std::string& simulate) {
  std::vector<Feature> features;
  const auto add = [&features](const Needs& needs, const char* name, const char* command) {
    features.push_back(needs.Make(name, command));
  };
  constexpr char kNoDriver[] = "it needs a working driver";
  const Needs driver = Needs(WithDriver(findings)).Tried("preload.trace", kNoDriver);
  add(Needs(driver).All({"host.traces"}), "trace", "vramstow run -- COMMAND");
  add(Needs(driver).All({"host.traces", "python.program", "python.torch", "python.observer"}),
      "tensors", "vramstow run -- python train.py");
  const Needs pool = Needs(driver)
                         .Tried("preload.pool", kNoDriver)
                         .Capability("virtual_memory")
                         .Capability("context_event");
  add(pool, "pool", "vramstow run --pool=on -- COMMAND");
  add(Needs(pool).All({"python.program", "python.torch", "python.adapter"}), "pooled-tensors",
      "vramstow run --pool=on -- python train.py");
  add(Needs(pool).Capability("host_mapping").All({"host.memory"}), "offload",
      "vramstow run --offload -- COMMAND");
  add(Needs(driver).All({"host.control"}), "control", "vramstow ctl PID stats");
  add(Needs(driver).Capability("ipc").All({"host.control", "host.shm"}), "ranks",
      "vramstow run -- torchrun --nproc-per-node 2 train.py");
  // If the installation has no simulator, simulated runs are not listed as a feature at all.
  const Finding* simulator = FindFinding(findings, "preload.simulator");
  const bool has_simulator = simulator == nullptr || simulator->verdict != Verdict::kGood;
  if (simulate.empty() && has_simulator) {
    add(Needs(findings)
            .All({"preload.files", "preload.simulator", "host.traces", "host.address_space"})
            .Tried("preload.rehearsal", "the simulator is not installed"),
        "rehearsal", "vramstow run --simulate=h200 -- COMMAND");
  }
  if (simulate.empty()) return features;
  const std::string run = absl::StrCat("vramstow run --simulate=", simulate);
  for (Feature& feature : features) {
    feature.command = absl::StrReplaceAll(feature.command, {{"vramstow run", run}});
  }
  return features;
}

}  // namespace vramstow
