import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { BaseMessage } from "@langchain/core/messages";
import { shortIds } from "../../../src/context/pruning/short-ids.ts";
import { builtInPrompts } from "../../../src/prompts/prompts.ts";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";
import { strictProblems } from "../model-call/strict-provider.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const withTools = {
  mode: "free_work",
  tools: ["read_file", "conversation_message_ids_write", "conversation_message_ids_read"],
};
const reads = (path: string, id: string): ModelStep => ({
  toolCalls: [{ name: "read_file", arguments: { path }, id }],
});
const marks = (message_ids: string, action: string): ModelStep => ({
  toolCalls: [{ name: "conversation_message_ids_write", arguments: { message_ids, action } }],
});
const textsOf = (request: ModelRequest | undefined): string[] => (request?.messages ?? []).map(wireText);
const hintsOf = (request: ModelRequest | undefined): string[] =>
  textsOf(request).flatMap((text) => /\[Hint: message_id: ([0-9a-f]{8})\]$/u.exec(text)?.[1] ?? []);
const shortIdOf = (messages: BaseMessage[], message: BaseMessage | undefined): string =>
  shortIds(messages).get(message?.id ?? "") ?? "none";
const allValid = ({ model }: TestWorkflow): boolean =>
  model.requests.every(({ messages }) => strictProblems(messages).length === 0);

describe("a model that may leave messages out", () => {
  it("sees the id of each message, and from the next call on not those that it has marked", async () => {
    const flow = await start({
      files: { "a.md": "the secret of a", "b.md": "the secret of b" },
      script: [reads("a.md", "one"), reads("b.md", "two"), { text: "Read both." }],
    });
    const first = await flow.send("Read a.md and b.md", withTools);
    expect(hintsOf(flow.model.requests[2])).toHaveLength(5);
    expect(textsOf(flow.model.requests[2]).join("\n")).toMatch(/of the 81920 tokens/u);

    const [request, , resultOfA] = first.messages;
    const ids = [request, resultOfA].map((message) => shortIdOf(first.messages, message)).join(", ");
    expect(hintsOf(flow.model.requests[2])).toEqual(expect.arrayContaining(ids.split(", ")));
    for (const step of [marks(ids, "create"), { text: "Made room." }]) flow.model.push(step);
    const second = await flow.send("Go on", withTools);
    const before = textsOf(flow.model.requests[3]).join("\n");
    const after = textsOf(flow.model.requests[4]).join("\n");
    expect(before).toContain("secret of a");
    expect(after).not.toContain("secret of a");
    expect(after).not.toContain("Read a.md and b.md");
    expect(after).toContain("secret of b");
    expect(after).toContain("Left out from the next call on (2)");
    // What is stored is whole, and bears no hints.
    expect(second.messages.slice(0, first.messages.length)).toEqual(first.messages);
    expect(second.messages.some(({ text }) => text.includes("[Hint"))).toBe(false);
    expect(flow.events).toContainEqual(expect.objectContaining({ type: "context_pruned", deleted: 3, cleared: 0 }));
    expect(allValid(flow)).toBe(true);
  });

  it("may add to the list, take from it, and look at it, in one reply too", async () => {
    const flow = await start({ script: [{ text: "Hello." }] });
    const { messages } = await flow.send("Hi", withTools);
    const [hi, hello] = messages.map((message) => shortIdOf(messages, message));
    const call = (name: string, given: Record<string, unknown>) => ({
      name: `conversation_message_ids_${name}`,
      arguments: given,
    });
    flow.model.push({
      toolCalls: [
        call("write", { message_ids: `${hi}`, action: "create" }),
        call("write", { message_ids: `${hello},00000000`, action: "append" }),
        call("write", { message_ids: `${hi}`, action: "delete" }),
        call("read", {}),
        call("write", { message_ids: "nonsense!", action: "append" }),
      ],
    });
    flow.model.push({ text: "Done." });
    const after = await flow.send("Tidy up", withTools);
    const results = after.messages.filter((message) => message.getType() === "tool").map(({ text }) => text);
    expect(results).toEqual([
      `Left out from the next call on (1): ${hi}.`,
      `Left out from the next call on (3): ${hi}, ${hello}, 00000000. These name no message of this conversation: 00000000.`,
      `Left out from the next call on (2): ${hello}, 00000000. These name no message of this conversation: 00000000.`,
      `Left out from the next call on (2): ${hello}, 00000000. These name no message of this conversation: 00000000.`,
      expect.stringMatching(/^Error \(\w+\): .*expected ids of 8 characters/su),
    ]);
    const shown = textsOf(flow.model.requests.at(-1)).join("\n");
    expect(shown).toContain("Hi\n");
    expect(shown).not.toContain("Hello.");
  });

  it("cannot leave out the request that it works for, nor the system text", async () => {
    const flow = await start({ script: [{ text: "Hello." }] });
    const { messages } = await flow.send("Hi", withTools);
    // Read when the model is asked: only then is the request there.
    const step = {
      get toolCalls() {
        return marks(hintsOf(flow.model.requests.at(-1)).join(","), "create").toolCalls ?? [];
      },
    };
    flow.model.push(step);
    flow.model.push({ text: "Still here." });
    await flow.send("The question that counts", withTools);
    const shown = flow.model.requests.at(-1);
    expect(messages).toHaveLength(2);
    expect(shown?.messages[0]?.role).toBe("system");
    expect(textsOf(shown).join("\n")).toContain("The question that counts");
    expect(textsOf(shown).join("\n")).not.toContain("Hello.");
  });

  it("is not sent to readers when it repeats a hint, streamed or not, nor is the hint stored", async () => {
    for (const stream of [true, false]) {
      const chunks = ["Fine", ".\n", "\n[Hi", "nt: message_id: 012", "3abcd]"];
      const flow = await start({ stream, script: [stream ? { chunks } : { text: chunks.join("") }] });
      const { messages } = await flow.send("Hi", withTools);
      expect(messages.at(-1)?.text).toBe("Fine.");
      if (stream) expect([...flow.streamed.values()].at(-1)).toBe("Fine.");
      await flow.close();
    }
  });

  it("does not write a hint that it copies into a file", async () => {
    const content = "# Notes\n\nA line.\n\n[Hint: message_id: 0123abcd]";
    const flow = await start({
      script: [{ toolCalls: [{ name: "create_file", arguments: { path: "copy.md", content } }] }, { text: "Copied." }],
    });
    const { messages } = await flow.send("Copy the notes", {
      ...withTools,
      tools: [...withTools.tools, "create_file"],
    });
    expect(await readFile(join(flow.workspace, "copy.md"), "utf8")).toBe("# Notes\n\nA line.");
    expect(JSON.stringify(messages)).not.toContain("[Hint");
  });

  it("is given no hints where it was not given the tool", async () => {
    const flow = await start({ script: [{ text: "Hello." }] });
    await flow.send("Hi", { mode: "free_work" });
    expect(textsOf(flow.model.requests[0]).join("\n")).not.toContain("[Hint");
  });
});

describe("a conversation above its safe zone", () => {
  const files = Object.fromEntries(
    Array.from({ length: 9 }, (_, index) => [`${index}.md`, `${`${index}`.repeat(39)}\n`.repeat(100)]),
  );
  const script = (): ModelStep[] => [
    ...Object.keys(files).map((path, index) => reads(path, `call-${index}`)),
    { text: "All read." },
  ];
  const context = { mode: "free_work", tools: ["read_file"], limits: { safe_zone: 4000, stagnation_threshold: 20 } };

  it("has old tool results cleared from what the model sees, and from nothing else", async () => {
    const flow = await start({ files, script: script() });
    const logged: { fields: unknown; name: unknown }[] = [];
    const info = (fields: unknown, name?: unknown) => void logged.push({ fields, name });
    flow.services.logger = { info, warn: () => undefined };
    const { messages } = await flow.send("Read them", context);
    const shown = flow.model.requests.at(-1)?.messages ?? [];
    const results = shown.filter(({ role }) => role === "tool").map(wireText);
    expect(results.map((text) => text.startsWith("Content cleared to save tokens"))).toEqual(
      results.map((_, index) => index < 3),
    );
    expect(messages.filter((message) => message.getType() === "tool").every(({ text }) => text.length > 3000)).toBe(
      true,
    );
    const pruned = flow.events.findLast((event) => event.type === "context_pruned");
    expect(pruned).toMatchObject({ deleted: 0, cleared: 3 });
    expect(pruned?.type === "context_pruned" && pruned.tokens_before - pruned.tokens_after).toBeGreaterThan(2500);
    const { type: _type, ...counts } = pruned ?? { type: "context_pruned" };
    expect(logged.findLast(({ name }) => name === "context_pruned")?.fields).toEqual({
      session_id: "session-1",
      run_id: "run-1",
      ...counts,
    });
    const lengths = flow.events.findLast((event) => event.type === "window_length");
    expect(lengths?.type === "window_length" && lengths.tokens_used - lengths.pruned_tokens_used).toBeGreaterThan(2500);
    expect(allValid(flow)).toBe(true);
  });

  it("is shown in full when pruning fails, with an event and a log line", async () => {
    const flow = await start({ files, script: script() });
    const logged: unknown[] = [];
    flow.services.logger = { info: () => undefined, warn: (...line: unknown[]) => void logged.push(line[1]) };
    flow.services.prompts = {
      ...builtInPrompts,
      text(template, values) {
        if (template.name === "tool_cleared") throw new Error("no such words");
        return builtInPrompts.text(template, values);
      },
    };
    const { messages } = await flow.send("Read them", context);
    expect(messages.at(-1)?.text).toBe("All read.");
    expect(textsOf(flow.model.requests.at(-1)).join("\n")).not.toContain("cleared");
    expect(flow.events).toContainEqual({ type: "context_not_pruned", reason: "no such words" });
    expect(logged).toContain("context_not_pruned");
  });
});
