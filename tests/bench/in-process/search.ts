import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ripgrepPath } from "../../../src/tools/workspace/ripgrep.ts";
import { searchContent } from "../../../src/tools/files/search-content.ts";
import { aWorkspace, type Workspace } from "../../support/a-workspace.ts";
import type { Figure, Section } from "../figures.ts";

const run = promisify(execFile);
const line = "The node of the second stage carries the bias of 12 mA, see notes 4 and 17.\n";

/** What is looked for, as both read it, and in how many files it stands (one in `every`). */
const searches = [
  { measure: "a word of 20 files", regex: "seldomword", every: 1000, text: "here is seldomword, once" },
  { measure: "a word of 2,000 files", regex: "commonword", every: 10, text: "here is commonword, once" },
  {
    measure: "an expression of 20 files",
    regex: "rare_[a-z]+\\(\\d+\\)",
    every: 1000,
    text: "a call of rare_call(42)",
  },
  { measure: "a word that is nowhere", regex: "nowhereatall", every: Infinity, text: "" },
];

/**
 * Our search in contents against ripgrep alone, over a workspace of `files` text files of 10 KB (at most 1.5 times).
 * The fastest of several, in turns: the others measure what else the machine does.
 */
export async function measureSearch(files: number, rounds: number): Promise<Section> {
  const title = `Search over ${files} files of 10 KB, against ripgrep alone`;
  const program = await ripgrepPath();
  if (program === null) return { title: `${title}: it has no program for this machine`, figures: [] };
  await using workspace = await aWorkspace();
  await fill(workspace.root, files);
  const figures: Figure[] = [];
  for (const { measure, regex } of searches) figures.push(await compare(workspace, program, measure, regex, rounds));
  return { title, figures };
}

async function fill(folder: string, files: number): Promise<void> {
  for (let at = 0; at < files; at += 1) {
    const place = join(folder, `part-${at % 40}`, `group-${at % 7}`);
    if (at < 280) await mkdir(place, { recursive: true });
    const words = searches.filter(({ every }) => at % every === 0).map(({ text }) => `${text}\n`);
    const half = line.repeat(Math.ceil(5_000 / line.length));
    await writeFile(join(place, `file-${at}.txt`), half + words.join("") + half);
  }
}

async function compare(
  workspace: Workspace,
  program: string,
  measure: string,
  regex: string,
  rounds: number,
): Promise<Figure> {
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    ours.push(await timed(() => workspace.call(searchContent, { path: ".", regex })));
    theirs.push(await timed(() => ripgrep(workspace.root, program, regex)));
  }
  const [own, alone] = [Math.min(...ours), Math.min(...theirs)];
  const note = `${own.toFixed(0)} ms, ripgrep alone ${alone.toFixed(0)} ms`;
  return { measure, value: own / alone, unit: "times", max: 1.5, note };
}

/** The same question put to ripgrep: lines with their numbers and two around them, hidden and ignored files too. */
async function ripgrep(folder: string, program: string, regex: string): Promise<void> {
  const options = [
    "--no-config",
    "--hidden",
    "--no-ignore",
    "--line-number",
    "--context",
    "2",
    "--regexp",
    regex,
    "../",
  ];
  try {
    await run(program, options, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    // It ends with 1 where it finds nothing.
    if (!(error instanceof Error && "code" in error && error.code === 1)) throw error;
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
