// Checks: what doctor looks at. Each gives the findings of one group, in the order of the report.
//
// Ownership: copies. Threads: one at a time. Errors: are findings. Units: milliseconds.
// Nothing is left behind: files and sockets that are made for a trial are removed.
#ifndef VRAMSTOW_TOOLS_DOCTOR_CHECKS_H_
#define VRAMSTOW_TOOLS_DOCTOR_CHECKS_H_

#include <cstdint>
#include <string>

#include "tools/doctor/finding.h"
#include "tools/launch/environment.h"
#include "tools/launch/installation.h"

namespace vramstow {

struct DoctorPlan {
  Installation installation;
  std::string simulate;  // the SPEC; empty: the machine's own driver
  uint64_t patience_ms = 30'000;
};

// driver.*: found, started, its devices (driver.N) and what they can (driver.N.virtual_memory, …).
Findings CheckDriverHere(const DoctorPlan& plan);
// preload.trace, preload.pool: a process with vramstow preloaded is seen, and served by the pool,
// with the machine's driver (`driver_works`) or the simulated one; preload.rehearsal: on a
// simulated card.
Findings CheckPreload(const DoctorPlan& plan, bool driver_works);
// python.*: the interpreter, its PyTorch, the adapter for it.
Findings CheckPython(const DoctorPlan& plan);
// host.*: folders, limits, memory.
Findings CheckHost();

// The environment of a child that is to find the driver that is meant, with nothing preloaded.
Environment DriverEnvironment(const DoctorPlan& plan);

// The features that follow from the findings; `simulate` as in the plan.
std::vector<Feature> FeaturesOf(const Findings& findings, const std::string& simulate);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_CHECKS_H_
