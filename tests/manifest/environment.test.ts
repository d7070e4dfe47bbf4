import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { environmentVariable } from "@millrace/engine/config/config";
import { applyEnvironment, readGraphDefaults } from "@millrace/engine/manifest/custom-parts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-env-"));
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Variables of a test are taken back after it only when it has said that it has them. */
function without(...names: string[]): void {
  for (const name of names) vi.stubEnv(name, undefined);
}

describe("env of a langgraph.json", () => {
  it("is a file whose variables are set where the process has none", async () => {
    without("MANIFEST_NEW");
    vi.stubEnv("MANIFEST_KNOWN", "of the process");
    await writeFile(join(folder, "variables"), 'MANIFEST_NEW="two words"\nMANIFEST_KNOWN=of the file\n');
    expect(await applyEnvironment({ env: "variables", folder })).toBeUndefined();
    expect(environmentVariable("MANIFEST_NEW")).toBe("two words");
    expect(environmentVariable("MANIFEST_KNOWN")).toBe("of the process");
  });

  it("is the variables themselves, whatever they are written as", async () => {
    without("MANIFEST_NEW", "MANIFEST_NUMBER", "MANIFEST_FLAG");
    await applyEnvironment({ env: { MANIFEST_NEW: "a", MANIFEST_NUMBER: 7, MANIFEST_FLAG: false }, folder });
    expect(["MANIFEST_NEW", "MANIFEST_NUMBER", "MANIFEST_FLAG"].map(environmentVariable)).toEqual(["a", "7", "false"]);
  });

  it("says which file is not there, and goes on", async () => {
    expect(await applyEnvironment({ env: ".env", folder })).toBe(join(folder, ".env"));
  });

  it("is refused when it cannot be read", async () => {
    await mkdir(join(folder, "a-folder"));
    await expect(applyEnvironment({ env: "a-folder", folder })).rejects.toMatchObject({
      code: "config",
      message: expect.stringContaining(join(folder, "a-folder")),
    });
  });

  it.each([[undefined], [["ONLY", "NAMES"]]])("may be nothing to set: %j", async (env) => {
    expect(await applyEnvironment({ env, folder })).toBeUndefined();
  });
});

describe("LANGGRAPH_CONFIG", () => {
  it("is what graphs' own assistants use, context beside the rest", () => {
    vi.stubEnv(
      "LANGGRAPH_CONFIG",
      '{"agent": {"configurable": {"a": 1}, "context": {"b": 2}, "tags": ["c"]}, "x": {}}',
    );
    expect(readGraphDefaults()).toEqual({
      agent: { config: { configurable: { a: 1 }, tags: ["c"] }, context: { b: 2 } },
      x: { config: {}, context: {} },
    });
  });

  it.each([[undefined], [""], ["  "]])("may be missing: %j", (text) => {
    vi.stubEnv("LANGGRAPH_CONFIG", text);
    expect(readGraphDefaults()).toEqual({});
  });

  it.each([
    ["{"],
    ["7"],
    ['{"agent": 7}'],
    ['{"agent": {"configurable": "x"}}'],
    ['{"agent": {"recursion_limit": "50"}}'],
  ])("is refused as %s", (text) => {
    vi.stubEnv("LANGGRAPH_CONFIG", text);
    expect(readGraphDefaults).toThrow(/LANGGRAPH_CONFIG cannot be read/u);
  });
});
