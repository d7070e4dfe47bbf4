import { isAIMessage, isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { cutMessage } from "./compression/cut-message.ts";
import { countMessages } from "./tokens/tokens.ts";
import { chooseWindow, overflowAt } from "./view.ts";

/**
 * Steps for a view above 90 % of the window, mildest first: leave out the oldest turns, leave out data from the system
 * text, cut texts of this turn, show only the last reply and the request.
 */
type OverflowStep = "history" | "system_text" | "turn" | "extreme";

/** One form of a shortened view, each shorter than the one before. */
interface ReductionLevel {
  step: OverflowStep;
  /** Characters per text in the newest round, and in others since the request; the user's text stays in full. */
  newest: number;
  older: number;
  /** Characters of the reply before the request, if no earlier turn fits; 0: not shown. */
  reply: number;
}

const whole = { newest: Infinity, older: Infinity, reply: 0 };
const withReply = (step: OverflowStep): ReductionLevel[] =>
  [8000, 2000, 500].map((reply) => ({ ...whole, step, reply }));

const reductionLevels: readonly ReductionLevel[] = [
  { ...whole, step: "history" },
  ...withReply("history"),
  { ...whole, step: "system_text" },
  ...withReply("extreme"),
  { step: "turn", newest: Infinity, older: 1000, reply: 0 },
  { step: "turn", newest: 8000, older: 300, reply: 0 },
  { step: "turn", newest: 2000, older: 100, reply: 0 },
  ...[8000, 2000, 500, 100, 0].map((newest): ReductionLevel => ({ step: "extreme", newest, older: 0, reply: 0 })),
];

/** Messages cut below this length lose their reasoning. */
const reasoningLength = 2000;

/** The parts of a view. Tokens are estimates. */
export interface ViewParts {
  /** The conversation before this turn's own messages; valid, like `turn`. */
  history: BaseMessage[];
  turn: BaseMessage[];
  /** Tokens of the fixed part, and of optional parts of the system text. */
  core: number;
  optional: number;
  /** Extra tokens per message. */
  eachTokens?: number;
  limit: number;
  /** Token limit of the history; absent: no own limit. */
  maxHistoryTokens?: number;
}

/** A view that fits its window. */
export interface FittedView {
  /** Index of the first history message shown, unless the form overrides it. */
  first: number;
  /** Estimated tokens of all of it. */
  tokens: number;
  /** Index of the shortened form, for `applyReduction` and `stepOf`. */
  form?: number;
}

/**
 * Chooses the mildest form that fits into 90 % of the window, else the strongest; then the caller must check `tokens`.
 * Pure.
 */
export function fitView({
  history,
  turn,
  core,
  optional,
  eachTokens = 0,
  limit,
  maxHistoryTokens = Infinity,
}: ViewParts): FittedView {
  const weigh = (messages: readonly BaseMessage[]): number => countMessages(messages) + messages.length * eachTokens;
  const isFitting = ({ tokens }: FittedView): boolean => tokens <= limit * overflowAt;
  const ofTurn = weigh(turn);
  const fixedOf = (step: OverflowStep): number => (step === "history" ? core + optional : core);
  let view: FittedView = { first: 0, tokens: 0 };
  let bare: FittedView | undefined;
  for (const [form, { step, reply }] of reductionLevels.entries()) {
    if (reply === 0 && bare !== undefined) return bare;
    if (isWindow({ step, reply })) {
      if (step === "system_text" && optional === 0) continue;
      const fixedTokens = fixedOf(step) + ofTurn;
      const { first, tokens } = chooseWindow(history, {
        summary: null,
        fixedTokens,
        limit,
        eachTokens,
        maxHistoryTokens,
      });
      view = { first, tokens: fixedTokens + tokens, ...(form === 0 && first === 0 ? {} : { form }) };
      if (isFitting(view) && !isBare(history, first)) return view;
      if (isFitting(view)) bare = view;
      continue;
    }
    if (reply > 0 && bare === undefined) continue;
    const shown = applyReduction(form, { history, first: view.first, turn });
    const shorter = { first: view.first, tokens: fixedOf(step) + weigh(shown.history) + weigh(shown.turn), form };
    if (isFitting(shorter)) return shorter;
    if (reply === 0) view = shorter;
  }
  return view;
}

/** Whether a form only limits the number of messages, without cutting any. */
function isWindow({ step, reply }: Pick<ReductionLevel, "step" | "reply">): boolean {
  return reply === 0 && (step === "history" || step === "system_text");
}

/** Whether the history exists but none of it before the request is shown. */
function isBare(history: readonly BaseMessage[], first: number): boolean {
  return first > 0 && !history.slice(first + 1).some((message) => isHumanMessage(message));
}

const lastForm: ReductionLevel = { step: "extreme", newest: 0, older: 0, reply: 0 };

/** The step that a form belongs to. */
export function stepOf(form: number): OverflowStep {
  return reductionLevels[form]?.step ?? "extreme";
}

/** The messages in a form. */
export interface ReducedView {
  history: BaseMessage[];
  turn: BaseMessage[];
  /** Messages since the request that are not shown. */
  left: BaseMessage[];
}

/**
 * Applies a form, from `first` on. Calls keep their results and the user's last message is unchanged; so are the
 * originals (laws 5 and 6).
 */
export function applyReduction(
  form: number | undefined,
  { history, first, turn }: { history: readonly BaseMessage[]; first: number; turn: readonly BaseMessage[] },
): ReducedView {
  const { step, newest, older, reply } = reductionLevels[form ?? 0] ?? lastForm;
  const shown = { history: history.slice(first), turn: [...turn], left: [] };
  if (form === undefined) return shown;
  if (reply > 0) return { ...shown, history: [...replyBefore(history, first, reply), ...shown.history] };
  if (step === "history" || step === "system_text") return shown;
  if (step === "extreme") return lastOnly(history, turn, newest);
  const isNew = new Set(lastRound(turn.length > 0 ? turn : shown.history));
  const cut = (message: BaseMessage): BaseMessage => cutTo(message, isNew.has(message) ? newest : older);
  return { ...shown, history: shown.history.map(cut), turn: shown.turn.map(cut) };
}

function replyBefore(history: readonly BaseMessage[], request: number, maxLength: number): BaseMessage[] {
  const reply = history.slice(0, request).findLast((message) => isReply(message));
  return reply === undefined ? [] : [cutTo(reply, maxLength)];
}

function lastOnly(history: readonly BaseMessage[], turn: readonly BaseMessage[], newest: number): ReducedView {
  const request = history.findLastIndex((message) => isHumanMessage(message));
  const requestMessages = request === -1 ? [] : history.slice(request, request + 1);
  const since = history.slice(request + 1);
  const round = lastRound(turn.length > 0 ? turn : since);
  const isShown = new Set(round);
  const left = [...since, ...turn].filter((message) => !isShown.has(message));
  const cut = round.map((message) => cutTo(message, newest));
  return turn.length > 0
    ? { history: requestMessages, turn: cut, left }
    : { history: [...requestMessages, ...cut], turn: [], left };
}

/** The last reply with the results of its calls. */
function lastRound(messages: readonly BaseMessage[]): readonly BaseMessage[] {
  const last = messages.findLastIndex((message) => isAIMessage(message));
  return messages.slice(Math.max(0, last));
}

function isReply(message: BaseMessage): boolean {
  return isAIMessage(message) && (message.tool_calls ?? []).length === 0 && message.text !== "";
}

function cutTo(message: BaseMessage, maxLength: number): BaseMessage {
  if (isHumanMessage(message) || maxLength === Infinity) return message;
  return cutMessage(message, { maxLength, dropsReasoning: maxLength <= reasoningLength });
}
