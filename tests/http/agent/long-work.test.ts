import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import {
  mayCall,
  startModelServer,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
  type ScriptedToolCall,
} from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let model: ModelServer;
let answer: (request: ModelRequest) => ModelStep;
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

async function put(name: string, text: string): Promise<void> {
  await mkdir(dirname(path(name)), { recursive: true });
  await writeFile(path(name), text);
}

const Values = z.looseObject({
  messages: z.array(
    z.looseObject({ type: z.string(), content: z.string(), additional_kwargs: z.looseObject({}).optional() }),
  ),
});

/** One turn on a new thread: its messages, and its open questions. */
async function turn(request: string) {
  const { thread_id } = await server.client.threads.create();
  const input = { messages: [{ role: "user", content: request }] };
  await server.client.runs.wait(thread_id, "agent", { input });
  const { values } = await server.client.threads.getState(thread_id);
  const { interrupts, status } = await server.client.threads.get(thread_id);
  const { messages } = Values.parse(values);
  const results = messages.filter(({ type }) => type === "tool").map(({ content }) => content);
  return { messages, results, status, asked: Object.values(interrupts ?? {}).flat() };
}

const reading = (offset: number): ScriptedToolCall => ({
  name: "read_file",
  arguments: { path: "src/main.py", offset },
});

describe("work that takes many calls", () => {
  it("reads a source file of 3,000 lines in two calls, each line once", async () => {
    const lines = (await readFile(fileURLToPath(import.meta.url), "utf8")).split("\n");
    const source = Array.from({ length: 3000 }, (_, at) => `${lines[at % lines.length]}\n`).join("");
    // As wide as most source, and too long for two results of 50 KB.
    expect(source.length).toBeGreaterThan(3000 * 40);
    await put("src/main.py", source);
    answer = ({ messages }) => {
      const last = String(messages.at(-1)?.content);
      const next = /go on with offset (\d+)/u.exec(last)?.[1];
      if (messages.at(-1)?.role === "user") return { toolCalls: [reading(1)] };
      return next === undefined ? { text: "It has 3,000 lines." } : { toolCalls: [reading(Number(next))] };
    };
    const { results } = await turn("What does src/main.py do?");
    expect(results).toHaveLength(2);
    const read = results.flatMap((result) => result.match(/^\d+\t.*\n?/gmu) ?? []);
    expect(read.map((line) => line.replace(/^\d+\t/u, "")).join("")).toBe(source);
  });

  it("changes 30 files in one turn, with one reply and no question", async () => {
    const names = Array.from({ length: 30 }, (_, at) => `src/part-${at}.ts`);
    for (const name of names) await put(name, "const limit = 5;\nuse(limit);\n");
    const all = (call: (name: string) => ScriptedToolCall): ModelStep => ({ toolCalls: names.map(call) });
    const steps = [
      all((name) => ({ name: "read_file", arguments: { path: name } })),
      all((name) => ({
        name: "edit_file",
        arguments: { path: name, edits: [{ old_string: "limit = 5", new_string: "limit = 10" }] },
      })),
      { text: "All 30 parts have the new limit." },
    ];
    answer = () => steps.shift() ?? { text: "Asked too often." };
    const { messages, results, asked } = await turn("Set the limit to 10 in all parts below src");
    expect(asked).toEqual([]);
    expect(results.filter((result) => result.includes("Changed src/part-"))).toHaveLength(30);
    for (const name of names) expect(await readFile(path(name), "utf8")).toBe("const limit = 10;\nuse(limit);\n");
    expect(messages.at(-1)?.content).toBe("All 30 parts have the new limit.");
    expect(model.requests).toHaveLength(3);
  });

  it("runs 50 rounds of tools and ends by itself, without a hint about time or rounds", async () => {
    for (let at = 1; at <= 50; at += 1) await put(`notes/${at}.md`, `Note ${at}\n`);
    answer = ({ index }) =>
      index < 50
        ? { toolCalls: [{ name: "read_file", arguments: { path: `notes/${index + 1}.md` } }] }
        : { text: "I have read all 50 notes." };
    const { messages, results, status } = await turn("Read the notes one by one and tell me when you are through");
    expect(results.map((result) => result.replace("1\t", ""))).toEqual(
      Array.from({ length: 50 }, (_, at) => `Note ${at + 1}\n`),
    );
    expect(messages.at(-1)).toMatchObject({
      content: "I have read all 50 notes.",
      additional_kwargs: { end_reason: "answered" },
    });
    expect(status).toBe("idle");
    // No request besides those of the rounds, no tool withdrawn, and no hint to finish.
    expect(model.requests).toHaveLength(51);
    expect(model.requests.every((request) => mayCall(request))).toBe(true);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toMatch(/rounds? (?:are|is) left/iu);
  });
});
