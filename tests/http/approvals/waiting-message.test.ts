import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { coerceMessageLikeToMessage, type BaseMessageLike } from "@langchain/core/messages";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

interface Message {
  id: string;
  type: string;
  content: string;
  tool_calls?: { id: string; name: string; args: Record<string, unknown> }[];
  tool_call_id?: string;
}
interface Values {
  messages: Message[];
}

let server: TestServer;
let folder = "";
let made = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-waiting-"));
  const graphs = join(folder, "langgraph.json");
  const workflow = fileURLToPath(new URL("../../../src/graph/workflow.ts", import.meta.url));
  await writeFile(graphs, JSON.stringify({ graphs: { agent: `${workflow}:workflow` } }));
  server = await startTestServer({ graphs });
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

const input = (text: string): Record<string, unknown> => ({ messages: [{ role: "user", content: text }] });

/** Requests something that needs approval; returns the last state of the stream, and the thread. */
async function ask(threadId?: string): Promise<{ threadId: string; state: Values; folder: string }> {
  const name = `old-${(made += 1)}`;
  await mkdir(join(server.config.workspace, name));
  await writeFile(join(server.config.workspace, name, "a.txt"), "x");
  const id = threadId ?? (await server.client.threads.create()).thread_id;
  const states = await stream(id, { input: input(`delete the folder ${name}`) });
  const state = states.findLast((values) => "messages" in values);
  if (state === undefined) throw new Error("no state was streamed");
  expect(states.at(-1)).toHaveProperty("__interrupt__");
  return { threadId: id, state, folder: name };
}

async function stream(threadId: string, payload: Record<string, unknown>): Promise<Values[]> {
  const states: Values[] = [];
  for await (const { event, data } of server.client.runs.stream(threadId, "agent", {
    ...payload,
    streamMode: ["values"],
  })) {
    // The data of a `values` event is the state.
    if (event === "values") states.push(data as unknown as Values);
  }
  return states;
}

async function stateOf(threadId: string): Promise<Values> {
  return (await server.client.threads.getState<Values>(threadId)).values;
}

/** All routes by which a client reads the values of a thread. */
async function everywhere(threadId: string): Promise<Record<string, Values>> {
  const { threads } = server.client;
  const [searched] = await threads.search<Values>({ ids: [threadId] });
  const [newest] = await threads.getHistory<Values>(threadId);
  const { checkpoint } = await threads.getState<Values>(threadId);
  const nothing: Values = { messages: [] };
  return {
    state: await stateOf(threadId),
    "state at its checkpoint": (await threads.getState<Values>(threadId, checkpoint)).values,
    "state with subgraphs": (await threads.getState<Values>(threadId, undefined, { subgraphs: true })).values,
    history: newest?.values ?? nothing,
    thread: (await threads.get<Values>(threadId)).values,
    search: searched?.values ?? nothing,
  };
}

const ids = (values: Values): string[] => values.messages.map(({ id }) => id);

function expectSound({ messages }: Values): void {
  expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
  // The messages on the wire have LangChain's form.
  const list = messages.map((message) => coerceMessageLikeToMessage(message as BaseMessageLike));
  expect(repairToolPairs(list)).toBe(list);
}

describe("the message with a call that waits for approval", () => {
  it("is the last one in every turn, in the stream and wherever the state is read", async () => {
    let threadId: string | undefined;
    for (const turn of [1, 2]) {
      const asked = await ask(threadId);
      ({ threadId } = asked);
      const last = asked.state.messages.at(-1);
      expect(last).toMatchObject({ type: "ai", tool_calls: [{ name: "delete_file", args: { path: asked.folder } }] });
      for (const [place, values] of Object.entries(await everywhere(threadId))) {
        expect([place, ids(values)]).toEqual([place, ids(asked.state)]);
        expect(values.messages.at(-1)).toMatchObject({ type: "ai", tool_calls: last?.tool_calls });
      }
      const { interrupts } = await server.client.threads.get(threadId);
      const [question] = Object.values(interrupts).flat();
      expect(question?.value).toMatchObject({ tool_call_id: last?.tool_calls?.[0]?.id });
      const states = await stream(threadId, { command: { resume: { decisions: [{ type: "approve" }] } } });
      // It stays while the run continues.
      for (const values of states) expect(ids(values)).toEqual(expect.arrayContaining(ids(asked.state)));
      const after = await stateOf(threadId);
      expect(ids(after).slice(0, asked.state.messages.length)).toEqual(ids(asked.state));
      expectSound(after);
      expect(after.messages.filter(({ type }) => type === "human")).toHaveLength(turn);
    }
  });

  it("is in the answer of a waiting request, and in the state after a restart", async () => {
    const { thread_id } = await server.client.threads.create();
    await mkdir(join(server.config.workspace, "waited"));
    await writeFile(join(server.config.workspace, "waited", "a.txt"), "x");
    const answer = await server.client.runs.wait(thread_id, "agent", { input: input("delete the folder waited") });
    expect(answer).toMatchObject({ __interrupt__: [{}] });
    const known = ids(answer as unknown as Values);
    expect(known).toHaveLength(2);
    server = await (await server.close(), server.restart());
    for (const values of Object.values(await everywhere(thread_id))) expect(ids(values)).toEqual(known);
    const [run] = await server.client.runs.list(thread_id);
    expect(ids((await server.client.runs.join(thread_id, run?.run_id ?? "")) as unknown as Values)).toEqual(known);
  });

  it.each([
    ["denied", { decisions: [{ type: "reject", message: "no" }] }],
    ["edited", { decisions: [{ type: "edit", edited_action: { name: "delete_file", args: { path: "nothing" } } }] }],
  ])("stays once when the call is %s", async (_name, resume) => {
    const { threadId, state } = await ask();
    await stream(threadId, { command: { resume } });
    const after = await stateOf(threadId);
    expect(ids(after).slice(0, state.messages.length)).toEqual(ids(state));
    expectSound(after);
    // The state before has no message of the loop: the latest state has it.
    const history = await server.client.threads.getHistory<Values>(threadId);
    expect(history.filter(({ values }) => (values.messages ?? []).length === state.messages.length)).toEqual([]);
  });

  it("is in a copy of the thread, which is answered separately", async () => {
    const { threadId, state } = await ask();
    const copy = (await server.client.threads.copy(threadId)) as unknown as { thread_id: string };
    for (const values of Object.values(await everywhere(copy.thread_id))) expect(ids(values)).toEqual(ids(state));
    await stream(copy.thread_id, { command: { resume: { decisions: [{ type: "reject" }] } } });
    expectSound(await stateOf(copy.thread_id));
    expect(ids(await stateOf(threadId))).toEqual(ids(state));
  });

  it("is kept with a result when the conversation continues without an answer", async () => {
    const { threadId, state } = await ask();
    const open = state.messages.at(-1)?.tool_calls?.[0]?.id;
    // Some chats send their own result for a call that they show as open.
    const result = {
      type: "tool",
      tool_call_id: open,
      content: "Successfully handled tool call.",
      id: "of-the-client",
    };
    await stream(threadId, { input: { messages: [result, { role: "user", content: "hello" }] } });
    const after = await stateOf(threadId);
    expect(ids(after).slice(0, state.messages.length)).toEqual(ids(state));
    expect(after.messages.filter(({ tool_call_id }) => tool_call_id === open).length).toBeGreaterThan(0);
    expect(after.messages.at(-1)?.type).toBe("ai");
  });

  it("is removed with its question when the state is changed meanwhile", async () => {
    const { threadId, state } = await ask();
    const changed = { messages: [{ type: "human", content: "never mind", id: "changed" }] };
    await server.client.threads.updateState(threadId, { values: changed, asNode: "free_work" });
    const after = await stateOf(threadId);
    expect(ids(after)).toEqual([state.messages[0]?.id, "changed"]);
    for (const values of Object.values(await everywhere(threadId))) expect(ids(values)).toEqual(ids(after));
    // The earlier checkpoint still has the question.
    const history = await server.client.threads.getHistory<Values>(threadId);
    expect(history.map(({ values }) => ids(values))).toContainEqual(ids(state));
  });
});
