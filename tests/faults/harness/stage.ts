import { toPieces, argumentText } from "@millrace/testing/model-server-script";
import { wireText, type ModelRequest, type ModelStep, type WireMessage } from "@millrace/testing/model-server";
import { compress } from "../../../src/prompts/templates/compress.ts";
import { hasPrompt } from "../../support/system-text.ts";

/** One reply of the model. */
export type Reply = ModelStep & {
  /** Falls silent after so many pieces, until the act is over. */
  heldAfter?: number;
  /** What is sent instead once the act is over. */
  again?: ModelStep;
};

/** What the model says for one item: by the silent task that asks, or in the order of its replies to the request. */
export interface Part {
  tasks?: Partial<Record<"compress", Reply>>;
  replies: Reply[];
  /** Characters that readers have received when the fault comes. */
  receivedLength?: number;
}

/** One item on the stage, from its first request until the curtain falls. */
export interface Act {
  /** Whether the model has been asked for the reply that it holds. */
  isHeld(): boolean;
  /** What readers get of the held reply before the silence: its reasoning, text and arguments. */
  readonly heldText: string;
  /** Lets the held reply go on; from now on none is held. */
  release(): void;
}

/** A model that plays parts and falls silent where its part says so, and a critic of every history it is sent. */
export interface Stage {
  readonly handler: (request: ModelRequest) => ModelStep;
  enter(item: string, part: Part): Act;
  /** What is wrong with the histories it was sent, beyond what the model server refuses by itself. */
  readonly problems: string[];
}

interface Playing {
  part: Part;
  held: boolean;
  isOver: boolean;
  silence: PromiseWithResolvers<void>;
}

/** An empty stage. */
export function createStage(): Stage {
  const acts = new Map<string, Playing>();
  const problems: string[] = [];
  return {
    problems,
    handler(request) {
      const problem = criticise(request.messages);
      if (problem !== undefined) problems.push(problem);
      const { words, item, since } = requestOf(request.messages);
      const task = taskOf(request.messages);
      const act = acts.get(item);
      const reply = task === undefined ? undefined : act?.part.tasks?.[task];
      if (act === undefined || (reply === undefined && words.startsWith("hello"))) return { text: greeting(item) };
      const replied = since.filter((message) => (message.tool_calls?.length ?? 0) > 0).length;
      const next = reply ?? act.part.replies[replied] ?? { text: `Nothing more about ${item}.` };
      if (act.isOver) return next.again ?? next;
      if (next.heldAfter === undefined) return next;
      act.held = true;
      return { ...next, hold: { after: next.heldAfter, until: act.silence.promise } };
    },
    enter(item, part) {
      const playing: Playing = { part, held: false, isOver: false, silence: Promise.withResolvers<void>() };
      acts.set(item, playing);
      return {
        isHeld: () => playing.held,
        heldText: heldText(part),
        release() {
          playing.isOver = true;
          playing.silence.resolve();
        },
      };
    },
  };
}

/** What the model says to a greeting. */
export function greeting(item: string): string {
  return `Hello to ${item}.`;
}

function heldText({ replies }: Part): string {
  const held = replies.find(({ heldAfter }) => heldAfter !== undefined);
  if (held === undefined) return "";
  const pieces = toPieces(held, () => "").slice(0, held.heldAfter);
  return pieces.map((piece) => (piece.kind === "call" ? argumentText(piece.call) : piece.text)).join("");
}

/** The newest words of the person, the item they name, and what has come since. */
function requestOf(messages: readonly WireMessage[]): { words: string; item: string; since: readonly WireMessage[] } {
  const at = messages.findLastIndex((message) => message.role === "user" && /\bp\d+\b/u.test(wireText(message)));
  const asked = messages[at];
  const words = asked === undefined ? "" : wireText(asked);
  return { words, item: /\bp\d+\b/u.exec(words)?.[0] ?? "", since: messages.slice(at) };
}

function taskOf(messages: readonly WireMessage[]): "compress" | undefined {
  const system = messages.filter(({ role }) => role === "system").map(wireText);
  return system.some((text) => hasPrompt(text, compress)) ? "compress" : undefined;
}

/** What a strict provider would say that the model server does not check: one system text first, ids that are unique. */
function criticise(messages: readonly WireMessage[]): string | undefined {
  if (messages.findLastIndex(({ role }) => role === "system") > 0) return "a system message stands inside the history";
  const ids = messages.flatMap(({ tool_calls }) => tool_calls?.map(({ id }) => id ?? "") ?? []);
  const repeated = ids.find((id, index) => id === "" || ids.indexOf(id) !== index);
  if (repeated !== undefined) return `the call id ${JSON.stringify(repeated)} is there twice, or empty`;
  const empty = messages.findIndex(
    (message) => message.role === "assistant" && wireText(message) === "" && (message.tool_calls?.length ?? 0) === 0,
  );
  return empty === -1 ? undefined : `messages[${empty}]: an assistant message without words and calls`;
}
