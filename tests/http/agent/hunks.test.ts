import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { withoutHunks } from "../../../src/tools/undo/hunks.ts";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

/** A text of numbered lines, some of which are replaced. */
const lines = (others: Record<number, string> = {}): string =>
  Array.from({ length: 30 }, (_, at) => others[at + 1] ?? `line ${at + 1}\n`).join("");
const before = lines();
const after = lines({ 3: "THREE\n", 15: "", 25: "TWENTY-FIVE\nand more\n" });

describe("hunks", () => {
  it.each([
    ["the first", after, [1], lines({ 15: "", 25: "TWENTY-FIVE\nand more\n" })],
    ["a removed part", after, [2], lines({ 3: "THREE\n", 25: "TWENTY-FIVE\nand more\n" })],
    ["two, in any order, one repeated", after, [3, 1, 3], lines({ 15: "" })],
    ["all", after, [1, 2, 3], before],
    [
      "one of a file that has changed elsewhere",
      `new\n${after.replace("TWENTY", "twenty")}`,
      [1],
      `new\n${lines({ 15: "", 25: "twenty-FIVE\nand more\n" })}`,
    ],
  ])("undo %s", (_, now, hunks, text) => {
    expect(withoutHunks({ before, after, now }, hunks)).toEqual({ kind: "text", text });
  });

  it.each([
    ["changed there", after.replace("THREE", "drei"), [1], { kind: "changed", hunk: 1 }],
    ["a line beside it has changed", after.replace("line 14", "LINE 14"), [2], { kind: "changed", hunk: 2 }],
    ["a line was inserted", after.replace("line 14\n", "line 14\nnew\n"), [2], { kind: "changed", hunk: 2 }],
    ["it was undone before", lines({ 15: "", 25: "TWENTY-FIVE\nand more\n" }), [1], { kind: "changed", hunk: 1 }],
    ["emptied", "", [1], { kind: "changed", hunk: 1 }],
    ["not there", after, [4], { kind: "unknown", hunk: 4 }],
  ])("are refused: %s", (_, now, hunks, answer) => {
    expect(withoutHunks({ before, after, now }, hunks)).toEqual(answer);
  });

  it.each([
    ["an end without a line break", "a\nb", "a\nb\nc\n", "a\nb\nc\n", { kind: "text", text: "a\nb" }],
    ["a line added after it", "a\nb", "a\nb\nc\n", "a\nb\nc\nd\n", { kind: "changed", hunk: 1 }],
    ["a text that was emptied", "a\nb\n", "", "", { kind: "text", text: "a\nb\n" }],
    ["a text that was emptied and written again", "a\nb\n", "", "c\n", { kind: "changed", hunk: 1 }],
    ["Windows' line breaks", "a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n", { kind: "text", text: "a\r\nb\r\n" }],
  ])("detect %s", (_, was, is, now, answer) => {
    expect(withoutHunks({ before: was, after: is, now }, [1])).toEqual(answer);
  });
});

describe("POST …/operations/{operation_id}/hunks/undo", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), model: "offline" });
  });
  afterAll(() => server.remove());

  const Operations = z.object({ operations: z.array(z.looseObject({ operation_id: z.string(), type: z.string() })) });

  /** A thread whose last operation comes from a tool. */
  async function changed(name: string, tool: string, args: object) {
    const { thread_id } = await server.client.threads.create();
    const send = (method: string, path: string, body?: unknown) =>
      server.send(method, `/threads/${thread_id}${path}`, body);
    expect((await send("POST", `/tools/${tool}/run`, { args: { path: name, ...args } })).status).toBe(200);
    const { operations } = Operations.parse(await (await send("GET", "/operations")).json());
    const path = `/operations/${operations[0]?.operation_id ?? ""}`;
    return { send, path, undo: (hunks: unknown) => send("POST", `${path}/hunks/undo`, { hunks }) };
  }
  const file = (name: string): string => join(server.config.workspace, name);

  it("undoes one hunk by an operation of its own, which can be undone too", async () => {
    await writeFile(file("a.md"), before);
    const { send, path, undo } = await changed("a.md", "update_file", { content: after });
    const diff = z.object({ hunks: z.number(), lines: z.array(z.object({ kind: z.string(), hunk: z.number() })) });
    const shown = diff.parse(await (await send("GET", `${path}/diff?limit=100`)).json());
    const ofChanges = shown.lines.flatMap(({ kind, hunk }) => (kind === "same" ? [] : [hunk]));
    expect([shown.hunks, ofChanges]).toEqual([3, [1, 1, 2, 3, 3, 3]]);
    const done = await undo([2]);
    expect([done.status, await done.json()]).toMatchObject([200, { type: "modify", path: "a.md", can_undo: true }]);
    expect(await readFile(file("a.md"), "utf8")).toBe(lines({ 3: "THREE\n", 25: "TWENTY-FIVE\nand more\n" }));
    const again = await undo([2]);
    expect([again.status, await again.text()]).toEqual([409, expect.stringContaining("hunk 2")]);
    const { operations } = Operations.parse(await (await send("GET", "/operations")).json());
    await send("POST", `/operations/${operations[0]?.operation_id ?? ""}/undo`);
    expect(await readFile(file("a.md"), "utf8")).toBe(after);
  });

  it("refuses a hunk whose lines have changed since, and leaves the file", async () => {
    await writeFile(file("b.md"), before);
    const { undo } = await changed("b.md", "update_file", { content: after });
    const now = after.replace("THREE", "drei");
    await writeFile(file("b.md"), now);
    expect([(await undo([1])).status, (await undo([2, 1])).status, (await undo([9])).status]).toEqual([409, 409, 404]);
    expect((await undo([])).status).toBe(400);
    expect(await readFile(file("b.md"), "utf8")).toBe(now);
  });

  it("is 409 for a file that the operation created, which has no hunks", async () => {
    const { send, path, undo } = await changed("c.md", "create_file", { content: "new\n" });
    expect(await (await send("GET", `${path}/diff`)).json()).toMatchObject({ hunks: 0 });
    expect((await undo([1])).status).toBe(409);
  });
});
