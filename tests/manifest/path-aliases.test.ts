import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { aliasesOf } from "../../src/manifest/path-aliases.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-aliases-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the aliases of a tsconfig.json", () => {
  it.each([
    ["@/tools/search", ["src/tools/search"]],
    ["@/tools/deep/$&/x", ["src/tools/deep/$&/x"]],
    ["@agents/main", ["src/agents/main", "src/@agents/main"]],
    ["settings", ["src/settings/index.ts"]],
    ["settings/more", []],
    ["zod", []],
    ["@", []],
  ])("say what %s may be", async (specifier, expected) => {
    await writeFile(
      join(folder, "tsconfig.json"),
      `{
        // what the folder calls its own
        "compilerOptions": {
          "baseUrl": "./src",
          "paths": { "@/*": ["./*"], "@agents/*": ["./agents/*", "./@agents/*"], "settings": ["./settings/index.ts"], },
        },
      }`,
    );
    expect(aliasesOf(folder)(specifier)).toEqual(expected.map((path) => join(folder, path)));
  });

  it.each([["no file"], ["7"], ['{"compilerOptions": {"paths": 7}}']])("are none with %s", async (text) => {
    if (text === "no file") await rm(join(folder, "tsconfig.json"), { force: true });
    else await writeFile(join(folder, "tsconfig.json"), text);
    expect(aliasesOf(folder)("@/tools")).toEqual([]);
  });
});
