#include "tests/interpose/support.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tracer/format/reader.h"

namespace vramstow {
namespace {

namespace fs = std::filesystem;

// Reads both pipes until the program and its children have closed them.
void ReadBoth(int out, int error, Outcome* outcome) {
  pollfd pipes[2] = {{out, POLLIN, 0}, {error, POLLIN, 0}};
  std::string* texts[2] = {&outcome->out, &outcome->error};
  int open_pipes = 2;
  while (open_pipes > 0 && poll(pipes, 2, -1) > 0) {
    for (int i = 0; i < 2; ++i) {
      if (pipes[i].fd < 0 || pipes[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t count = read(pipes[i].fd, buffer, sizeof buffer);
      if (count > 0) {
        texts[i]->append(buffer, static_cast<size_t>(count));
      } else {
        close(pipes[i].fd);
        pipes[i].fd = -1;
        --open_pipes;
      }
    }
  }
}

[[noreturn]] void BecomeProgram(const std::vector<std::string>& command,
                                const std::map<std::string, std::string>& environment,
                                const std::string& folder, int out, int error) {
  dup2(out, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  if (chdir(folder.c_str()) != 0) _exit(97);
  for (const auto& [name, value] : environment) {
    if (value.empty()) {
      unsetenv(name.c_str());
    } else {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(96);
}

ReadTrace ReadOne(const std::string& path) {
  ReadTrace trace;
  trace.file = fs::path(path).filename();
  TraceReader reader;
  if (reader.Open(path.c_str()) != ReadError::kOk) {
    ADD_FAILURE() << path << " cannot be read back";
    return trace;
  }
  trace.facts = reader.facts();
  for (Event event; reader.Next(&event);) {
    // vramstow's own reading of the free memory, once a second, is not an event of the program.
    if (event.kind == EventKind::kMemoryInfo && event.call == kUnknownName) continue;
    NamedEvent named;
    static_cast<Event&>(named) = event;
    named.call_name = reader.CallName(event.call);
    named.library_file = fs::path(reader.Library(event.library).path).filename();
    trace.events.push_back(named);
  }
  EXPECT_EQ(reader.report().missing_events, 0u) << path;
  EXPECT_EQ(reader.report().damaged_bytes, 0u) << path;
  trace.closed = reader.report().closed;
  return trace;
}

}  // namespace

void Interposed::SetUp() {
  std::string pattern = testing::TempDir() + "vramstow-interpose-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
}

void Interposed::TearDown() {
  if (!HasFailure()) fs::remove_all(folder_);
}

Outcome Interposed::Run(const std::vector<std::string>& command,
                        const std::map<std::string, std::string>& environment,
                        const std::string& preload) {
  std::vector<std::string> full = command;
  if (full[0].find('/') == std::string::npos) full[0] = kPrograms + "/" + full[0];
  std::map<std::string, std::string> variables = {
      {"LD_PRELOAD", preload},
      {"LD_LIBRARY_PATH", kDriverFolder + ":" + kPrograms},
      {"FAKE_CALL_LOG", folder_ + "/call-log"},
      {"ASAN_OPTIONS", kAsanOptions},
      {"TSAN_OPTIONS", kTsanOptions},
  };
  for (const auto& [name, value] : environment) variables[name] = value;
  int out[2];
  int error[2];
  Outcome outcome;
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) return outcome;
  const pid_t child = fork();
  if (child == 0) BecomeProgram(full, variables, folder_, out[1], error[1]);
  close(out[1]);
  close(error[1]);
  ReadBoth(out[0], error[0], &outcome);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::vector<std::string> Interposed::Files() const {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename() != "call-log") files.push_back(entry.path().filename());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<ReadTrace> Interposed::Traces() const {
  std::vector<ReadTrace> traces;
  for (const std::string& file : Files()) {
    if (fs::path(file).extension() == ".stow") traces.push_back(ReadOne(folder_ + "/" + file));
  }
  return traces;
}

ReadTrace Interposed::OnlyTrace() const {
  std::vector<ReadTrace> traces = Traces();
  EXPECT_EQ(traces.size(), 1u);
  return traces.size() == 1 ? traces[0] : ReadTrace{};
}

std::vector<LoggedCall> Interposed::CallLog() const {
  std::vector<LoggedCall> lines;
  std::ifstream file(folder_ + "/call-log");
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    LoggedCall line;
    words >> line.symbol >> line.result >> std::hex >> line.address >> std::dec >> line.bytes;
    lines.push_back(line);
  }
  return lines;
}

std::vector<NamedEvent> OfKind(const ReadTrace& trace, EventKind kind) {
  std::vector<NamedEvent> events;
  for (const NamedEvent& event : trace.events) {
    if (event.kind == kind) events.push_back(event);
  }
  return events;
}

std::vector<uint64_t> AllocatedSizes(const ReadTrace& trace) {
  std::vector<uint64_t> sizes;
  for (const NamedEvent& event : trace.events) {
    if (event.kind == EventKind::kAllocate && event.result == 0) sizes.push_back(event.size);
  }
  return sizes;
}

}  // namespace vramstow
