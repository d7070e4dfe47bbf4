import type { Random } from "../harness/scenario.ts";
import type { Part, Reply } from "../harness/stage.ts";

/** What happens at a point: the run is stopped, the server killed, or a question answered with no. */
export type Fault = "stop" | "crash" | "deny";

/** How one knows that a run is at its point. */
export type Sign =
  /** It has been accepted. */
  | { kind: "accepted" }
  /** The model has been asked, and readers have what it sent before it fell silent. */
  | { kind: "held" }
  /** Readers have so many characters as the part says; the model goes on. */
  | { kind: "text_received" }
  /** Its readers have received a custom event with these fields. */
  | { kind: "event_received"; fields: Record<string, unknown> }
  /** A tool has begun its effect. */
  | { kind: "begun" }
  /** The session waits for an answer. */
  | { kind: "asked" };

/** One kind of point of a run, and what may happen there. */
export interface PointPlan {
  name: string;
  graph: "one" | "agent";
  faults: readonly Fault[];
  sign: Sign;
  part: (item: string, random: Random) => Part;
  context?: Record<string, unknown>;
  /** Turns before the one that is hit. */
  before?: number;
  /** The run asks first, and it is the run after this answer that is hit. */
  answer?: "approve" | "reject";
}

const both = ["stop", "crash"] as const;
const sentence = "Über der Mühle 水車 dreht sich 𝄞 das Rad, Tag und Nacht, leise rauschend weiter. ";
const text = (item: string): string => `${sentence.repeat(3)}So much about ${item}.`;
const wordsIn = (words: string): number => words.trim().split(/\s+/u).length;

function calls(item: string, ...names: string[]): Reply {
  return {
    toolCalls: names.map((name, index) => ({
      name,
      arguments: { item: `${item}-${index}` },
      id: `${item}-${index}-${name}`,
    })),
    delayMs: 1,
  };
}

/** Text that is held after a part of its words, which may be none or all. */
function heldText(item: string, random: Random): Reply {
  const words = text(item);
  return { text: words, heldAfter: random.below(wordsIn(words) + 1), delayMs: 1 };
}

/** A first piece of 49 to 52 characters, of one to four bytes each: what is longer than 50 is stored. */
function heldAtTheLimit(item: string, random: Random): Reply {
  const first = Array.from("aü水𝄞".repeat(13)).slice(0, 49 + random.below(4));
  return { chunks: [first.join(""), ` The rest about ${item}.`], heldAfter: 1, delayMs: 1 };
}

/** Half of a call's arguments; the next request gets them whole. */
function halfArguments(item: string, random: Random): Reply {
  const whole = calls(item, "send_once", "set_again");
  const [first, second] = whole.toolCalls ?? [];
  if (first === undefined || second === undefined) return whole;
  const all = JSON.stringify(first.arguments);
  const half = { ...first, arguments: all.slice(0, 1 + random.below(all.length - 1)) };
  return random.below(2) === 0
    ? { ...whole, toolCalls: [half], heldAfter: 1, again: whole }
    : { ...whole, heldAfter: 1 };
}

const executing = { kind: "event_received", fields: { type: "tool_status", status: "executing" } } as const;
const asks = (item: string): Reply => calls(item, "ask_first");

/** Every kind of point of a run (issue: stops, crashes and denials at every kind of point; reliability E6, R6). */
export const pointPlans: readonly PointPlan[] = [
  {
    name: "accepted",
    graph: "one",
    faults: both,
    sign: { kind: "accepted" },
    part: (item) => ({ replies: [{ text: text(item), delayMs: 1 }] }),
  },
  {
    name: "plan",
    graph: "agent",
    faults: both,
    sign: { kind: "held" },
    context: { mode: "plan" },
    part: (item, random) => ({
      replies: [heldText(item, random)],
    }),
  },
  {
    name: "compress",
    graph: "agent",
    faults: both,
    sign: { kind: "held" },
    before: 3,
    context: { compress: true },
    part: (item, random) => ({
      tasks: { compress: { text: `{"goal": "greet ${item}", "completed": []}`, heldAfter: random.below(4) } },
      replies: [{ text: text(item) }],
    }),
  },
  {
    name: "text",
    graph: "one",
    faults: both,
    sign: { kind: "held" },
    part: (item, random) => ({ replies: [heldText(item, random)] }),
  },
  {
    name: "flowing",
    graph: "one",
    faults: both,
    sign: { kind: "text_received" },
    part: (item, random) => ({
      receivedLength: random.below(300),
      replies: [{ reasoning: sentence.repeat(2), text: text(item).repeat(4), delayMs: 1 + random.below(4) }],
    }),
  },
  {
    name: "limit",
    graph: "one",
    faults: ["stop"],
    sign: { kind: "held" },
    part: (item, random) => ({ replies: [heldAtTheLimit(item, random)] }),
  },
  {
    name: "reasoning",
    graph: "one",
    faults: both,
    sign: { kind: "held" },
    part: (item, random) => ({
      replies: [
        { reasoning: sentence.repeat(2), text: text(item), heldAfter: random.below(wordsIn(sentence) * 3), delayMs: 1 },
      ],
    }),
  },
  {
    name: "later-text",
    graph: "agent",
    faults: both,
    sign: { kind: "held" },
    before: 1,
    part: (item, random) => ({ replies: [heldText(item, random)] }),
  },
  {
    name: "arguments",
    graph: "one",
    faults: both,
    sign: { kind: "held" },
    part: (item, random) => ({
      replies: [halfArguments(item, random), { text: text(item) }],
    }),
  },
  {
    name: "called",
    graph: "one",
    faults: both,
    sign: { kind: "event_received", fields: { type: "agentic_loop.iteration" } },
    part: (item) => ({ replies: [calls(item, "send_once", "set_again"), { text: text(item) }] }),
  },
  {
    name: "starting",
    graph: "one",
    faults: both,
    sign: executing,
    part: (item) => ({ replies: [calls(item, "take_long"), { text: text(item) }] }),
  },
  {
    name: "tool",
    graph: "one",
    faults: both,
    sign: { kind: "begun" },
    part: (item) => ({ replies: [calls(item, "take_long"), { text: text(item) }] }),
  },
  {
    name: "crowd",
    graph: "one",
    faults: both,
    sign: { kind: "begun" },
    // Three at a time: two have not begun.
    part: (item) => ({
      replies: [calls(item, ...Array.from({ length: 5 }, () => "take_long")), { text: text(item) }],
    }),
  },
  {
    name: "between",
    graph: "one",
    faults: both,
    sign: { kind: "event_received", fields: { type: "agentic_loop.tool_result" } },
    part: (item) => ({ replies: [calls(item, "send_once", "take_long"), { text: text(item) }] }),
  },
  {
    name: "question",
    graph: "one",
    faults: ["deny", "stop", "crash"],
    sign: { kind: "asked" },
    part: (item) => ({ replies: [asks(item), { text: text(item) }] }),
  },
  {
    name: "approved",
    graph: "one",
    faults: both,
    sign: executing,
    answer: "approve",
    part: (item) => ({ replies: [asks(item), { text: text(item) }] }),
  },
  {
    name: "denied",
    graph: "one",
    faults: both,
    sign: { kind: "held" },
    answer: "reject",
    part: (item, random) => ({ replies: [asks(item), heldText(item, random)] }),
  },
  {
    name: "after-tools",
    graph: "one",
    faults: both,
    sign: { kind: "held" },
    part: (item, random) => ({ replies: [calls(item, "send_once", "set_again"), heldText(item, random)] }),
  },
  {
    name: "ending",
    graph: "one",
    faults: both,
    sign: { kind: "event_received", fields: { type: "agentic_loop.complete" } },
    part: (item) => ({ replies: [{ text: text(item), delayMs: 1 }] }),
  },
];
