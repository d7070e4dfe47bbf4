import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { repositoryAddress } from "../clone.ts";
import { createLibraries, type Libraries } from "../libraries.ts";

let root: string;
let source: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "millrace-libraries-"));
  source = pathToFileURL(join(root, "origin.git")).href;
  commit({
    "README.md": "not of a library",
    "github.com/ann/fastlib/README.md": "# fastlib",
    "github.com/ann/fastlib/api/calls.md": "Call fast().",
    "github.com/ann/fastlib/logo.svg": "<svg/>",
    "github.com/bob/fastlib/README.md": "# another fastlib",
    "github.com/bob/slowlib/README.md": "# slowlib",
  });
});
afterEach(() => rmSync(root, { recursive: true }));

const { signal } = new AbortController();

/** Puts files into a repository and publishes it as a bare one. */
function commit(files: Record<string, string>, links: Record<string, string> = {}): void {
  const work = join(root, "work");
  const git = (...args: string[]): void => {
    const author = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    execFileSync("git", ["-C", work, ...author, ...args], { stdio: "ignore" });
  };
  mkdirSync(work, { recursive: true });
  if (!existsSync(join(work, ".git"))) git("init", "--quiet", "--initial-branch=main");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), text);
  }
  for (const [path, target] of Object.entries(links)) symlinkSync(target, join(work, path));
  git("add", "--all");
  git("commit", "--quiet", "--message", "docs");
  rmSync(join(root, "origin.git"), { recursive: true, force: true });
  execFileSync("git", ["clone", "--quiet", "--bare", work, join(root, "origin.git")], { stdio: "ignore" });
}

function open(workspace = "/project", limits?: { bytes: number; files: number }): Libraries {
  const options = { dataDir: join(root, "data"), workspace, logger: { warn: () => undefined } };
  return createLibraries({ ...options, protocols: ["https", "file"], ...(limits && { limits }) });
}

async function opened(limits?: { bytes: number; files: number }): Promise<Libraries> {
  const libraries = open("/project", limits);
  await libraries.setRepository(source);
  return libraries;
}

describe("the libraries of a project (EXT-04)", () => {
  it("have their repository cloned when the first is added, and only those that were added have documents", async () => {
    const libraries = await opened();
    expect(libraries.load()).toMatchObject({ is_cloned: false, libraries: [], documents: [] });
    const { libraries: names, documents, problems } = await libraries.add("ann/fastlib", signal);
    expect(names).toEqual(["ann/fastlib"]);
    expect(documents).toEqual([
      { library: "ann/fastlib", path: "github.com/ann/fastlib/README.md", text: "# fastlib" },
      { library: "ann/fastlib", path: "github.com/ann/fastlib/api/calls.md", text: "Call fast()." },
    ]);
    expect(problems).toEqual([]);
    expect(readdirSync(join(root, "data/library-docs")).toSorted()).toEqual(["libraries.json", "repository"]);
  });

  it("are found by their name alone where it is the only one, and by user and name", async () => {
    const libraries = await opened();
    await expect(libraries.add("fastlib", signal)).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("ann/fastlib, bob/fastlib"),
    });
    await libraries.add("slowlib", signal);
    await libraries.add("bob/fastlib", signal);
    await libraries.add("bob/fastlib", signal);
    expect(libraries.load().libraries).toEqual(["bob/fastlib", "bob/slowlib"]);
    expect(libraries.load("slowlib").documents).toMatchObject([{ library: "bob/slowlib" }]);
    expect(libraries.load("bob/fastlib").documents).toMatchObject([{ text: "# another fastlib" }]);
    expect(libraries.load("ann/fastlib").documents).toEqual([]);
    await expect(libraries.add("nolib", signal)).rejects.toMatchObject({ code: "not_found" });
  });

  it("are remembered for each project by itself, and forgotten when they are removed", async () => {
    const libraries = await opened();
    await libraries.add("slowlib", signal);
    expect(open().load().libraries).toEqual(["bob/slowlib"]);
    expect(open("/elsewhere").load().libraries).toEqual([]);
    expect(await libraries.remove("slowlib")).toMatchObject({ libraries: [], documents: [] });
    await expect(libraries.remove("slowlib")).rejects.toMatchObject({ code: "not_found" });
  });

  it("have the newest documents after a refresh; one that fails leaves what was there", async () => {
    const libraries = await opened();
    await libraries.add("slowlib", signal);
    commit({ "github.com/bob/slowlib/README.md": "# slowlib 2" });
    expect(libraries.load().documents).toMatchObject([{ text: "# slowlib" }]);
    expect((await libraries.refresh(signal)).documents).toMatchObject([{ text: "# slowlib 2" }]);
    await libraries.setRepository(pathToFileURL(join(root, "nowhere.git")).href);
    await expect(libraries.refresh(signal)).rejects.toMatchObject({
      code: "network",
      message: expect.stringContaining("nowhere.git"),
    });
    await expect(libraries.refresh(AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
    expect(libraries.load().documents).toMatchObject([{ text: "# slowlib 2" }]);
    expect(readdirSync(join(root, "data/library-docs")).toSorted()).toEqual(["libraries.json", "repository"]);
  });

  it.each([
    [{ bytes: 1_000, files: 50_000 }, "has more than 1000 bytes"],
    [{ bytes: 1_000_000, files: 5 }, "has more than 5 files and folders"],
  ])("come from no repository that is larger than it may be: %o", async (limits, problem) => {
    const libraries = await opened(limits);
    await expect(libraries.add("slowlib", signal)).rejects.toMatchObject({
      code: "too_large",
      message: expect.stringContaining(problem),
    });
    expect(libraries.load()).toMatchObject({ is_cloned: false, libraries: [] });
    expect(readdirSync(join(root, "data/library-docs"))).toEqual(["libraries.json"]);
  });

  it("that are missing from the repository, or not text, are reported; the others are used", async () => {
    const libraries = await opened();
    await libraries.add("slowlib", signal);
    writeFileSync(join(root, "work/github.com/bob/slowlib/bad.md"), "\0");
    writeFileSync(join(root, "secret.md"), "secret");
    commit({}, { "github.com/bob/slowlib/link.md": join(root, "secret.md") });
    const { documents, problems } = await libraries.refresh(signal);
    expect(documents.map(({ text }) => text)).not.toContain("secret");
    expect(documents).toMatchObject([{ text: "# slowlib" }, { path: "github.com/bob/slowlib/link.md" }]);
    expect(problems).toEqual([
      { file: "github.com/bob/slowlib/bad.md", problem: expect.stringContaining("zero byte") },
    ]);
    rmSync(join(root, "work/github.com/bob/slowlib"), { recursive: true });
    commit({});
    expect(await libraries.refresh(signal)).toMatchObject({
      documents: [],
      problems: [{ file: "bob/slowlib", problem: "the repository has no such library" }],
    });
  });

  it("with settings that cannot be read have none, and the file is not overwritten", async () => {
    mkdirSync(join(root, "data/library-docs"), { recursive: true });
    writeFileSync(join(root, "data/library-docs/libraries.json"), "{");
    expect(open().load().libraries).toEqual([]);
    await expect(open().setRepository(source)).rejects.toMatchObject({ code: "conflict" });
  });
});

describe("the address of a repository", () => {
  it.each(["https://github.com/allwefantasy/llm_friendly_packages", "https://mirror.example/docs.git"])(
    "may be %s",
    (url) => {
      expect(repositoryAddress(url, ["https"])).toBe(url);
    },
  );

  it.each([
    "http://github.com/a/b",
    "file:///etc",
    "ssh://git@github.com/a/b",
    "git@github.com:a/b",
    "ext::sh -c touch /tmp/x",
    "--upload-pack=touch",
    "https://user:password@github.com/a/b",
    "",
  ])("may not be %j", (url) => {
    expect(() => repositoryAddress(url, ["https"])).toThrow(expect.objectContaining({ code: "invalid_parameter" }));
    expect(() => repositoryAddress(url, ["https"])).not.toThrow(/password@/u);
  });

  it("is the default one until another is chosen, and again when that is taken back", async () => {
    const libraries = open();
    expect(libraries.load().repository).toContain("llm_friendly_packages");
    expect(await libraries.setRepository(source)).toMatchObject({ repository: source });
    expect((await libraries.setRepository(null)).repository).toContain("llm_friendly_packages");
  });
});
