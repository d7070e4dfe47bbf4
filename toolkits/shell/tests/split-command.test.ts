import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isHarmless, analyzeCommand, splitCommand } from "../commands/look-at-command.ts";

describe("a command that is taken apart", () => {
  it.each<[string, string[]]>([
    ["npm test", ["npm", "test"]],
    ["  grep  -n 'a b' \"c d\" e\\ f  ", ["grep", "-n", "a b", "c d", "e f"]],
    ["echo ''", ["echo", ""]],
    ["echo a'b'\"c\"d", ["echo", "abcd"]],
    ['echo "a \\"b\\" \\\\ \\x"', ["echo", 'a "b" \\ \\x']],
    ["echo 'it stays $HOME; `x` | y'", ["echo", "it stays $HOME; `x` | y"]],
    ["echo a#b a~b a=b", ["echo", "a#b", "a~b", "a=b"]],
    ["git commit -m 'one\ntwo'", ["git", "commit", "-m", "one\ntwo"]],
  ])("%j has the words %j", (command, words) => {
    expect(splitCommand(command)).toEqual({ kind: "plain", words });
  });

  it.each([
    ["a | b", "|"],
    ["a && b", "&"],
    ["a; b", ";"],
    ["a > b", ">"],
    ["a < b", "<"],
    ["a $(b)", "$"],
    ['a "$(b)"', "$"],
    ["a `b`", "`"],
    ['a "`b`"', "`"],
    ["a $B", "$"],
    ["ls *", "*"],
    ["ls a?", "?"],
    ["ls [ab]", "["],
    ["echo {a,b}", "{"],
    ["a\nb", "\n"],
    ["A=1 b", "="],
    ["ls ~", "~"],
    ["# a", "#"],
    ["! a", "!"],
    ["(a)", "("],
    ["a \\", "\\"],
  ])("%j is a shell's, because of %j", (command, sign) => {
    expect(splitCommand(command)).toEqual({ kind: "shell", sign });
  });

  it.each([
    "echo 'a",
    'echo "a',
    "",
    "  ",
    "''",
    "echo a\u202Eb",
    "echo \u0007",
    "echo a\u200Bb",
    "l\0s",
    "ls\u2028rm",
  ])("%j cannot be read", (command) => {
    expect(splitCommand(command).kind).toBe("unreadable");
  });
});

describe("plain words", () => {
  const sign = fc.constantFrom(
    "a",
    "b",
    " ",
    " ",
    "'",
    '"',
    "\\",
    "-",
    "=",
    "#",
    "~",
    "!",
    "$",
    "*",
    "|",
    "é",
    "\t",
    ",",
    "%",
    "^",
    ":",
    "/",
  );
  const text = fc.array(sign, { minLength: 1, maxLength: 14 }).map((signs) => signs.join(""));

  it("are those that a shell would hand on", () => {
    const commands = fc.sample(text, 4000).flatMap((command) => {
      const split = splitCommand(`printf ${command}`);
      return split.kind === "plain" ? [{ command, words: split.words.slice(1) }] : [];
    });
    expect(commands.length).toBeGreaterThan(200);
    const script = commands.map(({ command }) => `show ${command}`).join("\n");
    const said = execFileSync("/bin/sh", [], {
      input: `show() { printf '%s\\0' "$#" "$@"; }\n${script}\n`,
      encoding: "utf8",
    });
    const expected = commands.map(({ words }) => [String(words.length), ...words].map((word) => `${word}\0`).join(""));
    expect(said).toBe(expected.join(""));
  });
});

describe("harmless words", () => {
  it("are those of programs that only read, with paths that stay", () => {
    expect(isHarmless(["cat", "a.txt"])).toBe(true);
    expect(isHarmless(["cat", "/etc/passwd"])).toBe(false);
    expect(isHarmless([])).toBe(false);
  });

  it.each([
    ["programs in programs", "env ".repeat(499)],
    ["shells in programs", "env xargs sh -c ".repeat(120)],
    ["beginnings of functions", "(){|".repeat(499)],
  ])("are looked for without an end to it in %s", (_, command) => {
    for (let count = 0; count < 20; count += 1)
      expect(analyzeCommand(command)).toMatchObject({ kind: "runs", isHarmless: false });
  });

  it("say why a command is refused", () => {
    expect(analyzeCommand("sudo ls")).toEqual({ kind: "refused", reason: "sudo takes the rights of another user" });
  });
});
