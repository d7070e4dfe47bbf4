import type { BaseMessage } from "@langchain/core/messages";
import type { LoadedDocument } from "../context/documentation/documentation.ts";
import { ReducedValue, StateSchema, type StateSchemaFields } from "@langchain/langgraph";
import { z } from "zod";
import { alternativePlans } from "@millrace/engine/errors/error-strategy";
import { LoopPhase } from "../state.ts";
import { MessageList } from "@millrace/engine/message-list";
import { Delegation, DelegationProgress, mergeDelegations } from "./sub-agents/delegation.ts";
import { Failure } from "./model-call/failure.ts";

/** The conversation after repair and pruning. Stored messages are unchanged. */
export interface PrunedView {
  history: BaseMessage[];
  /** Messages of this loop call. */
  turn: BaseMessage[];
  /** Estimated tokens of both, as shown (`tokens`) and as stored (`whole`). */
  tokens: number;
  whole: number;
  deleted: number;
  cleared: number;
  /** The error that prevented pruning. */
  problem: unknown;
}

/** Documents of one loop call, loaded at its start. */
export interface CallDocuments {
  documents: readonly LoadedDocument[];
  /** Files referenced before the first model call. */
  files: readonly string[];
}

/** Documentation to load for a loop call. */
export interface ReadingList {
  /** Document kinds. */
  kinds: readonly string[] | "all";
  /** Files of the session in addition to those named in the request. */
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
  "owner_limit",
  "guardrail",
  "cancelled",
  "error",
]);
export type EndReason = z.infer<typeof EndReason>;

/** What the next model call must do before the turn may end. */
export const ForcedRound = z.object({
  kind: z.string(),
  prompt: z.string(),
});
export type ForcedRound = z.infer<typeof ForcedRound>;

/** A note to the model beside the conversation; it keeps its position, so that requests share a prefix. */
export const PlacedNote = z.object({
  /** Number of this loop call's messages before it. */
  after: z.number().int(),
  text: z.string(),
  /** For the note on remaining room: tenths used. */
  tenths: z.number().int().optional(),
});
export type PlacedNote = z.infer<typeof PlacedNote>;

/** The model's view in one call: planned by `assemble`, applied by `call_model` (law 5). */
export const ViewPlan = z.object({
  /** Index of the first message shown, after pruning. */
  first: z.number().int(),
  /** Estimated tokens of the view, and without anything left out. */
  tokens: z.number().int(),
  whole: z.number().int().optional(),
  /** Number of documentation pairs left out, from the first. */
  left_out: z.number().int().optional(),
  /** Set if the history is cut early: its token limit. */
  early: z.number().int().optional(),
  /** Tokens above which old tool results are cleared. */
  zone: z.number().int().optional(),
  /** The shortened form that fits; absent: everything from `first` on. */
  form: z.number().int().optional(),
});
export type ViewPlan = z.infer<typeof ViewPlan>;

/** Parallel tasks each report the same elapsed time; the largest value is right. */
const latest = new ReducedValue(z.number().default(0), { reducer: Math.max });

/** Delegations by the call's ledger id; `null` removes one, reports are merged. */
const delegations = new ReducedValue(z.record(z.string(), Delegation).default({}), {
  inputSchema: z.record(z.string(), z.union([Delegation, DelegationProgress, z.null()])),
  reducer: mergeDelegations,
});

/** Skips validation: only the loop's own typed steps write this state. */
class TrustedState<Fields extends StateSchemaFields> extends StateSchema<Fields> {
  override async validateInput<Update>(update: Update): Promise<Update> {
    return update;
  }
}

/**
 * State of one loop call. `messages` has only its own messages; `start_time` is Unix time in ms; `worked_ms` excludes
 * downtime and waiting for people.
 */
export const LoopState = new TrustedState({
  messages: MessageList,
  iteration_count: z.number().int().default(0),
  phase: LoopPhase.default("idle"),
  start_time: z.number().default(0),
  worked_ms: latest,
  total_tokens_used: z.number().default(0),
  /** Cost of all model calls; 0 if no price is known. */
  total_cost: z.number().default(0),
  /** Work delegated to agents. */
  delegations,
  /** The forced round that the next model call answers. */
  forced: ForcedRound.nullable().default(null),
  /** Forced rounds so far; not derivable from the messages. */
  forced_count: z.number().int().default(0),
  view: ViewPlan.nullable().default(null),
  /** Notes sent to the model. */
  notes: z.array(PlacedNote).default([]),
  /** Tools of the first request, kept by later ones; `null` before it. */
  offered: z.array(z.string()).nullable().default(null),
  /** The fallback in use since a failure. */
  alternative: z.enum(alternativePlans).nullable().default(null),
  /** Streaming failed; answers are requested whole. */
  unstreamed: z.boolean().default(false),
  /** Set while the user decides about a failed model call. */
  failure: Failure.nullable().default(null),
  /** Set at a limit: the next model call is the last and has no tools. */
  closing: EndReason.nullable().default(null),
  end_reason: EndReason.nullable().default(null),
  last_error: z.string().nullable().default(null),
});
export type LoopState = typeof LoopState.State;
export type LoopUpdate = typeof LoopState.Update;
