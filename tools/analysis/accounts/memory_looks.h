// MemoryLooks: the free memory of devices and of the host, at each time when it was queried.
//
// Ownership: keeps copies; the objects given to the constructor outlive it. Threads: used by one
// thread at a time. Errors: none. Units: bytes, nanoseconds.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_MEMORY_LOOKS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_MEMORY_LOOKS_H_

#include "base/typed_event.h"
#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/free_space.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

class MemoryLooks {
 public:
  MemoryLooks(Accounts* accounts, const FreeSpace* space) : accounts_(*accounts), space_(*space) {}

  // Adds a kMemoryInfo event: an answer of the driver, or the recorder's query of the host's
  // memory.
  void Add(const Event& event);

  const HostFacts& host() const { return host_; }

 private:
  void AddHost(const HostMemoryInfo& look);

  Accounts& accounts_;
  const FreeSpace& space_;
  HostFacts host_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_MEMORY_LOOKS_H_
