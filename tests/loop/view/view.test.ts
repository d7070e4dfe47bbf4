import {
  AIMessage,
  HumanMessage,
  isAIMessage,
  isHumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { planCompaction } from "../../../src/context/compression/compaction.ts";
import { fitSummary, plainSummary } from "../../../src/context/compression/compress.ts";
import { withHint } from "../../../src/context/hints.ts";
import { shortIds } from "../../../src/context/pruning/short-ids.ts";
import { countMessages, countText } from "../../../src/context/tokens/tokens.ts";
import { loadConfig } from "@millrace/engine/config/config";
import { assemble } from "../../../src/loop/assemble.ts";
import { promptOf } from "../../../src/loop/view/prompt.ts";
import { loopCall, withLoopCall, type LoopCall, type LoopRequest } from "../../../src/loop/request.ts";
import { servicesKey, type RunServices } from "../../../src/loop/services.ts";
import { prunedView } from "../../../src/loop/view/pruned-view.ts";
import type { LoopState } from "../../../src/loop/state.ts";
import { createModelLoader } from "@millrace/models/load-model";
import { ModelRegistry } from "@millrace/models/registry/registry";
import { offline } from "@millrace/offline/offline";
import { LoopLimits, type ConversationSummary } from "../../../src/state.ts";
import { createMemoryLedger } from "@millrace/engine/storage/memory";
import { tools } from "../../../src/tools/index.ts";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { toLangChainTools } from "../../../src/tools/runtime/registry.ts";
import { success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { randomMessages, toWire } from "../../context/history/random-messages.ts";
import { strictProblems } from "../model-call/strict-provider.ts";
import { toolkitParts } from "../../support/toolkit-services.ts";

/** `HISTORIES=10000 vitest run tests/loop/view/view.test.ts` is the long form. */
const runs = Number(process.env["HISTORIES"] ?? 300);

const loadModel = createModelLoader(loadConfig({}), {
  models: new ModelRegistry(loadConfig({}), { others: { offline } }),
});
const { conversation_message_ids_write: writeTool, read_file: readFile } = tools;

/** One call of the loop as it stands after a stop: only the request and the state are known. */
interface Standing {
  config: LangGraphRunnableConfig;
  call: LoopCall;
  state: LoopState;
}

function stand(
  given: Pick<LoopRequest, "history"> & Partial<LoopRequest>,
  messages: BaseMessage[],
  limit: number,
): Standing {
  const services: RunServices = {
    ledger: createMemoryLedger(),
    ...toolkitParts("/workspace"),
    workspace: "/workspace",
    locks: createLocks(),
    defaultModel: "offline",
    contextLimit: limit,
    loadModel,
  };
  const request: LoopRequest = {
    node: "free_work",
    system: "Work.",
    summary: null,
    tools: [],
    limits: LoopLimits.parse({}),
    model: "offline",
    requiresConfirm: false,
    silent: false,
    ...given,
  };
  const config = withLoopCall({ configurable: { thread_id: "s", run_id: "r", [servicesKey]: services } }, request);
  const state: LoopState = {
    messages,
    iteration_count: 0,
    phase: "idle",
    start_time: 1,
    worked_ms: 0,
    total_tokens_used: 0,
    total_cost: 0,
    delegations: {},
    forced: null,
    forced_count: 0,
    view: null,
    notes: [],
    offered: null,
    alternative: null,
    unstreamed: false,
    failure: null,
    closing: null,
    end_reason: null,
    last_error: null,
  };
  return { config, call: loopCall(config), state };
}

async function see({ config, call, state }: Standing): Promise<{ state: LoopState; prompt: BaseMessage[] }> {
  const { view = null } = await assemble(state, config);
  const seen = { ...state, view };
  return { state: seen, prompt: promptOf(seen, call) };
}

const copied = (messages: BaseMessage[]): BaseMessage[] =>
  mapStoredMessagesToChatMessages(JSON.parse(JSON.stringify(mapChatMessagesToStoredMessages(messages))));

function compacted(history: BaseMessage[], limit: number): ConversationSummary | null {
  const plan = planCompaction(history, null, { limit });
  if (plan === null) return null;
  const { removed, through_message_id, shown } = plan;
  return { ...fitSummary(plainSummary(removed, null)), through_message_id, shown };
}

/** The model's call by which it marks messages, and its result. */
function marking(ids: string[]): BaseMessage[] {
  const call = { id: "marks", name: writeTool.name, args: { message_ids: ids.join(","), action: "create" } };
  return [
    new AIMessage({ id: "marking", content: "", tool_calls: [{ ...call, type: "tool_call" }] }),
    new ToolMessage({ id: "marked", name: writeTool.name, tool_call_id: call.id, content: "Left out." }),
  ];
}

describe("the view of any conversation, compacted, pruned and cut to the window", () => {
  const scenario = fc.record({
    messages: randomMessages,
    compactsAt: fc.option(fc.nat()),
    marks: fc.infiniteStream(fc.integer({ min: 0, max: 3 })),
    hasMarks: fc.boolean(),
    hasHints: fc.boolean(),
    limit: fc.integer({ min: 2000, max: 20_000 }),
    zone: fc.constantFrom(0.1, 0.4, "80k"),
  });

  it("keeps every rule, also where a crash comes between the choice and the model call", async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async ({ messages, compactsAt, marks, hasMarks, hasHints, limit, zone }) => {
        const place = messages.findLastIndex((message) => isHumanMessage(message));
        const history = messages.slice(0, place + 1);
        const short = shortIds(messages);
        const marked = new Set(
          messages.filter(() => hasMarks && marks.next().value === 0).flatMap(({ id }) => short.get(id ?? "") ?? []),
        );
        const turn = [...messages.slice(place + 1), ...(marked.size === 0 ? [] : marking([...marked]))];
        // A compression comes at the beginning of an earlier turn.
        const requests = history.flatMap((message, index) => (isHumanMessage(message) ? [index + 1] : []));
        const summary =
          compactsAt === null ? null : compacted(history.slice(0, requests[compactsAt % requests.length]), limit);
        const request = {
          summary,
          tools: hasHints ? [readFile, writeTool] : [readFile],
          limits: LoopLimits.parse({ safe_zone: zone }),
        };
        const before = JSON.stringify(toWire([...history, ...turn]));
        const standing = stand({ ...request, history }, turn, limit);
        const { state, prompt } = await see(standing);

        // Valid for a strict provider, and never two replies in a row.
        expect(strictProblems(toWire(prompt))).toEqual([]);
        expect(prompt.some((one, index) => isAIMessage(one) && isReply(prompt[index - 1]))).toBe(false);
        expect(prompt[0]?.content).toBe("Work.");
        // The request is there, word for word.
        const last = history[place] ?? new HumanMessage("none");
        const shown = hasHints ? withHint(last, shortIds([...history, ...turn]).get(last.id ?? "") ?? "") : last;
        expect(prompt.filter(({ id }) => id === last.id).map(({ content }) => content)).toEqual([shown.content]);
        // What was marked is not, and what is stored is as it was.
        const isGone = ({ id }: BaseMessage): boolean => id !== last.id && marked.has(short.get(id ?? "") ?? "");
        expect(prompt.filter((message) => isGone(message))).toEqual([]);
        expect(JSON.stringify(toWire([...history, ...turn]))).toBe(before);
        // The reported size of the view is what it takes, but for the notes of the moment.
        const tokens = state.view?.tokens ?? 0;
        const withIds = prompt.filter(({ id }) => id !== undefined);
        expect(tokens).toBeGreaterThanOrEqual(countMessages(withIds));
        // It fits, or only what has to be there is left of the history, and no more may be cleared.
        const fits = tokens <= limit * 0.9;
        expect(fits || prompt[1]?.id === last.id).toBe(true);
        const atMost = (most: number): number => prunedView(state, standing.call, most).cleared;
        const zoneTokens = state.view?.zone ?? 0;
        const inZone = prunedView(state, standing.call, zoneTokens).tokens <= zoneTokens;
        expect(inZone || atMost(zoneTokens) === atMost(0)).toBe(true);

        // Twice changes nothing more.
        const once = prunedView(state, standing.call, zoneTokens);
        const next = stand({ ...request, summary: null, history: once.history }, once.turn, limit);
        const twice = prunedView(next.state, next.call, zoneTokens);
        expect(toWire([...twice.history, ...twice.turn])).toEqual(toWire([...once.history, ...once.turn]));

        // After a crash the same is chosen, and what was chosen shows the same.
        const stored = { history: copied(history), turn: copied(turn) };
        const again = stand({ ...request, history: stored.history }, stored.turn, limit);
        expect(toWire(promptOf({ ...again.state, view: state.view }, again.call))).toEqual(toWire(prompt));
        expect((await see(stand({ ...request, history: stored.history }, stored.turn, limit))).state.view).toEqual(
          state.view,
        );
      }),
      { numRuns: runs, endOnFailure: true },
    );
  }, 600_000);
});

function isReply(message: BaseMessage | undefined): boolean {
  return message !== undefined && isAIMessage(message);
}

it("counts a tool with its whole definition", async () => {
  const parameters = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [
      `field_${index}`,
      z.string().describe("a field of the form ".repeat(10)),
    ]),
  );
  const large = defineTool({
    name: "fill_form",
    description: "Fills a form.",
    schema: z.object(parameters),
    effect: "pure",
    timeoutSeconds: 60,
    resources: () => [],
    kinds: ["Query"],
    operation: async () => ({ type: "Query" }),
    run: async () => success("Filled."),
  });
  const history = [new HumanMessage({ id: "h", content: "Fill it" })];
  const without = await see(stand({ history }, [], 100_000));
  const withIt = await see(stand({ history, tools: [large] }, [], 100_000));
  const expected = countText(JSON.stringify(toLangChainTools([large])));
  const added = (withIt.state.view?.tokens ?? 0) - (without.state.view?.tokens ?? 0);
  expect(Math.abs(added - expected)).toBeLessThan(10);
});
