import { type Assistant, JsonObject, type Page, type Task } from "./records.ts";
import { z } from "zod";
import type { BaseMessage } from "@langchain/core/messages";

/** Which assistants a search wants, and in which order: newest first unless said otherwise. */
export interface AssistantQuery {
  limit: number;
  offset: number;
  /** Only the system's and those of this owner, and with `orphans` those without an owner. Default all. */
  owner?: { name: string; orphans: boolean } | undefined;
  graph_id?: string | undefined;
  /** Any part of the name, in any case. */
  name?: string | undefined;
  /** Filters by containment. */
  metadata?: JsonObject | undefined;
  sort_by?: "assistant_id" | "graph_id" | "created_at" | "updated_at" | "name" | undefined;
  sort_order?: "asc" | "desc" | undefined;
}

/** What a new version changes; `metadata` is merged shallowly, the rest is replaced. */
export type AssistantPatch = Partial<
  Pick<Assistant, "graph_id" | "config" | "context" | "metadata" | "name" | "description">
>;

/** One version of an assistant. It never changes. */
export type AssistantVersion = Omit<Assistant, "owner" | "is_system" | "updated_at">;

/**
 * The assistants that users made, and the versions they made of the system's. A graph's own assistant has no row
 * before a user has changed it: callers pass those as `system`.
 */
export interface AssistantStore {
  /** Stores it as its first version. Throws `conflict` when the id is taken. */
  create(assistant: Assistant): Promise<Assistant>;
  get(assistantId: string): Promise<Assistant | undefined>;
  /** Makes the next version of `assistant`, which is stored first where it is one of the system without a row. */
  update(assistant: Assistant, patch: AssistantPatch): Promise<Assistant>;
  /** Puts a former version in use. `undefined` for one that does not exist. */
  setLatest(assistantId: string, version: number): Promise<Assistant | undefined>;
  /** The versions of an assistant, newest first. */
  versions(
    assistantId: string,
    query: { limit: number; offset: number; metadata?: JsonObject | undefined },
  ): Promise<AssistantVersion[]>;
  /** Removes it with its versions. */
  delete(assistantId: string): Promise<boolean>;
  /** `total` counts all matches, not the page. A row of the system whose graph is not among `system` is left out. */
  search(query: AssistantQuery, system: readonly Assistant[]): Promise<{ assistants: Assistant[]; total: number }>;
}

/** Runs that the clock starts. Dates are ISO-8601 UTC. */
export const Cron = z.object({
  cron_id: z.string(),
  /** Whose key made it; `null` when no key was asked for. */
  owner: z.string().nullable(),
  assistant_id: z.string(),
  /** The session that its runs go to; `null`: each has one of its own. */
  session_id: z.string().nullable(),
  schedule: z.string(),
  /** An IANA name; `null` is UTC. */
  timezone: z.string().nullable(),
  /** No run at this date or later. */
  end_time: z.string().nullable(),
  /** The body of the request that starts a run. */
  payload: JsonObject,
  metadata: JsonObject,
  enabled: z.boolean(),
  /** What becomes of a session that was made for one run. */
  on_run_completed: z.enum(["delete", "keep"]),
  /** When the next run starts; `null` when none will. */
  next_run_date: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type Cron = z.infer<typeof Cron>;

/** Which crons a search wants, and in which order. */
export interface CronQuery extends Page {
  /** Only crons of this owner, and with `orphans` those without one. Default those of all. */
  owner?: { name: string; orphans: boolean };
  assistant_id?: string | undefined;
  session_id?: string | undefined;
  enabled?: boolean | undefined;
  metadata?: JsonObject | undefined;
  sort_by?: "cron_id" | "assistant_id" | "thread_id" | "created_at" | "updated_at" | "next_run_date";
  sort_order?: "asc" | "desc";
}

/** One start of a cron: the date that it was due at, and the one that it is due at next. */
export interface CronOccurrence {
  cron_id: string;
  due: string;
  next: string | null;
}

/** Crons. What is written is on disk (fsync) before the promise resolves; those of a session go with it. */
export interface CronStore {
  /** Throws `not_found` for a session that does not exist. */
  create(cron: Cron): Promise<Cron>;
  get(cronId: string): Promise<Cron | undefined>;
  /** Metadata is merged shallowly, the rest is replaced. `updated_at` is set. */
  update(cronId: string, patch: Partial<Omit<Cron, "cron_id" | "owner" | "created_at">>): Promise<Cron | undefined>;
  delete(cronId: string): Promise<boolean>;
  /** `metadata` filters by containment. `total` counts all matches, not the page. */
  search(query: CronQuery): Promise<{ crons: Cron[]; total: number }>;
  /** Calls back with the date (ISO) at which a cron that was written just now is due. */
  onDueDate(listener: (date: string) => void): void;
  /** Enabled ones whose date has come by `now` (ISO date), first due first. */
  due(now: string): Promise<Cron[]>;
  /** The date at which the next one is due; `undefined` when none is. */
  next(): Promise<string | undefined>;
  /** Takes a turn without a run. False when the cron is not due at that date any more. */
  skip(turn: CronOccurrence): Promise<boolean>;
}

/** How long an untouched session is kept, and what happens to it then. */
export const SessionTtl = z.object({
  session_id: z.string(),
  minutes: z.number(),
  /** The session is deleted, or all its states but the newest one. */
  strategy: z.enum(["delete", "keep_latest"]),
  /** ISO-8601 UTC. It is later when the session was touched meanwhile. */
  expires_at: z.string(),
});
export type SessionTtl = z.infer<typeof SessionTtl>;

/** How long a session is to be kept, from now on. */
export type NewTtl = Pick<SessionTtl, "minutes" | "strategy">;

/** The times of sessions; they go with their sessions. Touching a session writes nothing here. */
export interface SessionTtlStore {
  /** The time begins now; `null` for ever. `undefined` for an unknown session. */
  set(sessionId: string, ttl: NewTtl | null): Promise<SessionTtl | undefined>;
  /** With the time that counts: that since the session was last touched. */
  get(sessionId: string): Promise<SessionTtl | undefined>;
  /** Idle sessions that were not touched for their time. The due dates of others are moved on. */
  due(): Promise<SessionTtl[]>;
  /** The time of a session is not looked at before `time` (ISO date). */
  moveOn(sessionId: string, time: string): Promise<void>;
  /** Calls back with the time (ISO date) at which a session that was given one just now is due. */
  onExpiry(listener: (time: string) => void): void;
  /** When the next one could be due (ISO date); `undefined` when none has a time. */
  next(): Promise<string | undefined>;
}

/** The end of a run that is to be sent to an address. */
export interface Webhook {
  webhook_id: number;
  run_id: string;
  /** An address of the web, or a path of this server. */
  url: string;
  /** The receiver, as `host:port` of the address; empty for this server. */
  host: string;
  /** The owner of the run's session; `null` for none. */
  owner: string | null;
  /** A JSON object as text. */
  body: string;
  /** How often it was tried in vain. */
  attempts: number;
  /** When it is to be tried (again). ISO-8601. */
  due_at: string;
}

/** Receivers and owners that have enough of it for now. */
export interface BusyReceivers {
  hosts: readonly string[];
  owners: readonly string[];
}

/** Webhooks that are to be delivered. Each is written with the end of its run, in one transaction (`RunOutcome`). */
export interface WebhookStore {
  /**
   * Takes the oldest that is due at `now` (ISO date). No other server and no later call gets it before it is postponed or
   * given back, or has been with a server that is gone for some time.
   */
  claimDue(now: string, busy?: BusyReceivers): Promise<Webhook | undefined>;
  /** When there could be another one to take; `undefined` when none is left. */
  nextDueAt(busy?: BusyReceivers): Promise<string | undefined>;
  /** It was taken and not delivered: it is due as before. */
  release(webhookId: number): Promise<void>;
  /** It was tried in vain once more, and is due again at `dueAt` (ISO date). */
  postpone(webhookId: number, dueAt: string): Promise<void>;
  /** It was delivered, or given up. */
  remove(webhookId: number): Promise<void>;
}

/** Which tasks are wanted: one of a day, of no date at all, or of an area. Nothing: all. */
export interface TaskView {
  day?: string;
  staging?: boolean;
  area_id?: string;
}

/** The planner's tasks. A task that is not there is `undefined`. What waits for others is ended by the signal. */
export interface TaskStore {
  create(task: Task, signal?: AbortSignal): Promise<Task>;
  get(taskId: string, signal?: AbortSignal): Promise<Task | undefined>;
  update(
    taskId: string,
    patch: Partial<Pick<Task, "title" | "completed" | "area_id">>,
    signal?: AbortSignal,
  ): Promise<Task | undefined>;
  /** Plans it for one more day, in one step; a day that it has already changes nothing. */
  schedule(taskId: string, day: string, signal?: AbortSignal): Promise<Task | undefined>;
  /** The reverse. */
  unschedule(taskId: string, day: string, signal?: AbortSignal): Promise<Task | undefined>;
  delete(taskId: string, signal?: AbortSignal): Promise<boolean>;
  /** Oldest first. */
  find(view: TaskView, signal?: AbortSignal): Promise<Task[]>;
  /**
   * The same tasks as far as they are of this owner, with `orphans` also those without an owner: others are not
   * there, and what is created is the owner's.
   */
  ownedBy(owner: string | null, orphans?: boolean): TaskStore;
  /** The same for the owner of the session; where no owners are known, all. */
  ofSession(sessionId: string): TaskStore;
  /** Whether a created task keeps its id, so that one that was made can be found again; else the id is given elsewhere. */
  keepsIds: boolean;
}

/** What stands before the conversation in a request: the same object for all calls that share it. */
export interface RequestHead {
  system: string;
  /** The pieces of the system text in their order, each with its length and, if known, the values it was filled with. */
  parts: {
    name: string;
    section: string;
    characters: number;
    values?: Readonly<Record<string, unknown>> | undefined;
  }[];
  /** What the model was given to read, right after the system text: plain texts. */
  documentation: BaseMessage[];
}

/** One request to a model, as it was sent. */
export interface ModelRequest {
  session_id: string;
  run_id: string;
  /** The model call, which has several requests where an answer is continued; `null` in those of older versions. */
  model_call_id: string | null;
  /** The node that asked. `is_silent`: what came back was for the program, not for the reader. */
  node: string;
  is_silent: boolean;
  /** `provider:name`, and what was chosen beside it. */
  model: string;
  temperature: number | null;
  thinking: boolean | null;
  max_tokens: number | null;
  tool_protocol: "native" | "text" | "tags" | null;
  forced_tool: string | null;
  /** ISO date. */
  asked_at: string;
  head: RequestHead;
  /** What followed the head, in order. */
  messages: BaseMessage[];
  /** Definitions of the tools that were offered. */
  tools: readonly object[];
}

/** One request of a run, by its number in the run, from 1. */
export interface ModelCall extends Pick<ModelRequest, "run_id" | "model_call_id" | "node" | "is_silent" | "asked_at"> {
  number: number;
}

/** What models were sent: the newest requests of each run, and in any case the last one of each node of a session. */
export interface ModelRequestStore {
  /**
   * Stores a request and removes old ones. Only what is new in it is written, without waiting for the disk. Does nothing
   * if the session does not exist.
   */
  record(request: ModelRequest): Promise<void>;
  /** The last request of a node; without one, the last whose answer was for the reader. Messages are fresh objects. */
  last(sessionId: string, node?: string): Promise<ModelRequest | undefined>;
  /** The kept requests of a run, newest first. */
  calls(sessionId: string, runId: string): Promise<ModelCall[]>;
  /** A request of a run, and which one the same node of the session has made before it, if that is kept. */
  call(
    sessionId: string,
    runId: string,
    number: number,
  ): Promise<{ request: ModelRequest; before: { run_id: string; number: number } | undefined } | undefined>;
}

/** Requests of one run that are kept, and of one session. */
export const callsKept = { ofRun: 50, ofSession: 200 };
