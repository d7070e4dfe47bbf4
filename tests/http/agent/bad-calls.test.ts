import { mkdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import {
  startModelServer,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
  type ScriptedToolCall,
} from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { namesInWorkspace, startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let model: ModelServer;
let answer: (request: ModelRequest) => ModelStep | Promise<ModelStep>;
beforeEach(async () => {
  model = await startModelServer({ handler: (request) => answer(request) });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), openai, model: "openai:scripted" });
});
afterEach(async () => {
  await server.remove();
  await model.close();
});

const path = (name: string) => join(server.config.workspace, name);

async function put(name: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path(name)), { recursive: true });
  await writeFile(path(name), content);
}

const Values = z.looseObject({
  messages: z.array(
    z.looseObject({ type: z.string(), content: z.string(), additional_kwargs: z.looseObject({}).optional() }),
  ),
});

/** One turn on a new thread with these steps of the model: the tools' results, and the last message. */
async function turn(request: string, ...steps: (ModelStep | (() => Promise<ModelStep>))[]) {
  answer = async () => {
    const step = steps.shift() ?? { text: "That is all." };
    return typeof step === "function" ? await step() : step;
  };
  const { thread_id } = await server.client.threads.create();
  const input = { messages: [{ role: "user", content: request }] };
  await server.client.runs.wait(thread_id, "agent", { input });
  const { messages } = Values.parse((await server.client.threads.getState(thread_id)).values);
  return {
    results: messages.filter(({ type }) => type === "tool").map(({ content }) => content),
    last: messages.at(-1),
  };
}

const call = (name: string, args: Record<string, unknown>): ScriptedToolCall => ({ name, arguments: args });
const calls = (...toolCalls: ScriptedToolCall[]): ModelStep => ({ toolCalls });
const edit = (name: string, old_string: string, new_string: string): ScriptedToolCall =>
  call("edit_file", { path: name, edits: [{ old_string, new_string }] });

describe("an error of the model", () => {
  it("one invalid call of five: the four others run, and its result says what is wrong", async () => {
    for (const name of ["a", "b", "c", "d"]) await put(`${name}.txt`, `${name}\n`);
    const read = (name: string) => call("read_file", { path: `${name}.txt` });
    const broken = { name: "write_file", arguments: '{"path": "e.txt", "content": "half of a te' };
    const { results } = await turn("Look after the files", calls(read("a"), read("b"), broken, read("c"), read("d")));
    expect(results).toEqual([
      "1\ta\n",
      "1\tb\n",
      expect.stringMatching(/invalid_format.*break off before the closing brace.*Call write_file again/su),
      "1\tc\n",
      "1\td\n",
    ]);
    expect(await namesInWorkspace(server.config)).toEqual(["a.txt", "b.txt", "c.txt", "d.txt"]);
  });

  it("a failing call that is repeated: it is blocked with a reason, and the turn ends with what is known", async () => {
    const again = calls(call("read_file", { path: "missing.txt" }));
    const { results, last } = await turn("What does the file say?", ...Array.from({ length: 20 }, () => again));
    expect(results[0]).toMatch(/Error \(not_found\).*missing\.txt/su);
    expect(results[2]).toMatch(/"blocked":true.*"suggestions":\[/su);
    expect(results.length).toBeLessThan(10);
    expect(last).toMatchObject({ type: "ai", additional_kwargs: { end_reason: "guardrail" } });
  });

  it("a text to replace that is in the file twice: nothing is changed, and both lines are named", async () => {
    await put("a.ts", "start();\nrun();\nstart();\n");
    const { results } = await turn(
      "Start later in a.ts",
      calls(call("read_file", { path: "a.ts" })),
      calls(edit("a.ts", "start();", "begin();")),
      calls(edit("a.ts", "run();\nstart();", "run();\nbegin();")),
    );
    expect(results[1]).toMatch(/2 times \(line 1, 3\), and nothing was changed.*Take in lines around/su);
    expect(results[2]).toContain("Changed a.ts");
    expect(await readFile(path("a.ts"), "utf8")).toBe("start();\nrun();\nbegin();\n");
  });

  it("a binary file: it is neither shown nor changed", async () => {
    const bytes = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 0xff, 10, 0]);
    await put("tool.bin", bytes);
    const { results } = await turn(
      "What is tool.bin?",
      calls(call("read_file", { path: "tool.bin" })),
      calls(edit("tool.bin", "ELF", "elf")),
      calls(call("write_file", { path: "tool.bin", content: "text" })),
    );
    expect(results[0]).toMatch(/invalid_format.*not UTF-8 text but binary.*Only text can be read/su);
    expect(results[1]).toMatch(/invalid_format.*binary/su);
    expect(results[2]).toMatch(/conflict.*was not read in this conversation/su);
    expect(await readFile(path("tool.bin"))).toEqual(bytes);
  });

  it("a file of 2 GB: its beginning is read, and it is neither edited nor overwritten", async () => {
    const size = 2 * 1024 ** 3;
    await put("huge.log", "GET / 200\n".repeat(20_000));
    await truncate(path("huge.log"), size);
    const { results } = await turn(
      "What is in huge.log?",
      calls(call("read_file", { path: "huge.log", limit: 3 })),
      calls(edit("huge.log", "GET / 200", "GET / 404")),
      calls(call("write_file", { path: "huge.log", content: "" })),
    );
    expect(results[0]).toBe(
      "[huge.log: lines 1-3 of a large file; go on with offset 4]\n1\tGET / 200\n2\tGET / 200\n3\tGET / 200\n",
    );
    expect(results[1]).toMatch(/too_large.*Read it in parts with read_file/su);
    expect(results[2]).toMatch(/too_large.*Change only parts of it, or write to another path/su);
    expect((await stat(path("huge.log"))).size).toBe(size);
    expect(await namesInWorkspace(server.config)).toEqual(["huge.log"]);
  });

  it("a file that changes between read and write: it is kept, and edited after another read", async () => {
    await put("a.txt", "one\ntwo\n");
    const write = (content: string) => calls(call("write_file", { path: "a.txt", content }));
    const { results } = await turn(
      "Look after a.txt",
      calls(call("read_file", { path: "a.txt" })),
      async () => {
        await put("a.txt", "one\ntwo\nthree\n");
        return write("one\n2\n");
      },
      calls(edit("a.txt", "one\ntwo\n", "1\n2\n")),
      calls(call("read_file", { path: "a.txt" })),
      write("1\n2\n3\n"),
    );
    expect(results[1]).toMatch(/Not written: "a\.txt" exists.*has changed since.*Read it whole with read_file/su);
    expect(results[2]).toContain("Changed a.txt");
    expect(results[3]).toBe("1\t1\n2\t2\n3\tthree\n");
    expect(results[4]).not.toContain("Error");
    expect(await readFile(path("a.txt"), "utf8")).toBe("1\n2\n3\n");
    expect(await namesInWorkspace(server.config)).toEqual(["a.txt"]);
  });
});
