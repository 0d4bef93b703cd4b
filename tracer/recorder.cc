#include "tracer/recorder.h"

#include <errno.h>

#include "tracer/recorder_state.h"

namespace vramstow {

RecorderError Recorder::Open(const RecorderConfig& config) {
  if (is_open()) return RecorderError::kAlreadyOpen;
  RecorderError error = RecorderError::kOk;
  RecorderState* const state = RecorderState::Create(config, &error);
  if (state != nullptr) state_.store(state, std::memory_order_release);
  return error;
}

uint32_t Recorder::CaptureStack(EventKind kind) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->CaptureStack(kind, CaptureMode::kMayAsk);
}

uint32_t Recorder::CaptureStackQuietly(EventKind kind) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->CaptureStack(kind, CaptureMode::kQuiet);
}

void Recorder::LookAtLibraries() {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  if (state != nullptr) state->LookAtLibraries();
}

uint32_t Recorder::NameStack(uint32_t stack, const StackName* names, size_t count) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? stack : state->NameStack(stack, names, count);
}

void Recorder::Describe(std::string_view key, std::string_view value) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  if (state != nullptr) state->tables().Describe(key, value);
}

uint16_t Recorder::InternCall(std::string_view name) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? kUnknownName : state->tables().InternCall(name);
}

uint16_t Recorder::InternLibrary(std::string_view path, uint64_t base, std::string_view build_id) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? kUnknownName : state->tables().InternLibrary(path, base, build_id);
}

uint64_t Recorder::InternAnnotation(std::string_view text, TextOf whose) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? 0 : state->tables().InternAnnotation(text, whose);
}

uint64_t Recorder::RecordMark(MarkKind kind, uint64_t annotation, uint64_t number) {
  return Record(MarkEvent{kind, annotation, number}.ToEvent());
}

int Recorder::WriteCopy(const char* tag, bool replaces, char* name, size_t size) {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? EBADF : state->WriteCopy(tag, replaces, name, size);
}

void Recorder::CopyBeforeSums() {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  if (state != nullptr) state->CopyBeforeSums();
}

void Recorder::Close() {
  RecorderState* const state = state_.exchange(nullptr, std::memory_order_acq_rel);
  if (state != nullptr) state->Close();
}

void Recorder::NoteExit(int status) {
  RecorderState* state = state_.load(std::memory_order_acquire);
  if (state != nullptr) state->NoteExit(status);
}

void Recorder::AbandonAfterFork() {
  RecorderState* const state = state_.exchange(nullptr, std::memory_order_acq_rel);
  if (state != nullptr) state->AbandonAfterFork();
}

bool Recorder::is_open() const { return state_.load(std::memory_order_acquire) != nullptr; }

const char* Recorder::path() const {
  RecorderState* const state = state_.load(std::memory_order_acquire);
  return state == nullptr ? "" : state->path();
}

}  // namespace vramstow
