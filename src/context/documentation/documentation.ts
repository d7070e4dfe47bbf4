import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { CallBack, InRun, LoadingPoint } from "../../callbacks/callback.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import { countMessages } from "../tokens/tokens.ts";
import { overflowAt } from "../view.ts";

/** What a document may depend on: the files at hand, relative to the workspace, and the tools that may be called. */
export interface Reading {
  files: readonly string[];
  /** Files whose documentation the model has already: only what is new is added, without the parts that all files share. */
  before?: readonly string[];
  toolNames: ReadonlySet<string>;
  prompts: Prompts;
}

/** A source as it was when the call began: how much it has, what is wrong with it, and what a model reads of it. */
export interface LoadedDocument {
  kind: string;
  count: number;
  problems: number;
  /** The documentation as a pair of user message and answer; `null` if there is none. */
  tell(reading: Reading): { text: string; acknowledgement: string } | null;
}

/** Where one kind of documentation comes from. */
export interface DocumentSource {
  /** A name of its own, as events have it. */
  kind: string;
  /** The callbacks that are called around `load`. */
  point: LoadingPoint;
  /** Looks at the sources and reads what has changed. Never throws for what is wrong with them. */
  load(signal: AbortSignal): LoadedDocument | Promise<LoadedDocument>;
}

/** A part of the user and the acknowledgement of the assistant: pinned before the conversation, never stored. */
export interface DocumentPair {
  kind: string;
  messages: BaseMessage[];
  tokens: number;
}

/** Loads the wanted sources one after the other, and calls back around each. */
export async function loadDocuments(
  sources: readonly DocumentSource[],
  { inRun, callBack, signal }: { inRun: InRun; callBack: CallBack | undefined; signal: AbortSignal },
): Promise<LoadedDocument[]> {
  const loaded: LoadedDocument[] = [];
  for (const source of sources) {
    callBack?.(`pre_${source.point}_loaded`, inRun);
    const document = await source.load(signal);
    callBack?.(`post_${source.point}_loaded`, { ...inRun, count: document.count, problems: document.problems });
    loaded.push(document);
  }
  return loaded;
}

/** The last pair of each kind: while its text stays the same, so do its messages, whose tokens are then counted once. */
const lastPairs = new Map<string, DocumentPair & { text: string; acknowledgement: string }>();

/** The pairs of all sources that have something. Equal sources give equal bytes, for the provider's prefix cache. */
export function documentPairs(documents: readonly LoadedDocument[], reading: Reading): DocumentPair[] {
  return documents.flatMap((document) => {
    const told = document.tell(reading);
    return told === null ? [] : [pairOf(document.kind, told)];
  });
}

function pairOf(kind: string, told: { text: string; acknowledgement: string }): DocumentPair {
  const last = lastPairs.get(kind);
  if (last?.text === told.text && last.acknowledgement === told.acknowledgement) return last;
  const messages = [new HumanMessage(told.text), new AIMessage(told.acknowledgement)];
  const pair = { kind, messages, tokens: countMessages(messages), ...told };
  lastPairs.set(kind, pair);
  return pair;
}

/** What counts only for files that the model has come to since, as one text; `null` where nothing does. */
export function laterDocumentation(documents: readonly LoadedDocument[], reading: Required<Reading>): string | null {
  const texts = documents.flatMap((document) => document.tell(reading)?.text ?? []);
  return texts.length === 0 ? null : texts.join("\n\n");
}

/** The share of the window that documentation may have at most, so that there is room for a conversation. */
const largestShare = 0.5;

/**
 * How many pairs have to be left out, first to last. `needed`: the tokens of what must be there in any case, which is
 * all but the documentation and the history before the request: it comes before all documentation.
 */
export function pairsToDrop(pairs: readonly DocumentPair[], needed: number, limit: number): number {
  const room = Math.min(limit * overflowAt - needed, limit * largestShare);
  let tokens = pairs.reduce((total, pair) => total + pair.tokens, 0);
  let dropped = 0;
  for (const pair of pairs) {
    if (tokens <= room) break;
    tokens -= pair.tokens;
    dropped += 1;
  }
  return dropped;
}
