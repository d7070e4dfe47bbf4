import { execFileSync } from "node:child_process";
import {
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tools } from "../../../src/tools/index.ts";
import { aWorkspace, type Workspace } from "../../support/a-workspace.ts";
import { oddPaths } from "./odd-paths.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";
import { codeTools } from "../../../toolkits/code/tools/index.ts";

/** Outside the workspace lies this. Nothing of it may be read, changed, or joined by anything. */
const secret = "CANARY-7f3a9";

/** Paths that are made of pieces, and calls while a folder is exchanged for a link: of each as many as `ESCAPES` says. */
const paths = Number(process.env["ESCAPES"] ?? 1500);
const calls = Number(process.env["ESCAPES"] ?? 1200);

let workspace: Workspace;
let before: Map<string, string>;

beforeEach(async () => {
  workspace = await aWorkspace();
  const { outside, root } = workspace;
  await mkdir(join(outside, "workspace-twin"));
  await mkdir(join(outside, "vault/deep"), { recursive: true });
  for (const path of ["canary.txt", "workspace-twin/canary.txt", "vault/canary.txt", "vault/deep/canary.txt"]) {
    await writeFile(join(outside, path), secret);
  }
  await workspace.fill({ "inside.txt": "inside", "folder/a.txt": "a", "folder/b.txt": "b" });
  await symlink("../canary.txt", join(root, "link-file"));
  await symlink(join(outside, "canary.txt"), join(root, "link-absolute"));
  await symlink("../vault", join(root, "link-folder"));
  await symlink("..", join(root, "link-up"));
  await symlink("../workspace-twin", join(root, "link-twin"));
  await symlink("../nowhere.txt", join(root, "link-dangling"));
  await symlink("link-file", join(root, "link-to-link"));
  await symlink("link-loop", join(root, "link-loop"));
  await symlink("/", join(root, "link-root"));
  await symlink("/proc/self/cwd", join(root, "link-proc"));
  await symlink("/proc/self/environ", join(root, "link-environ"));
  await symlink("../../vault", join(root, "folder/link-nested"));
  await symlink("../vault", join(root, "link ünïcode 链接"));
  before = await canaries();
});

afterEach(async () => {
  await workspace[Symbol.asyncDispose]();
});

/** Everything outside the workspace: names, kinds, contents, inodes. Node's own recursive `readdir` follows links. */
async function canaries(folder = workspace.outside, found = new Map<string, string>()): Promise<Map<string, string>> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (path === workspace.root) continue;
    const stats = await lstat(path);
    const content = stats.isFile() ? await readFile(path, "utf8") : "";
    found.set(path, `${stats.ino} ${stats.mode} ${stats.nlink} ${stats.mtimeMs} ${content}`);
    if (stats.isDirectory()) await canaries(path, found);
  }
  return found;
}

/** An edit that is so near to the canaries that its answer would show one which could be read. */
const edit = `<<<<<<< SEARCH\n${secret.slice(0, -1)}_\n=======\nwritten\n>>>>>>> REPLACE`;

/** Every tool with a path in every place where it takes one. */
const attempts: [string, (path: string) => Promise<ToolResult>][] = [
  ["read_file", (path) => workspace.call(tools.read_file, { path })],
  ["create_file", (path) => workspace.call(tools.create_file, { path, content: "written" })],
  ["update_file", (path) => workspace.call(tools.update_file, { path, content: "written" })],
  ["write_to_file", (path) => workspace.call(codeTools.write_to_file, { path, content: "written" })],
  ["replace_in_file", (path) => workspace.call(codeTools.replace_in_file, { path, diff: edit })],
  ["list_code_definition_names", (path) => workspace.call(codeTools.list_code_definition_names, { path })],
  ["create_folder", (path) => workspace.call(tools.create_folder, { path })],
  ["list_files", (path) => workspace.call(tools.list_files, { path })],
  ["search_content", (path) => workspace.call(tools.search_content, { path, regex: "[A-Z]+-\\w+" })],
  ["move_file to", (path) => workspace.call(tools.move_file, { source: "inside.txt", destination: path })],
  ["move_file from", (path) => workspace.call(tools.move_file, { source: path, destination: "stolen" })],
  ["rename_file", (path) => workspace.call(tools.rename_file, { path, new_name: "renamed" })],
  ["rename_file to", (path) => workspace.call(tools.rename_file, { path: "inside.txt", new_name: path })],
  ["delete_file", (path) => workspace.call(tools.delete_file, { path })],
  ["create_file again", (path) => workspace.call(tools.create_file, { path, content: secret }, true)],
];

async function expectUntouched(path: string, results: ToolResult[]): Promise<void> {
  expect(await canaries(), `outside after ${JSON.stringify(path)}`).toEqual(before);
  const text = JSON.stringify(results);
  expect(text).not.toContain(secret);
  expect(text, "machine paths").not.toContain(workspace.outside);
}

/** Paths whose form is enough to refuse them, for every tool. */
const refused = [
  "..",
  "../",
  "../canary.txt",
  "../../canary.txt",
  "../workspace-twin/canary.txt",
  "../workspace/inside.txt",
  "./../canary.txt",
  ".//..//canary.txt",
  "folder/..",
  "folder/../../canary.txt",
  "folder/../inside.txt",
  "folder/./../../canary.txt",
  "missing/../../canary.txt",
  "a/b/c/../../../../canary.txt",
  "../".repeat(20) + "etc/passwd",
  "/",
  "//",
  "/etc/passwd",
  "//etc/passwd",
  "/proc/self/environ",
  "/dev/null",
  "/dev/stdin",
  "\\etc\\passwd",
  "..\\canary.txt",
  "folder\\..\\..\\canary.txt",
  "C:\\Windows\\win.ini",
  "c:/Windows/win.ini",
  "\\\\server\\share\\file",
  "inside.txt\0",
  "\0",
  "../canary.txt\0.txt",
  "inside.txt\0/../../canary.txt",
  "line\nbreak",
  "tab\there",
  "escape\u001b[2J",
  "c1\u0085",
  "a".repeat(256),
  "ü".repeat(128),
  "链".repeat(86),
  "a/".repeat(1600),
  `${"a".repeat(250)}/`.repeat(20),
  "",
  " ",
  ".millrace",
  ".millrace/x",
  ".MILLRACE/x",
  "./.millrace/x",
  ".millrace-0f0f0f0f-0000-0000-0000-000000000000.tmp",
  "folder/.millrace-0f0f0f0f-0000-0000-0000-000000000000.tmp",
];

/** Paths that lead out through something on the disk. */
const leading = [
  "link-file",
  "./link-file",
  "link-absolute",
  "link-to-link",
  "link-dangling",
  "link-loop",
  "link-loop/x",
  "link-environ",
  "link-folder",
  "link-folder/",
  "link-folder/canary.txt",
  "link-folder/deep/canary.txt",
  "link-folder/missing/new.txt",
  "link-folder/new.txt",
  "link-up",
  "link-up/canary.txt",
  "link-up/vault/canary.txt",
  "link-up/workspace-twin/canary.txt",
  "link-up/new.txt",
  "link-twin",
  "link-twin/canary.txt",
  "link-twin/new.txt",
  "link-root",
  "link-root/etc/passwd",
  "link-root/tmp/millrace-must-not-exist",
  "link-proc",
  "link-proc/package.json",
  "folder/link-nested",
  "folder/link-nested/canary.txt",
  "folder/link-nested/deep/new.txt",
  "link ünïcode 链接/canary.txt",
  "link-dangling/below.txt",
];

/** Odd names that are only names. */
const harmless = [
  "~",
  "~/canary.txt",
  "...",
  ".../x",
  "..canary",
  "canary..",
  "%2e%2e/canary.txt",
  "..%2fcanary.txt",
  "%00",
  "．．/canary.txt",
  "‥/canary.txt",
  "..∕canary.txt",
  "..／canary.txt",
  "file:///etc/passwd",
  "$HOME/x",
  "`id`",
  "-rf",
  "workspace-twin/canary.txt",
  "FOLDER/a.txt",
  "e\u0301.txt",
  "🗂/📄",
  " leading and trailing ",
  "folder//a2.txt",
  "con",
];

/** Paths with a title that fits a line. */
const named = (paths: readonly string[]) =>
  paths.map((path): [string, string] => [JSON.stringify(path).slice(0, 60), path]);

describe("no path leads out of the workspace", () => {
  it.each(named(refused))("refused by its form: %s", async (_, path) => {
    const results: ToolResult[] = [];
    for (const [name, attempt] of attempts) {
      const result = await attempt(path);
      results.push(result);
      // These take an empty path for the whole workspace, which is inside.
      if (path.trim() === "" && ["list_files", "search_content", "list_code_definition_names"].includes(name)) continue;
      expect(result, name).toMatchObject({ success: false });
      expect(["permission", "invalid_parameter"], name).toContain(result.errorType);
    }
    await expectUntouched(path, results);
    expect(await readFile(join(workspace.root, "inside.txt"), "utf8")).toBe("inside");
  });

  it.each(named(leading))("followed and refused: %s", async (_, path) => {
    const results: ToolResult[] = [];
    for (const [name, attempt] of attempts.slice(0, 7)) {
      const result = await attempt(path);
      results.push(result);
      expect(result, name).toMatchObject({ success: false });
      expect(["permission", "conflict"], name).toContain(result.errorType);
    }
    for (const [, attempt] of attempts.slice(7)) results.push(await attempt(path));
    await expectUntouched(path, results);
  });

  it.each(named(harmless))("only a name: %s", async (_, path) => {
    const results: ToolResult[] = [];
    for (const [, attempt] of attempts) results.push(await attempt(path));
    expect(results).toHaveLength(attempts.length);
    await expectUntouched(path, results);
  });

  it.each(named(oddPaths))("wherever it leads: %s", async (_, path) => {
    const results: ToolResult[] = [];
    for (const [, attempt] of attempts) results.push(await attempt(path));
    expect(results).toHaveLength(attempts.length);
    await expectUntouched(path, results);
  });

  it("was tried with 300 paths made by hand", () => {
    const byHand = new Set([...refused, ...leading, ...harmless, ...oddPaths]);
    expect(byHand.size).toBeGreaterThanOrEqual(300);
  });

  it("whatever path is made of these pieces", { timeout: 60_000 + paths * 10 }, async () => {
    const piece = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.constantFrom("..", ".", "", "folder", "vault", "canary.txt", "workspace", "inside.txt"),
      },
      {
        weight: 4,
        arbitrary: fc.constantFrom("link-file", "link-folder", "link-up", "link-twin", "link-root", "deep"),
      },
      { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
      { weight: 1, arbitrary: fc.constantFrom("\0", "%2e%2e", "..\\", "~", "workspace-twin", "．．") },
    );
    const path = fc
      .tuple(fc.constantFrom("", "", "/", "./", "../"), fc.array(piece, { minLength: 1, maxLength: 6 }))
      .map(([start, pieces]) => start + pieces.join("/"));
    await fc.assert(
      fc.asyncProperty(path, fc.nat(attempts.length - 2), async (generated, index) => {
        const result = await attempts[index]?.[1](generated);
        expect(JSON.stringify(result)).not.toContain(secret);
      }),
      { numRuns: paths },
    );
    expect(await canaries()).toEqual(before);
  });
});

describe("links and special files", () => {
  it("follows links that stay inside, to files and folders", async () => {
    await symlink("folder/a.txt", join(workspace.root, "short"));
    await symlink("folder", join(workspace.root, "way"));
    expect(await workspace.call(tools.read_file, { path: "short" })).toMatchObject({ content: "1\ta" });
    expect(await workspace.call(tools.update_file, { path: "way/b.txt", content: "new" })).toMatchObject({
      success: true,
    });
    expect(await readFile(join(workspace.root, "folder/b.txt"), "utf8")).toBe("new");
    expect(await workspace.call(tools.update_file, { path: "short", content: "through" })).toMatchObject({
      success: true,
    });
    expect(await readlink(join(workspace.root, "short"))).toBe("folder/a.txt");
    expect(await readFile(join(workspace.root, "folder/a.txt"), "utf8")).toBe("through");
  });

  it("deletes and renames a link itself, never what it leads to", async () => {
    expect(await workspace.call(tools.delete_file, { path: "link-folder" })).toMatchObject({ success: true });
    expect(await workspace.call(tools.rename_file, { path: "link-file", new_name: "other" })).toMatchObject({
      success: true,
    });
    expect(await readlink(join(workspace.root, "other"))).toBe("../canary.txt");
    // A link counts its names too: only the canary's own entry is compared.
    expect(await canaries()).toEqual(before);
  });

  it("deletes a folder with links in it and leaves their targets alone", async () => {
    expect(await workspace.call(tools.delete_file, { path: "folder" })).toMatchObject({ success: true });
    expect(await canaries()).toEqual(before);
  });

  it("does not follow links while it walks", async () => {
    const listed = await workspace.call(tools.list_files, {});
    expect(listed.content).toContain("link-folder@");
    expect(listed.content).not.toContain("canary");
    expect((await workspace.call(tools.search_files, { query: "canary" })).data).toMatchObject({ total: 0 });
    const found = await workspace.call(tools.search_content, { path: ".", regex: secret });
    expect(found.data).toMatchObject({ matches: [] });
  });

  it("never writes into the other name of a hard link: a replaced file is a new one", async () => {
    await link(join(workspace.outside, "canary.txt"), join(workspace.root, "hard"));
    const outside = await stat(join(workspace.outside, "canary.txt"));
    expect(await workspace.call(tools.update_file, { path: "hard", content: "mine" })).toMatchObject({ success: true });
    expect(await readFile(join(workspace.outside, "canary.txt"), "utf8")).toBe(secret);
    expect((await stat(join(workspace.root, "hard"))).ino).not.toBe(outside.ino);
  });

  it("refuses pipes, sockets and devices at once, and passes them by in a search", async () => {
    execFileSync("mkfifo", [join(workspace.root, "pipe")]);
    const server = createServer().listen(join(workspace.root, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    try {
      for (const path of ["pipe", "socket"]) {
        for (const tool of [tools.read_file, tools.update_file]) {
          const result = await workspace.call(tool, { path, content: "x" });
          expect(result).toMatchObject({ success: false, errorType: "permission" });
        }
        const moved = await workspace.call(tools.move_file, { source: path, destination: "elsewhere" });
        expect(moved).toMatchObject({ success: false, errorType: "permission" });
      }
      expect(await workspace.call(tools.search_content, { path: ".", regex: "inside" })).toMatchObject({
        success: true,
      });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

describe("a folder exchanged for a link between check and use", () => {
  it("never lets a tool read or write outside, in any of many tries", { timeout: 60_000 + calls * 20 }, async () => {
    const { root, outside } = workspace;
    await workspace.fill({ "flip/canary.txt": "inside", "flip/deep/canary.txt": "inside" });
    let isOver = false;
    const away = join(root, "away");
    await symlink(join(outside, "vault"), away);
    const [flip, kept] = [join(root, "flip"), join(root, "kept")];
    // A tool may have made a folder of that name meanwhile: it is in the workspace, and in the way.
    const put = async (source: string) => {
      while (
        !(await rename(source, flip).then(
          () => true,
          () => false,
        ))
      )
        await rm(flip, { recursive: true, force: true, maxRetries: 10, retryDelay: 1 });
    };
    const flipping = (async () => {
      for (let round = 0; !isOver; round += 1) {
        // Sometimes longer than a call takes, sometimes shorter.
        for (let turn = 0; turn < (round * 7) % 60; turn += 1) await nextTurn();
        await rename(flip, kept);
        await put(away);
        for (let turn = 0; turn < (round * 5) % 8; turn += 1) await nextTurn();
        await rename(flip, away);
        await put(kept);
      }
    })();
    const outcomes = { done: 0, refused: 0 };
    try {
      for (let round = 0; round < calls / 8; round += 1) {
        const results = await Promise.all([
          workspace.call(tools.read_file, { path: "flip/canary.txt" }),
          workspace.call(tools.update_file, { path: "flip/canary.txt", content: "inside" }),
          workspace.call(codeTools.write_to_file, { path: "flip/canary.txt", content: "inside" }),
          workspace.call(codeTools.replace_in_file, { path: "flip/canary.txt", diff: edit }),
          workspace.call(tools.create_file, { path: `flip/deep/new-${round}.txt`, content: "x" }),
          workspace.call(tools.search_content, { path: "flip", regex: "C[A-Z]+-7f3a9" }),
          workspace.call(tools.move_file, { source: `flip/deep/new-${round - 1}.txt`, destination: `flip/m-${round}` }),
          workspace.call(tools.delete_file, { path: `flip/m-${round - 1}` }),
        ]);
        for (const result of results) outcomes[result.success ? "done" : "refused"] += 1;
        expect(JSON.stringify(results)).not.toContain(secret);
      }
    } finally {
      isOver = true;
      await flipping;
    }
    expect(await canaries()).toEqual(before);
    // Both must have happened, or the test has not tried anything.
    expect(outcomes.done).toBeGreaterThan(0);
    expect(outcomes.refused).toBeGreaterThan(0);
  });

  it("never deletes outside while a folder is being deleted", async () => {
    const { root, outside } = workspace;
    for (let round = 0; round < 100; round += 1) {
      await workspace.fill({ "doomed/deep/a.txt": "a", "doomed/deep/b.txt": "b", "doomed/x.txt": "x" });
      const swap = rename(join(root, "doomed/deep"), join(root, `saved-${round}`))
        .then(() => symlink(join(outside, "vault"), join(root, "doomed/deep")))
        .catch(() => undefined);
      await Promise.all([workspace.call(tools.delete_file, { path: "doomed" }), swap]);
      await rm(join(root, "doomed"), { recursive: true, force: true });
    }
    expect(await canaries()).toEqual(before);
  });
});
