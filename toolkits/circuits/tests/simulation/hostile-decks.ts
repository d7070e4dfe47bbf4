import { readdir } from "node:fs/promises";
import { join } from "node:path";

/** What a hostile deck is expected to come to: refused before it runs, or run without the part that is hostile. */
export interface HostileDeck {
  name: string;
  lines: string[];
  /** The first line, which is the title. */
  title?: string;
  outcome: "permission" | "not_found" | "invalid_parameter" | "too_large" | "invalid_format" | "harmless";
}

const control = (...commands: string[]): string[] => [".control", ...commands, ".endc"];
const refused = (name: string, ...lines: string[]): HostileDeck => ({ name, lines, outcome: "permission" });
const harmless = (name: string, ...lines: string[]): HostileDeck => ({ name, lines, outcome: "harmless" });

/** Ways out of a simulator that are known or were thought of; each goes into a circuit that would run without it. */
export const hostileDecks: HostileDeck[] = [
  refused("a shell command", ...control("shell touch escaped")),
  refused("a shell command in large letters", ".CONTROL", "SHELL touch escaped", ".ENDC"),
  refused("a shell command after a run", ...control("run", "shell id > escaped")),
  refused("a shell command with blanks before it", "   .control", "   shell   touch escaped", "   .endc"),
  refused("a shell command that goes on in the next line", ...control("shell", "+ touch escaped")),
  refused("a control part without an end", ".control", "shell touch escaped"),
  refused("a command behind a mark of exclamation", ...control("!touch escaped")),
  refused("a backquoted command", ...control("echo `touch escaped`")),
  refused("a backquote in an element", "R9 in 0 `touch escaped`"),
  refused("a backquote in a parameter", ".param x='`touch escaped`'"),
  refused("writing vectors to a file", ...control("wrdata ../escaped v(out)")),
  refused("writing a raw file", ...control("write /tmp/escaped")),
  refused("writing sections to a file", ...control("wrs2p escaped.s2p")),
  refused("redirected output", ...control("print all > ../escaped")),
  refused("redirected output that is appended", ...control("echo hello >> escaped")),
  refused("redirected errors", ...control("display >& escaped")),
  refused("a hard copy", ...control("hardcopy escaped.ps v(out)")),
  refused("a plot for another program", ...control("gnuplot escaped v(out)")),
  refused("a plot for a window system", ...control("xgraph escaped v(out)")),
  refused("another file of commands", ...control("source /etc/passwd")),
  refused("another circuit", ...control("load /etc/passwd")),
  refused("another folder", ...control("cd /etc")),
  refused("the name of the folder", ...control("getcwd")),
  refused("loading compiled models", ...control("codemodel /tmp/evil.cm")),
  refused("loading compiled devices", ...control("osdi /tmp/evil.osdi")),
  refused("loading compiled devices beforehand", ...control("pre_osdi evil.osdi")),
  refused("any command beforehand", ...control("pre_shell touch escaped")),
  refused("changing the circuit", ...control("alter r1 = 5")),
  refused("an editor", ...control("edit")),
  refused("an external program as a debugger", ...control("aspice deck.cir")),
  refused("a job on another machine", ...control("rspice deck.cir")),
  refused("a report by mail", ...control("bug")),
  refused("a definition of a command", ...control("define f(x) x", "alias run shell touch escaped", "run")),
  refused("an alias", ...control("alias run shell touch escaped", "run")),
  refused("a history of commands", ...control("history")),
  refused("a call of another script", ...control("mc_source")),
  refused("a variable of the environment", ...control("setenv PATH .")),
  refused("a system file", ".include /etc/passwd"),
  refused("a system file in quotation marks", '.include "/etc/passwd"'),
  refused("a system file in large letters", ".INCLUDE /etc/passwd"),
  refused("a system file as a library", ".lib /etc/passwd tt"),
  refused("a file above the workspace", ".include ../canary.txt"),
  refused("a file above the workspace, by a way round", ".include models/../../canary.txt"),
  refused("a file in a home folder", ".include ~/canary.txt"),
  refused("a file by a variable", ".include $HOME/canary.txt"),
  refused("a file on a drive", ".include C:\\canary.txt"),
  refused("a file by a share", ".inc \\\\server\\canary.txt"),
  refused("a file by a link that leads out", ".include link.inc"),
  refused("a shell command in an included file", ".include hostile.inc"),
  refused("a shell command in a file that an included one includes", ".include nested.inc"),
  refused("an included file that includes one outside", ".include outward.inc"),
  refused("a source of values from a file", "A1 %v[in] src", '.model src filesource (file="/etc/passwd")'),
  refused("a model of values from a file", '.model src filesource (file="/etc/passwd")'),
  refused("a model that starts a program", '.model proc d_process (process_file="/bin/sh")'),
  refused("a state machine from a file", '.model m d_state (state_file="/etc/passwd")'),
  refused("a digital source from a file", '.model m d_source (input_file="/etc/passwd")'),
  refused("a table from a file", '.model t table2d (file="/etc/passwd")'),
  refused("a device of compiled code", "A1 in out gain1"),
  refused("a device of a compiled language", "N1 in out dev"),
  refused("a source that reads a file", 'V9 x 0 pwlfile="/etc/passwd"'),
  refused("an unknown card", ".exec touch escaped"),
  refused("a card that sets variables of the command language", ".csparam x=1"),
  refused("a control character", "R9 in 0 1k \u0007"),
  { name: "a zero byte", lines: ["R9 in 0 1k\u0000"], outcome: "invalid_format" },
  harmless("a comment that is a command", "*# shell touch escaped"),
  harmless("a comment that is a command, with a blank", "* # shell touch escaped"),
  harmless("a comment behind an element", "R9 in 0 1k ; shell touch escaped"),
  harmless("a comment behind a dollar sign", "R9 in 0 1k $ shell touch escaped"),
  harmless("a mark that makes a file a script", "*ng_script"),
  { ...harmless("a title that makes the file a script", "R9 in 0 1k"), title: "*ng_script_with_params" },
  { ...harmless("a title that is a command", "R9 in 0 1k"), title: "shell touch escaped" },
  { ...harmless("a title with a backquote", "R9 in 0 1k"), title: "`touch escaped`" },
  harmless("options that name files", ".options sourcepath=/etc post=2 ngbehavior=psa"),
  harmless("what is printed to a file", ".print tran v(out) > escaped", ".width out=80"),
  harmless("what is saved", ".save all", ".probe alli"),
  harmless("what follows the end", ".end", ".control", "shell touch escaped", ".endc"),
  harmless("a control part that only shows", ...control("run", "plot v(out)", "print v(out)", "quit")),
  { name: "a file that is not there", lines: [".include nowhere.inc"], outcome: "not_found" },
  { name: "a section that is not there", lines: [".lib parts.lib missing"], outcome: "not_found" },
  { name: "files that include each other", lines: [".include ring.inc"], outcome: "invalid_parameter" },
  { name: "a circuit that includes itself", lines: [".include deck.cir"], outcome: "invalid_parameter" },
  {
    name: "a sub-circuit that contains itself",
    lines: ["X1 in 0 self", ".subckt self a b", "X1 a b self", ".ends"],
    outcome: "invalid_parameter",
  },
  { name: "files without end", lines: Array.from({ length: 101 }, () => ".include part.inc"), outcome: "too_large" },
  { name: "a line without end", lines: [`.param x=${"1+".repeat(20_000)}1`], outcome: "too_large" },
  { name: "points without end", lines: [".tran 1p 1"], outcome: "too_large" },
  { name: "a sweep without end", lines: [".dc V1 0 1 1e-12"], outcome: "too_large" },
  { name: "a step of zero", lines: [".dc V1 0 1 0"], outcome: "invalid_parameter" },
  { name: "an analysis with something behind it", lines: [".tran 1u 1m > ../escaped"], outcome: "invalid_parameter" },
];

/** The files beside the deck. */
export const hostileFiles: Record<string, string> = {
  "hostile.inc": ".control\nshell touch escaped\n.endc\n",
  "nested.inc": ".include hostile.inc\n",
  "outward.inc": ".include ../canary.txt\n",
  "ring.inc": ".include ring2.inc\n",
  "ring2.inc": ".include ring.inc\n",
  "part.inc": "* nothing\n",
  "parts.lib": ".lib tt\n.param p=1\n.endl\n",
};

/** Every file and folder below a folder. */
export async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
}
