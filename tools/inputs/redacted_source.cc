#include "tools/inputs/redacted_source.h"

#include <filesystem>

namespace vramstow {

Redactor RedactorFor(const std::vector<std::string>& paths) {
  Redactor redactor = Redactor::OfThisMachine();
  for (const std::string& path : paths) {
    std::error_code error;
    for (const std::string& name : {path, std::filesystem::absolute(path, error).string()}) {
      redactor.LearnFile(name);
      if (std::filesystem::is_directory(name, error)) redactor.LearnFolder(name);
    }
  }
  return redactor;
}

RedactedSource::RedactedSource(std::unique_ptr<EventSource> source, Redactor redactor)
    : source_(std::move(source)), redactor_(std::move(redactor)) {
  redactor_.Learn(source_->facts());
  facts_ = redactor_.TraceFacts(source_->facts());
}

std::string_view RedactedSource::CallName(uint16_t call) const {
  return Kept(redactor_.Text(source_->CallName(call)));
}

std::string_view RedactedSource::LibraryPath(uint16_t library) const {
  return Kept(redactor_.Path(source_->LibraryPath(library)));
}

std::vector<CallFrame> RedactedSource::Frames(uint32_t stack) const {
  std::vector<CallFrame> frames = source_->Frames(stack);
  for (CallFrame& frame : frames) {
    frame.function = Kept(redactor_.Text(frame.function));
    frame.file = Kept(redactor_.Path(frame.file));
  }
  return frames;
}

std::string_view RedactedSource::MarkText(const Event& mark) const {
  return Kept(redactor_.Text(source_->MarkText(mark)));
}

std::vector<std::string> RedactedSource::missing() const {
  std::vector<std::string> sentences = source_->missing();
  for (std::string& sentence : sentences) sentence = redactor_.Text(sentence);
  return sentences;
}

}  // namespace vramstow
