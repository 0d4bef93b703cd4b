// PackageFolders: the folders of PYTHONPATH into which pip has installed packages
// (pip install --target).
//
// Idea: a file of such a folder is a library's, as one in site-packages is. An analysis can learn
// this only where the job runs, so `vramstow run` passes the folders to the trace.
//
// Ownership: plain values. Threads: reads folders, otherwise pure. Errors: a folder that cannot be
// read counts as one of the program. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_PACKAGE_FOLDERS_H_
#define VRAMSTOW_TOOLS_LAUNCH_PACKAGE_FOLDERS_H_

#include <string>
#include <vector>

namespace vramstow {

// Returns the folders, separated by colons, as absolute paths. Left out are those whose path says
// that packages are in them, and those that also hold the program's own files: the current folder,
// and the folder of a file that the command names.
std::string PackageFoldersOf(const std::string& python_path,
                             const std::vector<std::string>& command);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_PACKAGE_FOLDERS_H_
