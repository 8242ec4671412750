#include "src/cli/completion.h"

#include <fmt/format.h>

namespace tik::cli {
namespace {

// Calls visit(words, command) for every command: words are those that lead to it, "act begin".
template <class Visit>
void for_each_command(CommandHelp const& command, std::string const& words, Visit const& visit) {
  visit(words, command);
  for (CommandHelp const& sub : command.commands)
    for_each_command(sub, words.empty() ? sub.name : words + ' ' + sub.name, visit);
}

std::string in_quotes(std::string const& text, char quote) {
  std::string escaped;
  for (char const letter : text) {
    if (letter == '\'')
      escaped += quote == '\'' ? "'\\''" : "'";
    else
      escaped += letter;
  }
  return quote + escaped + quote;
}

std::string words_of(CommandHelp const& command) {
  std::string words;
  for (CommandHelp const& sub : command.commands) words += (words.empty() ? "" : " ") + sub.name;
  for (OptionHelp const& option : command.options) words += (words.empty() ? "" : " ") + option.name;
  return words;
}

std::string bash_script(CommandHelp const& tree) {
  std::string script =
      "_tik() {\n"
      "  local current=\"${COMP_WORDS[COMP_CWORD]}\" path=\"\" word i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    word=\"${COMP_WORDS[i]}\"\n"
      "    case \"$path $word\" in\n";
  for_each_command(tree, "", [&](std::string const& words, CommandHelp const&) {
    if (words.empty()) return;
    auto const space = words.rfind(' ');
    std::string const before = space == std::string::npos ? "" : words.substr(0, space);
    std::string const last = space == std::string::npos ? words : words.substr(space + 1);
    script += fmt::format("      '{} {}') path='{}' ;;\n", before, last, words);
  });
  script += "    esac\n  done\n  local words=\"\"\n  case \"$path\" in\n";
  for_each_command(tree, "", [&](std::string const& words, CommandHelp const& command) {
    script += fmt::format("    '{}') words='{}' ;;\n", words, words_of(command));
  });
  return script +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  [[ ${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "}\n"
         "complete -o filenames -F _tik tik\n";
}

std::string zsh_script(CommandHelp const& tree) {
  std::string script =
      "#compdef tik\n"
      "_tik() {\n"
      "  local at=\"\" word\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case \"$at $word\" in\n";
  for_each_command(tree, "", [&](std::string const& words, CommandHelp const&) {
    if (words.empty()) return;
    auto const space = words.rfind(' ');
    std::string const before = space == std::string::npos ? "" : words.substr(0, space);
    script +=
        fmt::format("      '{} {}') at='{}' ;;\n", before, words.substr(space == std::string::npos ? 0 : space + 1), words);
  });
  script += "    esac\n  done\n  local -a choices\n  case \"$at\" in\n";
  for_each_command(tree, "", [&](std::string const& words, CommandHelp const& command) {
    script += fmt::format("    '{}') choices=(", words);
    auto const choice = [&](std::string const& name, std::string const& description) {
      std::string text = name + ':';
      for (char const letter : description) text += letter == ':' ? std::string("\\:") : std::string(1, letter);
      script += ' ' + in_quotes(text, '\'');
    };
    for (CommandHelp const& sub : command.commands) choice(sub.name, sub.description);
    for (OptionHelp const& option : command.options) choice(option.name, option.description);
    script += " ) ;;\n";
  });
  return script +
         "  esac\n"
         "  _describe 'tik' choices || _files\n"
         "}\n"
         "compdef _tik tik\n";
}

std::string fish_script(CommandHelp const& tree) {
  std::string script =
      "function __tik_at\n"
      "  set -l seen\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    string match -q -- '-*' $word; or set -a seen $word\n"
      "  end\n"
      "  set -l wanted (string split -n ' ' -- $argv[1])\n"
      "  set -l length (count $wanted)\n"
      "  if test $length -eq 0\n"
      "    test (count $seen) -eq 0\n"
      "    return\n"
      "  end\n"
      "  test (count $seen) -ge $length; and test \"$seen[1..$length]\" = \"$wanted\"\n"
      "end\n";
  for_each_command(tree, "", [&](std::string const& words, CommandHelp const& command) {
    std::string const here = in_quotes("__tik_at " + in_quotes(words, '"'), '\'');
    for (CommandHelp const& sub : command.commands)
      script += fmt::format("complete -c tik -n {} -a {} -d {}\n", here, sub.name, in_quotes(sub.description, '\''));
    for (OptionHelp const& option : command.options) {
      bool const is_long = option.name.starts_with("--");
      script +=
          fmt::format("complete -c tik -n {} {} {}{} -d {}\n", here, is_long ? "-l" : "-s", option.name.substr(is_long ? 2 : 1),
                      option.takes_value ? " -r" : "", in_quotes(option.description, '\''));
    }
  });
  return script;
}

} // namespace

std::string completion_script(CommandHelp const& tree, std::string const& shell) {
  if (shell == "zsh") return zsh_script(tree);
  return shell == "fish" ? fish_script(tree) : bash_script(tree);
}

} // namespace tik::cli
