import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import type { OwnerLimits } from "@millrace/engine/config/owner-limits";
import { EndReason } from "../../../src/loop/state.ts";
import {
  startModelServer,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
  mayCall,
} from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let model: ModelServer;

async function start({ model: handler, ownerLimits = {} }: End): Promise<void> {
  model = await startModelServer({ handler });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    openai,
    model: "openai:scripted",
    ownerLimits,
  });
  await writeFile(join(server.config.workspace, "notes.md"), "seven lines");
}

const Message = z.looseObject({
  type: z.string(),
  content: z.string(),
  additional_kwargs: z.record(z.string(), z.unknown()),
});
const Status = z.looseObject({ conversation_state: z.looseObject({ state: z.string() }), can_send: z.boolean() });

/** Replies with text once it has no more tools; until then it calls them, each time differently. */
const busy =
  (text: string, tokens = 100) =>
  (request: ModelRequest): ModelStep => {
    const usage = { input: tokens - 10, output: 10 };
    if (!mayCall(request)) return { text, usage };
    const path = request.index === 0 ? "notes.md" : `${request.index}.md`;
    return { toolCalls: [{ name: "read_file", arguments: { path } }], usage };
  };
const reads: ModelStep = { toolCalls: [{ name: "read_file", arguments: { path: "notes.md" } }] };
const never = new Promise<never>(() => undefined);

interface End {
  /** The condition as named in LOOP-02. */
  name: string;
  model: (request: ModelRequest) => ModelStep;
  limits?: Record<string, unknown>;
  ownerLimits?: OwnerLimits;
  /** The number of model calls, with the final message, if they end the turn. */
  asked?: number;
  /** Stops the run at this model call. */
  stopAt?: number;
  reason: z.infer<typeof EndReason>;
  says: RegExp;
  run?: string;
}

const price = { input: 1_000_000, output: 1_000_000 };
const ends: End[] = [
  { name: "no tool calls", model: () => ({ text: "Seven lines." }), reason: "answered", says: /^Seven lines\.$/u },
  {
    name: "the iteration limit",
    model: busy("I have read some."),
    limits: { max_iterations: 3 },
    asked: 3,
    reason: "iteration_limit",
    says: /^I have read some\.$/u,
  },
  {
    name: "the overall time",
    model: busy("I have read one."),
    limits: { timeout_seconds: 0.001 },
    reason: "timeout",
    says: /^I have read one\.$/u,
  },
  {
    name: "a hard token budget",
    model: busy("never asked", 50_000),
    limits: { max_tokens: 40_000 },
    reason: "token_limit",
    says: /token budget.*What was done so far:.*read_file: seven lines/su,
  },
  {
    name: "a hard cost budget",
    model: busy("never asked", 50_000),
    limits: { max_cost: 40_000, price },
    reason: "cost_limit",
    says: /cost budget.*What was done so far:.*read_file: seven lines/su,
  },
  {
    name: "the limit of an owner",
    model: busy("never asked", 1_000),
    ownerLimits: { "*": { tokens_per_day: 500 } },
    reason: "owner_limit",
    says: /tokens.*What was done so far:.*read_file: seven lines/su,
  },
  {
    name: "cancel",
    model: ({ index }) => (index === 0 ? reads : { text: "never said", hold: { after: 0, until: never } }),
    stopAt: 2,
    reason: "cancelled",
    says: /^I was stopped\..*What was done so far:.*read_file: seven lines/su,
    run: "interrupted",
  },
  {
    name: "an unrecoverable error",
    model: ({ index }) => (index === 0 ? reads : { fault: { kind: "status", status: 401, message: "bad key" } }),
    reason: "error",
    says: /could not be asked again.*What was done so far:.*read_file: seven lines/su,
  },
  {
    name: "the completion tool",
    model: () => ({ toolCalls: [{ name: "attempt_completion", arguments: { result: "It is done." } }] }),
    reason: "completed",
    says: /^It is done\.$/u,
  },
  {
    name: "a guardrail",
    model: (request) =>
      mayCall(request)
        ? { toolCalls: [{ name: "read_file", arguments: { path: "missing.md" } }] }
        : { text: "The file is not there." },
    reason: "guardrail",
    says: /^The file is not there\.$/u,
  },
];

it("the table contains every end condition of a turn (LOOP-02)", () => {
  expect(ends.map(({ reason }) => reason).toSorted()).toEqual(EndReason.options.toSorted());
});

describe("a turn that ends by", () => {
  afterEach(async () => {
    await server.remove();
    await model.close();
  });

  it.each(ends)("$name has a final message in the thread, with the reason for the end", async (end) => {
    await start(end);
    const { client } = server;
    const { thread_id: id } = await client.threads.create();
    const events: { event: string; data: unknown }[] = [];
    const stream = client.runs.stream(id, "agent", {
      input: { messages: [{ role: "user", content: "Look at the notes" }] },
      context: { mode: "free_work", limits: end.limits ?? {} },
      streamMode: ["values", "custom"],
      streamSubgraphs: true,
    });
    const stopped = stopWhenAsked(id, end.stopAt);
    for await (const { event, data } of stream) events.push({ event, data });
    await stopped;

    const state = await client.threads.getState(id);
    const messages = z.array(Message).parse(z.looseObject({ messages: z.unknown() }).parse(state.values).messages);
    const last = messages.at(-1);
    expect(last?.type).toBe("ai");
    expect(last?.content).toMatch(end.says);
    expect(last?.additional_kwargs["end_reason"]).toBe(end.reason);
    if (end.asked !== undefined) expect(model.requestCount).toBe(end.asked);
    expect(events.filter(({ event }) => event === "error")).toEqual([]);
    const [run] = await client.runs.list(id);
    expect(run?.status).toBe(end.run ?? "success");
    const status = Status.parse(await (await server.send("GET", `/threads/${id}/status`)).json());
    expect(status.can_send).toBe(true);
    expect(status.conversation_state.state).toBe(end.reason === "cancelled" ? "Idle" : "Completed");
    const types = events.map(({ data }) => z.looseObject({ type: z.string() }).safeParse(data).data);
    expect(types).toContainEqual(
      end.reason === "cancelled"
        ? expect.objectContaining({ type: "stop_completed", stop_reason: "user_requested" })
        : expect.objectContaining({ type: "agentic_loop.complete", end_reason: end.reason }),
    );
  });
});

async function stopWhenAsked(id: string, requests: number | undefined): Promise<void> {
  if (requests === undefined) return;
  const { client } = server;
  await expect.poll(() => model.requestCount).toBe(requests);
  const [run] = await client.runs.list(id);
  await client.runs.cancel(id, run?.run_id ?? "", true);
}
