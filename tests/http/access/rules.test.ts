import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const folder = (): string => join(server.config.workspace, ".autocoderrules");
// The assertions check the shape.
const read = async () =>
  (await (await server.send("GET", "/rules")).json()) as { rules: { path: string }[]; warnings: { file: string }[] };
const own = ({ path }: { path: string }): boolean => path.startsWith(".autocoderrules/");

it("GET /rules returns the current rules, the file of each, and their errors", async () => {
  await mkdir(folder());
  await writeFile(join(folder(), "index.md"), "See python.md.");
  await writeFile(join(folder(), "kind.md"), "---\nalwaysApply: true\n---\nBe kind.");
  await writeFile(join(folder(), "python.md"), "---\ndescription: Python\nglobs: '**/*.py'\n---\nUse snake_case.");
  await writeFile(join(folder(), "broken.md"), "---\nalwaysApply: perhaps\n---\nA rule.");
  await writeFile(join(folder(), "binary.md"), "\0");
  const { rules, warnings } = await read();
  const project = { scope: "project", description: "", globs: [], always_apply: false };
  expect(rules.filter(own)).toEqual([
    { ...project, path: ".autocoderrules/broken.md", holds: "on_request", content: "A rule." },
    { ...project, path: ".autocoderrules/index.md", holds: "always", content: "See python.md." },
    { ...project, path: ".autocoderrules/kind.md", holds: "always", always_apply: true, content: "Be kind." },
    {
      ...project,
      path: ".autocoderrules/python.md",
      description: "Python",
      globs: ["**/*.py"],
      holds: "for_files",
      content: "Use snake_case.",
    },
  ]);
  expect(warnings).toEqual(
    expect.arrayContaining([
      { file: ".autocoderrules/binary.md", problem: expect.stringContaining("zero byte") },
      { file: ".autocoderrules/broken.md", problem: "alwaysApply: expected true or false" },
    ]),
  );
  await rm(folder(), { recursive: true });
  expect((await read()).rules.filter(({ path }) => path.startsWith(".autocoderrules/"))).toEqual([]);
});
