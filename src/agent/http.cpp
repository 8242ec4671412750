#include "src/agent/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace tik::agent {
namespace {

struct Curl {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_easy_setopt) set = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) info = nullptr;
  decltype(&::curl_easy_strerror) words = nullptr;
  decltype(&::curl_version) version = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) free_list = nullptr;
};

template <class F>
bool find(void* library, char const* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

// The library stays loaded: it has threads and state of its own.
Result<Curl> load() {
  void* library = nullptr;
  for (char const* const name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
  if (library == nullptr)
    return machine_error(
        "libcurl.so.4 is not on this machine, and a language model is reached with it: apt-get install libcurl4.");
  Curl curl;
  bool const complete = find(library, "curl_global_init", curl.global_init) && find(library, "curl_easy_init", curl.init) &&
                        find(library, "curl_easy_cleanup", curl.cleanup) && find(library, "curl_easy_setopt", curl.set) &&
                        find(library, "curl_easy_perform", curl.perform) && find(library, "curl_easy_getinfo", curl.info) &&
                        find(library, "curl_easy_strerror", curl.words) && find(library, "curl_version", curl.version) &&
                        find(library, "curl_slist_append", curl.append) && find(library, "curl_slist_free_all", curl.free_list);
  if (!complete) return machine_error("libcurl.so.4 on this machine lacks functions of libcurl 7.");
  if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return machine_error("libcurl cannot be started.");
  return curl;
}

Result<Curl> const& library() {
  static Result<Curl> const loaded = load();
  return loaded;
}

struct Transfer {
  HttpRequest const& request;
  HttpReply reply;
};

std::size_t take_body(char const* data, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (!transfer.request.on_body || transfer.request.on_body({data, size})) return size;
  transfer.reply.stopped = true;
  return 0;
}

std::size_t take_header(char const* data, std::size_t, std::size_t size, void* user) {
  std::string_view line(data, size);
  std::size_t const colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  line.remove_prefix(colon + 1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  static_cast<Transfer*>(user)->reply.headers[name] = std::string(line.substr(0, 1000));
  return size;
}

int look(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.reply.cancelled = transfer.request.cancel != nullptr && transfer.request.cancel->load();
  return transfer.reply.cancelled ? 1 : 0;
}

} // namespace

Result<HttpReply> post(HttpRequest const& request) {
  TIK_TRY(Curl const curl, library());
  std::unique_ptr<CURL, decltype(curl.cleanup)> const owner(curl.init(), curl.cleanup);
  if (!owner) return machine_error("libcurl cannot begin a transfer: out of memory.");
  CURL* const handle = owner.get();
  std::unique_ptr<curl_slist, decltype(curl.free_list)> headers(nullptr, curl.free_list);
  for (std::string const& header : request.headers) headers.reset(curl.append(headers.release(), header.c_str()));
  headers.reset(curl.append(headers.release(), "Expect:"));
  Transfer transfer{request, {}};
  auto const set = curl.set;
  set(handle, CURLOPT_URL, request.url.c_str());
  set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_USERAGENT, "tik");
  set(handle, CURLOPT_HTTPHEADER, headers.get());
  set(handle, CURLOPT_POST, 1L);
  set(handle, CURLOPT_POSTFIELDS, request.body.data());
  set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  set(handle, CURLOPT_WRITEFUNCTION, &take_body);
  set(handle, CURLOPT_WRITEDATA, &transfer);
  set(handle, CURLOPT_HEADERFUNCTION, &take_header);
  set(handle, CURLOPT_HEADERDATA, &transfer);
  set(handle, CURLOPT_NOPROGRESS, 0L);
  set(handle, CURLOPT_XFERINFOFUNCTION, &look);
  set(handle, CURLOPT_XFERINFODATA, &transfer);
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_seconds * 1000));
  set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(handle, CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(request.idle_seconds)));
  set(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.total_seconds * 1000));
  CURLcode const code = curl.perform(handle);
  curl.info(handle, CURLINFO_RESPONSE_CODE, &transfer.reply.status);
  if (code != CURLE_OK && !transfer.reply.stopped) transfer.reply.failure = curl.words(code);
  return std::move(transfer.reply);
}

Result<std::string> http_library() {
  TIK_TRY(Curl const curl, library());
  return std::string(curl.version());
}

} // namespace tik::agent
