// A manifest as part of an implementation record's body.
#pragma once

#include <string>

#include "src/base/json.h"
#include "src/spec/manifest.h"

namespace tik::ir {

// "full" or "decode".
Result<spec::EntryPoint> entry_point_from(std::string_view text);
std::vector<spec::EntryPoint> entry_points_field(JsonFields& fields, std::string_view key);

Json to_json(spec::Manifest const& manifest);
// `place` names the object in sentences. What the TOML parser checked when the record was made is not checked again.
Result<spec::Manifest> manifest_from_json(Json const& json, std::string const& place);

} // namespace tik::ir
