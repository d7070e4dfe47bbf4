import type { BaseMessage } from "@langchain/core/messages";
import type { LoadedDocument } from "../context/documentation/documentation.ts";
import { ReducedValue, StateSchema, type StateSchemaFields } from "@langchain/langgraph";
import { z } from "zod";
import { alternativePlans } from "@millrace/engine/errors/error-strategy";
import { LoopPhase } from "../state.ts";
import { MessageList } from "@millrace/engine/message-list";
import { Delegation, DelegationProgress, mergeDelegations } from "./sub-agents/delegation.ts";
import { Failure } from "./model-call/failure.ts";

/** The conversation as a model call may show it: valid, and pruned. The stored messages stay as they are. */
export interface Shown {
  history: BaseMessage[];
  /** The messages of this call of the loop. */
  turn: BaseMessage[];
  /** Estimated tokens of both, as they are shown and as they are stored. */
  tokens: number;
  whole: number;
  deleted: number;
  cleared: number;
  /** Why nothing was pruned although it should have been. */
  problem: unknown;
}

/** The documents of one loop call, as they were when it began. */
export interface CallDocuments {
  documents: readonly LoadedDocument[];
  /** Files at hand before the model has done anything. */
  files: readonly string[];
}

/** What a loop call has its model read before the conversation. */
export interface ReadingList {
  /** Kinds of documents. */
  kinds: readonly string[] | "all";
  /** Files that the session is about, besides those that the request names. */
  files: readonly (string | null)[];
}

/** Why the loop ended. */
export const EndReason = z.enum([
  "answered",
  "completed",
  "iteration_limit",
  "timeout",
  "token_limit",
  "cost_limit",
  "guardrail",
  "cancelled",
  "error",
]);
export type EndReason = z.infer<typeof EndReason>;

/** What the next model call is asked to do before the turn may end. */
export const ForcedRound = z.object({
  kind: z.string(),
  prompt: z.string(),
});
export type ForcedRound = z.infer<typeof ForcedRound>;

/** What the model was told besides the conversation: it stays where it was said, so that requests begin alike. */
export const ToldNote = z.object({
  /** Messages of this call of the loop that stand before it. */
  after: z.number().int(),
  text: z.string(),
  /** Of the note about the room that is left: tenths of it that were taken. */
  tenths: z.number().int().optional(),
});
export type ToldNote = z.infer<typeof ToldNote>;

/** What of the history the model sees in one call: decided by `assemble`, applied by `call_model` (law 5). */
export const ViewPlan = z.object({
  /** Index of the first message that is shown of what pruning leaves of the visible history. */
  first: z.number().int(),
  /** Estimated tokens of the whole view, and what it would take if nothing of the conversation were left out. */
  tokens: z.number().int(),
  whole: z.number().int().optional(),
  /** Pairs of documentation that there is no room for, from the first on. */
  left_out: z.number().int().optional(),
  /** Set where the history is cut early: the tokens that its messages may take then. */
  early: z.number().int().optional(),
  /** Tokens that the conversation may take before old tool results are cleared. */
  zone: z.number().int().optional(),
  /** The form that the view has because it would not fit otherwise; absent: everything from `first` on is shown. */
  form: z.number().int().optional(),
});
export type ViewPlan = z.infer<typeof ViewPlan>;

/** Tasks that end side by side have each seen the same time pass: the latest is right. */
const latest = new ReducedValue(z.number().default(0), { reducer: Math.max });

/** The work of agents, by the ledger's name of the call that asked; `null` removes it, reports are added. */
const delegations = new ReducedValue(z.record(z.string(), Delegation).default({}), {
  inputSchema: z.record(z.string(), z.union([Delegation, DelegationProgress, z.null()])),
  reducer: mergeDelegations,
});

/** A state that only steps of the program write: their updates are typed, and looked at by nobody again. */
class TrustedState<Fields extends StateSchemaFields> extends StateSchema<Fields> {
  override async validateInput<Update>(update: Update): Promise<Update> {
    return update;
  }
}

/**
 * One call of the loop. `messages` holds only what this call added. `start_time` is milliseconds since 1970;
 * `worked_ms` are the milliseconds of its work until the last step, without those in which the server was down or a
 * person was waited for.
 */
export const LoopState = new TrustedState({
  messages: MessageList,
  iteration_count: z.number().int().default(0),
  phase: LoopPhase.default("idle"),
  start_time: z.number().default(0),
  worked_ms: latest,
  total_tokens_used: z.number().default(0),
  /** Money of all model calls; stays 0 where no price is known. */
  total_cost: z.number().default(0),
  /** What agents are at work on. */
  delegations,
  /** The forced continuation that the next model call answers. */
  forced: ForcedRound.nullable().default(null),
  /** Forced continuations so far: the one thing about a turn that its messages do not tell. */
  forced_count: z.number().int().default(0),
  view: ViewPlan.nullable().default(null),
  /** What the model was told by notes. */
  notes: z.array(ToldNote).default([]),
  /** Names of the tools that the first request has offered; `null` before it. The later ones offer the same. */
  offered: z.array(z.string()).nullable().default(null),
  /** The other way in which the model is asked since the usual one failed. */
  alternative: z.enum(alternativePlans).nullable().default(null),
  /** The model's answers could not be streamed: they are asked for in one piece. */
  unstreamed: z.boolean().default(false),
  /** Set while a person decides about a failed model call. */
  failure: Failure.nullable().default(null),
  /** Set when a limit is reached: the next model call is the last and has no tools. */
  closing: EndReason.nullable().default(null),
  end_reason: EndReason.nullable().default(null),
  last_error: z.string().nullable().default(null),
});
export type LoopState = typeof LoopState.State;
export type LoopUpdate = typeof LoopState.Update;
