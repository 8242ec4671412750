// libgit2 would log on to a git server with GSS-API, of which there is no static library. TIK's repositories are local folders:
// every request for a log-on is refused, with the status of RFC 2744.
#include <cstdint>

namespace {

constexpr std::uint32_t unavailable = 16U << 16; // GSS_S_UNAVAILABLE

std::uint32_t refuse(std::uint32_t* minor_status) {
  if (minor_status != nullptr) *minor_status = 0;
  return unavailable;
}

} // namespace

extern "C" {

extern void* const GSS_C_NT_HOSTBASED_SERVICE;
void* const GSS_C_NT_HOSTBASED_SERVICE = nullptr;

std::uint32_t gss_delete_sec_context(std::uint32_t* status) { return refuse(status); }
std::uint32_t gss_display_status(std::uint32_t* status) { return refuse(status); }
std::uint32_t gss_import_name(std::uint32_t* status) { return refuse(status); }
std::uint32_t gss_indicate_mechs(std::uint32_t* status) { return refuse(status); }
std::uint32_t gss_init_sec_context(std::uint32_t* status) { return refuse(status); }
std::uint32_t gss_release_buffer(std::uint32_t* status) { return refuse(status); }
std::uint32_t gss_release_name(std::uint32_t* status) { return refuse(status); }
std::uint32_t gss_release_oid_set(std::uint32_t* status) { return refuse(status); }
}
