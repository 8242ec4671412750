#include "src/evaluator/tape.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "src/base/files.h"

namespace tik::evaluator {
namespace {

constexpr char requests_file[] = "requests", input_file[] = "input", output_file[] = "output";

std::string_view text_of(std::span<std::byte const> bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

Result<Mapping> map_file(std::filesystem::path const& file) {
  int const descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat found {};
  if (descriptor < 0 || fstat(descriptor, &found) != 0) return input_error(file.string() + ": it cannot be read.");
  auto const size = static_cast<std::size_t>(found.st_size);
  void* const base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (base == MAP_FAILED) return input_error(file.string() + ": it cannot be mapped.");
  return Mapping{static_cast<char*>(base), size};
}

} // namespace

// Each message begins with its length, which the message itself holds as well.
Result<void> write_tape(std::filesystem::path const& folder, std::vector<WorkerRequest> const& requests,
                        std::span<std::byte const> input, std::span<std::byte const> output) {
  std::string all;
  for (WorkerRequest const& request : requests) {
    std::string const bytes = encode_request(request);
    auto const length = static_cast<std::uint32_t>(bytes.size());
    all.append(reinterpret_cast<char const*>(&length), sizeof length);
    all += bytes;
  }
  TIK_CHECK(write_file(folder / requests_file, all, Flush::no));
  TIK_CHECK(write_file(folder / input_file, text_of(input), Flush::no));
  return write_file(folder / output_file, text_of(output), Flush::no);
}

Result<Tape> read_tape(std::filesystem::path const& folder) {
  Tape tape;
  TIK_TRY(std::string const all, read_file(folder / requests_file));
  for (std::size_t at = 0; at < all.size();) {
    std::uint32_t length = 0;
    if (all.size() - at < sizeof length) return input_error("The tape ends within a message.");
    std::memcpy(&length, all.data() + at, sizeof length);
    at += sizeof length;
    if (length > all.size() - at) return input_error("The tape ends within a message.");
    TIK_TRY(WorkerRequest request, decode_request(std::string_view(all).substr(at, length)));
    tape.requests.push_back(std::move(request));
    at += length;
  }
  TIK_TRY(tape.memory.input, map_file(folder / input_file));
  TIK_TRY(tape.memory.output, map_file(folder / output_file));
  return tape;
}

} // namespace tik::evaluator
