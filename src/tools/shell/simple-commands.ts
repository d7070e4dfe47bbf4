/** One program with its words, as a shell would find it somewhere in a command. */
export interface SimpleCommand {
  /** The program without its folder, in lower case; empty when only variables are set. */
  name: string;
  words: string[];
  text: string;
  /** It reads what another one writes. */
  isPiped: boolean;
  /** Variables that are set for it. */
  assigned: string[];
  /** Where redirections write. */
  writes: string[];
}

/** Programs that run the program which their words name. */
const wrappers = new Set(
  "env nohup nice ionice timeout time stdbuf setsid command exec builtin xargs busybox toybox watch strace ltrace script unbuffer chrt taskset parallel then do else if while until not ! coproc flock proxychains".split(
    " ",
  ),
);
/** Programs that run what they are given as text, and by which word it begins. */
const shells = /^(?:(?:ba|z|da|k|a|mk)?sh|eval)$/u;

/** How deep commands are looked for in commands. */
const mostLevels = 5;

/**
 * The programs that a command would run, as far as reading tells: behind every sign that begins one, in substitutions,
 * behind programs that start others, and in the text that is given to a shell. It sees too much rather than too little.
 * A short text may hold thousands, so they are found one by one, as they are asked for.
 */
export function* simpleCommands(command: string, level = 0): Generator<SimpleCommand, undefined> {
  for (const { text, isPiped } of segmentsOf(command)) yield* commandsIn(wordsOf(text), { text, isPiped, level });
}

/** The programs that words run which no shell reads: one, and what it starts. */
export function startedBy(words: readonly string[]): Generator<SimpleCommand, undefined> {
  return commandsIn(words, { text: words.join(" "), isPiped: false, level: 0 });
}

/** The pieces between the signs that end a command. Quotes are looked into as well: what stands there may be run. */
function segmentsOf(command: string): { text: string; isPiped: boolean }[] {
  const plain = command
    .replaceAll(/\\\n/gu, "")
    .replaceAll(/\$(?:IFS|\{IFS[^}]*\})/gu, " ")
    .replaceAll(">|", ">");
  const pieces = plain.split(/(\|\|?&?|&&?|;|\n|\$\(|`|[<>]\(|\(|\)|(?:^|\s)[{}](?=\s|$))/u);
  const segments: { text: string; isPiped: boolean }[] = [];
  let sign = "";
  for (const [index, piece] of pieces.entries()) {
    if (index % 2 === 1) sign = piece.trim();
    // `>&2` and `&>file` are redirections, not two commands.
    else if (sign === "&" && segments.length > 0 && (/^[\d-]/u.test(piece) || piece.startsWith(">"))) {
      const last = segments.at(-1);
      if (last !== undefined) last.text += `&${piece}`;
    } else if (piece.trim() !== "") segments.push({ text: piece.trim(), isPiped: sign === "|" || sign === "|&" });
  }
  return segments;
}

function* commandsIn(
  given: readonly string[],
  { text, isPiped, level }: { text: string; isPiped: boolean; level: number },
): Generator<SimpleCommand, undefined> {
  const { words, writes } = withoutRedirections(given);
  const assigned: string[] = [];
  let at = 0;
  for (; at < words.length; at += 1) {
    const variable = /^(\w+)\+?=/u.exec(words[at] ?? "")?.[1];
    if (variable === undefined) break;
    assigned.push(variable);
  }
  const own = words.slice(at);
  const name = nameOf(own[0] ?? "");
  const exported = ["export", "declare", "typeset", "local", "readonly"].includes(name)
    ? own.slice(1).flatMap((word) => /^(\w+)\+?=/u.exec(word)?.[1] ?? [])
    : [];
  yield { name, words: own, text, isPiped, assigned: [...assigned, ...exported], writes };
  if (level >= mostLevels) return;
  for (const inner of textsInside(name, own)) {
    for (const one of simpleCommands(inner, level + 1)) yield { ...one, isPiped: one.isPiped || isPiped };
  }
}

/** What a program would run that starts others. */
function textsInside(name: string, words: readonly string[]): string[] {
  const inner: string[] = [];
  const given = words.slice(1);
  if (wrappers.has(name)) {
    // Every word may be the program: options of wrappers have values of their own.
    for (const [index, word] of given.entries()) {
      if (!word.startsWith("-") && index < 6) inner.push(given.slice(index).join(" "));
    }
  }
  if (shells.test(name)) {
    const code = given.findIndex((word) => /^-\w*c\w*$/u.test(word));
    if (code !== -1) inner.push(given.slice(code + 1).join(" "));
    if (name === "eval") inner.push(given.join(" "));
  }
  const action = given.findIndex((word) => /^-(?:exec|execdir|ok|okdir)$/u.test(word));
  if (name === "find" && action !== -1) inner.push(given.slice(action + 1).join(" "));
  return inner;
}

/** Words without their quotes and backslashes, as a shell would hand them on. */
function wordsOf(text: string): string[] {
  const words = text.match(/(?:"(?:[^"\\]|\\[^])*"|'[^']*'|\\[^]|[^\s"'\\]|["'])+/gu) ?? [];
  return words.map((word) =>
    word
      .replaceAll(/\$(?=["'])/gu, "")
      .replaceAll(/["']/gu, "")
      .replaceAll(/\\(?=[^])/gu, ""),
  );
}

function withoutRedirections(all: readonly string[]): { words: string[]; writes: string[] } {
  const words: string[] = [];
  const writes: string[] = [];
  for (let at = 0; at < all.length; at += 1) {
    const word = all[at] ?? "";
    const redirection = /^(.*?)(?:\d|&)?>{1,2}[|&]?(.*)$/u.exec(word);
    if (redirection === null) {
      if (word !== "") words.push(word);
      continue;
    }
    if ((redirection[1] ?? "") !== "") words.push(redirection[1] ?? "");
    let target = redirection[2] ?? "";
    if (target === "") {
      at += 1;
      target = all[at] ?? "";
    }
    writes.push(target);
  }
  return { words, writes };
}

function nameOf(word: string): string {
  return (word.split("/").at(-1) ?? "").replace(/\.exe$/iu, "").toLowerCase();
}
