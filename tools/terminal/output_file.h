// OutputFile is a file that the program was asked to write. Its name refers either to the whole new
// file or to the previous one, even after a full disk, Ctrl-C, or a crash of the machine.
//
// Idea: the file is written without a name (open(2), O_TMPFILE) and gets its name when it is
// finished. So an unfinished file leaves nothing behind, however the program ends. If the file
// system does not support such files, the file is written beside its target. A path that is not a
// regular file (a device, a pipe) is written directly and never replaced.
//
// Ownership: owns the file until Finish; an unfinished one is removed. Threads: one at a time.
// Errors: returned, and errno says why. Units: none.
#ifndef VRAMSTOW_TOOLS_TERMINAL_OUTPUT_FILE_H_
#define VRAMSTOW_TOOLS_TERMINAL_OUTPUT_FILE_H_

#include <string>
#include <string_view>

namespace vramstow {

class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() { Abandon(); }

  bool Open(const std::string& path);
  int descriptor() const { return descriptor_; }
  // Makes the written text the contents of the file.
  bool Finish();

 private:
  bool GiveName();
  void Abandon();

  int descriptor_ = -1;
  std::string path_;
  std::string beside_;  // empty: the path is written directly
  bool has_name_ = false;
};

// Writes the whole file at once.
bool WriteOutputFile(const std::string& path, std::string_view text);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TERMINAL_OUTPUT_FILE_H_
