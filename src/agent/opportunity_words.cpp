#include "src/agent/opportunity_words.h"

#include <fmt/format.h>

#include "src/ir/any_id.h"

namespace tik::agent {
namespace {

Result<ir::Opportunity::Kind> kind_from(std::string const& text) {
  using Kind = ir::Opportunity::Kind;
  for (Kind const kind : {Kind::change, Kind::merge, Kind::reactivate})
    if (ir::to_string(kind) == text) return kind;
  return input_error(fmt::format("kind: '{}' is none; an opportunity is a change, a merge or a reactivate.", text));
}

Result<spec::EntryPoint> entry_point_from(std::string const& text) {
  for (spec::EntryPoint const entry_point : {spec::EntryPoint::full, spec::EntryPoint::decode})
    if (spec::to_string(entry_point) == text) return entry_point;
  return input_error(fmt::format("entry point: '{}' is none; the entry points are full and decode.", text));
}

} // namespace

Result<ir::Opportunity> make_opportunity(OpportunityWords const& words) {
  ir::Opportunity opportunity;
  TIK_TRY(opportunity.kind, kind_from(words.kind));
  opportunity.mechanism = words.mechanism;
  opportunity.workloads = words.workloads;
  for (std::string const& text : words.entry_points) {
    TIK_TRY(spec::EntryPoint const entry_point, entry_point_from(text));
    opportunity.entry_points.push_back(entry_point);
  }
  TIK_TRY(opportunity.evidence, ir::parse_ids<'U'>(words.evidence));
  TIK_TRY(opportunity.implementations, ir::parse_ids<'I'>(words.implementations));
  opportunity.evidence_note = words.note;
  return opportunity;
}

} // namespace tik::agent
