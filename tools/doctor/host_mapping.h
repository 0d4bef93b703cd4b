// Finds out whether memory of the host can be mapped for the devices, in a child, and caches the
// answer.
//
// Idea: a driver that crashes, hangs or refuses does so in the child; the job receives the answer
// in VRAMSTOW_HOST_MAPPING (base/host_mapping.h) and tries nothing. The result is stored in the
// user's cache, for this driver, these devices and this kernel, as far as they can be identified
// without starting the driver.
//
// Ownership: copies. Threads: one at a time. Errors: are answers ("no:…"). Units: none.
#ifndef VRAMSTOW_TOOLS_DOCTOR_HOST_MAPPING_H_
#define VRAMSTOW_TOOLS_DOCTOR_HOST_MAPPING_H_

#include <string>

#include "tools/doctor/checks.h"

namespace vramstow {

enum class HostTrialOf : uint8_t {
  kUnknown,     // cached answers are used
  kEverything,  // all devices are tried again
};

// Returns the text for VRAMSTOW_HOST_MAPPING. All trials together take plan.patience_ms at most.
std::string FindHostMappings(const DoctorPlan& plan, HostTrialOf trial);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_DOCTOR_HOST_MAPPING_H_
