#include "src/cli/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "src/cli/parse_check.h"
#include "src/cli/parse_run.h"
#include "src/cli/version.h"

namespace tik::cli {
namespace {

using Fill = std::optional<Command>;

// A command under `parent` whose options fill a value of type T; when it was given, `result` becomes that value.
template <class T, class Define>
void command(CLI::App& parent, Fill& result, char const* name, char const* description, char const* examples, Define define) {
  CLI::App* const app = parent.add_subcommand(name, description);
  auto const value = std::make_shared<T>();
  define(*app, *value);
  if constexpr (requires { value->search; }) {
    bool const positional = app->get_options([](CLI::Option const* option) { return option->get_positional(); }).empty();
    app->add_option(positional ? "-C,--search,DIR" : "-C,--search", value->search, "Folder of the search")
        ->envname("TIK_DIR")
        ->type_name("DIR")
        ->capture_default_str();
  }
  if constexpr (requires { value->runner; }) {
    CLI::Option* const runner =
        app->add_option("--runner", value->runner,
                        "Audit on another host: how tik is started there, or a command with {bundle} and {out}")
            ->type_name("CMD");
    app->add_option("--runner-seconds", value->runner_seconds, "Limit of one try on that host")
        ->type_name("N")
        ->check(positive_number())
        ->capture_default_str()
        ->needs(runner);
    app->add_option("--runner-tries", value->runner_tries, "Tries before giving up")
        ->type_name("N")
        ->check(CLI::Range(1, 100))
        ->capture_default_str()
        ->needs(runner);
  }
  if constexpr (requires { value->profile; }) {
    app->add_option("--profile", value->profile, "On a GPU, have Nsight Compute look at this workload; may be repeated")
        ->type_name("WORKLOAD")
        ->expected(1, any_number)
        ->allow_extra_args(false);
  }
  if constexpr (requires { value->json; })
    app->add_flag("--json", value->json,
                  std::is_same_v<T, Run> ? "JSON lines on standard output: one an audit, and why the run ended"
                                         : "One JSON document on standard output");
  app->footer(std::string("Examples:\n") + examples);
  app->callback([value, &result] { result = Command(*value); });
}

CLI::App* group(CLI::App& parent, char const* name, char const* description, char const* examples) {
  CLI::App* const app = parent.add_subcommand(name, description);
  app->require_subcommand(1);
  app->footer(std::string("Examples:\n") + examples);
  return app;
}

void add_search_commands(CLI::App& app, Fill& result) {
  command<New>(app, result, "new", "Start a search: audit the root implementation and seal the specification",
               "  tik new search --spec targets/attention-cpu/spec.toml\n  tik new search --spec spec.toml --root my-kernel\n"
               "  tik new search --spec spec.toml --bundle root.tik      # then on the other host: tik evaluate --bundle\n"
               "  tik new search --spec spec.toml --apply reports",
               [](CLI::App& sub, New& value) {
                 sub.add_option("DIR", value.folder, "Folder of the new search; must not exist")->required()->type_name("");
                 sub.add_option("--spec", value.specification, "Specification, a TOML file")->required()->type_name("FILE");
                 sub.add_option("--root", value.root, "Root implementation; default: the one that the specification names")
                     ->type_name("DIR");
                 CLI::Option* const bundle =
                     sub.add_option("--bundle", value.bundle, "Only write the bundle with which another host audits the root")
                         ->type_name("FILE");
                 sub.add_option("--apply", value.apply, "Take the root's report from what that host made of the bundle")
                     ->type_name("REPORTS")
                     ->excludes(bundle);
               });
  command<Run>(
      app, result, "run", "Let an agent search until a stopping rule holds; Ctrl-C stops, the next run goes on",
      "  tik run search\n  tik run search --agent builtin --seed 7 --steps 20\n  tik run search --runner 'ssh gpu tik'\n  tik "
      "run search --json\n"
      "  tik run search --agent model --api anthropic --base-url https://api.example.com --model NAME --key-env MODEL_KEY",
      [](CLI::App& sub, Run& value) { add_run_options(sub, value); });
  command<Status>(app, result, "status", "Where a search stands: incumbent, speedup, patience, frontier, archive",
                  "  tik status search\n  tik status -C search --json", [](CLI::App&, Status&) {});
  command<Log>(app, result, "log", "The lineage as a graph, newest first: outcome, T, branch status, form",
               "  tik log search\n  tik log search --limit 0 --json", [](CLI::App& sub, Log& value) {
                 sub.add_option("--limit", value.limit, "Show the N newest implementations; 0: all")
                     ->type_name("N")
                     ->check(non_negative_number())
                     ->capture_default_str();
               });
  command<Show>(
      app, result, "show", "One record with its links: an implementation, opportunity, action, audit or lineage decision",
      "  tik show I7\n  tik show U7 -C search --json",
      [](CLI::App& sub, Show& value) { sub.add_option("ID", value.id, "I7, O12, A7, U7 or L7")->required()->type_name(""); });
  command<Diff>(app, result, "diff", "Compare two implementations: sources, and with --evidence latencies and evidence",
                "  tik diff I0 I7\n  tik diff I0 I7 --evidence", [](CLI::App& sub, Diff& value) {
                  sub.add_option("A", value.from, "First implementation")->required()->type_name("");
                  sub.add_option("B", value.to, "Second implementation")->required()->type_name("");
                  sub.add_flag("--evidence", value.evidence, "Latencies and evidence side by side instead of the sources");
                });
  command<Best>(app, result, "best", "The best implementation, and its sources in a folder",
                "  tik best search\n  tik best search --export faster-kernel", [](CLI::App& sub, Best& value) {
                  sub.add_option("--export", value.export_to, "Write the sources to this folder; must be empty or absent")
                      ->type_name("OUT");
                });
  command<Report>(
      app, result, "report", "Write the report: Markdown and plots", "  tik report search\n  tik report search --out results",
      [](CLI::App& sub, Report& value) {
        sub.add_option("--out", value.out, "Folder of the report; default: report/ in the search")->type_name("OUT");
      });
}

void add_step_commands(CLI::App& app, Fill& result) {
  CLI::App& opportunity = *group(app, "opportunity", "Opportunities: list, add, withdraw",
                                 "  tik opportunity list\n  tik opportunity add --mechanism 'Load K once per query block' "
                                 "--workload full-256 --evidence U1 --for I0\n"
                                 "  tik opportunity withdraw O12 --reason 'U9 shows that loads do not limit it'");
  command<OpportunityList>(
      opportunity, result, "list", "Pending opportunities", "  tik opportunity list\n  tik opportunity list --all --json",
      [](CLI::App& sub, OpportunityList& value) { sub.add_flag("--all", value.all, "Taken and withdrawn ones too"); });
  command<OpportunityAdd>(
      opportunity, result, "add", "Propose a direction, supported by an audit",
      "  tik opportunity add --mechanism 'Load K once per query block' --workload full-256 --evidence U1 --for I0 --note 'K "
      "loads dominate'",
      [](CLI::App& sub, OpportunityAdd& value) {
        sub.add_option("--mechanism", value.mechanism, "What to change in how the hardware is used, and why it should pay")
            ->required()
            ->type_name("TEXT");
        sub.add_option("--kind", value.kind, "change, merge or reactivate")->type_name("KIND")->capture_default_str();
        sub.add_option("--workload", value.workloads, "Affected workload; may be repeated")
            ->type_name("ID")
            ->expected(1, any_number)
            ->allow_extra_args(false);
        sub.add_option("--entry-point", value.entry_points, "Affected entry point: full or decode")
            ->type_name("NAME")
            ->expected(1, any_number)
            ->allow_extra_args(false);
        sub.add_option("--evidence", value.evidence, "Supporting audit; may be repeated")
            ->required()
            ->type_name("U")
            ->expected(1, any_number)
            ->allow_extra_args(false);
        sub.add_option("--note", value.note, "What in those audits supports it")->type_name("TEXT");
        sub.add_option("--for", value.implementations, "Verified implementation it may apply to")
            ->required()
            ->type_name("I")
            ->expected(1, any_number)
            ->allow_extra_args(false);
      });
  command<OpportunityWithdraw>(opportunity, result, "withdraw", "Take a pending opportunity back; it stays in the history",
                               "  tik opportunity withdraw O12 --reason 'U9 shows that loads do not limit it'",
                               [](CLI::App& sub, OpportunityWithdraw& value) {
                                 sub.add_option("ID", value.id, "The opportunity")->required()->type_name("");
                                 sub.add_option("--reason", value.reason, "Why")->required()->type_name("TEXT");
                               });

  CLI::App& act = *group(app, "act", "Act by hand: check out parents, edit, submit",
                         "  tik act begin O12 --parent I3 --folder edit\n  tik act submit edit\n  tik audit");
  command<ActBegin>(
      act, result, "begin", "Check out the parents into a folder, with a file for the words of the action",
      "  tik act begin O12 --parent I3 --folder edit\n  tik act begin O15 --parent I3 --parent I5 --folder edit",
      [](CLI::App& sub, ActBegin& value) {
        sub.add_option("OPPORTUNITY", value.opportunity, "A pending opportunity")->required()->type_name("");
        sub.add_option("--parent", value.parents, "Verified implementation to start from; twice: their merge")
            ->required()
            ->type_name("I")
            ->expected(1, any_number)
            ->allow_extra_args(false);
        sub.add_option("--folder", value.folder, "Folder to edit in; must be empty or absent")->required()->type_name("DIR");
      });
  command<ActSubmit>(act, result, "submit", "Record the edited folder as a new implementation",
                     "  tik act submit edit\n  tik audit", [](CLI::App& sub, ActSubmit& value) {
                       sub.add_option("FOLDER", value.folder, "What `tik act begin` made")->required()->type_name("");
                       sub.add_flag("--batch", value.batch,
                                    "Take it although others wait for their audits: all are audited together");
                       sub.add_option("--agent", value.agent, "Who acted")->type_name("NAME")->capture_default_str();
                     });

  command<Audit>(
      app, result, "audit", "Audit the implementation that waits for it, here or on another host",
      "  tik audit\n  tik audit I7 --json\n  tik audit --runner 'ssh gpu tik'\n"
      "  tik audit --bundle five.tik                  # then on the other host: tik evaluate --bundle five.tik --out reports\n"
      "  tik audit --apply reports",
      [](CLI::App& sub, Audit& value) {
        sub.add_option("IMPLEMENTATION", value.implementations,
                       "Default: the first that waits, with --bundle all that wait; several with --bundle or --runner")
            ->type_name("");
        CLI::Option* const bundle =
            sub.add_option("--bundle", value.bundle, "Only write the bundle with which another host audits them")
                ->type_name("FILE");
        sub.add_option("--apply", value.apply, "Record the reports that the other host made of a bundle")
            ->type_name("REPORTS")
            ->excludes(bundle);
      });
  command<Decide>(
      app, result, "decide", "Record what becomes of a branch, after reading an audit",
      "  tik decide U7 --status continue --interpretation 'fewer loads' --reason 'the K tile is next'\n"
      "  tik decide U7 --file decisions.toml",
      [](CLI::App& sub, Decide& value) {
        sub.add_option("AUDIT", value.audit, "The audit that was read")->required()->type_name("");
        CLI::Option* const file =
            sub.add_option("--file", value.file, "Decisions, follow-ups and withdrawals in a TOML or JSON file")
                ->type_name("FILE");
        sub.add_option("--implementation", value.implementation, "Whose branch; default: the audited one")
            ->type_name("I")
            ->excludes(file);
        sub.add_option("--status", value.status, "continue, merge, archive, reactivate or abandon")
            ->type_name("STATUS")
            ->excludes(file);
        sub.add_option("--interpretation", value.interpretation, "What the audit says")->type_name("TEXT")->excludes(file);
        sub.add_option("--reason", value.reason, "Why this status")->type_name("TEXT")->excludes(file);
        sub.add_option("--evidence", value.evidence, "Further audit it rests on; may be repeated")
            ->type_name("U")
            ->expected(1, any_number)
            ->allow_extra_args(false)
            ->excludes(file);
        sub.add_option("--agent", value.agent, "Who decided")->type_name("NAME")->capture_default_str();
      });
}

void add_other_commands(CLI::App& app, Fill& result) {
  command<Mcp>(
      app, result, "mcp", "Serve the search to a coding agent: the Model Context Protocol on standard input and output",
      "  tik mcp search\n  tik mcp search --read-only\n  tik mcp search --runner 'ssh gpu tik'\n  tik mcp --describe",
      [](CLI::App& sub, Mcp& value) {
        sub.add_option("--agent", value.agent, "What the records call the agent")->type_name("NAME")->capture_default_str();
        sub.add_option("--without", value.without, without_help)
            ->type_name("PART")
            ->expected(1, any_number)
            ->allow_extra_args(false);
        sub.add_flag("--read-only", value.read_only, "Offer only what reads; another process may run the search meanwhile");
        sub.add_flag("--describe", value.describe, "Print the tools with their arguments, and serve nothing");
      });
  command<Evaluate>(
      app, result, "evaluate",
      "Evaluate one source folder under a specification, without a search (exit code 1 when not verified), or a bundle",
      "  tik evaluate spec.toml my-kernel\n  tik evaluate spec.toml my-kernel --incumbent old-kernel --json\n"
      "  tik evaluate --bundle five.tik --out reports --devices 0,1\n"
      "  tik evaluate spec.toml my-kernel --against-itself 20",
      [](CLI::App& sub, Evaluate& value) {
        CLI::Option* const specification =
            sub.add_option("SPEC", value.specification, "Specification, a TOML file")->type_name("");
        sub.add_option("SOURCE", value.source, "Folder with implementation.toml")->type_name("");
        CLI::Option* const incumbent =
            sub.add_option("--incumbent", value.incumbent, "Measure interleaved with this implementation")->type_name("DIR");
        CLI::Option* const bundle = sub.add_option("--bundle", value.bundle,
                                                   "Audit the candidates of what `tik audit --bundle` wrote; -: standard input")
                                        ->type_name("FILE")
                                        ->excludes(specification)
                                        ->excludes(incumbent);
        CLI::Option* const out =
            sub.add_option("--out", value.out, "Folder of their reports; those that are there already are kept")
                ->type_name("DIR");
        bundle->needs(out);
        out->needs(bundle);
        sub.add_option("--against-itself", value.against_itself,
                       "Measure SOURCE N times beside itself: how often it would be promoted, and how far T spreads")
            ->type_name("N")
            ->check(CLI::Range(1, 10000))
            ->excludes(incumbent)
            ->excludes(bundle);
        sub.add_option("--devices", value.devices,
                       "GPUs, as nvidia-smi numbers them: 0,1. A bundle's candidates are shared out among them")
            ->type_name("N,N...")
            ->delimiter(',')
            ->check(CLI::Range(0, 1023))
            ->allow_extra_args(false); // else it would take SPEC and SOURCE, too
      });
  command<Check>(app, result, "check",
                 "Check that the operators give the same bits on this machine, at the shapes of a model; exit code 1 when not",
                 "  tik check\n  tik check --model qwen3-8b --quick\n  tik check --cpu --operator attention --json\n"
                 "  tik check --hidden 2048 --heads 16 --kv-heads 8 --head-dim 128 --intermediate 6144 --vocabulary 151936",
                 [](CLI::App& sub, Check& value) { add_check_options(sub, value); });
  command<Verify>(app, result, "verify",
                  "Check every record, hash, link and commit of a search; exit code 1 when something is off",
                  "  tik verify search\n  tik verify -C search --json", [](CLI::App&, Verify&) {});
  command<Doctor>(app, result, "doctor",
                  "Check this machine: compilers, git, disk, clock, sandbox, GPU; a remedy for each failure",
                  "  tik doctor\n  tik doctor --json", [](CLI::App&, Doctor&) {});
  command<Export>(app, result, "export", "A whole search as JSON lines and a git bundle", "  tik export search --out exported",
                  [](CLI::App& sub, Export& value) {
                    sub.add_option("--out", value.out, "Folder to write; must not exist")->required()->type_name("OUT");
                  });
  command<Import>(app, result, "import", "A search from an export; verified before it counts", "  tik import exported search",
                  [](CLI::App& sub, Import& value) {
                    sub.add_option("FROM", value.from, "What `tik export` wrote")->required()->type_name("");
                    sub.add_option("DIR", value.folder, "Folder of the new search; must not exist")->required()->type_name("");
                  });
  command<Completion>(app, result, "completion", "Print a completion script for bash, zsh or fish",
                      "  source <(tik completion bash)\n  tik completion fish > ~/.config/fish/completions/tik.fish",
                      [](CLI::App& sub, Completion& value) {
                        sub.add_option("SHELL", value.shell, "bash, zsh or fish")
                            ->required()
                            ->type_name("")
                            ->check(CLI::IsMember({"bash", "zsh", "fish"}));
                      });
}

void define(CLI::App& app, Fill& result) {
  app.description("TIK: faster unified kernels whose entry points agree bit for bit, found by an agent and kept on record");
  app.name("tik");
  app.set_version_flag("--version", version_text());
  app.require_subcommand(0, 1);
  app.footer(
      "Examples:\n  tik new search --spec targets/attention-cpu/spec.toml\n  tik run search\n  tik log search\n\n"
      "Exit codes: 0 done, 1 a negative answer, 2 bad input, 3 the machine, 4 damaged data, 130 interrupted.");
  add_search_commands(app, result);
  add_step_commands(app, result);
  add_other_commands(app, result);
}

CommandHelp describe(CLI::App const& app) {
  CommandHelp help{app.get_name(), app.get_description(), {}, {}};
  for (CLI::Option const* const option : app.get_options()) {
    for (std::string const& name : option->get_lnames())
      help.options.push_back({"--" + name, option->get_description(), option->get_type_size() > 0});
    for (std::string const& name : option->get_snames())
      help.options.push_back({"-" + name, option->get_description(), option->get_type_size() > 0});
  }
  for (CLI::App const* const sub : app.get_subcommands([](CLI::App const*) { return true; }))
    help.commands.push_back(describe(*sub));
  return help;
}

// The command whose help would help: "tik act begin".
std::string full_name(CLI::App const& app) {
  for (CLI::App const* const sub : app.get_subcommands()) return app.get_name() + ' ' + full_name(*sub);
  return app.get_name();
}

} // namespace

std::variant<Command, Answer> parse(int argc, char const* const* argv) {
  CLI::App app;
  Fill result;
  define(app, result);
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) {
      std::ostringstream out, err;
      app.exit(error, out, err);
      return Answer{0, out.str()};
    }
    std::string message = error.what();
    while (!message.empty() && (message.back() == '.' || message.back() == '\n')) message.pop_back();
    return Answer{2, fmt::format("tik: {}. `{} --help` explains the command.\n", message, full_name(app))};
  }
  if (!result) return Answer{2, "tik: no command was given. `tik --help` lists them.\n"};
  return *std::move(result);
}

CommandHelp command_tree() {
  CLI::App app;
  Fill result;
  define(app, result);
  return describe(app);
}

} // namespace tik::cli
