// Whose a file of Python is, by its path as code objects name it.
//
// Idea: a reader wants the line that he wrote, not one of Python's library, of an installed
// package, of vramstow's start-up hook, or of a text that some program made and compiled. Paths
// written on Windows have backslashes.
//
// Ownership: none. Threads: pure functions. Errors: none. Units: none. Nothing allocates.
#ifndef VRAMSTOW_BASE_PYTHON_FILE_H_
#define VRAMSTOW_BASE_PYTHON_FILE_H_

#include <algorithm>
#include <string_view>

namespace vramstow {

// Whether a path has this part, which is written with slashes.
inline bool HasPathPart(std::string_view path, std::string_view part) {
  const auto is_same = [](char a, char b) { return (a == '\\' ? '/' : a) == b; };
  return std::search(path.begin(), path.end(), part.begin(), part.end(), is_same) != path.end();
}

// Code of Python itself, of vramstow, or of a package that somebody else wrote.
inline bool IsInstalledPython(std::string_view file) {
  for (const std::string_view part :
       {"/site-packages/", "/dist-packages/", "/lib/python", "/lib64/python", "torch/nn/",
        "torch/utils/", "/lib/vramstow/"}) {
    if (HasPathPart(file, part)) return true;
  }
  const bool is_of_windows = HasPathPart(file, "/Python3") && HasPathPart(file, "/Lib/");
  return is_of_windows || file.starts_with("<frozen");
}

// Python that a program wrote: Inductor's and PyTorch Geometric's caches, what TorchDynamo, exec()
// and dataclasses compile from a text. Cells of a notebook and what was typed in are the user's
// own.
inline bool IsGeneratedPython(std::string_view file) {
  if (HasPathPart(file, "torchinductor_") || HasPathPart(file, "_pyg/")) return true;
  return file.starts_with('<') && !file.starts_with("<ipython-input") &&
         !file.starts_with("<stdin") && !file.starts_with("<input");
}

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_PYTHON_FILE_H_
