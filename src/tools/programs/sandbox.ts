import { spawn } from "node:child_process";
import { existsSync, realpathSync, statSync, type Stats } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { environmentVariable } from "@millrace/engine/config/config";
import { hasCode } from "@millrace/engine/errors/errors";

/** System folders that programs need, mounted read-only if they exist; nothing else is visible. */
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

/** The sandbox's own /proc, harmless devices, and temporary folders in memory. */
const ownFolders = ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run"];

/** Limits the resources of a sandboxed command; without it there are no limits. */
export const limiter = "/usr/bin/prlimit";
/** Limits per command: processes (not for root), memory per process and file size in bytes; no core files. */
const limits = ["--nproc=1024", "--data=4294967296", "--fsize=1073741824", "--core=0"];

/** Where bubblewrap may be: never in a folder a model can write to. */
const places = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/** Milliseconds for the first test of the sandbox. */
const tryMilliseconds = 5000;

/** The path of a working bubblewrap; `undefined` if there is none. */
export async function findSandbox(): Promise<string | undefined> {
  for (const place of places) if (await makesSandboxes(place)) return place;
  return undefined;
}

/** Milliseconds before searching again after a failure: the machine may have been slow. */
const againMilliseconds = 60_000;

/** Searches for the sandbox on demand and caches the result; a failure is retried after a minute. */
export function createSandboxSearch(
  look: () => Promise<string | undefined> = findSandbox,
  now: () => number = () => performance.now(),
): () => Promise<string | undefined> {
  let latest: { answer: Promise<string | undefined>; until: number } | undefined;
  return () => {
    if (latest !== undefined && now() < latest.until) return latest.answer;
    const one = { answer: look(), until: Infinity };
    latest = one;
    // The caller gets the error.
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
 * Bubblewrap's arguments to run `words` in `workspace`: no network, only system programs visible, only the workspace
 * and a folder in memory writable, children end with it, resources limited. `hidden` paths are masked even if they are
 * reachable among the programs.
 */
export function sandboxArguments(
  words: readonly string[],
  {
    workspace,
    hidden,
    environment,
  }: { workspace: string; hidden: readonly string[]; environment: Record<string, string> },
): string[] {
  // Node may be in the user's home, of which nothing else may be visible.
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

/** A missing path needs no mask, and bubblewrap would fail on it. */
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

/** The paths under which `folders` appear inside the `shown` folders, links resolved. */
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

/** PATH of commands: Node's own folder and system folders. */
export function searchPath(): string {
  const own = dirname(process.execPath);
  const system =
    environmentVariable("PATH")
      ?.split(":")
      .filter((folder) => /^\/(?:usr|bin|sbin|opt|nix)(?:\/|$)/u.test(folder)) ?? [];
  return [...new Set([own, ...system, "/usr/local/bin", "/usr/bin", "/bin"])].join(":");
}
