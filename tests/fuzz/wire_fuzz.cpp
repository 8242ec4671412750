// Any bytes as a packet from the other end of the wire: a sentence, or a message that writes back as the same bytes.
#include <cstdint>
#include <cstdlib>

#include "src/evaluator/wire.h"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  auto const reply = tik::evaluator::decode_reply(bytes);
  auto const request = tik::evaluator::decode_request(bytes);
  if (reply && request) std::abort(); // a worker must not be able to pass one for the other
  if (!reply && reply.error().message.empty()) std::abort();
  if (!request && request.error().message.empty()) std::abort();
  if (reply && tik::evaluator::encode_reply(*reply) != bytes) std::abort();
  if (request && tik::evaluator::encode_request(*request) != bytes) std::abort();
  return 0;
}
