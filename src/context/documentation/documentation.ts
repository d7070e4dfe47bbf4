import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { InvokeCallbacks, InRun, LoadingPoint } from "../../callbacks/callback.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import { countMessages } from "../tokens/tokens.ts";
import { overflowAt } from "../view.ts";

/** What documentation depends on: relevant files, relative to the workspace, and callable tools. */
export interface Reading {
  files: readonly string[];
  /** Files whose documentation was already given: only new parts are added. */
  before?: readonly string[];
  toolNames: ReadonlySet<string>;
  prompts: Prompts;
}

/** A loaded source: its size, its problems, and its text for the model. */
export interface LoadedDocument {
  kind: string;
  count: number;
  problems: number;
  /** The documentation as a pair of user message and answer; `null` if there is none. */
  render(reading: Reading): { text: string; acknowledgement: string } | null;
}

/** A source of one kind of documentation. */
export interface DocumentSource {
  /** Unique name, used in events. */
  kind: string;
  /** The callback points around `load`. */
  point: LoadingPoint;
  /** Checks the sources and reads changes. Never throws for broken files. */
  load(signal: AbortSignal): LoadedDocument | Promise<LoadedDocument>;
}

/** A user message and the assistant's acknowledgement, inserted before the conversation and never stored. */
export interface DocumentPair {
  kind: string;
  messages: BaseMessage[];
  tokens: number;
}

/** Loads the sources in sequence, with callbacks around each. */
export async function loadDocuments(
  sources: readonly DocumentSource[],
  {
    inRun,
    invokeCallbacks,
    signal,
  }: { inRun: InRun; invokeCallbacks: InvokeCallbacks | undefined; signal: AbortSignal },
): Promise<LoadedDocument[]> {
  const loaded: LoadedDocument[] = [];
  for (const source of sources) {
    invokeCallbacks?.(`pre_${source.point}_loaded`, inRun);
    const document = await source.load(signal);
    invokeCallbacks?.(`post_${source.point}_loaded`, { ...inRun, count: document.count, problems: document.problems });
    loaded.push(document);
  }
  return loaded;
}

/** The last pair of each kind, reused while its text is unchanged, so that its tokens are counted once. */
const lastPairs = new Map<string, DocumentPair & { text: string; acknowledgement: string }>();

/** The pairs of all non-empty sources. Equal sources give equal bytes, for the prefix cache. */
export function documentPairs(documents: readonly LoadedDocument[], reading: Reading): DocumentPair[] {
  return documents.flatMap((document) => {
    const rendered = document.render(reading);
    return rendered === null ? [] : [pairOf(document.kind, rendered)];
  });
}

function pairOf(kind: string, rendered: { text: string; acknowledgement: string }): DocumentPair {
  const last = lastPairs.get(kind);
  if (last?.text === rendered.text && last.acknowledgement === rendered.acknowledgement) return last;
  const messages = [new HumanMessage(rendered.text), new AIMessage(rendered.acknowledgement)];
  const pair = { kind, messages, tokens: countMessages(messages), ...rendered };
  lastPairs.set(kind, pair);
  return pair;
}

/** Documentation for newly touched files as one text; `null` if there is none. */
export function laterDocumentation(documents: readonly LoadedDocument[], reading: Required<Reading>): string | null {
  const texts = documents.flatMap((document) => document.render(reading)?.text ?? []);
  return texts.length === 0 ? null : texts.join("\n\n");
}

/** Maximum share of the window for documentation. */
const maxShare = 0.5;

/**
 * Number of pairs to leave out, from the first. `needed`: tokens of everything else except the history before the
 * request, which has lower priority.
 */
export function pairsToDrop(pairs: readonly DocumentPair[], needed: number, limit: number): number {
  const room = Math.min(limit * overflowAt - needed, limit * maxShare);
  let tokens = pairs.reduce((total, pair) => total + pair.tokens, 0);
  let dropped = 0;
  for (const pair of pairs) {
    if (tokens <= room) break;
    tokens -= pair.tokens;
    dropped += 1;
  }
  return dropped;
}
