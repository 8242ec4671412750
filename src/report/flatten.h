// JSON as lines: what makes two reports comparable value by value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tik::report {

// JSON as "path: value" pairs in order, one a scalar; long text is cut to its last lines.
std::vector<std::pair<std::string, std::string>> flatten(nlohmann::ordered_json const& json);

} // namespace tik::report
