// SiteDetails: the call sites with their names and the memory that they held, and tables of them.
//
// Ownership: the results are copies. Threads: pure functions, callable from any thread. Errors:
// none; a call site without a call stack has the name of its library. Units: bytes.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_DETAILS_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_DETAILS_H_

#include "tools/analysis/accounts/accounts.h"
#include "tools/analysis/accounts/event_source.h"
#include "tools/analysis/facts/detail.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

// Fills Detail::sites and Detail::frames.
void FillSites(const Accounts& accounts, const EventSource& source, Detail* detail);

// Appends the line that called backward() to the names of call sites in autograd's own threads. The
// lives of the blocks must have been collected before.
void NameBackward(Detail* detail);

// Fills by_site, by_operation and by_module, and names the call sites of blocks. Call FillSites
// first.
void FillSiteFacts(const Detail& detail, Facts* facts);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_DETAILS_H_
