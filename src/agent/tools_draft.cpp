// The draft of an action: checked out, edited, built, submitted.
#include <fmt/format.h>

#include <algorithm>

#include "src/agent/patch.h"
#include "src/agent/toolbox.h"
#include "src/base/files.h"
#include "src/ir/any_id.h"
#include "src/report/format.h"
#include "src/search/rules.h"

namespace tik::agent {
namespace {

// Where one file of the draft lies; every part of its name is checked, so that nothing outside is reached.
Result<std::filesystem::path> place_in(std::filesystem::path const& folder, std::string const& name) {
  auto const bad = [&](std::string_view why) {
    return input_error(fmt::format("{}: it is no name for a file of the draft: {}.", name, why));
  };
  std::filesystem::path place = folder;
  for (std::size_t begin = 0; begin <= name.size();) {
    std::size_t const end = std::min(name.find('/', begin), name.size());
    std::string const part = name.substr(begin, end - begin);
    if (std::string_view const why = bad_source_name(part); !why.empty()) return bad(why);
    place /= part;
    begin = end + 1;
  }
  return place;
}

Result<void> write_change(std::filesystem::path const& folder, std::string const& name,
                          std::optional<std::string> const& content) {
  TIK_TRY(std::filesystem::path const place, place_in(folder, name));
  std::error_code error;
  if (!content) {
    std::filesystem::remove(place, error);
    return {};
  }
  std::filesystem::create_directories(place.parent_path(), error);
  if (error) return input_error(fmt::format("{}: its folder cannot be made: {}.", name, error.message()));
  if (std::filesystem::is_directory(place, error)) return input_error(fmt::format("{}: it is a folder.", name));
  return write_file(place, *content);
}

std::string lines_in_words(std::string const& text) {
  return report::count(std::count(text.begin(), text.end(), '\n') + (text.empty() || text.ends_with('\n') ? 0 : 1), "line");
}

// Without opportunities the search keeps one that says so, for the link that every action has.
Result<ir::OpportunityId> direct_opportunity(search::State const& state, std::vector<ir::ImplementationId> const& parents) {
  for (auto entry = state.pending.rbegin(); entry != state.pending.rend(); ++entry)
    if (search::may_take(state, *entry, parents)) return *entry;
  return input_error("No action may begin from these parents: they are not active.");
}

} // namespace

Result<Toolbox::Draft const*> Toolbox::draft() const {
  if (draft_) return &*draft_;
  return input_error("No action is begun: begin_action checks its parents out into a draft.");
}

Result<bool> Toolbox::is_new_draft() const {
  if (!draft_) return false;
  TIK_TRY(std::vector<SourceFile> const files, files_of("draft"));
  TIK_TRY(auto const same, desk_.view().store.implementation_with_source(hash_source_files(files)));
  return !same;
}

Result<std::string> Toolbox::begin_action(Arguments const& arguments) {
  search::State const& state = desk_.view().state;
  bool const batch = arguments.flag("batch");
  if ((state.awaiting_audit && !batch) || state.awaiting_decision)
    return input_error("No action may begin now: " + next_step(state, false));
  Draft next;
  next.batch = batch;
  if (withheld_.lineage || withheld_.history) {
    if (!state.incumbent) return input_error("There is no incumbent to start from.");
    next.parents = {*state.incumbent};
  } else {
    TIK_TRY(next.parents, ir::parse_ids<'I'>(arguments.texts("parents")));
  }
  TIK_CHECK(search::may_be_parents(state, next.parents));
  if (withheld_.opportunities) {
    TIK_TRY(next.opportunity, direct_opportunity(state, next.parents));
  } else {
    TIK_TRY(next.opportunity, ir::parse_id<'O'>(arguments.text("opportunity")));
  }
  TIK_CHECK(search::may_take(state, *next.opportunity, next.parents));
  draft_.reset();
  TIK_TRY(Workspace::CheckedOut const checked_out, desk_.check_out(next.parents));
  next.folder = checked_out.folder;
  draft_ = std::move(next);
  Json parents = Json::array();
  for (ir::ImplementationId const parent : draft_->parents) parents.push_back(to_string(parent));
  Json answer = {{"draft_of", parents}};
  if (!withheld_.opportunities) answer["opportunity"] = to_string(*draft_->opportunity);
  if (!checked_out.conflicts.empty()) {
    answer["conflicts"] = checked_out.conflicts;
    answer["note"] = fmt::format("The two could not be merged; the draft holds {} alone.", to_string(draft_->parents[0]));
  }
  TIK_TRY(std::vector<SourceFile> const files, files_of("draft"));
  for (SourceFile const& file : files)
    answer["files"].push_back(fmt::format("{} ({})", file.name, lines_in_words(file.content)));
  TIK_TRY(Declared const declared, declared_changes());
  for (Move const& move : declared.changes) answer["changes"].push_back(words(move));
  return pretty(answer);
}

Result<std::string> Toolbox::edit(Arguments const& arguments) {
  TIK_TRY(Draft const* draft, this->draft());
  int const ways = arguments.has("find") + arguments.has("content") + arguments.has("diff") + arguments.flag("remove");
  if (ways != 1 || arguments.has("find") != arguments.has("replace"))
    return input_error("edit: give exactly one of: find and replace together, content, diff, remove.");
  if (!arguments.has("file") && !arguments.has("diff"))
    return input_error("edit: file is missing: which file is to be changed?");
  std::string const name = arguments.text("file");
  if (withheld_.numerics &&
      (name == spec::manifest_file || arguments.text("diff").find(spec::manifest_file) != std::string::npos) &&
      !arguments.has("find"))
    return input_error(
        fmt::format("{}: parts of it are withheld, so it is changed by find and replace only.", spec::manifest_file));
  TIK_TRY(std::vector<SourceFile> const files, files_of("draft"));
  Contents tree;
  for (SourceFile const& file : files) tree[file.name] = file.content;
  Changes changes;
  if (arguments.has("diff")) {
    TIK_TRY(changes, apply_patch(tree, arguments.text("diff")));
    if (!name.empty() && (changes.size() != 1 || !changes.contains(name)))
      return input_error(fmt::format("edit: the diff is not about {} alone.", name));
  } else if (arguments.has("content")) {
    changes[name] = arguments.text("content");
  } else {
    auto const found = tree.find(name);
    if (found == tree.end()) return input_error(fmt::format("{}: the draft has no such file.", name));
    changes[name] = std::nullopt;
    if (arguments.has("find")) {
      TIK_TRY(changes[name], replace_once(name, found->second, arguments.text("find"), arguments.text("replace")));
    }
  }
  for (auto const& [file, content] : changes) TIK_CHECK(place_in(draft->folder, file));
  std::string answer;
  for (auto const& [file, content] : changes) {
    TIK_CHECK(write_change(draft->folder, file, content));
    answer += content ? fmt::format("{}: {}\n", file, lines_in_words(*content)) : fmt::format("{}: removed\n", file);
  }
  return answer;
}

Result<Toolbox::Declared> Toolbox::declared_changes() const {
  TIK_TRY(std::vector<SourceFile> const files, files_of("draft"));
  Declared declared;
  for (SourceFile const& file : files) declared.tree[file.name] = file.content;
  // A draft whose manifest is broken declares nothing; its build says what is wrong with it.
  auto manifest = spec::parse_manifest(declared.tree[std::string(spec::manifest_file)], std::string(spec::manifest_file));
  if (!manifest) return declared;
  declared.manifest = std::move(*manifest);
  // Which rewrites were made is not known of every tree; their texts tell whether they apply.
  for (Move const& move : declared_moves(declared.manifest))
    if (agent::apply(declared.tree, declared.manifest, move)) declared.changes.push_back(move);
  return declared;
}

Result<std::string> Toolbox::apply(Arguments const& arguments) {
  TIK_TRY(Draft const* draft, this->draft());
  TIK_TRY(Declared const declared, declared_changes());
  std::string const wanted = arguments.text("change");
  auto const move =
      std::find_if(declared.changes.begin(), declared.changes.end(), [&](Move const& each) { return words(each) == wanted; });
  if (move == declared.changes.end()) {
    if (declared.changes.empty()) return input_error("apply: the draft's implementation.toml declares no change that applies.");
    return input_error(fmt::format("apply: '{}' is no change that applies; there are: {}.", report::one_line(wanted, 60),
                                   words(declared.changes)));
  }
  std::optional<Tree> const changed = agent::apply(declared.tree, declared.manifest, *move);
  std::string answer;
  for (auto const& [file, content] : *changed) {
    if (content == declared.tree.at(file)) continue;
    TIK_CHECK(write_change(draft->folder, file, content));
    answer += fmt::format("{}: {}\n", file, words(*move));
  }
  return answer;
}

Result<std::string> Toolbox::build(Arguments const&) {
  TIK_CHECK(draft());
  TIK_TRY(evaluator::Stage const stage, desk_.build());
  Json answer = {{"outcome", evaluator::to_string(stage.outcome)}, {"message", stage.message}};
  if (std::string const log = stage.details.value("log", ""); !log.empty()) answer["log"] = log;
  if (!withheld_.evidence && stage.details.contains("remarks")) answer["loops"] = stage.details["remarks"];
  return pretty(answer);
}

Result<std::string> Toolbox::submit(Arguments const& arguments) {
  TIK_TRY(Draft const* draft, this->draft());
  ActionDraft action;
  action.opportunity = *draft->opportunity;
  action.parents = draft->parents;
  action.scope = arguments.text("scope");
  action.expected_effect = arguments.text("expected_effect");
  action.contradiction = arguments.text("contradiction");
  action.workloads = arguments.texts("workloads");
  action.variants = arguments.texts("variants");
  for (Arguments const& risk : arguments.objects("risks")) {
    TIK_TRY(spec::NumericalClass const known, spec::numerical_class_from(risk.text("class")));
    action.risks.push_back({known, risk.text("note")});
  }
  TIK_TRY(Json const recorded, desk_.submit(action, draft->batch));
  draft_.reset();
  return pretty(recorded);
}

} // namespace tik::agent
