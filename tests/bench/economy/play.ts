import { existsSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { HumanMessage, isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { planPrompt } from "../../../src/prompts/templates/plan.ts";
import { countText } from "../../../src/context/tokens/tokens.ts";
import {
  startModelServer,
  wireText,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
} from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";
import { conversations, workspaces, type Conversation, type EverydayRequest } from "./requests.ts";

/** What one request took. */
export interface Cost {
  /** Requests to the model. */
  calls: number;
  /** Tokens of everything that was sent in them. */
  tokens: number;
  /** Characters sent, and those of them that the request before had sent in the same place. */
  sent: number;
  cacheable: number;
  /** Messages with words that the person gets. */
  replies: number;
}

/** One request as Millrace worked on it, and as a plain agent with the same tools did. */
export interface Played {
  request: EverydayRequest;
  conversation: Conversation;
  ours: Cost;
  plain: Cost;
  /** Results of tools that are errors. */
  failures: string[];
  /**
   * The first request of the turn: tokens of its system text and of all of it, its tools, whether it begins the
   * conversation, and whether it asks the model to plan.
   */
  first: { system: number; whole: number; tools: number; isNew: boolean; isPlanned: boolean };
}

const Tools = z.array(
  z.looseObject({
    function: z.looseObject({
      name: z.string(),
      description: z.string().default(""),
      parameters: z.record(z.string(), z.unknown()),
    }),
  }),
);
type Tools = z.infer<typeof Tools>;

const Values = z.looseObject({
  messages: z.array(
    z.looseObject({
      type: z.string(),
      content: z.unknown(),
      tool_call_id: z.string().optional(),
      status: z.string().optional(),
    }),
  ),
});
type Values = z.infer<typeof Values>;

/** The model: it makes the rounds of the request at hand, then says its reply. */
interface ScriptedModel {
  server: ModelServer;
  expect(request: EverydayRequest, name: string): void;
}

async function startScriptedModel(): Promise<ScriptedModel> {
  let current: { request: EverydayRequest; name: string } | undefined;
  const handler = ({ messages }: ModelRequest): ModelStep => {
    if (current === undefined) throw new Error("no request is at hand");
    const { request, name } = current;
    const asked = messages.findLastIndex((message) => JSON.stringify(message.content).includes(inJson(request.say)));
    const round = messages.slice(asked + 1).filter((message) => (message.tool_calls ?? []).length > 0).length;
    const calls = request.rounds[round];
    if (calls === undefined) return { text: request.reply };
    return { toolCalls: calls.map((call, at) => ({ ...call, id: `call_${name}_${round}_${at}` })) };
  };
  const server = await startModelServer({ handler });
  return {
    server,
    expect: (request, name) => {
      current = { request, name };
    },
  };
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Plays every conversation whose toolkit is there, with Millrace and with a plain agent. */
export async function playAll(): Promise<Played[]> {
  const model = await startScriptedModel();
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.server.url });
  const graphs = join(projectFolder, "langgraph.json");
  const server = await startTestServer({ graphs, openai, model: "openai:scripted" });
  try {
    const probe: EverydayRequest = { say: "List the files in this folder.", rounds: [], reply: "There are none." };
    const [probed] = await playOurs(server, model, [probe], "probe");
    const everyday = probed?.tools ?? [];
    const played: Played[] = [];
    for (const [at, conversation] of conversations.entries()) {
      if (!hasToolkit(conversation)) continue;
      const { requests } = conversation;
      await fillWorkspace(server.config.workspace, conversation);
      const ours = await playOurs(server, model, requests, `c${at}`);
      const tools = ours.map((one) => one.tools).find((some) => some.length > 0) ?? everyday;
      const plain = await playPlain(model, requests, `c${at}`, tools, ours.at(-1)?.results ?? new Map());
      played.push(...requests.map((request, index) => together(request, conversation, ours[index], plain[index])));
    }
    return played;
  } finally {
    await server.remove();
    await model.server.close();
  }
}

/** Requests about tasks and circuits need the toolkit of the name. */
function hasToolkit({ kind }: Conversation): boolean {
  return !["planner", "circuits"].includes(kind) || existsSync(join(projectFolder, "toolkits", kind));
}

async function fillWorkspace(folder: string, { kind }: Conversation): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
  for (const [path, text] of Object.entries(workspaces[kind])) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

interface OurRequest {
  cost: Cost;
  first: Played["first"];
  tools: Tools;
  failures: string[];
  /** What the tools have answered so far, by the id of the call. */
  results: Map<string, string>;
}

async function playOurs(
  server: TestServer,
  model: ScriptedModel,
  requests: readonly EverydayRequest[],
  name: string,
): Promise<OurRequest[]> {
  const { thread_id } = await server.client.threads.create();
  const played: OurRequest[] = [];
  let before: ModelRequest | undefined;
  for (const [at, request] of requests.entries()) {
    model.expect(request, `${name}_${at}`);
    const from = model.server.requests.length;
    await server.client.runs.wait(thread_id, "agent", {
      input: { messages: [{ role: "user", content: request.say }] },
    });
    if (request.isConfirmed === true) {
      const command = { resume: { decisions: [{ type: "approve" }] } };
      await server.client.runs.wait(thread_id, "agent", { command });
    }
    const values = Values.parse((await server.client.threads.getState(thread_id)).values);
    const made = model.server.requests.slice(from);
    const [first] = made;
    if (first === undefined) throw new Error(`"${request.say}" has asked no model`);
    const turn = values.messages.slice(values.messages.findLastIndex(({ type }) => type === "human"));
    played.push({
      cost: { ...costOf(made, before), replies: turn.filter(hasWords).length },
      first: { ...firstOf(first), isNew: at === 0 },
      tools: Tools.parse(first.body.tools ?? []),
      failures: turn.filter(({ status }) => status === "error").map(({ content }) => String(content)),
      results: new Map(values.messages.map((message) => [message.tool_call_id ?? "", String(message.content)])),
    });
    before = made.at(-1);
  }
  return played;
}

/** LangGraph's own agent with the same tools, which answer what ours have answered. */
async function playPlain(
  model: ScriptedModel,
  requests: readonly EverydayRequest[],
  name: string,
  tools: Tools,
  results: ReadonlyMap<string, string>,
): Promise<Cost[]> {
  const llm = new ChatOpenAI({
    model: "scripted",
    apiKey: "test-key",
    maxRetries: 0,
    configuration: { baseURL: model.server.url },
  });
  const agent = createReactAgent({
    llm,
    prompt: "You are a helpful assistant. You work with tools in the user's workspace.",
    tools: tools.map(({ function: { name: toolName, description, parameters } }) =>
      tool((_input, { toolCall }: { toolCall?: { id?: string } }) => results.get(toolCall?.id ?? "") ?? "done", {
        name: toolName,
        description,
        schema: parameters,
      }),
    ),
  });
  const costs: Cost[] = [];
  let messages: BaseMessage[] = [];
  let before: ModelRequest | undefined;
  for (const [at, request] of requests.entries()) {
    model.expect(request, `${name}_${at}`);
    const from = model.server.requests.length;
    const known = messages.length;
    ({ messages } = await agent.invoke({ messages: [...messages, new HumanMessage(request.say)] }));
    const made = model.server.requests.slice(from);
    const replies = messages.slice(known).filter((message) => isAIMessage(message) && message.text !== "").length;
    costs.push({ ...costOf(made, before), replies });
    before = made.at(-1);
  }
  return costs;
}

function hasWords({ type, content }: Values["messages"][number]): boolean {
  return type === "ai" && typeof content === "string" && content !== "";
}

/** What requests to the model cost; `before` is the last one of the conversation before them. */
function costOf(requests: readonly ModelRequest[], before: ModelRequest | undefined): Omit<Cost, "replies"> {
  const texts = requests.map(promptOf);
  const former = [before === undefined ? "" : promptOf(before), ...texts];
  return {
    calls: requests.length,
    tokens: texts.reduce((sum, text) => sum + countText(text), 0),
    sent: texts.reduce((sum, text) => sum + text.length, 0),
    cacheable: texts.reduce((sum, text, at) => sum + commonPrefix(text, former[at] ?? ""), 0),
  };
}

/** What a provider reads, in the order in which it caches it. */
function promptOf({ body, messages }: ModelRequest): string {
  return [...(body.tools ?? []), ...messages].map((part) => JSON.stringify(part)).join("\n");
}

function commonPrefix(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

function firstOf(request: ModelRequest): Omit<Played["first"], "isNew"> {
  const [system] = request.messages;
  const tools = request.body.tools ?? [];
  return {
    system: system?.role === "system" ? countText(wireText(system)) : 0,
    tools: tools.length,
    whole: countText(promptOf(request)),
    isPlanned: system !== undefined && wireText(system).includes(planPrompt()),
  };
}

function together(
  request: EverydayRequest,
  conversation: Conversation,
  ours: OurRequest | undefined,
  plain: Cost | undefined,
): Played {
  if (ours === undefined || plain === undefined) throw new Error(`"${request.say}" was not played`);
  const { cost, failures, first } = ours;
  return { request, conversation, ours: cost, plain, failures, first };
}
