import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { programEnvironment } from "../../../tests/support/processes/program.ts";

let folder = "";
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "millrace-libraries-command-")));
  mkdirSync(join(folder, "workspace"));
  // As a clone leaves it.
  for (const user of ["ann", "bob"]) {
    const place = join(folder, "data/library-docs/repository/github.com", user, "fastlib");
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "README.md"), `# fastlib of ${user}`);
  }
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function libraries(...parameters: string[]) {
  const env = {
    ...programEnvironment,
    MILLRACE_DATA_DIR: join(folder, "data"),
    MILLRACE_WORKSPACE: join(folder, "workspace"),
  };
  const command = join(projectFolder, "toolkits/library-docs/command.ts");
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...parameters], {
    cwd: folder,
    encoding: "utf8",
    env,
  });
  return { status, stdout, stderr };
}

describe("npm run libraries (EXT-04)", () => {
  it("adds, lists and removes what the models of a workspace are given to read", () => {
    const before = libraries();
    expect(before).toMatchObject({ status: 0, stderr: "" });
    expect(before.stdout).toMatch(/^Repository: https:\/\/.*\nNo library was added\.\n$/u);
    expect(libraries("add", "ann/fastlib").stdout).toContain("ann/fastlib: 1 document(s), 16 characters");
    expect(libraries("list").stdout).toContain("ann/fastlib: 1 document(s)");
    const kept = JSON.parse(readFileSync(join(folder, "data/library-docs/libraries.json"), "utf8")) as object;
    expect(Object.values(kept)).toContainEqual({ [join(folder, "workspace")]: ["ann/fastlib"] });
    expect(libraries("remove", "fastlib").stdout).toContain("No library was added.");
    expect(libraries("repository", "https://example.com/docs").stdout).toContain("https://example.com/docs");
    expect(libraries("repository", "default").stdout).not.toContain("example.com");
  });

  it.each([
    [["add", "fastlib"], "Name it with its user"],
    [["add", "gone"], "no library"],
    [["add"], "Expected one library, got 0 words"],
    [["remove", "ann/fastlib"], "no library"],
    [["repository", "ssh://example.com/docs"], "by https"],
    [["show"], "npm run libraries -- add"],
    [["--all"], "--all"],
  ])("says what is wrong with %j, and changes nothing", (parameters, words) => {
    const before = libraries().stdout;
    const refused = libraries(...parameters);
    expect(refused).toMatchObject({ status: 1, stdout: "" });
    expect(refused.stderr).toContain(words);
    expect(libraries().stdout).toBe(before);
  });
});
