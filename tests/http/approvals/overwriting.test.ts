import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { namesInWorkspace, startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let model: ModelServer;
beforeEach(async () => {
  model = await startModelServer({ script: [] });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), openai, model: "openai:scripted" });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

const long = Array.from({ length: 200 }, (_, index) => `line ${index + 1}\n`).join("");
const changed = long.replace("line 7\n", "line seven\n");
const call = (name: string, args: Record<string, unknown>): ModelStep => ({ toolCalls: [{ name, arguments: args }] });
const path = (name: string) => join(server.config.workspace, name);

async function put(name: string, text: string): Promise<void> {
  await mkdir(dirname(path(name)), { recursive: true });
  await writeFile(path(name), text);
}

const Values = z.looseObject({
  messages: z.array(z.looseObject({ type: z.string(), content: z.string() })),
  __interrupt__: z.array(z.looseObject({ value: z.looseObject({ operation: z.unknown() }) })).optional(),
});

/** One turn on a thread: the tools' results, and the open questions. */
async function turn(request: string, steps: ModelStep[], thread?: string) {
  const id = thread ?? (await server.client.threads.create()).thread_id;
  model.push(...steps);
  const input = { messages: [{ role: "user", content: request }] };
  await server.client.runs.wait(id, "agent", { input });
  return { id, ...(await state(id)) };
}

async function state(id: string) {
  const { values } = await server.client.threads.getState(id);
  const thread = await server.client.threads.get(id);
  const asked = Object.values(thread.interrupts ?? {}).flat();
  const results = Values.parse(values)
    .messages.filter(({ type }) => type === "tool")
    .map(({ content }) => content);
  return { asked, results };
}

const approve = (id: string) =>
  server.client.runs.wait(id, "agent", { command: { resume: { decisions: [{ type: "approve" }] } } });

describe.each(["write_file", "update_file", "write_to_file", "rewrite_file"])(
  "%s for a file that already exists",
  (tool) => {
    it("is refused before the conversation has read it, and done afterwards", async () => {
      await put("a.txt", long);
      const { results } = await turn("look after the file for me", [
        call(tool, { path: "a.txt", content: changed }),
        call("read_file", { path: "a.txt" }),
        call(tool, { path: "a.txt", content: changed }),
        { text: "Line 7 says seven now." },
      ]);
      expect(results[0]).toMatch(/conflict.*not read in this conversation.*read_file/su);
      expect(results[2]).not.toContain("Error");
      expect(await readFile(path("a.txt"), "utf8")).toBe(changed);
    });

    it("is refused if the file was changed since, or only a part of it was read", async () => {
      await put("a.txt", long);
      const { id, results } = await turn("read the beginning", [
        call("read_file", { path: "a.txt", offset: 1, limit: 20 }),
        call(tool, { path: "a.txt", content: changed }),
        call("read_file", { path: "a.txt", offset: 21 }),
        { text: "Read." },
      ]);
      expect(results[1]).toContain("not read in this conversation");
      await put("a.txt", `${long}and more\n`);
      const next = await turn(
        "now change it",
        [call(tool, { path: "a.txt", content: changed }), { text: "Changed?" }],
        id,
      );
      expect(next.results.at(-1)).toContain("has changed since");
      expect(await readFile(path("a.txt"), "utf8")).toBe(`${long}and more\n`);
    });

    it("asks if more than half of the lines would be lost, and is done after approval", async () => {
      await put("a.txt", long);
      const { id, asked } = await turn("make it nicer, will you, that file of mine", [
        call("read_file", { path: "a.txt" }),
        call(tool, { path: "a.txt", content: "short\n" }),
        { text: "It is short now." },
      ]);
      expect(asked).toMatchObject([
        { value: { kind: "confirmation", operation: { type: "IrreversibleOperation", path: "a.txt" } } },
      ]);
      expect(await readFile(path("a.txt"), "utf8")).toBe(long);
      await approve(id);
      expect(await readFile(path("a.txt"), "utf8")).toBe("short\n");
    });

    it("is done without a question if the user explicitly asks for it", async () => {
      await put("a.txt", long);
      const { asked } = await turn("overwrite a.txt with one line", [
        call(tool, { path: "a.txt", content: "one line\n" }),
        { text: "Done." },
      ]);
      expect(asked).toEqual([]);
      expect(await readFile(path("a.txt"), "utf8")).toBe("one line\n");
    });

    it("needs no read of what the conversation has written itself", async () => {
      const { results } = await turn("keep a note", [
        call("write_file", { path: "b.txt", content: "one\n" }),
        call(tool, { path: "b.txt", content: "two\n" }),
        { text: "Kept." },
      ]);
      expect(results.join("\n")).not.toContain("Error");
      expect(await readFile(path("b.txt"), "utf8")).toBe("two\n");
    });
  },
);

/** Calls that delete all lines from the 11th on in `a.txt`. */
const cutting: [string, Record<string, unknown>][] = [
  ["edit_file", { edits: [{ old_string: long.slice(long.indexOf("line 11\n")), new_string: "" }] }],
  ["replace_in_file", { diff: `<<<<<<< SEARCH\n${long.slice(long.indexOf("line 11\n"))}=======\n>>>>>>> REPLACE\n` }],
  ["patch_file", { changes: [{ find: long.slice(long.indexOf("line 11\n")), replace: "" }] }],
];

describe.each(cutting)("%s that deletes more than half of the lines", (tool, change) => {
  const steps = () => [
    call("read_file", { path: "a.txt" }),
    call(tool, { path: "a.txt", ...change }),
    { text: "It has ten lines now." },
  ];
  const rest = long.slice(0, long.indexOf("line 11\n"));

  it("asks, and is done after approval", async () => {
    await put("a.txt", long);
    const { id, asked } = await turn("make it nicer, will you, that file of mine", steps());
    expect(asked).toMatchObject([
      { value: { kind: "confirmation", operation: { type: "IrreversibleOperation", path: "a.txt" } } },
    ]);
    expect(await readFile(path("a.txt"), "utf8")).toBe(long);
    await approve(id);
    expect(await readFile(path("a.txt"), "utf8")).toBe(rest);
  });

  it("is done without a question if the user asks for it", async () => {
    await put("a.txt", long);
    const { asked } = await turn("remove everything from line 11 on in a.txt", steps());
    expect(asked).toEqual([]);
    expect(await readFile(path("a.txt"), "utf8")).toBe(rest);
  });
});

describe("moves that the user did not ask for", () => {
  const moves = (from: number, to: number): ModelStep => ({
    toolCalls: Array.from({ length: to - from + 1 }, (_, index) => ({
      name: "move_file",
      arguments: { source: `f${from + index}.txt`, destination: `new/f${from + index}.txt` },
    })),
  });

  it("need approval beyond ten in a turn", async () => {
    for (let index = 1; index <= 14; index += 1) await put(`f${index}.txt`, "x");
    const { asked } = await turn("look at the workspace for me", [moves(1, 7), moves(8, 14), { text: "Looked." }]);
    expect(asked).toHaveLength(4);
    expect(asked[0]).toMatchObject({ value: { operation: { type: "BatchOperation", count: 14 } } });
    // Nothing of the second reply is done before its questions are answered.
    expect(await readdir(path("new"))).toHaveLength(7);
  });

  it("are counted together with renames and deletions", async () => {
    for (let index = 1; index <= 14; index += 1) await put(`f${index}.txt`, "x");
    const mixed: ModelStep = {
      toolCalls: [
        ...Array.from({ length: 6 }, (_, index) => ({
          name: "rename_file",
          arguments: { path: `f${index + 1}.txt`, new_name: `g${index + 1}.txt` },
        })),
        ...Array.from({ length: 6 }, (_, index) => ({
          name: "move_file",
          arguments: { source: `f${index + 7}.txt`, destination: `new/f${index + 7}.txt` },
        })),
      ],
    };
    const { asked } = await turn("look at the workspace for me", [mixed, { text: "Looked." }]);
    expect(asked).toHaveLength(2);
    expect(asked[0]).toMatchObject({ value: { operation: { type: "BatchOperation", count: 12 } } });
  });

  it("are counted together with deletions, each of which needs its own approval", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `f${index + 1}.txt`);
    for (const name of names) await put(name, "x");
    const deletions = names.slice(0, 6).map((name) => ({ name: "delete_file", arguments: { path: name } }));
    const mixed: ModelStep = { toolCalls: [...deletions, ...(moves(7, 12).toolCalls ?? [])] };
    const { asked } = await turn("look at the workspace for me", [mixed, { text: "Looked." }]);
    expect(asked.map(({ value }) => value)).toMatchObject([
      ...names.slice(0, 6).map((path) => ({ operation: { type: "DeleteFile", path } })),
      { operation: { type: "BatchOperation", count: 12 } },
      { operation: { type: "BatchOperation", count: 12 } },
    ]);
    // Nothing of the reply is done before its questions are answered.
    expect(await namesInWorkspace(server.config)).toEqual(names.toSorted());
  });

  it("are done without a question if the user asked for them", async () => {
    for (let index = 1; index <= 14; index += 1) await put(`f${index}.txt`, "x");
    const { asked } = await turn("move all files to new", [moves(1, 14), { text: "Moved all 14." }]);
    expect(asked).toEqual([]);
    expect(await readdir(path("new"))).toHaveLength(14);
  });
});
