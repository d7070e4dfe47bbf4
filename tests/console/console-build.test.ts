import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { openConsoleBuild } from "../../src/http/console/console-build.ts";

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), "millrace-console-build-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), "");
}

const stateOf = async () => await openConsoleBuild(createLogger("silent"), root).state();

describe("the console of a copy that cannot build it", () => {
  it.each([
    ["without its sources", []],
    ["without the packages that build it", ["console/build.ts", "package-lock.json"]],
  ])("is what was built before, %s", async (_, sources) => {
    for (const path of [...sources, "dist/console/release/index.html"]) write(path);
    expect(await stateOf()).toEqual({ status: "ready", folder: join(root, "dist/console/release") });
  });

  it("is not there where nothing was built, and says what to do", async () => {
    write("console/build.ts");
    expect(await stateOf()).toMatchObject({ status: "failed", reason: expect.stringContaining("npm run build") });
  });
});
