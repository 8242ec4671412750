#include "src/agent/sse.h"

namespace tik::agent {

bool SseReader::feed(std::string_view piece, Take const& take) {
  buffer_ += piece;
  std::size_t begin = 0;
  for (;;) {
    std::size_t const end = buffer_.find('\n', begin);
    if (end == std::string::npos) break;
    std::string_view text(buffer_.data() + begin, end - begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    line(text, take);
    begin = end + 1;
  }
  buffer_.erase(0, begin);
  return buffer_.size() + data_.size() <= longest_event;
}

void SseReader::line(std::string_view text, Take const& take) {
  if (text.empty()) {
    if (has_data_) take(event_, data_);
    event_.clear();
    data_.clear();
    has_data_ = false;
    return;
  }
  std::size_t const colon = text.find(':');
  std::string_view const field = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_ = value;
  if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  }
}

} // namespace tik::agent
