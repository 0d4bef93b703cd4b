#include "tracer/format/event_encoder.h"

namespace vramstow {

uint8_t* EventEncoder::EncodeShape(uint8_t* out, unsigned shape, const Event& event,
                                   unsigned fields) {
  *out++ = static_cast<uint8_t>(RecordType::kShape);
  uint8_t* const length = out++;
  *out++ = static_cast<uint8_t>(shape);
  *out++ = static_cast<uint8_t>(fields);
  *out++ = static_cast<uint8_t>(event.kind);
  *out++ = static_cast<uint8_t>(event.memory);
  *out++ = static_cast<uint8_t>(event.layer);
  // Added 1, wrapping around, because the usual values are -1 and "unknown" is the greatest.
  out = WriteVarint(out, static_cast<uint16_t>(event.device + 1));
  out = WriteVarint(out, event.call);
  out = WriteVarint(out, event.library);
  out = WriteVarint(out, static_cast<uint32_t>(event.result));
  out = WriteVarint(out, event.stream + 1);
  *length = static_cast<uint8_t>(out - length - 1);
  return out;
}

uint8_t* EventEncoder::EncodeThread(uint8_t* out, uint32_t thread) {
  *out++ = static_cast<uint8_t>(RecordType::kThread);
  uint8_t* const length = out++;
  out = WriteVarint(out, thread);
  *length = static_cast<uint8_t>(out - length - 1);
  return out;
}

}  // namespace vramstow
