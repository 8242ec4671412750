#include "src/evaluator/bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>

#include "src/base/json.h"
#include "src/base/sha256.h"
#include "src/evaluator/process.h"
#include "src/evaluator/version.h"

namespace tik::evaluator {
namespace {

constexpr std::string_view magic = "tik-bundle 1 ";
constexpr int bundle_schema = 1;
constexpr std::size_t largest_first_line = 128;

Json to_json(BundledSource const& source) {
  Json files = Json::array();
  for (SourceFile const& file : source.files)
    files.push_back({{"name", file.name}, {"sha256", sha256_hex(file.content)}, {"executable", file.executable}});
  return {{"id", source.id}, {"source_sha256", source.source_sha256}, {"files", std::move(files)}};
}

Json numbers_to_json(std::map<std::string, double> const& numbers) {
  Json json = Json::object();
  for (auto const& [name, number] : numbers) json[name] = number;
  return json;
}

std::vector<BundledSource const*> sources_of(Bundle const& bundle) {
  std::vector<BundledSource const*> sources;
  if (bundle.incumbent) sources.push_back(&*bundle.incumbent);
  for (BundledSource const& candidate : bundle.candidates) sources.push_back(&candidate);
  return sources;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Why a path cannot be a file's of a source tree; empty when it can.
std::string bad_path(std::string_view path) {
  int depth = 0;
  for (std::size_t begin = 0; begin <= path.size(); ++depth) {
    std::size_t const end = std::min(path.find('/', begin), path.size());
    if (auto const reason = bad_source_name(path.substr(begin, end - begin)); !reason.empty()) return std::string(reason);
    begin = end + 1;
  }
  return depth > deepest_source_folder ? "lies too deep." : "";
}

// Contents by hash, as views into the file.
using Contents = std::map<std::string, std::string_view, std::less<>>;

class Reader {
 public:
  explicit Reader(std::string place) : place_(std::move(place)) {}

  Result<Bundle> read(std::string_view bytes) {
    TIK_TRY(auto const parts, split(bytes));
    TIK_TRY(Json const head, parse_json(parts.first, place_));
    JsonFields fields(head, place_);
    if (head.is_object() && head.contains("schema") && head["schema"] != bundle_schema)
      return refuse(fmt::format("its schema is {}, and this program reads schema {}: use the same tik on both hosts.",
                                dump_json(head["schema"]), bundle_schema));
    fields.integer("schema", bundle_schema, bundle_schema);
    std::string const evaluator = fields.text("evaluator_version"), checks = fields.text("checks_version");
    if (!fields.failed() && (evaluator != evaluator_version || checks != spec::checks_version))
      return refuse(
          fmt::format("it was written by evaluator version {} with checks version {}, and this program has {} and {}; "
                      "use the same tik on both hosts.",
                      evaluator, checks, evaluator_version, spec::checks_version));
    Bundle bundle;
    bundle.specification_file = fields.text("specification_file");
    std::string text = fields.text("specification");
    bundle.seal = fields.text("seal");
    bundle.baseline_us = read_numbers(fields, "baseline_us");
    bundle.incumbent_latency_us = read_numbers(fields, "incumbent_latency_us");
    Json const& incumbent = fields.value("incumbent");
    Json const& candidates = fields.array("candidates");
    TIK_TRY(Contents const contents, read_contents(fields.array("contents"), parts.second));
    TIK_CHECK(fields.finish(true));
    TIK_TRY(bundle.specification, spec::parse_specification(std::move(text), place_ + ": " + bundle.specification_file));
    if (spec::seal(bundle.specification, bundle.baseline_us) != bundle.seal)
      return refuse("its specification and baselines do not hash to its seal: write it again.");
    if (!incumbent.is_null()) {
      TIK_TRY(bundle.incumbent, read_source(incumbent, contents));
      TIK_CHECK(check_latencies(bundle));
    }
    if (candidates.size() > most_bundled_candidates)
      return refuse(fmt::format("it has more than {} candidates.", most_bundled_candidates));
    std::set<std::string> ids;
    for (Json const& candidate : candidates) {
      TIK_TRY(BundledSource source, read_source(candidate, contents));
      if (!ids.insert(source.id).second) return refuse(fmt::format("the candidate {} is there twice.", source.id));
      bundle.candidates.push_back(std::move(source));
    }
    if (bundle.candidates.empty()) return refuse("it has no candidate.");
    return bundle;
  }

 private:
  tl::unexpected<Error> refuse(std::string const& sentence) const { return input_error(place_ + ": " + sentence); }

  // Head and contents, after the first line was found to be true of them.
  Result<std::pair<std::string_view, std::string_view>> split(std::string_view bytes) const {
    std::size_t const end = bytes.substr(0, largest_first_line).find('\n');
    if (!bytes.starts_with(magic) || end == std::string_view::npos)
      return refuse("it is no bundle; `tik audit --bundle` writes one.");
    std::string_view const line = bytes.substr(magic.size(), end - magic.size());
    std::size_t size = 0;
    auto const [rest, failure] = std::from_chars(line.data(), line.data() + line.size(), size);
    std::string_view const hash = line.substr(static_cast<std::size_t>(rest - line.data()));
    if (failure != std::errc() || hash.size() != 65 || hash[0] != ' ')
      return refuse("its first line is not that of a bundle: write it again.");
    bytes.remove_prefix(end + 1);
    if (size > bytes.size()) return refuse("it ends in the middle: it was cut; copy it again.");
    if (sha256_hex(bytes.substr(0, size)) != hash.substr(1))
      return refuse("its head is not what was written: its hash differs; copy it again.");
    return std::pair(bytes.substr(0, size), bytes.substr(size));
  }

  Result<Contents> read_contents(Json const& list, std::string_view bytes) const {
    Contents contents;
    for (Json const& entry : list) {
      JsonFields fields(entry, place_ + ": contents");
      std::string const hash = fields.text("sha256");
      auto const size = static_cast<std::size_t>(fields.integer("bytes", 0, largest_source_bytes));
      TIK_CHECK(fields.finish(true));
      if (size > bytes.size()) return refuse("it ends in the middle: it was cut; copy it again.");
      std::string_view const content = bytes.substr(0, size);
      if (sha256_hex(content) != hash)
        return refuse(fmt::format("the content {:.12}... is not what was written: its hash differs; copy it again.", hash));
      contents.emplace(hash, content);
      bytes.remove_prefix(size);
    }
    if (!bytes.empty()) return refuse(fmt::format("{} bytes follow its end: copy it again.", bytes.size()));
    return contents;
  }

  static std::map<std::string, double> read_numbers(JsonFields& fields, std::string_view key) {
    std::map<std::string, double> numbers;
    Json const object = fields.object(key);
    for (auto const& [name, number] : object.items()) {
      if (number.is_number() && number.get<double>() > 0)
        numbers[name] = number.get<double>();
      else
        fields.fail(key, fmt::format("\"{}\" is no latency.", name));
    }
    return numbers;
  }

  Result<BundledSource> read_source(Json const& json, Contents const& contents) {
    JsonFields fields(json, place_ + ": source");
    BundledSource source;
    source.id = fields.text("id");
    source.source_sha256 = fields.text("source_sha256");
    Json const& files = fields.array("files");
    TIK_CHECK(fields.finish(true));
    if (!is_candidate_id(source.id))
      return refuse("the name of a source tree is none: letters and digits are allowed, at most 32.");
    if (files.size() > most_source_files)
      return refuse(fmt::format("{} has more than {} files.", source.id, most_source_files));
    std::size_t size = 0;
    for (Json const& entry : files) {
      TIK_TRY(SourceFile file, read_file_entry(entry, contents, source.id));
      size += file.content.size();
      unpacked_ += file.content.size();
      if (size > largest_source_bytes || unpacked_ > largest_bundle_bytes)
        return refuse(fmt::format("{} is too large unpacked.", source.id));
      source.files.push_back(std::move(file));
    }
    TIK_CHECK(check_names(source));
    if (!is_sha256(source.source_sha256) || hash_source_files(source.files) != source.source_sha256)
      return refuse(fmt::format("the files of {} do not hash to its source hash: write it again.", source.id));
    return source;
  }

  Result<SourceFile> read_file_entry(Json const& json, Contents const& contents, std::string const& id) const {
    JsonFields fields(json, place_ + ": file of " + id);
    SourceFile file{fields.text("name"), {}, fields.flag("executable")};
    std::string const hash = fields.text("sha256");
    TIK_CHECK(fields.finish(true));
    if (auto const reason = bad_path(file.name); !reason.empty())
      return refuse(fmt::format("a file of {} has the name {}, which {}", id, Json(file.name).dump(-1, ' ', true), reason));
    auto const content = contents.find(hash);
    if (content == contents.end()) return refuse(fmt::format("the content of {} of {} is missing.", file.name, id));
    file.content = content->second;
    return file;
  }

  // No name twice, and none that is both a file and a folder.
  Result<void> check_names(BundledSource& source) const {
    std::sort(source.files.begin(), source.files.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
    std::set<std::string_view> names;
    for (SourceFile const& file : source.files)
      if (!names.insert(file.name).second) return refuse(fmt::format("{} has the file {} twice.", source.id, file.name));
    for (SourceFile const& file : source.files)
      for (std::size_t at = file.name.find('/'); at != std::string::npos; at = file.name.find('/', at + 1))
        if (names.contains(std::string_view(file.name).substr(0, at)))
          return refuse(fmt::format("{} has {} as a file and as a folder.", source.id, file.name.substr(0, at)));
    return {};
  }

  Result<void> check_latencies(Bundle const& bundle) const {
    for (spec::Workload const& workload : bundle.specification.workloads)
      if (!bundle.incumbent_latency_us.contains(workload.id))
        return refuse(fmt::format("the incumbent has no latency for the workload {}.", workload.id));
    return {};
  }

  std::string place_;
  std::size_t unpacked_ = 0; // bytes of all trees so far
};

} // namespace

bool is_candidate_id(std::string_view id) {
  return !id.empty() && id.size() <= 32 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  });
}

Result<std::string> encode_bundle(Bundle const& bundle) {
  Json contents = Json::array();
  std::set<std::string> written;
  std::string payload;
  for (BundledSource const* const source : sources_of(bundle)) {
    for (SourceFile const& file : source->files) {
      std::string hash = sha256_hex(file.content);
      if (!written.insert(hash).second) continue;
      contents.push_back({{"sha256", std::move(hash)}, {"bytes", file.content.size()}});
      payload += file.content;
    }
  }
  Json candidates = Json::array();
  for (BundledSource const& candidate : bundle.candidates) candidates.push_back(to_json(candidate));
  Json const head = {{"schema", bundle_schema},
                     {"evaluator_version", evaluator_version},
                     {"checks_version", spec::checks_version},
                     {"specification_file", bundle.specification_file},
                     {"specification", bundle.specification.text},
                     {"seal", bundle.seal},
                     {"baseline_us", numbers_to_json(bundle.baseline_us)},
                     {"incumbent", bundle.incumbent ? to_json(*bundle.incumbent) : Json(nullptr)},
                     {"incumbent_latency_us", numbers_to_json(bundle.incumbent_latency_us)},
                     {"candidates", std::move(candidates)},
                     {"contents", std::move(contents)}};
  std::string const text = dump_json(head) + '\n';
  std::string bytes = fmt::format("{}{} {}\n{}{}", magic, text.size(), sha256_hex(text), text, payload);
  if (bytes.size() <= largest_bundle_bytes) return bytes;
  return input_error(fmt::format("The bundle would have {} MiB, and at most {} MiB are allowed: put fewer candidates into it.",
                                 bytes.size() >> 20, largest_bundle_bytes >> 20));
}

Result<Bundle> decode_bundle(std::string_view bytes, std::string const& place) { return Reader(place).read(bytes); }

Result<Bundle> read_bundle(std::filesystem::path const& file) {
  bool const standard_input = file == "-";
  std::string const place = standard_input ? "standard input" : file.string();
  Descriptor const opened(standard_input ? dup(STDIN_FILENO) : open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes(std::size_t{1} << 20, '\0');
  std::size_t size = 0;
  for (;;) {
    if (size == bytes.size()) bytes.resize(2 * bytes.size());
    ssize_t const count = read(opened.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return input_error(fmt::format("{}: cannot be read: {}.", place, std::strerror(errno)));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size > largest_bundle_bytes)
      return input_error(fmt::format("{}: it is larger than {} MiB, so it is no bundle.", place, largest_bundle_bytes >> 20));
  }
  bytes.resize(size);
  return decode_bundle(bytes, place);
}

} // namespace tik::evaluator
