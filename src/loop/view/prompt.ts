import { HumanMessage, isAIMessage, type BaseMessage, type SystemMessage } from "@langchain/core/messages";
import { lastLines } from "../../context/compression/compaction.ts";
import { fitSummary, plainSummary } from "../../context/compression/compress.ts";
import { shorten } from "../../context/compression/shorten.ts";
import { noteOf } from "../../guardrails/review-turn.ts";
import { noteMessage } from "@millrace/models/messages/note-message";
import { closingNote } from "../../prompts/templates/closing-note.ts";
import { goOn } from "../../prompts/templates/go-on.ts";
import { systemMessage } from "@millrace/models/messages/system-message";
import { iterationWarning } from "../../prompts/templates/iteration-warning.ts";
import { leftOut } from "../../prompts/templates/left-out.ts";
import { pruneNote } from "../../prompts/templates/prune-note.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import { withoutTools } from "../../prompts/templates/without-tools.ts";
import { writeTool } from "../../tools/conversation/deletion-list.ts";
import { messagesInView, systemInView } from "./plan-view.ts";
import type { LoopCall } from "../request.ts";
import { findingsOf } from "../limits/review.ts";
import { hasHints, hinted, prunedView } from "./pruned-view.ts";
import type { LoopState, PlacedNote } from "../state.ts";

/**
 * Builds the request: system text, documentation, the shown history, this turn's messages, and notes. Lone surrogates
 * in names the model invented are replaced.
 */
export function promptOf(state: LoopState, call: LoopCall): BaseMessage[] {
  const shown = messagesInView(state, call);
  const instruction = call.instruction === undefined ? [] : [new HumanMessage(call.instruction.toWellFormed())];
  const messages = hinted([...shown.history, ...instruction, ...withNotes(shown.turn, state)], state, call);
  const less = lessOf(messages, state, call);
  const body = less?.body ?? withForcedRounds(messages, call.prompts);
  const notes = [
    ...leftNote(shown.left, call),
    ...(less?.notes ?? []),
    ...newNotes(state, call).map(({ text }) => text),
  ];
  return [
    systemOf(call, systemInView(state, call)),
    ...(call.documentation ?? []),
    ...leftNote(shown.earlier, call).map(noteMessage),
    ...body,
    ...notes.map(noteMessage),
  ];
}

const systems = new WeakMap<LoopCall, SystemMessage>();

/** The system message; reuses the object while unchanged, so that it is counted once. */
function systemOf(call: LoopCall, text: string): SystemMessage {
  const known = systems.get(call);
  if (known?.content === text) return known;
  const made = systemMessage(text);
  systems.set(call, made);
  return made;
}

/** Messages kept, and characters of each, after an overflow. */
const shortened = { shorter_context: { keep: 10, maxLength: 4000 }, summary: { keep: 5, maxLength: 1500 } };

/** The shortened view this call needs; `null` if none. */
function lessOf(
  messages: BaseMessage[],
  { alternative }: LoopState,
  { summary, prompts }: LoopCall,
): { body: BaseMessage[]; notes: string[] } | null {
  if (alternative !== "shorter_context" && alternative !== "summary") return null;
  const { keep, maxLength } = shortened[alternative];
  const { shown, left } = shorten(messages, keep, maxLength);
  const body = withForcedRounds(shown, prompts);
  if (alternative === "shorter_context" || left.length === 0) return { body, notes: [] };
  const { goal, completed, todo } = fitSummary(plainSummary(left, summary));
  const lines = [goal, ...completed, ...todo].filter((line) => line !== "").map((line) => `- ${line}`);
  return { body, notes: [leftOut({ summary: lines.join("\n") }, prompts)] };
}

/** A note on hidden messages: the first and the last ones, a line each. */
function leftNote(left: readonly BaseMessage[], { prompts }: LoopCall): string[] {
  const lines = [...new Set([...lastLines(left.slice(0, 1)), ...lastLines(left)])];
  return lines.length === 0 ? [] : [leftOut({ summary: lines.map((line) => `- ${line}`).join("\n") }, prompts)];
}

/**
 * Puts a short message between two consecutive replies, left by a forced round or a deletion; some providers refuse
 * them.
 */
function withForcedRounds(messages: readonly BaseMessage[], prompts: Prompts | undefined): BaseMessage[] {
  const spaced: BaseMessage[] = [];
  let isReply = false;
  for (const message of messages) {
    const wasReply = isReply;
    isReply = isAIMessage(message);
    if (wasReply && isReply) spaced.push(noteMessage(goOn(prompts)));
    spaced.push(message);
  }
  return spaced;
}

/** This loop call's messages with the notes in their positions. */
function withNotes(turn: readonly BaseMessage[], { messages, notes }: LoopState): readonly BaseMessage[] {
  if (notes.length === 0) return turn;
  const places = new Map(messages.map(({ id }, place) => [id, place]));
  const woven: BaseMessage[] = [];
  let next = 0;
  const add = (before: number): void => {
    for (let note = notes[next]; note !== undefined && note.after <= before; note = notes[next]) {
      woven.push(noteMessage(note.text));
      next += 1;
    }
  };
  for (const message of turn) {
    add(places.get(message.id) ?? -1);
    woven.push(message);
  }
  add(messages.length);
  return woven;
}

/** Notes added by this request; earlier ones are not repeated. */
export function newNotes(state: LoopState, call: LoopCall): PlacedNote[] {
  const after = state.messages.length;
  const given = [call.rules, call.news?.text].filter((text) => text !== null && text !== undefined);
  const texts = [...given, ...notesFor(state, call)];
  const isNew = (text: string): boolean => !state.notes.some((note) => note.text === text);
  return [...roomNote(state, call), ...texts.filter(isNew).map((text) => ({ after, text }))];
}

/** The note on remaining room for a model that can prune: at first, and after each tenth. */
function roomNote(state: LoopState, call: LoopCall): PlacedNote[] {
  if (!hasHints(call)) return [];
  const { zone = Infinity } = state.view ?? {};
  const { tokens } = prunedView(state, call, zone);
  const tenths = Math.floor((tokens * 10) / zone);
  if (state.notes.findLast((note) => note.tenths !== undefined)?.tenths === tenths) return [];
  return [{ after: state.messages.length, text: pruneNote({ tokens, zone, tool: writeTool }, call.prompts), tenths }];
}

/** Notes for the current state; they are not in the system text, which stays the same. */
function notesFor(state: LoopState, call: LoopCall): string[] {
  const { tools, limits, prompts } = call;
  if (state.forced !== null) return [state.forced.prompt];
  if (state.alternative === "without_tools" && state.closing === null) return [withoutTools(prompts)];
  // A plain answer needs no note, but a model that calls tools without having any does.
  if (tools.length === 0 && state.messages.length === 0) return [];
  const findings = findingsOf(state.messages, call);
  if (state.closing !== null) {
    const found = findings.filter(({ stage }) => stage === "finish").map((finding) => noteOf(finding, prompts));
    return [...found, closingNote({ reason: state.closing }, prompts)];
  }
  const notes = findings.map((finding) => noteOf(finding, prompts));
  if (state.iteration_count < (limits.soft_warning_at ?? Math.ceil(limits.max_iterations * 0.9))) return notes;
  const used = state.iteration_count - 1;
  return [...notes, iterationWarning({ used, left: limits.max_iterations - used }, prompts)];
}
