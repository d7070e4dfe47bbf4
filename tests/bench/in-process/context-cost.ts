import { randomBytes } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { createTokenCounter, type TokenCounter } from "../../../src/context/tokens/token-counter.ts";
import { createLogger } from "@millrace/engine/logger";
import { loopCall, withLoopCall } from "../../../src/loop/request.ts";
import { hinted, prunedView } from "../../../src/loop/view/pruned-view.ts";
import { LoopLimits } from "../../../src/state.ts";
import { tools } from "../../../src/tools/index.ts";
import type { Figure, Section } from "../figures.ts";

const megabyte = 1_000_000;

/** One megabyte (in characters) of different kinds of text; the first word of all loads the encoding. */
const texts: readonly { name: string; text: string }[] = [
  { name: "a first word", text: "word" },
  { name: "1 MB of English", text: repeated("The quick brown fox, 42 jumps! over lazy dogs.\n") },
  { name: "1 MB of Chinese", text: repeated("人工智能正在改变我们的生活方式，以及工作的每一个方面。") },
  { name: "1 MB of base64", text: randomBytes((megabyte * 3) / 4).toString("base64") },
];

function repeated(text: string): string {
  return text.repeat(Math.ceil(megabyte / text.length)).slice(0, megabyte);
}

/** What counting long texts does to the event loop, and what the view of a long session takes: the best of a few tries. */
export async function measureContext(tries: number): Promise<Section> {
  const counter = createTokenCounter(createLogger("silent"));
  try {
    const figures: Figure[] = [];
    for (const { name, text } of texts) {
      const stalls: Figure[] = [];
      for (let round = 0; round < tries; round += 1) {
        // Without its thread the counter has to load again.
        if (text.length < megabyte) await counter.close();
        stalls.push(await stallOf(counter, name, text, tries));
      }
      // What else runs on the machine can only add to a stall.
      figures.push(...stalls.toSorted((left, right) => left.value - right.value).slice(0, 1));
    }
    figures.push(viewOfThousand(tries));
    return { title: "What the model sees", figures };
  } finally {
    await counter.close();
  }
}

/** Building the view of a session of 1,000 messages with hints, above its safe zone; the first time, and again. */
function viewOfThousand(tries: number): Figure {
  // Each round is a session of its own; what else runs on the machine can only add.
  const rounds = Array.from({ length: tries }, (_, session) => viewTwice(session));
  const best = rounds.toSorted(([left = Infinity], [right = Infinity]) => left - right)[0] ?? [];
  const [first = Infinity, again = Infinity] = best;
  const note = `${again.toFixed(1)} ms when its messages are known`;
  return {
    measure: `the view of 1,000 messages, pruned, with hints, best of ${tries}`,
    value: first,
    unit: "ms",
    max: 25,
    note,
  };
}

function viewTwice(session: number): number[] {
  const history = Array.from({ length: 250 }, (_, turn) => turnOf(session * 250 + turn)).flat();
  const config = withLoopCall(
    { configurable: {} },
    {
      node: "bench",
      system: "Work.",
      history,
      summary: null,
      tools: [tools.conversation_message_ids_write],
      limits: LoopLimits.parse({ safe_zone: 50_000 }),
      model: "offline",
      requiresConfirm: false,
      silent: false,
    },
  );
  const call = loopCall(config);
  return [0, 1].map(() => {
    const begin = performance.now();
    const { history: shown } = prunedView({ messages: [] }, call, 50_000);
    hinted(shown, { messages: [] }, call);
    call.shown = undefined;
    return performance.now() - begin;
  });
}

function turnOf(turn: number): BaseMessage[] {
  const call = { id: `call-${turn}`, name: "read_file", args: { path: "notes.md" }, type: "tool_call" as const };
  return [
    new HumanMessage({ id: `request-${turn}`, content: "Look at the notes. ".repeat(10) }),
    new AIMessage({ id: `reply-${turn}`, content: "", tool_calls: [call] }),
    new ToolMessage({ id: `result-${turn}`, tool_call_id: call.id, name: call.name, content: "A line.\n".repeat(200) }),
    new AIMessage({ id: `answer-${turn}`, content: "They say a line. ".repeat(10) }),
  ];
}

async function stallOf(counter: TokenCounter, name: string, text: string, tries: number): Promise<Figure> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const begin = performance.now();
  const { tokens } = await counter.count(text, new AbortController().signal);
  const took = performance.now() - begin;
  // A stall is noticed by the timer after it.
  await wait(20);
  delays.disable();
  const note = `${tokens} tokens in ${took.toFixed(0)} ms`;
  const measure = `counting ${name}, longest stall, best of ${tries}`;
  return { measure, value: delays.max / 1e6, unit: "ms", max: 20, note };
}
