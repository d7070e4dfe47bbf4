import { spawn } from "node:child_process";
import { existsSync, realpathSync, statSync, type Stats } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { environmentVariable } from "@millrace/engine/config/config";
import { hasCode } from "@millrace/engine/errors/errors";

/** Folders of the machine that programs need; nothing else of it is there. Read only, and left out where they are missing. */
const systemFolders = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/opt",
  "/nix/store",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/alternatives",
  "/etc/ssl",
  "/etc/ca-certificates",
  "/etc/pki",
  "/etc/localtime",
  "/etc/nsswitch.conf",
  "/etc/mime.types",
];

/** What a sandbox has of its own: its processes, harmless devices, and memory for what is temporary. */
const ownFolders = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"];

/** The program that limits what another one uses; without it a command in a sandbox is not limited. */
export const limiter = "/usr/bin/prlimit";
/** What one command may use: processes (root has no such limit), bytes of memory of each, and of a file; no core files. */
const limits = ["--nproc=1024", "--data=4294967296", "--fsize=1073741824", "--core=0"];

/** Where bubblewrap is looked for: never in a folder that a model can write to. */
const places = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/** Milliseconds that the first sandbox gets to show that it can be made. */
const tryMilliseconds = 5000;

/** The program of bubblewrap on this machine; `undefined` where there is none, or where the machine lets it make no sandbox. */
export async function findSandbox(): Promise<string | undefined> {
  for (const place of places) if (await makesSandboxes(place)) return place;
  return undefined;
}

/** Milliseconds after which a sandbox is looked for again where none could be made: the machine may have been slow only then. */
const againMilliseconds = 60_000;

/** Looks for the sandbox when it is asked, and keeps what it finds; where there was none it looks again after a minute. */
export function createSandboxSearch(
  look: () => Promise<string | undefined> = findSandbox,
  now: () => number = () => performance.now(),
): () => Promise<string | undefined> {
  let latest: { answer: Promise<string | undefined>; until: number } | undefined;
  return () => {
    if (latest !== undefined && now() < latest.until) return latest.answer;
    const one = { answer: look(), until: Infinity };
    latest = one;
    // Whoever asked hears of a failure.
    one.answer.then(
      (program) => (one.until = program === undefined ? now() + againMilliseconds : Infinity),
      () => (one.until = 0),
    );
    return one.answer;
  };
}

async function makesSandboxes(program: string): Promise<boolean> {
  const workspace = tmpdir();
  const given = sandboxArguments(["true"], { workspace, hidden: [], environment: { PATH: searchPath() } });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const child = spawn(program, given, { env: {}, stdio: "ignore", timeout: tryMilliseconds, killSignal: "SIGKILL" });
  child.once("error", () => resolve(false));
  child.once("exit", (code) => resolve(code === 0));
  return await promise;
}

/**
 * The arguments by which bubblewrap runs `words` in `workspace`: no network, nothing of the machine but its programs,
 * nothing writable but the workspace and a folder in memory, processes that end with it, limits on what they use.
 * `hidden` are folders and files that are not there even if they lie, or a link to them leads, among the programs.
 */
export function sandboxArguments(
  words: readonly string[],
  {
    workspace,
    hidden,
    environment,
  }: { workspace: string; hidden: readonly string[]; environment: Record<string, string> },
): string[] {
  // The runtime may lie in the user's own folder, of which nothing else is to be seen.
  const own = dirname(process.execPath);
  const shown = [...systemFolders, own, join(dirname(own), "lib/node_modules")];
  return [
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--clearenv",
    "--cap-drop",
    "ALL",
    ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
    ...ownFolders,
    ...shown.flatMap((folder) => ["--ro-bind-try", folder, folder]),
    ...placesOf(hidden, shown).flatMap(hide),
    "--bind",
    workspace,
    workspace,
    "--chdir",
    workspace,
    "--",
    ...(existsSync(limiter) ? [limiter, ...limits, "--"] : []),
    ...words,
  ];
}

/** What is no longer there needs nothing, and the sandbox could not begin with it. */
function hide(place: string): string[] {
  const stats = statsOf(place);
  if (stats === undefined) return [];
  return stats.isDirectory() ? ["--tmpfs", place] : ["--ro-bind", "/dev/null", place];
}

function statsOf(place: string): Stats | undefined {
  try {
    return statSync(place);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "EACCES")) return undefined;
    throw error;
  }
}

/** Where folders and files are seen in a sandbox that shows others: those may be links, and the folders may be reached by links. */
function placesOf(folders: readonly string[], shown: readonly string[]): string[] {
  const reals = folders.map(realOf);
  const places = shown.flatMap((place) => {
    const around = realOf(place);
    const inside = reals.filter((real) => real === around || real.startsWith(`${around}/`));
    return inside.map((real) => place + real.slice(around.length));
  });
  return [...new Set(places)];
}

function realOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR", "EACCES")) return folder;
    throw error;
  }
}

/** The search path of commands: the runtime's own folder, and the machine's. */
export function searchPath(): string {
  const own = dirname(process.execPath);
  const system =
    environmentVariable("PATH")
      ?.split(":")
      .filter((folder) => /^\/(?:usr|bin|sbin|opt|nix)(?:\/|$)/u.test(folder)) ?? [];
  return [...new Set([own, ...system, "/usr/local/bin", "/usr/bin", "/bin"])].join(":");
}
