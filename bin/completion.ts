import type { Command, Option } from "commander";

/** Shells with completion scripts. */
export const shells = ["bash", "zsh", "fish"] as const;
/** A supported shell. */
export type Shell = (typeof shells)[number];

/** A command for a completion script. */
interface Completed {
  name: string;
  about: string;
  options: readonly Option[];
}

/** The script that completes a program's commands and options in a shell. */
export function completionScript(shell: Shell, program: Command): string {
  const help = program.createHelp();
  const commands = help
    .visibleCommands(program)
    .map((one) => ({ name: one.name(), about: one.description(), options: help.visibleOptions(one) }));
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](
    program.name(),
    commands,
    help.visibleOptions(program),
  );
}

const flagsOf = ({ short, long }: Option): string[] => [short, long].filter((flag) => flag !== undefined);
const takesValue = ({ required, optional }: Option): boolean => required || optional;
/** Single-quoted, as all three shells read it. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function bashScript(name: string, commands: readonly Completed[], ofProgram: readonly Option[]): string {
  const first = [...commands.map((one) => one.name), ...ofProgram.flatMap(flagsOf)].join(" ");
  const cases = commands.map((one) => `    ${one.name}) options=${quoted(one.options.flatMap(flagsOf).join(" "))} ;;`);
  return `# ${name} completion for bash: source <(${name} completion bash)
_${name}() {
  local word="\${COMP_WORDS[COMP_CWORD]}" options=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ${quoted(first)} -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
  esac
}
complete -o default -F _${name} ${name}
`;
}

function zshScript(name: string, commands: readonly Completed[], ofProgram: readonly Option[]): string {
  const plain = (text: string): string => text.replaceAll(/[[\]:\\]/gu, String.raw`\$&`);
  const argument = (option: Option): string => {
    const flags = flagsOf(option);
    const value = takesValue(option) ? `:${option.attributeName()}:_files` : "";
    return flags.map((flag) => quoted(`${flag}[${plain(option.description)}]${value}`)).join(" ");
  };
  const list = commands.map((one) => `    ${quoted(`${one.name}:${plain(one.about)}`)}`);
  const cases = commands.map(
    (one) => `    ${one.name}) _arguments ${one.options.map(argument).join(" ")} '*:file:_files' ;;`,
  );
  return `#compdef ${name}
# ${name} completion for zsh: source <(${name} completion zsh), after compinit
_${name}() {
  local -a commands
  commands=(
${list.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments ${ofProgram.map(argument).join(" ")}
    return
  fi
  shift words
  (( CURRENT -= 1 ))
  case $words[1] in
${cases.join("\n")}
  esac
}
compdef _${name} ${name}
`;
}

function fishScript(name: string, commands: readonly Completed[], ofProgram: readonly Option[]): string {
  const line = (condition: string, option: Option): string => {
    const flags = flagsOf(option).map((flag) =>
      flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
    );
    const value = takesValue(option) ? " -r" : "";
    return `complete -c ${name} -n ${quoted(condition)} ${flags.join(" ")}${value} -d ${quoted(option.description)}`;
  };
  const lines = [
    ...commands.map((one) => `complete -c ${name} -n __fish_use_subcommand -f -a ${one.name} -d ${quoted(one.about)}`),
    ...ofProgram.map((option) => line("__fish_use_subcommand", option)),
    ...commands.flatMap((one) => one.options.map((option) => line(`__fish_seen_subcommand_from ${one.name}`, option))),
  ];
  return `# ${name} completion for fish: ${name} completion fish | source\n${lines.join("\n")}\n`;
}
