// PageAssets: the template, style and script of the page, which the build embeds into the program
// from tools/report/page/.
//
// Ownership: literals. Threads: constants. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_REPORT_PAGE_ASSETS_H_
#define VRAMSTOW_TOOLS_REPORT_PAGE_ASSETS_H_

namespace vramstow {

extern const char* const kPageTemplate;
extern const char* const kPageStyle;
extern const char* const kPageScript;

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_REPORT_PAGE_ASSETS_H_
