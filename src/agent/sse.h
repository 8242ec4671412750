// Server-sent events: a stream of bytes, cut anywhere, to events.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tik::agent {

class SseReader {
 public:
  static constexpr std::size_t longest_event = 16 << 20;
  using Take = std::function<void(std::string const& event, std::string const& data)>;

  // Calls `take` for every event that is complete. False when an event is longer than any that is sent in earnest.
  bool feed(std::string_view piece, Take const& take);

 private:
  void line(std::string_view text, Take const& take);
  std::string buffer_, event_, data_;
  bool has_data_ = false;
};

} // namespace tik::agent
