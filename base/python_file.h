// Finds out from the path of a Python file, as code objects contain it, whether the file is the
// user's own code.
//
// Idea: a user wants to see a source line of his own code, not one of Python's library, of an
// installed package, of vramstow's start-up hook, or of code that a program generated. Paths
// written on Windows have backslashes.
//
// Ownership: none. Threads: pure functions. Errors: none. Units: none. Nothing allocates.
#ifndef VRAMSTOW_BASE_PYTHON_FILE_H_
#define VRAMSTOW_BASE_PYTHON_FILE_H_

#include <algorithm>
#include <string_view>

namespace vramstow {

// True if a path contains this part. The part is written with slashes; the path may have
// backslashes.
inline bool HasPathPart(std::string_view path, std::string_view part) {
  const auto is_same = [](char a, char b) { return (a == '\\' ? '/' : a) == b; };
  return std::search(path.begin(), path.end(), part.begin(), part.end(), is_same) != path.end();
}

// True for code of Python itself, of vramstow, or of an installed package.
inline bool IsInstalledPython(std::string_view file) {
  for (const std::string_view part :
       {"/site-packages/", "/dist-packages/", "/lib/python", "/lib64/python", "torch/nn/",
        "torch/utils/", "/lib/vramstow/"}) {
    if (HasPathPart(file, part)) return true;
  }
  const bool is_of_windows = HasPathPart(file, "/Python3") && HasPathPart(file, "/Lib/");
  return is_of_windows || file.starts_with("<frozen");
}

// True for a name of the form "sn/csnjb25pshk4…vqb.py". Inductor derives a file's name from the
// file's contents. Two letters of that name are the name of the file's folder, which lies in the
// folder of TORCHINDUCTOR_CACHE_DIR.
inline bool IsNamedByInductor(std::string_view file) {
  constexpr std::string_view kSuffix = ".py";
  constexpr size_t kLeast = 40;  // letters; 52 in PyTorch 2.15
  if (!file.ends_with(kSuffix)) return false;
  file.remove_suffix(kSuffix.size());
  const size_t slash = file.find_last_of("/\\");
  if (slash == std::string_view::npos || slash < 2) return false;
  // The folder's name is made without substr(), because code that may throw brings thread-local
  // storage into the interposer.
  const std::string_view folder(file.data() + slash - 2, 2);
  std::string_view name = file;
  name.remove_prefix(slash + 1);
  const auto is_base32 = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7'); };
  return name.size() >= kLeast && name.starts_with('c') &&
         std::all_of(name.begin(), name.end(), is_base32) &&
         std::string_view(name.data() + 1, 2) == folder;
}

// True for Python code that a program generated: the caches of Inductor and PyTorch Geometric, and
// code that TorchDynamo, exec() and dataclasses compile from a text. Cells of a notebook and
// interactive input are the user's own code.
inline bool IsGeneratedPython(std::string_view file) {
  if (HasPathPart(file, "torchinductor_") || HasPathPart(file, "_pyg/") ||
      HasPathPart(file, "/torch_geometric.nn.")) {
    return true;
  }
  if (IsNamedByInductor(file)) return true;
  return file.starts_with('<') && !file.starts_with("<ipython-input") &&
         !file.starts_with("<stdin") && !file.starts_with("<input");
}

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_PYTHON_FILE_H_
