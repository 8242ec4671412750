#include <nlohmann/json.hpp>

#include "src/evaluator/sandbox.h"

namespace tik::evaluator {
namespace {

using nlohmann::json;

json layers_to_json(Layers const& layers) {
  return {{"user_namespace", layers.user_namespace},        {"mount_namespace", layers.mount_namespace},
          {"pid_namespace", layers.pid_namespace},          {"network_namespace", layers.network_namespace},
          {"ipc_namespace", layers.ipc_namespace},          {"separate_user", layers.separate_user},
          {"system_call_filter", layers.system_call_filter}};
}

Layers layers_from_json(json const& value) {
  Layers layers;
  layers.user_namespace = value.at("user_namespace");
  layers.mount_namespace = value.at("mount_namespace");
  layers.pid_namespace = value.at("pid_namespace");
  layers.network_namespace = value.at("network_namespace");
  layers.ipc_namespace = value.at("ipc_namespace");
  layers.separate_user = value.at("separate_user");
  layers.system_call_filter = value.at("system_call_filter");
  return layers;
}

// Paths and arguments are bytes, not text: they travel as numbers so that no encoding can refuse them.
json bytes_to_json(std::string const& bytes) {
  json array = json::array();
  for (char const byte : bytes) array.push_back(static_cast<unsigned char>(byte));
  return array;
}

std::string bytes_from_json(json const& value) {
  std::string bytes;
  for (json const& element : value) bytes += static_cast<char>(element.get<int>());
  return bytes;
}

json list_to_json(std::vector<std::string> const& values) {
  json array = json::array();
  for (std::string const& value : values) array.push_back(bytes_to_json(value));
  return array;
}

std::vector<std::string> list_from_json(json const& value) {
  std::vector<std::string> values;
  for (json const& element : value) values.push_back(bytes_from_json(element));
  return values;
}

ChildPlan plan_from_json(json const& value) {
  ChildPlan plan;
  plan.command = list_from_json(value.at("command"));
  plan.environment = list_from_json(value.at("environment"));
  for (json const& mount : value.at("mounts")) {
    plan.mounts.push_back({bytes_from_json(mount.at("host")), bytes_from_json(mount.at("inside")), mount.at("writable")});
  }
  plan.working_directory = bytes_from_json(value.at("working_directory"));
  plan.staging = bytes_from_json(value.at("staging"));
  plan.layers = layers_from_json(value.at("layers"));
  plan.filter = static_cast<CallFilter>(value.at("filter").get<int>());
  plan.gpu = static_cast<GpuUse>(value.at("gpu").get<int>());
  if (value.contains("memory_mb")) plan.memory_mb = value.at("memory_mb").get<std::int64_t>();
  if (value.contains("resident_mb")) plan.resident_mb = value.at("resident_mb").get<std::int64_t>();
  plan.gpu_number = value.at("gpu_number");
  plan.cpu_seconds = value.at("cpu_seconds");
  plan.file_mb = value.at("file_mb");
  plan.processes = value.at("processes");
  if (value.contains("processor")) plan.processor = value.at("processor").get<int>();
  plan.user = value.at("user");
  return plan;
}

} // namespace

std::string encode_plan(ChildPlan const& plan) {
  json mounts = json::array();
  for (Mount const& mount : plan.mounts) {
    mounts.push_back(
        {{"host", bytes_to_json(mount.host.string())}, {"inside", bytes_to_json(mount.inside)}, {"writable", mount.writable}});
  }
  json value = {{"command", list_to_json(plan.command)},
                {"environment", list_to_json(plan.environment)},
                {"mounts", mounts},
                {"working_directory", bytes_to_json(plan.working_directory)},
                {"staging", bytes_to_json(plan.staging.string())},
                {"layers", layers_to_json(plan.layers)},
                {"filter", static_cast<int>(plan.filter)},
                {"gpu", static_cast<int>(plan.gpu)},
                {"gpu_number", plan.gpu_number},
                {"cpu_seconds", plan.cpu_seconds},
                {"file_mb", plan.file_mb},
                {"processes", plan.processes},
                {"user", plan.user}};
  if (plan.memory_mb) value["memory_mb"] = *plan.memory_mb;
  if (plan.resident_mb) value["resident_mb"] = *plan.resident_mb;
  if (plan.processor) value["processor"] = *plan.processor;
  return value.dump();
}

Result<ChildPlan> decode_plan(std::string const& bytes) {
  try {
    return plan_from_json(json::parse(bytes));
  } catch (json::exception const& problem) {
    return machine_error(std::string("The plan of a contained process is damaged: ") + problem.what());
  }
}

std::string seen_path(Layers const& layers, Mount const& mount) {
  return layers.mount_namespace ? mount.inside : mount.host.string();
}

} // namespace tik::evaluator
